"""Idioms of honest code that look like a weakness, each beside the weakness that it looks like."""

from __future__ import annotations

import pytest
from test_insecure_pairs import serious

CASES = {
    "whoever gives the command says whether there is a shell": (
        "import subprocess\ndef run(args, shell):\n    subprocess.run(args, shell=shell)\n",
        "import subprocess\ndef run(args, shell):\n    subprocess.run('sh ' + args, shell=True)\n",
    ),
    "a history is searched": (
        "def find(self, text):\n    pattern = '*' + text + '*'\n    return self.history.search(pattern, raw=True)\n",
        "import ldap3\ndef find(self, text):\n    pattern = '*' + text + '*'\n"
        "    return self.history.search(pattern, raw=True)\n",
    ),
    "a digest stands in a tokenizer": (
        "import hashlib\ndef tokenize(text):\n    return hashlib.sha1(text).hexdigest()\n",
        "import hashlib\ndef token(text):\n    return hashlib.sha1(text).hexdigest()\n",
    ),
    "versions of TLS stand in a table": (
        "import ssl\nNAMES = {'1.0': ssl.TLSVersion.TLSv1, '1.2': ssl.TLSVersion.TLSv1_2}\n",
        "import ssl\ncontext = ssl.SSLContext(ssl.PROTOCOL_TLSv1)\n",
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
        "    return getattr(self, code)()\n",
    ),
    "quotes are doubled in a name of SQL": (
        "def find(db, name):\n    db.execute('SELECT 1 FROM \"%s\"' % name.replace('\"', '\"\"'))\n",
        'def find(db, name):\n    db.execute("SELECT 1 FROM t WHERE n = \'%s\'" % name.replace("\'", "\'\'"))\n',
    ),
    "quotes are closed and opened in a shell": (
        "import os\ndef run(name):\n    os.system(\"ls '%s'\" % name.replace(\"'\", \"'\\\\''\"))\n",
        'import os\ndef run(name):\n    os.system("ls \'%s\'" % name.replace("\'", "\'\'"))\n',
    ),
    "a dialogue names a file": (
        "def save(dialog):\n    open(dialog.get_filename(), 'w').close()\n",
        "import email\ndef save(part):\n    open(part.get_filename(), 'w').close()\n",
    ),
    "a download lies where the library puts it": (
        "import os, urllib.request\ndef get(url):\n    os.remove(urllib.request.urlretrieve(url)[0])\n",
        "import os, urllib.request\ndef get(url):\n    os.remove(urllib.request.urlopen(url).read().decode())\n",
    ),
    "a copy is made of an object": (
        "import cloudpickle, pickle\ndef copy(item):\n    return pickle.loads(cloudpickle.dumps(item))\n",
        "import pickle\ndef copy(item):\n    return pickle.loads(item)\n",
    ),
    "a version of what was fetched": (
        "import os, requests\nfrom packaging.version import Version\ndef get():\n"
        "    wanted = Version(requests.get('https://x.example', timeout=5).text)\n    os.system(f'get {wanted}')\n",
        "import os, requests\ndef get():\n"
        "    wanted = requests.get('https://x.example', timeout=5).text\n    os.system(f'get {wanted}')\n",
    ),
    "a filter marks what it was given": (
        "from markupsafe import Markup\ndef safe(value):\n    return Markup(value)\n",
        "from markupsafe import Markup\ndef bold(value):\n    return Markup('<b>' + value + '</b>')\n",
    ),
    "a connection quotes a name": (
        "def get(cursor, connection):\n    cursor.execute('SELECT a FROM ' + connection.quote('b'))\n",
        "def get(cursor, name):\n    cursor.execute('SELECT a FROM ' + name)\n",
    ),
    "noise is made of bytes": (
        "import numpy as np\ndef noise():\n    return np.random.bytes(32)\n",
        "import numpy as np\ndef session_key():\n    return np.random.bytes(32)\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_idiom_is_quiet_and_the_weakness_is_not(name: str) -> None:
    usual, weak = CASES[name]
    assert not serious(usual)
    assert serious(weak)
