"""From a job to the bytes of a request, and from an answer's bytes to a result."""

from __future__ import annotations

import hashlib
import marshal
import re
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from codeguard.sandbox import decoding
from codeguard.sandbox.inside import wire
from codeguard.sandbox.inside.allowed import CORE, NUMERIC
from codeguard.sandbox.model import (
    CallResult,
    Importable,
    Job,
    JobResult,
    Level,
    LineCoverage,
    Outcome,
    Status,
    Tier,
)
from codeguard.sandbox.zygotes import Answer, End, LoadedModules, ZygoteDiedError

_SIGKILL, _SIGSYS = 9, 31
# of the limit, from which on a killed child counts as out of time: on a busy machine the kernel
# limits by ticks and reports less
_CPU_SHARE = 0.5
_FRAME_EXTRA = 4096  # extra bytes per call: brackets, exception names, messages
MOST_MODULES = 512  # that one job may import
MOST_CHARACTERS = 4 * 1024 * 1024  # of their sources
MOST_PARTS = 16  # of a module's name
_CODE_GROWTH = 8  # bytes of compiled code for a character of source, at most
_COMPILED = 500_000  # characters of source that are compiled in a second of a busy machine
_SAID = {
    "completed": Status.COMPLETED,
    "error": Status.ERROR,
    "memory": Status.MEMORY,
    "policy": Status.POLICY,
    "unsupported": Status.UNSUPPORTED,
}


_CACHED_BYTES = 64 * 1024 * 1024  # of compiled code
_IMPORT = re.compile(r"\bfrom\s+([\w.]+)\s+import\b|\bimport\s+([\w.]+(?:\s*,\s*[\w.]+)*)")
_DYNAMIC = ("__import__", "importlib", "import_module", "__builtins__", "__subclasses__")
# Letters first and the boundary before them last: a pattern that opens with a boundary is tried at every character,
# which took seconds for megabytes of source.
_MODULES = tuple(re.compile(rf"{word}\b(?<!\w{word})") for word in ("exec", "eval", "sys", "os"))
_CORE = frozenset(CORE)
_NUMERIC = re.compile(rf"\b(?:import|from)[ \t]{{1,9}}{NUMERIC[0]}\b")
# The lean one has no other encodings than every interpreter.
_ENCODED = re.compile(r"code\(\s*(?:encoding\s*=\s*)?['\"](?!utf-?8|ascii|latin)", re.IGNORECASE)


def code_key(source: str, tier: Tier) -> bytes:
    """Return the digest of what determines the compiled code within one process."""
    return hashlib.sha256(f"{tier.value}\0{source}".encode("utf-8", "surrogatepass")).digest()


class CodeCache:
    """The most recently used compiled code, at most `_CACHED_BYTES` of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._codes: OrderedDict[bytes, bytes] = OrderedDict()
        self._size = 0

    def get(self, key: bytes) -> bytes | None:
        """Return the cached code of a key, or None."""
        with self._lock:
            code = self._codes.get(key)
            if code is not None:
                self._codes.move_to_end(key)
            return code

    def put(self, key: bytes, code: bytes) -> None:
        """Cache code under a key; an existing entry stays."""
        with self._lock:
            if key in self._codes:
                return
            self._codes[key] = code
            self._size += len(code)
            while self._size > _CACHED_BYTES:
                self._size -= len(self._codes.popitem(last=False)[1])


@dataclass(frozen=True, slots=True)
class Request:
    """The request to a zygote: the payload for its child, and how many extra bytes may be returned.

    `keys` are those of the code that the child compiles before it runs anything, and returns in this order;
    `compiling_s` are the CPU seconds that it may take for that.
    """

    keys: tuple[bytes, ...]
    payload: bytes
    extra_bytes: int
    compiling_s: float


def refusal(job: Job, given: Iterable[str] = ()) -> str:
    """Return why a job cannot be sent, or ""."""
    if len(job.source) > wire.SOURCE_BYTES:
        return f"source of {len(job.source)} characters, at most {wire.SOURCE_BYTES}"
    if not 0 <= job.world.hash_seed < 1 << 32:
        return f"hash seed {job.world.hash_seed}, expected 0 to 2**32 - 1"
    if not job.world.module.isidentifier():
        return f"module name {job.world.module!r}, expected a name"
    for call in job.calls:
        if not decoding.allowed_as_argument((call.args, dict(call.kwargs))):
            return f"an argument of {call.target[:40]!r} is not a plain value"
    if (job.tier is Tier.IMPORTED) is (job.importing is None):
        return f"nothing to import, or something in the tier {job.tier.value}"
    return "" if job.importing is None else _unservable(job.importing, frozenset(given))


def _unservable(importing: Importable, given: frozenset[str]) -> str:
    """Return why a module cannot be imported in a child, or "".

    No name of the table is that of a standard module, or of a package that the user gives: it would stand for that.
    """
    modules = importing.modules
    if len(modules) > MOST_MODULES or sum(len(item.source) for item in modules.values()) > MOST_CHARACTERS:
        return f"more to import than {MOST_MODULES} modules of {MOST_CHARACTERS} characters"
    taken = sys.stdlib_module_names | given | {NUMERIC[0]}
    for name in (importing.name, *modules):
        parts = name.split(".")
        if len(parts) > MOST_PARTS or not all(map(str.isidentifier, parts)) or parts[0] in taken:
            return f"module name {name[:80]!r}, expected one of the corpus"
        for length in range(1, len(parts)):
            around = modules.get(".".join(parts[:length]))
            if around is None or not around.is_package:
                return f"no package around the module {name[:80]!r}"
    return "" if importing.name in modules else f"no source of the module {importing.name[:80]!r}"


def needed_modules(job: Job) -> LoadedModules:
    """Return the modules that a job needs, guessed from its text: too many cost time, too few an ImportError."""
    if job.importing is not None:
        modules = job.importing.modules.values()
        numeric = any(_NUMERIC.search(item.source) for item in modules)
        return LoadedModules.NUMERIC if numeric else LoadedModules.ALL
    texts = {job.source, *(call.setup for call in job.calls), *(call.target for call in job.calls)}
    text = "\n;\n".join(texts)
    names = {
        name.strip()
        for source, listed in (_IMPORT.findall(text) if "import" in text else ())
        for name in (source or listed).split(",")
    }
    if any(name.partition(".")[0] == NUMERIC[0] for name in names):
        return LoadedModules.NUMERIC
    if any(word in text for word in _DYNAMIC) or any(pattern.search(text) for pattern in _MODULES):
        return LoadedModules.ALL
    return LoadedModules.ALL if _ENCODED.search(text) or not names <= _CORE else LoadedModules.CORE


def request(job: Job, codes: CodeCache, policy: bool) -> Request:
    """Serialize a job, with its compiled code if known."""
    restricted = job.tier is Tier.RESTRICTED and policy
    key = code_key(job.source, Tier.RESTRICTED if restricted else Tier.NATIVE)
    code = codes.get(key)
    calls: list[Any] = []
    for call in job.calls:  # two calls' arguments share no objects
        given: Any = None if call.args is None else (call.args, dict(call.kwargs))
        calls.append((call.setup, call.target, given and marshal.dumps(given)))
    seen = job.world
    world = (seen.now, dict(seen.environment), seen.random_seed, seen.module, seen.folder, dict(seen.files))
    importing, characters = None, 0
    keys = [] if code is not None else [key]
    if job.importing is not None:
        served, missing = _served(job.importing, codes)
        importing = job.importing.name, served, list(missing.values())
        characters = sum(len(served[name][2]) for name in missing.values())
        keys += missing
    fields = (
        job.source if code is None else "",
        code,
        restricted,
        calls,
        world,
        job.trace,
        job.limits.frame_bytes,
        code is None,
        importing,
    )
    extra = _FRAME_EXTRA * (len(calls) + 1 + len(keys)) + (wire.CODE_BYTES if code is None else 0)
    payload = marshal.dumps(fields)
    return Request(tuple(keys), payload, extra + _CODE_GROWTH * characters, characters / _COMPILED)


def _served(
    importing: Importable, codes: CodeCache
) -> tuple[dict[str, tuple[bool, bytes | None, str]], dict[bytes, str]]:
    """Return the table of a child, and the names of expected modules without known code by the key of that.

    The table has by name whether it is a package, its code or None, and else its source.
    """
    table: dict[str, tuple[bool, bytes | None, str]] = {}
    missing: dict[bytes, str] = {}
    for name, item in importing.modules.items():
        key = importing.keys.get(name)
        code = None if key is None else codes.get(key)
        table[name] = item.is_package, code, item.source if code is None else ""
        if key is not None and code is None:
            missing.setdefault(key, name)
    return table, missing


def result(
    job: Job, level: Level, sent: Request, answer: Answer, codes: CodeCache, wall_s: float
) -> JobResult:
    """Return the result in an answer, as far as the bytes follow the protocol.

    Raises ZygoteDiedError if it is unknown how the child ended, or if that was not the job's doing.
    """
    bodies = deque(decoding.complete_frames(answer.output))
    spent = wall_s, answer.how()[1] + answer.idle_s
    for key in sent.keys:
        if not bodies or not bodies[0].startswith(wire.CODE):
            break
        # the child wrote all of them before running anything
        codes.put(key, bodies.popleft()[len(wire.CODE) :])
    try:
        if sum(map(len, bodies)) > job.limits.frame_bytes + _FRAME_EXTRA * (len(job.calls) + 1):
            raise decoding.MalformedError("more than the frame may hold")
        return _read(job, level, tuple(bodies), spent, lambda: _ended(answer, job))
    except decoding.MalformedError as error:
        return JobResult(Status.MALFORMED, level, job.tier, (), (), None, str(error), *spent)


def to_values(found: JobResult) -> list[Any]:
    """Return a result as plain values, for `from_values`."""
    frames = [frame.decode("ascii") for frame in found.frames]
    return [int(found.level), found.status, found.detail, found.wall_s, found.spent_s, frames]


def from_values(job: Job, values: list[Any]) -> JobResult:
    """Return the result of a job that has run before; raise MalformedError if the values are none of such a job."""
    try:
        level, status, detail, *spent, frames = values
        said = tuple(frame.encode("ascii") for frame in frames)
        return _read(job, Level(level), said, (spent[0], spent[1]), lambda: (Status(status), detail))
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise decoding.MalformedError(str(error)) from None


def _read(
    job: Job,
    level: Level,
    frames: tuple[bytes, ...],
    spent: tuple[float, float],
    ended: Callable[[], tuple[Status, str]],
) -> JobResult:
    """Return the result that frames give; `ended` says why the last one is missing, if it is."""
    calls, end = decoding.calls_and_end(frames, [call.args for call in job.calls])
    if end is not None:
        return replace(_finished(job, level, calls, end, spent), frames=frames)
    status, detail = ended()
    return JobResult(status, level, job.tier, _filled(calls, job), (), None, detail, *spent, frames)


def _finished(
    job: Job,
    level: Level,
    calls: list[CallResult],
    end: tuple[str, str, tuple[str, ...], LineCoverage | None],
    spent: tuple[float, float],
) -> JobResult:
    said, detail, effects, coverage = end
    status = _SAID.get(said)
    if status is None or (status is Status.COMPLETED and len(calls) != len(job.calls)):
        raise decoding.MalformedError("an end that does not fit")
    out_of_memory = (Outcome.RAISED, ("MemoryError",))
    if status is Status.COMPLETED and any(
        (call.outcome, call.exception[:1]) == out_of_memory for call in calls
    ):
        status = Status.MEMORY
    at = effects.index(wire.CALLS) if wire.CALLS in effects else len(effects)
    seen = tuple(dict.fromkeys((*effects[:at], *effects[at + 1 :])))
    called = effects[at + 1 :]
    return JobResult(
        status, level, job.tier, _filled(calls, job), seen, coverage, detail, *spent, called=called
    )


def _filled(calls: list[CallResult], job: Job) -> tuple[CallResult, ...]:
    return (*calls, *[CallResult(Outcome.NOT_RUN)] * (len(job.calls) - len(calls)))


def _ended(answer: Answer, job: Job) -> tuple[Status, str]:
    """Return the status of a child with incomplete frames, by what the zygote and the kernel saw."""
    status, cpu_s = answer.how()
    if answer.end is End.DEADLINE and cpu_s >= job.limits.cpu_s:
        return Status.TIMEOUT, f"more than {job.limits.cpu_s:.3g} s of CPU time"
    if answer.end is End.DEADLINE:
        return Status.TIMEOUT, f"longer than {job.limits.wall_s} s"
    if answer.end is End.FLOOD:
        return Status.MALFORMED, "more output than the frame may hold"
    number = status & 0x7F
    if number == _SIGKILL and cpu_s >= _CPU_SHARE * job.limits.cpu_s:
        return Status.TIMEOUT, f"more than {job.limits.cpu_s} s of CPU time"
    if number == _SIGSYS:
        return Status.VIOLATION, "killed for a forbidden system call"
    if number == _SIGKILL and not answer.output:
        # no child can send this signal, and this one may not even have read its job
        raise ZygoteDiedError("the child was killed from outside")
    if number == _SIGKILL:
        return Status.NO_SIGNAL, "ended without a whole frame"
    if number:
        return Status.CRASH, f"signal {number}"
    return Status.NO_SIGNAL, f"ended with {status >> 8} and without a whole frame"
