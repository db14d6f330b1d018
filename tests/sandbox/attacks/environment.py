"""Time and environment: what makes the same code do something else elsewhere."""

from __future__ import annotations

import getpass
import os
import time

from attacks.case import FACADE, POLICY, WORLD, Attack, Proof, rows

NOW = time.time()
# A clock that shows the real time lets a time bomb sleep for as long as it is tested.
REAL_CLOCK = f"abs(%s - {NOW}) < 30 * 86400"
GIVEN = (POLICY, FACADE, WORLD)
KERNEL_SAYS = (
    ("native", "the kernel answers unmodified bytecode directly; a clock in memory cannot be denied to it"),
)
HARMLESS = (("native", "a fact of the machine that no layer hides, and from which nothing follows"),)


def _clock(
    id: str,  # noqa: A002
    mechanism: str,
    imports: str,
    seconds: str,
    residual: tuple[tuple[str, str], ...] = (),
) -> Attack:
    source = f"{imports}\ndef attack():\n    return ['real', {REAL_CLOCK % ('(' + seconds + ')')}]\n"
    return Attack(id, mechanism, Proof.LEAK, source, GIVEN, sought='["real", true]', residual=residual)


def _varies(id: str, mechanism: str, source: str, residual: tuple[tuple[str, str], ...] = ()) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.FLAP, source, GIVEN, residual=residual)


def _tells(
    id: str,  # noqa: A002
    mechanism: str,
    source: str,
    sought: str,
    residual: tuple[tuple[str, str], ...] = (),
) -> Attack:
    return Attack(id, mechanism, Proof.LEAK, source, GIVEN, sought=sought, residual=residual)


ATTACKS = (
    *rows(
        _clock,
        """
=== time-time: time.time
import time
---
time.time()
=== localtime: time.localtime and mktime read the C clock
import time
---
time.mktime(time.localtime())
=== clock-gettime: time.clock_gettime(CLOCK_REALTIME)
import time
---
time.clock_gettime(0)
=== datetime-now: datetime.now reads the clock in its own C code
import datetime
---
datetime.datetime.now().timestamp()
=== formatted-date: a formatted date of email.utils
import email.utils, datetime
---
email.utils.parsedate_to_datetime(email.utils.formatdate()).timestamp()
=== uuid-time: a version 1 UUID contains the time
import uuid
---
(uuid.uuid1().time - 0x01b21dd213814000) / 1e7
=== log-record: a log record carries its time of creation
import logging
---
logging.LogRecord('', 0, '', 0, '', (), None).created
=== log-start: log records tell the time since logging was imported, in the zygote
import logging
---
logging._startTime / (1 if isinstance(logging._startTime, float) else 1e9)
=== compiled-datetime: the compiled module below datetime has the class with the real clock
import _datetime
---
_datetime.datetime.now().timestamp()
=== numpy-now: numpy reads the clock for a date that is called now
import numpy
---
int(numpy.datetime64('now').astype('int64'))
=== file-date: the date of a new file or of /proc
import os
---
os.stat('/proc/self').st_mtime
=== sql-now: SQL's strftime('now')
import sqlite3
---
int(sqlite3.connect(':memory:').execute("select strftime('%s','now')").fetchone()[0])
""",
    ),
    *rows(
        _clock,
        """
=== datetime-base: the class below the one that has the world's clock
import datetime
---
datetime.datetime.__mro__[-3].now().timestamp()
=== numpy-array-now: numpy reads the clock for an array of such texts
import numpy
---
int(numpy.array(['now'], 'datetime64[s]').astype('int64')[0])
=== session-time: a connection that ssl makes in memory says when it was made
import ssl
def seconds():
    contexts = [ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)]
    contexts[0].check_hostname, contexts[0].verify_mode = False, ssl.CERT_NONE
    for context in contexts:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("aNULL:@SECLEVEL=0")
    made = [ssl.MemoryBIO() for _ in range(4)]
    ends = [contexts[0].wrap_bio(*made[:2]), contexts[1].wrap_bio(*made[2:], server_side=True)]
    for step in range(20):
        try:
            ends[step % 2].do_handshake()
        except ssl.SSLWantReadError:
            pass
        made[(2, 0)[step % 2]].write(made[(1, 3)[step % 2]].read())
    return ends[0].session.time
---
seconds()
""",
        residual=KERNEL_SAYS,
    ),
    *rows(
        _tells,
        """
=== environment-variable: a variable of the host's environment
import os
def attack():
    return os.environ.get('@SECRET_NAME@')
---
@SECRET@
=== c-environment: getenv of libc and its environ array, past os.environ
import ctypes
def attack():
    f = ctypes.CDLL(None).getenv
    f.restype = ctypes.c_char_p
    return f(b'@SECRET_NAME@').decode()
---
@SECRET@
=== host-name: the host's name
import socket
def attack():
    return ['name', socket.gethostname()]
---
["name", "@HOSTNAME@"]
=== host-name-uname: uname(2) tells the host's name without a socket module
import posix
def attack():
    return ['name', posix.uname().nodename]
---
["name", "@HOSTNAME@"]
=== host-name-cached: a module that asked for the host's name when it was loaded still has it
import platform
def attack():
    return ['name', platform.node()]
---
["name", "@HOSTNAME@"]
""",
    ),
    _tells(
        "user-name",
        "the account database names the user",
        """
import pwd
def attack():
    return ['user', pwd.getpwuid(0).pw_name]
""",
        f'["user", "{getpass.getuser()}"]' if os.getuid() == 0 else '["user", "root"]',
    ),
    _tells(
        "processor-count",
        "the number of processors",
        "import os\ndef attack():\n    return ['cpus', os.cpu_count()]\n",
        f'["cpus", {os.cpu_count()}]',
        residual=HARMLESS,
    ),
    _tells(
        "boot-time",
        "the monotonic clock counts from the machine's start",
        f"import time\ndef attack():\n    return ['up', 0 <= time.monotonic() - {time.monotonic()} < 3600]\n",
        '["up", true]',
    ),
    _tells(
        "libc-clock",
        "time(2) of libc, called past the time module",
        f"import ctypes\ndef attack():\n    return ['real', abs(ctypes.CDLL(None).time(None) - {NOW}) < 30 * 86400]\n",
        '["real", true]',
        residual=KERNEL_SAYS,
    ),
    *rows(
        _varies,
        """
=== string-hash: the hash of a string differs from process to process
def attack():
    return hash('attack')
=== random-module: the shared generator is seeded by the system
import random
def attack():
    return random.random()
=== system-random: os.urandom is never the same twice
import os
def attack():
    return os.urandom(8).hex()
=== ssl-random: OpenSSL has a generator of its own
import ssl
def attack():
    return ssl.RAND_bytes(8).hex()
=== set-order: the order of a set of strings
def attack():
    return [str(x) for x in {str(i) * 3 for i in range(50)}]
""",
    ),
    _varies(
        "libc-random",
        "getentropy of libc, called past the os module",
        """
import ctypes
def attack():
    buffer = ctypes.create_string_buffer(8)
    ctypes.CDLL(None).getentropy(buffer, 8)
    return buffer.raw.hex()
""",
        residual=(("native", "getrandom(2) cannot be seeded for unmodified bytecode"),),
    ),
    _varies(
        "object-address",
        "the address of an object",
        "def attack():\n    return id(object())\n",
        residual=(
            ("native", "addresses are randomised per zygote, and unmodified code may look at them"),
            ("restricted", "id() is ordinary Python; two zygotes give two addresses"),
        ),
    ),
)
