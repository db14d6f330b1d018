"""Rows of `shapes.toml`: each way of writing is told under its rule, and the code done right is not."""

from __future__ import annotations

import ast
import re
from copy import copy
from pathlib import Path

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.insecure import _ENGINE
from codeguard.analysis.rules.insecure.base import View
from codeguard.models import Severity, SourceFile, text_digest
from experiments.benchmarks.audit_common import findings_in

PAIRS = [
    (part.partition("\n")[0], *re.split(r"(?m)^--- ?\n", part.partition("\n")[2]))
    for part in re.split(r"(?m)^=== ", Path(__file__).with_name("shapes.txt").read_text("utf-8"))[1:]
]


def rules(text: str) -> set[str]:
    return {item.rule.partition(".")[2] for item in findings_in(text)}


@pytest.mark.parametrize(
    ("rule", "bad", "good"), PAIRS, ids=[f"{n}-{pair[0]}" for n, pair in enumerate(PAIRS)]
)
def test_the_way_of_writing_is_told_and_the_right_one_is_not(rule: str, bad: str, good: str) -> None:
    assert rule in rules(bad)
    assert not rules(good)


def _rows_found(text: str) -> set[int]:
    """Return the numbers of the rows that match in a text, each asked alone."""
    view = View(Reading(SourceFile("sample.py", text, text_digest(text), "python", ())), _ENGINE._sinks)
    shapes = copy(_ENGINE._shapes)
    found = set()
    for number, row in enumerate(_ENGINE._shapes.rows):
        shapes.rows = [row]
        if any(True for _ in shapes.found(view)):
            found.add(number)
    return found


def test_every_row_has_a_pair_that_it_tells_apart() -> None:
    told: set[int] = set()
    for _, bad, good in PAIRS:
        told |= _rows_found(bad) - _rows_found(good)
    rows = _ENGINE._shapes.rows
    assert [
        (rows[n][0].rule.id, rows[n][1].written.pattern) for n in sorted(set(range(len(rows))) - told)
    ] == []


def test_every_row_speaks_for_a_rule_and_can_be_found() -> None:
    assert len(_ENGINE._shapes.rows) > 150
    for check, row in _ENGINE._shapes.rows:
        assert row.written.groups >= 0, check.rule.id
        assert row.says
        assert all(issubclass(kind, ast.AST) for kind in row.nodes)
        assert all(word == word.lower() and word for group in row.words for word in group), row.words
        for pattern in (row.around, row.without, row.file):
            re.compile(re.sub(r"%\d", "x", pattern))


def test_a_word_of_the_row_has_to_stand_in_the_node_itself() -> None:
    found = "def empty(rows):\n    return len(rows) >= 0\n"
    lines = [item.place.start_line for item in findings_in(found + "x = 1 >= 0\n")]
    assert lines == [2]


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
        ("", "allocation-by-input: b'0' * int(x)"),
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
        # a number is no markup, and a quoted list no command
        "from flask import Flask, request\nfrom shop import count_hits\napp = Flask(__name__)\n@app.get('/')\n"
        "def view():\n    hits = count_hits(request.args['q'])\n    return f'<p>{hits} found</p>'\n",
        "import shlex, paramiko\ndef restart(client: paramiko.SSHClient, service):\n"
        "    client.exec_command(shlex.join(['systemctl', 'restart', '--', service]))\n",
        # fields of a declared model, by a number among them
        "from fastapi import FastAPI\nfrom pydantic import BaseModel\nimport os\napp = FastAPI()\n"
        "class Job(BaseModel):\n    number: int\n@app.post('/')\ndef run(job: Job):\n"
        "    os.system(f'run {job.number}')\n",
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
        (
            "check-unreached",
            "def send(bank, order):\n    if order.small:\n        return bank.send(order)\n    else:\n"
            "        return bank.send(order, urgent=True)\n    if order.blocked:\n        return None\n",
        ),
        (
            "stored-in-clear",
            "import json\ndef login(path, user, password):\n    data = {'user': user, 'password': password}\n"
            "    path.write_text(json.dumps(data))\n",
        ),
        (
            "session-fixation",
            "from django.contrib.auth.hashers import check_password\ndef login(request):\n    tenant = find(request)\n"
            "    if not check_password(request.POST['p'], tenant.hash):\n        return None\n"
            "    request.session['tenant'] = tenant.pk\n",
        ),
        (
            "secret-in-query",
            "import os, httpx\ndef rates():\n"
            "    return httpx.get('https://r.example', params={'access_key': os.environ['K']}, timeout=5)\n",
        ),
        (
            "assert-for-security",
            "def trade(items, actor, number):\n    assert items.get(number) == actor, 'not your item'\n",
        ),
    ],
)
def test_what_a_value_is_made_of_is_followed(rule: str, text: str) -> None:
    assert rule in rules(text)


def test_a_number_that_its_declaration_limits_decides_no_allocation() -> None:
    text = (
        "from typing import Annotated\nfrom fastapi import FastAPI, Query\napp = FastAPI()\n@app.get('/x')\n"
        "def rows(size: Annotated[int, Query(ge=1{})] = 50):\n    return select(Row).limit(size)\n"
    )
    assert "allocation-by-input" in rules(text.format(""))
    assert not rules(text.format(", le=200"))
