"""Output floods: more, deeper or odder than the channel and the host should have to bear."""

from __future__ import annotations

from attacks.case import CHANNEL, DEADLINE, POLICY, RLIMITS, Attack, Proof, rows

CAPS = (CHANNEL, RLIMITS, DEADLINE)


def _cut(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.CUT, source, CAPS)


ATTACKS = (
    *rows(
        _cut,
        """
=== print-forever: print without end
def attack():
    while True:
        print('x' * 65536)
=== stderr-forever: writing to standard error without end
import sys
def attack():
    while True:
        sys.stderr.write('x' * 65536)
=== huge-string: one very long string returned
def attack():
    return 'x' * (300 * 2 ** 20)
=== shared-nesting: a value of a few objects whose text is exponential
def attack():
    x = ['x' * 100]
    for _ in range(60):
        x = [x, x]
    return x
=== huge-exception: an exception with a very long message
def attack():
    raise ValueError('x' * (300 * 2 ** 20))
=== huge-type-name: an exception whose type's name is very long
def attack():
    raise type('E' * (40 * 2 ** 20), (Exception,), {})('x' * (260 * 2 ** 20))
=== huge-integer: an integer of millions of digits returned
import sys
def attack():
    sys.set_int_max_str_digits(0)
    return 7 << (20 * 2 ** 20)
=== huge-mutation: an argument that is made huge instead of a result
def grow(x):
    x.extend(['y' * 1000] * 300000)
def attack():
    x = []
    grow(x)
    return x
=== self-reference: a value that contains itself
def attack():
    x = []
    x.append(x)
    class Loop(list):
        pass
    y = [x] * 10 ** 8
    return y
=== descriptor-flood: writing without end to every descriptor
import os
def attack():
    while True:
        for descriptor in range(1, 64):
            try:
                os.write(descriptor, b"x" * 65536)
            except OSError:
                pass
=== slow-drip: one byte at a time, so that a host which waits for more never stops
import os, time
def attack():
    while True:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"0")
            except OSError:
                pass
        time.sleep(0.01)
=== wide-value: millions of small items
def attack():
    return [str(i) for i in range(5 * 10 ** 6)]
=== warning-flood: warnings go to standard error through a path of their own
import warnings
def attack():
    warnings.simplefilter("always")
    while True:
        warnings.warn("x" * 65536)
""",
    ),
    Attack(
        "host-number-parser",
        "a number whose text the host's own JSON parser refuses or chews on for seconds",
        Proof.CUT,
        "def attack():\n    return [10 ** 4299] * 70000\n",
        (CHANNEL, POLICY),
    ),
)
