"""Signals, priorities and limits: of others, and of oneself against the deadline."""

from __future__ import annotations

from attacks.case import DEADLINE, NAMESPACES, POLICY, RLIMITS, SECCOMP, Attack, Proof, rows
from attacks.raw import RAW

OTHERS = (POLICY, SECCOMP, NAMESPACES)
HANG = (POLICY, DEADLINE, RLIMITS)


def _hits(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.VICTIM, source, OTHERS)


def _hangs(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.CUT, source, HANG)


ATTACKS = (
    *rows(
        _hits,
        """
=== kill: kill(2)
import os
def attack():
    os.kill(@VICTIM@, 9)
=== kill-stop: SIGSTOP leaves a process that only looks alive
import os
def attack():
    import time
    os.kill(@VICTIM@, 19)
    time.sleep(0.05)
=== kill-group: killpg of another group
import os
def attack():
    os.killpg(@VICTIM@, 9)
=== kill-everyone: kill(-1) hits every process that may be hit
import os, time
def attack():
    os.kill(-1, 9)
    time.sleep(0.05)
=== pidfd-signal: pidfd_send_signal is not kill(2)
import os, signal
def attack():
    signal.pidfd_send_signal(os.pidfd_open(@VICTIM@), 9)
=== descriptor-owner: F_SETOWN and F_SETSIG make the kernel send the signal
import fcntl, os, socket, time
def attack():
    one, two = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, @VICTIM@)
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    two.send(b"x")
    time.sleep(0.05)
=== set-priority: setpriority slows another process down
import os
def attack():
    os.setpriority(os.PRIO_PROCESS, @VICTIM@, 19)
=== set-affinity: sched_setaffinity pins another process
import os
def attack():
    os.sched_setaffinity(@VICTIM@, {min(os.sched_getaffinity(0))})
=== set-scheduler: sched_setscheduler makes another process idle
import os
def attack():
    os.sched_setscheduler(@VICTIM@, os.SCHED_IDLE, os.sched_param(0))
=== set-limits: prlimit(2) changes another process' limits
import resource
def attack():
    resource.prlimit(@VICTIM@, resource.RLIMIT_NOFILE, (7, 7))
""",
    ),
    *rows(
        _hits,
        """
=== thread-signal: tgkill aims at a thread
def attack():
    syscall('tgkill', @VICTIM@, @VICTIM@, 9)
=== queued-signal: rt_sigqueueinfo sends a signal with forged sender
def attack():
    information = C.create_string_buffer(b"\\x0f" + bytes(7) + b"\\xff" * 4, 128)
    syscall("rt_sigqueueinfo", @VICTIM@, 15, C.addressof(information))
""",
        prelude=RAW,
    ),
    *rows(
        _hangs,
        """
=== ignore-cpu-signal: SIGXCPU ignored: the soft CPU limit passes unnoticed
import signal
def attack():
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        pass
=== disarm-alarm: setitimer(0) disarms an alarm that the harness has set in the process
import signal
def attack():
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    while True:
        pass
=== swallow-exception: except BaseException in a loop swallows what an alarm handler raises
def attack():
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
=== block-signals: pthread_sigmask blocks whatever can be blocked
import signal
def attack():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
    while True:
        pass
=== own-stop: a process that stops itself never ends and uses no time
import os
def attack():
    os.kill(os.getpid(), 19)
    while True:
        pass
=== raise-limit: setrlimit raises a soft limit up to the hard one
import resource
def attack():
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (hard, hard))
    while True:
        pass
=== handler-loop: a signal handler that never returns
import signal
def forever(*_):
    while True:
        pass
def attack():
    signal.signal(signal.SIGUSR1, forever)
    signal.raise_signal(signal.SIGUSR1)
""",
    ),
)
