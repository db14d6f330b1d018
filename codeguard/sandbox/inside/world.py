"""The clock, randomness, environment and identity that the code sees.

Prepared once in the zygote, set for each job in its child. Nothing here is a
boundary: it makes runs repeatable, and the differences between two worlds
show what depends on them. Every read of a clock advances it a little, and sleeping advances it without
waiting, so loops that wait for time end.
"""

from __future__ import annotations

import builtins
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from .effects import Effects

_WORD = (1 << 64) - 1
_TICK = 10_000  # nanoseconds per read of the clock
_HOST = "sandbox"
# of the process, which tells nothing about how many others there were and whose machine it is
_IDENTITY = {
    **{"getpid": 100, "getppid": 1},
    **dict.fromkeys(("getuid", "geteuid", "getgid", "getegid"), 1000),
    "sched_getaffinity": {0},
}


class Clock:
    """A clock that runs only when it is read or slept on; nanoseconds since the epoch."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._now = 1_600_000_000 * 10**9
        self._start = self._now

    def set(self, now: float) -> None:
        """Start the clock at `now`, seconds since the epoch."""
        self._now = self._start = round(now * 1e9)

    def peek(self) -> int:
        """Return the same without a tick or an effect, for code that only needs a timestamp."""
        return self._now

    def read(self) -> int:
        """Return nanoseconds since the epoch and let the clock tick."""
        self._effects.note("clock")
        self._now += _TICK
        return self._now

    def elapsed(self) -> int:
        """Return nanoseconds since the child started and let the clock tick."""
        return self.read() - self._start

    def sleep(self, seconds: float) -> None:
        """Advance the clock instead of waiting."""
        self._effects.note("sleep")
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        self._now += round(seconds * 1e9)


class Environment(MutableMapping[str, str]):
    """Replacement for os.environ: the job's variables; every access is recorded."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._values: dict[str, str] = {}

    def set(self, values: Mapping[str, str]) -> None:
        """Replace the contents."""
        self._values = dict(values)

    def __getitem__(self, key: str) -> str:
        self._effects.note("env", key)
        if not isinstance(key, str):
            raise TypeError(f"str expected, not {type(key).__name__}")
        return self._values[key]

    def __setitem__(self, key: str, value: str) -> None:
        self._effects.note("setenv", key)
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("str expected")
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        self._effects.note("setenv", key)
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        self._effects.note("env", "*")
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def copy(self) -> dict[str, str]:
        """Return the contents as a dict."""
        return dict(self)


def _clocked(clock: Clock) -> dict[str, Callable[..., Any]]:
    """Return the replacements for functions of the time module."""
    real_localtime, real_strftime, real_asctime = time.localtime, time.strftime, time.asctime

    def seconds() -> float:
        return clock.read() / 1e9

    def elapsed() -> float:
        return clock.elapsed() / 1e9

    def of_now(real: Callable[[float], Any]) -> Callable[..., Any]:
        return lambda when=None: real(seconds() if when is None else when)

    return {
        **{"time": seconds, "time_ns": clock.read, "sleep": clock.sleep},
        **dict.fromkeys(("monotonic", "perf_counter", "process_time", "thread_time"), elapsed),
        **dict.fromkeys(
            ("monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns"), clock.elapsed
        ),
        "clock_gettime": lambda which: seconds() if which == 0 else elapsed(),
        "clock_gettime_ns": lambda which: clock.read() if which == 0 else clock.elapsed(),
        **{name: of_now(getattr(time, name)) for name in ("localtime", "gmtime", "ctime")},
        "asctime": lambda when=None: real_asctime(real_localtime(seconds()) if when is None else when),
        "strftime": lambda form, when=None: real_strftime(
            form, real_localtime(seconds()) if when is None else when
        ),
    }


def _clock_datetime(module: Any, clock: Clock) -> None:
    """Install a datetime class with this clock in the datetime module.

    Only `now` and `utcnow` read the system's clock themselves; `today` and `date.today` use the time module.
    """
    real, utc = module.datetime, module.timezone.utc

    class LikeReal(type(real)):  # type: ignore[misc]
        """Lets instances of the real class count as instances of the clocked one."""

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real) if cls is Clocked else type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, real) if cls is Clocked else type.__subclasscheck__(cls, subclass)

    def now(cls: Any, tz: Any = None) -> Any:
        seconds, nanoseconds = divmod(clock.read(), 10**9)
        made = cls.fromtimestamp(seconds, tz or utc).replace(microsecond=nanoseconds // 1000)
        return made if tz is not None else made.replace(tzinfo=None)

    def utcnow(cls: Any) -> Any:
        return now(cls)

    def show(self: Any) -> str:
        return f"datetime.{real.__repr__(self)}"

    class Clocked(real, metaclass=LikeReal):  # type: ignore[misc, valid-type]
        __slots__ = ()

    Clocked.__module__, Clocked.__name__, Clocked.__qualname__ = "datetime", "datetime", "datetime"
    Clocked.now, Clocked.utcnow = classmethod(now), classmethod(utcnow)
    Clocked.__repr__ = show  # type: ignore[method-assign]
    module.datetime = Clocked
    if "_datetime" in sys.modules:
        vars(sys.modules["_datetime"])["datetime"] = Clocked


def _clock_numpy(module: Any) -> None:
    """Install a class with this clock in place of numpy's dates, which read the system's for "now" and "today".

    It makes dates of the real class, and equals it for numpy's own tables. Arrays that are made of such texts
    still read the system's clock.
    """
    real = module.datetime64

    class LikeReal(type):
        """Lets the class stand for the real one."""

        def __call__(cls, *arguments: Any) -> Any:
            text = arguments[0] if arguments and type(arguments[0]) in (str, bytes) else ""
            name = os.fsdecode(text).lower()
            if name in ("now", "today"):
                form = "%Y-%m-%d" if name == "today" else "%Y-%m-%dT%H:%M:%S"
                arguments = time.strftime(form, time.gmtime()), *arguments[1:]
            return real(*arguments)

        def __getattr__(cls, name: str) -> Any:
            return getattr(real, name)

        def __eq__(cls, other: object) -> bool:
            return other is cls or other is real

        def __hash__(cls) -> int:
            return hash(real)

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return subclass is cls or issubclass(subclass, real)

    module.datetime64 = LikeReal("datetime64", (), {"dtype": module.dtype("M8"), "__module__": "numpy"})


class World:
    """Clock, randomness and environment of one child."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self.clock = Clock(effects)
        self.environment = Environment(effects)
        self._state = 0
        self._reseed: list[Callable[[int], object]] = []

    def install(self) -> None:
        """Replace access to the outside in the standard modules; once, in the zygote."""
        for name, function in _clocked(self.clock).items():
            if hasattr(time, name):
                setattr(time, name, function)
        if "datetime" in sys.modules:
            _clock_datetime(sys.modules["datetime"], self.clock)
        if "numpy" in sys.modules:
            _clock_numpy(sys.modules["numpy"])
        environment = {
            "environ": self.environment,
            "getenv": self.environment.get,
            "putenv": self.environment.__setitem__,
            "unsetenv": self.environment.__delitem__,
        }
        for name, value in environment.items():
            setattr(os, name, value)
        for name, found in _IDENTITY.items():
            if hasattr(os, name):
                setattr(os, name, lambda *_, found=found: found)
        if hasattr(os, "uname"):
            system = os.uname_result(("Linux", _HOST, "6.1.0", "#1 SMP", os.uname().machine))
            os.uname = lambda: system
        if "platform" in sys.modules:
            vars(sys.modules["platform"])["_uname_cache"] = None
        os.urandom = self._bytes
        if hasattr(os, "getrandom"):
            os.getrandom = lambda size, flags=0: self._bytes(size)
        if "socket" in sys.modules:
            network: Any = sys.modules["socket"]
            network.gethostname = lambda: _HOST
        if "uuid" in sys.modules:
            # libuuid reads the clock and the network card itself; without it Python's implementation is used
            uuid: Any = sys.modules["uuid"]
            uuid._generate_time_safe = uuid._UuidCreate = None
            uuid._node = 0x0242AC110002
            vars(sys.modules.get("_uuid", uuid)).pop("generate_time_safe", None)
        if "ssl" in sys.modules:
            vars(sys.modules["ssl"])["RAND_bytes"] = self._bytes
        if "random" in sys.modules:
            self._seed_plainly(sys.modules["random"])
        if "numpy.random" in sys.modules:
            numeric: Any = sys.modules["numpy.random"]
            self._reseed.append(lambda seed: numeric.seed(seed & 0xFFFFFFFF))
        real_import = builtins.__import__

        def noting_import(
            name: str,
            globals: Any = None,  # noqa: A002
            locals: Any = None,  # noqa: A002
            fromlist: Any = (),
            level: int = 0,
        ) -> Any:
            # the audit event comes only for modules that are not loaded yet
            if self._effects.active:
                if not level:
                    self._effects.note("import", name)
                self._effects.active = False
                try:
                    return real_import(name, globals, locals, fromlist, level)
                finally:
                    self._effects.active = True
            return real_import(name, globals, locals, fromlist, level)

        builtins.__import__ = noting_import

    def _bytes(self, size: int) -> bytes:
        """Replace the system's random bytes: SplitMix64 from the job's seed."""
        self._effects.note("random")
        made = bytearray()
        while len(made) < size:
            made += self._word().to_bytes(8, "little")
        return bytes(made[:size])

    def _word(self) -> int:
        """Return the next 64 bits (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _WORD
        mixed = self._state
        mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _WORD
        return mixed ^ mixed >> 31

    def _seed_plainly(self, module: Any) -> None:
        """Seed `random.Random()` from the job's seed instead of from the system."""
        real_seed, word = module.Random.seed, self._word

        def seed(self: Any, a: Any = None, version: int = 2) -> None:
            real_seed(self, word() if a is None else a, version)

        module.Random.seed = seed
        module._urandom = self._bytes
        self._reseed.append(module.seed)

    def enter(self, now: float, environment: Mapping[str, str], random_seed: int) -> None:
        """Set the world of this child."""
        self.clock.set(now)
        self.environment.set(environment)
        self._state = random_seed & _WORD
        if "logging" in sys.modules:  # records tell the time since this start
            logging: Any = sys.modules["logging"]
            logging._startTime = now if isinstance(logging._startTime, float) else round(now * 1e9)
        for reseed in self._reseed:
            reseed(random_seed)


def forget_paths() -> None:
    """Remove the path finders, so that only loaded modules can be imported."""
    sys.path[:] = []
    sys.path_hooks[:] = []
    sys.path_importer_cache.clear()
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PathFinder"]
