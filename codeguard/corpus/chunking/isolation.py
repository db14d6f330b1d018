"""Parse in a separate process, because hostile input can make some grammars hang or take all memory.

Twenty kilobytes of `x=>` cost the C grammar a minute and four gigabytes, and neither a deadline nor a
cancellation interrupts the parser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from codeguard.corpus.chunking import registry
from codeguard.corpus.chunking.base import Grammar
from codeguard.corpus.chunking.cutting import Cut, by_lines, cut_by_grammar
from codeguard.corpus.chunking.cutvalues import cut_of, cut_values
from codeguard.workers.processes import default_workers, in_worker, send
from codeguard.workers.tasks import CUTTING_S, ItemBounds, Run

BOUNDS = ItemBounds(CUTTING_S)


def cut_apart(text: bytes, grammar: Grammar, max_chars: int) -> Cut:
    """Cut a text by its grammar, or by lines, with a note, if the parser hangs or dies.

    A worker process parses in-process: its own limits apply and end it.
    """
    if in_worker():
        return cut_by_grammar(text, grammar, max_chars)
    header = json.dumps({"grammar": grammar.name, "max_chars": max_chars}).encode()
    (answer,) = send(default_workers(), cut_task, [header + b"\n" + text], None, BOUNDS).result()
    if answer.ended:
        return by_lines(text, max_chars, f"chunked by lines: the {grammar.name} parser gave up on it")
    return cut_of(json.loads(answer.last))


def cut_task() -> Run:
    """Cut texts by the grammars that they name."""

    def run(payload: bytes) -> Iterator[bytes]:
        header, _, text = payload.partition(b"\n")
        asked = json.loads(header)
        grammar = registry.by_name(asked["grammar"])
        assert grammar is not None
        yield json.dumps(cut_values(cut_by_grammar(text, grammar, asked["max_chars"]))).encode("ascii")

    return run
