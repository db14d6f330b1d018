"""The zygote: confines itself, then forks one confined child for each request.

It runs no code but its own and reads nothing that a child wrote: the bytes go
to the host as they came. Jobs and answers pass through mappings of their own
that are gone before the next fork, because a child inherits all of this
process' memory, and an earlier job's results may be what a later one has to
find out by itself.
"""

from __future__ import annotations

import gc
import io
import json
import mmap
import os
import select
import sys
import time
from typing import Any

from . import confine, limits, modules, wire, world
from .runner import Runner, writer


def main(options: dict[str, Any]) -> None:
    """Load, confine, report the layers, then serve until the control socket closes."""
    control = options["control"]
    try:
        runner, confinement = start(control, options["wide"], frozenset(options["without"]))
        hello = confinement.report()
    except Exception as error:
        hello = {"error": f"{type(error).__name__}: {error}"}
    _send(control, wire.frame(json.dumps(hello).encode()))
    if "error" not in hello:
        serve(control, runner, confinement)


def start(control: int, wide: bool, without: frozenset[str]) -> tuple[Runner, confine.Confinement]:
    """Load everything, then confine this process for good."""
    runner = Runner()
    modules.preload(wide)
    runner.prepare()
    sys.setrecursionlimit(1000)
    world.forget_paths()
    limits.limit_zygote()
    confinement = confine.confine(without, control)
    gc.collect()
    gc.freeze()
    return runner, confinement


def _send(control: int, data: bytes | memoryview) -> None:
    with memoryview(data) as view:
        done = 0
        while done < len(view):
            with view[done:] as rest:
                done += os.write(control, rest)


def _room(size: int) -> mmap.mmap:
    """Return memory outside the heap: closing it gives the pages back to the kernel."""
    return mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _read_into(source: io.FileIO, room: mmap.mmap, start: int, end: int) -> int:
    """Read once, without a copy that would stay in the heap; 0 at the end of the stream."""
    with memoryview(room) as view, view[start:end] as part:
        return source.readinto(part)


def _receive(source: io.FileIO, size: int) -> mmap.mmap:
    room, done = _room(size), 0
    while done < size:
        count = _read_into(source, room, done, size)
        if not count:
            os._exit(0)  # the host is gone
        done += count
    return room


def serve(control: int, runner: Runner, confinement: confine.Confinement) -> None:
    """Answer requests one after another, for ever."""
    source = io.FileIO(control, closefd=False)
    while True:
        with _receive(source, wire.REQUEST.size) as header:
            deadline, cpu_s, memory_bytes, cap, size = wire.REQUEST.unpack(header)
        payload = _receive(source, size)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _live(runner, confinement, payload, writing, cpu_s, memory_bytes)
        os.close(writing)
        payload.close()
        with _room(cap + 1) as output:
            reason, length = _watch(control, reading, deadline, output)
            os.close(reading)
            os.kill(child, _SIGKILL)
            _, status, usage = os.wait4(child, 0)
            _send(control, wire.REPLY.pack(reason, status, usage.ru_utime + usage.ru_stime, length))
            with memoryview(output) as view, view[:length] as said:
                _send(control, said)


def _watch(control: int, reading: int, deadline: float, output: mmap.mmap) -> tuple[int, int]:
    """Collect a child's output until it closes its pipe, floods it or runs out of time.

    Returns the reason and the length of the output; one byte of room beyond the cap tells a flood.
    """
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    poll.register(control, select.POLLIN)
    end = time_left(deadline)
    cap, length = len(output) - 1, 0
    with io.FileIO(reading, closefd=False) as source:
        while True:
            left = end()
            if left <= 0:
                return wire.DEADLINE, length
            for descriptor, _ in poll.poll(left * 1000 + 1):
                if descriptor != reading:
                    os._exit(0)  # the host closed the socket, and pid 1 takes the child along
                count = _read_into(source, output, length, len(output))
                if not count:
                    return wire.ENDED, length
                length += count
                if length > cap:
                    return wire.FLOOD, cap


def time_left(seconds: float) -> Any:
    """Return a function that says how many seconds are left, by a clock that nobody replaced."""
    end = _monotonic() + seconds
    return lambda: end - _monotonic()


_SIGKILL = 9
_monotonic = time.monotonic  # taken before the world's clock stands in its place


def _live(
    runner: Runner,
    confinement: confine.Confinement,
    payload: mmap.mmap,
    writing: int,
    cpu_s: float,
    memory_bytes: int,
) -> None:
    """Be the child: confine, run, end. Never returns."""
    try:
        confinement.enter_child(writing, cpu_s, memory_bytes)
        runner.run(memoryview(payload), writer(wire.RESULT))
    finally:
        os._exit(0)
