"""A chunked file as plain values, for transfer to a worker and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codeguard.models import Chunk, ChunkKind, Sibling, SourceFile, Span, text_digest

_PLAIN = ("path", "sha256", "language", "parsed", "syntax_errors", "encoding")


def as_json(file: SourceFile) -> dict[str, Any]:
    """Return a file as JSON values; a chunk's digest is left out where it is that of its text."""
    imports: dict[tuple[str, ...], int] = {}
    chunks = []
    for chunk in file.chunks:
        scope = imports.setdefault(chunk.imports, len(imports))
        row: list[object] = [chunk.symbol, chunk.kind, chunk.text, chunk.language, scope, chunk.span]
        chunks.append([*row, chunk.sha256, chunk.secrets, chunk.withheld] if chunk.secrets else row)
    siblings = [(item.path, item.sha256, item.text, item.trusted) for item in file.siblings]
    plain = {name: getattr(file, name) for name in _PLAIN}
    return {**plain, "notes": file.notes, "chunks": chunks, "imports": list(imports), "siblings": siblings}


def rebuilt(value: Mapping[str, Any]) -> SourceFile:
    """Inverse of `as_json`; raise KeyError, TypeError or ValueError if the value is malformed."""
    imports = [tuple(item) for item in value["imports"]]
    chunks = []
    for symbol, kind, text, language, scope, span, *masked in value["chunks"]:
        sha256, rules, withheld = masked or (text_digest(text), (), False)
        chunk = Chunk(
            value["path"],
            symbol,
            ChunkKind(kind),
            Span(*span),
            text,
            sha256,
            language,
            imports[scope],
            tuple(rules),
            withheld,
        )
        chunks.append(chunk)
    return SourceFile(
        **{name: value[name] for name in _PLAIN},
        text="".join(chunk.text for chunk in chunks),
        chunks=tuple(chunks),
        notes=tuple(value["notes"]),
        siblings=tuple(Sibling(*item) for item in value["siblings"]),
    )
