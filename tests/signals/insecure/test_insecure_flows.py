"""What a row under `flow` says: which values count, how severe they are, and what makes them harmless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import Rule
from codeguard.analysis.rules.insecure import RuleIndex
from codeguard.analysis.rules.insecure.base import Check
from codeguard.analysis.rules.insecure.flows import FlowRow
from codeguard.models import Confidence, Severity, SourceFile, text_digest

HIGH, LOW = Severity.HIGH, Severity.LOW
ANY = {"remote": "high", "caller": "low"}
ROUTE = (
    "from flask import Flask, request\napp = Flask(__name__)\n@app.route('/x')\n"
    "def view():\n    v = request.args['v']\n    "
)
TO_F = {"use": "data", "to": ["$F($SINK, key=$SINK)"], "where": {"F": "lib.f lib.g"}}


def severity(table: Mapping[str, Any], text: str) -> Severity | None:
    """Return the highest severity at which a rule with this row alone reports a text."""
    check = Check(Rule("r", "", Severity.MEDIUM, Confidence.LOW), flows=(FlowRow.read("r", table, ANY),))
    reading = Reading(SourceFile("sample", text, text_digest(text), "python", ()))
    found = [item.severity for item in RuleIndex([check]).inspect(reading) if item.severity is not None]
    return max(found, default=None)


@pytest.mark.parametrize(
    ("table", "text", "expected"),
    [
        (TO_F, f"import lib\n{ROUTE}lib.f(v)\n", HIGH),
        (TO_F, f"from lib import g\n{ROUTE}g(0, key=v)\n", HIGH),
        (TO_F, f"import lib\n{ROUTE}lib.f(0, v)\n", None),
        (TO_F, f"import lib\n{ROUTE}lib.h(v)\n", None),
        (TO_F, "import lib\ndef a(v):\n    lib.f(v)\n", LOW),
        (TO_F | {"from": {"remote": "high"}}, "import lib\ndef a(v):\n    lib.f(v)\n", None),
        (TO_F | {"from": {"caller": "high", "plain": "low"}}, "import lib\ndef a(v):\n    lib.f(v)\n", LOW),
        (TO_F | {"from": {"caller": "high", "plain": "low"}}, "import lib\ndef a(v):\n    lib.f('x' + v)\n", HIGH),
        (TO_F | {"built": True}, "import lib\ndef a(v):\n    lib.f(v)\n", None),
        (TO_F | {"built": True}, "import lib\ndef a(v):\n    lib.f('x' + v)\n", LOW),
        (TO_F | {"but": ["$C(..., safe=True)"]}, f"import lib\n{ROUTE}lib.f(v, safe=True)\n", None),
        (TO_F | {"but": ["$C(..., safe=True)"]}, f"import lib\n{ROUTE}lib.f(v, safe=False)\n", HIGH),
        (TO_F | {"unless": ["lib.check(...)"]}, f"import lib\n{ROUTE}lib.check(1)\n    lib.f(v)\n", None),
        (TO_F | {"of": ["other"]}, f"import lib\n{ROUTE}lib.f(v)\n", None),
        (TO_F | {"of": ["other"]}, f"import lib, other\n{ROUTE}lib.f(v)\n", HIGH),
        (
            TO_F | {"from": {"local": "high"}, "low": ["$C($_, 1)"]},
            "import lib, sys\nlib.f(sys.argv[1], 1)\n",
            LOW,
        ),
        (TO_F | {"from": {"local": "high"}, "low": ["$C($_, 1)"]}, "import lib, sys\nlib.f(sys.argv[1])\n", HIGH),
        ({"use": "data", "to": ["lib.f($SINK, shell=True)"]}, f"import lib\n{ROUTE}lib.f(v, shell=True)\n", HIGH),
        ({"use": "data", "to": ["lib.f($SINK, shell=True)"]}, f"import lib\n{ROUTE}lib.f(v)\n", None),
        ({"use": "data", "to": ["$X.run(*$SINK)"]}, f"{ROUTE}app.run(0, a=v)\n", HIGH),
        ({"use": "data", "to": ["$SINK.run()"]}, f"{ROUTE}v.run()\n", HIGH),
        ({"use": "data", "to": ["$X.str.$M($SINK)"], "where": {"M": "match find"}}, f"{ROUTE}app.str.find(v)\n", HIGH),
        ({"use": "data", "to": ["$X.str.$M($SINK)"], "where": {"M": "match find"}}, f"{ROUTE}app.find(v)\n", None),
        ({"use": "shell", "to": ["$F($SINK)"], "where": {"F": "@shells"}}, f"import os\n{ROUTE}os.popen(v)\n", HIGH),
        ({"use": "html", "to": ["return $SINK"]}, f"{ROUTE}return v\n", HIGH),
        ({"use": "html", "to": ["return $SINK"]}, "def a(v):\n    return v\n", None),
        ({"use": "header", "to": ["$X.headers[$_] = $SINK"]}, f"{ROUTE}r = app.make()\n    r.headers['A'] = v\n", HIGH),
        ({"use": "data", "text": ["BEGIN ", "BEGIN .*\0"]}, f"{ROUTE}t = 'BEGIN ' + v\n", HIGH),
        ({"use": "data", "text": ["BEGIN ", "BEGIN .*\0"]}, f"{ROUTE}t = 'END ' + v\n", None),
        (
            TO_F | {"where": {"F": "lib.f", "SINK": {"not": {"like": "^a:"}}}},
            f"import lib\n{ROUTE}lib.f('a:' + v)\n",
            None,
        ),
    ],
)  # fmt: skip
def test_what_a_row_reports(table: Mapping[str, Any], text: str, expected: Severity | None) -> None:
    assert severity(table, text) == expected


def test_a_row_with_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError, match="sinks"):
        FlowRow.read("r", {"use": "data", "to": [], "sinks": []}, ANY)
