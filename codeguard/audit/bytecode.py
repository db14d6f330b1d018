"""Compare cached bytecode with what its source compiles to, without loading it.

`marshal` is unsafe for untrusted data, so its format (`Python/marshal.c`) is parsed here. Two dumps of one
code object may differ in which objects are written once and referenced later, and in the file name;
everything else is compared.
"""

from __future__ import annotations

import importlib.util
import marshal
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from pathlib import PurePosixPath

from codeguard.corpus.discovery import FoundFile, read_file
from codeguard.errors import CorpusError
from codeguard.models import Skipped
from codeguard.workers.processes import BatchSize, answered
from codeguard.workers.tasks import ItemBounds, Run, by_values

CACHE = "__pycache__"
BOUNDS = ItemBounds(5.0)
BATCH = BatchSize(64)
_HEADER = 16  # magic number, flags, and time and size or hash of the source (PEP 552)
_FOLLOWS_SOURCE = (b"\0\0\0\0", b"\3\0\0\0")  # flags: an unchecked hash outlives source changes
# PEP 3147 and 488; the bytecode of another interpreter cannot be made here.
_NAME = re.compile(rf"(.+)\.{re.escape(sys.implementation.cache_tag or 'none')}(?:\.opt-([12]))?\.pyc")


def made_of_sources(found: Iterable[FoundFile], skipped: Iterable[Skipped], executor: Executor) -> set[str]:
    """Return the skipped files that are this Python's bytecode of a found source next to their folder.

    Files that cannot be read or compiled, or that reach a limit, are not included.
    """
    known = {source.name: source for source in found}

    def pairs() -> Iterator[tuple[str, object]]:
        for item in skipped:
            folder, name = PurePosixPath(item.path).parent, PurePosixPath(item.path).name
            parts = _NAME.fullmatch(name)
            source = known.get(str(folder.parent / f"{parts[1]}.py")) if parts else None
            if parts is None or source is None or folder.name != CACHE:
                continue
            compiled = FoundFile(source.path.parent / CACHE / name, item.path, 0)
            try:
                texts = [data.decode("latin-1") for data in (read_file(source), read_file(compiled))]
            except CorpusError:
                continue
            yield item.path, [*texts, int(parts[2] or 0)]

    answers = answered(executor, comparing_task, pairs(), BATCH, BOUNDS)
    return {name for name, answer in answers if not answer.ended and answer.value is True}


def comparing_task() -> Run:
    """Compare bytecode with what its source compiles to at an optimization level."""

    def same(pair: tuple[str, str, int]) -> Iterator[object]:
        source, compiled, level = pair
        yield is_compiled_from(compiled.encode("latin-1"), source.encode("latin-1"), level)

    return by_values(same)


def is_compiled_from(compiled: bytes, source: bytes, level: int = 0) -> bool:
    """Return whether bytecode is what this Python compiles from a source, and source changes invalidate it.

    Raises:
        SyntaxError, ValueError, IndexError, RecursionError, MemoryError: one of them is not what it should be.
    """
    if compiled[:4] != importlib.util.MAGIC_NUMBER or compiled[4:8] not in _FOLLOWS_SOURCE:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(source, "", "exec", dont_inherit=True, optimize=level)
    return _Dump(compiled[_HEADER:]).whole() == _Dump(marshal.dumps(code)).whole()


# By type code of `Python/marshal.c`: the size of a value, or that of the number of its bytes, or of its objects.
_FIXED = {**dict.fromkeys("NFTS.", 0), "i": 4, "g": 8, "y": 16}
_COUNTED = {**dict.fromkeys("stuaA", 4), **dict.fromkeys("zZ", 1)}
_HOLDING = {"(": 4, ")": 1, ">": 4}


class _Dump:
    """Reads a dump into tuples that are equal if the objects are, including types and signs of zeros."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._known: list[object] = []

    def whole(self) -> object:
        """Return the dumped object."""
        found = self._object()
        if self._at != len(self._data):
            raise ValueError("something follows the object")
        return found

    def _bytes(self, count: int) -> bytes:
        self._at += count
        if not 0 <= count <= self._at <= len(self._data):
            raise ValueError("the dump ends early")
        return self._data[self._at - count : self._at]

    def _number(self, size: int = 4) -> int:
        return int.from_bytes(self._bytes(size), "little")

    def _objects(self, count: int) -> tuple[object, ...]:
        return tuple(self._object() for _ in range(count))

    def _object(self) -> object:
        tag = self._number(1)
        place = len(self._known)
        if tag & 0x80:  # later references name it by its index among such objects
            self._known.append(None)
        found = self._value(chr(tag & 0x7F))
        if tag & 0x80:
            self._known[place] = found
        return found

    def _value(self, kind: str) -> object:
        """Read what follows a type code."""
        if kind in _FIXED:
            return kind, self._bytes(_FIXED[kind])
        if kind in _COUNTED:
            return "bytes" if kind == "s" else "text", self._bytes(self._number(_COUNTED[kind]))
        if kind in _HOLDING:
            objects = self._objects(self._number(_HOLDING[kind]))
            return ("set", frozenset(objects)) if kind == ">" else ("tuple", objects)
        if kind == "l":
            digits = int.from_bytes(self._bytes(4), "little", signed=True)
            return kind, digits, self._bytes(2 * abs(digits))
        if kind == "c":  # argument counts by kind, stack size, flags; objects; the first line; two objects
            counts, objects = self._bytes(20), self._objects(8)
            name_of_file = 5
            own = objects[:name_of_file], objects[name_of_file + 1 :]
            return kind, counts, own, self._bytes(4), self._objects(2)
        if kind == "r" and (found := self._known[self._number()]) is not None:
            return found  # None is still being read (a tuple that contains itself)
        raise ValueError(f"an object of the kind {kind!r}, or one that refers to itself")
