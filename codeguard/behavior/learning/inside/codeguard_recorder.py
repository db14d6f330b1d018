"""Record calls of functions in trusted files: arguments and results as source text, a few per function.

It runs inside the recorded command. So it imports only modules that every interpreter has loaded or built in, runs no
code of the values that it inspects, prints nothing, and drops what is too expensive. Each record is one write to a pipe
to the process that started the command, so short that the system does not mix it with those of other processes; nothing
is written to a file.
"""

from __future__ import annotations

import atexit
import contextlib
import opcode
import os
import sys
import threading
import time
import types
from _weakref import ref as _weak

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing `typing` takes longer than all other imports here
    from typing import Any

PIPE = "CODEGUARD_LEARN_PIPE"
ROOTS = "CODEGUARD_LEARN_ROOTS"

MAX_SAMPLES = 48  # per function
MAX_ALIKE = 4  # samples that end in the same line, with arguments of the same kinds and sizes
MAX_EXAMINED = 4_000  # calls per function to inspect
MAX_TEXT = 1_500  # characters of the values of a call
MAX_RECORD = 4_096  # bytes that Linux writes to a pipe at once (PIPE_BUF)
MAX_ITEMS = 60
MAX_DEPTH = 6
MAX_KEPT = 20_000  # calls in progress, and objects for which the construction is recorded
GRACE_S = 0.5
SHARE = 0.25  # maximum share of the run's time spent on recording

# The tests may replace these in their modules.
_clock, _realpath, _open, _write, _close = time.perf_counter, os.path.realpath, os.open, os.write, os.close
_set_blocking = os.set_blocking

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range)
_ROWS: dict[Any, str] = {list: "[{}]", tuple: "({})", set: "{{{}}}", frozenset: "frozenset([{}])"}
_BY_REPR = {  # value types of the standard library whose repr is the call that makes them
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "uuid": ("UUID",),
    "ipaddress": (
        "IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network", "IPv4Interface", "IPv6Interface",
    ),
    "pathlib": ("PurePosixPath", "PureWindowsPath", "PosixPath"),
}  # fmt: skip
_KNOWN_MODULES = frozenset({*_BY_REPR, "builtins", "collections", "enum"})
# Reading a frame's locals is visible to its imports, and imports look up names in modules.
_LEFT_ALONE = frozenset({"__getattr__", "__getattribute__", "__dir__", "__del__"})
_CO_OPTIMIZED, _CO_VARARGS, _CO_VARKEYWORDS = 0x01, 0x04, 0x08
_CO_GENERATOR, _CO_COROUTINE = 0x20 | 0x200, 0x80
# The instructions that leave a function normally; an exception leaves it at any other.
_YIELDING = frozenset(opcode.opmap[name] for name in ("YIELD_VALUE", "SEND") if name in opcode.opmap)
_RETURNING = _YIELDING | {
    opcode.opmap[name]
    for name in ("RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR")
    if name in opcode.opmap
}
_ABSENT = object()


class UnwritableError(Exception):
    """A value has no source text, or none that is short enough."""


def attribute(value: Any, name: str, default: Any = None) -> Any:
    """Return an attribute of an object without calling its `__getattr__`."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


class Writer:
    """Writes the values of one call as source text and collects the imports that the text needs.

    Every method raises `UnwritableError` for a value that has no source text, or none that is short enough.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.imports: set[tuple[str, str]] = set()
        self.left = MAX_TEXT

    def write(self, value: Any, depth: int = 0) -> str:
        """Return a value as source text."""
        kind: Any = type(value)
        if depth > MAX_DEPTH or (kind in (str, bytes) and len(value) > MAX_TEXT):
            raise UnwritableError
        if kind is int and value.bit_length() > 2_000:
            raise UnwritableError
        if kind in _PLAIN:
            is_odd = kind is float and value - value != 0.0
            text = f"float({repr(value)!r})" if is_odd else repr(value)
        elif kind in _ROWS:
            items = self.many(value, depth)
            if kind in (set, frozenset):
                items.sort()  # their order depends on the hash seed
            text = _ROWS[kind].format(", ".join(items) + "," * (kind is tuple and len(items) == 1))
            text = text if items or kind in (list, tuple) else f"{kind.__name__}()"
        elif kind is dict:
            pairs = zip(self.many(value.keys(), depth), self.many(value.values(), depth), strict=False)
            text = "{{{}}}".format(", ".join(f"{key}: {item}" for key, item in pairs))
        elif issubclass(kind, type) or kind is types.FunctionType:
            text = self.named(value)
        else:
            text = self.instance(value, kind, depth)
        self.left -= len(text)
        if self.left < 0:
            raise UnwritableError
        return text

    def many(self, values: Any, depth: int) -> list[str]:
        """Return several values as source text."""
        if len(values) > MAX_ITEMS:
            raise UnwritableError
        return [self.write(value, depth + 1) for value in values]

    def named(self, value: Any) -> Any:
        """Return a class or function by its name in the trusted files or in some standard modules."""
        module, name = value.__module__, value.__qualname__
        if type(module) is not str or type(name) is not str or not name.isidentifier():
            raise UnwritableError
        names = attribute(sys.modules.get(module), "__dict__", {})
        place = names.get("__file__")
        is_trusted = type(place) is str and self.recorder.file_of(place) is not None
        if names.get(name) is not value or not (is_trusted or module in _KNOWN_MODULES):
            raise UnwritableError
        if module != "builtins":
            self.imports.add((module, name))
        return name

    def instance(self, value: Any, kind: type, depth: int) -> str:
        """Return an instance as the call that makes it."""
        module, name = kind.__module__.partition(".")[0], kind.__qualname__
        if name in _BY_REPR.get(module, ()):
            zone = getattr(value, "tzinfo", None) if name in ("datetime", "time") else None
            if zone is not None and type(zone).__name__ != "timezone":
                raise UnwritableError
            self.imports.add((module, ""))
            return repr(value) if module == "datetime" else f"{module}.{value!r}"
        made, call, imports = self.recorder.built.get(id(value), (None, "", ()))
        if made is not None and made() is value:
            self.imports.update(imports)
            return str(call)
        if type(kind.__dict__.get("_member_map_")) is dict:  # an enumeration
            member = attribute(value, "_name_")
            if type(member) is not str or not member.isidentifier():
                raise UnwritableError
            return f"{self.named(kind)}.{member}"
        # Dataclasses, attrs classes and named tuples list the arguments of their constructor.
        fields = kind.__dict__.get("__match_args__")
        if type(fields) is not tuple:
            raise UnwritableError
        parts = self.many([attribute(value, field, _ABSENT) for field in fields], depth)
        return f"{self.named(kind)}({', '.join(parts)})"


class Function:
    """What is known of a trusted function, and the kinds of calls recorded so far."""

    def __init__(self, code: types.CodeType, path: str) -> None:
        self.code = code  # held, so that no other code takes its id
        self.path = path
        self.name = code.co_qualname
        self.owner, _, last = self.name.rpartition(".")
        self.is_init = bool(self.owner) and last == "__init__"
        self.is_method = bool(self.owner) and code.co_argcount > 0 and code.co_varnames[0] == "self"
        self.examined = 0
        self.alike: dict[Any, int] = {}
        self.rows: set[str] = set()
        # Class bodies have no fast locals, and callers cannot reach nested functions.
        is_inner = "<" in self.name or self.name.count(".") > 1 or not code.co_flags & _CO_OPTIMIZED
        self.done = is_inner or last in _LEFT_ALONE


def arguments_of(frame: types.FrameType) -> tuple[list[Any], list[tuple[str, Any]]]:
    """Return the positional arguments of a call and the named ones."""
    code, values = frame.f_code, frame.f_locals
    count, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    positional = [values[name] for name in code.co_varnames[:count]]
    named = [(name, values[name]) for name in code.co_varnames[count:end]]
    rest = iter(code.co_varnames[end:])
    if code.co_flags & _CO_VARARGS:
        positional.extend(values[next(rest)])
    if code.co_flags & _CO_VARKEYWORDS:
        named.extend(values[next(rest)].items())
    return positional, named


class Recorder:
    """Records the calls in one process."""

    def __init__(self, pipe: str, roots: Any) -> None:
        self.pipe = pipe
        self.roots = roots
        self.files: dict[str, Any] = {}
        self.functions: dict[int, Function] = {}
        self.pending: dict[int, Any] = {}
        self.built: dict[
            int, Any
        ] = {}  # by the object's id: a reference to it, the call that made it, its imports
        self.spent = 0.0
        self.began = _clock()

    def file_of(self, filename: str) -> Any:
        """Return the real path of a trusted file for a code object's file name; None for other files."""
        if filename not in self.files:
            real = _realpath(filename) if filename[:1] != "<" else ""
            is_ours = real.endswith(".py") and any(f"{real}/".startswith(f"{root}/") for root in self.roots)
            self.files[filename] = real if is_ours else None
        return self.files[filename]

    def profile(self, frame: types.FrameType, event: str, arg: Any) -> None:
        """Observe a call or a return; code that is not trusted is sorted out first, because every call pays for it."""
        code = frame.f_code
        if event == "call":
            path = self.files.get(code.co_filename, _ABSENT)
            if path is _ABSENT:
                path = self.file_of(code.co_filename)
            if path is None:
                return
            # A generator triggers an event at each step; only the first is its call (RESUME has argument 0).
            if not (code.co_flags & (_CO_GENERATOR | _CO_COROUTINE) and code.co_code[frame.f_lasti + 1]):
                self.measured(self.started, frame, path)
        elif event == "return" and id(frame) in self.pending:
            instruction = code.co_code[frame.f_lasti]
            if not (code.co_flags & _CO_COROUTINE and instruction in _YIELDING):  # or it waits for something
                is_raised = arg is None and instruction not in _RETURNING
                self.measured(self.ended, frame, is_raised, arg)

    def measured(self, step: Any, *arguments: Any) -> None:
        """Take a step, count its time, and ignore its errors: an unusual value must not stop the command."""
        start = _clock()
        with contextlib.suppress(Exception):
            step(*arguments)
        self.spent += _clock() - start

    def started(self, frame: types.FrameType, path: str) -> None:
        """Write down the arguments of a call, unless enough calls of the function are recorded."""
        code = frame.f_code
        function = self.functions.get(id(code))
        if function is None:
            function = self.functions[id(code)] = Function(code, path)
        if function.done or self.spent > GRACE_S + SHARE * (_clock() - self.began):
            return
        function.examined += 1
        most = 4 * MAX_EXAMINED if function.is_init else MAX_EXAMINED
        if function.examined > most or len(function.rows) >= MAX_SAMPLES:
            function.done = True
            return
        positional, named = arguments_of(frame)
        writer, target, own = Writer(self), None, ""
        if function.is_init or function.is_method:
            target = positional.pop(0)
            if type(target).__qualname__ != function.owner:
                return
            own = writer.named(type(target)) if function.is_init else writer.write(target)
        args = [writer.write(value) for value in positional]
        kwargs = [f"{name}={writer.write(value)}" for name, value in named]
        if len(self.pending) > MAX_KEPT:
            self.pending.clear()
        self.pending[id(frame)] = function, writer.imports, target, own, args, kwargs

    def ended(self, frame: types.FrameType, is_raised: bool, value: Any) -> None:
        """Send a call with its result, or remember how an object is made.

        What happens to an object afterwards is not followed: the sandbox makes it again, and sorts out the calls for
        which that matters.
        """
        function, imports, target, own, args, kwargs = self.pending.pop(id(frame))
        if function.code is not frame.f_code:
            return
        if function.is_init:
            if len(self.built) > MAX_KEPT:
                self.built.clear()
            if not is_raised:
                call = f"{own}({', '.join(args + kwargs)})"
                self.built[id(target)] = _weak(target), call, imports
            return
        way = frame.f_lineno, *((text[:2], len(text).bit_length()) for text in (own, *args, *kwargs))
        if function.alike.get(way, 0) >= MAX_ALIKE:
            return
        kind, shown = "" if is_raised else type(value).__name__, ""
        if function.code.co_flags & _CO_GENERATOR and not is_raised:
            kind = "generator"  # only the first item is available, or None if there is none
        elif not is_raised:
            result = Writer(self)
            with contextlib.suppress(UnwritableError):
                text = result.write(value)
                shown = "" if result.imports else text
        row = ascii(
            (function.path, function.name, own, args, kwargs, sorted(imports), shown, kind, frame.f_lineno)
        )
        if row in function.rows or len(row) >= MAX_RECORD:
            return
        function.rows.add(row)
        function.alike[way] = function.alike.get(way, 0) + 1
        self.send(f"{row}\n".encode("ascii"))

    def send(self, line: bytes) -> None:
        """Send a record; it is dropped if nobody reads the pipe."""
        with contextlib.suppress(OSError):
            pipe = _open(self.pipe, os.O_WRONLY | os.O_NONBLOCK)
            try:
                _set_blocking(pipe, True)
                _write(pipe, line)
            finally:
                _close(pipe)


def start() -> None:
    """Start recording in this process if the environment variables are set."""
    pipe, roots = (os.environ.get(name, "") for name in (PIPE, ROOTS))
    if not (pipe and roots):
        return
    profile = Recorder(pipe, tuple(roots.split(os.pathsep))).profile

    def finish() -> None:
        threading.setprofile(None)
        if sys.getprofile() is profile:
            sys.setprofile(None)

    threading.setprofile(profile)
    sys.setprofile(profile)
    atexit.register(finish)
