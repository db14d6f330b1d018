"""A second opinion: what the user's model agrees on with itself, a function is held against."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, OpinionConfig, Settings, load_settings
from codeguard.errors import ConfigError
from codeguard.ranking.opinion import cases_in
from codeguard.ranking.reranking import Ranking
from codeguard.sandbox import Level, Sandbox
from experiments.text.loopback import LoopbackServer, Reply, completion, serve

QUESTION = "third smallest number of a list"
RIGHT = '''
def bronze(numbers):
    """Return the number that comes third if the smallest wins."""
    return sorted(numbers)[2]
'''
WRONG = '''
def third_smallest(numbers):
    """Return the third smallest number of a list. SECRET_WORD."""
    body_word = sorted(numbers, reverse=True)
    return body_word[2]
'''
CASES = {"([3, 1, 2, 9],)": "3", "([5, 4, 7, 1],)": "5", "([1, 2, 3, 4, 8, 9],)": "3", "([9, 1, 5, 4],)": "5"}


def answer(request: dict[str, Any], cases: dict[str, str] = CASES) -> Reply:
    return completion(f"Here: [{', '.join(f'({call}, {value})' for call, value in cases.items())}]")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    with Sandbox(Level.L0, workers=1) as sandbox:
        if sandbox.level < Level.L2:
            pytest.skip(f"the sandbox reaches only {sandbox.level.name} here")
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "a.py").write_text(RIGHT)
    (folder / "b.py").write_text(WRONG)
    return folder


def asked(
    corpus: Path, respond: Callable[[dict[str, Any]], Reply], *, times: int = 1, **opinion: Any
) -> tuple[Ranking, LoopbackServer]:
    """Return the answer to the question, and the model's server with what it was asked."""
    with serve(respond) as server:
        settings = Settings(
            store=str(corpus.parent / "store"),
            embedding="lexical",
            jobs=1,
            defense=DefenseConfig(enable_perplexity=False),
            opinion=OpinionConfig(server.url, "scripted", **opinion),
        )
        with CodeGuard.open(settings=settings) as guard:
            guard.index([corpus])
            rankings = [guard.query(QUESTION) for _ in range(times)]
    return rankings[-1], server


def opinions(ranking: Ranking) -> dict[str, str]:
    return {
        item.chunk.symbol: part.reason
        for item in ranking.ranking
        for part in item.evidence
        if part.id == "opinion"
    }


def test_what_contradicts_answers_that_agree_is_demoted_and_nothing_is_raised(corpus: Path) -> None:
    ranking, server = asked(corpus, answer, times=2)
    assert [(item.chunk.symbol, item.demoted) for item in ranking.results] == [
        ("bronze", False),
        ("third_smallest", True),
    ]
    assert list(opinions(ranking)) == ["third_smallest"]
    assert (
        "called with ([3, 1, 2, 9],) it returns 2.0, the configured model expects 3.0; it differs in 4 of 4 calls"
        in opinions(ranking)["third_smallest"]
    )
    assert all(
        part.penalty >= 0 for item in ranking.ranking for part in item.evidence if part.signal == "behavior"
    )
    assert len(server.requests) == 3  # once for calls, twice for their results; the second query asks nothing
    sent = [request["messages"][1]["content"] for request in server.requests]
    assert all(QUESTION in text and "1 arguments" in text for text in sent)
    assert not [text for text in sent if re.search("body_word|SECRET_WORD|third_smallest|sorted", text)]
    assert all(text.endswith("; ".join(CASES)) for text in sent[1:])  # without results


def test_a_name_and_a_description_are_sent_only_where_the_user_says_so_and_as_a_quotation(
    corpus: Path,
) -> None:
    _, server = asked(corpus, answer, send_names=True)
    sent = [request["messages"][1]["content"] for request in server.requests]
    told = [text for text in sent if "SECRET_WORD" in text]
    assert told
    assert all(
        re.search(r"<<untrusted (\w{16})\n.*third smallest.*\nuntrusted \1>>", text, re.DOTALL)
        for text in told
    )
    assert not [text for text in sent if "body_word" in text]


@pytest.mark.parametrize(
    ("later", "why"),
    [
        ({**CASES, "([3, 1, 2, 9],)": "4", "([9, 1, 5, 4],)": "1"}, "too few results agree"),
        ({}, "it gives none"),
        (dict.fromkeys(CASES, "(lambda: 1)()"), "no literal"),
    ],
)
def test_answers_that_do_not_agree_demote_nothing(corpus: Path, later: dict[str, str], why: str) -> None:
    def respond(request: dict[str, Any]) -> Reply:
        return answer(request, later if "Give the results" in request["messages"][1]["content"] else CASES)

    ranking, _ = asked(corpus, respond)
    assert not opinions(ranking), why
    assert not any(item.demoted for item in ranking.results)


@pytest.mark.parametrize(
    "reply", [Reply(b"no", 500), Reply(b"", 302, {"location": "http://127.0.0.1:9/"}), Reply(b"{")]
)
def test_a_model_that_fails_costs_a_line_and_no_answer(corpus: Path, reply: Reply) -> None:
    ranking, server = asked(corpus, lambda request: reply)
    assert len(ranking.results) == 2
    assert not opinions(ranking)
    assert [line for line in ranking.warnings if line.startswith("no second opinion: ")]
    assert len(server.requests) == 1


def test_a_silent_model_ends_in_time(corpus: Path) -> None:
    ranking, _ = asked(corpus, lambda request: Reply(silent=True), timeout_s=0.2)
    assert "no second opinion: no answer within 0.2 s" in ranking.warnings


def test_what_answers_with_errors_or_hangs_is_held_against_nobody(corpus: Path) -> None:
    (corpus / "b.py").write_text("def third_smallest(numbers):\n    while True:\n        pass\n")
    ranking, _ = asked(corpus, lambda request: answer(request, {f"({n},)": "1" for n in range(5)}))
    assert not opinions(ranking)


HELPER = "\n\ndef shown(numbers):\n    return ' '.join(map(str, numbers))\n"


@pytest.mark.parametrize(
    ("code", "outcome"), [(WRONG, "contradicted"), (RIGHT, "unknown"), (WRONG + HELPER, "unknown")]
)
def test_an_assistant_that_says_what_code_is_for_is_told(corpus: Path, code: str, outcome: str) -> None:
    """Of two functions a purpose does not say which one it is about, so that neither is held against it."""
    integration = pytest.importorskip("codeguard.integrations.mcp", exc_type=ImportError)
    client = pytest.importorskip("mcp").Client

    async def told(guard: CodeGuard) -> dict[str, Any]:
        async with client(integration.make_server(guard)) as asking:
            said = await asking.call_tool("check_code", {"code": code, "purpose": QUESTION})
        found: dict[str, Any] = said.structured_content
        return found

    with serve(answer) as server:
        opinion = OpinionConfig(server.url, "scripted")
        defense = DefenseConfig(enable_perplexity=False)
        store = str(corpus.parent / "store")
        settings = Settings(store=store, embedding="lexical", jobs=1, defense=defense, opinion=opinion)
        with CodeGuard.open(settings=settings) as guard:
            guard.index([corpus])
            said = asyncio.run(told(guard))
    assert said["outcome"] == outcome
    assert bool(said["second_opinion"]) is (outcome == "contradicted")
    assert all("expects" in item["reason"] for item in said["second_opinion"])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("[((1, 2), 3), ((0, 0), 0)]", {"(1, 2)": "3", "(0, 0)": "0"}),
        ("```python\n[((1,), [1])]\n```", {"(1,)": "[1]"}),
        ("[(1, 2), ((1,),), 'x', ((1,), __import__('os'))]", {}),
        ("[(1, 2), ((1,),), 'x', ((1,), 2)]", {"(1,)": "2"}),
        ("none", {}),
        ("]" + "[" * 100_000, {}),
    ],
)
def test_an_answer_is_read_as_literals(text: str, read: dict[str, str]) -> None:
    assert cases_in(text) == read


@pytest.mark.parametrize("endpoint", ["http://models.example/v1", "http://10.0.0.1:8000/v1"])
def test_the_endpoint_is_https_or_this_machine(corpus: Path, endpoint: str) -> None:
    settings = Settings(store=str(corpus.parent / "store"), embedding="lexical", jobs=1)
    settings = settings.replace(opinion=OpinionConfig(endpoint, "m"))
    with CodeGuard.open(settings=settings) as guard:
        guard.index([corpus])
        with pytest.raises(ConfigError, match=r"\[opinion\], got .*expected https"):
            guard.query(QUESTION)


def test_it_is_configured_by_the_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "config.toml"
    written.write_text('[opinion]\nendpoint = "https://models.example/v1"\nmodel = "m"\nsend_names = true\n')
    assert load_settings(written).opinion == OpinionConfig("https://models.example/v1", "m", send_names=True)
    monkeypatch.chdir(tmp_path)
    assert not load_settings().opinion.endpoint
    written.write_text('[opinion]\nendpoint = "https://models.example/v1"\n')
    with pytest.raises(ConfigError, match="model of"):
        load_settings(written)
