"""What an audit prints: for people, for programs, for code scanning, for GitHub."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from audit_helpers import CLEAN, FLAGGED, look, write
from in_process import codeguard

from codeguard.analysis.observations import Place
from codeguard.analysis.rules import Rule
from codeguard.audit.findings import AuditReport, Finding, Standing
from codeguard.audit.rules import (
    OWN_RULES,
    NamedRule,
    all_rules,
    find_rule,
)
from codeguard.errors import ConfigError
from codeguard.models import Confidence, Severity, Skipped
from codeguard.reports import audit_text
from codeguard.reports.audit_formats import AuditView, audit_json, github_annotations, job_summary
from codeguard.reports.audit_sarif import sarif
from codeguard.trust.acceptances import accept

# The schema of OASIS, errata 01, as published with the standard.
SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json").read_text())
HOSTILE = "a\x1b[31m\u202e\ud800%\r\n::error::x,y:z"


def _text(report: AuditReport, fail_on: Severity, level: str, **options: bool) -> str:
    return audit_text.render(AuditView(report, fail_on, level, **options))


def finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "rule": "audit.baseline",
        "path": "a b/ü.py",
        "place": Place(3, 5, 3, 9),
        "severity": Severity.MEDIUM,
        "confidence": Confidence.HIGH,
        "reason": "because",
        "digest": "0" * 64,
        "symbol": "f",
        "snippet": "    evil(x)",
        "text_digest": "1" * 64,
        "fingerprint": "2" * 32,
    }
    return Finding(**{**values, **changes})


REPORTS = {
    "empty": AuditReport(()),
    "one": AuditReport((finding(),), files=1),
    "hostile": AuditReport(
        (finding(path=HOSTILE, reason=HOSTILE, symbol=HOSTILE, snippet=HOSTILE, note=HOSTILE),),
        skipped=(Skipped(HOSTILE, HOSTILE),),
        notes=(HOSTILE,),
        warnings=(HOSTILE,),
    ),
    "every standing and severity": AuditReport(
        tuple(finding(standing=standing, note="n", severity=s) for standing in Standing for s in Severity)
    ),
    "no place": AuditReport((finding(place=Place(0, 0, 0, 0), snippet="", symbol="", digest="", reason=""),)),
    "every rule": AuditReport(tuple(finding(rule=rule.id) for rule in all_rules())),
    "an unknown rule": AuditReport((finding(rule="third.party"),)),
}


def test_a_file_that_a_finding_is_about_is_not_listed_again() -> None:
    unseen = finding(rule="discovery.not-read", path="a.py", reason="too large: 9 bytes", snippet="")
    skipped = (Skipped("a.py", "too large: 9 bytes"), Skipped("b.png", "binary"))
    text = _text(AuditReport((unseen,), skipped=skipped, notes=(".gitignore: odd",)), Severity.LOW, "L2")
    assert "not audited: 2, 1 of them in findings above\n  1 × binary: b.png\nnote: .gitignore: odd\n" in text
    assert text.count("a.py") == 1
    hidden = _text(AuditReport((), skipped=skipped), Severity.LOW, "L2")
    assert "not audited: 2\n  1 × too large: 9 bytes: a.py\n  1 × binary: b.png\n" in hidden


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_sarif_is_valid_against_the_schema(report: AuditReport) -> None:
    log = json.loads(json.dumps(sarif(report, all_rules()), allow_nan=False))
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1
        assert (region["startLine"], region["startColumn"]) <= (region["endLine"], region["endColumn"])
        assert "ruleIndex" not in result or ids[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]


def test_sarif_shows_what_is_overruled_and_where_things_are() -> None:
    standings = (Standing.OPEN, Standing.BASELINED, Standing.ACCEPTED)
    log = sarif(AuditReport(tuple(finding(standing=item, note="why") for item in standings)), all_rules())
    results = log["runs"][0]["results"]
    assert [[part["kind"] for part in result["suppressions"]] for result in results] == [
        [],
        ["external"],
        ["external"],
    ]
    assert results[1]["suppressions"][0]["justification"] == "why"
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/%C3%BC.py"
    assert place["region"]["startLine"] == 3
    assert results[0]["partialFingerprints"] == {"codeguard/v1": "2" * 32}


def test_sarif_rules_carry_help_and_cwe() -> None:
    (run,) = sarif(REPORTS["one"], all_rules())["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    known = OWN_RULES["audit.baseline"]
    assert run["invocations"][0]["executionSuccessful"] is True
    assert known.explanation in rule["help"]["text"]
    assert known.remediation
    assert known.remediation in rule["help"]["text"]
    assert known.remediation in rule["help"]["markdown"]
    assert known.bad in rule["help"]["markdown"]
    assert "external/cwe/cwe-693" in rule["properties"]["tags"]


@pytest.mark.parametrize(
    ("severity", "level", "score"),
    [
        (Severity.INFO, "note", "0.0"),
        (Severity.LOW, "note", "3.0"),
        (Severity.MEDIUM, "warning", "5.5"),
        (Severity.HIGH, "error", "8.0"),
        (Severity.CRITICAL, "error", "9.5"),
    ],
)
@pytest.mark.parametrize("confidence", list(Confidence))
def test_sarif_grades_by_severity_and_confidence(
    severity: Severity, level: str, score: str, confidence: Confidence
) -> None:
    rule = NamedRule("some", Rule("rule", "a rule", severity, confidence))
    item = finding(rule=rule.id, severity=severity, confidence=confidence)
    (run,) = sarif(AuditReport((item,)), [rule])["runs"]
    (described,) = run["tool"]["driver"]["rules"]
    assert described["defaultConfiguration"] == {"level": level}
    assert described["properties"]["security-severity"] == score
    assert described["properties"]["precision"] == confidence.name.lower()
    assert run["results"][0]["level"] == level


@pytest.mark.parametrize(
    ("place", "region"),
    [
        (Place(3, 5, 3, 9), (3, 5, 3, 9)),
        (Place(3, 5, 3, 2), (3, 5, 3, 5)),  # a region has no negative length
        (Place(3, 5, 4, 2), (3, 5, 4, 2)),
        (Place(3, 5, 2, 9), (3, 5, 3, 9)),
        (Place(0, 0, 0, 0), (1, 1, 1, 1)),
    ],
)
def test_sarif_regions_begin_at_one_and_end_where_they_begin_or_later(
    place: Place, region: tuple[int, ...]
) -> None:
    (run,) = sarif(AuditReport((finding(place=place),)), all_rules())["runs"]
    found = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert tuple(found[key] for key in ("startLine", "startColumn", "endLine", "endColumn")) == region


def test_fingerprints_of_sarif_hold_where_lines_move(project: Path) -> None:
    write(project, {"m.py": FLAGGED})
    before = look("m.py").findings
    write(project, {"m.py": "import this\n\n\n" + FLAGGED})
    after = look("m.py").findings
    assert [item.fingerprint for item in before] == [item.fingerprint for item in after]
    assert before[0].place.start_line + 3 == after[0].place.start_line


def test_fingerprints_are_all_different(project: Path) -> None:
    write(project, {"m.py": FLAGGED * 3, "n.py": FLAGGED})
    prints = [item.fingerprint for item in look(".").findings]
    assert len(set(prints)) == len(prints) == 4


TITLE = "title=the author of the audited code could have written the baseline"
WHAT_TO_DO = (
    f"%0A{OWN_RULES['audit.baseline'].advice}%0A{{}} severity, high confidence; codeguard explain audit.baseline"
    f"; digest {'0' * 64}"
)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, f"::warning file=a b/ü.py,line=3,endLine=3,{TITLE},col=5,endColumn=9::because"
         + WHAT_TO_DO.format("medium")),
        ({"severity": Severity.CRITICAL, "place": Place(1, 2, 3, 4)},
         f"::error file=a b/ü.py,line=1,endLine=3,{TITLE}::because{WHAT_TO_DO.format('critical')}"),
        ({"severity": Severity.LOW, "path": "a:b,c%.py", "reason": "50%\n::error::"},
         f"::notice file=a%3Ab%2Cc%25.py,line=3,endLine=3,{TITLE},col=5,endColumn=9"
         f"::50%25%0A::error::{WHAT_TO_DO.format('low')}"),
        ({"rule": "third,party"}, "::warning file=a b/ü.py,line=3,endLine=3,title=third%2Cparty,col=5,endColumn=9"
         "::because%0Amedium severity, high confidence; codeguard explain third,party; digest "
         + "0" * 64),
    ],
)  # fmt: skip
def test_github_annotations(changes: dict[str, Any], line: str) -> None:
    *shown, said = annotated(AuditReport((finding(**changes),))).splitlines()
    assert (shown, said.startswith("codeguard: 1 finding to fix")) == ([line], "::notice" not in line)


def annotated(report: AuditReport) -> str:
    return str(github_annotations(AuditView(report, Severity.MEDIUM, "L2")))


def test_github_shows_nothing_that_is_overruled_and_nothing_breaks_out() -> None:
    assert annotated(REPORTS["every standing and severity"]).count("::") == 2 * len(Severity)
    lines = annotated(REPORTS["hostile"]).splitlines()
    assert len(lines) == 2 + len(REPORTS["hostile"].warnings)
    assert all(line.isprintable() for line in lines)


def test_text_marks_the_place_under_the_line() -> None:
    lines = _text(REPORTS["one"], Severity.MEDIUM, "L2").splitlines()
    source = next(index for index, line in enumerate(lines) if "evil(x)" in line)
    assert lines[source].index("evil") == lines[source + 1].index("^^^^")
    assert lines[source + 1].count("^") == 4
    assert lines[-1] == "1 finding, 1 of them fails the audit"


def test_text_groups_by_rule_with_the_most_severe_last_and_says_once_how_to_fix() -> None:
    bad = "insecure.sql-injection"
    report = AuditReport(
        (
            finding(rule=bad, severity=Severity.HIGH),
            finding(),
            finding(rule=bad, path="z.py"),
            finding(path="y.py"),
        )
    )
    text = _text(report, Severity.MEDIUM, "L2")
    heads = [line for line in text.splitlines() if line.startswith(("audit.", "insecure."))]
    assert [line.partition(":")[0] for line in heads] == ["audit.baseline", bad]
    assert heads[1].endswith("(1 medium, 1 high)")
    fixes = [line for line in text.splitlines() if line.startswith("  fix: ")]
    assert fixes == [f"  fix: {find_rule(item).rule.advice}" for item in ("audit.baseline", bad)]


@pytest.mark.parametrize("rule", ["insecure.weak-hash", "injection.instruction", "their.rule"])
def test_what_is_less_sure_fails_nothing_and_is_shown_where_everything_is(rule: str) -> None:
    unsure = finding(rule=rule, severity=Severity.HIGH, confidence=Confidence.LOW, reason="perhaps")
    report = AuditReport((finding(), unsure))
    assert report.failing(Severity.INFO) == (finding(),)
    text = _text(report.narrowed(Severity.MEDIUM), Severity.MEDIUM, "L2")
    assert "perhaps" not in text
    last = "2 findings, 1 of them fails the audit; not shown: 1 of low confidence (--all shows them)"
    assert text.splitlines()[-1] == last
    everything = _text(report, Severity.MEDIUM, "L2", in_full=True)
    assert "less sure, fails nothing: 1 finding of low confidence\n\n" + rule in everything
    assert "perhaps" in everything


@pytest.mark.parametrize(
    "rule", ["audit.detector-error", "discovery.not-read", "provenance.modified", "change.removed-check"]
)
def test_facts_fail_whatever_their_confidence(rule: str) -> None:
    assert AuditReport((finding(rule=rule, confidence=Confidence.LOW),)).failing(Severity.MEDIUM)


def test_notes_for_review_are_shown_and_fail_nothing_unless_a_policy_says_so() -> None:
    note = finding(
        rule="change.behavior",
        severity=Severity.INFO,
        measurements={"call": "f(|)", "before": "<b>", "now": "2", "alongside": "a`b"},
    )
    report = AuditReport((note,)).narrowed(Severity.CRITICAL)
    assert report.failing(Severity.INFO) == ()
    text = _text(report, Severity.MEDIUM, "L2")
    assert text.splitlines()[-1] == "0 findings, 1 note for review, 0 of them fail the audit"
    assert "for review, what trusted functions do otherwise than before: 1 finding" in text
    assert replace(note, severity=Severity.MEDIUM) in AuditReport(
        (replace(note, severity=Severity.MEDIUM),)
    ).failing(Severity.LOW)
    summary = job_summary(AuditView(report, Severity.MEDIUM, "L2"))
    (row,) = (line for line in summary.splitlines() if line.startswith("|") and "f&#40;" in line)
    assert row.count("|") == 6
    assert not {"<", "`", "[", "*"} & set(row)


def test_a_run_is_written_in_several_formats(project: Path) -> None:
    write(project, {"m.py": FLAGGED})
    words = ("--format", "github", "--output", "sarif=s.json", "--output", "summary=s.md", "--no-behavior")
    done = codeguard("audit", "m.py", *words, cwd=project)
    assert (done.returncode, done.stdout.startswith("::warning file=m.py")) == (1, True)
    jsonschema.validate(json.loads((project / "s.json").read_text()), SCHEMA)
    assert (
        "| medium | high | audit&#46;inline&#45;ignore | m&#46;py&#58;2 &#40;half&#41; |"
        in (project / "s.md").read_text()
    )
    for wrong in ("sarif", "nothing=x", "=x"):
        assert codeguard("audit", "m.py", "--output", wrong, cwd=project).returncode == 2


def test_reports_set_intent_apart_from_flaws_and_from_what_was_not_read() -> None:
    rules = ("audit.not-fully-read", "capabilities.exfiltration", "insecure.weak-hash", "their.rule")
    report = AuditReport(tuple(finding(rule=rule) for rule in rules))
    text = _text(report, Severity.MEDIUM, "L2")
    told = (
        "not read, so not cleared: 1 finding", "audit.not-fully-read: ",
        "flaws, mistakes that make code insecure: 2 findings", "insecure.weak-hash: ", "their.rule (",
        "intent, what an attacker would plant: 1 finding", "capabilities.exfiltration: ",
    )  # fmt: skip
    places = [text.index(f"\n{part}") for part in told]
    assert places == sorted(places)
    kinds = [item["kind"] for item in audit_json(report)["findings"]]
    assert kinds == ["unread", "intent", "flaw", "flaw"]


def test_text_counts_what_it_does_not_show_and_says_what_can_be_done() -> None:
    report = AuditReport(tuple(finding(severity=severity) for severity in Severity))
    lines = _text(report.narrowed(Severity.MEDIUM), Severity.MEDIUM, "L2", first_run=True).splitlines()
    assert lines[-1] == "5 findings, 3 of them fail the audit; not shown: 1 info, 1 low (--all shows them)"
    assert "codeguard accept DIGEST" in lines[-3]
    assert "--write-baseline" in lines[-2]
    assert not any("low (" in line or "info (" in line for line in lines[:-1])
    hidden = _text(report.narrowed(Severity.CRITICAL), Severity.LOW, "L2").splitlines()
    assert hidden[-1].startswith(
        "5 findings, 4 of them fail the audit; not shown: 1 info, 1 low, 1 medium, 1 high"
    )
    assert "--write-baseline" not in "".join(hidden)


def test_text_sums_up_what_one_baseline_overrules() -> None:
    many = tuple(finding(standing=Standing.BASELINED, note="before", path=f"{n}.py") for n in range(11))
    accepted = finding(standing=Standing.ACCEPTED, note="read by Ada")
    text = _text(AuditReport((*many, accepted)), Severity.MEDIUM, "L2")
    assert "11 findings  baselined: before" in text
    assert "audit.baseline  accepted: read by Ada" in text
    assert "10.py" not in text


@pytest.mark.parametrize(
    "rule", [item for item in all_rules() if item.rule.severity >= Severity.MEDIUM], ids=str
)
def test_every_rule_that_is_shown_says_in_a_line_what_to_do(rule: NamedRule) -> None:
    assert 8 <= len(rule.rule.advice) <= 250
    assert "\n" not in rule.rule.advice


@pytest.mark.parametrize(
    "snippet", ["\t\tevil(x)", "  " + "x" * 5000 + "evil(x)", "変数 = evil(x)", "\x1b[2Jevil(x)"]
)
def test_the_caret_stands_under_what_is_meant(snippet: str) -> None:
    start = snippet.index("evil") + 1
    report = AuditReport((finding(snippet=snippet, place=Place(1, start, 1, start + 4)),))
    lines = _text(report, Severity.MEDIUM, "L2").splitlines()
    (source,) = [index for index, line in enumerate(lines) if "evil" in line]
    before = lines[source][: lines[source].index("evil")]
    columns = sum(2 if ord(char) > 0x2E80 else 1 for char in before)
    assert lines[source + 1] == " " * columns + "^^^^"


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_text_and_json_show_nothing_that_acts(report: AuditReport) -> None:
    assert all(line.isprintable() for line in _text(report, Severity.LOW, "L2").split("\n"))
    assert json.dumps(audit_json(report), ensure_ascii=True).isascii()


def test_json_holds_every_fact(project: Path) -> None:
    write(project, {"m.py": FLAGGED, "b.bin": CLEAN})
    (project / "b.bin").write_bytes(b"\0")
    accept(project / ".codeguard", look("m.py").findings[0].digest, "why", by="Ada")
    done = codeguard("audit", ".", "--no-behavior", "--select", "audit", "--format", "json", cwd=project)
    report = json.loads(done.stdout)
    assert (report["schema"], report["files"], report["functions"], report["lines"]) == (
        "codeguard.audit/1",
        1,
        1,
        2,
    )
    (row,) = report["findings"]
    assert (row["rule"], row["path"], row["start_line"], row["start_column"], row["symbol"], row["standing"]) == (
        "audit.inline-ignore", "m.py", 2, 26, "half", "accepted",
    )  # fmt: skip
    reasons = {item["path"]: item["reason"] for item in report["skipped"]}
    assert reasons["b.bin"].startswith("binary")
    assert ".codeguard/" in reasons


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github"])
def test_every_format_from_the_command_line(project: Path, format_: str) -> None:
    write(project, {"m.py": FLAGGED})
    done = codeguard("audit", "m.py", "--no-behavior", "--select", "audit", "--format", format_, cwd=project)
    assert (done.returncode, done.stderr) == (1, "")
    assert "audit.inline-ignore" in done.stdout


@pytest.mark.parametrize(("example", "fence"), [("x = 1", 3), ("# ```sh\n# run\n# ```", 4), ("`` ```` `", 5)])
def test_an_example_with_backquotes_stands_in_a_longer_fence(example: str, fence: int) -> None:
    rule = Rule("any", "s", Severity.LOW, Confidence.LOW, bad=example)
    (run,) = sarif(AuditReport((finding(rule="x.any"),)), [NamedRule("x", rule)])["runs"]
    (shown,) = run["tool"]["driver"]["rules"]
    assert shown["help"]["markdown"] == f"s\n\nBad:\n\n{'`' * fence}python\n{example.strip()}\n{'`' * fence}"
    assert shown["help"]["text"] == f"s\n\nBad:\n{example}"


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("insecure.weak-hahs", "insecure.weak-hash"),
        ("weak-hash", "insecure.weak-hash"),
        ("sql-injektion", "insecure.sql-injection"),
        ("audit.zzzzzz", "audit\\.[a-z-]+ or audit\\."),
        ("entirely-different", "signal.rule"),
    ],
)
def test_a_mistyped_rule_is_answered_with_those_that_are_alike(wrong: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"no such rule, got '{wrong}', expected .*{expected}"):
        find_rule(wrong)
