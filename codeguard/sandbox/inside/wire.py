"""The format of what goes over the control socket and the result pipe.

Host to zygote: `ORDER`, with the far ends of a child's two pipes where it asks
for one. Zygote to host: `REPLY`, how a child ended. Host to child, on a pipe
that the child closes before it runs anything: `SIZE` and a payload (marshal,
made by the host from plain values). What the child writes is a run of frames,
each a 4-byte big-endian length and a body: first the compiled bytecode (`CODE`
and opaque bytes) of what came as source, all before any of it runs, then one
JSON array for each call, then one for the end.
Values in JSON carry a tag, see `codec`.
"""

from __future__ import annotations

import struct

# whether to bury the oldest child; CPU s and address space bytes of a new one
ORDER = struct.Struct("=BdQ")
# wait status, CPU seconds
REPLY = struct.Struct("=id")
# of the payload, bytes
SIZE = struct.Struct("=Q")

RESULT, JOB = 3, 4  # a child's descriptors; the second is closed before it runs anything
DESCRIPTOR_BYTES = 4  # as passed over a socket

LENGTH = struct.Struct(">I")
CODE = b"B"

# Bytecode may be longer than its source; the rest of the output has the job's own cap.
CODE_BYTES = 8 * 1024 * 1024
SOURCE_BYTES = 1024 * 1024

MAX_IMPORTS = 2000  # modules of its table that a child executes
MAX_ABSENT = 32  # modules that it stands in for
MAX_DEPTH = 64  # of nested values
MAX_ITEMS = 1000  # taken from an iterator
MAX_TEXT = 2000  # characters of a message
MAX_STDOUT = 32 * 1024  # characters captured in a job
MAX_EFFECTS = 64
MAX_EFFECT = 1000  # characters of one effect: a secret may stand behind a long address
CALLS = ""  # among the effects: what follows was done by the calls, not while the module was executed


def frame(body: bytes) -> bytes:
    """Return a body with its length in front."""
    return LENGTH.pack(len(body)) + body
