"""Marshal, code objects and memory: Python that crashes its own interpreter."""

from __future__ import annotations

from attacks.case import FRESH, POLICY, Attack, Proof, rows
from attacks.raw import RAW

ONE = (POLICY, FRESH)


def _crash(id: str, mechanism: str, source: str, needs: str = "") -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.CRASH, source, ONE, needs=needs)


ATTACKS = (
    *rows(
        _crash,
        """
=== stride: an array's strides lead far beyond its memory
import numpy
from numpy.lib.stride_tricks import as_strided
def attack():
    return as_strided(numpy.zeros(1), (1 << 20,), (1 << 40,)).sum()
=== garbage-bytecode: code.replace(co_code=...) with bytes that no compiler makes
def victim(x):
    return x
def attack():
    victim.__code__ = victim.__code__.replace(co_code=bytes(range(256)) * 8)
    return victim(1)
=== constant-index: LOAD_CONST beyond the end of co_consts
def victim():
    return "constant"
def attack():
    import opcode
    code = bytes([opcode.opmap["RESUME"], 0, opcode.opmap["EXTENDED_ARG"], 255, opcode.opmap["EXTENDED_ARG"], 255,
                  opcode.opmap["LOAD_CONST"], 255, opcode.opmap["RETURN_VALUE"], 0])
    victim.__code__ = victim.__code__.replace(co_code=code, co_consts=())
    return victim()
=== local-index: LOAD_FAST beyond the frame's variables
def victim(x):
    return x
def attack():
    import opcode
    load, ext = opcode.opmap["LOAD_FAST"], opcode.opmap["EXTENDED_ARG"]
    code = bytes([opcode.opmap["RESUME"], 0, ext, 127, ext, 255, ext, 255, load, 255, opcode.opmap["RETURN_VALUE"], 0])
    victim.__code__ = victim.__code__.replace(co_code=code)
    return victim(1)
=== stack-underflow: bytecode that pops more than it pushed
def victim():
    return 1
def attack():
    import opcode
    code = bytes([opcode.opmap["RESUME"], 0]) + bytes([opcode.opmap["POP_TOP"], 0]) * 4000
    victim.__code__ = victim.__code__.replace(co_code=code + bytes([opcode.opmap["RETURN_VALUE"], 0]))
    return victim()
=== marshal-code: marshal.loads of a code object made of random parts
import marshal
def attack():
    good = bytearray(marshal.dumps(compile("def f(x):\\n return [x]\\nf(1)", "x", "exec")))
    body = good.find(b"\\x97\\x00")
    good[body + 2:body + 12] = b"\\xff" * 10
    exec(marshal.loads(bytes(good)))
=== null-pointer: ctypes reads address zero
import ctypes
def attack():
    return ctypes.string_at(0)
=== function-pointer: ctypes calls an address that is no function
import ctypes
def attack():
    return ctypes.CFUNCTYPE(None)(16)()
=== abort: os.abort
import os
def attack():
    os.abort()
=== own-signal: the process sends itself a fatal signal
import signal
def attack():
    signal.raise_signal(signal.SIGSEGV)
=== fatal-error-hook: faulthandler's own crash functions
import faulthandler
def attack():
    faulthandler._sigabrt()
=== stack-overflow: C recursion without a check, here in repr with the limit raised
needs: sys.version_info < (3, 12)
import sys
def attack():
    sys.setrecursionlimit(2 ** 30)
    x = {}
    for _ in range(400000):
        x = {1: x}
    return repr(x)
=== recursive-getattr: C recursion through an attribute hook with the limit raised
needs: sys.version_info < (3, 14)
import sys
class Deep:
    def __getattr__(self, name):
        return max(self.x for _ in (1,))
def attack():
    sys.setrecursionlimit(2 ** 30)
    return Deep().x
=== buffer-after-free: BufferedReader hands a raw reader a view of memory that it later frees
import io
views = []
class Raw(io.RawIOBase):
    def readable(self):
        return True
    def readinto(self, buffer):
        views.append(buffer)
        return 1
def attack():
    reader = io.BufferedReader(Raw(), 4096 * 1024)
    reader.read(1)
    del reader
    views[0][:] = b"\\x41" * len(views[0])
=== frame-jump: setting f_lineno in a trace function jumps into the middle of a loop
import sys, ctypes
def attack():
    frame = sys._getframe()
    ctypes.memset(id(frame) + 24, 0x41, 8)
    return frame.f_code
""",
    ),
    *rows(
        _crash,
        """
=== object-overwrite: an object's type pointer is overwritten
def attack():
    thing = object()
    C.memset(id(thing) + 8, 0x41, 8)
    return thing
=== over-released: an object's reference count is set to zero while it is used
def attack():
    thing = [object() for _ in range(9)]
    C.memset(id(thing), 0, 8)
    C.pythonapi._Py_Dealloc(C.c_void_p(id(thing)))
    C.pythonapi._Py_Dealloc(C.c_void_p(id(thing)))
    C.memset(id(thing), 0x41, 64)
    return repr(thing)
""",
        prelude=RAW,
    ),
)
