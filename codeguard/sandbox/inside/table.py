"""Imports the modules of one job, from a table that came with it.

A request is a key of the table: no path is opened, and nothing is asked of the host. What is there without the table
(built in, loaded, given) comes first. A module that is not to be had, such as a package of others or a compiled one, is
stood in for where the import of the job's module would fail without it: it can be imported and held, and every use in a
call raises what its import would have.
"""

from __future__ import annotations

import _imp
import importlib
import marshal
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from marshal import loads  # before any code under test runs
from typing import Any, cast

from . import wire
from .effects import Effects

# by full name: whether a package, the code if known, the source
Modules = dict[str, tuple[bool, bytes | None, str]]


def compiled_ahead(modules: Modules, names: list[str]) -> Iterator[bytes]:
    """Compile these modules of a table, put their code there and yield it; that of what does not compile is None."""
    for name in names:
        is_package, _, source = modules[name]
        try:
            code = marshal.dumps(compile(source, name, "exec", dont_inherit=True))
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
            code = marshal.dumps(None)
        modules[name] = is_package, code, ""
        yield code


class Table:
    """Finds and executes the modules of a table, as if they were files of a folder."""

    def __init__(self, modules: Modules, folder: str, effects: Effects) -> None:
        self._modules = modules
        self._folder = folder
        self._effects = effects
        self._left = wire.MAX_IMPORTS
        self._absent: set[str] = set()
        self._lacking = ""  # the last module that was asked for and is not here

    def load(self, name: str) -> types.ModuleType:
        """Import a module of the table, and stand in for modules without which that fails."""
        sys.meta_path.append(cast(Any, self))
        while True:
            try:
                imported = importlib.import_module(name)
                break
            except ImportError as error:
                # `from . import part` does not say which part is missing
                lacking = error.name if type(error) is ModuleNotFoundError else self._lacking
                if len(self._absent) >= wire.MAX_ABSENT or not self._stand_in(lacking):
                    raise
                for other in self._modules:  # each module once, and all of them one
                    sys.modules.pop(other, None)
        Absent.is_importing = False
        if not isinstance(imported, types.ModuleType):
            raise ImportError(f"the module {name} puts something else in its place", name=name)
        return imported

    def _stand_in(self, name: object) -> bool:
        """Let a module that is not to be had be imported; return whether that is new."""
        if type(name) is not str or not name:
            return False
        top = name.partition(".")[0]
        absent = name if top in self._modules or top in sys.modules else top
        if absent in self._modules or self._is_absent(absent):
            return False
        self._absent.add(absent)
        self._effects.note("absent", absent)
        return True

    def _is_absent(self, name: str) -> bool:
        parts = name.split(".")
        return any(".".join(parts[:length]) in self._absent for length in range(1, len(parts) + 1))

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return where a module of the table would be on a disk."""
        if type(name) is not str or (name not in self._modules and not self._is_absent(name)):
            self._lacking = name
            return None
        is_package = name not in self._modules or self._modules[name][0]
        place = f"{self._folder}/{name.replace('.', '/')}"
        file = f"{place}/__init__.py" if is_package else f"{place}.py"
        spec = ModuleSpec(name, cast(Any, self), origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [place]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the interpreter."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute the code as an import from a file does."""
        spec = module.__spec__
        assert spec is not None
        self._left -= 1
        if self._left < 0:
            raise ImportError("more imports than one job may make", name=spec.name)
        file = str(spec.origin)
        module.__loader__ = spec.loader = SourceFileLoader(spec.name, file)
        if spec.name not in self._modules:
            vars(module)["__getattr__"] = Absent(spec.name).member
            return
        _, code, source = self._modules[spec.name]
        compiled = compile(source, file, "exec", dont_inherit=True) if code is None else loads(code)
        if compiled is None:
            raise SyntaxError(f"invalid syntax in {file}")
        _imp._fix_co_filename(compiled, file)  # type: ignore[attr-defined]
        # what an import does by itself is not recorded, and this is the code under test
        recording, self._effects.active = self._effects.active, True
        try:
            exec(compiled, vars(module))
        finally:
            self._effects.active = recording


class Absent:
    """Stands for what a module that is not to be had would give."""

    is_importing = True

    def __init__(self, name: str) -> None:
        self._name = name

    def member(self, name: str) -> Absent:
        """Return what stands for an attribute, unless the interpreter asks for one of its own."""
        if name.startswith("__"):
            raise AttributeError(f"module {self._name!r} has no attribute {name!r}")
        return self._use()

    def _use(self, *_: Any, **__: Any) -> Absent:
        return self if Absent.is_importing else self.refuse()

    def refuse(self, *_: Any) -> Any:
        """Raise what the import of the module would have raised."""
        raise ModuleNotFoundError(f"No module named {self._name!r}", name=self._name)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        names = {
            "__init__": lambda _, *given, **named: self._made(given, named),
            "__getattr__": lambda _, name: self.member(name),
        }
        return (type(self._name, (), names),)

    def _made(self, *given: Any) -> None:
        if any(given) and not Absent.is_importing:
            self.refuse()

    __getattr__ = member
    __call__ = __getitem__ = __or__ = __ror__ = __enter__ = _use
    __bool__ = __len__ = __iter__ = __contains__ = __instancecheck__ = __subclasscheck__ = refuse
