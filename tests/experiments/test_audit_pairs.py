"""The frozen sets of insecure and fixed snippets: well formed, large enough, and unchanged."""

import ast

import pytest

from experiments.audit_sets.pairs import SETS, load_pairs, set_digest

DIGESTS = {
    "insecure": "ea2e1cbc90b8ff6992701a2695314a951c203a00f437d0adcc58ca5d5cb52224",
    "insecure_holdout": "c45c7aa36c0078efe39080ae56dc3f9a62fcbe3268174b812e055b4140278aae",
}
LEAST = {"insecure": (150, 40), "insecure_holdout": (40, 25)}


@pytest.mark.parametrize("name", SETS)
def test_the_set_is_the_frozen_one(name):
    assert set_digest(name) == DIGESTS[name]


@pytest.mark.parametrize("name", SETS)
def test_the_set_is_large_and_wide_enough(name):
    pairs = load_pairs(name)
    count, weaknesses = LEAST[name]
    assert len(pairs) >= count
    assert len({pair.cwe for pair in pairs}) >= weaknesses


@pytest.mark.parametrize("name", SETS)
def test_every_snippet_is_python(name):
    for pair in load_pairs(name):
        for text in (pair.insecure, pair.fixed):
            assert ast.parse(text, filename=pair.id).body


@pytest.mark.parametrize("name", SETS)
def test_the_twins_differ_in_more_than_layout(name):
    same = [
        pair.id
        for pair in load_pairs(name)
        if ast.dump(ast.parse(pair.insecure)) == ast.dump(ast.parse(pair.fixed))
    ]
    assert same == []


@pytest.mark.parametrize("name", SETS)
def test_the_length_is_that_of_a_function_or_a_small_module(name):
    odd = [
        pair.id
        for pair in load_pairs(name)
        if not all(8 <= text.count("\n") <= 50 for text in (pair.insecure, pair.fixed))
    ]
    assert odd == []


@pytest.mark.parametrize("name", SETS)
def test_ids_are_unique_and_begin_with_the_cwe(name):
    pairs = load_pairs(name)
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert [pair.id for pair in pairs if not pair.id.startswith(f"cwe{pair.cwe:03d}-")] == []


def test_no_text_stands_in_both_sets():
    first, second = ({pair.insecure for pair in load_pairs(name)} for name in SETS)
    assert not first & second


def test_an_unknown_set_is_refused():
    with pytest.raises(ValueError, match="unknown set 'secure'"):
        load_pairs("secure")
