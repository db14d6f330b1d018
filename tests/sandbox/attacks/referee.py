"""Process 1 of a throw-away namespace: starts a victim and the naive harness, reports what happened.

Reads a job as JSON on standard input, prints a report as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from attacks import arena

FLOOD_BYTES = 4 * 1024 * 1024


def limit() -> None:
    """Bound what an attack can use even here, where it is meant to work."""
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Sink(threading.Thread):
    """Swallows a pipe, keeping its beginning and its length."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(daemon=True)
        self.descriptor, self.head, self.length = descriptor, b"", 0

    def run(self) -> None:
        while chunk := os.read(self.descriptor, 1 << 20):
            self.length += len(chunk)
            self.head += chunk[: max(0, (1 << 18) - len(self.head))]


def main() -> None:
    job: dict[str, Any] = json.load(sys.stdin)
    victim = arena.start_victim(job["secret"])
    before = arena.fingerprint(victim.pid)
    words = {"VICTIM": str(victim.pid), "HOST_PID": str(os.getpid())}
    for name, value in words.items():
        for key in ("source", "before"):
            job[key] = job[key].replace(f"@{name}@", value)
    read_end, write_end = os.pipe()
    program = [sys.executable, "-I", str(Path(__file__).with_name("naive.py")), str(write_end)]
    if job["production"]:
        printed = "; ".join(f"print({call})" for call in job["calls"])
        program = [sys.executable, "-c", job["source"] + "\n" + printed]
    with tempfile.TemporaryFile() as standard_input:
        standard_input.write(json.dumps(job).encode())
        standard_input.seek(0)
        candidate = subprocess.Popen(
            program,
            stdin=subprocess.DEVNULL if job["production"] else standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=() if job["production"] else (write_end, *job["inherited"]),
            env={**os.environ, arena.SECRET_NAME: job["secret"]},
            preexec_fn=None if job["production"] else limit,  # noqa: PLW1509 - no thread runs yet
        )
    os.close(write_end)
    assert candidate.stdout is not None
    assert candidate.stderr is not None
    sinks = [Sink(candidate.stdout.fileno()), Sink(candidate.stderr.fileno()), Sink(read_end)]
    for sink in sinks:
        sink.start()
    timed_out = False
    try:
        status = candidate.wait(timeout=job["wall_s"])
    except subprocess.TimeoutExpired:
        timed_out = True
        candidate.kill()
        status = candidate.wait()
    survivors = arena.descendants(os.getpid()) - {victim.pid}
    after = arena.fingerprint(victim.pid)
    # Give those that outlive the check the moment they need for a late effect.
    for sink in sinks:
        sink.join(timeout=job["grace_s"] if survivors else 5)
    for pid in survivors:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    victim.kill()
    report = {
        "status": status,
        "timed_out": timed_out,
        "frame": sinks[2].head.decode(errors="replace"),
        "stdout": sinks[0].head.decode(errors="replace"),
        "stderr": sinks[1].head.decode(errors="replace")[-2000:],
        "flood": sum(sink.length for sink in sinks) > FLOOD_BYTES,
        "survivors": len(survivors),
        "victim": "" if after == before else f"{before} -> {after}",
        "peak_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
