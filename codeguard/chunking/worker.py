"""The parser process: reads texts from stdin, answers each with a line of JSON."""

from __future__ import annotations

import json
import resource
import sys

from codeguard.chunking import registry
from codeguard.chunking.cutting import Cut, cut_by_grammar


def main(memory_bytes: int) -> None:
    """Serve until stdin ends."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := requests.readline():
        request = json.loads(header)
        text = requests.read(request["size"])
        grammar = registry.by_name(request["grammar"])
        if grammar is None:
            return
        answers.write(_line(cut_by_grammar(text, grammar, request["max_chars"])))
        answers.flush()


def _line(cut: Cut) -> bytes:
    value = {
        "pieces": [(piece.start, piece.end, piece.kind.value, piece.symbol) for piece in cut.pieces],
        "imports": cut.imports,
        "broken": cut.broken,
        "gave_up": cut.gave_up,
        "note": cut.note,
    }
    return json.dumps(value).encode() + b"\n"
