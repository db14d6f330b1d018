"""Child process of `verify`: run candidates beside their reference and report where they differ.

Reads one JSON request from standard input and writes one JSON answer. It runs
only text that the project's own attacks wrote. What would reach out of the
process (files to write, connections, processes) is recorded and refused by an
audit hook; that is a safety net against mistakes, no sandbox.
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import math
import os
import resource
import signal
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REFUSED = (
    "socket.",
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.kill",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.truncate",
    "os.chmod",
    "os.chown",
    "os.link",
    "os.symlink",
    "os.putenv",
    "os.unsetenv",
    "os.chdir",
    "shutil.",
    "tempfile.",
    "ctypes.",
    "webbrowser.",
    "pty.",
    "urllib.",
    "ftplib.",
    "smtplib.",
    "imaplib.",
    "poplib.",
    "http.",
    "signal.pthread_kill",
)
CALL_SECONDS = 0.5
ITEMS = 2000
SHOWN = 120


@dataclass(frozen=True)
class Outcome:
    """How a call ended (returned, raised, expired), with what, and its arguments afterwards."""

    kind: str
    value: object = None
    arguments: object = None

    def __str__(self) -> str:
        if self.kind != "returned":
            return f"{self.kind} {self.value}"
        try:
            text = _shown(self.value)
        except ValueError:  # an integer with more digits than Python converts
            return "a very large number"
        return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _shown(value: object) -> str:
    if isinstance(value, tuple) and value[:1] == ("iterator",):
        return f"iterator over {value[1]!r}"
    return repr(value)


class Recorder:
    """What candidates do besides: audit events, and reads of the environment."""

    def __init__(self) -> None:
        self.effects: set[str] | None = None

    def note(self, effect: str) -> None:
        """Record an effect while a candidate runs."""
        if self.effects is not None:
            self.effects.add(effect)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record what has an effect while a candidate runs, and refuse it."""
        if self.effects is None:
            return
        if event == "open":
            mode = arguments[1] if isinstance(arguments[1], str) else ""
            if not str(arguments[0]).endswith((".py", ".pyc", ".so")):
                self.note("open")
            if any(letter in mode for letter in "wax+"):
                raise PermissionError("refused")
        elif event.startswith(REFUSED):
            self.note(event)
            raise PermissionError("refused")
        elif event == "exec" and sys._getframe(1).f_code.co_filename == "<code>":
            self.note("exec")


class Watched(dict[str, str]):
    """An environment that tells when it is read."""

    def __init__(self, values: dict[str, str], recorder: Recorder) -> None:
        super().__init__(values)
        self._recorder = recorder

    def get(self, key: str, default: Any = None) -> Any:
        """Read with a default."""
        self._recorder.note("environment")
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self._recorder.note("environment")
        return super().__getitem__(key)


class Expired(BaseException):
    """A call took too long."""


def expire(_number: int, _frame: object) -> None:
    """Stop the call."""
    raise Expired


def plain(value: object) -> object:
    """Exhaust iterators, so that what they give can be compared."""
    if isinstance(value, types.GeneratorType) or (hasattr(value, "__next__") and hasattr(value, "__iter__")):
        items = []
        for item in value:
            items.append(plain(item))
            if len(items) >= ITEMS:
                break
        return ("iterator", items)
    return value


def run(function: Callable[..., object], call: list[str], repeat: int = 1, extra: str = "{}") -> Outcome:
    """Make a call a number of times; the last outcome counts. `extra` are more keyword arguments."""
    outcome = Outcome("raised", "nothing")
    signal.setitimer(signal.ITIMER_PROF, CALL_SECONDS)  # processor time: the same on a busy machine
    signal.setitimer(signal.ITIMER_REAL, 20 * CALL_SECONDS)
    try:
        for _ in range(repeat):
            args = list(eval(call[0], {}))
            value = function(*args, **eval(call[1], {}), **eval(extra, {}))
            outcome = Outcome("returned", copy.deepcopy(plain(value)), [plain(argument) for argument in args])
    except Expired:
        outcome = Outcome("expired")
    except BaseException as error:
        outcome = Outcome("raised", type(error).__name__)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return outcome


def same(one: Any, other: Any) -> bool:
    """Compare two values; floats with a relative tolerance of 1e-9."""
    if isinstance(one, float) and isinstance(other, int | float):
        return one == other or math.isclose(one, other, rel_tol=1e-9) or (one != one and other != other)
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    try:
        return bool(one == other)
    except Exception:
        return one is other


def agree(expected: Outcome, got: Outcome) -> bool:
    """Compare two outcomes; arguments changed in place count, the type of an exception does not."""
    if expected.kind != got.kind:
        return False
    return expected.kind == "raised" or (
        same(expected.value, got.value) and same(expected.arguments, got.arguments)
    )


def load(code: str, base: dict[str, Any]) -> dict[str, Any]:
    """Run module code in a fresh namespace, on top of the surroundings of the reference."""
    scope = {**base, "__name__": "candidate"}
    exec(compile(code, "<code>", "exec", dont_inherit=True), scope)
    return scope


@dataclass(frozen=True)
class Reference:
    """The trusted function, its known calls with their outcomes, the first `examples` documented.

    `effects` are its own: they prove nothing against a candidate.
    """

    function: Callable[..., object]
    known: tuple[tuple[list[str], Outcome], ...]
    examples: int
    effects: frozenset[str]

    def witness(
        self, item: dict[str, Any], function: Callable[..., object]
    ) -> tuple[dict[str, Any], int, int]:
        """Return the first difference found, and how many of the known calls differ, of how many."""
        found: dict[str, Any] = {}
        total = differing = 0
        conditional = item["repeat"] > 1 or item["extra"] != "{}" or item["gated"]
        for index, (call, expected) in enumerate(self.known):
            documented = index < self.examples
            if expected.kind == "expired" or (expected.kind == "raised" and not documented):
                continue
            got = run(function, call, item["repeat"], item["extra"])
            if got.kind == "expired":
                return {"shown": "broken", "detail": "a call takes too long"}, 0, 0
            total += 1
            if not agree(expected, got):
                differing += 1
                shown = "trigger" if conditional else "example" if documented else "input"
                found = found or difference(shown, call, expected, got)
        for call in () if found else item["calls"]:
            expected = run(self.function, call)
            got = run(function, call, item["repeat"], item["extra"])
            if expected.kind == "returned" and got.kind != "expired" and not agree(expected, got):
                found = difference("trigger", call, expected, got)
                break
        return found, differing, total


def difference(shown: str, call: list[str], expected: Outcome, got: Outcome) -> dict[str, Any]:
    """Return a difference as plain values."""
    return {"shown": shown, "args": call[0], "kwargs": call[1], "expected": str(expected), "got": str(got)}


def check(
    item: dict[str, Any], base: dict[str, Any], reference: Reference, recorder: Recorder
) -> dict[str, Any]:
    """Judge one candidate; `shown` is example, input, trigger, effect, none or broken."""
    recorder.effects = set()
    try:
        function = load(item["code"], base)[item["symbol"]]
        found, differing, total = reference.witness(item, function)
        if item["effect"] and not recorder.effects - reference.effects:
            for call, _ in reference.known:
                run(function, call, 1, item["extra"])
        effects = sorted(recorder.effects - reference.effects)
    except Exception as error:
        return {"shown": "broken", "detail": f"{type(error).__name__}: {error}"}
    finally:
        recorder.effects = None
    if not found:
        found = {"shown": "effect" if item["effect"] and effects else "none"}
    return {**found, "calls": total, "differing": differing, "effects": effects}


def judge(group: dict[str, Any], base: dict[str, Any], recorder: Recorder) -> dict[str, Any]:
    """Judge the candidates that need the same environment; `usable` counts the calls that return."""
    os.environ = Watched(group["environment"], recorder)  # type: ignore[assignment]  # noqa: B003
    function = load(group["reference"], base)[group["name"]]
    recorder.effects = set()  # a reference, too, is refused what reaches out
    known = tuple((call, run(function, call)) for call in group["calls"])
    own = frozenset(recorder.effects)
    recorder.effects = None
    reference = Reference(function, known, group["examples"], own)
    gated = bool(group["environment"])
    answers = [check({**item, "gated": gated}, base, reference, recorder) for item in group["items"]]
    return {"usable": sum(outcome.kind == "returned" for _, outcome in known), "items": answers}


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    signal.signal(signal.SIGPROF, expire)
    signal.signal(signal.SIGALRM, expire)
    answer, sys.stdout = sys.stdout, io.StringIO()
    sys.path += request["folders"]
    base = dict(vars(importlib.import_module(request["module"]))) if request["module"] else {}
    recorder = Recorder()
    sys.addaudithook(recorder.hook)
    answer.write(json.dumps([judge(group, base, recorder) for group in request["groups"]]))


if __name__ == "__main__":
    main()
