"""An exception costs the rule that raised it, and a limit the function that met it; both are reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from codeguard.analysis.rules import DetectorContext, insecure, load_file_signals
from codeguard.analysis.rules.insecure import RuleIndex
from codeguard.analysis.rules.insecure.flows import FlowRow
from codeguard.analysis.rules.insecure.rows import Row
from codeguard.audit.findings import Finding
from codeguard.flow import engine as dataflow
from codeguard.models import Confidence, Severity
from experiments.benchmarks.audit_common import Inspector

CODE = """import hashlib
import os
import pickle
import random
import sqlite3
import subprocess
import tempfile
import requests
import yaml
from flask import Flask, redirect, request

app = Flask(__name__)


@app.route("/a")
def answer():
    subprocess.run(request.args["c"], shell=True)
    sqlite3.connect("a").execute("SELECT * FROM t WHERE a = '" + request.args["q"] + "'")
    requests.get(request.args["url"], verify=False)
    open("/srv/" + request.args["name"])
    pickle.loads(request.data)
    yaml.load(request.data, Loader=yaml.Loader)
    eval(request.args["e"])
    tempfile.mktemp()
    hashlib.md5(request.args["password"].encode()).hexdigest()
    os.chmod("a", 0o777)
    token = random.random()
    return redirect(request.args["to"]), token


if __name__ == "__main__":
    app.run(debug=True)
"""
SIGNALS = load_file_signals()
INSPECTOR = Inspector(SIGNALS, DetectorContext())


def seen(text: str, inspector: Inspector = INSPECTOR) -> tuple[Finding, ...]:
    return inspector.inspect("m.py", text.encode()).findings


def places(found: tuple[Finding, ...]) -> set[tuple[str, int]]:
    return {(item.rule, item.place.start_line) for item in found}


PLAIN = places(seen(CODE))
ERROR = "audit.detector-error"


def raising(*args: Any, **named: Any) -> Any:
    raise ValueError("hostile\x1b[2J")


class _FailingRow(Row):
    at = raising


class _FailingFlow(FlowRow):
    judge = raising


def failing(rule: str) -> RuleIndex:
    """Return the rules, of which the rows of one raise."""

    def copy(kind: type[Any], row: Any) -> Any:
        return kind(**{item.name: getattr(row, item.name) for item in fields(row)})

    return RuleIndex(
        replace(
            check,
            rows=tuple(copy(_FailingRow, row) for row in check.rows),
            flows=tuple(copy(_FailingFlow, row) for row in check.flows),
        )
        if f"insecure.{check.rule.id}" == rule
        else check
        for check in insecure._ENGINE.checks
    )


@pytest.mark.parametrize("rule", sorted({rule for rule, _ in PLAIN if rule.startswith("insecure.")}))
def test_a_rule_whose_rows_raise_takes_nothing_else_along(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insecure, "_ENGINE", failing(rule))
    found = seen(CODE)
    assert {lost for lost, _ in PLAIN - places(found)} == {rule}
    errors = [item for item in found if item.rule == ERROR]
    assert errors
    for item in errors:
        assert (item.severity, item.confidence) == (Severity.HIGH, Confidence.HIGH)
        assert "ValueError" in item.reason
        assert rule.removeprefix("insecure.") in item.reason


def test_the_sample_asks_many_rules() -> None:
    """The test above says nothing about a rule that is not asked."""
    assert len({rule for rule, _ in PLAIN if rule.startswith("insecure.")}) >= 10


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda item: item.name)
def test_a_signal_that_raises_takes_no_other_along(signal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "inspect", raising)
    found = seen(CODE)
    assert {rule.partition(".")[0] for rule, _ in PLAIN - places(found)} <= {signal.name}
    assert any(item.rule == ERROR and signal.name in item.reason for item in found)


def test_what_a_signal_found_before_it_raised_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    usual: Callable[..., Any] = insecure.SIGNAL.inspect

    def inspect(*args: Any) -> Any:
        yield from usual(*args)
        raise KeyError("x")

    monkeypatch.setattr(insecure.SIGNAL, "inspect", inspect)
    found = seen(CODE)
    assert places(found) >= PLAIN
    assert [item.reason for item in found if item.rule == ERROR] == [
        "the signal insecure failed: KeyError: 'x'"
    ]


def test_data_flow_that_raises_in_one_function_goes_on_in_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = dataflow.Flow._summary

    def summary(self: Any, function: Any) -> Any:
        if function.name == "other":
            raise RecursionError("x")
        return usual(self, function)

    monkeypatch.setattr(dataflow.Flow, "_summary", summary)
    found = seen(CODE + "\n\ndef other():\n    eval(request.args['e'])\n")
    assert places(found) >= PLAIN
    (error,) = [item for item in found if item.rule == ERROR]
    assert "the data flow through other (RecursionError: x)" in error.reason


HOSTILE = {
    "a backslash in an f-string": "def g(r):\n    return f\"{r.replace(' ', '\u202f')}\"\n",
    "a sum too long to write": "def g(r):\n    return " + " + ".join(["r"] * 900) + "\n",
    "attributes too deep to write": "def g(r):\n    return r" + ".a" * 600 + "\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_tree_that_python_cannot_write_costs_no_rule(text: str) -> None:
    found = seen(f"{CODE}\n\n{text}")
    assert places(found) >= PLAIN
    assert ERROR not in {item.rule for item in found}


@pytest.mark.parametrize(
    "where",
    [
        "eval(f\"{request.args['e']}{x.replace(' ', '\u202f')}\")",
        "eval(request.args['e'] + f\"{x['\u202f']}\")",
    ],
)
def test_nor_the_rule_at_that_place(where: str) -> None:
    found = seen(f"from flask import request\n\n\ndef f(x):\n    {where}\n")
    assert ("insecure.code-injection", 5) in places(found)


BRANCHES = (
    "".join(f"    if a == {n}:\n        b{n % 90} = c{n % 90}\n" for n in range(2_000))
    + "    os.system(b1)\n"
)
VICTIM = "\n\ndef victim():\n    {}os.system(request.args['c'])\n"


@pytest.mark.parametrize(
    "text",
    [
        "def big(a):\n" + BRANCHES + VICTIM.format(""),
        VICTIM.format("") + "\n\ndef big(a):\n" + BRANCHES,
        "if x:\n" + BRANCHES + VICTIM.format(""),
        "def big(a):\n" + BRANCHES + VICTIM.format("big(1)\n    "),
    ],
    ids=["before it", "behind it", "outside of functions", "in what it calls"],
)
def test_padding_elsewhere_does_not_end_the_search(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeguard.flow.evaluation.STEPS_PER_FILE", 100_000)  # a third, as is the padding
    found = seen("import os\nfrom flask import request\n" + text)
    assert "insecure.command-injection" in {item.rule for item in found}
