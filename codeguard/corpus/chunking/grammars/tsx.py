"""TypeScript with JSX, which the same wheel holds as a grammar of its own."""

from __future__ import annotations

import dataclasses

from codeguard.corpus.chunking.base import Grammar
from codeguard.corpus.chunking.grammars import typescript

GRAMMAR: Grammar = dataclasses.replace(
    typescript.GRAMMAR, name="tsx", extensions=(".tsx",), entry="language_tsx", interpreters=()
)
