"""Processes, threads and handlers that act beside or after the check."""

from __future__ import annotations

from attacks.case import (
    CHANNEL,
    DEADLINE,
    FRESH,
    LANDLOCK,
    NAMESPACES,
    POLICY,
    RLIMITS,
    SECCOMP,
    Attack,
    Proof,
    rows,
)
from attacks.raw import RAW

STARTS = (POLICY, SECCOMP, NAMESPACES, RLIMITS)
RUNS = (POLICY, SECCOMP, LANDLOCK, NAMESPACES)


def _survives(id: str, mechanism: str, source: str, needs: str = "") -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.SURVIVOR, source, STARTS, needs=needs)


def _writes(id: str, mechanism: str, source: str, needs: str = "") -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.MARKER, source, RUNS, needs=needs)


ATTACKS = (
    *rows(
        _survives,
        """
=== fork-and-stay: a forked child outlives its parent
import os, time
def attack():
    if os.fork() == 0:
        time.sleep(30)
        os._exit(0)
=== daemon: double fork, setsid and closed descriptors hide from a process group kill
import os, time
def attack():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 256)
            time.sleep(30)
        os._exit(0)
    os.wait()
=== forkpty: forkpty makes a child with a terminal of its own
import pty, os, time
def attack():
    pid, _ = pty.fork()
    if pid == 0:
        import signal
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        time.sleep(30)
        os._exit(0)
    time.sleep(0.1)
=== stubborn-child: a child that ignores every signal it may ignore
import os, signal, time
def attack():
    if os.fork() == 0:
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        time.sleep(30)
        os._exit(0)
=== multiprocessing-spawn: a resource tracker and a pool that nobody joins
import multiprocessing, time
def attack():
    context = multiprocessing.get_context("fork")
    process = context.Process(target=time.sleep, args=(30,))
    process.start()
    multiprocessing.process._children.clear()
""",
    ),
    *rows(
        _survives,
        """
=== raw-clone: clone(2) without exit signal, past os.fork and its hooks
import time
def attack():
    if syscall("clone", 0, 0, 0, 0, 0) == 0:
        time.sleep(30)
        os._exit(0)
=== clone3: clone3(2), whose flags are in memory where a filter cannot look
import struct, time
def attack():
    arguments = C.create_string_buffer(struct.pack("<8Q", 0, 0, 0, 0, 0, 0, 0, 0), 64)
    if syscall("clone3", C.addressof(arguments), 64) == 0:
        time.sleep(30)
        os._exit(0)
""",
        prelude=RAW,
    ),
    *rows(
        _writes,
        """
=== os-system: os.system starts a shell
import os
def attack():
    os.system('mkdir @MARKER@')
=== fork-exec: _posixsubprocess.fork_exec through subprocess
import subprocess
def attack():
    subprocess.run(['mkdir', '@MARKER@'])
=== posix-spawn: posix_spawn starts a program by vfork inside libc
import os
def attack():
    os.waitpid(os.posix_spawnp("mkdir", ["mkdir", "@MARKER@"], os.environ), 0)
=== exec-replace: execve replaces the interpreter and all its hooks
import os
def attack():
    os.execvp('mkdir', ['mkdir', '@MARKER@'])
=== exec-memfd: a program executed from anonymous memory needs no file to write
import os
def attack():
    descriptor = os.memfd_create("x", 0)
    os.write(descriptor, b"#!/bin/sh\\nmkdir @MARKER@\\n")
    os.execve(f"/proc/self/fd/{descriptor}", ["x"], os.environ)
=== late-thread: a thread acts after the result was given
import threading, time
def later():
    time.sleep(0.2)
    open("@MARKER@", "w").close()
def attack():
    threading.Thread(target=later).start()
=== exit-handler: atexit runs when the harness has its answer
import atexit
def attack():
    atexit.register(lambda: open("@MARKER@", "w").close())
=== finalizer: __del__ of a global runs while the interpreter shuts down
import os
class Late:
    def __del__(self, mkdir=os.mkdir):
        mkdir("@MARKER@")
keep = Late()
def attack():
    pass
=== fork-hook: os.register_at_fork runs code inside the harness' next fork
import os
def attack():
    os.register_at_fork(before=lambda: open("@MARKER@", "w").close())
    if os.fork() == 0:
        os._exit(0)
    os.wait()
=== timer-handler: an interval timer's handler interrupts the harness' own code
import signal, time
def attack():
    signal.signal(signal.SIGALRM, lambda *_: open("@MARKER@", "w").close())
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    time.sleep(0.05)
=== collector-callback: gc.callbacks runs code whenever the collector does
import gc
def attack():
    gc.callbacks.append(lambda *_: open("@MARKER@", "w").close())
    gc.collect()
=== weakref-callback: a weak reference's callback runs when the harness drops the result
import weakref
class Result:
    pass
references = []
def attack():
    result = Result()
    references.append(weakref.ref(result, lambda _: open("@MARKER@", "w").close()))
    return 5
=== audit-hook: an audit hook runs inside the harness' own calls
import sys
done = []
def hook(event, arguments):
    if not done:
        done.append(event)
        open("@MARKER@", "w").close()
def attack():
    sys.addaudithook(hook)
    compile("1", "x", "eval")
""",
    ),
    *rows(
        _writes,
        """
=== execveat: execveat(2) with an empty path
def attack():
    descriptor = os.open("/bin/mkdir", os.O_RDONLY)
    words = (C.c_char_p * 3)(b"mkdir", b"@MARKER@", None)
    environment = (C.c_char_p * 1)(None)
    empty = C.create_string_buffer(b"")
    syscall("execveat", descriptor, C.addressof(empty), C.addressof(words), C.addressof(environment), 0x1000)
=== user-namespace: a user namespace of its own gives all capabilities, here to mount
def attack():
    syscall("unshare", 0x10020000)
    source, target, kind = (C.create_string_buffer(w) for w in (b"none", b"@DIR@/room", b"tmpfs"))
    if syscall("mount", C.addressof(source), C.addressof(target), C.addressof(kind), 0, 0) == 0:
        os.mkdir("@MARKER@")
""",
        prelude=RAW,
    ),
    Attack(
        "setns",
        "joining another process' namespaces through its pidfd",
        Proof.LEAK,
        RAW
        + """
def attack():
    pid = syscall("pidfd_open", @HOST_PID@, 0)
    return ["joined", syscall("setns", pid, 0x20000000)]
""",
        (POLICY, SECCOMP, NAMESPACES),
        sought='["joined", 0]',
    ),
    Attack(
        "race-the-parent",
        "a child keeps the result pipe open and answers after its parent has died",
        Proof.SPOOF,
        """
import os, json, time
def add(a, b):
    if os.fork() == 0:
        time.sleep(0.1)
        frame = json.dumps([5, 6]).encode() + b"\\n"
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, frame)
            except OSError:
                pass
        os._exit(0)
    os._exit(0)
""",
        (POLICY, SECCOMP, CHANNEL),
        calls=("add(2, 3)", "add(10, -4)"),
        judge="frame",
    ),
    Attack(
        "sleeping-forever",
        "waiting uses no CPU time, so that no CPU limit ends it",
        Proof.CUT,
        "import time\ndef attack():\n    time.sleep(600)\n",
        (POLICY, DEADLINE, FRESH),
    ),
)
