"""Line and arc coverage of one function of the job's source."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def find(code: CodeType, name: str) -> list[CodeType]:
    """Return the code objects of the function `name` (bare or qualified) and of those nested in it."""
    for inner in _nested(code):
        if inner is not code and name in (inner.co_qualname, inner.co_name):
            return list(_nested(inner))
    return []


def executable_lines(code: CodeType) -> set[int]:
    """Return the lines that have instructions, without the line of the `def` itself."""
    lines = {line for _, _, line in code.co_lines() if line}
    return lines - {code.co_firstlineno} or lines


class Tracer:
    """Records lines and arcs of the given code objects; an arc from or to outside has -first line.

    `names` are the globals that they run with.
    """

    def __init__(self, codes: list[CodeType], names: dict[str, Any]) -> None:
        self.codes = codes
        self._names = names
        self.executable: set[int] = set().union(*map(executable_lines, codes)) if codes else set()
        self.arcs: set[tuple[int, int]] = set()
        self._wanted = set(map(id, codes))  # a code object's own hash reads all of it

    def start(self) -> None:
        """Start tracing."""
        sys.settrace(self._trace)

    def stop(self) -> None:
        """Stop tracing, unless the code under test has replaced the trace function."""
        sys.settrace(None)

    def report(self) -> list[Any]:
        """Return executable lines, reached lines and arcs as plain lists."""
        reached = {line for _, line in self.arcs if line > 0}
        return [sorted(self.executable), sorted(reached), sorted(map(list, self.arcs))]

    def _trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        if frame.f_globals is not self._names:
            return None  # asking a frame for its code calls the audit hook, once for every call of ours
        code = frame.f_code
        if id(code) not in self._wanted:
            return None
        note = self.arcs.add
        last = outside = -code.co_firstlineno

        def local(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                line = frame.f_lineno
                note((last, line))
                last = line
            elif event == "return":
                note((last, outside))
            return local

        return local
