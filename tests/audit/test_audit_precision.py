"""Confidence as measured: shares of right findings, and that they leave what the ranking demotes alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_helpers import look, write

from codeguard.analysis.engine import Engine
from codeguard.analysis.rules import DetectorContext, load_file_signals
from codeguard.audit import rules as audit_rules
from codeguard.audit.rules import all_rules, measured_confidence
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Confidence, Severity
from experiments.benchmarks.audit_precision import (
    TABLE,
    Scale,
    combined,
    counterparts,
    judged_packages,
    known_attacks,
    main,
    precision_table,
)

SCALE = Scale(
    high=0.85, medium=0.7, prose=0.8, prior=4, least=10, intent=frozenset("i"), judging_prose=frozenset("p")
)
JUDGED = {"a.right": (16, 0), "a.wrong": (4, 4), "b.few": (4, 0)}  # 20 of 24 right; of `a` 16 of 20


def test_the_table_is_what_was_judged_and_what_is_found_of_attacks() -> None:
    scale, judged = precision_table(TABLE.read_text(encoding="utf-8"))
    assert audit_rules._measured() == {rule: scale.confidence(rule, judged) for rule in judged}
    assert judged == combined(judged_packages(), known_attacks(), counterparts())
    known = {item.id for item in all_rules()}
    assert {rule.partition("@")[0] for rule in judged} <= known | {"insecure"}


def test_confidence_carries_over_to_packages_that_it_was_not_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "figures.json"
    monkeypatch.setattr("sys.argv", ["audit_precision", "--json", str(out)])
    main()
    false = json.loads(out.read_text())["false_by_confidence_from_other_packages"]
    scale, _ = precision_table(TABLE.read_text(encoding="utf-8"))
    assert false["high"]["share"] <= 1 - scale.high
    assert false["medium"]["share"] <= 1 - scale.medium
    assert false["low"]["share"] > 1 - scale.medium


@pytest.mark.parametrize(
    ("rule", "severity", "expected"),
    [
        ("insecure.unsafe-deserialisation", Severity.MEDIUM, Confidence.HIGH),
        ("insecure.insecure-temporary-file", Severity.HIGH, Confidence.LOW),  # seven were judged
        ("behavior.fail", Severity.HIGH, Confidence.HIGH),
        ("behavior.lookalike", Severity.MEDIUM, Confidence.LOW),
        ("near_copy.changed-line", Severity.MEDIUM, Confidence.LOW),
        ("capabilities.reverse-shell", Severity.CRITICAL, Confidence.MEDIUM),
        ("imports.lookalike", Severity.MEDIUM, Confidence.HIGH),  # a single rule of intent
        ("injection.likely-instruction", Severity.HIGH, Confidence.LOW),
        ("injection.instruction", Severity.LOW, None),
        ("provenance.modified", Severity.MEDIUM, None),
        ("audit.detector-error", Severity.HIGH, None),
        ("change.removed-check", Severity.MEDIUM, None),
    ],
)
def test_what_states_its_own_confidence(rule: str, severity: Severity, expected: Confidence | None) -> None:
    assert measured_confidence(rule, severity) is expected


def test_what_the_ranking_demotes_does_not_follow_what_an_audit_is_sure_of(tmp_path: Path) -> None:
    query = "SELECT * FROM users WHERE name = '"
    text = f"""from flask import Flask, request

from tidying import tidy

app = Flask("a")


@app.get("/x")
def x():
    return db.execute("{query}" + tidy(request.args["name"]) + "'")
"""
    (step, *_) = [
        step
        for step in Engine(load_file_signals(), DetectorContext()).observe(chunk_file("m.py", text.encode()))
        if any(item.demotes for item in step.observations)
    ]
    certain = {f"{item.signal}.{item.rule}" for item in step.observations if item.demotes}
    write(tmp_path, {"m.py": text})
    told = {item.rule: item.confidence for item in look(tmp_path, only=("insecure",)).open}
    assert {told[rule] for rule in certain} == {Confidence.LOW}


FLASK = "from flask import Flask, redirect, request\nfrom tidying import tidy\n\napp = Flask('a')\n\n\n"
ROUTE = f"{FLASK}@app.get('/x/<path:name>')\ndef x(name):\n"
TLS = "import ssl\nimport requests\nfrom requests import get\n\n\n"


@pytest.mark.parametrize(
    ("name", "text", "sure"),
    [
        ("a.py", f"{ROUTE}    return open('/srv/' + request.args['n']).read()\n", True),
        ("a.py", f"{ROUTE}    place = f'/srv/{{name}}'\n    return open(place).read()\n", True),
        ("a.py", f"{ROUTE}    return open('/srv/' + tidy(request.args['n'])).read()\n", False),
        ("tests/test_a.py", f"{ROUTE}    return open('/srv/' + request.args['n']).read()\n", True),
        ("a.py", f"{ROUTE}    return redirect(request.args['to'])\n", True),
        ("a.py", f"{TLS}def f(url):\n    return requests.get(url, verify=False).text\n", True),
        ("a.py", f"{TLS}context = ssl._create_unverified_context()\n", True),
        (
            "a.py",
            f"{TLS}def f(url, lax):\n    if lax:\n        return requests.get(url, verify=False)\n",
            False,
        ),
        (
            "a.py",
            f"{TLS}def f(url, lax):\n    on = True\n    if lax:\n        on = False\n    get(url, verify=on)\n",
            False,
        ),
        (
            "a.py",
            f"{TLS}def f(on, a):\n    a.verify_mode = ssl.CERT_REQUIRED if on else ssl.CERT_NONE\n    return a\n",
            False,
        ),
    ],
)
def test_what_is_used_as_it_came_or_off_in_no_branch_is_surer(
    tmp_path: Path, name: str, text: str, sure: bool
) -> None:
    write(tmp_path, {name: text})
    rules = ("insecure.path-traversal", "insecure.open-redirect", "insecure.tls-not-verified")
    found = [item for item in look(tmp_path, only=rules).open if item.severity >= Severity.MEDIUM]
    assert found
    assert {item.confidence >= Confidence.MEDIUM for item in found} == {sure}


@pytest.mark.parametrize("back", ["request.referrer", "request.environ['HTTP_REFERER']", "request.url"])
def test_a_redirect_back_is_none_to_elsewhere(tmp_path: Path, back: str) -> None:
    write(tmp_path, {"a.py": f"{ROUTE}    return redirect({back})\n"})
    assert not look(tmp_path, only=("insecure.open-redirect",)).open


VALUE = "".join("Kq7Zt4"[index * 5 % 6] + "mX2vB9w"[index * 3 % 7] for index in range(16))  # looks generated
TOLD = "The client sends this value with every request. Create your own one and keep it in a safe place.\n"


def test_a_secret_that_documentation_shows_is_less_sure_where_it_is_used(tmp_path: Path) -> None:
    line = f"secret_key = '{VALUE}'\n"
    write(tmp_path, {"README.md": f"{TOLD}\n{line}", "package/client.py": line})
    found = look(tmp_path, only=("secrets.assigned-secret",)).open
    assert [
        (item.path, item.severity, item.confidence) for item in found if item.severity > Severity.LOW
    ] == [(str(tmp_path / "README.md").removeprefix(f"{tmp_path.parent}/"), Severity.MEDIUM, Confidence.LOW)]


STARTED = """import subprocess, requests

data = requests.get('http://127.0.0.1/a.gz').content
with open('/x/a.gz', 'wb') as file:
    file.write(data)
subprocess.run(['{program}', '/x/a.gz'])
"""


def test_a_program_that_runs_what_was_written_is_one_of_intent(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": STARTED.format(program="/bin/sh")})
    assert [item.rule for item in look(tmp_path, only=("capabilities",)).failing(Severity.HIGH)] == [
        "capabilities.drops-and-starts"
    ]
