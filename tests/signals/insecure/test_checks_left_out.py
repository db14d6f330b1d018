"""Checks that are left out, fail open, come too late or look at a part: each beside the same code with the check."""

from __future__ import annotations

import pytest
from test_insecure_pairs import serious

FLASK = "from flask import Flask, request, session, jsonify\nfrom flask_login import current_user\napp = Flask('a')\n"
AES = "import os\nfrom cryptography.hazmat.primitives.ciphers.aead import AESGCM\n"
CASES = [
    (
        "untrusted-search-path",
        "a keyword of the environment",
        "import os\ndef f():\n    return dict(os.environ, PATH='.:/bin')\n",
        "import os\ndef f():\n    return dict(os.environ, PATH='/usr/bin:/bin')\n",
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
        "header-injection",
        "lines of a mail",
        "def send(server, to, subject, text):\n"
        "    server.sendmail('a@b.test', [to], f'Subject: {subject}\\r\\n\\r\\n{text}')\n",
        "from email.message import EmailMessage\ndef send(server, to, subject, text):\n"
        "    note = EmailMessage()\n"
        "    note['Subject'] = subject\n    note.set_content(text)\n    server.send_message(note)\n",
    ),
    (
        "predictable-temporary-file",
        "a frame of data",
        "def f(frame):\n    frame.to_csv('/tmp/part.csv')\n",
        "def f(frame, folder):\n    frame.to_csv(folder / 'part.csv')\n",
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
