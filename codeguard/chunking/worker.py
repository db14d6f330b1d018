"""The parser process: reads texts from stdin, answers each with a line of JSON."""

from __future__ import annotations

import json
import resource
import sys

from codeguard.chunking import registry
from codeguard.chunking.cutting import cut_by_grammar
from codeguard.chunking.cutvalues import cut_values


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
        answers.write(
            json.dumps(cut_values(cut_by_grammar(text, grammar, request["max_chars"]))).encode() + b"\n"
        )
        answers.flush()
