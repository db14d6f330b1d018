"""A chunked file as plain values, for transfer to a worker and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codeguard.models import Chunk, ChunkKind, Sibling, SourceFile, Span, text_digest


def as_json(file: SourceFile) -> dict[str, Any]:
    """Return a file as JSON values."""
    imports: dict[tuple[str, ...], int] = {}
    return {
        "path": file.path,
        "sha256": file.sha256,
        "language": file.language,
        "parsed": file.parsed,
        "syntax_errors": file.syntax_errors,
        "encoding": file.encoding,
        "notes": file.notes,
        "chunks": [
            (
                chunk.symbol, chunk.kind.value, chunk.text, chunk.language,
                imports.setdefault(chunk.imports, len(imports)),
                chunk.span.start_line, chunk.span.end_line, chunk.span.start_byte, chunk.span.end_byte,
            )
            for chunk in file.chunks
        ],
        "imports": list(imports),
        "siblings": [(item.path, item.sha256, item.text, item.trusted) for item in file.siblings],
        "secrets": [
            (place, chunk.sha256, chunk.secrets, chunk.withheld)
            for place, chunk in enumerate(file.chunks)
            if chunk.secrets
        ],
    }  # fmt: skip


def rebuilt(value: Mapping[str, Any]) -> SourceFile:
    """Inverse of `described`; raise KeyError, TypeError or ValueError if the value is malformed."""
    imports = [tuple(item) for item in value["imports"]]
    chunks = [
        Chunk(
            value["path"],
            symbol,
            ChunkKind(kind),
            Span(*span),
            text,
            text_digest(text),
            language,
            imports[scope],
        )
        for symbol, kind, text, language, scope, *span in value["chunks"]
    ]
    for place, sha256, rules, withheld in value["secrets"]:
        chunks[place] = replace(chunks[place], sha256=sha256, secrets=tuple(rules), withheld=withheld)
    return SourceFile(
        path=value["path"],
        text="".join(chunk.text for chunk in chunks),
        sha256=value["sha256"],
        language=value["language"],
        chunks=tuple(chunks),
        parsed=value["parsed"],
        syntax_errors=value["syntax_errors"],
        encoding=value["encoding"],
        notes=tuple(value["notes"]),
        siblings=tuple(Sibling(*item) for item in value.get("siblings", ())),
    )
