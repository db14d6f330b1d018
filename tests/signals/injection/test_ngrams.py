"""A text is described by runs of words and parts of words, each a number; addresses and numbers are all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codeguard.analysis.rules.injection.features import grams, tokens, tokens_of


@pytest.mark.parametrize("letter", ["a", "ß", "я", "字", "क"])
@pytest.mark.parametrize("read", [tokens, tokens_of])
def test_no_word_is_so_long_that_remembering_many_would_fill_the_memory(
    read: Callable[[str], list[str]], letter: str
) -> None:
    assert max(map(len, read(letter * 100_000))) <= 600


def test_long_runs_without_spaces_are_bounded() -> None:
    assert len(grams("忽" * 50_000)) < 20
    assert len(grams("a" * 50_000)) < 60
