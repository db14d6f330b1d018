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
    """Records lines and arcs of the given code objects; an arc from or to outside has -first line."""

    def __init__(self, codes: list[CodeType]) -> None:
        self.codes = codes
        self.executable: set[int] = set().union(*map(executable_lines, codes)) if codes else set()
        self.reached: set[int] = set()
        self.arcs: set[tuple[int, int]] = set()
        self._last: dict[int, int] = {}
        self._wanted = set(codes)

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
        return [sorted(self.executable), sorted(self.reached), sorted(map(list, self.arcs))]

    def _enter(self, code: CodeType, frame: FrameType) -> None:
        self._last[id(frame)] = -code.co_firstlineno

    def _line(self, line: int, code: CodeType, frame: FrameType) -> None:
        last = self._last.get(id(frame), -code.co_firstlineno)
        self.arcs.add((last, line))
        self.reached.add(line)
        self._last[id(frame)] = line

    def _leave(self, code: CodeType, frame: FrameType) -> None:
        last = self._last.pop(id(frame), None)
        if last is not None:
            self.arcs.add((last, -code.co_firstlineno))

    def _trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        if frame.f_code not in self._wanted:
            return None
        code = frame.f_code
        self._enter(code, frame)

        def local(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            if event == "line":
                self._line(frame.f_lineno, code, frame)
            elif event == "return":
                self._leave(code, frame)
            return local

        return local

    def _monitor(self) -> None:
        if sys.version_info < (3, 12):
            return
        monitoring = sys.monitoring
        tool, events = monitoring.COVERAGE_ID, monitoring.events
        monitoring.use_tool_id(tool, "coverage")

        def on_start(code: CodeType, offset: int) -> None:
            self._enter(code, sys._getframe(1))

        def on_line(code: CodeType, line: int) -> None:
            self._line(line, code, sys._getframe(1))

        def on_leave(code: CodeType, offset: int, value: object) -> None:
            self._leave(code, sys._getframe(1))

        monitoring.register_callback(tool, events.PY_START, on_start)
        monitoring.register_callback(tool, events.LINE, on_line)
        monitoring.register_callback(tool, events.PY_RETURN, on_leave)
        for code in self.codes:
            monitoring.set_local_events(tool, code, events.PY_START | events.LINE | events.PY_RETURN)
