"""Proves that an attack works where nothing stops it: a naive harness in a throw-away namespace."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from attacks.arena import Arena
from attacks.case import ADD_VALUES, Attack, Proof

UNSHARE = ("unshare", "-Urpfmi", "--mount-proc", "--kill-child")
WALL_S = (1.5, 12.0)  # of the first try, of the second
MEMORY_BYTES = 256 * 1024 * 1024
CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP}


def available() -> bool:
    """Return whether this machine can make the namespaces that keep a proof harmless."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


def applicable(attack: Attack) -> bool:
    """Return whether the attack is for this interpreter and machine at all."""
    return not attack.needs or bool(eval(attack.needs, {"sys": sys, "os": os, "platform": platform}))


def works(attack: Attack) -> bool:
    """Return whether the attack has the effect it claims when nothing confines it.

    An attack that a busy machine kept from its effect gets more time.
    """
    return any(_works(attack, wall_s) for wall_s in WALL_S)


def _works(attack: Attack, wall_s: float) -> bool:
    run = partial(_report, wall_s=wall_s)
    if attack.proof is Proof.FLAP:
        return bool(run(attack)["frame"] != run(attack)["frame"])
    if attack.proof is Proof.DETECT:
        tested = run(attack)
        produced = run(attack, production=True)
        wanted = "".join(f"{value}\n" for value in ADD_VALUES)
        return bool(tested["status"] == 0 and produced["stdout"] != wanted)
    if attack.proof is Proof.STATE:
        clean = run(attack, source=attack.after, calls=("probe()",))
        after = run(attack, source=attack.after, calls=("probe()",), before=attack.source)
        return bool(clean["frame"] and clean["frame"] != after["frame"])
    return _effect(attack, run(attack))


def _effect(attack: Attack, report: dict[str, Any]) -> bool:
    match attack.proof:
        case Proof.MARKER:
            return bool(report["changed"])
        case Proof.LEAK:
            return report["sought"] in report["frame"] + report["stdout"] + report["stderr"]
        case Proof.CONTACT:
            return bool(report["heard"])
        case Proof.VICTIM:
            return bool(report["victim"])
        case Proof.SURVIVOR:
            return bool(report["survivors"])
        case Proof.CUT:
            return bool(
                report["timed_out"]
                or report["flood"]
                or report["survivors"] >= 20
                or report["peak_bytes"] > MEMORY_BYTES
                or report["status"] < 0
                or "MemoryError" in report["stderr"] + report["frame"]
            )
        case Proof.CRASH:
            return -report["status"] in CRASHES
        case Proof.SPOOF:
            return _passed(attack, report)
    raise AssertionError(attack.proof)


def _passed(attack: Attack, report: dict[str, Any]) -> bool:
    if attack.judge == "exit":
        return bool(report["status"] == 0)
    if attack.judge == "stdout":
        return "passed" in report["stdout"].split()
    first = report["frame"].split("\n")[0]
    return bool(first == json.dumps(list(ADD_VALUES)))


def _report(
    attack: Attack,
    *,
    wall_s: float = WALL_S[0],
    source: str | None = None,
    calls: tuple[str, ...] | None = None,
    before: str = "",
    production: bool = False,
) -> dict[str, Any]:
    arena = Arena(with_victim=False)
    try:
        late = attack.proof in {Proof.MARKER, Proof.CONTACT, Proof.SPOOF}
        job = {
            "source": _keep_pids(arena, attack.source if source is None else source),
            "calls": calls or attack.calls,
            "expected": ADD_VALUES if attack.proof in {Proof.SPOOF, Proof.DETECT} else None,
            "before": _keep_pids(arena, before),
            "before_calls": attack.calls,
            "judge": attack.judge,
            "secret": arena.secret,
            "inherited": [arena.log, arena.open_directory],
            "production": production,
            "wall_s": wall_s,
            "grace_s": 1.0 if late else 0.0,
        }
        referee = Path(__file__).with_name("referee.py")
        with tempfile.TemporaryDirectory() as folder:  # where what is made by a relative path is thrown away
            done = subprocess.run(
                ["timeout", "-s", "KILL", "60", *UNSHARE, sys.executable, "-I", str(referee)],
                input=json.dumps(job).encode(),
                capture_output=True,
                pass_fds=(arena.log, arena.open_directory),
                cwd=folder,
                check=False,
            )
        assert done.returncode == 0, done.stderr.decode()
        report: dict[str, Any] = json.loads(done.stdout)
        report["changed"] = arena.changed()
        report["heard"] = arena.heard()
        report["sought"] = arena.fill(attack.sought)
        return report
    finally:
        arena.close()


def _keep_pids(arena: Arena, source: str) -> str:
    """Fill in everything but the process ids, which only the referee knows."""
    return arena.fill(source, VICTIM="@VICTIM@", HOST_PID="@HOST_PID@")
