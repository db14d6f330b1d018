"""A cache of compiled code, opaque to the host, by the digest of its source and tier."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from codeguard.sandbox.model import Tier

_MEMORY_BYTES = 64 * 1024 * 1024


def code_key(source: str, tier: Tier) -> bytes:
    """Return the digest of what determines the compiled code within one process."""
    return hashlib.sha256(f"{tier.value}\0{source}".encode("utf-8", "surrogatepass")).digest()


class CodeCache:
    """The most recently used compiled code, at most `_MEMORY_BYTES` of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._codes: OrderedDict[bytes, bytes] = OrderedDict()
        self._size = 0

    def get(self, key: bytes) -> bytes | None:
        """Return the cached code of a key, or None."""
        with self._lock:
            code = self._codes.get(key)
            if code is not None:
                self._codes.move_to_end(key)
            return code

    def put(self, key: bytes, code: bytes) -> None:
        """Cache code under a key; an existing entry stays."""
        with self._lock:
            if key in self._codes:
                return
            self._codes[key] = code
            self._size += len(code)
            while self._size > _MEMORY_BYTES:
                self._size -= len(self._codes.popitem(last=False)[1])
