"""The rules of the capabilities signal, each with a bad and a good example."""

from __future__ import annotations

from codeguard.models import Confidence, Severity
from codeguard.signals.base import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        "exfiltration",
        "secrets of the machine are sent away",
        Severity.HIGH,
        Confidence.HIGH,
        "The whole environment, or a file that holds keys or passwords, flows into a request. A single variable in a "
        "header is how credentials are used, and not meant.",
        bad="import json, os, requests\n\ndef report(url):\n"
        "    requests.post(url, data=json.dumps(dict(os.environ)))\n",
        good="import os, requests\n\ndef report(url, data):\n"
        "    headers = {'Authorization': os.environ['TOKEN']}\n"
        "    requests.post(url, json=data, headers=headers)\n",
        cwe=(200, 506),
    ),
    Rule(
        "sends-surroundings",
        "an environment variable or a file's content is sent",
        Severity.LOW,
        Confidence.LOW,
        "Ordinary in clients and uploads, and how single secrets leave.",
        bad="import requests\n\ndef upload(url, path):\n    requests.post(url, data=open(path).read())\n",
        good="import requests\n\ndef upload(url, data):\n    requests.post(url, data=data)\n",
        cwe=(200,),
    ),
    Rule(
        "download-and-run",
        "what the network sends is run",
        Severity.CRITICAL,
        Confidence.HIGH,
        "Whoever answers the request decides what this machine does.",
        bad="import requests\n\ndef start(url):\n    code = requests.get(url).text\n    exec(code)\n",
        good="import requests\n\ndef start(url):\n    return requests.get(url).json()['version']\n",
        cwe=(494, 94),
    ),
    Rule(
        "decoded-exec",
        "a text that is written encoded is run",
        Severity.CRITICAL,
        Confidence.HIGH,
        "Code is encoded in source for one reason: that nobody reads it.",
        bad="import base64\n\nexec(base64.b64decode('cHJpbnQoIm1hcmtlciIpICMgaGFybWxlc3M='))\n",
        good="import base64\n\nICON = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ')\n",
        cwe=(506, 94),
    ),
    Rule(
        "runs-decoded",
        "something decoded at run time is run",
        Severity.LOW,
        Confidence.LOW,
        "Loaders of stored code do this; what they load cannot be seen here.",
        bad="import base64\n\ndef run(text):\n    exec(base64.b64decode(text))\n",
        good="import base64\n\ndef read(text):\n    return base64.b64decode(text)\n",
        cwe=(94,),
    ),
    Rule(
        "reverse-shell",
        "a shell is connected to another machine",
        Severity.CRITICAL,
        Confidence.HIGH,
        "A process whose streams are a network connection obeys whoever is at the other end.",
        bad="import os, pty, socket\n\ndef go():\n    s = socket.create_connection(('127.0.0.1', 9))\n"
        "    os.dup2(s.fileno(), 0)\n    pty.spawn('sh')\n",
        good="import socket\n\ndef go():\n    with socket.create_connection(('127.0.0.1', 9)) as s:\n"
        "        s.sendall(b'ping')\n",
        cwe=(506,),
    ),
    Rule(
        "persistence",
        "something is made to start again",
        Severity.HIGH,
        Confidence.MEDIUM,
        "Writes to shell profiles, authorized_keys, cron, units or hooks outlive the program that does it.",
        bad="import os\n\ndef setup(key):\n"
        "    with open(os.path.expanduser('~/.ssh/authorized_keys'), 'a') as f:\n        f.write(key)\n",
        good="def setup(path, text):\n    with open(path, 'a') as f:\n        f.write(text)\n",
        cwe=(506,),
    ),
    Rule(
        "destroys",
        "everything below a root is deleted",
        Severity.HIGH,
        Confidence.HIGH,
        "A home folder or the root of a disk is no place to clean up.",
        bad="import pathlib, shutil\n\nshutil.rmtree(pathlib.Path.home())\n",
        good="import shutil\n\ndef clean(folder):\n    shutil.rmtree(folder / 'build')\n",
        cwe=(506,),
    ),
    Rule(
        "disables-security",
        "a protection of the machine is turned off",
        Severity.HIGH,
        Confidence.HIGH,
        "Firewalls, SELinux, audit and scanners are not a program's to stop.",
        bad="import os\n\nos.system('setenforce 0')\n",
        good="import subprocess\n\nsubprocess.run(['getenforce'])\n",
        cwe=(506, 693),
    ),
    Rule(
        "tampered-verification",
        "a function that others rely on is replaced for the whole process",
        Severity.HIGH,
        Confidence.MEDIUM,
        "Once ssl's context or compare_digest is replaced, no other code verifies anything.",
        bad="import ssl\n\nssl._create_default_https_context = ssl._create_unverified_context\n",
        good="import ssl\n\ncontext = ssl.create_default_context()\n",
        cwe=(295, 693),
    ),
    Rule(
        "import-effect",
        "importing the file reaches out",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        "What runs at import runs in every program, test and tool that loads the module.",
        bad="import urllib.request\n\nurllib.request.urlopen('http://127.0.0.1:9/ping')\n",
        good="import urllib.request\n\ndef ping():\n    urllib.request.urlopen('http://127.0.0.1:9/ping')\n",
        cwe=(506,),
    ),
    Rule(
        "install-hook",
        "installing the package reaches out or runs code",
        Severity.HIGH,
        Confidence.MEDIUM,
        "Commands of setup.py run on the machine that installs, before anybody has imported anything.",
        bad="import urllib.request\nfrom setuptools.command.install import install\n\n"
        "class Install(install):\n"
        "    def run(self):\n        urllib.request.urlopen('http://127.0.0.1:9/')\n"
        "        install.run(self)\n",
        good="from setuptools.command.install import install\n\nclass Install(install):\n"
        "    def run(self):\n        install.run(self)\n",
        cwe=(506, 829),
    ),
    Rule(
        "ignores-arguments",
        "a check or cipher that never looks at what it is given",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        "A verification that says yes to everything, or a cipher without its key, protects nothing.",
        bad="def verify_signature(message, signature, key):\n    return True\n",
        good="import hmac\n\ndef verify_signature(message, signature, key):\n"
        "    return hmac.compare_digest(hmac.digest(key, message, 'sha256'), signature)\n",
        cwe=(347, 287),
    ),
    Rule(
        "beyond-twin",
        "reaches what no trusted function of its name does",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        "A function that passes for a trusted one and can reach the network, a process or the environment beside.",
        bad="import os\n\ndef join_words(words):\n    os.system('true')\n    return ' '.join(words)\n",
        good="def join_words(words):\n    return ' '.join(words)\n",
        cwe=(506,),
    ),
    Rule(
        "able",
        "what a function can reach",
        Severity.INFO,
        Confidence.HIGH,
        "No accusation: it says what to keep in mind when reading.",
    ),
)
