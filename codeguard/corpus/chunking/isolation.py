"""Parse in a separate process, because hostile input can make some grammars hang or take all memory.

Twenty kilobytes of `x=>` cost the C grammar a minute and four gigabytes, and neither a deadline nor a
cancellation interrupts the parser.
"""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.corpus.chunking import registry
from codeguard.corpus.chunking.base import Grammar
from codeguard.corpus.chunking.cutting import Cut, by_lines, cut_by_grammar
from codeguard.corpus.chunking.cutvalues import cut_of, cut_values
from codeguard.workers.processes import default_workers, in_worker, send
from codeguard.workers.tasks import CUTTING_S, ItemBounds, Run, by_values, encoded

BOUNDS = ItemBounds(CUTTING_S)


def cut_apart(text: bytes, grammar: Grammar, max_chars: int) -> Cut:
    """Cut a text by its grammar, or by lines, with a note, if the parser hangs or dies.

    A worker process parses in-process: its own limits apply and end it.
    """
    if in_worker():
        return cut_by_grammar(text, grammar, max_chars)
    payload = encoded([grammar.name, max_chars, text.decode("latin-1")])
    (answer,) = send(default_workers(), cut_task, [payload], None, BOUNDS).result()
    if answer.ended:
        return by_lines(text, max_chars, f"chunked by lines: the {grammar.name} parser gave up on it")
    return cut_of(answer.value)


def cut_task() -> Run:
    """Cut texts by the grammars that they name."""

    def cuts(asked: tuple[str, int, str]) -> Iterator[object]:
        name, max_chars, text = asked
        grammar = registry.by_name(name)
        assert grammar is not None
        yield cut_values(cut_by_grammar(text.encode("latin-1"), grammar, max_chars))

    return by_values(cuts)
