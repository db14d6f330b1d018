"""TypeScript with JSX, a separate grammar in the same wheel."""

from __future__ import annotations

import dataclasses

from codeguard.corpus.chunking.base import Grammar
from codeguard.corpus.chunking.grammars import typescript

GRAMMAR: Grammar = dataclasses.replace(
    typescript.GRAMMAR, name="tsx", extensions=(".tsx",), entry="language_tsx", interpreters=()
)
