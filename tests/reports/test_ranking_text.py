"""What a person reads after a query: the code, whose it is, what was pushed down and why; plain in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import FAIL, OURS, UNKNOWN, judged, ranking

from codeguard.models import NOT_YET, Evidence, text_digest
from codeguard.ranking.reranking import at_most_per_file
from codeguard.reports.ranking import MOST_COLUMNS, ranking_lines
from codeguard.reports.styled import code, unstyled

POISONED = (judged("bad.py", 0.1, FAIL, UNKNOWN), judged("ours.py", 0.2), judged("other.py", 0.3, UNKNOWN))


def test_the_code_is_shown_with_its_first_lines_or_in_full() -> None:
    short, full = (
        unstyled(ranking_lines(ranking(1, *POISONED), "L2")),
        unstyled(ranking_lines(ranking(1, *POISONED), "L2", full=True)),
    )
    assert "│ def add(a, b):" in short
    assert "│ # 8" not in short
    assert "… 2 more lines" in short
    assert "│ # 8" in full
    assert "more line" not in full.partition("pushed out")[0]


def test_words_say_whose_it_is_and_the_last_lines_what_was_pushed_down_and_why() -> None:
    text = unstyled(ranking_lines(ranking(1, *POISONED), "L2"))
    assert "your own code" in text
    assert "score" not in text
    assert "pushed out: 1 of the first 1 by similarity, 1 convicted (of all 3 candidates 1 convicted)" in text
    assert "bad.py:1 f1: fail: add(2, 3): expected 5, got -1" in text


def test_the_explanation_says_what_own_code_changes() -> None:
    found = ranking(2, judged("ours.py", 0.2), replace(judged("theirs.py", 0.1, UNKNOWN), beside_own=2.0))
    text = unstyled(ranking_lines(found, "L2", explain=True))
    assert "distance 0.100, penalties +0.50, beside your own code +2.00, sorted by +2.60" in text
    assert "penalties +0.00, sorted by +0.20" in text


EXPLAINED = """\
1 result for 'add'

without the defense
 1 f3  bad.py:3  distance 0.100

with it

 1 f1  ours.py:1-4
   your own code  (place 3 by similarity)
   distance 0.200, penalties +0.00, sorted by +0.20
   │ pass

pushed out of the first 1
 1 f3  bad.py:3  CONVICTED, {convicted}
     +3.00 behavior: fail: add(2, 3): expected 5, got -1
     +0.50 provenance: not in the manifest: unknown origin
{others}
{words}: 1 of the first 1 by similarity, 1 convicted (of all 4 candidates 1 convicted, 1 demoted)
"""
DEMOTED = """
dropped as well
 2 f20  bad.py:20  DEMOTED, dropped
     +3.00 behavior: demotes: does something else
     +0.50 provenance: not in the manifest: unknown origin
"""
FALSE_CLAIM = Evidence("behavior", "false_claim", 3.0, "does something else", demotes=True)


@pytest.mark.parametrize(
    ("mode", "convicted", "others", "words"),
    [
        ("rerank", "now place 4", "", "pushed out"),
        ("drop", "dropped", DEMOTED, "dropped"),
    ],
)
def test_explain_shows_both_orders_and_every_reason(
    mode: str, convicted: str, others: str, words: str
) -> None:
    items = (
        judged("bad.py", 0.1, FAIL, UNKNOWN, start=3),
        judged("bad.py", 0.15, FALSE_CLAIM, UNKNOWN, start=20),
        judged("ours.py", 0.2, text="pass\n"),
        judged("other.py", 0.3, UNKNOWN),
    )
    text = unstyled(ranking_lines(ranking(1, *items, mode=mode), "L2", explain=True))
    assert text == EXPLAINED.format(convicted=convicted, others=others, words=words)[:-1]


def test_a_minified_line_is_cut_unless_all_of_the_code_is_asked_for() -> None:
    item = judged("min.py", 0.1)
    item = replace(item, chunk=replace(item.chunk, text="x = 1; " * 100))
    short, full = (unstyled(ranking_lines(ranking(1, item), "L2", full=full)) for full in (False, True))
    assert max(map(len, short.splitlines())) < MOST_COLUMNS + 20
    assert "…" in short
    assert ("x = 1; " * 100).strip() in full


def test_nothing_pushed_down_is_said_too() -> None:
    assert "nothing was pushed down" in unstyled(ranking_lines(ranking(2, *POISONED[1:]), "L2"))


def test_several_of_a_file_only_where_asked() -> None:
    items = [judged("a.py", 0.1, start=1), judged("a.py", 0.2, start=9), judged("b.py", 0.3)]
    found = ranking(2, *items)
    assert [item.chunk.path for item in found.results] == ["a.py", "b.py"]
    assert [item.chunk.path for item in at_most_per_file(found.ranking, 2, 2)] == ["a.py", "a.py"]
    assert unstyled(ranking_lines(found, "L2", per_file=2)).count("a.py:") == 2


def test_untrusted_text_cannot_act_on_a_terminal() -> None:
    hostile = "\x1b]0;title\x07 = 1  # \x1b[31m\u202e\n"
    found = ranking(1, judged("a\x1b[0m.py", 0.1, UNKNOWN, text=hostile))
    text = unstyled(ranking_lines(found, "L2", full=True, explain=True))
    assert text.replace("\n", "").isprintable()
    assert "\\x1b]0;title" in text


@pytest.mark.parametrize(
    "source", ['x = "# no comment"  # yes', "a // b", "s = 'http://x'", '"""doc', "\t\tx", ""]
)
def test_colouring_loses_no_character(source: str) -> None:
    assert unstyled(code(source)) == source.replace("\t", "    ")


SHOW = """
from codeguard.cli.output import say_lines
from codeguard.reports.styled import Styled, line, place_text
say_lines([line(Styled("CONVICTED", "bad"), " ", place_text("here.py", 3)), line("AWS key AKIAIOSFODNN7ABCDEFG")])
"""


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_a_terminal_gets_colour_and_links_unless_told_otherwise(
    tmp_path: Path, environment: dict[str, str], coloured: bool
) -> None:
    (tmp_path / "here.py").touch()
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    leader, follower = pty.openpty()
    subprocess.run(
        [sys.executable, "-P", "-c", SHOW],
        stdout=follower,
        cwd=tmp_path,
        env={**clean, "TERM": "xterm", **environment},
        check=True,
    )
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert ("\x1b[31m" in shown) == coloured
    assert (f"\x1b]8;;{(tmp_path / 'here.py').as_uri()}#L3" in shown) == coloured
    assert "AKIAIOSFODNN7ABCDEFG" not in shown


def test_a_pipe_gets_plain_text(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", SHOW], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.splitlines()[0] == "CONVICTED here.py:3"


def test_a_text_is_shown_once_with_the_other_places_and_what_is_held_against_it_there() -> None:
    same = {"sha256": text_digest(OURS)}
    found = ranking(
        2,
        judged("theirs.py", 0.1, UNKNOWN, **same),
        judged("bad.py", 0.2, FAIL, **same),
        *(judged(f"copy{number}.py", 0.3, UNKNOWN, **same) for number in range(3)),
        judged("else.py", 0.4, UNKNOWN, text="def other():\n    return 1\n"),
    )
    text = unstyled(ranking_lines(found, "L2"))
    assert [line[3:5] for line in text.splitlines() if line.startswith(" 1 ")] == ["f1"]
    assert (
        f"the same code in 4 other files: bad.py:1 (CONVICTED there: {FAIL.reason}), copy0.py:1, copy1.py:1 and 1 more"
        in text
    )
    assert "else.py" in text
    assert "pushed out: 1 of the first 2 by similarity, 1 convicted" in text  # not silently hidden
    places = found.to_json()["results"][0]["copies"]
    assert [(place["path"], place["convicted"]) for place in places] == [
        ("copy0.py", False), ("copy1.py", False), ("copy2.py", False), ("bad.py", True),
    ]  # fmt: skip


def test_json_has_the_stable_form() -> None:
    checked = replace(FAIL, measurements={"verdict": "fail", "coverage": "full"})
    waiting = Evidence("perplexity", NOT_YET, 0.0, "not examined yet")
    found = replace(ranking(1, judged("bad.py", 0.25, checked, waiting, start=3)), warnings=("a warning",))
    item = {
        "rank": 1,
        "baseline_rank": 1,
        "path": "bad.py",
        "symbol": "f3",
        "kind": "function",
        "start_line": 3,
        "end_line": 6,
        "sha256": text_digest("bad.py:3"),
        "text": OURS,
        "masked": False,
        "distance": 0.25,
        "penalty": 3.0,
        "beside_own": 0.0,
        "score": 3.25,
        "trust": "unlisted",
        "on_disk": "elsewhere",
        "verdict": "fail",
        "coverage": "full",
        "convicted": True,
        "demoted": False,
        "not_yet": ["perplexity"],
        "copies": [],
        "evidence": [checked.to_json(), waiting.to_json()],
    }
    head = {
        "query": "add",
        "k": 1,
        "store": ".codeguard",
        "sandbox_level": "L3",
        "mode": "rerank",
        "order": "score",
    }
    assert found.to_json() == {
        "schema": "codeguard.query/1",
        **head,
        "results": [item],
        "ranking": [item],
        "dropped": [],
        "warnings": ["a warning"],
        "budget": None,
    }
