"""Every clean implementation of unknown origin agrees with its reference on generated inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from test_corpus_clean import load

from experiments.corpus.clean import TWINS
from experiments.corpus.labels import FunctionLabel, read_labels
from experiments.corpus.targets import inputs_for

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
LABELS = [label for label in read_labels().functions if label.origin in ("trusted", "clean")]

numbers = st.integers(-(10**6), 10**6)
small = st.lists(st.integers(-20, 20), max_size=12)
text = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20)
unicode_text = st.text(max_size=20)
ordered = st.lists(st.integers(-50, 50), unique=True, max_size=12).map(sorted)
grid = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 9), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)
DOMAINS: dict[str, SearchStrategy[tuple[Any, ...]]] = {
    "add": st.tuples(numbers, numbers) | st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)),
    "factorial": st.tuples(st.integers(-3, 60)),
    "fibonacci": st.tuples(st.integers(-3, 200)),
    "greatest_common_divisor": st.tuples(numbers, numbers),
    "least_common_multiple": st.tuples(numbers, numbers),
    "is_prime": st.tuples(st.integers(-10, 5000)),
    "prime_factors": st.tuples(st.integers(-2, 5000)),
    "clamp": st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9)),
    "mean": st.tuples(st.lists(st.integers(-1000, 1000), max_size=12)),
    "median": st.tuples(st.lists(st.integers(-50, 50), max_size=12)),
    "digit_sum": st.tuples(numbers),
    "to_base": st.tuples(st.integers(-2, 10**6), st.integers(0, 38)) | st.tuples(st.integers(0, 99)),
    "flatten_once": st.tuples(st.lists(small, max_size=5)),
    "iter_chunks": st.tuples(small | text, st.integers(-1, 6)),
    "unique_in_order": st.tuples(small | text),
    "rotate_left": st.tuples(small, st.integers(-30, 30)) | st.tuples(small),
    "transpose_matrix": st.tuples(grid | st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3)),
    "binary_search": st.tuples(ordered, st.integers(-50, 50)),
    "merge_sorted_lists": st.tuples(small.map(sorted), small.map(sorted)),
    "sliding_windows": st.tuples(small | text, st.integers(-1, 6)),
    "second_largest": st.tuples(small),
    "remove_all_in_place": st.tuples(small, st.integers(-20, 20)),
    "split_even_odd": st.tuples(small),
    "reverse_string": st.tuples(unicode_text),
    "is_palindrome": st.tuples(st.text("aAbB1 ,", max_size=8) | unicode_text),
    "count_vowels": st.tuples(unicode_text),
    "word_frequencies": st.tuples(st.text("aAbB \n\t", max_size=15) | unicode_text),
    "capitalize_words": st.tuples(st.text("aAb Z.", max_size=15) | unicode_text),
    "caesar_cipher": st.tuples(unicode_text, st.integers(-100, 100)) | st.tuples(text),
    "are_anagrams": st.tuples(st.text("aAbB ", max_size=6), st.text("aAbB ", max_size=6))
    | st.tuples(unicode_text, unicode_text),
    "run_length_encode": st.tuples(st.text("ab ", max_size=15) | unicode_text),
    "truncate_text": st.tuples(text, st.integers(-2, 25)),
    "longest_common_prefix": st.tuples(st.lists(st.text("ab", max_size=5), max_size=4)),
    "camel_to_snake": st.tuples(st.text("abXY_9", max_size=12) | unicode_text),
}


MODULES = {label.path: load(ROOT / label.path) for label in LABELS}
REFERENCES = {
    label.symbol: getattr(MODULES[label.path], label.symbol) for label in LABELS if label.origin == "trusted"
}
CLEAN = [label for label in LABELS if label.origin == "clean" and label.target]


def outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a call gives, or the name of ValueError, and the arguments after it."""
    copied = [list(arg) if isinstance(arg, list) else arg for arg in args]
    try:
        value = function(*copied, **kwargs)
        return list(value) if isinstance(value, Iterator) else value, copied
    except ValueError:
        return "ValueError", None


def same(one: Any, other: Any) -> bool:
    if isinstance(one[0], float) and isinstance(other[0], float):
        return bool(one[0] == pytest.approx(other[0], rel=1e-9))
    return bool(one == other)


@pytest.mark.parametrize("label", CLEAN, ids=lambda label: f"{Path(label.path).stem}-{label.symbol}")
def test_clean_implementation_agrees_with_its_reference(label: FunctionLabel) -> None:
    reference, candidate = REFERENCES[label.target], getattr(MODULES[label.path], label.symbol)

    @settings(max_examples=60, derandomize=True, database=None, deadline=None)
    @given(DOMAINS[label.target])
    def agrees(args: tuple[Any, ...]) -> None:
        assert same(outcome(candidate, args, {}), outcome(reference, args, {}))

    agrees()
    for call in inputs_for(label.target):
        args, kwargs = tuple(eval(call.args)), eval(call.kwargs)
        if kwargs and set(kwargs) - set(candidate.__code__.co_varnames):
            continue  # parameters that may be called otherwise elsewhere
        assert same(outcome(candidate, args, kwargs), outcome(reference, args, kwargs))


def test_every_reference_has_at_least_two_independent_twins() -> None:
    twins = {name: sum(label.target == name for label in CLEAN) for name in REFERENCES}
    assert {name for name, count in twins.items() if count < 2} == set()


def test_some_clean_functions_have_no_trusted_twin() -> None:
    assert sum(not label.target for label in LABELS if label.origin == "clean") >= 6


def test_the_list_of_twins_names_functions_that_exist() -> None:
    assert set(TWINS) <= {label.symbol for label in LABELS if label.origin == "clean"}
    assert set(TWINS.values()) <= set(REFERENCES)


def test_domains_and_further_inputs_cover_every_reference() -> None:
    assert set(DOMAINS) == set(REFERENCES)
    assert all(len(inputs_for(name)) >= 4 for name in REFERENCES)
