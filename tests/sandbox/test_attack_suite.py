"""The attack suite: each attack works without confinement, and has no effect within it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from attacks import unconfined
from attacks.case import ADD_VALUES, STOPS, Attack, Proof
from attacks.catalogue import ALL, CATEGORIES, ONLY_LAYER
from attacks.confined import Range

from codeguard.sandbox import Level, Tier

# A proof starts two interpreters in namespaces and runs nothing of codeguard; the quick subset takes one attack of
# each kind a category, `make soak` all of them.
QUICK = {
    (attack.category, attack.proof): attack.id for attack in reversed(ALL) if attack.proof is not Proof.CUT
}


# What is known to get through depends on how the source is compiled.
_COMPILED = {tier: tier for tier in Tier} | {Tier.IMPORTED: Tier.NATIVE}


def _name(value: object) -> str:
    return value.id if isinstance(value, Attack) else str(value)


def _proofs() -> list[object]:
    return [
        pytest.param(attack, marks=() if attack.id in QUICK.values() else pytest.mark.soak) for attack in ALL
    ]


def _cases() -> list[object]:
    cases = []
    for attack in ALL:
        for tier in Tier:
            known = dict(attack.residual)
            reason = known.get(tier.value, known.get(_COMPILED[tier].value))
            marks = [pytest.mark.xfail(reason=f"residual risk: {reason}", strict=True)] if reason else []
            if tier is not Tier.RESTRICTED:
                marks.append(pytest.mark.ci)
            cases.append(pytest.param(attack, tier, marks=marks))
    return cases


@pytest.fixture(scope="module")
def range_() -> Iterator[Range]:
    with Range() as made:
        if made.sandbox.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {made.sandbox.level.name} only")
        yield made


def test_suite_has_at_least_150_mechanisms_with_names_of_their_own() -> None:
    assert len({attack.id for attack in ALL}) == len(ALL)
    assert len({attack.mechanism for attack in ALL}) == len(ALL) >= 150


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_attack_names_what_stops_it(category: str) -> None:
    for attack in CATEGORIES[category]:
        assert attack.source.strip()
        assert set() < {*attack.stopped_by} <= {*STOPS}


@pytest.mark.ci
@pytest.mark.skipif(not unconfined.available(), reason="no unprivileged namespaces to be harmless in")
@pytest.mark.parametrize("attack", _proofs(), ids=_name)
def test_works_without_confinement(attack: Attack) -> None:
    if not unconfined.applicable(attack):
        pytest.skip(f"not for this interpreter or machine: {attack.needs}")
    assert unconfined.works(attack)


@pytest.mark.parametrize(("attack", "tier"), _cases(), ids=_name)
def test_has_no_effect_within_the_sandbox(attack: Attack, tier: Tier, range_: Range) -> None:
    found = range_.effects(attack, tier)
    if found and attack.id in _unopposed(range_):
        pytest.skip("one layer alone stands before it, and it is not engaged on this machine")
    assert found == []


def _unopposed(range_: Range) -> frozenset[str]:
    """Return the attacks that a single layer stands before, if it is not engaged on this machine."""
    missing = [(layer.name,) for layer in range_.sandbox.layers() if not layer.engaged]
    return frozenset().union(*(ONLY_LAYER.get(layer, ()) for layer in missing))


@pytest.fixture(scope="module")
def with_files() -> Iterator[Range]:
    with Range(files=True) as made:
        if made.sandbox.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {made.sandbox.level.name} only")
        yield made


@pytest.mark.ci
@pytest.mark.parametrize(
    "tier", [Tier.NATIVE, pytest.param(Tier.RESTRICTED, marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("category", CATEGORIES)
def test_has_no_effect_with_files_in_memory(category: str, tier: Tier, with_files: Range) -> None:
    assert {
        attack.id: found
        for attack in ALL
        if attack.category == category and attack.proof is not Proof.CUT
        if tier.value not in dict(attack.residual) and attack.id not in _unopposed(with_files)
        if (found := with_files.effects(attack, tier))
    } == {}


@pytest.mark.slow
@pytest.mark.parametrize("without", ONLY_LAYER, ids="+".join)
def test_two_layers_stand_before_every_crossing(without: tuple[str, ...]) -> None:
    with Range(frozenset(without)) as made:
        engaged = {layer.name for layer in made.sandbox.layers() if layer.engaged}
        assert not engaged & set(without)
        through = {
            attack.id
            for attack in ALL
            if attack.proof is not Proof.CUT and Tier.NATIVE not in dict(attack.residual)
            if made.effects(attack, Tier.NATIVE)
        }
    assert through == {name for name in ONLY_LAYER[without] if unconfined.applicable(BY_NAME[name])}


BY_NAME = {attack.id: attack for attack in ALL}
ALONE = [(without, name) for without, names in ONLY_LAYER.items() for name in sorted(names)]


@pytest.fixture(scope="module")
def reduced() -> Iterator[Callable[[tuple[str, ...]], Range]]:
    with ExitStack() as stack:
        yield cache(lambda without: stack.enter_context(Range(frozenset(without))))


@pytest.mark.xfail(reason="residual risk: one layer alone stands before it", strict=True)
@pytest.mark.parametrize(
    ("without", "name"), ALONE, ids=lambda part: part if type(part) is str else "+".join(part)
)
def test_a_second_layer_stops_it(
    without: tuple[str, ...], name: str, reduced: Callable[[tuple[str, ...]], Range]
) -> None:
    attack = BY_NAME[name]
    if not unconfined.applicable(attack):
        pytest.skip(f"not for this interpreter or machine: {attack.needs}")
    assert reduced(without).effects(attack, Tier.NATIVE) == []


@pytest.mark.slow
@pytest.mark.parametrize("attack", [attack for attack in ALL if attack.proof is Proof.CUT], ids=_name)
def test_resource_attack_is_cut_half_a_second_after_its_limit_at_the_latest(
    attack: Attack, timed_range: Range
) -> None:
    assert timed_range.effects(attack, Tier.NATIVE) == []


# Categories whose effects are harmless even where nothing but the rules stands before them.
RULES = ("introspection", "imports", "policy", "advisories")
NO_SYSTEM = frozenset({"namespaces", "landlock", "seccomp", "child_filter", "rlimits"})


@pytest.fixture(scope="module")
def rules_alone() -> Iterator[Range]:
    with Range(NO_SYSTEM) as made:
        yield made


@pytest.fixture(scope="module")
def timed_range() -> Iterator[Range]:
    with pytest.MonkeyPatch.context() as patch, Range(timed=True) as made:
        patch.setattr(
            "codeguard.sandbox.zygotes._MOST_WAITS", 1
        )  # how busy the machine is does not matter then
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(
            attack,
            marks=[pytest.mark.xfail(reason=dict(attack.residual)["rules"], strict=True)]
            if "rules" in dict(attack.residual)
            else [],
        )
        for attack in ALL
        if attack.category in RULES
    ],
    ids=_name,
)
def test_rules_stop_it_without_any_layer_of_the_operating_system(attack: Attack, rules_alone: Range) -> None:
    assert rules_alone.effects(attack, Tier.RESTRICTED) == []


@pytest.mark.slow
def test_most_attacks_work_in_the_child_once_nothing_stands_before_them(rules_alone: Range) -> None:
    """The attacks are armed in the sandbox's own child too, not only in the naive harness."""
    attacks = [attack for attack in ALL if attack.category in RULES]
    armed = [attack for attack in attacks if rules_alone.effects(attack, Tier.NATIVE)]
    assert len(armed) > 0.75 * len(attacks)


# The measuring itself can fail: harmless code in the place of an attack.

INNOCENT = (
    "import os\ndef attack():\n    return 1\ndef probe():\n    return 1\ndef add(a, b):\n    return 0\n"
)


@pytest.mark.skipif(not unconfined.available(), reason="no unprivileged namespaces to be harmless in")
@pytest.mark.parametrize("proof", list(Proof), ids=str)
def test_innocent_code_proves_nothing(proof: Proof) -> None:
    assert not unconfined.works(Attack("innocent", "none", proof, INNOCENT, after=INNOCENT))


CONTROLS = [
    (Proof.LEAK, "def attack():\n    return '@SECRET@'\n", "the secret came out"),
    (Proof.SPOOF, "def add(a, b):\n    return a + b\n", "a wrong function passes"),
    (Proof.CRASH, "def attack():\n    return 1\n", "completed"),
]


@pytest.mark.parametrize(("proof", "source", "effect"), CONTROLS)
def test_effect_inside_is_noticed(proof: Proof, source: str, effect: str, range_: Range) -> None:
    assert effect in range_.effects(Attack("x", "x", proof, source), Tier.NATIVE)


def test_processes_of_another_test_are_no_effect(range_: Range) -> None:
    harmless = Attack("x", "x", Proof.LEAK, "def attack():\n    return 1\n")
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
                )
            )
        assert range_.effects(harmless, Tier.NATIVE) == []


def test_effects_outside_are_noticed() -> None:
    with Range() as made:
        arena = made.arena
        (arena.directory / "marker").write_text("")
        assert arena.victim is not None
        arena.victim.kill()
        arena.victim.wait()
        assert [effect.split(":")[0] for effect in made._outside()] == ["changed", "victim"]


@pytest.mark.parametrize(("operator", "passes"), [("+", True), ("-", False)])
def test_only_a_right_function_gives_the_expected_values(operator: str, passes: bool, range_: Range) -> None:
    source = f"def add(a, b):\n    return a {operator} b\n"
    result = range_.run(Attack("x", "x", Proof.SPOOF, source), Tier.RESTRICTED)
    assert (tuple(call.value for call in result.calls) == ADD_VALUES) is passes
