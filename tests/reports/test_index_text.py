"""What an indexing run tells a person."""

from __future__ import annotations

from dataclasses import replace

from codeguard.index.report import IndexReport, Suspect
from codeguard.models import SpecCoverage
from codeguard.reports.index import LISTED, SHOWN, index_text
from codeguard.reports.styled import by_reason

REPORT = IndexReport(
    files=1, chunks=2, added=2, removed=0, unchanged=0, skipped=(), secrets=(), by_lines=(), notes=(),
    trusted_files=1, manifest_unsigned=True, signed_by=(), coverage=SpecCoverage(2, 1, 0), checked=3,
    verdicts={"fail": 1, "false_claim": 3, "pass": 2, "no_signal": 4}, convicted=(), sandbox_level="L3",
    embedding="lexical", seconds=0.5, warnings=(), searchable=1,
)  # fmt: skip


def test_convicted_functions_are_listed_with_place_and_reason_and_beyond_ten_counted() -> None:
    convicted = Suspect("new.py", "add", 4, "0" * 64, "fail", "add(2, 3): expected 5, got -1")
    text = index_text(replace(REPORT, convicted=(convicted,)), "L2")
    assert (
        "behavior: 1 of 10 functions convicted, 3 demoted for a false claim, 2 passed, 4 without a verdict; "
        "codeguard check FILE says why\n" in text
    )
    assert "  new.py:4 add  fail: add(2, 3): expected 5, got -1\n" in text + "\n"
    assert "more (--format json" not in text
    lines = tuple(replace(convicted, line=number) for number in range(SHOWN + 2))
    many = index_text(replace(REPORT, convicted=lines), "L2")
    assert many.count("  new.py:") == SHOWN
    assert "  … and 2 more convicted (--format json lists all)" in many


def test_demoted_functions_are_listed_after_the_convicted_and_harm_first_in_the_same_form() -> None:
    convicted = Suspect("new.py", "add", 4, "0" * 64, "fail", "wrong")
    demoted = Suspect(
        "a\x1b.py", "sub", 9, "1" * 64, "false claim", "reads like sub, and is not", accepted="by Ada"
    )
    harmful = Suspect("b.py", "", 7, "2" * 64, "harmful", "sends keys")
    twice = replace(convicted, path="b.py", line=7)
    text = index_text(replace(REPORT, convicted=(convicted, twice), demoted=(demoted, harmful)), "L2")
    assert "reading: 1 chunk would do harm\n" in text
    assert (
        "  b.py:7 (module)  harmful: sends keys\n"
        "  new.py:4 add  fail: wrong\n  a\\x1b.py:9 sub  false claim: reads like sub, and is not (by Ada)\n"
        in f"{text}\n"
    )
    lines = tuple(replace(demoted, line=number) for number in range(SHOWN + 3))
    many = index_text(replace(REPORT, demoted=lines), "L2")
    assert "  … and 3 more demoted (--format json lists all)" in many


def test_counts_and_specs_come_first() -> None:
    signed = replace(REPORT, manifest_unsigned=False, signed_by=("ada",))
    assert index_text(signed, "L2").splitlines() == [
        "1 file in 2 chunks: queries can find 1 by lexical, the others are blank or withheld",
        "this run: 0 files unchanged, 2 chunks written, 0 removed, in 0.5 s",
        "trusted: 1 file, signed by ada",
        "to compare with: 2 trusted functions, 1 of them with examples, and 0 hand-written specs "
        "(shipped with codeguard, or your own)",
        "behavior: 0 of 10 functions convicted, 3 demoted for a false claim, 2 passed, 5 without a verdict; "
        "codeguard check FILE says why",
    ]


def test_a_sandbox_that_is_too_weak_is_named_first() -> None:
    weak = index_text(replace(REPORT, sandbox_level="L1"), "L2")
    assert weak.startswith("sandbox L1 is BELOW the required L2")


def test_an_index_without_checks_says_so() -> None:
    assert (
        "behavior: no function of unknown origin\n" in index_text(replace(REPORT, verdicts={}), "L2") + "\n"
    )
    unchecked = replace(REPORT, verdicts={}, sandbox_level="")
    assert "behavior: not checked\n" in index_text(unchecked, "L2") + "\n"


def test_an_accepted_conviction_names_who_overruled_it() -> None:
    item = Suspect("new.py", "add", 4, "0" * 64, "fail", "wrong", accepted="accepted by Ada")
    assert "fail: wrong (accepted by Ada)" in index_text(replace(REPORT, convicted=(item,)), "L2")


def test_a_file_is_listed_once_with_all_that_is_said_of_it() -> None:
    notes = ("b.py: chunked by lines: too many", "b.py: it met a bound", "c.py: decoded as cp1252")
    text = index_text(replace(REPORT, notes=notes, by_lines=("b.py", "d.sh")), "L2")
    assert "chunked by lines: 1 file: d.sh\nnotes: 2 files\n" in text
    assert "  1 × chunked by lines: too many; it met a bound: b.py\n" in text
    assert text.count("b.py") == 1


def test_the_manifest_and_earlier_trust_are_shown() -> None:
    assert "trusted: 1 file, named by you and not signed" in index_text(REPORT, "L2")
    signed = replace(REPORT, manifest_unsigned=False, signed_by=("ada",), trusted_before=("src",))
    assert "trusted: 1 file, signed by ada\n" in index_text(signed, "L2")
    assert "trusted as before: src" in index_text(signed, "L2")


def test_a_run_that_changed_nothing_is_one_line() -> None:
    said = index_text(replace(REPORT, nothing_changed=True), "L2")
    assert len(said.splitlines()) == 1
    assert said.startswith("nothing changed: ")


def test_what_was_left_out_is_counted_by_reason() -> None:
    items = [
        ("too large", "a.py"),
        *(("binary", f"{number}.png") for number in range(5)),
        ("too large", "b\x1b.py"),
    ]
    assert by_reason(items, LISTED) == [
        "  5 × binary: 0.png, 1.png, 2.png … and 2 more (--format json lists all)",
        "  2 × too large: a.py, b\\x1b.py",
    ]
