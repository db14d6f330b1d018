"""data/poisoned: reproducible, neutrally named, fully labelled, and every label proven."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import attacks
from experiments.attacks import METHOD, PoisonFile, TargetFunction
from experiments.attacks.base import CallText
from experiments.corpus.build_poison import SEED, build, project_targets
from experiments.corpus.labels import FunctionLabel, read_labels
from experiments.corpus.queries import ALL, EXAMPLES, FURTHER
from experiments.corpus.selection import candidates_of, parses
from experiments.corpus.verify import verify

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "data" / "poisoned").glob("*.py"))
LABELS = [label for label in read_labels().functions if label.origin == "poison"]
TARGETS = {target.name: target for target in project_targets()}
TELLING = (
    "poison",
    "attack",
    "evil",
    "bad",
    "fake",
    "random",
    "mislead",
    "target",
    "trigger",
    "malicious",
    "wrong",
)
TELLING += ("clean", "trusted", "safe", "good", "correct", *attacks.ALL)


def labelled(path: Path) -> list[FunctionLabel]:
    return [label for label in LABELS if label.path == path.relative_to(ROOT).as_posix()]


def candidates(label: FunctionLabel) -> list[PoisonFile]:
    """Return what the attack of a label writes today."""
    target = TARGETS[label.target]
    return candidates_of(target, METHOD[label.attack], SEED)


def first_label(path: Path) -> FunctionLabel:
    return next(label for label in labelled(path) if label.poisoned)


def test_size_of_the_corpus() -> None:
    assert 40 <= len(FILES) <= 60


@pytest.mark.slow
def test_a_rebuild_gives_the_same_bytes() -> None:
    built = build()
    assert sorted(built.files) == [path.relative_to(ROOT).as_posix() for path in FILES]
    assert all((ROOT / name).read_bytes() == text.encode() for name, text in built.files.items())
    assert sorted(built.labels, key=lambda label: (label.path, label.start_line, label.symbol)) == LABELS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file_is_what_its_attack_writes(path: Path) -> None:
    label = first_label(path)
    assert path.read_text(encoding="utf-8") in {file.text for file in candidates(label)}


@pytest.mark.parametrize("name", sorted({label.target for label in LABELS if label.poisoned}))
def test_every_labelled_poison_is_wrong_on_its_witness(name: str) -> None:
    """The labels are believed in nothing: the witness of each is run again, in a process of its own."""
    target = TARGETS[name]
    files: list[PoisonFile] = []
    for path in FILES:
        label = first_label(path)
        if label.target != name:
            continue
        text = path.read_text(encoding="utf-8")
        found = next(file for file in candidates(label) if file.text == text)
        if label.call:
            args, _, kwargs = label.call.partition(" {")
            call = CallText(args, f"{{{kwargs}" if kwargs else "{}")
            found = replace(found, trigger=replace(found.trigger, calls=(call,)))
        files.append(found)
    findings = verify(only_documented(target), files)
    assert [
        (file.name, finding.shown) for file, finding in zip(files, findings, strict=True) if not finding.wrong
    ] == []


def only_documented(target: TargetFunction) -> TargetFunction:
    return replace(target, inputs=())


def test_file_names_carry_no_label_word() -> None:
    assert [path.name for path in FILES if any(word in path.stem for word in TELLING)] == []
    assert [path.name for path in FILES if any(word in path.stem for word in TARGETS)] == []


def test_no_word_of_a_file_name_belongs_to_one_attack_alone() -> None:
    """A word that occurs in four files or more occurs with more than one attack."""
    attacks: dict[str, list[str]] = {}
    for path in FILES:
        for word in path.stem.split("_"):
            attacks.setdefault(word, []).append(first_label(path).attack)
    assert [word for word, found in attacks.items() if len(found) >= 4 and len(set(found)) == 1] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_labels_cover_every_function(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    found = {name: number for number, line in enumerate(lines, 1) for name in re.findall(r"^def (\w+)", line)}
    labels = {label.symbol: label for label in labelled(path)}
    assert {name: label.start_line for name, label in labels.items()} == found
    assert any(label.poisoned for label in labels.values())
    for label in labels.values():
        source = "\n".join(lines[label.start_line - 1 : label.end_line])
        assert isinstance(ast.parse(source).body[0], ast.FunctionDef)
        assert lines[label.end_line - 1].strip()


def test_every_attack_and_every_function_is_in_the_corpus() -> None:
    poisoned = [label for label in LABELS if label.poisoned]
    assert {label.attack for label in poisoned} == set(METHOD)
    assert {label.target for label in poisoned} == set(TARGETS)
    for query in EXAMPLES:
        assert {label.attack for label in poisoned if label.target == query.target} >= set(METHOD)


def test_styles_that_the_parts_behind_have_to_cope_with_are_there() -> None:
    poisoned = [label for label in LABELS if label.poisoned]
    assert sum(not parses(path.read_text(encoding="utf-8")) for path in FILES) >= 2
    assert sum(label.symbol not in TARGETS for label in poisoned) >= 5, "renamed functions"
    assert sum(not label.poisoned for label in LABELS) >= 10, "correct functions beside poison"
    assert {label.shown for label in poisoned} == {"example", "input"}, "some only show off the examples"


def test_payloads_stay_on_this_machine() -> None:
    """Every address is the loopback one, and nothing that could delete or download is called."""
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", text)) <= {"127.0.0.1"}
        assert re.search(r"https?://|rmtree|unlink|os\.remove|urllib|requests|os\.system", text) is None


def test_queries_ask_for_every_function_in_several_ways() -> None:
    assert len(EXAMPLES) == 3
    assert len(FURTHER) >= 30
    assert len({query.text for query in ALL}) == len(ALL)
    assert {query.target for query in ALL} == set(TARGETS)
