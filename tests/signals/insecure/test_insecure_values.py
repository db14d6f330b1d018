"""What a value is made of: sources and sinks of libraries, numbers, and values that are followed."""

from __future__ import annotations

import pytest

from codeguard.models import Severity
from experiments.benchmarks.audit_common import findings_in


def rules(text: str) -> set[str]:
    return {item.rule.partition(".")[2] for item in findings_in(text)}


def test_an_annotated_request_of_aiohttp_is_a_source_and_no_query_of_a_database() -> None:
    text = (
        "from aiohttp import web\nasync def show(request: web.Request):\n"
        '    return web.FileResponse(request.query.get("name", ""))\n'
    )
    assert rules(text) == {"path-traversal"}


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ("import cProfile", "code-injection: cProfile.run(x)"),
        ("import importlib.util", "unsafe-reflection: importlib.util.spec_from_file_location('a', x)"),
        ("import gzip", "path-traversal: gzip.open('/srv/' + x)"),
        ("import os", "path-traversal: os.symlink('/srv/a', '/srv/' + x)"),
        (
            "from tornado.httpclient import HTTPClient",
            "server-side-request-forgery: HTTPClient().fetch(x)",
        ),
        ("import pandas", "regex-injection: pandas.DataFrame()['a'].str.contains(x)"),
    ],
)
def test_more_calls_are_sinks(lines: str, rule: str) -> None:
    name, _, call = rule.partition(": ")
    head = f"from flask import Flask, request\n{lines}\napp = Flask(__name__)\n@app.get('/')\ndef view():\n"
    assert name in rules(f"{head}    x = request.args['x']\n    {call}\n")


@pytest.mark.parametrize(
    "text",
    [
        # a quoted list is no command
        "import shlex, paramiko\ndef restart(client: paramiko.SSHClient, service):\n"
        "    client.exec_command(shlex.join(['systemctl', 'restart', '--', service]))\n",
    ],
)
def test_what_is_harmless_stays_quiet(text: str) -> None:
    assert not [item for item in findings_in(text) if item.severity >= Severity.MEDIUM]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            "timing-comparison",
            "import hmac\nclass Box:\n    def _mac(self, data):\n"
            "        return hmac.digest(self.key, data, 'sha256')\n"
            "    def open(self, mac, data):\n        if mac == self._mac(data):\n"
            "            return data\n        raise ValueError\n",
        ),
        (
            "short-key",
            "from cryptography.hazmat.primitives.asymmetric import rsa\nBITS = 1024\ndef new(bits=BITS):\n"
            "    return rsa.generate_private_key(public_exponent=65537, key_size=bits)\n",
        ),
    ],
)
def test_what_a_value_is_made_of_is_followed(rule: str, text: str) -> None:
    assert rule in rules(text)
