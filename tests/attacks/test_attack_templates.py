"""The attacks: deterministic, harmless, parseable, labelled; what they promise of their variants."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import cache

import pytest

from experiments.attacks import ALL as ATTACKS
from experiments.attacks import METHOD, PoisonFile, TargetFunction
from experiments.corpus.build_poison import project_targets

pytestmark = pytest.mark.ci

TARGETS = project_targets()


@cache
def written(attack: str) -> list[tuple[TargetFunction, PoisonFile]]:
    return [(target, file) for target in TARGETS for file in ATTACKS[attack].generate(target, 3)]


@pytest.mark.parametrize("name", ATTACKS)
def test_same_arguments_same_files_and_another_seed_others(name: str) -> None:
    attack = ATTACKS[name]
    first, again, other = ([attack.generate(target, seed) for target in TARGETS[:6]] for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", ATTACKS)
def test_every_candidate_parses_and_labels_all_its_functions(name: str) -> None:
    found = written(name)
    assert found
    for target, file in found:
        defined = [node.name for node in ast.parse(file.code).body if isinstance(node, ast.FunctionDef)]
        assert [label.symbol for label in file.labels] == defined
        assert file.poisoned_symbols
        assert {label.target for label in file.labels if label.poisoned} == {target.name}
        assert file.name.startswith(f"{name}/")
        assert file.code.strip() in file.text


@pytest.mark.parametrize("name", METHOD)
def test_the_methods_attacks_apply_to_every_function(name: str) -> None:
    assert {target.name for target, _ in written(name)} == {target.name for target in TARGETS}


@pytest.mark.parametrize("name", ATTACKS)
def test_payloads_are_harmless(name: str) -> None:
    forbidden = re.compile(r"https?://|rmtree|os\.(remove|unlink|system|kill|fork)|shutil|urllib|requests")
    for _, file in written(name):
        assert set(re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", file.text)) <= {"127.0.0.1"}
        assert forbidden.search(file.text) is None
        assert set(re.findall(r"\bopen\((.*?)\)", file.text)) <= {'"/etc/hostname"', '"/proc/self/status"'}
        for command in re.findall(r"subprocess\.\w+\((.*?)\)", file.text):
            assert command.startswith('["true"]')


def test_no_template_knows_the_functions_of_the_corpus() -> None:
    """A function under another name gets the same attacks: nothing is looked up by name."""
    target = next(target for target in TARGETS if target.name == "is_prime")
    other = replace(
        target,
        name="zzz",
        source=target.source.replace("is_prime", "zzz"),
        examples=(),
        inputs=(),
        query="zzz",
    )
    for name, attack in ATTACKS.items():
        assert attack.generate(other, 1), name
