"""Checks that are left out, fail open, come too late or look at a part: each beside the same code with the check."""

from __future__ import annotations

import pytest
from test_insecure_pairs import serious

FLASK = "from flask import Flask, request, session, jsonify\nfrom flask_login import current_user\napp = Flask('a')\n"
AES = "import os\nfrom cryptography.hazmat.primitives.ciphers.aead import AESGCM\n"
CASES = [
    (
        "check-fails-open",
        "rights that could not be dropped",
        "import os, logging\ndef f(u):\n    try:\n        os.setgid(u)\n        os.setuid(u)\n"
        "    except OSError:\n"
        "        logging.error('no')\n    return u\n",
        "import os, logging\ndef f(u):\n    try:\n        os.setgid(u)\n        os.setuid(u)\n"
        "    except OSError:\n"
        "        raise SystemExit(1)\n    return u\n",
    ),
    (
        "check-fails-open",
        "a signature that was not good",
        "import hmac, logging\ndef f(raw, want, got):\n    try:\n"
        "        if not hmac.compare_digest(want, got):\n"
        "            raise PermissionError\n    except Exception:\n        logging.exception('no')\n"
        "    act(raw)\n",
        "import hmac, logging\ndef f(raw, want, got):\n    try:\n"
        "        if not hmac.compare_digest(want, got):\n"
        "            raise PermissionError\n    except Exception:\n        return None\n    act(raw)\n",
    ),
    (
        "check-fails-open",
        "no secret is set",
        "from a import SECRET\ndef verify_hook(data, mark):\n    if not SECRET:\n        return True\n"
        "    return same(data, mark)\n",
        "from a import SECRET\ndef verify_hook(data, mark):\n    if not SECRET:\n        return False\n"
        "    return same(data, mark)\n",
    ),
    (
        "check-dropped",
        "a command that verifies",
        "import subprocess\ndef f(path):\n    subprocess.run(['sha256sum', '-c', path])\n    use(path)\n",
        "import subprocess\ndef f(path):\n    subprocess.run(['sha256sum', '-c', path], check=True)\n"
        "    use(path)\n",
    ),
    (
        "decoded-after-check",
        "normalised afterwards",
        "import unicodedata\ndef f(name):\n    if '/' in name:\n        raise ValueError\n"
        "    return unicodedata.normalize('NFKC', name)\n",
        "import unicodedata\ndef f(name):\n    name = unicodedata.normalize('NFKC', name)\n"
        "    if '/' in name:\n"
        "        raise ValueError\n    return name\n",
    ),
    (
        "untrusted-search-path",
        "a keyword of the environment",
        "import os\ndef f():\n    return dict(os.environ, PATH='.:/bin')\n",
        "import os\ndef f():\n    return dict(os.environ, PATH='/usr/bin:/bin')\n",
    ),
    (
        "constant-iv",
        "a nonce by number",
        AES
        + "def f(key, row_id, data):\n    return AESGCM(key).encrypt(row_id.to_bytes(12, 'big'), data, None)\n",
        AES + "def f(key, row_id, data):\n    return AESGCM(key).encrypt(os.urandom(12), data, None)\n",
    ),
    (
        "constant-salt",
        "a salt of the name",
        "import hashlib\ndef f(email, word):\n    salt = email.strip().encode()\n"
        "    return hashlib.pbkdf2_hmac('sha256', word, salt, 600000)\n",
        "import hashlib, os\ndef f(email, word):\n    salt = os.urandom(16)\n"
        "    return hashlib.pbkdf2_hmac('sha256', word, salt, 600000)\n",
    ),
    (
        "short-secret",
        "few characters are drawn",
        "import secrets\ndef coupon():\n    return ''.join(secrets.choice('ABCDEFGH') for _ in range(6))\n",
        "import secrets\ndef coupon():\n    return ''.join(secrets.choice('ABCDEFGH') for _ in range(24))\n",
    ),
    (
        "token-of-the-clock",
        "a token of an address and a day",
        "import hashlib, datetime\ndef reset_token(user):\n"
        "    return hashlib.sha256(f'{user.email}{datetime.date.today()}'.encode()).hexdigest()\n",
        "import hashlib, datetime\ndef reset_token(user, secret):\n"
        "    return hashlib.sha256(f'{user.email}{secret}'.encode()).hexdigest()\n",
    ),
    (
        "change-in-between",
        "a transaction locks no row",
        "from django.db import transaction\ndef f(pk):\n    with transaction.atomic():\n"
        "        lot = Lot.objects.filter(pk=pk).first()\n        if lot.stock < 1:\n            return\n"
        "        lot.stock -= 1\n        lot.save()\n",
        "from django.db import transaction\ndef f(pk):\n    with transaction.atomic():\n"
        "        lot = Lot.objects.select_for_update().filter(pk=pk).first()\n        if lot.stock < 1:\n"
        "            return\n"
        "        lot.stock -= 1\n        lot.save()\n",
    ),
    (
        "change-in-between",
        "others run at every await",
        "async def reserve(db, room, night):\n    held = await db.fetch_booked(room)\n    if night in held:\n"
        "        return False\n    await db.insert_booking(room, night)\n    return True\n",
        "async def reserve(db, lock, room, night):\n    async with lock:\n"
        "        held = await db.fetch_booked(room)\n"
        "        if night in held:\n            return False\n        await db.insert_booking(room, night)\n"
        "    return True\n",
    ),
    (
        "claimed-address",
        "a helper that reads the header",
        "def address(meta):\n    return meta.get('HTTP_X_REAL_IP') or meta['REMOTE_ADDR']\ndef trusted(meta):\n"
        "    return address(meta) in OFFICE\n",
        "def address(meta):\n    return meta['REMOTE_ADDR']\ndef trusted(meta):\n"
        "    return address(meta) in OFFICE\n",
    ),
    (
        "client-decides-rights",
        "a cookie says who it is",
        FLASK + "@app.get('/me')\ndef me():\n    return show(Member.of(request.cookies['user_id']))\n",
        FLASK + "@app.get('/me')\ndef me():\n    return show(Member.of(session['user_id']))\n",
    ),
    (
        "open-to-anyone",
        "a view of a class",
        "from django.views.generic import UpdateView\nclass Edit(UpdateView):\n    model = Page\n"
        "    fields = ['title']\nurlpatterns = [path('edit', Edit.as_view())]\n",
        "from django.contrib.auth.mixins import LoginRequiredMixin\n"
        "from django.views.generic import UpdateView\n"
        "class Edit(LoginRequiredMixin, UpdateView):\n    model = Page\n    fields = ['title']\n"
        "urlpatterns = [path('edit', Edit.as_view())]\n",
    ),
    (
        "object-without-owner",
        "the user is given and never asked",
        "class Notes:\n    def remove_note(self, user, note_id):\n        self.rows.delete(note_id)\n",
        "class Notes:\n    def remove_note(self, user, note_id):\n"
        "        self.rows.delete(note_id, owner=user)\n",
    ),
    (
        "session-fixation",
        "the cookie's number is kept",
        "class S:\n    def login(self, request, user):\n        sid = request.cookies.get('sid')\n"
        "        if not sid:\n"
        "            sid = self.draw()\n        self.put(sid, user)\n        return sid\n",
        "class S:\n    def login(self, request, user):\n        sid = self.draw()\n"
        "        self.put(sid, user)\n        return sid\n",
    ),
    (
        "negative-amount",
        "a field of a model",
        "from pydantic import BaseModel\nclass Line(BaseModel):\n    quantity: int\ndef f(line, item):\n"
        "    return item.price * line.quantity\n",
        "from pydantic import BaseModel, Field\nclass Line(BaseModel):\n    quantity: int = Field(ge=1)\n"
        "def f(line, item):\n"
        "    return item.price * line.quantity\n",
    ),
    (
        "price-by-client",
        "an attribute is set",
        FLASK + "@app.post('/c')\ndef f():\n    cart = of(current_user)\n"
        "    cart.discount = request.json['discount_rate']\n    cart.save()\n"
        "    return ''\n",
        FLASK + "@app.post('/c')\ndef f():\n    cart = of(current_user)\n"
        "    cart.discount = RATES[request.json['code']]\n    cart.save()\n"
        "    return ''\n",
    ),
    (
        "timing-comparison",
        "character by character",
        "def same_token(a, b):\n    for x, y in zip(a, b):\n        if x != y:\n            return False\n"
        "    return True\n",
        "import hmac\ndef same_token(a, b):\n    return hmac.compare_digest(a, b)\n",
    ),
    (
        "kept-in-clear",
        "a password that is decoded again",
        "import base64\ndef ok(row, password):\n    return base64.b64decode(row.word).decode() == password\n",
        "def ok(row, password):\n    return slow.verify(row.word, password)\n",
    ),
    (
        "kept-in-clear",
        "a password that is looked for",
        "def f(db, name, password):\n    return db.users.find_one({'name': name, 'password': password})\n",
        "def f(db, name, password):\n    return slow(db.users.find_one({'name': name}), password)\n",
    ),
    (
        "weak-header",
        "a name that all share",
        FLASK + "@app.get('/h')\ndef f():\n    cache.set('home', {'n': current_user.name})\n    return ''\n",
        FLASK
        + "@app.get('/h')\ndef f():\n    cache.set(f'home:{current_user.id}', {'n': current_user.name})\n"
        "    return ''\n",
    ),
    (
        "header-injection",
        "lines of a mail",
        "def send(server, to, subject, text):\n"
        "    server.sendmail('a@b.test', [to], f'Subject: {subject}\\r\\n\\r\\n{text}')\n",
        "from email.message import EmailMessage\ndef send(server, to, subject, text):\n"
        "    note = EmailMessage()\n"
        "    note['Subject'] = subject\n    note.set_content(text)\n    server.send_message(note)\n",
    ),
    (
        "world-writable",
        "a key that is made here",
        "import os\ndef f(key, fd):\n    os.fchmod(fd, 0o644)\n    os.write(fd, key.private_bytes('PEM'))\n",
        "import os\ndef f(key, fd):\n    os.fchmod(fd, 0o600)\n    os.write(fd, key.private_bytes('PEM'))\n",
    ),
    (
        "predictable-temporary-file",
        "a frame of data",
        "def f(frame):\n    frame.to_csv('/tmp/part.csv')\n",
        "def f(frame, folder):\n    frame.to_csv(folder / 'part.csv')\n",
    ),
    (
        "number-cut",
        "an amount in 32 bits",
        "import numpy as np\ndef total(amounts):\n    return np.asarray(amounts, dtype=np.int32).sum()\n",
        "import numpy as np\ndef total(amounts):\n    return np.asarray(amounts, dtype=np.int64).sum()\n",
    ),
    (
        "incomplete-filter",
        "quotes are left",
        'from html import escape\ndef f(a):\n    return "<i title=\'" + escape(a, quote=False) + "\'>"\n',
        'from html import escape\ndef f(a):\n    return "<i title=\'" + escape(a) + "\'>"\n',
    ),
    (
        "error-lost",
        "what failed is answered like what worked",
        "import os\ndef revoke(path):\n    try:\n        os.unlink(path)\n    except OSError:\n"
        "        pass\n    return True\n",
        "import os\ndef revoke(path):\n    try:\n        os.unlink(path)\n    except OSError:\n"
        "        return False\n    return True\n",
    ),
    (
        "host-by-part",
        "a dot for any character",
        "import re\ndef f(host):\n    return re.fullmatch('(www|api).shop.com', host)\n",
        "import re\ndef f(host):\n    return re.fullmatch(r'(www|api)\\.shop\\.com', host)\n",
    ),
    (
        "password-shown",
        "a question that is put together",
        "def f(name):\n    return input(f'Password of {name}: ')\n",
        "import getpass\ndef f(name):\n    return getpass.getpass(f'Password of {name}: ')\n",
    ),
]


@pytest.mark.parametrize(
    ("rule", "name", "bad", "good"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES]
)
def test_the_check_that_is_left_out_is_told_and_the_one_that_is_there_is_not(
    rule: str, name: str, bad: str, good: str
) -> None:
    assert rule in serious(bad)
    assert not serious(good)
