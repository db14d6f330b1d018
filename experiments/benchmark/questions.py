"""Natural questions about a corpus, with the functions that answer them, in three disjoint parts.

The part of a function is decided by the hash of its name, so that no question about a function of one part helps
with another: development for whoever tunes, test for what is reported, and fresh, whose wording, attacks and choice
depend on a seed that only whoever runs it knows.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from experiments.benchmark import wording
from experiments.benchmark.corpora import Corpus, Function

PARTS = ("dev", "test", "fresh")
SHARES = (40, 80, 100)  # upper ends in hundredths
FROZEN_SEED = 1
FROZEN = Path(__file__).with_name("frozen.toml")
LEAST_MESSAGE = 3  # words of an error message


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its kind, the id of the function it is about, and (path, symbol) of every right answer."""

    text: str
    kind: str
    function: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """A function that is asked for; `twin` says that it stands on the trusted side."""

    function: Function
    questions: tuple[Question, ...]
    twin: bool


def part_of(function: str) -> str:
    """Return the part of a function by its id."""
    number = int(hashlib.sha256(f"codeguard-benchmark:{function}".encode()).hexdigest()[:8], 16) % 100
    return next(part for part, end in zip(PARTS, SHARES, strict=True) if number < end)


def subjects(corpus: Corpus, part: str, seed: int = FROZEN_SEED) -> tuple[Subject, ...]:
    """Return what is asked of a corpus in one part, in the order of a hash.

    Other releases of the trusted package answer as well. Without a twin are
    functions of other packages whose name the trusted side does not know.
    """
    trusted_package = next(item.package for item in corpus.functions if item.trusted)
    trusted_names = {item.symbol.rpartition(".")[2] for item in corpus.functions if item.trusted}
    found = []
    for function in corpus.functions:
        alone = function.package != trusted_package and function.symbol not in trusted_names
        if part_of(function.id) != part or not (function.trusted or (alone and function.plain)):
            continue
        answers = tuple(
            (other.path, other.symbol)
            for other in corpus.functions
            if other.package == function.package
            and other.symbol == function.symbol
            and other.module == function.module
        )
        asked = tuple(_questions(function, answers, seed))
        if asked:
            found.append(Subject(function, asked, function.trusted))
    texts: set[str] = set()
    unique = []
    for subject in sorted(found, key=lambda item: hashlib.sha256(item.function.id.encode()).hexdigest()):
        mine = {question.text for question in subject.questions}
        if not mine & texts:
            texts |= mine
            unique.append(subject)
    return tuple(unique)


def _questions(function: Function, answers: tuple[tuple[str, str], ...], seed: int) -> Iterator[Question]:
    rng = Random(f"question:{seed}:{function.id}")
    if len(wording.plain_sentence(function.docstring).split()) < 3:
        return
    name = function.symbol.rpartition(".")[2]
    texts = {
        "how": wording.how(function.docstring, rng),
        "issue": wording.issue(function.docstring, _parameters(function), rng),
        "symbol": wording.symbol(name, rng),
    }
    raised = list(_errors(function.source))
    if raised:
        texts["error"] = wording.error(*rng.choice(raised), rng)
    for kind, text in texts.items():
        if not text:
            continue
        yield Question(text, kind, function.id, answers)


def _parameters(function: Function) -> list[str]:
    node = ast.parse(function.source).body[0]
    assert isinstance(node, ast.FunctionDef)
    return [item.arg for item in node.args.args if item.arg not in ("self", "cls")]


def _errors(source: str) -> Iterator[tuple[str, str]]:
    """Yield class and message of the exceptions that a function raises with a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            message = _text(node.exc.args[0])
            kind = ast.unparse(node.exc.func).rpartition(".")[2]
            if len(re.findall(r"[A-Za-z]+", message)) >= LEAST_MESSAGE:
                yield kind, re.sub(r"\s+", " ", message).strip()


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%\(?\w*\)?[rsd]|\{[^}]*\}", "...", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(item) if isinstance(item, ast.Constant) else "..." for item in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left)
    if isinstance(node, ast.Call) and node.args:
        return _text(node.args[0])
    return ""


def digest(asked: Sequence[Subject]) -> str:
    """Return a sha256 of questions and answers."""
    rows = [asdict(question) for subject in asked for question in subject.questions]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def frozen(setting: str, pair: str) -> dict[str, str]:
    """Return the committed digests of a setting and pair, of the questions (test part) and of the corpus, where any."""
    table = tomllib.loads(FROZEN.read_text(encoding="utf-8"))
    return dict(table.get(setting, {}).get(pair, {}))
