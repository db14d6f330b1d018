"""Waits on words of the C library's file, whose pages every process maps, and tells whether anybody woke it.

The key of such a wait is the file and the place in it, so whoever maps the file can wake it. Each waiter takes
words of its own: other runs of the suite on the machine have others.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import threading
import time

_FUTEX = 202 if os.uname().machine == "x86_64" else 98
_WAIT, _REQUEUE = 0, 3
_MOST = 1 << 30
_REGION = 1 << 18

_libc = ctypes.CDLL(None)
_libc.syscall.restype = ctypes.c_long
_start = (ctypes.cast(_libc.getpid, ctypes.c_void_p).value or 0) & ~3


def _futex(place: int, operation: int, *arguments: int) -> int:
    return int(_libc.syscall(*map(ctypes.c_long, (_FUTEX, _start + place, operation, *arguments))))


def _waiting(place: int) -> int:
    """Count who waits on a word: moving them from it to itself wakes nobody."""
    return _futex(place, _REQUEUE, 0, _MOST, _start + place, 0)


class Waiter:
    """A process that waits on two words, of which the second is zero, until somebody wakes it.

    `places` are the words' distances from the function getpid, rounded down to a word.
    """

    def __init__(self) -> None:
        region = ctypes.string_at(_start, _REGION)
        zero = [place for place in range(0, _REGION, 4) if region[place : place + 4] == bytes(4)]
        self.places = (4 * random.randrange(_REGION // 4), random.choice(zero))
        command = (sys.executable, "-I", __file__, *map(str, self.places))
        self._process = subprocess.Popen(command, env={}, stdin=subprocess.PIPE)
        until = time.monotonic() + 60.0
        while self.woken():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("nobody waits")

    def woken(self) -> bool:
        """Return whether somebody woke a waiter, or took one away."""
        return not all(map(_waiting, self.places))

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


def _wait(place: int) -> None:
    value = int.from_bytes(ctypes.string_at(_start + place, 4), sys.byteorder)
    _futex(place, _WAIT, value, 0, 0, 0)


if __name__ == "__main__":
    for word in sys.argv[1:]:
        threading.Thread(target=_wait, args=(int(word),), daemon=True).start()
    sys.stdin.read()
