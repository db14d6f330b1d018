"""Read texts that codeguard did not index, each as a file of its own.

What surrounds a text in its store (its id, its metadata, its neighbours) has no part in what is found in it, but for
a language that the text does not give away.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from codeguard.corpus.secrets import mask_secrets
from codeguard.corpus.syntax import parse
from codeguard.errors import CorpusError
from codeguard.index.file_tasks import chunk_one, masked, secrets_in
from codeguard.index.on_disk import IndexOnDisk
from codeguard.models import (
    DETECTOR_ERROR,
    Chunk,
    ChunkKind,
    Confidence,
    Evidence,
    OnDisk,
    Severity,
    SourceFile,
    Span,
    Trust,
    text_digest,
)
from codeguard.trust.verified import VerifiedManifest
from codeguard.workers.processes import default_workers, send
from codeguard.workers.tasks import ItemBounds, Run, by_values, encoded

KEPT_DOCUMENTS = 5_000  # that stay read
MOST_PLACES = 20  # of a trusted text that are compared with the disk
LONGEST = 1 << 20  # characters of a document; a longer one is judged unread
PARSING_S = 1.0  # of the processor, to find out whether a document is Python
LANGUAGE_KEYS = ("language", "lang")  # of a document's metadata
EXTENSIONS = {
    "bash": ".sh", "c": ".c", "cpp": ".cpp", "csharp": ".cs", "go": ".go", "java": ".java",
    "javascript": ".js", "js": ".js", "php": ".php", "python": ".py", "py": ".py", "ruby": ".rb",
    "rust": ".rs", "ts": ".ts", "tsx": ".tsx", "typescript": ".ts",
}  # fmt: skip

_PYTHON_LINE = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class|import|from)[ \t]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """A text and the file that it is read as; `unread` says why nothing in it could be examined, if so."""

    whole: Chunk
    file: SourceFile
    unread: Evidence | None = None


@lru_cache(maxsize=KEPT_DOCUMENTS)
def read_document(text: str | None, name: str, path: str = "") -> Document:
    """Return a text as a document.

    Args:
        text: None if the store has none.
        name: the file name that it is read under; see `name_for`.
        path: where the text comes from by its metadata, for the manifest and the reader.
    """
    content = text or ""
    whole = _whole(content, path)
    alone = SourceFile(path, whole.text, whole.sha256, whole.language, (whole,), parsed=False)
    if text is None or len(content) > LONGEST:
        why = "the store has no text of it" if text is None else f"{len(content)} characters of text"
        return Document(whole, alone, _unreadable(why))
    try:
        data = textwrap.dedent(content).encode("utf-8", "replace")
        (file,) = masked([chunk_one(name, data)])
    except CorpusError as error:
        return Document(whole, alone, _unreadable(str(error)))
    named = next((chunk for chunk in file.chunks if chunk.symbol), None)
    shown = replace(
        whole,
        symbol=named.symbol if named is not None else "",
        kind=named.kind if named is not None else whole.kind,
        language=file.language,
    )
    return Document(shown, file)


def worst(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the heaviest evidence of each rule, so that a long document is not worse for its length."""
    kept: dict[tuple[str, str], Evidence] = {}
    for part in evidence:
        key = (part.signal, part.id)
        if key not in kept or _gravity(part) > _gravity(kept[key]):
            kept[key] = part
    if any(part.convicts for part in kept.values()):  # a pass elsewhere in the document does not offset it
        return tuple(part for part in kept.values() if part.penalty >= 0)
    bonus = [part for part in kept.values() if part.id == "pass"]
    tested = {part.id for part in kept.values() if part.signal == "behavior"}
    if bonus and tested != {"pass"}:
        return tuple(part if part.id != "pass" else replace(part, penalty=0.0) for part in kept.values())
    return tuple(kept.values())


class Origins:
    """What a manifest says of texts that arrive with a path, or with none.

    Args:
        manifest: None if nothing is trusted.
        texts: the trusted files by path, to find texts that were split otherwise than here.
        paths_unknown: the caller's word that the store keeps no paths: a listed text is then trusted by itself.
    """

    def __init__(
        self,
        manifest: VerifiedManifest | None,
        texts: Mapping[str, str] | None = None,
        *,
        paths_unknown: bool = False,
    ) -> None:
        self._files = manifest.files if manifest is not None else {}
        self._texts = texts or {}
        self._paths_unknown = paths_unknown
        self.listed: dict[str, list[str]] = {}
        for path, entry in self._files.items():
            for digest in {entry.sha256, *entry.chunks}:
                self.listed.setdefault(digest, []).append(path)

    def of(self, path: str, text: str, disk: IndexOnDisk | None) -> tuple[Trust, OnDisk]:
        """Return the trust of a text, and how the trusted files that hold it compare with the disk: one suffices."""
        trust, listed = self.trust_of(path, text), self.listed.get(text_digest(text), ())[:MOST_PLACES]
        states = [disk.state(place, trusted=True) for place in listed] if disk is not None else []
        on_disk = min(states, key=list(OnDisk).index, default=OnDisk.ELSEWHERE)
        return (Trust.MODIFIED if on_disk.differs else trust), on_disk

    def trust_of(self, path: str, text: str) -> Trust:
        """Return the trust of a text; at a trusted path one that is no part of that file is MODIFIED."""
        if path in self._files:
            same = path in self.listed.get(text_digest(text), ()) or _is_part(text, self._texts.get(path, ""))
            return Trust.TRUSTED if same else Trust.MODIFIED
        known = bool(text.strip()) and text_digest(text) in self.listed
        known = known or any(_is_part(text, own) for own in self._texts.values())
        if not known:
            return Trust.UNLISTED
        return Trust.TRUSTED if self._paths_unknown and not path else Trust.COPY


def _is_part(text: str, own: str) -> bool:
    """Return whether a text is a run of whole lines of a file, which may begin and end within a line."""
    if not text.strip() or text not in own:
        return False
    lines = text.strip("\n").split("\n")
    whole = {line.strip() for line in own.split("\n") if line.strip()}
    return any(line.strip() in whole for line in lines)


def name_for(text: str, metadata: Mapping[str, Any]) -> str:
    """Return a file name for the text's language: Python if it parses, or the metadata's, or prose.

    What the metadata call Python and has a line of it is read as Python also where it does not parse, so that what
    cannot be read in it is noted.
    """
    stated = next((metadata[key] for key in LANGUAGE_KEYS if isinstance(metadata.get(key), str)), "")
    suffix = PurePosixPath(str(metadata.get("path") or "")).suffix
    named = EXTENSIONS.get(str(stated).lower(), suffix if suffix in EXTENSIONS.values() else ".txt")
    if named == ".py":
        named = ".py" if stated or _PYTHON_LINE.search(text) else ".txt"
    elif _is_python(text):
        named = ".py"
    return f"document{named}"


@lru_cache(maxsize=KEPT_DOCUMENTS)
def _is_python(text: str) -> bool:
    """Return whether a text is Python: the author of the metadata must not choose what is checked."""
    if len(text) > LONGEST or not _PYTHON_LINE.search(text):
        return False
    payload = encoded(textwrap.dedent(text).encode("utf-8", "replace").decode())
    (answer,) = send(default_workers(), python_task, [payload], None, ItemBounds(PARSING_S)).result()
    return bool(answer.ended) or answer.value is True


def python_task() -> Run:
    """Return whether texts parse as Python."""

    def parses(text: str) -> Iterator[object]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                parse(text)
                yield True
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                yield False

    return by_values(parses)


def _gravity(part: Evidence) -> tuple[bool, bool, float]:
    return part.convicts, part.demotes, part.penalty


def _unreadable(why: str) -> Evidence:
    return Evidence(
        signal="documents",
        id=DETECTOR_ERROR,
        penalty=0.0,
        reason=f"cannot be judged: {why}",
        demotes=True,
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
    )


def _whole(text: str, path: str) -> Chunk:
    size = len(text.encode("utf-8", "surrogatepass"))
    secrets = secrets_in(text)
    return Chunk(
        path=path,
        symbol="",
        kind=ChunkKind.MODULE,
        span=Span(1, text.count("\n") + 1, 0, size),
        text=mask_secrets(text, secrets),
        sha256=text_digest(text),
        language="text",
        secrets=tuple(sorted({item.rule for item in secrets})),
    )
