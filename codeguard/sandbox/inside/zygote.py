"""The zygote: confines itself, then forks one confined child for each request.

It runs no code but its own and reads nothing that a child wrote: the bytes go
to the host as they came.
"""

from __future__ import annotations

import gc
import json
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


def _send(control: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(control, view) :]


def _receive(control: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(control, min(size, 1 << 20))
        if not part:
            os._exit(0)  # the host is gone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def serve(control: int, runner: Runner, confinement: confine.Confinement) -> None:
    """Answer requests one after another, for ever."""
    while True:
        header = _receive(control, wire.REQUEST.size)
        deadline, cpu_s, memory_bytes, cap, size = wire.REQUEST.unpack(header)
        payload = _receive(control, size)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _live(runner, confinement, payload, writing, cpu_s, memory_bytes)
        os.close(writing)
        del payload
        reason, output = _watch(control, reading, deadline, cap)
        os.close(reading)
        os.kill(child, _SIGKILL)
        _, status, usage = os.wait4(child, 0)
        _send(control, wire.REPLY.pack(reason, status, usage.ru_utime + usage.ru_stime, len(output)) + output)


def _watch(control: int, reading: int, deadline: float, cap: int) -> tuple[int, bytes]:
    """Collect a child's output until it closes its pipe, floods it or runs out of time."""
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    poll.register(control, select.POLLIN)
    end = time_left(deadline)
    output = bytearray()
    while True:
        left = end()
        if left <= 0:
            return wire.DEADLINE, bytes(output)
        for descriptor, _ in poll.poll(left * 1000 + 1):
            if descriptor != reading:
                os._exit(0)  # the host closed the socket, and pid 1 takes the child along
            part = os.read(reading, 1 << 16)
            if not part:
                return wire.ENDED, bytes(output)
            output += part
            if len(output) > cap:
                return wire.FLOOD, bytes(output[:cap])


def time_left(seconds: float) -> Any:
    """Return a function that says how many seconds are left, by a clock that nobody replaced."""
    end = _monotonic() + seconds
    return lambda: end - _monotonic()


_SIGKILL = 9
_monotonic = time.monotonic  # taken before the world's clock stands in its place


def _live(
    runner: Runner,
    confinement: confine.Confinement,
    payload: bytes,
    writing: int,
    cpu_s: float,
    memory_bytes: int,
) -> None:
    """Be the child: confine, run, end. Never returns."""
    try:
        confinement.enter_child(writing, cpu_s, memory_bytes)
        runner.run(payload, writer(wire.RESULT))
    finally:
        os._exit(0)
