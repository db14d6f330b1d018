"""Which standard modules the code can import, and how the restricted tier sees them.

All of them are loaded in the zygote: in a confined child nothing can be read
from disk. The native tier gets the modules themselves. The restricted tier
gets frozen facades that show chosen names and no module underneath.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
import types
import typing
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any, cast

from . import policy
from .allowed import ALL, CHOSEN, COMPUTING, CORE, NUMERIC, given, withheld

# withheld from the facades: they lead to modules, frames or arbitrary attributes
_HIDDEN: dict[str, frozenset[str]] = {
    "operator": frozenset({"attrgetter", "methodcaller"}),
    "types": frozenset({"CodeType", "FrameType", "TracebackType", "ModuleType"}),
    "typing": frozenset({"get_type_hints", "evaluate_forward_ref", "ForwardRef"}),
    # the first writes into the module that a class says it is from, the second fetches what its fields name
    "enum": frozenset({"global_enum", "property"}),
    # they execute texts, and fetch attributes, of names that annotations and fields may give
    "dataclasses": frozenset({"make_dataclass", "dataclass", "asdict", "astuple", "replace"}),
    # a subclass says which attribute of `sys` they exchange
    "contextlib": frozenset({"redirect_stdout", "redirect_stderr"}),
    "string": frozenset({"Formatter"}),
    # its register evaluates annotations that are text, by rules of its own
    "functools": frozenset({"singledispatch", "singledispatchmethod"}),
}
_EXTRA: dict[str, tuple[str, ...]] = {
    "re": ("Pattern", "Match"),
    "types": ("UnionType", "GenericAlias", "NoneType"),
}


_SHOWN = COMPUTING | frozenset(CHOSEN)


def _typing_extensions() -> types.ModuleType:
    """Make what most packages import for their annotations: typing, with what newer versions of it have."""
    module = types.ModuleType("typing_extensions")
    names = vars(module)
    names.update((name, getattr(typing, name)) for name in typing.__all__)
    names["__all__"] = [*typing.__all__]

    def parameter(make: Any) -> Any:
        def made(name: str, *bounds: Any, default: Any = None, **more: Any) -> Any:
            return make(name, *bounds, **more)

        return made

    def unchanged(*_: Any, **__: Any) -> Callable[[Any], Any]:
        return lambda item: item

    names.update(TypeVar=parameter(typing.TypeVar), ParamSpec=parameter(typing.ParamSpec))
    names.update(override=lambda method: method, deprecated=unchanged)
    names.update(dict.fromkeys(("ReadOnly", "TypeForm", "TypeIs"), typing.Optional))
    return module


def preload(wide: bool) -> None:
    """Load what code may import, all or the core; what this interpreter does not have is left out."""
    if wide:
        sys.modules["typing_extensions"] = _typing_extensions()
    for name in ALL if wide else CORE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    functools.update_wrapper = _wrapping  # for the standard modules that wrap what they are given
    if "mimetypes" in sys.modules:
        sys.modules["mimetypes"].init(())  # else the first call reads this machine's tables
    install_loop()


def preload_numeric(folder: str) -> None:
    """Load numpy from the folder that codeguard has it from: its compiled parts cannot be had once confined."""
    for library in ("OPENBLAS", "OMP", "MKL"):  # threads would not live through a fork
        os.environ[f"{library}_NUM_THREADS"] = "1"
    sys.path.append(folder)
    for name in NUMERIC:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.path.remove(folder)


def forget_numeric() -> None:
    """Remove numpy again: a sandbox that lacks a layer must not offer third-party compiled code."""
    for name in [name for name in sys.modules if name.partition(".")[0] == NUMERIC[0]]:
        del sys.modules[name]


class Given:
    """Finds the modules that the user allows trusted code to import, in the texts that the host read.

    Their code is the user's choice, and still runs within the confinement alone.
    """

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts
        given.update(place.partition("/")[0].removesuffix(".py") for place in texts)

    def load(self) -> None:
        """Import them, so that a child need not; failures are raised in the child that imports the module."""
        if self._texts:
            sys.meta_path.append(self)
        for name in sorted(given):
            with contextlib.suppress(Exception):
                importlib.import_module(name)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return where a module's text is: that of a package, or of a file."""
        place, loader = name.replace(".", "/"), cast(Any, self)
        for file in (f"{place}/__init__.py", f"{place}.py"):
            if file in self._texts:
                return ModuleSpec(name, loader, origin=file, is_package=file.endswith("/__init__.py"))
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the interpreter."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute the text as an import does."""
        assert module.__spec__ is not None
        place = str(module.__spec__.origin)
        exec(compile(self._texts[place], place, "exec", dont_inherit=True), vars(module))


class Facade:
    """A frozen view of a module: chosen names, read only."""

    __slots__ = ("__all__", "__name__", "_hidden", "_names")

    def __init__(self, name: str, names: dict[str, Any], hidden: frozenset[str]) -> None:
        object.__setattr__(self, "__name__", name)
        object.__setattr__(self, "_names", types.MappingProxyType(names))
        object.__setattr__(self, "_hidden", hidden)
        object.__setattr__(self, "__all__", tuple(name for name in names if not name.startswith("_")))

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "_names")[name]
        except KeyError:
            own = object.__getattribute__(self, "__name__")
            if name in object.__getattribute__(self, "_hidden"):
                policy.refuse(f"{own}.{name}")
            raise AttributeError(f"module {own!r} has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        policy.refuse(f"a change of {object.__getattribute__(self, '__name__')}")
        raise AttributeError("a module's names are read only here")

    def __delattr__(self, name: str) -> None:
        setattr(self, name, None)

    def __dir__(self) -> list[str]:
        return sorted(object.__getattribute__(self, "_names"))

    def __repr__(self) -> str:
        return f"<module {object.__getattribute__(self, '__name__')!r}>"


def _attrgetter(*paths: str) -> Callable[[Any], Any]:
    def fetch(target: Any, path: str) -> Any:
        for name in path.split("."):
            target = policy.guarded_getattr(target, name)
        return target

    if len(paths) == 1:
        return lambda target: fetch(target, paths[0])
    return lambda target: tuple(fetch(target, path) for path in paths)


def _methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda target: policy.guarded_getattr(target, name)(*args, **kwargs)


_real_update_wrapper = functools.update_wrapper


def _wrapping(
    wrapper: Any,
    wrapped: Any,
    assigned: Iterable[str] = functools.WRAPPER_ASSIGNMENTS,
    updated: Iterable[str] = functools.WRAPPER_UPDATES,
) -> Any:
    """Do what functools.update_wrapper does, but hand out no dict of a built-in type."""
    if not policy.has_plain_dict(wrapped):
        updated = [name for name in updated if name != "__dict__"]
    return _real_update_wrapper(wrapper, wrapped, assigned, updated)


def _update_wrapper(
    wrapper: Any,
    wrapped: Any,
    assigned: Iterable[str] = functools.WRAPPER_ASSIGNMENTS,
    updated: Iterable[str] = functools.WRAPPER_UPDATES,
) -> Any:
    """Stand for functools.update_wrapper, which fetches whatever it is told to."""
    for name in assigned:
        usual = name in functools.WRAPPER_ASSIGNMENTS
        fetch, put = (getattr, setattr) if usual else (policy.guarded_getattr, policy.guarded_setattr)
        try:
            found = fetch(wrapped, name)
        except AttributeError:
            continue
        put(wrapper, name, found)
    for name in updated:
        if name != "__dict__" or policy.has_plain_dict(wrapped):
            policy.guarded_getattr(wrapper, name).update(policy.guarded_getattr(wrapped, name, {}))
    wrapper.__wrapped__ = wrapped
    return wrapper


def _wraps(wrapped: Any, *how: Iterable[str], **named: Iterable[str]) -> Callable[[Any], Any]:
    return lambda wrapper: _update_wrapper(wrapper, wrapped, *how, **named)


_REPLACED: dict[str, dict[str, Any]] = {
    "operator": {"attrgetter": _attrgetter, "methodcaller": _methodcaller},
    "functools": {"update_wrapper": _update_wrapper, "wraps": _wraps},
}


def _public(name: str, module: types.ModuleType) -> dict[str, Any]:
    if name in CHOSEN:
        return {one: getattr(module, one) for one in CHOSEN[name] if hasattr(module, one)}
    hidden = _HIDDEN.get(name, frozenset())
    listed = getattr(module, "__all__", None) or [one for one in vars(module) if not one.startswith("_")]
    shown = {}
    for one in [*listed, *_EXTRA.get(name, ())]:
        value = getattr(module, one, None)
        if one in hidden or not hasattr(module, one) or isinstance(value, types.ModuleType):
            continue
        shown[one] = value
    shown.update(_REPLACED.get(name, {}))
    if module.__doc__:
        shown["__doc__"] = module.__doc__
    return shown


class Facades:
    """Makes the facades of one child, each on its first import."""

    def __init__(self, note: Callable[[str, object], None]) -> None:
        self._note = note
        self._made: dict[str, Facade] = {}

    def _facade(self, name: str) -> Facade:
        made = self._made.get(name)
        if made is None:
            if name not in _SHOWN or name not in sys.modules:
                # What a loaded module is made of (`posix`, `_ast`, `urllib`) is there for the native tier, too.
                if withheld(name) or name in sys.modules:
                    policy.refuse(f"import of {name}")
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            names = _public(name, sys.modules[name])
            prefix = name + "."
            for other in _SHOWN:
                if other.startswith(prefix) and "." not in other[len(prefix) :] and other in sys.modules:
                    names[other[len(prefix) :]] = self._facade(other)
            made = self._made[name] = Facade(
                name, names, frozenset(vars(sys.modules[name])) - frozenset(names)
            )
        return made

    def import_(
        self, name: str, scope: object = None, names: object = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        """Stand for `__import__` in the restricted tier."""
        self._note("import", name)
        if type(name) is not str or level != 0:
            raise ImportError("attempted relative import with no known parent package")
        if fromlist:
            return self._facade(name)
        self._facade(name)
        return self._facade(name.partition(".")[0])


# Coroutines run to completion on an event loop without sockets, whose clock advances when all wait.

_MAX_RESUMED = 10_000


def completed(value: Any) -> Any:
    """Return a coroutine's result, an iterator over an asynchronous generator, or the value itself."""
    if type(value) is types.AsyncGeneratorType:
        return _items(value)
    return _result(value) if type(value) is types.CoroutineType else value


def _items(made: AsyncGenerator[Any, None]) -> Iterator[Any]:
    while True:
        try:
            yield _result(_next_of(made))
        except StopAsyncIteration:
            return


async def _next_of(made: AsyncGenerator[Any, None]) -> Any:
    return await made.__anext__()


def _result(coroutine: Coroutine[Any, Any, Any]) -> Any:
    asyncio = sys.modules.get("asyncio")  # only the wide zygote has it, and then the code may use it
    if asyncio is not None:
        return asyncio.new_event_loop().run_until_complete(coroutine)
    for _ in range(_MAX_RESUMED):
        try:
            awaited = coroutine.send(None)
        except StopIteration as end:
            return end.value
        if awaited is not None:
            break
    raise RuntimeError("waits for what nothing here gives")


def install_loop() -> None:
    """If asyncio is loaded, make it create loops without descriptors, which the kernel would refuse."""
    if "asyncio" not in sys.modules:
        return
    import asyncio

    class Loop(asyncio.BaseEventLoop):
        """Waits by advancing its clock."""

        def __init__(self) -> None:
            super().__init__()
            self._selector = self
            self._now = 0.0

        def time(self) -> float:
            return self._now

        def select(self, timeout: float | None) -> list[Any]:
            if timeout is None:
                raise RuntimeError("waits for what nothing here gives")
            self._now += timeout
            return []

        def _process_events(self, events: list[Any]) -> None:
            """There are none."""

    policy: Any = type(asyncio.get_event_loop_policy())
    policy._loop_factory = Loop
    # It would read the environment on behalf of the code.
    vars(asyncio.coroutines)["_is_debug_mode"] = lambda: False
