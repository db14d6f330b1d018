"""Imports: lookalikes and honest neighbours, undeclared packages, install commands, urging."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import ComparisonData, DetectorContext
from codeguard.analysis.rules.imports import SIGNAL
from codeguard.analysis.rules.imports.lookalikes import npm_lookalike, python_lookalike
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.models import Severity

DEFAULTS = {rule.id: rule.severity for rule in SIGNAL.rules}


def inspect(
    text: str, name: str = "x.py", packages: frozenset[str] | None = None
) -> list[tuple[str, Severity]]:
    services = ComparisonData(packages=None if packages is None else frozenset(packages))
    found = SIGNAL.inspect(Reading(chunk_file(name, text.encode())), DetectorContext(services))
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
    found = python_lookalike(name)
    assert found is not None
    assert found.known == known


NEIGHBOURS = """
toml tomli tomlkit attr attrs mock nose nose2 boto boto3 redis regex request utils models config parser click clock
flash slack urllib urllib2 urllib3 httplib httplib2 pytz tzdata types typing typer colour colorama yaml ujson json json5
orjson psycopg psycopg2 lxml rich ply pluggy test tests six sh attrs cattrs trio anyio mypackage flask_admin django_x
"""


@pytest.mark.parametrize("name", sorted(set(NEIGHBOURS.split())))
def test_honest_neighbours(name: str) -> None:
    assert python_lookalike(name) is None


@pytest.mark.parametrize(
    ("name", "known"),
    [("expres", "express"), ("lodahs", "lodash"), ("cross-evn", "cross-env"), ("axois", "axios")],
)
def test_npm_lookalikes(name: str, known: str) -> None:
    found = npm_lookalike(name)
    assert found is not None
    assert found.known == known


@pytest.mark.parametrize(
    "name", ["express", "nock", "mock", "preact", "@types/expres", "my-app", "config", "colors"]
)
def test_npm_honest_neighbours(name: str) -> None:
    assert npm_lookalike(name) is None


HIGH, MEDIUM, LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW
CASES = [
    ("import reqeusts", "x.py", None, [("lookalike", HIGH)]),
    ("from reqeusts.auth import X", "x.py", None, [("lookalike", HIGH)]),
    ("m = __import__('reqe' + 'usts')", "x.py", None, [("lookalike", HIGH)]),
    ("import importlib\nm = importlib.import_module('djnago.db')", "x.py", None, [("lookalike", HIGH)]),
    ("import python_requests", "x.py", None, [("lookalike", MEDIUM)]),
    ("from . import reqeusts\nfrom .reqeusts import x", "x.py", None, []),
    ("import reqeusts", "x.py", frozenset({"reqeusts"}), []),
    ("const a = require('expres')", "x.js", None, [("lookalike", HIGH)]),
    ("import a from 'lodahs/fp'", "x.ts", None, [("lookalike", HIGH)]),
    ("import a from './expres'\nimport fs from 'node:fs'\nimport b from '@acme/expres'", "x.ts", None, []),
    ("import fasthttpthing", "x.py", None, []),
    ("import fasthttpthing", "x.py", frozenset({"requests"}), [("unknown-package", MEDIUM)]),
    ("try:\n    import fastthing\nexcept ImportError:\n    pass", "x.py", frozenset(), [("unknown-package", LOW)]),
    ("import selectors2, grequests, parsy, pcapy", "x.py", None, [("lookalike", LOW)] * 4),
    ("import numpi, colourama, pandaz, flaskk", "x.py", None, [("lookalike", HIGH)] * 4),
    ('"""Setup: pip install ncclient"""', "x.py", None, []),
    ("try:\n    import requests\nexcept ImportError:\n    import reqeusts", "x.py", None, [("lookalike", HIGH)]),
    ("import numpy", "x.py", frozenset({"requests"}), [("unknown-package", LOW)]),
    ("import yaml, PIL, os, requests", "x.py", frozenset({"PyYAML", "Pillow", "requests"}), []),
    ("# pip install requests\nimport requests", "x.py", None, []),
    ("# pip install git+https://github.com/psf/requests\nimport requests", "x.py", None, [("install-source", LOW)]),
    ("# pip install --index-url http://198.51.100.7/simple x", "x.py", None, [("install-source", HIGH)]),
    ("# pip install --index-url http://pkgs.example.net/simple x", "x.py", None, [("install-source", HIGH)]),
    ("# pip install https://198.51.100.7/x.tar.gz", "x.py", None, [("install-source", HIGH)]),
    ("# pip install --index-url=file:///srv/packages/simple x", "x.py", None, [("install-source", LOW)]),
    ("# pip install --index-url http://localhost:3141/root x", "x.py", None, [("install-source", MEDIUM)]),
    ("# pip install --extra-index-url=https://pkgs.example.net x", "x.py", None, [("install-source", MEDIUM)]),
    ("# pip install https://example.net/x-1.0.whl", "x.py", None, [("install-source", MEDIUM)]),
    ('"""Setup: pip install reqeusts"""', "x.py", None, [("lookalike", MEDIUM)]),
    ("# pip install xxhash for encoding with lz4", "x.py", None, []),
    ("# pip install xxhash encoding", "x.py", None, [("lookalike", MEDIUM)]),
    ("// npm install --registry http://198.51.100.7/ x", "x.js", None, [("install-source", HIGH)]),
    ("# required for security updates\nimport requests", "x.py", None, []),
    ("import os\nos.system('pip install ' + 'fastthing')", "x.py", None, [("runtime-install", MEDIUM)]),
    (
        "import subprocess as s, sys\ns.check_call([sys.executable, '-m', 'pip', 'install', name])",
        "x.py",
        None,
        [("runtime-install", MEDIUM)],
    ),
    (
        "import subprocess as s\ns.run(['pip', 'install', '--index-url', 'http://198.51.100.7/simple', 'x'])",
        "x.py",
        None,
        [("runtime-install", HIGH)],
    ),
    ("import subprocess\nsubprocess.run(['pip', 'list'])\nx = 'to install'", "x.py", None, []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "packages", "expected"), CASES)
def test_imports(
    text: str, name: str, packages: frozenset[str] | None, expected: list[tuple[str, Severity]]
) -> None:
    assert inspect(text, name, packages) == expected


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
