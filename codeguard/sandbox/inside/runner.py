"""Runs one job in its child: compile, execute, call, encode, write.

This process may have run hostile code, so the host trusts nothing in its output beyond "this is what came
back".
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import json.encoder
import keyword
import marshal
import opcode
import os
import sys
import types
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from importlib.machinery import SourceFileLoader as FileLoader
from typing import Any, NamedTuple

from . import policy, wire
from .codec import Encoder, TooLargeError, array_types, types_by_repr
from .effects import FILENAME, Effects
from .files import Files
from .modules import Facades, completed
from .table import Modules, Table, compiled_ahead
from .world import World

MODULE = "candidate"

# now, environment, random seed, module, folder, files: as in `World`'s defaults, set before the fork
WORLD: tuple[float, dict[str, str], int, str, str, dict[str, bytes]] = (
    *(1_600_000_000.0, {}, 0),
    *(MODULE, "/home/user/project", {}),
)
_STORE = opcode.opmap["STORE_ATTR"]
_STORING = frozenset({"setattr", "__setattr__", "setitem", "__dict__", "vars", "globals", "modules"})
_WARM_RUNS = 20  # the interpreter specializes frequently run code, which modifies it
_WARM_SOURCE = """
import math
def f(a, b, c):
    print(a)
    for x in range(3):
        c = c + [x]
    return {"k": (a, b), "l": c, "m": math.sqrt(4.0)}
class C:
    def __init__(self):
        self.n = 1
"""


_encoder = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, str, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False
)


class _Capture(io.StringIO):
    """Standard output up to a limit; the rest is dropped."""

    left = wire.MAX_STDOUT

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            raise TypeError(f"string argument expected, got {type(text).__name__!r}")
        kept = text[: self.left]
        self.left -= len(kept)
        super().write(kept)
        return len(text)

    def take(self) -> str:
        """Return the output since the last call."""
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text


class _Scope(dict[str, Any]):
    """A call's own names on top of the module's."""

    def __init__(self, below: dict[str, Any], **names: Any) -> None:
        super().__init__(**names)
        self._below = below

    def __missing__(self, name: str) -> Any:
        return self._below[name]

    def spread(self) -> None:
        """Take up the module's names: the body of a class does not ask `__missing__` for them."""
        for name, value in self._below.items():
            self.setdefault(name, value)

    def find(self, name: str) -> Any:
        """Look up a bare name, including builtins; raise NameError like the interpreter."""
        builtin = self["__builtins__"]
        for names in (self, self._below, builtin if type(builtin) is dict else vars(builtin)):
            if dict.__contains__(names, name):
                return dict.__getitem__(names, name)
        raise NameError(f"name {name!r} is not defined", name=name)


class _StopError(Exception):
    """The job ends before its calls: status and detail."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail


class _Stage(NamedTuple):
    """The environment of a job: its streams and its module."""

    stdin: io.StringIO
    stdout: _Capture
    stderr: _Capture
    module: types.ModuleType


def _new_stage() -> _Stage:
    return _Stage(io.StringIO(), _Capture(), _Capture(), types.ModuleType(MODULE))


class Runner:
    """Holds what a child inherits from the zygote; `run` executes the child's job.

    Everything a child needs is created before the fork: every object that a child creates or touches for the
    first time costs it a page.
    """

    def __init__(self) -> None:
        self.effects = Effects()
        self.world = World(self.effects)
        self._stage = _new_stage()
        self._restricted: dict[str, Any] = {}
        self._by_repr = self._arrays = frozenset[type]()
        self._files: Files | None = None

    def install_files(self) -> None:
        """Let the code find files in memory; once, in the zygote, when it needs no others itself."""
        self._files = Files(self.world.clock.peek)
        self._files.fill({}, WORLD[4], ())
        self._files.install()

    def prepare(self) -> None:
        """Install hooks and replacements, and exercise the paths of an ordinary job; once, in the zygote."""
        self.world.install()
        self._by_repr, self._arrays = types_by_repr(), array_types()  # before any code under test runs
        streams = sys.stdin, sys.stdout, sys.stderr
        for _ in range(_WARM_RUNS):
            for restricted in (True, False):
                self._renew()
                self.run(_warm_payload(restricted), len)
        sys.stdin, sys.stdout, sys.stderr = streams
        self._renew()

    def listen(self) -> None:
        """Install the audit hook, for ever: last, for preparing is thousands of events."""
        self.effects.listen()

    def _renew(self) -> None:
        self.effects.clear()
        self._stage = _new_stage()
        sys.modules[MODULE] = self._stage.module
        self._restricted = policy.restricted_builtins(
            {
                "open": self._open,
                "input": self._input,
                "__import__": Facades(self.effects.note).import_,
            }
        )
        self.world.enter(*WORLD[:3])

    def run(self, payload: bytes | bytearray, write: Callable[[bytes], object]) -> None:
        """Run a job and write its frames."""
        source, code, restricted, calls, world, trace, budget, keep, importing = marshal.loads(payload)
        encoder = Encoder(budget, self._by_repr, self._arrays)
        tracer: Tracer | None = None
        status, detail = "completed", ""
        try:
            if code:
                compiled = marshal.loads(code)
            else:
                compiled = _compiled(source, restricted)
                if keep:
                    write(wire.frame(wire.CODE + marshal.dumps(compiled)))
            prepared = [_prepared(call) for call in calls]
            if importing is not None:
                imported, modules, ahead = importing
                for made in compiled_ahead(modules, ahead):
                    write(wire.frame(wire.CODE + made))
            if world != WORLD:
                self.world.enter(*world[:3])
                compiled = self._imported_as(compiled, *world[3:5])
                if self._files is not None:
                    self._files.fill(world[5], world[4], (world[1].get("HOME", "/"),))
            sys.stdin, sys.stdout, sys.stderr, _ = self._stage
            out = self._stage.stdout
            if importing is not None:
                self._execute(functools.partial(self._import, imported, modules, world[4]))
            scope = vars(self._stage.module)
            scope["__builtins__"] = self._restricted if restricted else builtins
            if trace:
                tracer = Tracer(_found(compiled, trace), scope)
                tracer.start()
            self._execute(types.FunctionType(compiled, scope))
            out.take()
            if self._files is not None:
                self._files.keep()
            self.effects.divide()
            if importing is not None or (not restricted and _may_replace(compiled)):
                self.effects.watch(scope.values())
            try:
                for call in prepared:
                    write(wire.frame(_json(self._call(call, scope, out, encoder))))
            except Exception as error:  # of our own functions, after others were put in their place
                raise _StopError("error", f"{type(error).__name__}: {_text(error)}") from None
            finally:
                self.effects.restore()
        except _StopError as stop:
            status, detail = stop.status, stop.detail
        if tracer is not None:
            tracer.stop()
        if policy.refusals and status in ("completed", "error"):
            status, detail = "policy", f"refused when run: {policy.refusals[0]}"
        seen = [*self.effects.before, *self.effects.seen]
        write(wire.frame(_json(["end", status, detail, seen, None if tracer is None else tracer.report()])))

    def _imported_as(self, code: types.CodeType, name: str, folder: str) -> types.CodeType:
        """Give the module the names that an import from a file gives, and return its code with that file."""
        module, path = self._stage.module, f"{folder}/{name}.py"
        sys.modules.pop(MODULE, None)
        sys.modules[name] = module
        module.__name__, module.__package__, module.__file__ = name, "", path
        module.__loader__ = loader = FileLoader(name, path)
        module.__spec__ = spec = ModuleSpec(name, loader, origin=path)
        spec.has_location, cached = True, f"{folder}/__pycache__/{name}.{sys.implementation.cache_tag}.pyc"
        spec.cached = vars(module)["__cached__"] = cached
        sys.argv[:] = [f"{folder}/main.py"]
        sys.path[:] = [folder, f"{sys.prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}"]
        self.effects.filename = path
        return _in_file(code, path)

    def _import(self, name: str, modules: Modules, folder: str) -> None:
        """Import a module of a table, in whose names the job's source is executed then."""
        sys.modules.pop(self._stage.module.__name__, None)
        self.effects.filename = f"{folder}/"
        self._stage = self._stage._replace(module=Table(modules, folder, self.effects).load(name))

    def _open(self, file: object, *args: object, **kwargs: object) -> object:
        """Replace `open` in the restricted tier: it takes a path, but no custom opener."""
        by_path = isinstance(file, str | bytes | os.PathLike) and len(args) < 7 and "opener" not in kwargs
        if self._files is not None and by_path:
            return self._files.opened(file, *args, **kwargs)
        self.effects.note("open", file)
        raise PermissionError(13, "Permission denied", file)

    def _input(self, prompt: object = "") -> str:
        self.effects.note("stdin")
        raise EOFError("EOF when reading a line")

    def _execute(self, function: Callable[[], object]) -> None:
        self.effects.active = True
        try:
            function()
        except BaseException as error:
            status = "memory" if type(error) is MemoryError else "error"
            raise _StopError(status, f"{type(error).__name__}: {_text(error)}") from None
        finally:
            self.effects.active = False

    def _call(self, call: Any, scope: dict[str, Any], out: _Capture, encoder: Encoder) -> list[Any]:
        setup, target, arguments = call
        names = _Scope(scope, __builtins__=scope["__builtins__"], __name__=scope["__name__"])
        args, kwargs = (None, {}) if arguments is None else marshal.loads(arguments)
        if self._files is not None:
            self._files.reset()
        # until the end: iterators, str() of exceptions and finalizers run the code's own code too
        self.effects.active = True
        try:
            return self._called(setup, target, args, kwargs, names, out, encoder)
        finally:
            self.effects.active = False

    def _called(
        self, setup: Any, target: Any, args: Any, kwargs: Any, names: _Scope, out: _Capture, encoder: Encoder
    ) -> list[Any]:
        budget = encoder.budget
        try:
            if setup is not None:
                if any(type(item) is types.CodeType for item in setup.co_consts):
                    names.spread()
                types.FunctionType(setup, names)()
                if self._files is not None:
                    self._files.mark()
            value = names.find(target) if type(target) is str else types.FunctionType(target, names)()
            if args is not None:
                value = value(*args, **kwargs)
            shown = encoder.encode(completed(value))
            after, left = _after(args, encoder), self._left(encoder)
        except TooLargeError as error:
            encoder.budget = budget
            return ["call", "badtype", None, None, [], str(error), out.take(), []]
        except BaseException as error:
            bases = [base.__name__ for base in type(error).__mro__[:-1]][:20]
            text, after = _text(error), None
            with contextlib.suppress(BaseException):
                after = _after(args, encoder)
            with contextlib.suppress(TooLargeError):
                return ["call", "raised", None, after, bases, text, out.take(), self._left(encoder)]
            return ["call", "raised", None, after, bases, text, out.take(), []]
        return ["call", "returned", shown, after, [], "", out.take(), left]

    def _left(self, encoder: Encoder) -> list[list[Any]]:
        """Return the files that the call changed: path and current content."""
        changes = () if self._files is None else self._files.changes()
        return [[encoder.encode(path), encoder.encode(found)] for path, found in changes]


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


def _found(code: types.CodeType, name: str) -> list[types.CodeType]:
    """Return the code objects of the function `name` (bare or qualified) and of those nested in it."""
    for inner in _nested(code):
        if inner is not code and name in (inner.co_qualname, inner.co_name):
            return list(_nested(inner))
    return []


def _executable_lines(code: types.CodeType) -> set[int]:
    """Return the lines that have instructions, without the line of the `def` itself."""
    lines = {line for _, _, line in code.co_lines() if line}
    return lines - {code.co_firstlineno} or lines


class Tracer:
    """Records lines and arcs of the given code objects; an arc from or to outside has -first line.

    `names` are the globals that they run with.
    """

    def __init__(self, codes: list[types.CodeType], names: dict[str, Any]) -> None:
        self.codes = codes
        self._names = names
        self.executable: set[int] = set().union(*map(_executable_lines, codes)) if codes else set()
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

    def _trace(self, frame: types.FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        if frame.f_globals is not self._names:
            return None  # asking a frame for its code calls the audit hook, once for every call of ours
        code = frame.f_code
        if id(code) not in self._wanted:
            return None
        note = self.arcs.add
        last = outside = -code.co_firstlineno

        def local(frame: types.FrameType, event: str, argument: object) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                line = frame.f_lineno
                note((last, line))
                last = line
            elif event == "return":
                note((last, outside))
            return local

        return local


def _may_replace(code: types.CodeType) -> bool:
    """Return whether code may change a module: touching all their objects to see it costs a small job half more."""
    storing = _STORE in code.co_code[::2] or not _STORING.isdisjoint(code.co_names)
    return storing or any(_may_replace(item) for item in code.co_consts if type(item) is types.CodeType)


def _in_file(code: types.CodeType, path: str) -> types.CodeType:
    """Return code, and what is nested in it, as compiled from a file."""
    constants = tuple(
        _in_file(item, path) if isinstance(item, types.CodeType) else item for item in code.co_consts
    )
    return code.replace(co_filename=path, co_consts=constants)


def _after(args: Any, encoder: Encoder) -> Any:
    return None if args is None or _IMMUTABLE.issuperset(map(type, args)) else encoder.encode(args)


_IMMUTABLE = frozenset({type(None), bool, int, float, complex, str, bytes})


def _compiled(source: str, restricted: bool) -> types.CodeType:
    try:
        if restricted:
            code, reasons = policy.compile_restricted(source, FILENAME)
            if code is None:
                raise _StopError("policy", "; ".join(reasons[:5])[: wire.MAX_TEXT])
            return code  # type: ignore[no-any-return]
        return compile(source, FILENAME, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _StopError("unsupported", f"does not parse: {error.msg} (line {error.lineno})") from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise _StopError("unsupported", f"does not parse: {type(error).__name__} {_text(error)}") from None


def _prepared(call: Any) -> tuple[Any, Any, Any]:
    setup, target, arguments = call
    try:
        prepared = compile(setup, "<setup>", "exec", dont_inherit=True) if setup else None
        target = target.strip()
        if not target.isidentifier() or keyword.iskeyword(target):  # a plain name stays one
            target = compile(target, "<call>", "eval", dont_inherit=True)
        return prepared, target, arguments
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _StopError("unsupported", f"the call does not parse: {_text(error)}") from None


def _warm_payload(restricted: bool) -> bytes:
    arguments = marshal.dumps(((1, "a", [2.5]), {}))
    calls = [("", "f", arguments), ("x = 1", "f(x, None, [(1, {2: 3})])", None)]
    return marshal.dumps((_WARM_SOURCE, None, restricted, calls, WORLD, "", 1 << 18, True, None))


def _text(error: BaseException) -> str:
    try:
        return str(error)[: wire.MAX_TEXT]
    except BaseException as other:
        return f"<{type(other).__name__} in str()>"


def _json(value: Any) -> bytes:
    return "".join(_encoder(value, 0)).encode("ascii")


def writer(descriptor: int) -> Callable[[bytes], object]:
    """Return a function that writes its whole argument to a descriptor."""

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    return write
