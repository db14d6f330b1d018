"""What a person reads after a query: the code, whose it is, what was pushed down and why; plain in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import FAIL, UNKNOWN, judged, ranking

from codeguard.models import Evidence
from codeguard.ranking.reranking import at_most_per_file
from codeguard.reports.ranking import ranking_lines, why
from codeguard.reports.styled import code, line, plain

POISONED = (judged("bad.py", 0.1, FAIL, UNKNOWN), judged("ours.py", 0.2), judged("other.py", 0.3, UNKNOWN))


def test_the_code_is_shown_with_its_first_lines_or_in_full() -> None:
    short, full = (
        plain(ranking_lines(ranking(1, *POISONED), "L2")),
        plain(ranking_lines(ranking(1, *POISONED), "L2", full=True)),
    )
    assert "│ def add(a, b):" in short
    assert "│ # 8" not in short
    assert "… 2 more lines" in short
    assert "│ # 8" in full
    assert "more line" not in full.partition("pushed out")[0]


def test_words_say_whose_it_is_and_the_last_lines_what_was_pushed_down_and_why() -> None:
    text = plain(ranking_lines(ranking(1, *POISONED), "L2"))
    assert "your own code" in text
    assert "score" not in text
    assert (
        "pushed out: 1 of the first 1 by similarity, 1 of them convicted, 0 demoted (of all 3 candidates: 1 and 0)"
        in text
    )
    assert "bad.py:1 f1: fail: add(2, 3): expected 5, got -1" in text


@pytest.mark.parametrize("mode", ["rerank", "drop"])
def test_explain_gives_the_reasons_of_what_is_gone(mode: str) -> None:
    text = plain(ranking_lines(ranking(1, *POISONED, mode=mode), "L2", explain=True))
    gone = text.partition("pushed out of the first 1")[2]
    assert "+3.00 behavior: fail: add(2, 3): expected 5, got -1" in gone
    assert f"CONVICTED, {'dropped' if mode == 'drop' else 'now place 3'}" in gone


def test_explain_says_which_of_the_pushed_down_are_demoted_and_which_neither() -> None:
    demoted = Evidence("behavior", "false_claim", 3.0, "does something else", demotes=True)
    items = (
        judged("demoted.py", 0.1, demoted, UNKNOWN),
        judged("far.py", 0.2, replace(UNKNOWN, penalty=9.0)),
        judged("ours.py", 0.3),
        judged("more.py", 0.4),
    )
    gone = plain(ranking_lines(ranking(2, *items), "L2", explain=True)).partition(
        "pushed out of the first 2"
    )[2]
    assert "demoted.py:1  DEMOTED, now place 4" in gone
    assert "far.py:1  now place 3" in gone


def test_nothing_pushed_down_is_said_too() -> None:
    assert "nothing was pushed down" in plain(ranking_lines(ranking(2, *POISONED[1:]), "L2"))


def test_several_of_a_file_only_where_asked() -> None:
    items = [judged("a.py", 0.1, start=1), judged("a.py", 0.2, start=9), judged("b.py", 0.3)]
    found = ranking(2, *items)
    assert [item.chunk.path for item in found.results] == ["a.py", "b.py"]
    assert [item.chunk.path for item in at_most_per_file(found.ranking, 2, 2)] == ["a.py", "a.py"]
    assert plain(ranking_lines(found, "L2", per_file=2)).count("a.py:") == 2


def test_the_telling_reason_is_not_the_unknown_origin() -> None:
    (worst,) = [item for item in ranking(3, *POISONED).ranking if item.convicted]
    assert why(worst) == FAIL.reason


def test_untrusted_text_cannot_act_on_a_terminal() -> None:
    hostile = "\x1b]0;title\x07 = 1  # \x1b[31m\u202e\n"
    found = ranking(1, judged("a\x1b[0m.py", 0.1, UNKNOWN, text=hostile))
    text = plain(ranking_lines(found, "L2", full=True, explain=True))
    assert text.replace("\n", "").isprintable()
    assert "\\x1b]0;title" in text


@pytest.mark.parametrize(
    "source", ['x = "# no comment"  # yes', "a // b", "s = 'http://x'", '"""doc', "\t\tx", ""]
)
def test_colouring_loses_no_character(source: str) -> None:
    assert plain(code(source)) == source.replace("\t", "    ")


def test_words_are_told_apart() -> None:
    styles = {part.text: part.style for part in code("def f(): return 'x'  # why")[0]}
    assert {
        "def": "keyword",
        "return": "keyword",
        "'x'": "string",
        "# why": "comment",
    }.items() <= styles.items()
    assert plain([line("a\x00")]) == "a\\x00"


SHOW = """
from codeguard.cli.output import say_lines
from codeguard.reports.styled import Styled, line, place
say_lines([line(Styled("CONVICTED", "bad"), " ", place("here.py", 3)), line("AWS key AKIAIOSFODNN7ABCDEFG")])
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
