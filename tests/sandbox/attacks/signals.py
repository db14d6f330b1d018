"""Signals, priorities and limits: of others, and of oneself against the deadline."""

from __future__ import annotations

from attacks.case import DEADLINE, NAMESPACES, POLICY, RLIMITS, SECCOMP, Attack, Proof
from attacks.raw import RAW

OTHERS = (POLICY, SECCOMP, NAMESPACES)
HANG = (POLICY, DEADLINE, RLIMITS)


def _hits(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.VICTIM, source, OTHERS)


def _hangs(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.CUT, source, HANG)


ATTACKS = (
    _hits("kill", "kill(2)", "import os\ndef attack():\n    os.kill(@VICTIM@, 9)\n"),
    _hits(
        "kill-stop",
        "SIGSTOP leaves a process that only looks alive",
        """
import os
def attack():
    import time
    os.kill(@VICTIM@, 19)
    time.sleep(0.05)
""",
    ),
    _hits("kill-group", "killpg of another group", "import os\ndef attack():\n    os.killpg(@VICTIM@, 9)\n"),
    _hits(
        "kill-everyone",
        "kill(-1) hits every process that may be hit",
        """
import os, time
def attack():
    os.kill(-1, 9)
    time.sleep(0.05)
""",
    ),
    _hits(
        "pidfd-signal",
        "pidfd_send_signal is not kill(2)",
        """
import os, signal
def attack():
    signal.pidfd_send_signal(os.pidfd_open(@VICTIM@), 9)
""",
    ),
    _hits(
        "thread-signal",
        "tgkill aims at a thread",
        RAW + "def attack():\n    syscall('tgkill', @VICTIM@, @VICTIM@, 9)\n",
    ),
    _hits(
        "queued-signal",
        "rt_sigqueueinfo sends a signal with forged sender",
        RAW
        + """
def attack():
    information = C.create_string_buffer(b"\\x0f" + bytes(7) + b"\\xff" * 4, 128)
    syscall("rt_sigqueueinfo", @VICTIM@, 15, C.addressof(information))
""",
    ),
    _hits(
        "descriptor-owner",
        "F_SETOWN and F_SETSIG make the kernel send the signal",
        """
import fcntl, os, socket, time
def attack():
    one, two = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, @VICTIM@)
    fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    two.send(b"x")
    time.sleep(0.05)
""",
    ),
    _hits(
        "set-priority",
        "setpriority slows another process down",
        """
import os
def attack():
    os.setpriority(os.PRIO_PROCESS, @VICTIM@, 19)
""",
    ),
    _hits(
        "set-affinity",
        "sched_setaffinity pins another process",
        """
import os
def attack():
    os.sched_setaffinity(@VICTIM@, {min(os.sched_getaffinity(0))})
""",
    ),
    _hits(
        "set-scheduler",
        "sched_setscheduler makes another process idle",
        """
import os
def attack():
    os.sched_setscheduler(@VICTIM@, os.SCHED_IDLE, os.sched_param(0))
""",
    ),
    _hits(
        "set-limits",
        "prlimit(2) changes another process' limits",
        """
import resource
def attack():
    resource.prlimit(@VICTIM@, resource.RLIMIT_NOFILE, (7, 7))
""",
    ),
    _hangs(
        "ignore-cpu-signal",
        "SIGXCPU ignored: the soft CPU limit passes unnoticed",
        """
import signal
def attack():
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        pass
""",
    ),
    _hangs(
        "disarm-alarm",
        "setitimer(0) disarms an alarm that the harness has set in the process",
        """
import signal
def attack():
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    while True:
        pass
""",
    ),
    _hangs(
        "swallow-exception",
        "except BaseException in a loop swallows what an alarm handler raises",
        """
def attack():
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
""",
    ),
    _hangs(
        "block-signals",
        "pthread_sigmask blocks whatever can be blocked",
        """
import signal
def attack():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
    while True:
        pass
""",
    ),
    _hangs(
        "own-stop",
        "a process that stops itself never ends and uses no time",
        """
import os
def attack():
    os.kill(os.getpid(), 19)
    while True:
        pass
""",
    ),
    _hangs(
        "raise-limit",
        "setrlimit raises a soft limit up to the hard one",
        """
import resource
def attack():
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (hard, hard))
    while True:
        pass
""",
    ),
    _hangs(
        "handler-loop",
        "a signal handler that never returns",
        """
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
