"""The zygote: confines itself, then forks confined children, each for one check.

It runs only its own code and never sees a job or an answer. For each child the host creates two pipes and
passes their far ends; input and output bypass the zygote. So its memory contains nothing of one check that
the next child could inherit.

Children are forked ahead: a child confines itself, waits on its own pipe, and
is there when its job comes. At the time of its fork the zygote holds no
descriptor of any other child.
"""

from __future__ import annotations

import _socket
import gc
import json
import os
import sys
from os import close, closerange  # as they are before files are in memory
from typing import Any

from . import confine, modules, syscalls, wire, world
from .runner import Runner, writer

if sys.platform == "linux" and syscalls.column(os.uname().machine) is not None:
    from .kernel import fork
else:
    from os import fork


def main(options: dict[str, Any]) -> None:
    """Load, confine, report the layers, then serve until the control socket closes."""
    control = _apart(options["control"])
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, control)  # asks what the filter forbids
    try:
        with open(0, "rb", closefd=False) as file:
            given = modules.Given(json.loads(file.read()))
        os.dup2(1, 0)  # keep no descriptor of the host open
        runner, confinement = start(control, options, given)
        hello = confinement.report()
    except Exception as error:
        hello = {"error": f"{type(error).__name__}: {error}"}
    _send(control, wire.frame(json.dumps(hello).encode()))
    if "error" not in hello:
        serve(line, runner, confinement)


def start(control: int, options: dict[str, Any], given: modules.Given) -> tuple[Runner, confine.Confinement]:
    """Load everything, then confine this process permanently."""
    runner = Runner()
    modules.preload(options["wide"])
    if options["numeric"]:
        modules.preload_numeric(options["numeric"])
    runner.prepare()
    sys.setrecursionlimit(1000)
    world.forget_paths()
    confine.limit_zygote()
    confinement = confine.confine(frozenset(options["without"]), control)
    if confinement.level() < 3:
        modules.forget_numeric()
    given.load()
    if "files" not in options["without"]:
        runner.install_files()
    runner.listen()
    gc.collect()
    gc.freeze()
    return runner, confinement


def _apart(control: int) -> int:
    """Move the control socket away from the numbers that a child's descriptors get."""
    os.dup2(control, _CONTROL)
    if control != _CONTROL:
        close(control)
    return _CONTROL


def _send(control: int, data: bytes) -> None:
    while data:
        data = data[os.write(control, data) :]


def serve(line: _socket.socket, runner: Runner, confinement: confine.Confinement) -> None:
    """Execute orders one after another, for ever."""
    closerange(wire.RESULT, wire.JOB + 1)  # the two numbers that the next two descriptors get
    waiting: list[int] = []  # children, the oldest first
    room = _socket.CMSG_SPACE(2 * wire.DESCRIPTOR_BYTES)
    gc.disable()  # a collection here would touch what every child shares
    while True:
        order, passed, _, _ = line.recvmsg(wire.ORDER.size, room, _socket.MSG_WAITALL)
        if len(order) != wire.ORDER.size:
            os._exit(0)  # the host closed the socket, and pid 1 takes its children along
        bury, cpu_s, memory_bytes = wire.ORDER.unpack(order)
        if bury:
            child = waiting.pop(0)
            os.kill(child, _SIGKILL)
            _, status, usage = os.wait4(child, 0)
            _send(_CONTROL, wire.REPLY.pack(status, usage.ru_utime + usage.ru_stime))
        if passed:
            bounds = confine.child_limits(cpu_s, memory_bytes)
            child = fork()
            if child == 0:
                _live(runner, confinement, bounds)
            closerange(wire.RESULT, wire.JOB + 1)
            waiting.append(child)


_SIGKILL = 9
_CONTROL = wire.JOB + 1


def _live(runner: Runner, confinement: confine.Confinement, bounds: confine.Bounds) -> None:
    """The child: confine, wait for the job, run it, end. Never returns."""
    try:
        confinement.enter_child(bounds)
        payload = _job()
        close(wire.JOB)
        gc.enable()
        runner.run(payload, writer(wire.RESULT))
        close(wire.RESULT)
    finally:
        os._exit(0)


def _job() -> bytearray:
    (size,) = wire.SIZE.unpack(_read(wire.SIZE.size))
    return _read(size)


def _read(size: int) -> bytearray:
    read = bytearray()
    while len(read) < size:
        part = os.read(wire.JOB, size - len(read))
        if not part:
            os._exit(0)  # this child is no longer needed
        read += part
    return read
