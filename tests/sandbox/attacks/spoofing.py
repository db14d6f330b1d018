"""Result spoofing: a wrong function that wants to pass for right."""

from __future__ import annotations

from attacks.case import CHANNEL, FRESH, POLICY, SECCOMP, Attack, rows, spoof
from attacks.raw import RAW

OUTSIDE = (CHANNEL,)
FORGED = (POLICY, CHANNEL)
NATIVE_FORGERY = (
    (
        "native",
        "a child may write its own frame: it knows the arguments, and returning the value would do the same",
    ),
)

# What a forger with the source of both harnesses writes: the naive one's frame on the pipe it is
# told of, or this sandbox's own frames on the one descriptor that a child keeps.
FORGE = """
import os, struct, sys
def forge(values=(5, 6), last=True):
    bodies = [b'["call","returned",%d,null,[],"","",[]]' % value for value in values]
    if last:
        bodies.append(b'["end","completed","",[],null]')
    whole = b"".join(struct.pack(">I", len(body)) + body for body in bodies)
    if len(sys.argv) > 1:
        if last:
            os.write(int(sys.argv[1]), b"[5, 6]\\n")
    else:
        os.write(3, whole)
"""

ATTACKS: tuple[Attack, ...] = (
    *rows(
        spoof,
        """
=== equal-to-all: an object that is equal to everything
class Any:
    def __eq__(self, other):
        return True
def add(a, b):
    return Any()
=== integer-subclass: a subclass of int with an __eq__ of its own
class Any(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__
def add(a, b):
    return Any(7)
=== reflected-comparison: a subclass of the expected type is asked first, even on the right side
class Meta(type):
    def __eq__(cls, other):
        return True
    __hash__ = type.__hash__
class Any(int, metaclass=Meta):
    def __ne__(self, other):
        return False
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__
def add(a, b):
    return Any()
=== class-lie: __class__ claims a builtin type, so that isinstance believes it
class Any:
    __class__ = int
    def __eq__(self, other):
        return isinstance(self, int)
    def __index__(self):
        return 5
    __int__ = __index__
def add(a, b):
    return Any()
=== immediate-exit: os._exit(0) where exit status 0 means passed
import os
os._exit(0)
=== system-exit: SystemExit(0) is no Exception and ends the program well
raise SystemExit(0)
=== exit-in-call: sys.exit(0) inside the function under test
import sys
def add(a, b):
    sys.exit(0)
=== exit-handler: an exit handler turns failure into status 0
import atexit, os
atexit.register(os._exit, 0)
def add(a, b):
    return 0
=== exception-hook: sys.excepthook ends a failing program with status 0
import sys, os
sys.excepthook = lambda *_: os._exit(0)
def add(a, b):
    raise BaseException("not caught by except Exception")
""",
    ),
    *rows(
        spoof,
        """
=== patched-all: builtins.all is replaced, with which the harness decides
import builtins
builtins.all = lambda items: True
def add(a, b):
    return 0
=== patched-zip: builtins.zip pairs values with themselves
import builtins
builtins.zip = lambda *a, **k: ((x, x) for x in a[0])
def add(a, b):
    return 0
""",
        (POLICY, CHANNEL, FRESH),
    ),
    *rows(
        spoof,
        """
=== patched-encoder: json.dumps is replaced, with which the harness writes the frame
import json
json.dumps = lambda value, **k: "[5, 6]"
def add(a, b):
    return 0
=== patched-write: os.write is replaced, through which the frame goes
import os
real = os.write
os.write = lambda descriptor, data: real(descriptor, b"[5, 6]\\n")
def add(a, b):
    return 0
=== every-descriptor: a forged frame is written to every descriptor there is
import os
def add(a, b):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"[5, 6]\\n")
        except OSError:
            pass
    return 0
=== swapped-descriptor: dup2 puts a pipe of the attack's own in place of the result's and edits what goes through
import os, sys
result = int(sys.argv[1])
kept = os.dup(result)
read, write = os.pipe()
os.dup2(write, result)
import atexit
atexit.register(lambda: os.write(kept, b"[5, 6]\\n"))
def add(a, b):
    return 0
""",
        FORGED,
        judge="frame",
    ),
    *rows(
        spoof,
        """
=== patched-main: the harness' own module is changed through sys.modules
import sys
class Truth:
    def __getattr__(self, name):
        return lambda status=0: __import__("os")._exit(0)
sys.modules["__main__"].sys = Truth()
def add(a, b):
    return 0
=== frame-locals: the expected values are changed in the harness' own frame
import sys
def add(a, b):
    frame = sys._getframe()
    while frame:
        expected = frame.f_locals.get("expected")
        if isinstance(expected, list):
            expected[:] = [0, 0]
        frame = frame.f_back
    return 0
=== read-expected: the expected values are read out of the harness' frame and returned
import sys
calls = []
def add(a, b):
    frame = sys._getframe()
    while frame and "expected" not in frame.f_locals:
        frame = frame.f_back
    calls.append(1)
    return frame.f_locals["expected"][len(calls) - 1]
=== collector-search: the collector finds the harness' list of expected values, which is changed
import gc
def add(a, b):
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "expected" in thing and isinstance(thing["expected"], list):
            thing["expected"][:] = [0, 0]
    return 0
=== trace-comparison: a trace function changes the harness' variables between two lines
import sys, ctypes
def add(a, b):
    frame = sys._getframe()
    while frame and frame.f_code.co_name != "main":
        frame = frame.f_back
    def trace(inner, event, argument):
        if "values" in inner.f_locals:
            inner.f_locals["values"][:] = [5, 6][: len(inner.f_locals["values"])]
        return trace
    frame.f_trace = trace
    sys.settrace(trace)
    return 0
=== disabled-exit: sys.exit is replaced, so that a failing status is never given
import sys
sys.exit = lambda status=0: None
def add(a, b):
    return 0
""",
        (POLICY, CHANNEL),
    ),
    *rows(
        spoof,
        """
=== exec-true: the process becomes a program that always succeeds
import os
def add(a, b):
    os.execv('/bin/true', ['true'])
=== exit-from-thread: a second thread ends the process while the comparison runs
import os, threading
def add(a, b):
    threading.Thread(target=os._exit, args=(0,)).start()
    while True:
        pass
=== crash-handler: a fatal signal is caught and turned into a good exit
import os, signal
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
def add(a, b):
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        pass
""",
        (POLICY, SECCOMP, CHANNEL),
    ),
    *rows(
        spoof,
        """
=== forged-frame: a complete frame is written to the result pipe, then the process ends
forge()
os._exit(0)
=== half-answer: one call is answered while the module loads, the rest inside the first call
forge((5,), last=False)
def add(a, b):
    forge((6,))
    os._exit(0)
""",
        FORGED,
        prelude=FORGE,
        judge="frame",
        residual=NATIVE_FORGERY,
    ),
    spoof(
        "frame-by-thread",
        "a thread writes a frame while the function hangs",
        FORGE
        + """
import threading
def later():
    forge()
    os._exit(0)
def add(a, b):
    threading.Thread(target=later).start()
    while True:
        pass
""",
        (POLICY, SECCOMP, CHANNEL),
        judge="frame",
    ),
    spoof(
        "frame-by-handler",
        "a signal handler writes a frame in the middle of the harness",
        FORGE
        + """
import signal
def handler(*_):
    forge()
    os._exit(0)
def add(a, b):
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while True:
        pass
""",
        FORGED,
        judge="frame",
    ),
    spoof(
        "standard-output",
        "the word that means success is printed before the harness prints its own",
        "print('passed', flush=True)\ndef add(a, b):\n    return 0\n",
        judge="stdout",
    ),
    spoof(
        "patched-runner",
        "the harness' own encoder is found through the caller's globals and replaced",
        """
import sys
left = [5, 6]
class Rigged:
    def __init__(self, real):
        self.real = real
    def dumps(self, values):
        return "[5, 6]"
def rigged(real):
    def encode(found):
        return real(["call", "returned", left.pop(0), None, [], "", "", []] if found[0] == "call" else found)
    return encode
def rig():
    frame = sys._getframe(1)
    while frame:
        names = frame.f_globals
        if "_json" in names and "json" in names and "rigged" not in names:
            names["rigged"] = names["_json"]
            names["_json"] = rigged(names["_json"])
        if "json" in names and frame.f_code.co_name == "main":
            names["json"] = Rigged(names["json"])
        frame = frame.f_back
rig()
def add(a, b):
    return 0
""",
        (POLICY, CHANNEL),
        judge="frame",
        residual=NATIVE_FORGERY,
    ),
    spoof(
        "small-integer",
        "the interpreter's one object for 0 is given the value that is expected",
        RAW
        + """
import atexit
def write(target, value):
    C.memmove(id(target) + 24, (value).to_bytes(4, "little"), 4)
def add(a, b):
    target = a + b
    atexit.register(C.memmove, id(target) + 24, C.string_at(id(target) + 24, 4), 4)
    write(target, 77)
    return 77
""",
        (POLICY, CHANNEL),
    ),
)
