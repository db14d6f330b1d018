"""Keeps compiled code, which the host never looks into, under the digest of what it came from."""

from __future__ import annotations

import hashlib
import hmac
import sys
import threading
from collections import OrderedDict
from pathlib import Path

from codeguard.sandbox.inside.version import POLICY_VERSION
from codeguard.sandbox.model import Tier

_MEMORY_BYTES = 64 * 1024 * 1024
_TAG_BYTES = 32


def code_key(source: str, tier: Tier) -> bytes:
    """Return the digest of everything that decides what the compiled code is."""
    made = hashlib.sha256()
    for part in (sys.implementation.cache_tag or "", sys.version, str(POLICY_VERSION), tier.value):
        made.update(part.encode() + b"\0")
    made.update(source.encode("utf-8", "surrogatepass"))
    return made.digest()


class CodeCache:
    """Compiled code in memory and, with a directory and a key, on disk.

    A file is the code with an HMAC-SHA256 over digest and code in front; one
    that does not verify counts as missing.
    """

    def __init__(self, directory: Path | None, key: bytes | None) -> None:
        self._directory = directory if key else None
        self._secret = key or b""
        self._lock = threading.Lock()
        self._codes: OrderedDict[bytes, bytes] = OrderedDict()
        self._size = 0

    def get(self, key: bytes) -> bytes | None:
        """Return the code kept under a key, None if there is none."""
        with self._lock:
            code = self._codes.get(key)
            if code is not None:
                self._codes.move_to_end(key)
                return code
        code = self._read(key)
        if code is not None:
            self._remember(key, code)
        return code

    def put(self, key: bytes, code: bytes) -> None:
        """Keep code under a key; what is there already stays."""
        if self._remember(key, code) and self._directory is not None:
            path = self._path(self._directory, key)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = path.with_suffix(f".{threading.get_ident()}")
                temporary.write_bytes(self._tag(key, code) + code)
                temporary.replace(path)
            except OSError:
                return  # a cache that cannot be written is only slower

    def _remember(self, key: bytes, code: bytes) -> bool:
        with self._lock:
            if key in self._codes:
                return False
            self._codes[key] = code
            self._size += len(code)
            while self._size > _MEMORY_BYTES:
                self._size -= len(self._codes.popitem(last=False)[1])
            return True

    def _read(self, key: bytes) -> bytes | None:
        if self._directory is None:
            return None
        try:
            found = self._path(self._directory, key).read_bytes()
        except OSError:
            return None
        tag, code = found[:_TAG_BYTES], found[_TAG_BYTES:]
        return code if code and hmac.compare_digest(tag, self._tag(key, code)) else None

    def _tag(self, key: bytes, code: bytes) -> bytes:
        return hmac.digest(self._secret, key + code, "sha256")

    @staticmethod
    def _path(directory: Path, key: bytes) -> Path:
        name = key.hex()
        return directory / name[:2] / name[2:]
