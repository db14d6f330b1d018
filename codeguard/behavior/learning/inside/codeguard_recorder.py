"""Record calls of functions in trusted files: arguments and results as source text, a few per function.

It runs inside the recorded command. So it imports only modules that every interpreter has loaded or
built in, runs no code of the values that it inspects, prints nothing, and drops what is too
expensive. Records are sent through a pipe to the process that started the command; nothing is
written to a file.

Calls are observed with `sys.monitoring` (PEP 669) from Python 3.12 on, with `sys.setprofile`
before.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
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
FLUSH_AT = 32  # samples
GRACE_S = 0.5
SHARE = 0.25  # maximum share of the run's time spent on recording
WATCHED = 4  # objects per call whose state is compared afterwards

_clock = time.perf_counter
_open, _write, _close, _flags = os.open, os.write, os.close, (os.O_WRONLY | os.O_NONBLOCK, os.O_WRONLY)
_lock_file, _set_blocking, _getpid = fcntl.flock, os.set_blocking, os.getpid
_realpath, _getframe = os.path.realpath, sys._getframe

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
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
_member = types.MemberDescriptorType
_mark = "made%d_"
_CO_OPTIMIZED, _CO_VARARGS, _CO_VARKEYWORDS = 0x01, 0x04, 0x08
_CO_GENERATOR, _CO_ASYNC_GENERATOR, _CO_COROUTINE = 0x20 | 0x200, 0x200, 0x80


class UnwritableError(Exception):
    """A value has no source text, or none that is short enough."""


class Built:
    """How an object was made: imports, statements, the expression for it, and a fingerprint of its state."""

    def __init__(self, value: Any, writer: Writer, text: str, fingerprint: Any) -> None:
        self.ref = _weak(value)
        self.imports = frozenset(writer.imports)
        self.setup = tuple(writer.setup)
        self.text = text
        self.steps: tuple[tuple[str, ...], ...] = ()
        self.fingerprint = fingerprint


class Writer:
    """Writes values as source text and collects the imports and statements that the text needs."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.imports: set[tuple[str, str]] = set()
        self.setup: list[str] = []
        self.left = MAX_TEXT
        self.names: dict[int, str] = {}
        self.open: set[int] = set()
        self.by_identity = False  # write objects by identity, not by their construction

    def spend(self, text: str) -> Any:
        """Return a text and deduct its length from the limit.

        Raises:
            UnwritableError: the limit is exceeded.
        """
        self.left -= len(text)
        if self.left < 0:
            raise UnwritableError
        return text

    def write(self, value: Any, depth: int = 0) -> Any:
        """Return a value as source text.

        Raises:
            UnwritableError: the value has no source text, or none that is short enough.
        """
        kind = type(value)
        if value is None or kind is bool or kind is int:
            if kind is int and value.bit_length() > 2_000:
                raise UnwritableError
            return self.spend(repr(value))
        if kind is str or kind is bytes:
            if len(value) > MAX_TEXT:
                raise UnwritableError
            return self.spend(repr(value))
        if kind is float:
            return self.spend(repr(value) if value - value == 0.0 else f"float({repr(value)!r})")
        if kind is complex:
            return self.spend(repr(value))
        if depth > MAX_DEPTH or id(value) in self.open:
            raise UnwritableError
        known = self.names.get(id(value))
        if known is not None:
            return known
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
        if kind is list:
            return self.spend("[{}]".format(", ".join(self.many(value, depth))))
        if kind is tuple:
            items = self.many(value, depth)
            return self.spend(f"({items[0]},)" if len(items) == 1 else "({})".format(", ".join(items)))
        if kind is dict:
            return self.pairs(value, depth)
        if kind is set or kind is frozenset:
            # Sorted by text, because the order of a set depends on the hash seed.
            items = sorted(self.many(list(value), depth))
            if kind is frozenset:
                return self.spend("frozenset([{}])".format(", ".join(items)) if items else "frozenset()")
            return self.spend("{{{}}}".format(", ".join(items)) if items else "set()")
        if kind is range:
            return self.spend(repr(value))
        if issubclass(kind, type):
            return self.named(value)
        if kind is types.FunctionType:
            return self.function(value)
        return self.instance(value, kind, depth)

    def pairs(self, value: Any, depth: int) -> Any:
        """Return a dictionary's items as source text."""
        keys, items = self.many(list(value.keys()), depth), self.many(list(value.values()), depth)
        return self.spend(
            "{{{}}}".format(", ".join("{}: {}".format(*pair) for pair in zip(keys, items, strict=False)))
        )

    def imported(self, module: str, name: str) -> Any:
        """Return a name and add its import."""
        self.imports.add((module, name))
        return self.spend(name)

    def named(self, value: Any) -> Any:
        """Return a class by its name; it has to be in the trusted files or in some standard modules."""
        module, name = value.__module__, value.__qualname__
        if module == "builtins" and getattr(_builtins, name, None) is value:
            return self.spend(name)
        if type(module) is not str or type(name) is not str or not name.isidentifier():
            raise UnwritableError
        if self.recorder.is_trusted_module(module) and self.recorder.holds(module, name, value):
            return self.imported(module, name)
        if module in _KNOWN_MODULES and self.recorder.holds(module, name, value):
            return self.imported(module, name)
        raise UnwritableError

    def function(self, value: Any) -> Any:
        """Return a function by its name, or a lambda by the position of its source in its file."""
        name, module = value.__qualname__, value.__module__
        if name == "<lambda>" or name.endswith(".<lambda>"):
            code = value.__code__
            if value.__closure__ or value.__defaults__ or value.__kwdefaults__:
                raise UnwritableError
            if any(used not in _BUILTIN_NAMES for used in code.co_names):
                raise UnwritableError
            place = _lambda_place(code)
            return self.spend(f"__lambda__({code.co_filename!r}, {', '.join(map(str, place))})")
        is_ours = type(module) is str and name.isidentifier() and self.recorder.is_trusted_module(module)
        if is_ours and self.recorder.holds(module, name, value):
            return self.imported(module, name)
        raise UnwritableError

    def instance(self, value: Any, kind: type, depth: int) -> Any:
        """Return an instance as the call that makes it."""
        module, name = kind.__module__, kind.__qualname__
        if name in _BY_REPR.get(module, ()) or (
            module.startswith("pathlib.") and name in _BY_REPR["pathlib"]
        ):
            zone = getattr(value, "tzinfo", None) if name in ("datetime", "time") else None
            if zone is not None and type(zone).__name__ != "timezone":
                raise UnwritableError
            text = repr(value)
            self.imports.add(("datetime" if module == "datetime" else module.partition(".")[0], ""))
            return self.spend(
                text if module == "datetime" else "{}.{}".format(module.partition(".")[0], text)
            )
        if self.by_identity:
            return self.spend(f"<{name} {id(value)}>")
        built = self.recorder.how_built(value)
        if built is not None:
            return self.as_built(value, built)
        members = kind.__dict__.get("_member_map_")
        if type(members) is dict:
            return self.member(value, kind)
        fields = kind.__dict__.get("_fields")
        if issubclass(kind, tuple) and type(fields) is tuple and len(fields) == len(value):
            items = self.many(tuple(tuple.__iter__(value)), depth)
            return self.spend("{}({})".format(self.named(kind), ", ".join(items)))
        return self.from_fields(value, kind, depth)

    def as_built(self, value: Any, built: Built) -> Any:
        """Return the name of an object that recorded statements build again."""
        for line in (*built.setup, built.text, *(line for step in built.steps for line in step)):
            self.spend(line)
        self.imports.update(built.imports)
        self.setup.extend(line for line in built.setup if line not in self.setup)
        name = self.recorder.new_name()
        self.names[id(value)] = name
        self.setup.append(f"{name} = {built.text}")
        for step in built.steps:
            self.setup.extend(line.replace("__it__", name) for line in step)
        return name

    def member(self, value: Any, kind: type) -> Any:
        """Return a member of an enumeration by its name."""
        try:
            name = object.__getattribute__(value, "_name_")
        except AttributeError:
            raise UnwritableError from None
        if type(name) is not str or not name.isidentifier():
            raise UnwritableError
        return self.spend(f"{self.named(kind)}.{name}")

    def from_fields(self, value: Any, kind: type, depth: int) -> Any:
        """Return an instance of a dataclass or attrs class as a call with the fields of its constructor."""
        own = kind.__dict__
        rows = []
        if "__dataclass_fields__" in own:
            for field in own["__dataclass_fields__"].values():
                if getattr(field, "_field_type", None) is not None and field._field_type.name != "_FIELD":
                    continue
                if field.init:
                    rows.append((field.name, field.name))
        elif "__attrs_attrs__" in own:
            for field in own["__attrs_attrs__"]:
                if field.init is True:
                    rows.append((getattr(field, "alias", None) or field.name.lstrip("_"), field.name))
        else:
            raise UnwritableError
        parts = []
        for shown, name in rows:
            try:
                found = object.__getattribute__(value, name)
            except AttributeError:
                raise UnwritableError from None
            parts.append(f"{shown}={self.write(found, depth)}")
        return self.spend("{}({})".format(self.named(kind), ", ".join(parts)))


def _lambda_place(code: types.CodeType) -> Any:
    """Return the range of lines and columns of a lambda's body, by which its source is found later."""
    if not hasattr(code, "co_positions"):
        raise UnwritableError
    lines = [place for place in code.co_positions() if None not in place]
    body = [place for place in lines if place[2] or place[3]]
    if not body:
        raise UnwritableError
    first = min((place[0], place[2]) for place in body)
    last = max((place[1], place[3]) for place in body)
    return (*first, *last)


_builtins = sys.modules["builtins"]
_BUILTIN_NAMES = frozenset(dir(_builtins))
_KNOWN_MODULES = frozenset(
    {"datetime", "decimal", "fractions", "uuid", "ipaddress", "pathlib", "collections", "enum", "abc",
     "collections.abc", "typing", "numbers", "re"}
)  # fmt: skip


def sketch(value: Any, depth: int = 0) -> Any:
    """Return the type and approximate size of a value; arguments with equal sketches count as alike."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return (kind, value > 0 if value else None, min(value.bit_length() // 4, 6))
    if kind is float:
        return (kind, value > 0.0, value == 0.0)
    if kind is str or kind is bytes:
        return (kind, min(len(value), 3) + (len(value) > 12) + (len(value) > 60), value[:1])
    if kind in (list, tuple, set, frozenset, dict):
        size = len(value)
        first = None
        if size and depth < 2 and size <= MAX_ITEMS:
            first = tuple(sorted({type(item).__name__ for item in value}))[:4]
        return (kind.__name__, min(size, 4) + (size > 8) + (size > 30), first)
    return kind.__name__


_LEFT_ALONE = frozenset({"__getattr__", "__getattribute__", "__dir__", "__del__"})


class Function:
    """What is known of a trusted function: its parameters, and the kinds of calls recorded so far."""

    def __init__(self, code: types.CodeType, path: str) -> None:
        self.code = code
        self.path = path
        self.name = code.co_qualname if hasattr(code, "co_qualname") else code.co_name
        count, kwonly = code.co_argcount, code.co_kwonlyargcount
        names = code.co_varnames
        self.positional = names[:count]
        self.kwonly = names[count : count + kwonly]
        at = count + kwonly
        self.rest = names[at] if code.co_flags & _CO_VARARGS else None
        at += self.rest is not None
        self.keyword = names[at] if code.co_flags & _CO_VARKEYWORDS else None
        self.owner, _, last = self.name.rpartition(".")
        self.is_init = bool(self.owner) and last == "__init__"
        self.is_method = bool(self.owner) and self.positional[:1] == ("self",)
        self.examined = 0
        self.samples = 0
        self.alike: dict[Any, int] = {}
        self.texts: set[Any] = set()
        self.done = False


class Pending:
    """A call in progress: its arguments as text, and the state to compare when it returns."""

    def __init__(self, function: Function, kinds: Any, writer: Writer) -> None:
        self.function = function
        self.kinds = kinds
        self.writer = writer
        self.target: Any = None
        self.before: list[Any] = []
        self.selfs = ""
        self.own_lines = 0
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
        self.modules: dict[str, bool] = {}
        self.built: dict[int, Any] = {}
        self.count = 0
        self.lines: list[str] = []
        self.spent = 0.0
        self.began = _clock()
        self.pid = _getpid()
        self.stopped = False
        self.mutex = threading.RLock()

    # what belongs to the trusted files

    def file_of(self, filename: str) -> Any:
        """Return the real path of a trusted file for a code object's file name; None for other files."""
        found = self.files.get(filename, False)
        if found is False:
            found = None
            if filename[:1] != "<":
                real = _realpath(filename)
                if real.endswith(".py") and any(
                    real == root or real.startswith(root + "/") for root in self.roots
                ):
                    found = real
            self.files[filename] = found
        return found

    def is_trusted_module(self, name: str) -> Any:
        """Return whether a module of this name was loaded from a trusted file."""
        known = self.modules.get(name)
        if known is None:
            module = sys.modules.get(name)
            place = _names_of(module).get("__file__")
            known = type(place) is str and self.file_of(place) is not None
            if module is not None:
                self.modules[name] = known
        return known

    def holds(self, module: str, name: str, value: Any) -> Any:
        """Return whether a module's name still refers to a value, so that the value can be written by it."""
        return _names_of(sys.modules.get(module)).get(name) is value

    def new_name(self) -> Any:
        """Return a new name for an object that statements build."""
        self.count += 1
        return _mark % self.count

    # objects

    def fingerprint(self, value: Any) -> Any:
        """Return an object's own state as text, as far as it can be written without running its code."""
        parts = []
        try:
            own = object.__getattribute__(value, "__dict__")
        except AttributeError:
            own = {}
        rows = list(own.items())[:MAX_ITEMS]
        for base in type(value).__mro__[:-1]:
            for name, member in list(base.__dict__.items())[:200]:
                if type(member) is _member:
                    try:
                        rows.append((name, member.__get__(value)))
                    except AttributeError:
                        continue
        for name, item in rows:
            writer = Writer(self)
            writer.left, writer.by_identity = 400, True
            try:
                shown = writer.write(item)
            except UnwritableError:
                size = len(item) if type(item) in (list, dict, set) else id(item)
                shown = f"{type(item).__name__} {size}"
            parts.append(f"{name}={shown}")
        return tuple(parts)

    def how_built(self, value: Any) -> Any:
        """Return how an object was made; None if that was not recorded or the object has changed since."""
        built = self.built.get(id(value))
        if built is None or built.ref() is not value:
            return None
        return built if built.fingerprint == self.fingerprint(value) else None

    def remember(self, value: Any, writer: Writer, text: str) -> None:
        """Record how an object was made."""
        if len(self.built) >= MAX_BUILT:
            self.built.clear()
        try:
            self.built[id(value)] = Built(value, writer, text, self.fingerprint(value))
        except TypeError:
            return  # the object supports no weak references

    # calls

    def examine(self, frame: types.FrameType, code: types.CodeType, filename: str) -> Any:
        """Record a call if it is of interest; return whether further calls of this code are."""
        function = self.functions.get(id(code))
        if function is None:
            function = self.functions[id(code)] = Function(code, filename)
            name = function.name
            # Reading a frame's locals is visible to its imports, and imports look up names in modules.
            if name.rpartition(".")[2] in _LEFT_ALONE:
                function.done = True
            # Class bodies have no fast locals, and callers cannot reach nested functions.
            if "<" in name or name.count(".") > 1 or not code.co_flags & _CO_OPTIMIZED:
                function.done = True
        if function.done:
            return False
        start = _clock()
        if self.spent > GRACE_S + SHARE * (start - self.began):
            return True
        try:
            self.note(frame, function)
        except UnwritableError:
            pass
        except Exception:  # an unusual value must not stop the command
            pass
        self.spent += _clock() - start
        return not function.done

    def note(self, frame: types.FrameType, function: Function) -> None:
        """Record the arguments of a call, unless enough calls of its kind are recorded."""
        # The cheapest tests come first, because this runs at every call of a trusted function.
        function.examined += 1
        if function.examined > MAX_EXAMINED or function.samples >= MAX_SAMPLES:
            if not (function.is_method or function.is_init):
                function.done = True
                return
            if function.examined > 4 * MAX_EXAMINED:
                function.done = True
                return
        values = frame.f_locals
        positional = [values[name] for name in function.positional]
        if function.rest:
            positional.extend(values[function.rest])
        named = [(name, values[name]) for name in function.kwonly]
        if function.keyword:
            named.extend(values[function.keyword].items())
        kinds = tuple(
            [sketch(value) for value in positional] + [(name, sketch(value)) for name, value in named]
        )
        enough = function.samples >= MAX_SAMPLES or function.alike.get(kinds, 0) >= MAX_ALIKE
        target = None
        if function.is_method or function.is_init:
            target = positional[0]
        if enough and target is None:
            return
        if enough and not function.is_init and self.how_built(target) is None:
            return
        writer = Writer(self)
        pending = Pending(function, None if enough else kinds, writer)
        rest = positional
        if function.is_init:
            if type(target).__qualname__ != function.owner:
                return
            writer.open.add(id(target))
            rest = positional[1:]
            pending.target = target
        elif function.is_method:
            if type(target).__qualname__ != function.owner:
                return
            pending.selfs = writer.write(target)
            pending.own_lines = len(writer.setup)  # later ones belong to the arguments
            pending.target = target
            rest = positional[1:]
        pending.args = [writer.write(value) for value in rest]
        pending.kwargs = [f"{name}={writer.write(value)}" for name, value in named]
        if not function.is_init:
            pending.before = [
                (value, _state(self, value))
                for value in positional
                if type(value) not in _PLAIN and not issubclass(type(value), type)
            ][:WATCHED]
        if len(self.pending) > 10_000:
            self.pending.clear()
        self.pending[id(frame)] = pending

    def ended(self, frame: types.FrameType, outcome: str, value: Any) -> None:
        """Handle the end of a recorded call."""
        pending = self.pending.pop(id(frame), None)
        if pending is None or pending.function.code is not frame.f_code:
            return
        start = _clock()
        with contextlib.suppress(Exception):
            self.finish(pending, frame.f_lineno, outcome, value)
        self.spent += _clock() - start

    def finish(self, pending: Pending, line: int, outcome: str, value: Any) -> None:
        """Record how a call ended and what it made."""
        function, writer = pending.function, pending.writer
        call = "({})".format(", ".join(pending.args + pending.kwargs))
        if function.is_init:
            if outcome == "returned":
                self.remember(pending.target, writer, self.class_name(writer, pending.target) + call)
            outcome, value = (outcome, None) if outcome == "raised" else ("built", None)
        elif outcome == "returned":
            self.follow(pending, function, call)
        if pending.kinds is None:
            return
        changed = False
        if pending.before and outcome == "returned":
            changed = any(_state(self, item) != state for item, state in pending.before)
        shown = ""
        if outcome == "returned" and not function.code.co_flags & _CO_GENERATOR:
            result = Writer(self)
            try:
                shown = result.write(value)
                if result.imports or result.setup or "__lambda__" in shown:
                    shown = ""
            except UnwritableError:
                shown = ""
        if outcome == "raised":
            shown = value or ""
        kind = type(value).__name__ if outcome == "returned" else ""
        if outcome == "returned" and function.code.co_flags & _CO_GENERATOR:
            # Only the first item is available, or None if there is none.
            kind = "async_generator" if function.code.co_flags & _CO_ASYNC_GENERATOR else "generator"
        row = (
            function.path, function.name, function.code.co_firstlineno, pending.selfs, pending.args,
            pending.kwargs, sorted(writer.imports), list(writer.setup), outcome, shown, kind, line, changed,
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

    def class_name(self, writer: Writer, value: Any) -> Any:
        """Return the name of an object's class."""
        return writer.named(type(value))

    def follow(self, pending: Pending, function: Function, call: str) -> None:
        """Record that a call changed the object that it was called on."""
        target, writer = pending.target, pending.writer
        if target is not None and pending.before:
            built = self.built.get(id(target))
            state = self.fingerprint(target)
            if built is not None and built.ref() is target and built.fingerprint != state:
                if len(built.steps) >= MAX_STEPS:
                    del self.built[id(target)]
                else:
                    name = function.name.rpartition(".")[2]
                    extra = writer.setup[pending.own_lines :]
                    built.imports |= frozenset(writer.imports)
                    built.steps = (*built.steps, (*extra, f"__it__.{name}{call}"))
                    built.fingerprint = state

    # the pipe

    def flush(self) -> None:
        """Send the records; they are dropped if nobody reads the pipe."""
        lines, self.lines = self.lines, []
        if not lines or _getpid() != self.pid:
            return
        data = ("\n".join(lines) + "\n").encode("ascii")
        try:
            guard = _open(self.lock, _flags[1])
        except OSError:
            return
        try:
            _lock_file(guard, fcntl.LOCK_EX)
            pipe = _open(self.pipe, _flags[0])
            try:
                _set_blocking(pipe, True)
                view = memoryview(data)
                while view:
                    view = view[_write(pipe, view) :]
            finally:
                _close(pipe)
        except OSError:
            return
        finally:
            _close(guard)

    def forked(self) -> None:
        """Reset in a forked child, because pending records belong to the parent."""
        self.pid = _getpid()
        self.lines = []
        self.pending = {}
        self.mutex = threading.RLock()

    def stop(self) -> None:
        """Send the remaining records."""
        if not self.stopped:
            self.stopped = True
            self.flush()


def _names_of(module: Any) -> Any:
    """Return the names of a module without calling its `__getattr__`."""
    try:
        return object.__getattribute__(module, "__dict__")
    except AttributeError:
        return {}


def _state(recorder: Recorder, value: Any) -> Any:
    """Return the state of an argument, to detect changes by the call."""
    kind = type(value)
    if kind in (list, tuple, dict, set, frozenset, bytearray):
        writer = Writer(recorder)
        try:
            return writer.write(value)
        except UnwritableError:
            return len(value)
    return recorder.fingerprint(value)


def _watch_by_profile(recorder: Recorder) -> Any:
    """Observe calls with a profile function; untrusted code returns first, because every call pays for it."""
    files, pending, examine, ended, file_of = (
        recorder.files, recorder.pending, recorder.examine, recorder.ended, recorder.file_of,
    )  # fmt: skip
    import opcode  # imported here only: it identifies the instructions that leave a function normally

    missing = object()
    names = ("RETURN_VALUE", "YIELD_VALUE", "RETURN_GENERATOR", "SEND")
    returning = frozenset(opcode.opmap[name] for name in names if name in opcode.opmap)
    value_returned = opcode.opmap["RETURN_VALUE"]

    def profile(frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            path = files.get(code.co_filename, missing)
            if path is None:
                return
            if path is missing:
                path = file_of(code.co_filename)
                if path is None:
                    return
            # A generator triggers an event at each step; only the first is its call (RESUME has argument 0).
            if code.co_flags & (_CO_GENERATOR | _CO_COROUTINE) and code.co_code[frame.f_lasti + 1]:
                return
            examine(frame, code, path)
        elif event == "return" and id(frame) in pending:
            code = frame.f_code
            instruction = code.co_code[frame.f_lasti]
            if code.co_flags & _CO_COROUTINE and instruction != value_returned:
                return  # it is suspended
            if arg is None and instruction not in returning:
                ended(frame, "raised", "")
            else:
                ended(frame, "returned", arg)

    threading.setprofile(profile)
    sys.setprofile(profile)

    def stop() -> None:
        threading.setprofile(None)
        if sys.getprofile() is profile:
            sys.setprofile(None)

    return stop


def _watch_by_monitoring(recorder: Recorder) -> Any:
    """Observe calls by PEP 669; code that is not trusted is switched off at its first call."""
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009  # not there before 3.12
    events = monitoring.events
    tool = next((number for number in (4, 3) if monitoring.get_tool(number) is None), None)
    if tool is None:
        return None
    monitoring.use_tool_id(tool, "codeguard learn")
    disable = monitoring.DISABLE
    file_of, examine, ended, pending = recorder.file_of, recorder.examine, recorder.ended, recorder.pending

    def started(code: types.CodeType, offset: int) -> Any:
        path = file_of(code.co_filename)
        if path is None:
            return disable
        if not examine(_getframe(1), code, path):
            if local.pop(id(code), None) is not None and not pending:
                monitoring.set_local_events(tool, code, 0)
            return disable
        if id(code) not in local:
            local[id(code)] = code
            monitoring.set_local_events(tool, code, events.PY_RETURN | events.PY_YIELD)
        return None

    # The next three repeat their look-up: a shared helper would cost a call at every event, and change the frame.
    def returned(code: types.CodeType, offset: int, value: Any) -> None:
        if pending:
            frame = _getframe(1)
            if id(frame) in pending:
                ended(frame, "returned", value)

    def yielded(code: types.CodeType, offset: int, value: Any) -> None:
        if pending and not code.co_flags & _CO_COROUTINE:  # else it waits for something
            frame = _getframe(1)
            if id(frame) in pending:
                ended(frame, "returned", value)

    def unwound(code: types.CodeType, offset: int, error: Any) -> None:
        if pending:
            frame = _getframe(1)
            if id(frame) in pending:
                ended(frame, "raised", type(error).__name__)

    local: dict[int, types.CodeType] = {}
    for event, callback in (
        (events.PY_START, started), (events.PY_RETURN, returned), (events.PY_YIELD, yielded),
        (events.PY_UNWIND, unwound),
    ):  # fmt: skip
        monitoring.register_callback(tool, event, callback)
    monitoring.set_events(tool, events.PY_START | events.PY_UNWIND)

    def stop() -> None:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)

    return stop


def start() -> None:
    """Start recording in this process if the environment variables are set."""
    pipe, lock, roots = (os.environ.get(name, "") for name in (PIPE, LOCK, ROOTS))
    if not (pipe and lock and roots):
        return
    recorder = Recorder(pipe, lock, tuple(roots.split(os.pathsep)))
    watch = _watch_by_monitoring if hasattr(sys, "monitoring") else _watch_by_profile
    stop = watch(recorder)

    def finish() -> None:
        if stop is not None:
            stop()
        recorder.stop()

    atexit.register(finish)
    os.register_at_fork(after_in_child=recorder.forked)
