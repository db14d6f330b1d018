"""Record calls of functions in trusted files: arguments and results as source text, a few per function.

It runs inside the recorded command. So it imports only modules that every interpreter has loaded or built in, runs no
code of the values that it inspects, prints nothing, and drops what is too expensive. Records are sent through a pipe
to the process that started the command; nothing is written to a file.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
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
LOCK = "CODEGUARD_LEARN_LOCK"
ROOTS = "CODEGUARD_LEARN_ROOTS"

MAX_SAMPLES = 48  # per function
MAX_ALIKE = 4  # samples with arguments of the same kinds and sizes
MAX_EXAMINED = 4_000  # calls per function to inspect
MAX_TEXT = 1_500  # characters of a value, and of the statements that build it
MAX_ITEMS = 60
MAX_DEPTH = 6
MAX_STEPS = 4  # calls that built an object after its constructor
MAX_BUILT = 20_000  # objects for which the construction is recorded
MAX_PENDING = 10_000
FLUSH_AT = 32  # samples
GRACE_S = 0.5
SHARE = 0.25  # maximum share of the run's time spent on recording

# The tests may replace these in their modules.
_clock, _getpid, _realpath = time.perf_counter, os.getpid, os.path.realpath
_open, _write, _close, _set_blocking, _lock_file = os.open, os.write, os.close, os.set_blocking, fcntl.flock

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range)
_ROWS = {list: "[{}]", tuple: "({})", set: "{{{}}}", frozenset: "frozenset([{}])"}
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
_KNOWN_MODULES = frozenset(
    {*_BY_REPR, "builtins", "collections", "enum", "abc", "collections.abc", "typing", "numbers", "re"}
)
# Reading a frame's locals is visible to its imports, and imports look up names in modules.
_LEFT_ALONE = frozenset({"__getattr__", "__getattribute__", "__dir__", "__del__"})
_CO_OPTIMIZED, _CO_VARARGS, _CO_VARKEYWORDS = 0x01, 0x04, 0x08
_CO_GENERATOR, _CO_ASYNC_GENERATOR, _CO_COROUTINE = 0x20 | 0x200, 0x200, 0x80
# The instructions that leave a function normally; an exception leaves it at any other.
_RETURNING = frozenset(
    opcode.opmap[name]
    for name in ("RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE", "RETURN_GENERATOR", "SEND")
    if name in opcode.opmap
)
_YIELDING = frozenset(opcode.opmap[name] for name in ("YIELD_VALUE", "SEND") if name in opcode.opmap)


class UnwritableError(Exception):
    """A value has no source text, or none that is short enough."""


def attribute(value: Any, name: str, default: Any = None) -> Any:
    """Return an attribute of an object without calling its `__getattr__`."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


def _names_of(module: Any) -> Any:
    return attribute(module, "__dict__", {})


class Writer:
    """Writes values as source text and collects the imports and statements that the text needs.

    Every method raises `UnwritableError` for a value that has no source text, or none that is short enough.
    """

    def __init__(self, recorder: Recorder, by_identity: bool = False) -> None:
        self.recorder = recorder
        self.by_identity = by_identity  # write objects by identity, not by their construction
        self.imports: set[tuple[str, str]] = set()
        self.setup: list[str] = []
        self.left = MAX_TEXT
        self.names: dict[int, str] = {}
        self.open: set[int] = set()

    def spend(self, text: str) -> Any:
        """Return a text and deduct its length from the limit."""
        self.left -= len(text)
        if self.left < 0:
            raise UnwritableError
        return text

    def write(self, value: Any, depth: int = 0) -> Any:
        """Return a value as source text."""
        kind = type(value)
        if kind in _PLAIN:
            is_huge = kind is int and value.bit_length() > 2_000
            if is_huge or (kind in (str, bytes) and len(value) > MAX_TEXT):
                raise UnwritableError
            is_odd = kind is float and value - value != 0.0
            return self.spend(f"float({repr(value)!r})" if is_odd else repr(value))
        if id(value) in self.names:
            return self.names[id(value)]
        if depth > MAX_DEPTH or id(value) in self.open:
            raise UnwritableError
        self.open.add(id(value))
        try:
            return self.composed(value, kind, depth + 1)
        finally:
            self.open.discard(id(value))

    def many(self, values: Any, depth: int) -> Any:
        """Return several values as source text."""
        if len(values) > MAX_ITEMS:
            raise UnwritableError
        return [self.write(value, depth) for value in values]

    def composed(self, value: Any, kind: type, depth: int) -> Any:
        """Return the source text of a value that is not a plain scalar."""
        if kind in _ROWS:
            items = self.many(value, depth)
            if kind in (set, frozenset):
                items.sort()  # their order depends on the hash seed
                if not items:
                    return self.spend(f"{kind.__name__}()")
            text = ", ".join(items) + ("," if kind is tuple and len(items) == 1 else "")
            return self.spend(_ROWS[kind].format(text))
        if kind is dict:
            keys, items = self.many(list(value.keys()), depth), self.many(list(value.values()), depth)
            pairs = [f"{key}: {item}" for key, item in zip(keys, items, strict=False)]
            return self.spend("{{{}}}".format(", ".join(pairs)))
        if issubclass(kind, type) or kind is types.FunctionType:
            return self.named(value)
        return self.instance(value, kind, depth)

    def named(self, value: Any) -> Any:
        """Return a class or function by its name in the trusted files or in some standard modules."""
        module, name = value.__module__, value.__qualname__
        if type(module) is not str or type(name) is not str or not name.isidentifier():
            raise UnwritableError
        is_known = module in _KNOWN_MODULES or self.recorder.is_trusted_module(module)
        if not is_known or _names_of(sys.modules.get(module)).get(name) is not value:
            raise UnwritableError
        if module != "builtins":
            self.imports.add((module, name))
        return self.spend(name)

    def instance(self, value: Any, kind: type, depth: int) -> Any:
        """Return an instance as the call that makes it."""
        module, name = kind.__module__.partition(".")[0], kind.__qualname__
        if name in _BY_REPR.get(module, ()):
            zone = getattr(value, "tzinfo", None) if name in ("datetime", "time") else None
            if zone is not None and type(zone).__name__ != "timezone":
                raise UnwritableError
            self.imports.add((module, ""))
            return self.spend(repr(value) if module == "datetime" else f"{module}.{value!r}")
        if self.by_identity:
            return self.spend(f"<{name} {id(value)}>")
        built = self.recorder.how_built(value)
        if built is not None:
            return self.as_built(value, built)
        if type(kind.__dict__.get("_member_map_")) is dict:  # an enumeration
            member = attribute(value, "_name_")
            if type(member) is not str or not member.isidentifier():
                raise UnwritableError
            return self.spend(f"{self.named(kind)}.{member}")
        # Dataclasses, attrs classes and named tuples list the arguments of their constructor.
        names = kind.__dict__.get("__match_args__")
        if type(names) is not tuple:
            raise UnwritableError
        parts = self.many([attribute(value, name, _ABSENT) for name in names], depth)
        return self.spend("{}({})".format(self.named(kind), ", ".join(parts)))

    def as_built(self, value: Any, built: Built) -> Any:
        """Return the name of an object that recorded statements build again."""
        for line in (*built.setup, built.text, *built.steps):
            self.spend(line)
        self.imports.update(built.imports)
        self.setup.extend(line for line in built.setup if line not in self.setup)
        self.recorder.count += 1
        name = self.names[id(value)] = f"made{self.recorder.count}_"
        self.setup.append(f"{name} = {built.text}")
        self.setup.extend(line.replace("__it__", name) for line in built.steps)
        return name


_ABSENT = object()  # cannot be written


def sketch(value: Any) -> Any:
    """Return the type and approximate size of a value; arguments with equal sketches count as alike."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind in (int, float):
        return kind.__name__, value > 0, value == 0, abs(value) < 10, abs(value) < 1_000
    if kind in (str, bytes, bytearray, dict) or kind in _ROWS:
        size = len(value)
        first = value[:1] if kind in (str, bytes) else type(next(iter(value), None)).__name__
        return kind.__name__, min(size, 4) + (size > 12), first
    return kind.__name__


class Built:
    """How an object was made: imports, statements, the expression for it, and its state afterwards."""

    def __init__(self, value: Any, writer: Writer, text: str, state: Any) -> None:
        self.ref = _weak(value)
        self.imports = frozenset(writer.imports)
        self.setup = tuple(writer.setup)
        self.text = text
        self.steps: tuple[str, ...] = ()
        self.calls = 0
        self.state = state


class Function:
    """What is known of a trusted function: its parameters, and the kinds of calls recorded so far."""

    def __init__(self, code: types.CodeType, path: str) -> None:
        self.code = code
        self.path = path
        self.name = code.co_qualname
        self.owner, _, last = self.name.rpartition(".")
        self.is_init = bool(self.owner) and last == "__init__"
        self.is_method = bool(self.owner) and code.co_argcount > 0 and code.co_varnames[0] == "self"
        self.examined = 0
        self.samples = 0
        self.alike: dict[Any, int] = {}
        self.texts: set[Any] = set()
        # Class bodies have no fast locals, and callers cannot reach nested functions.
        is_inner = "<" in self.name or self.name.count(".") > 1 or not code.co_flags & _CO_OPTIMIZED
        self.done = is_inner or last in _LEFT_ALONE

    def arguments(self, frame: types.FrameType) -> Any:
        """Return the positional arguments of a call and the named ones."""
        code, values = self.code, frame.f_locals
        count, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        positional = [values[name] for name in code.co_varnames[:count]]
        named = [(name, values[name]) for name in code.co_varnames[count:end]]
        rest = iter(code.co_varnames[end:])
        if code.co_flags & _CO_VARARGS:
            positional.extend(values[next(rest)])
        if code.co_flags & _CO_VARKEYWORDS:
            named.extend(values[next(rest)].items())
        return positional, named


class Pending:
    """A call in progress: its function, the object that it was called on, and its arguments as text."""

    def __init__(self, function: Function, kinds: Any, writer: Writer, target: Any) -> None:
        self.function = function
        self.kinds = kinds  # None if it is no sample
        self.writer = writer
        self.target = target
        self.selfs = ""
        self.own_lines = 0  # statements that build the target
        self.args: list[str] = []
        self.kwargs: list[str] = []


class Recorder:
    """Records the calls in one process."""

    def __init__(self, pipe: str, lock: str, roots: Any) -> None:
        self.pipe = pipe
        self.lock = lock
        self.roots = roots
        self.files: dict[str, Any] = {}
        self.functions: dict[int, Function] = {}
        self.pending: dict[int, Pending] = {}
        self.built: dict[int, Built] = {}
        self.count = 0
        self.lines: list[str] = []
        self.spent = 0.0
        self.began = _clock()
        self.pid = _getpid()
        self.mutex = threading.RLock()

    def file_of(self, filename: str) -> Any:
        """Return the real path of a trusted file for a code object's file name; None for other files."""
        if filename not in self.files:
            real = _realpath(filename) if filename[:1] != "<" else ""
            is_ours = real.endswith(".py") and any(f"{real}/".startswith(f"{root}/") for root in self.roots)
            self.files[filename] = real if is_ours else None
        return self.files[filename]

    def is_trusted_module(self, name: str) -> Any:
        """Return whether a module of this name was loaded from a trusted file."""
        place = _names_of(sys.modules.get(name)).get("__file__")
        return type(place) is str and self.file_of(place) is not None

    def state(self, value: Any) -> Any:
        """Return what shows whether an object was changed, as text, without running its code."""
        rows = list(attribute(value, "__dict__", {}).items())
        for base in type(value).__mro__[:-1]:
            for name, member in list(base.__dict__.items())[:200]:
                if type(member) is types.MemberDescriptorType:
                    with contextlib.suppress(AttributeError):
                        rows.append((name, member.__get__(value)))
        parts = []
        for name, item in rows[:MAX_ITEMS]:
            try:
                shown = Writer(self, by_identity=True).write(item)
            except UnwritableError:
                shown = f"{type(item).__name__} {id(item)}"
            parts.append(f"{name}={shown}")
        return tuple(parts)

    def how_built(self, value: Any) -> Any:
        """Return how an object was made; None if that was not recorded or the object has changed since."""
        built = self.built.get(id(value))
        if built is None or built.ref() is not value or built.state != self.state(value):
            return None
        return built

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
            if code.co_flags & _CO_COROUTINE and instruction in _YIELDING:
                return  # it waits for something
            pending = self.pending.pop(id(frame))
            if pending.function.code is code:
                is_raised = arg is None and instruction not in _RETURNING
                self.measured(self.ended, pending, frame.f_lineno, is_raised, arg)

    def measured(self, step: Any, *arguments: Any) -> None:
        """Take a step, count its time, and ignore its errors: an unusual value must not stop the command."""
        start = _clock()
        with contextlib.suppress(Exception):
            step(*arguments)
        self.spent += _clock() - start

    def started(self, frame: types.FrameType, path: str) -> None:
        """Record the arguments of a call, unless enough calls of its kind are recorded."""
        code = frame.f_code
        function = self.functions.get(id(code))
        if function is None:
            function = self.functions[id(code)] = Function(code, path)
        if function.done or self.spent > GRACE_S + SHARE * (_clock() - self.began):
            return
        # The cheapest tests come first, because this runs at every call of a trusted function.
        function.examined += 1
        builds = function.is_method or function.is_init
        full = function.samples >= MAX_SAMPLES
        if function.examined > (4 * MAX_EXAMINED if builds else 0 if full else MAX_EXAMINED):
            function.done = True
            return
        positional, named = function.arguments(frame)
        kinds = (*map(sketch, positional), *((name, sketch(value)) for name, value in named))
        enough = full or function.alike.get(kinds, 0) >= MAX_ALIKE
        target = positional[0] if builds else None
        if builds and type(target).__qualname__ != function.owner:
            return
        if enough and not function.is_init and (target is None or self.how_built(target) is None):
            return
        writer = Writer(self)
        # Building an object shows nothing but that it takes its arguments, so it is followed and no sample.
        pending = Pending(function, None if enough or function.is_init else kinds, writer, target)
        if function.is_init:
            writer.open.add(id(target))
        elif builds:
            pending.selfs = writer.write(target)
        pending.own_lines = len(writer.setup)
        pending.args = [writer.write(value) for value in positional[builds:]]
        pending.kwargs = [f"{name}={writer.write(value)}" for name, value in named]
        if len(self.pending) > MAX_PENDING:
            self.pending.clear()
        self.pending[id(frame)] = pending

    def ended(self, pending: Pending, line: int, is_raised: bool, value: Any) -> None:
        """Record how a call ended and what it made, and what that means for the object that it was called on."""
        function, writer, flags = pending.function, pending.writer, pending.function.code.co_flags
        call = "({})".format(", ".join(pending.args + pending.kwargs))
        if not is_raised and pending.target is not None:
            self.follow(pending, call)
        if pending.kinds is None:
            return
        shown, kind = "", ""
        if flags & _CO_GENERATOR and not is_raised:
            # Only the first item is available, or None if there is none.
            kind = "async_generator" if flags & _CO_ASYNC_GENERATOR else "generator"
        elif not is_raised:
            kind, result = type(value).__name__, Writer(self)
            with contextlib.suppress(UnwritableError):
                text = result.write(value)
                shown = "" if result.imports or result.setup else text
        row = (
            function.path, function.name, pending.selfs, pending.args, pending.kwargs, sorted(writer.imports),
            list(writer.setup), shown, kind, line,
        )  # fmt: skip
        text = ascii(row)
        key = (call, pending.selfs and len(writer.setup), shown)
        if key in function.texts or len(text) > 8 * MAX_TEXT:
            return
        function.texts.add(key)
        function.alike[pending.kinds] = function.alike.get(pending.kinds, 0) + 1
        function.samples += 1
        with self.mutex:
            self.lines.append(text)
            if len(self.lines) >= FLUSH_AT:
                self.flush()

    def follow(self, pending: Pending, call: str) -> None:
        """Record that a call made an object, or changed the one that it was called on."""
        target, writer, function = pending.target, pending.writer, pending.function
        state = self.state(target)
        if function.is_init:
            if len(self.built) >= MAX_BUILT:
                self.built.clear()
            with contextlib.suppress(TypeError):  # some objects support no weak references
                self.built[id(target)] = Built(target, writer, writer.named(type(target)) + call, state)
            return
        built = self.built.get(id(target))
        if built is None or built.ref() is not target or built.state == state:
            return
        if built.calls >= MAX_STEPS:
            del self.built[id(target)]
            return
        name = function.name.rpartition(".")[2]
        built.imports |= frozenset(writer.imports)
        built.steps += (*writer.setup[pending.own_lines :], f"__it__.{name}{call}")
        built.calls += 1
        built.state = state

    def flush(self) -> None:
        """Send the records; they are dropped if nobody reads the pipe."""
        lines, self.lines = self.lines, []
        if not lines or _getpid() != self.pid:
            return
        data = ("\n".join(lines) + "\n").encode("ascii")
        with contextlib.suppress(OSError):
            guard = _open(self.lock, os.O_WRONLY)
            try:
                _lock_file(guard, fcntl.LOCK_EX)
                pipe = _open(self.pipe, os.O_WRONLY | os.O_NONBLOCK)
                try:
                    _set_blocking(pipe, True)
                    view = memoryview(data)
                    while view:
                        view = view[_write(pipe, view) :]
                finally:
                    _close(pipe)
            finally:
                _close(guard)

    def forked(self) -> None:
        """Reset in a forked child, because pending records belong to the parent."""
        self.pid = _getpid()
        self.lines = []
        self.pending = {}
        self.mutex = threading.RLock()


def start() -> None:
    """Start recording in this process if the environment variables are set."""
    pipe, lock, roots = (os.environ.get(name, "") for name in (PIPE, LOCK, ROOTS))
    if not (pipe and lock and roots):
        return
    recorder = Recorder(pipe, lock, tuple(roots.split(os.pathsep)))
    profile = recorder.profile

    def finish() -> None:
        threading.setprofile(None)
        if sys.getprofile() is profile:
            sys.setprofile(None)
        recorder.flush()

    threading.setprofile(profile)
    sys.setprofile(profile)
    atexit.register(finish)
    os.register_at_fork(after_in_child=recorder.forked)
