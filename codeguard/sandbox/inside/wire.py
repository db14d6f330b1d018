"""The format of what goes over the control socket and the result pipe.

Host to zygote: `REQUEST` header, then a payload that only the child reads
(marshal, made by the host from plain values). Zygote to host: `REPLY` header,
then the bytes that the child wrote, unread. What the child writes is a run of
frames, each a 4-byte big-endian length and a body: first the compiled
bytecode (`CODE` and opaque bytes), then one JSON array for each call, then
one for the end. Values in JSON carry a tag, see `codec`.
"""

from __future__ import annotations

import struct

# deadline s, CPU s, address space bytes, cap on the child's output bytes, payload bytes
REQUEST = struct.Struct("=ddQQQ")
# why the child ended (see the constants), wait status, CPU seconds, output bytes
REPLY = struct.Struct("=BidQ")

ENDED, DEADLINE, FLOOD, FAILED = 0, 1, 2, 3

RESULT = 3  # the one descriptor that a child keeps

LENGTH = struct.Struct(">I")
CODE = b"B"

# Bytecode may be longer than its source; the rest of the output has the job's own cap.
CODE_BYTES = 8 * 1024 * 1024
SOURCE_BYTES = 1024 * 1024

MAX_DEPTH = 64  # of nested values
MAX_ITEMS = 1000  # taken from an iterator
MAX_TEXT = 2000  # characters of a message
MAX_STDOUT = 32 * 1024  # characters captured in a job
MAX_EFFECTS = 64
MAX_EFFECT = 200  # characters of one effect


def frame(body: bytes) -> bytes:
    """Return a body with its length in front."""
    return LENGTH.pack(len(body)) + body
