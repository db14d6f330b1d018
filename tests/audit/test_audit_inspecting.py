"""Detectors that fail, hang or die, files that hide: nothing passes in silence."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit_helpers import CLEAN, GOOD, look, rules, write
from marker import Marker

from codeguard.analysis import Reading, engine
from codeguard.analysis.observations import LISTED_OF_A_RULE, Place
from codeguard.analysis.rules import DetectorContext, Match
from codeguard.analysis.rules.base import IMPORTED
from codeguard.audit.evidence import skipped_findings
from codeguard.audit.findings import Finding, Standing
from codeguard.audit.inspection import own_modules, told_once
from codeguard.audit.rules import RuleSelection, all_rules
from codeguard.corpus.discovery import discover
from codeguard.errors import ConfigError
from codeguard.models import Confidence, Severity, Skipped
from codeguard.workers import tasks
from experiments.benchmarks.audit_common import Inspector


class MisbehavingMarker(Marker):
    """Misbehaves as its text says."""

    def marks(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        text = reading.text
        if "RAISE" in text:
            raise ValueError("a detector\x1b[0m failed")
        if "HANG" in text:
            while True:
                try:
                    time.sleep(0.01)
                except Exception:
                    continue
        if "# LOOP" in text:
            while True:
                pass
        if "FOREVER" in text:
            yield from self._forever()
        if "WRONG RULE" in text:
            yield Match("unknown", 0, 1, "")
        yield from super().marks(reading, context)
        while "THEN LOOP" in text:
            pass
        if "OUTSIDE" in text:
            yield Match("mark", -5, 10**9, "everywhere")

    def _forever(self) -> Iterator[Match]:
        while True:
            yield Match("mark", 0, 1, "again")


def inspected(text: str, name: str = "m.py") -> tuple[Finding, ...]:
    return Inspector([MisbehavingMarker()], DetectorContext()).inspect(name, text.encode()).findings


def test_a_match_becomes_a_finding_with_its_place() -> None:
    (found,) = inspected(f"\n\n{CLEAN}\n\ndef f():\n    return 'é MARK'\n")
    assert (found.rule, found.severity, found.confidence, found.symbol) == (
        "marker.mark", Severity.MEDIUM, Confidence.LOW, "f",
    )  # fmt: skip
    place = found.place
    assert (place.start_line, place.start_column, place.end_line, place.end_column) == (8, 15, 8, 19)
    assert found.snippet == "    return 'é MARK'"


def test_what_a_stub_says_is_not_run(project: Path) -> None:
    insecure = "import ssl\nCONTEXT = ssl._create_unverified_context()\n"
    write(project, {"settings.py": insecure, "settings.pyi": insecure})
    found = look("settings.py", "settings.pyi", only=("insecure",)).findings
    assert {item.path: item.severity for item in found} == {
        "settings.py": Severity.MEDIUM,
        "settings.pyi": Severity.LOW,
    }


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_count_as_editors_count_them(newline: str) -> None:
    (found,) = inspected(newline.join(["x = 1", "y = 2", "", "z = 'MARK'", ""]))
    assert (found.place.start_line, found.place.start_column, found.snippet) == (4, 6, "z = 'MARK'")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("# RAISE", "audit.detector-error"),
        ("# WRONG RULE", "audit.detector-error"),
        ("# HANG", "audit.not-fully-read"),
        ("# LOOP", "audit.not-fully-read"),
    ],
)
def test_a_detector_that_fails_is_a_finding(text: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "WALL_S", 0.2)
    monkeypatch.setattr(engine, "LOOKING_S", 0.2)
    (found,) = inspected(text)
    assert (found.rule, found.severity) == (rule, Severity.HIGH)
    assert "marker" in found.reason


def test_what_was_seen_before_a_detector_failed_or_hung_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LOOKING_S", 0.2)
    assert rules(inspected("# MARK THEN LOOP\n")) == ["marker.mark", "audit.not-fully-read"]


def test_a_flood_of_matches_is_bounded_and_counted() -> None:
    *found, rest = inspected("# FOREVER")
    assert rest.rule == "audit.not-fully-read"
    assert len(found) == LISTED_OF_A_RULE
    assert "4900 more" in found[0].reason


def test_a_place_outside_of_the_file_is_brought_back() -> None:
    (found,) = inspected("# OUTSIDE\n")
    assert (found.place.start_line, found.place.start_column) == (1, 1)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"def f(:\n", ["discovery.syntax"]),
        (b"x = (" + b"(" * 5_000, ["discovery.syntax"]),
        (b"-" * 200_000 + b"1", ["discovery.syntax", "audit.not-fully-read", "audit.not-fully-read"]),
        (b"x = 1\n\0", ["discovery.syntax", "audit.not-fully-read"]),
        (b"# coding: utf-7\nx = 1\n", ["discovery.encoding"]),
        (b"\xff\xfe\x00\xd8", ["discovery.syntax", "audit.not-fully-read"]),
        (b"\xef\xbb\xbfx = 1\n", []),
        (CLEAN.encode("utf-16"), []),
    ],
)
def test_hostile_bytes(data: bytes, expected: list[str]) -> None:
    found = Inspector([MisbehavingMarker()], DetectorContext()).inspect("m.py", data).findings
    assert rules(found) == expected


def test_what_discovery_leaves_out_is_told_apart(project: Path) -> None:
    subprocess.run(["git", "init", "-q", project], check=True)
    write(
        project,
        {"ok.py": CLEAN, ".gitignore": "ignored/\n", "ignored/x.py": GOOD, "rot.py": "# coding: rot13\n"},
    )
    (project / "nul.py").write_bytes(b"\0")
    (project / "nul.bin").write_bytes(b"\0")
    (project / "big.py").write_bytes(b"#" * 2_000_001)
    (project / "turn\u202e.py").write_text(CLEAN)
    (project / "out").symlink_to("/etc")
    (project / "in").symlink_to("ok.py")
    os.mkfifo(project / "pipe")
    report = look(".")
    assert sorted((item.rule, item.path) for item in report.findings) == [
        ("discovery.encoding", "rot.py"),
        ("discovery.link", "out"),
        ("discovery.name", "turn\\u202e.py"),
        ("discovery.not-read", "big.py"),
        ("discovery.not-read", "nul.py"),
    ]
    reasons = {item.path: item.reason for item in report.skipped}
    assert "ignored by git" in reasons["ignored/"]
    assert {"nul.bin", "in", "pipe"} <= reasons.keys()


def test_every_reason_of_discovery_is_known() -> None:
    """Discovery's words and what is made of them stand in two files: they must not drift apart."""
    words = (
        Path(discover.__code__.co_filename).read_text()
        + Path(discover.__code__.co_filename.replace("discovery.py", "decoding.py")).read_text()
    )
    for said in (
        "declares the encoding", "its name holds", "its name is not", "link that leads out of the folder",
        "too large", "binary", "cannot be read",
    ):  # fmt: skip
        assert said in words
    reasons = [
        "link that leads out of the folder",
        "its name is not UTF-8",
        "ignored by git",
        "broken link",
    ]
    found = skipped_findings([Skipped("a.py", reason) for reason in reasons])
    assert rules(found) == ["discovery.link", "discovery.name"]


@pytest.mark.parametrize(
    ("select", "ignore", "taken"),
    [
        ((), (), {"a.x", "a.x.y", "ab.x"}),
        (("a",), (), {"a.x", "a.x.y"}),
        (("a.x",), (), {"a.x", "a.x.y"}),
        (("a.x.y", "ab"), (), {"a.x.y", "ab.x"}),
        ((), ("a",), {"ab.x"}),
        (("a",), ("a.x.y",), {"a.x"}),
        (("a.x.y",), ("a",), {"a.x.y"}),
        (("a",), ("a",), set()),
        (("a.*",), (), {"a.x", "a.x.y"}),
    ],
)
def test_selection(select: tuple[str, ...], ignore: tuple[str, ...], taken: set[str]) -> None:
    chosen = RuleSelection(select, ignore)
    assert {rule for rule in ("a.x", "a.x.y", "ab.x") if chosen.takes(rule)} == taken


def test_a_slip_of_the_pen_in_a_selection_is_an_error() -> None:
    RuleSelection(("audit", "discovery.syntax")).check(all_rules())
    for pattern in ("audi", "discovery.synta", ""):
        with pytest.raises(ConfigError):
            RuleSelection((pattern,)).check(all_rules())


def test_every_rule_is_documented() -> None:
    for item in all_rules():
        assert item.rule.summary, item.id
        assert "\n" not in item.rule.summary
    for item in all_rules():
        assert item.rule.bad, item.id
        assert item.rule.good, item.id
        if item.signal in ("audit", "discovery"):
            assert item.rule.explanation
            assert item.rule.cwe


def test_what_copies_of_a_text_hold_is_told_once(tmp_path: Path) -> None:
    section = "# Use\n\n```python\nimport os\n\ndef ping(host):\n    os.system('ping ' + host)\n```\n"
    write(
        tmp_path, {"README.md": section, "info/README.md": section, "b.md": section.replace("ping", "pong")}
    )
    found = [
        item for item in look(tmp_path, only=("insecure",)).open if item.rule == "insecure.command-injection"
    ]
    first = next(item for item in found if item.path.endswith("README.md") and item.severity > Severity.LOW)
    assert "also in" in first.reason
    assert "info/README.md" in first.reason
    assert sorted(item.severity for item in found) == [Severity.LOW, first.severity, first.severity]


def test_of_several_lines_the_first_is_shown(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "import os\n\ndef ping(host):\n    os.system(\n        'ping ' + host\n    )\n"})
    (found,) = look(tmp_path, only=("insecure",)).open
    assert (found.place.start_line, found.place.end_line, found.snippet) == (4, 6, "    os.system(")


def of(path: str = "a.py", line: int = 3, **changes: Any) -> Finding:
    values: dict[str, Any] = {
        "severity": Severity.MEDIUM,
        "digest": "chunk",
        "text_digest": "text",
        **changes,
    }
    return Finding(
        "x.rule", path, Place(line, 1, line, 9), confidence=Confidence.HIGH, reason="why", **values
    )


def secret(path: str, chunk: str) -> Finding:
    return replace(of(path, digest=chunk), rule="insecure.hard-coded-secret")


LOW, MEDIUM, HIGH = Severity.LOW, Severity.MEDIUM, Severity.HIGH
ONCE: dict[str, tuple[list[Finding], list[Severity]]] = {
    "a text again in another file": ([of(), of("b/a.py")], [MEDIUM, LOW]),
    "another text": ([of(), of("b.py", text_digest="other")], [MEDIUM, MEDIUM]),
    "two places of one file": ([of(), of(line=9)], [MEDIUM, MEDIUM]),
    "the most severe stays, wherever it lies": (
        [of(), of("x/y/b.py", severity=HIGH), of("c.py")],
        [LOW, HIGH, LOW],
    ),
    "a secret, whatever stands around it": ([secret("a.py", "one"), secret("b.py", "two")], [MEDIUM, LOW]),
    "a rule in one function": ([of(symbol="f"), of(line=4, symbol="f", text_digest="u")], [MEDIUM, LOW]),
    "in another function": (
        [of(symbol="f"), of(line=9, symbol="g", digest="other", text_digest="u")],
        [MEDIUM, MEDIUM],
    ),
    "what is overruled has no copies": (
        [of(standing=Standing.BASELINED), of("b.py"), of("c.py")],
        [MEDIUM, MEDIUM, LOW],
    ),
    "nor further places": (
        [
            of(symbol="f", standing=Standing.BASELINED),
            *(of(line=n, symbol="f", text_digest=str(n)) for n in (4, 5)),
        ],
        [MEDIUM, MEDIUM, LOW],
    ),
}


@pytest.mark.parametrize(("given", "left"), ONCE.values(), ids=ONCE)
def test_what_says_the_same_is_told_once(given: list[Finding], left: list[Severity]) -> None:
    assert [item.severity for item in told_once(given)] == left


def test_the_one_that_stays_says_where_the_others_are() -> None:
    deep, first, second = told_once([of("x/y/b.py", severity=HIGH), of(), of("c.py")])
    assert deep.reason == "why (also in a.py, c.py)"
    assert {first.reason, second.reason} == {"why (as in x/y/b.py)"}
    near, far = told_once([of(symbol="f"), of(line=4, symbol="f", text_digest="u")])
    assert (near.reason, far.reason) == ("why (also in line 4)", "why (as in line 3)")


@pytest.mark.parametrize(
    ("imported", "severity"),
    [("helper", Severity.LOW), ("tools", Severity.LOW), ("other", Severity.HIGH), ("", Severity.HIGH)],
)
def test_an_import_of_an_audited_module_is_no_import_of_a_package(imported: str, severity: Severity) -> None:
    found = Finding("imports.any", "m.py", Place(1, 1, 1, 2), Severity.HIGH, Confidence.HIGH, "because")
    marked = replace(found, measurements={IMPORTED: imported} if imported else {})
    names = ["helper.py", "src/tools/__init__.py", "other.md", "m.py"]
    assert own_modules([marked], names) == [replace(marked, severity=severity)]
