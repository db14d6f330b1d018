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
        self._last: dict[int, int] = {}
        self._wanted = set(map(id, codes))  # a code object's own hash reads all of it

    def start(self) -> None:
        """Start tracing."""
        if sys.version_info >= (3, 12):
            self._monitor()
        else:
            sys.settrace(self._trace)

    def stop(self) -> None:
        """Stop tracing, unless the code under test has replaced the trace function."""
        if sys.version_info >= (3, 12):
            for code in self.codes:
                sys.monitoring.set_local_events(sys.monitoring.COVERAGE_ID, code, 0)
        else:
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

    def _monitor(self) -> None:
        if sys.version_info < (3, 12):
            return
        monitoring = sys.monitoring
        tool, events = monitoring.COVERAGE_ID, monitoring.events
        monitoring.use_tool_id(tool, "coverage")
        lines, note, frame_of = self._last, self.arcs.add, sys._getframe

        def on_start(code: CodeType, offset: int) -> None:
            lines[id(frame_of(1))] = -code.co_firstlineno

        def on_line(code: CodeType, line: int) -> None:
            frame = id(frame_of(1))
            note((lines.get(frame, -code.co_firstlineno), line))
            lines[frame] = line

        def on_leave(code: CodeType, offset: int, value: object) -> None:
            last = lines.pop(id(frame_of(1)), None)
            if last is not None:
                note((last, -code.co_firstlineno))

        monitoring.register_callback(tool, events.PY_START, on_start)
        monitoring.register_callback(tool, events.LINE, on_line)
        monitoring.register_callback(tool, events.PY_RETURN, on_leave)
        for code in self.codes:
            monitoring.set_local_events(tool, code, events.PY_START | events.LINE | events.PY_RETURN)
