"""Idioms of honest code that look like a weakness, each beside the weakness that it looks like."""

from __future__ import annotations

import pytest
from test_insecure_pairs import serious

CASES = {
    "a debugger runs code where it is told to": (
        "def run(code, globals, locals):\n    exec(code, globals, locals)\n",
        "def run(code, names):\n    exec(code, {}, names)\n",
    ),
    "a debugger runs code in a frame": (
        "def show(self, text):\n    space = self.frame.f_globals\n    return eval(text, space, self.frame.f_locals)\n",
        "def show(self, text):\n    space = self.frame.names\n    return eval(text, space, self.frame.f_locals)\n",
    ),
    "whoever gives the command says whether there is a shell": (
        "import subprocess\ndef run(args, shell):\n    subprocess.run(args, shell=shell)\n",
        "import subprocess\ndef run(args, shell):\n    subprocess.run(args, shell=True)\n",
    ),
    "a pattern is searched in what came": (
        "def find(stream, patterns):\n    return [item.search(stream.recv(9)) for item in patterns]\n",
        "def find(stream, conn):\n    return conn.search('dc=x', '(uid=' + stream.recv(9).decode() + ')')\n",
    ),
    "a header is there": (
        "def sent(request, headers):\n    if 'host' in headers:\n        return 1\n",
        "def sent(request):\n    if request.headers.get('X-Is-Admin') == 'yes':\n        return 1\n",
    ),
    "two objects are equal": (
        "class A:\n    def __eq__(self, other):\n        return self.signature == other.signature\n",
        "def check(request, signature):\n    if request.headers['X-Signature'] == signature:\n        return pay()\n",
    ),
    "a pipe has a name": (
        "import os, tempfile\nname = tempfile.mktemp(prefix=r'\\\\.\\pipe\\x-%d-' % os.getpid())\n",
        "import tempfile\nname = tempfile.mktemp(prefix='x-')\n",
    ),
    "what was pickled here is unpickled": (
        "import pickle\ndef copy(x):\n    return pickle.loads(pickle.dumps(x))\n",
        "import pickle\ndef copy(x):\n    return pickle.loads(x)\n",
    ),
    "a client gives the request that it sends a header": (
        "import urllib3\nclass Signer:\n    def sign(self, request):\n"
        "        request.headers['Authorization'] = self.make(request.url)\n",
        "from flask import make_response, request\ndef view():\n    answer = make_response('x')\n"
        "    answer.headers['X-Url'] = request.url\n    return answer\n",
    ),
    "a prepared request gets a header": (
        "from requests import PreparedRequest\ndef sign(r: PreparedRequest):\n    r.headers['X-A'] = r.url\n",
        "from starlette.requests import Request\ndef view(r: Request, answer):\n    answer.headers['X-A'] = r.url\n",
    ),
    "a number is put into a name": (
        "import requests\ndef go(self):\n    code = requests.get('https://x.example', timeout=5).status\n"
        "    return getattr(self, 'on_%d' % code)()\n",
        "import requests\ndef go(self):\n    code = requests.get('https://x.example', timeout=5).text\n"
        "    return getattr(self, 'on_%s' % code)()\n",
    ),
    "quotes are doubled in a name of SQL": (
        "def find(db, name):\n    db.execute('SELECT 1 FROM \"%s\"' % name.replace('\"', '\"\"'))\n",
        'def find(db, name):\n    db.execute("SELECT 1 FROM t WHERE n = \'%s\'" % name.replace("\'", "\'\'"))\n',
    ),
    "quotes are closed and opened in a shell": (
        "import os\ndef run(name):\n    os.system(\"ls '%s'\" % name.replace(\"'\", \"'\\\\''\"))\n",
        'import os\ndef run(name):\n    os.system("ls \'%s\'" % name.replace("\'", "\'\'"))\n',
    ),
    "a text that only begins like a statement": (
        "def tell(name):\n    return f'Select a colour from {name}'\n",
        "def tell(name):\n    return f'select colour from {name}'\n",
    ),
    "a setting that stands in capitals is the team's own": (
        "from django.conf import settings\ndef rows(db):\n    db.execute('SELECT 1 FROM ' + settings.TABLE)\n",
        "from app.conf import settings\ndef rows(db):\n    db.execute('SELECT 1 FROM ' + settings.table)\n",
    ),
    "a dialogue names a file": (
        "def save(dialog):\n    open(dialog.get_filename(), 'w').close()\n",
        "import email\ndef save(part):\n    open(part.get_filename(), 'w').close()\n",
    ),
    "a version of what was fetched": (
        "import os, requests\nfrom packaging.version import Version\ndef get():\n"
        "    wanted = Version(requests.get('https://x.example', timeout=5).text)\n    os.system(f'get {wanted}')\n",
        "import os, requests\ndef get():\n"
        "    wanted = requests.get('https://x.example', timeout=5).text\n    os.system(f'get {wanted}')\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_idiom_is_quiet_and_the_weakness_is_not(name: str) -> None:
    usual, weak = CASES[name]
    assert not serious(usual)
    assert serious(weak)
