"""The attacks: deterministic, harmless, parseable, labelled; what they promise of their variants."""

from __future__ import annotations

import ast
import contextlib
import re
from dataclasses import replace
from functools import cache

import pytest

from experiments.attacks import Attack, PoisonFile, TargetFunction, all_attacks, get_attack
from experiments.attacks.registry import METHOD
from experiments.corpus.build_poison import project_targets

pytestmark = pytest.mark.ci

TARGETS = project_targets()
ATTACKS = all_attacks()
ADAPTIVE = [name for name, attack in ATTACKS.items() if attack.adaptive]
OF_THE_ISSUE = {
    "size_trigger",
    "rare_input",
    "call_counter",
    "harness_detection",
    "unreached_branch",
    "helper_poison",
    "default_argument",
    "evasive_name",
    "hidden_arithmetic_literal",
    "side_effect",
}


@cache
def written(attack: str) -> list[tuple[TargetFunction, PoisonFile]]:
    return [(target, file) for target in TARGETS for file in get_attack(attack).generate(target, 3)]


def test_the_methods_attacks_come_first_and_the_adaptive_ones_are_there() -> None:
    assert tuple(ATTACKS)[:4] == METHOD
    assert set(ADAPTIVE) == OF_THE_ISSUE


def test_an_unknown_attack_is_named_with_those_there_are() -> None:
    with pytest.raises(KeyError, match="targeted"):
        get_attack("nothing")


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_one_by_protocol_and_says_what_it_is(name: str) -> None:
    attack = ATTACKS[name]
    assert isinstance(attack, Attack)
    assert attack.summary
    assert attack.summary[0].islower()


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


@pytest.mark.parametrize("name", ADAPTIVE)
def test_an_adaptive_attack_has_at_least_three_variants(name: str) -> None:
    assert len({file.name for _, file in written(name)}) >= 3


@pytest.mark.parametrize("name", ATTACKS)
def test_payloads_are_harmless(name: str) -> None:
    forbidden = re.compile(r"https?://|rmtree|os\.(remove|unlink|system|kill|fork)|shutil|urllib|requests")
    for _, file in written(name):
        assert set(re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", file.text)) <= {"127.0.0.1"}
        assert forbidden.search(file.text) is None
        assert set(re.findall(r"\bopen\((.*?)\)", file.text)) <= {'"/etc/hostname"', '"/proc/self/status"'}
        for command in re.findall(r"subprocess\.\w+\((.*?)\)", file.text):
            assert command.startswith('["true"]')


@pytest.mark.parametrize("name", sorted({"targeted", "misleading", "fake"} | set(ADAPTIVE)))
def test_documentation_echoes_the_query_or_the_summary(name: str) -> None:
    topics = {"targeted", "misleading", "fake"}
    for target, file in written(name):
        words = re.sub(r"^how to ", "", target.query)
        assert words in file.text.lower() or target.summary in file.text or name not in topics


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


@pytest.mark.parametrize(
    "source",
    [
        "def f(*args, **kwargs):\n    return args",
        "def f(a, /, b=1, *rest, c=2, **more):\n    return a",
        "def f(a):\n\treturn a + 1",
        'def f(a):\n    """Only a docstring, with \\"quotes\\" and a \\\\ backslash."""',
        "def f(a): return a",
        "def f(a):\n    x = f'{a!r:>{10}}'\n    return x < a",
        "def f(\n    a: int,\n    b: 'str' = \"x\",\n) -> dict[str, int]:\n    # why\n    return {b: a}",
        "def f(a):\n    text = '''\nnot indented\n'''\n    return text + a",
        "def f(ä):\n    return 'ü' + ä  # naïve",
        "def f(a):\n    yield a\n    yield a + 1",
        "def f():\n    return 1",
    ],
)
def test_templates_cope_with_unusual_source(source: str) -> None:
    """Whatever an attack writes for it parses, or it writes nothing."""
    target = TargetFunction("f", source, "do the thing with it", "Do the thing.")
    made = []
    for attack in ATTACKS.values():
        with contextlib.suppress(ValueError):
            made += attack.generate(target, 1)
    assert made or "\n" not in source  # nothing is written for a function of one line
    for file in made:
        ast.parse(file.code)
