"""Inputs and outputs of the sandbox: jobs, calls, limits, results, layers.

The values that cross the boundary are plain data. Nothing here is executed, and nothing here knows about
chunks, specs or scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property


class Level(IntEnum):
    """How strong the confinement is, as tested in a real child."""

    L0 = 0  # a separate process, rlimits where the system has them
    L1 = 1  # seccomp and rlimits
    L2 = 2  # seccomp, rlimits, no capabilities, an ordinary user; Landlock or namespaces
    L3 = 3  # every layer


class Tier(StrEnum):
    """How the source is compiled."""

    RESTRICTED = "restricted"  # RestrictedPython's policy
    NATIVE = "native"  # unmodified bytecode, operating system layers only (L2 or above)
    IMPORTED = "imported"  # the same, of a module that is imported with others of its corpus


class Status(StrEnum):
    """How a job ended, as the host saw it."""

    COMPLETED = "completed"  # a complete frame arrived: see the calls
    ERROR = "error"  # the module's top level raised
    TIMEOUT = "timeout"
    MEMORY = "memory"
    VIOLATION = "violation"  # killed for a forbidden system call
    POLICY = "policy"  # the restricted tier refuses the source
    CRASH = "crash"  # ended by a signal not caused by a limit
    MALFORMED = "malformed"  # a frame that breaks the protocol
    NO_SIGNAL = "no_signal"  # ended without a complete frame
    UNSUPPORTED = "unsupported"  # below the required level, or does not parse


class Outcome(StrEnum):
    """How one call ended."""

    RETURNED = "returned"
    RAISED = "raised"
    BADTYPE = "badtype"  # the value is of a type that the channel does not carry
    NOT_RUN = "not_run"  # an earlier call used up the budget


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one child in seconds and bytes.

    Both times are enforced from outside, the CPU time in whole seconds by the kernel too. The time that a child waits
    for a core does not count: a loaded machine must not change a result.
    """

    wall_s: float = 2.0
    cpu_s: float = 1.0
    memory_bytes: int = 512 * 1024 * 1024
    frame_bytes: int = 256 * 1024


@dataclass(frozen=True, slots=True)
class Call:
    """One call inside the child.

    `target` is an expression for the callable; with `args` None it is the complete expression to evaluate.
    `setup` are statements that run first, in this call's own scope on top of the module's. `args` and
    `kwargs` are plain values (None, bool, int, float, complex, str, bytes, list, tuple, dict, set,
    frozenset).
    """

    target: str
    args: tuple[object, ...] | None = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)
    setup: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """What the code sees of the outside; a second world reveals what depends on it.

    The module under test is imported as `module`, from a file of that name in the folder `folder`. `files`, by
    path relative to that folder, are in memory; each call starts with them as given.
    """

    now: float = 1_600_000_000.0  # start of the clock facades, in seconds since the epoch
    environment: Mapping[str, str] = field(default_factory=dict)
    hash_seed: int = 0
    random_seed: int = 0
    module: str = "candidate"
    folder: str = "/home/user/project"
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModuleText:
    """The source of a module that a child may import; its code is compiled once for many children."""

    source: str
    is_package: bool = False


@dataclass(frozen=True)
class Importable:
    """A module to import as it is, with every module that it can import beside the standard ones.

    `modules` are the sources by full dotted name, with those of `name` and of all packages around a module. They are
    read before the child starts: an import there is a look-up in this table and nothing else. `is_trusted` says that
    all of them are trusted; code that was compiled beside untrusted text is never run with trusted modules alone.
    """

    name: str
    modules: Mapping[str, ModuleText]
    is_trusted: bool = False

    @cached_property
    def keys(self) -> Mapping[str, bytes]:
        """The digest of each module, for its compiled code."""
        return {
            name: hashlib.sha256(
                f"module\0{self.is_trusted}\0{item.source}".encode("utf-8", "surrogatepass")
            ).digest()
            for name, item in self.modules.items()
        }


@dataclass(frozen=True, slots=True)
class Job:
    """A module's source and the calls to make on it, in one fresh child.

    In the tier of imported modules, `importing` is imported first, and the source is executed among its names.
    """

    source: str
    calls: tuple[Call, ...]
    tier: Tier = Tier.RESTRICTED
    limits: Limits = Limits()
    world: World = World()
    trace: str = ""  # name of the function whose coverage to report, or ""
    importing: Importable | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value without a plain form: an instance, described by its type and its public fields."""

    type_name: str
    fields: tuple[tuple[str, object], ...] = ()

    def __repr__(self) -> str:
        """Return a readable form; a field that is the value's own repr is used unchanged if printable."""
        if len(self.fields) == 1 and self.fields[0][0] == "repr":
            return _printable(str(self.fields[0][1]))
        parts = [f"{_printable(name)}={value!r}" if name else repr(value) for name, value in self.fields]
        return f"{_printable(self.type_name)}({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Iteration:
    """The items of an iterator or generator; `exhausted` is False if the limit was reached."""

    type_name: str
    items: tuple[object, ...]
    exhausted: bool = True

    def __repr__(self) -> str:
        """Return its items in readable form."""
        shown = ", ".join(map(repr, self.items))
        return f"{_printable(self.type_name)} of [{shown}{'' if self.exhausted else ', ...'}]"


def _printable(text: str) -> str:
    """Return a text from a possibly hostile child without terminal control characters."""
    return text if text.isprintable() else repr(text)[1:-1]


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call.

    `args_after` are the arguments after the call, to see mutation in place.
    `exception` is the type's name and the names of its bases, most derived
    first; `message` its text, capped. `files` are those that the call made,
    changed or removed, by path (relative to the world's folder if below
    it): bytes, the target of a symbolic link, or None for what is gone; the
    path of a folder ends with a slash.
    """

    outcome: Outcome
    value: object = None
    args_after: tuple[object, ...] | None = None
    exception: tuple[str, ...] = ()
    message: str = ""
    stdout: str = ""
    files: tuple[tuple[str, bytes | str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class LineCoverage:
    """Lines (1-based, of the job's source) reached, and branch arcs, as reported by the child."""

    executable: frozenset[int] = frozenset()
    reached: frozenset[int] = frozenset()
    arcs: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class JobResult:
    """The host's result of one job. `effects` are what the code tried to do (`open:/etc/passwd`), `called` those of
    its calls, without what the module did when it was executed.

    `spent_s` are the CPU seconds of the child, with those that it slept, as the kernel counts them for its parents.
    `frames` are what the child wrote, of which the calls and the end were read.
    """

    status: Status
    level: Level
    tier: Tier
    calls: tuple[CallResult, ...] = ()
    effects: tuple[str, ...] = ()
    coverage: LineCoverage | None = None
    detail: str = ""
    wall_s: float = 0.0
    spent_s: float = 0.0
    frames: tuple[bytes, ...] = field(default=(), repr=False, compare=False)
    called: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of confinement, tested by trying what it forbids."""

    name: str
    engaged: bool
    detail: str
