"""Files in memory: through what stands for `open` and `os` to the real ones, to other checks, or out of bounds."""

from __future__ import annotations

from attacks.case import (
    CHANNEL,
    FRESH,
    LANDLOCK,
    NAMESPACES,
    POLICY,
    RLIMITS,
    SECCOMP,
    Attack,
    Proof,
    rows,
    spoof,
)

OUT = (POLICY, SECCOMP, LANDLOCK, NAMESPACES)
# the real function behind one of `os`, wherever there is one behind it
REAL = """
import os
def real(name):
    return getattr(getattr(os.open, '__self__', None), '_real', {}).get(name) or getattr(os, name)
"""


def _writes(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.MARKER, source, OUT)


def _reads(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.LEAK, source, OUT)


def _stays(id: str, mechanism: str, source: str, after: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.STATE, source, (POLICY, FRESH, LANDLOCK), after=after)


def _cut(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.CUT, source, (RLIMITS, POLICY))


# Where a wrong `add` finds the result pipe, and what it writes there: this sandbox's frames, or the naive harness's.
FORGES = """
import struct, sys
def forged():
    if len(sys.argv) > 1:
        return int(sys.argv[1]), b"[5, 6]\\n"
    bodies = [b'["call","returned",%d,null,[],"","",[]]' % value for value in (5, 6)]
    bodies.append(b'["end","completed","",[],null]')
    return 3, b"".join(struct.pack(">I", len(body)) + body for body in bodies)
"""

ATTACKS = (
    _writes(
        "real-open-kept",
        "the real open is kept by what stands for it",
        f"{REAL}\ndef attack():\n    real('open')('@MARKER@', os.O_CREAT | os.O_WRONLY)\n",
    ),
    _writes(
        "real-rename-kept",
        "the real rename is kept by what stands for it",
        f"{REAL}\ndef attack():\n    real('rename')('@DIR@/log', '@DIR@/precious')\n",
    ),
    *rows(
        _writes,
        """
=== module-of-the-functions: the module below os is imported and asked itself
import posix
def attack():
    posix.mkdir('@MARKER@')
=== a-fresh-import: the module of raw files is thrown away and imported anew
import importlib, sys
def attack():
    sys.modules.pop('_io', None)
    importlib.import_module('_io').open('@MARKER@', 'w').close()
=== written-in-python: Python's own open in Python
import _pyio
def attack():
    _pyio.open('@MARKER@', 'w').close()
=== through-a-link: a symbolic link to a real folder is followed
import os
def attack():
    os.symlink('@DIR@', 'way-@TOKEN@')
    open('way-@TOKEN@/marker', 'w').close()
""",
    ),
    _writes(
        "opener",
        "an opener of its own hands a real descriptor over",
        REAL
        + "\ndef attack():\n    open('@MARKER@', 'w', opener=lambda *asked: real('open')(*asked)).close()\n",
    ),
    *rows(
        _reads,
        """
=== read-through-a-link: a symbolic link to a real file is read
import os
def attack():
    os.symlink('@SECRET_FILE@', 'to-@TOKEN@')
    return open('to-@TOKEN@').read()
=== up-and-up: a path that leaves every folder
def attack():
    return open('../' * 40 + '@SECRET_FILE@'.lstrip('/')).read()
=== inherited-descriptor: a raw file over every descriptor that may be open
import io, os
def attack():
    found = b''
    try:
        os.open('@SECRET_FILE@', os.O_RDONLY)
    except OSError:
        pass
    for number in range(64):
        try:
            found += io.FileIO(number, closefd=False).read(64) if os.lseek(number, 0, 1) == 0 else b''
        except (OSError, ValueError):
            pass
    return found.decode()
=== loader: a module's loader reads any file
import importlib.machinery
def attack():
    return importlib.machinery.SourceFileLoader('x', '@SECRET_FILE@').get_data('@SECRET_FILE@')
""",
    ),
    *rows(
        _stays,
        """
=== file-left-behind: a file is left for the next check
import os
def attack():
    os.makedirs('left-@TOKEN@', exist_ok=True)
    open('left-@TOKEN@/word', 'w').close()
---
import os
def probe():
    return os.path.exists('left-@TOKEN@/word')
=== functions-replaced: what stands for a function is replaced for the next check
import os
def attack():
    pass
holder = getattr(os.open, '__self__', None)
if holder is None or isinstance(holder, type(os)):
    os.path.exists = lambda path: True
else:
    type(holder).stat = lambda *given, **named: True
    os.path.exists = lambda path: True
---
import os
def probe():
    return os.path.exists('/nowhere')
""",
    ),
    *rows(
        spoof,
        """
=== class-of-the-raw-file: the class of an open file's raw file is made anew over the result pipe
def add(a, b):
    with open("x-@TOKEN@", "wb", buffering=0) as file:
        pipe, frames = forged()
        type(file)(pipe, "wb", closefd=False).write(frames)
    return 0
=== number-of-the-raw-file: an open file is given the number of the result pipe
def add(a, b):
    with open("y-@TOKEN@", "wb", buffering=0) as file:
        pipe, frames = forged()
        try:
            file._fd = pipe
        except AttributeError:
            pass
        if file.fileno() != pipe:
            file = type(file)(pipe, "wb", closefd=False)
        file.write(frames)
    return 0
""",
        (POLICY, CHANNEL),
        prelude=FORGES,
        judge="frame",
    ),
    *rows(
        _cut,
        """
=== long-files: files that are cut far beyond their end are read again and again
def attack():
    with open("long-@TOKEN@", "wb") as file:
        file.truncate(48 << 20)
    kept = []
    while True:
        with open("long-@TOKEN@", "rb") as file:
            kept.append(file.read())
=== crowd-of-files: one file after another is made, whatever is said against it
def attack():
    number = 0
    while True:
        number += 1
        try:
            open(f"crowd-@TOKEN@-{number}", "w").close()
        except OSError:
            pass
""",
    ),
)
