"""Idioms of honest code that look like a weakness, each beside the weakness that it looks like."""

from __future__ import annotations

import pytest
from test_insecure_pairs import serious

FLASK = "from flask import Flask, redirect, request, session\napp = Flask('a')\n"
DJANGO = "from django.core.exceptions import PermissionDenied\n"
CASES = {
    "an upload is looked into": (
        FLASK + "import magic\n@app.post('/a')\ndef f():\n    file = request.files['f']\n"
        "    if file.mimetype == magic.of(file):\n        file.save('/srv/a')\n    return ''\n",
        FLASK + "@app.post('/a')\ndef f():\n    file = request.files['f']\n"
        "    if file.mimetype == 'image/png':\n        file.save('/srv/a')\n    return ''\n",
    ),
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
        "import subprocess\ndef run(args, shell):\n    subprocess.run('sh ' + args, shell=True)\n",
    ),
    "a pattern is searched in what came": (
        "def find(stream, patterns):\n    return [item.search(stream.recv(9)) for item in patterns]\n",
        "def find(stream, conn):\n    return conn.search('dc=x', '(uid=' + stream.recv(9).decode() + ')')\n",
    ),
    "a history is searched": (
        "def find(self, text):\n    pattern = '*' + text + '*'\n    return self.history.search(pattern, raw=True)\n",
        "import ldap3\ndef find(self, text):\n    pattern = '*' + text + '*'\n"
        "    return self.history.search(pattern, raw=True)\n",
    ),
    "an interpreter keeps a namespace": (
        "class Shell:\n    def run(self, source):\n        exec(source, self.namespace)\n",
        "class Shell:\n    def run(self, source):\n        exec(source, {})\n",
    ),
    "a console hands on to its base": (
        "import code\nclass Console(code.InteractiveInterpreter):\n    def runsource(self, source):\n"
        "        return super().runsource(source, '<x>')\n",
        "import code\nclass Console(code.InteractiveInterpreter):\n    def go(self, source):\n"
        "        return code.InteractiveInterpreter().runsource(source, '<x>')\n",
    ),
    "a digest stands in a tokenizer": (
        "import hashlib\ndef tokenize(text):\n    return hashlib.sha1(text).hexdigest()\n",
        "import hashlib\ndef token(text):\n    return hashlib.sha1(text).hexdigest()\n",
    ),
    "versions of TLS stand in a table": (
        "import ssl\nNAMES = {'1.0': ssl.TLSVersion.TLSv1, '1.2': ssl.TLSVersion.TLSv1_2}\n",
        "import ssl\ncontext = ssl.SSLContext(ssl.PROTOCOL_TLSv1)\n",
    ),
    "a piece of a pattern is called a token": (
        "import re\n_TOKEN = r'[!#$%0-9A-Za-z]+'\nCHUNK = re.compile(_TOKEN + ';')\n",
        "_TOKEN = 'q8Zk3vW0pLx5Rt7Y'\n",
    ),
    "two objects are equal": (
        "class A:\n    def __eq__(self, other):\n        return self.signature == other.signature\n",
        "def check(request, signature):\n    if request.headers['X-Signature'] == signature:\n        return pay()\n",
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
    "a text that only begins like a statement": (
        "def tell(name):\n    return f'Select a colour from {name}'\n",
        "def tell(name):\n    return f'select colour from hues where name = {name}'\n",
    ),
    "a setting that stands in capitals is the team's own": (
        "from django.conf import settings\ndef rows(db):\n    db.execute('SELECT 1 FROM ' + settings.TABLE)\n",
        "from app.conf import settings\ndef rows(db):\n    db.execute('SELECT 1 FROM ' + settings.table)\n",
    ),
    "a dialogue names a file": (
        "def save(dialog):\n    open(dialog.get_filename(), 'w').close()\n",
        "import email\ndef save(part):\n    open(part.get_filename(), 'w').close()\n",
    ),
    "a repetition ends where an assertion says": (
        'import re\nCOMMENTS = re.compile(r"(?:/\\*(?:[^*]|\\*(?!/))*\\*/)+end")\n',
        'import re\nCOMMENTS = re.compile(r"(?:/\\*.*?\\*/)+end")\n',
    ),
    "nothing goes back into an assertion": (
        'import re\nRULE = re.compile(r"(?=(?P<line>(-+[ ]{0,2}){3,}))(?P=line)$")\n',
        'import re\nRULE = re.compile(r"(?P<line>(-+[ ]{0,2}){3,})$")\n',
    ),
    "a dot stops at the end of the line": (
        'import re\nLINES = re.compile(r"(?:#.*\\n)+end")\n',
        'import re\nLINES = re.compile(r"(?:#.*)+end")\n',
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
    "a method of signing is compared": (
        "def check(request):\n    return request.signature_method == SIGNATURE_PLAINTEXT\n",
        "def check(request):\n    return request.signature == EXPECTED_TOKEN\n",
    ),
    "an object is made of bytes": (
        "from .objects import Blob\ndef store(path):\n    return Blob.from_string(open(path).read())\n",
        "from jinja2 import Environment\ndef show():\n"
        "    return Environment(autoescape=True).from_string(input()).render()\n",
    ),
    "a repository is fetched": (
        "def get(client, name):\n    return client.fetch(b'refs/' + open(name).read())\n",
        "def get(conn, name):\n    return conn.fetch('SELECT a FROM b WHERE c = ' + open(name).read())\n",
    ),
    "a hook is executed": (
        "def run(hook, name):\n    return hook.execute('message ' + open(name).read())\n",
        "def run(cursor, name):\n    return cursor.execute('select a from b where c = ' + open(name).read())\n",
    ),
    "part of a statement is not told": (
        "def get(db):\n    return db.run(f'SELECT a FROM {settings().table} WHERE b = 1')\n",
        "def get(db, table):\n    return db.run(f'SELECT a FROM t WHERE b = {table}')\n",
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
    "a variable of the environment is logged": (
        "import logging, os\ndef start():\n    logging.info('home %s', os.environ['HOME'])\n",
        "import logging, os\ndef start():\n    logging.info('with %s', os.environ)\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_idiom_is_quiet_and_the_weakness_is_not(name: str) -> None:
    usual, weak = CASES[name]
    assert not serious(usual)
    assert serious(weak)
