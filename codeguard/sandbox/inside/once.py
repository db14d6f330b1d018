"""Runs the one request on standard input and writes its frames to standard output: no fork, level L0."""

from __future__ import annotations

import os
import sys
from typing import Any

from . import modules, wire, world
from .runner import Runner, writer

try:
    from . import limits
except ImportError:  # Windows has no resource module
    limits = None  # type: ignore[assignment]


def main(options: dict[str, Any]) -> None:
    """Load, limit, run, end. Never returns."""
    cpu_s, memory_bytes = wire.ALONE.unpack(sys.stdin.buffer.read(wire.ALONE.size))
    (size,) = wire.SIZE.unpack(sys.stdin.buffer.read(wire.SIZE.size))
    payload = sys.stdin.buffer.read(size)
    result = os.dup(1)
    runner = Runner()
    modules.preload(options["wide"])
    runner.prepare()
    world.forget_paths()
    if "files" not in options["without"]:
        runner.install_files()
    runner.listen()
    if limits is not None:
        limits.limit_zygote(files=True)
        limits.apply(limits.child_limits(cpu_s, memory_bytes))
    try:
        runner.run(payload, writer(result))
    finally:
        os._exit(0)
