"""Imports: lookalikes and honest neighbours, undeclared packages, install commands, urging."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.imports import SIGNAL, lookalike
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.models import Severity

DEFAULTS = {rule.id: rule.severity for rule in SIGNAL.rules}


def inspect(text: str, name: str = "x.py") -> list[tuple[str, Severity]]:
    found = SIGNAL.inspect(Reading(chunk_file(name, text.encode())), DetectorContext())
    return [(item.rule, DEFAULTS[item.rule] if item.severity is None else item.severity) for item in found]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("reqeusts", "requests"),
        ("requestss", "requests"),
        ("urlib3", "urllib3"),
        ("djnago", "django"),
        ("matplotlb", "matplotlib"),
        ("crypt0graphy", "cryptography"),
        ("nurnpy", "numpy"),
        ("pandаs", "pandas"),  # a Cyrillic letter
        ("setup-tools", "setuptools"),
        ("scikitlearn", "scikit-learn"),
        ("dateutil-python", "python-dateutil"),
        ("python-requests", "requests"),
        ("requests_official", "requests"),
        ("flask2", "flask"),
        ("subproccess", "subprocess"),
    ],
)
def test_lookalikes(name: str, known: str) -> None:
    found = lookalike(name, npm=False)
    assert found is not None
    assert found.known == known


NEIGHBOURS = """
toml tomli tomlkit attr attrs mock nose nose2 boto boto3 redis regex request utils models config parser click clock
flash slack urllib urllib2 urllib3 httplib httplib2 pytz tzdata types typing typer colour colorama yaml ujson json json5
orjson psycopg psycopg2 lxml rich ply pluggy test tests six sh attrs cattrs trio anyio mypackage flask_admin django_x
"""


@pytest.mark.parametrize("name", sorted(set(NEIGHBOURS.split())))
def test_honest_neighbours(name: str) -> None:
    assert lookalike(name, npm=False) is None


@pytest.mark.parametrize(
    ("name", "known"),
    [("expres", "express"), ("lodahs", "lodash"), ("cross-evn", "cross-env"), ("axois", "axios")],
)
def test_npm_lookalikes(name: str, known: str) -> None:
    found = lookalike(name, npm=True)
    assert found is not None
    assert found.known == known


@pytest.mark.parametrize(
    "name", ["express", "nock", "mock", "preact", "@types/expres", "my-app", "config", "colors"]
)
def test_npm_honest_neighbours(name: str) -> None:
    assert lookalike(name, npm=True) is None


HIGH, MEDIUM, LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW
CASES = [
    ("import reqeusts", "x.py", [("lookalike", HIGH)]),
    ("from reqeusts.auth import X", "x.py", [("lookalike", HIGH)]),
    ("m = __import__('reqe' + 'usts')", "x.py", [("lookalike", HIGH)]),
    ("import importlib\nm = importlib.import_module('djnago.db')", "x.py", [("lookalike", HIGH)]),
    ("import python_requests", "x.py", [("lookalike", MEDIUM)]),
    ("from . import reqeusts\nfrom .reqeusts import x", "x.py", []),
    ("const a = require('expres')", "x.js", [("lookalike", HIGH)]),
    ("import a from 'lodahs/fp'", "x.ts", [("lookalike", HIGH)]),
    ("import a from './expres'\nimport fs from 'node:fs'\nimport b from '@acme/expres'", "x.ts", []),
    ("import fasthttpthing", "x.py", []),
    ("import selectors2, grequests, parsy, pcapy", "x.py", [("lookalike", LOW)] * 4),
    ("import numpi, colourama, pandaz, flaskk", "x.py", [("lookalike", HIGH)] * 4),
    ('"""Setup: pip install ncclient"""', "x.py", []),
    ("try:\n    import requests\nexcept ImportError:\n    import reqeusts", "x.py", [("lookalike", HIGH)]),
    ("# pip install requests\nimport requests", "x.py", []),
    ("# pip install git+https://github.com/psf/requests\nimport requests", "x.py", [("install-source", LOW)]),
    ("# pip install --index-url http://198.51.100.7/simple x", "x.py", [("install-source", HIGH)]),
    ("# Statt numpy besser numpy_full: sicherer\nimport numpy_full as np", "x.py", [("lookalike", HIGH)]),
    ("# numpy_full adds to numpy\nimport numpy, numpy_full", "x.py", []),
    ("# No numpy here. numpy_full has it.\nimport numpy_full", "x.py", []),
    ("// lodash-plus, not lodash\nimport a from 'lodash-plus'", "x.ts", [("lookalike", HIGH)]),
    ("# pip install https://198.51.100.7/x.tar.gz", "x.py", [("install-source", HIGH)]),
    ("# pip install --index-url=file:///srv/packages/simple x", "x.py", [("install-source", LOW)]),
    ("# pip install --index-url http://localhost:3141/root x", "x.py", [("install-source", MEDIUM)]),
    ("# pip install --extra-index-url=https://pkgs.example.net x", "x.py", [("install-source", MEDIUM)]),
    ("# pip install https://example.net/x-1.0.whl", "x.py", [("install-source", MEDIUM)]),
    ('"""Setup: pip install reqeusts"""', "x.py", [("lookalike", MEDIUM)]),
    ("# pip install xxhash for encoding with lz4", "x.py", []),
    ("# pip install xxhash encoding", "x.py", [("lookalike", MEDIUM)]),
    ("// npm install --registry http://198.51.100.7/ x", "x.js", [("install-source", HIGH)]),
    ("# required for security updates\nimport requests", "x.py", []),
    ("import os\nos.system('pip install ' + 'fastthing')", "x.py", [("runtime-install", MEDIUM)]),
    (
        "import subprocess as s, sys\ns.check_call([sys.executable, '-m', 'pip', 'install', name])",
        "x.py",
        [("runtime-install", MEDIUM)],
    ),
    (
        "import subprocess as s\ns.run(['pip', 'install', '--index-url', 'http://198.51.100.7/simple', 'x'])",
        "x.py",
        [("runtime-install", HIGH)],
    ),
    ("import subprocess\nsubprocess.run(['pip', 'list'])\nx = 'to install'", "x.py", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "expected"), CASES)
def test_imports(text: str, name: str, expected: list[tuple[str, Severity]]) -> None:
    assert inspect(text, name) == expected


@pytest.mark.parametrize(
    "text",
    [
        "# pip install " + "a " * 50_000,
        "# " + "required " * 20_000,
        "x = 'install " + "-i " * 50_000 + "'",
        "import " + "a" * 90_000,
    ],
)
def test_hostile_text(text: str) -> None:
    assert inspect(text) == []
