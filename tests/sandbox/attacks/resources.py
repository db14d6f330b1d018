"""Resource bombs: processes, memory, time, stack and the parser."""

from __future__ import annotations

from attacks.case import DEADLINE, FRESH, NAMESPACES, POLICY, RLIMITS, SECCOMP, Attack, Proof, rows

FORKS = (POLICY, SECCOMP, NAMESPACES, RLIMITS)
MEMORY = (RLIMITS, DEADLINE)
TIME = (RLIMITS, DEADLINE)
STACK = (FRESH, DEADLINE)
PARSE = (POLICY, RLIMITS, DEADLINE)


def _cut(id: str, mechanism: str, source: str, stopped_by: tuple[str, ...], slow: bool = False) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.CUT, source, stopped_by, slow=slow)


def _keeps(id: str, mechanism: str, source: str, stopped_by: tuple[str, ...]) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.LEAK, source, stopped_by, sought='["kept", true]')


def _memory(id: str, mechanism: str, source: str, slow: bool = False) -> Attack:  # noqa: A002
    return _cut(id, mechanism, source, MEMORY, slow)


def _time(id: str, mechanism: str, source: str, slow: bool = False) -> Attack:  # noqa: A002
    return _cut(id, mechanism, source, TIME, slow)


def _parse(id: str, mechanism: str, bomb: str, needs: str = "") -> Attack:  # noqa: A002
    """The bomb goes off in whoever compiles the source; `attack` itself is harmless."""
    return Attack(id, mechanism, Proof.CUT, bomb + "\ndef attack():\n    return 1\n", PARSE, needs=needs)


def _nested_finally(depth: int) -> str:
    lines = []
    for level in range(depth):
        pad = "  " * level
        lines += [f"{pad}try: x", f"{pad}finally:"]
    return "def never():\n  x = 0\n" + "\n".join("  " + line for line in [*lines, "  " * depth + "x"])


ATTACKS = (
    *rows(
        _cut,
        """
=== fork-bomb: fork in a loop; every child forks again
import os, time
def attack():
    for _ in range(6):
        os.fork()
    time.sleep(20)
=== non-daemon-thread: the interpreter waits at its end for a thread that never ends
import threading, time
def attack():
    threading.Thread(target=time.sleep, args=(600,)).start()
""",
        FORKS,
    ),
    _keeps(
        "thread-bomb",
        "threads until none can be made",
        """
import threading, time
def attack():
    made = 0
    try:
        for _ in range(500):
            threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
            made += 1
    except RuntimeError:
        pass
    return ["kept", made > 50]
""",
        FORKS,
    ),
    *rows(
        _memory,
        """
=== one-allocation: one huge allocation
def attack():
    x = b'x' * (10 ** 10)
    return len(x)
=== growing-list: a list that grows for ever
def attack():
    x = [0]
    while True:
        x += x
=== format-width: a format's width allocates
def attack():
    return len('%*d' % (2 ** 31 - 2, 1)) + len(f'{1:>{10 ** 10}}')
=== many-objects: a dictionary of small objects, one by one
def attack():
    x = {}
    while True:
        x[len(x)] = [len(x)]
=== string-growth: str.replace multiplies
def attack():
    x = 'aa'
    while True:
        x = x.replace('a', 'aaaaaaaa')
=== iterator-materialised: list() of an endless iterator, inside C
import itertools
def attack():
    return len(list(itertools.count()))
=== swallow-memory-error: MemoryError caught and tried again, for ever
def attack():
    keep = []
    while True:
        try:
            keep.append(bytearray(2 ** 20))
        except MemoryError:
            pass
=== decompression-bomb: a small compressed text that is a large one
import zlib
def attack():
    text = b"x\\x9c" + zlib.compress(bytes(2 ** 20))[2:]
    big = zlib.compress(bytes(2 ** 28))
    return len(zlib.decompress(zlib.decompress(zlib.compress(big)) if False else big) * 16)
=== anonymous-mapping: mmap outside the allocator
import mmap
def attack():
    keep = []
    while True:
        m = mmap.mmap(-1, 2 ** 26)
        m.write(bytes(2 ** 26))
        keep.append(m)
""",
    ),
    *rows(
        _keeps,
        """
=== memory-file: pages of a memfd count as shared memory, not as address space
import os
def attack():
    kept = 0
    for _ in range(5):
        descriptor = os.memfd_create("x")
        for _ in range(60):
            kept += os.write(descriptor, bytes(2 ** 20))
    return ["kept", kept > 2 ** 28]
=== pipe-buffers: pipes hold kernel memory that no address space limit counts
import os
def attack():
    kept = 0
    for _ in range(300):
        read, write = os.pipe()
        os.set_blocking(write, False)
        kept += os.write(write, bytes(2 ** 16))
    return ["kept", kept > 2 ** 23]
""",
        (POLICY, SECCOMP, RLIMITS),
    ),
    *rows(
        _time,
        """
=== busy-loop: while True
def attack():
    while True:
        pass
=== big-power: one power of integers, inside C
def attack():
    return (3 ** (10 ** 8)) % 7
=== big-decimal-text: an integer's digits, quadratic, after the limit on them is switched off
import sys
def attack():
    sys.set_int_max_str_digits(0)
    return len(str(7 << 4000000))
=== deque-count: a C loop over an endless C iterator never looks at signals
import itertools, collections
def attack():
    collections.deque(itertools.count(), maxlen=0)
=== sum-range: sum of a range, inside C
def attack():
    return sum(range(10 ** 12))
=== membership-scan: a membership test that compares for ever, inside C
import itertools
def attack():
    return -1 in itertools.count()
=== regex-backtracking: a regular expression that backtracks exponentially
import re
def attack():
    return re.match(r'(a|a)*$', 'a' * 60 + 'b')
=== hash-collisions: keys that all have the same hash
def attack():
    return len({k * (2 ** 61 - 1) for k in range(60000)})
=== exponential-comparison: comparing two shared nested tuples visits every path
def attack():
    one, two = (), ()
    for _ in range(60):
        one, two = (one, one), (two, two)
    return one == two
=== decimal-precision: decimal arithmetic at a precision of one's own
import decimal
def attack():
    decimal.getcontext().prec = 10 ** 8
    return len(str(decimal.Decimal(2).sqrt()))
=== permutations: more permutations than there is time
import itertools
def attack():
    return sum(1 for _ in itertools.permutations(range(30)))
=== quadratic-parse: int() of many digits is quadratic once the limit is off
import sys
def attack():
    sys.set_int_max_str_digits(0)
    return int('9' * 5000000) % 7
=== factorial: math.factorial, inside C
import math
def attack():
    return math.factorial(3 * 10 ** 6) % 7
=== deadlock: a lock taken twice
import threading
def attack():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
=== wait-for-input: reading from a pipe that nobody writes
import os
def attack():
    read, write = os.pipe()
    return os.read(read, 1)
=== endless-repr: __repr__ of the returned value never ends
class Slow:
    def __repr__(self):
        while True:
            pass
def attack():
    return Slow()
=== endless-iterator: the returned iterator never ends and each item costs time
class Endless(dict):
    def __iter__(self):
        while True:
            yield 1
    def items(self):
        while True:
            pass
    keys = values = items
def attack():
    return Endless(a=1)
=== endless-str-of-exception: __str__ of the raised exception never ends
class Slow(Exception):
    def __str__(self):
        while True:
            pass
    __repr__ = __str__
def attack():
    raise Slow()
=== endless-finalizer: __del__ runs for ever when the child cleans up
class Slow:
    def __del__(self):
        while True:
            pass
def attack():
    Slow()
=== top-level-loop: the module's own top level never ends
while True:
    pass
""",
    ),
    _cut(
        "exit-handler-loop",
        "an exit handler that never returns keeps the process",
        """
import atexit, time
def attack():
    atexit.register(time.sleep, 600)
""",
        TIME,
    ),
    *rows(
        _cut,
        """
=== deep-recursion: recursion with the limit raised, until the C stack ends
import sys
class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")
def attack():
    sys.setrecursionlimit(10 ** 8)
    def down(n):
        return max([n], key=lambda _: down(n + 1))
    return down(0)
=== nested-value: a list nested so deep that whoever walks it runs out of stack
import sys
def attack():
    sys.setrecursionlimit(10 ** 8)
    x = []
    for _ in range(10 ** 6):
        x = [x]
    return repr(x)
""",
        STACK,
    ),
    *rows(
        _cut,
        """
=== exception-chain: a chain of a million causes
def attack():
    error = None
    while True:
        new = ValueError(bytes(4096))
        new.__cause__, error = error, new
=== heavy-source-memory: annotations at the top level build a huge value while the module loads
x = ['x' * 10 ** 6 + str(i) for i in range(10 ** 9)]
def attack():
    return 1
""",
        MEMORY,
    ),
    _parse(
        "huge-literal",
        "an integer literal of a million hexadecimal digits, printed",
        "x = 0x" + "f" * 400000 + "\nimport sys\nsys.set_int_max_str_digits(0)\ny = str(x * x * x)",
    ),
    _parse(
        "nested-finally", "nested finally blocks, each compiled twice: exponential code", _nested_finally(19)
    ),
    _parse("deep-unary", "a chain of unary operators", "x = " + "-" * 300000 + "1"),
    _parse("long-sum", "a left-deep expression of many terms", "x = " + "+".join(["1"] * 600000)),
    _parse("long-elif", "an elif chain is a deep tree", "x = 0\nif x: pass\n" + "elif x: pass\n" * 100000),
    _parse(
        "folded-constants",
        "constant folding multiplies at compile time",
        "x = "
        + "((((1,) * 255 * 255,) * 255,) * 255,)"
        + "\ny = ["
        + ",".join(["'x' * 4000 * 1000 * 1000"] * 2)
        + "]",
    ),
    _parse("large-source", "a source of many million statements", "x = 1\n" * 3000000),
    _parse(
        "many-names",
        "hundreds of thousands of distinct names and constants",
        "\n".join(f"v{i} = {i}.5" for i in range(300000)),
    ),
    _parse(
        "nested-comprehension",
        "nested scopes, each analysed with all around it",
        "x = lambda: " + "lambda: " * 60000 + "1",
    ),
    _parse(
        "attribute-chain",
        "a chain of calls and attributes hundreds of thousands long",
        "x = 1\nif 0: y = x" + ".a()" * 300000,
    ),
)
