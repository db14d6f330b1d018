"""Find the trusted counterpart of a function, by name or by the sketch of its code."""

from __future__ import annotations

import hashlib
from array import array
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from codeguard.analysis.python.sketches import resemblance, sketch, words_of_code
from codeguard.corpus.patterns import lazy
from codeguard.corpus.secrets import without_secrets
from codeguard.models import Chunk, ChunkKind, SourceFile

FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
LEAST_RESEMBLANCE = 0.5
PROBES = 12
MAX_BUCKET = 40
MAX_COUNTERPARTS = 4
MAX_SCORED = 24
WORD = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Words that are added to a name to get another name for the same thing.
_FILLERS = """
basic better calc calculate compute custom do easy fast fn func function get helper impl improved make my new
perform quick quickly run safe safely simple the util utils
"""
FILLER_WORDS = frozenset(_FILLERS.split())
Sketched = Sequence[Sequence[str]]  # digest and sketch of each function of a file


@dataclass(frozen=True, slots=True)
class TrustedFunction:
    """A function in a trusted file, with digest and sketch of its tokens."""

    chunk: Chunk
    code: bytes
    sketch: tuple[int, ...]

    @property
    def text(self) -> str:
        """Its text, without the secrets in it."""
        alone = SourceFile(self.chunk.path, self.chunk.text, "", self.chunk.language, (self.chunk,))
        return without_secrets(alone).chunks[0].text

    @property
    def origin(self) -> str:
        """File and line, for people."""
        return f"{self.chunk.path}:{self.chunk.start_line}"


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A trusted function that a candidate may be a copy of.

    `named` means that their names agree; `likeness` is the share of common code, 0 to 1.
    """

    function: TrustedFunction
    named: bool
    likeness: float


class TrustedFunctions:
    """An index of functions in all languages that are chunked.

    It is immutable and independent of the order of files. It holds the functions' texts and 24 hashes of each.
    """

    def __init__(self, functions: Iterable[TrustedFunction]) -> None:
        self.functions = tuple(
            sorted(functions, key=lambda item: (item.chunk.path, item.chunk.start_line, item.chunk.symbol))
        )
        self._by_name: dict[tuple[str, ...], list[int]] = {}
        self._by_hash: dict[int, list[int]] = {}
        self._texts: set[bytes] = set()
        for number, function in enumerate(self.functions):
            self._by_name.setdefault(_words(function.chunk.symbol), []).append(number)
            self._texts.add(function.code)
            for key in function.sketch[:PROBES]:
                bucket = self._by_hash.setdefault(key, [])
                if len(bucket) < MAX_BUCKET:
                    bucket.append(number)

    @classmethod
    def from_files(
        cls, files: Iterable[SourceFile], sketched: Mapping[str, Sketched] | None = None
    ) -> TrustedFunctions:
        """Build the index from the files of a verified manifest; `sketched` is what is known of them, by path."""
        known = sketched or {}
        return cls(
            TrustedFunction(chunk, bytes.fromhex(code), tuple(array("q", b64decode(hashes))))
            for file in files
            for chunk, (code, hashes) in zip(
                _functions(file), known.get(file.path) or sketches_of(file), strict=True
            )
        )

    def __len__(self) -> int:
        return len(self.functions)

    def counterparts(self, chunk: Chunk) -> list[Counterpart]:
        """Return the trusted functions that a function may be a copy of, most likely first, at most `MAX_COUNTERPARTS`.

        Empty if the function is identical to a trusted one except for layout and comments.
        """
        code = words_of_code(chunk.text, chunk.language)
        if _digest(code) in self._texts:
            return []
        own = sketch(code)
        words, owner = _words(chunk.symbol), chunk.symbol.rpartition(".")[0]
        named = set(self._by_name.get(words, ())) if words else set()
        met: Counter[int] = Counter()
        for key in own[:PROBES]:
            met.update(self._by_hash.get(key, ()))
        alike = [number for number, shared in met.most_common(MAX_SCORED) if shared > 1]
        scored: list[Counterpart] = []
        for number in dict.fromkeys((*sorted(named)[:MAX_SCORED], *alike)):
            function = self.functions[number]
            likeness = resemblance(own, function.sketch)
            same_name = number in named and function.chunk.symbol.rpartition(".")[0] == owner
            if function.chunk.language == chunk.language and (same_name or likeness >= LEAST_RESEMBLANCE):
                scored.append(Counterpart(function, number in named, likeness))
        scored.sort(key=lambda counterpart: -(counterpart.likeness + 0.3 * counterpart.named))
        return scored[:MAX_COUNTERPARTS]


def name_words(name: str) -> tuple[str, ...]:
    """Split a name into lower-case words: `reverse_string`, `reverseString` and `do_reverse_string2` are equal."""
    found = tuple(word.lower() for word in WORD.findall(name))
    kept = tuple(word for word in found if word not in FILLER_WORDS) or found
    # `reverse_string2` is another `reverse_string`, but `log2` is no other `log`, nor `to_base16` another `to_base`.
    return kept[:-1] if len(kept) > 2 and kept[-1].isdigit() and len(kept[-1]) == 1 else kept


def _words(symbol: str) -> tuple[str, ...]:
    return name_words(symbol.rpartition(".")[2])


def _functions(file: SourceFile) -> Iterator[Chunk]:
    return (chunk for chunk in file.chunks if chunk.kind in FUNCTIONS)


def sketches_of(file: SourceFile) -> Sketched:
    """Return digest and sketch of each function of a file, in the form in which they are kept."""
    codes = (words_of_code(chunk.text, chunk.language) for chunk in _functions(file))
    return [(_digest(code).hex(), b64encode(array("q", sketch(code))).decode()) for code in codes]


def _digest(code: list[str]) -> bytes:
    joined = "\0".join(code)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).digest()
