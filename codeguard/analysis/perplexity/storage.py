"""The file format of a model: a magic line, a digest, a JSON header, and plain arrays. No pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import StoreError
from codeguard.trust.state_files import StateFolder

MAGIC = b"codeguard.ngram/1\n"
_DIGEST = 64
_MOST = 4 << 30  # bytes
_HINT = "delete it and run codeguard index again"


def write_model(
    path: Path, header: Mapping[str, Any], keys: NDArray[np.uint64], counts: NDArray[np.int64]
) -> None:
    """Write a model atomically: readers see the old file or the new one, never a part.

    Raises:
        StoreError: the file cannot be written.
    """
    described = json.dumps({**header, "grams": len(keys)}, sort_keys=True, allow_nan=False).encode()
    body = b"\n".join([described, keys.astype("<u8").tobytes() + counts.astype("<i8").tobytes()])
    digest = hashlib.sha256(body).hexdigest().encode()
    try:
        with StateFolder(path.parent, create=True) as folder:
            folder.write(path.name, b"".join([MAGIC, digest, b"\n", body]))
    except OSError as error:
        raise StoreError(f"cannot write the perplexity model {path}: {error.strerror or error}") from error


def read_model(
    path: Path, fields: Sequence[str]
) -> tuple[dict[str, Any], NDArray[np.uint64], NDArray[np.int64]]:
    """Return the header, keys and counts of a model file.

    Raises:
        StoreError: the file is missing, damaged or of another version.
    """
    try:
        with StateFolder(path.parent) as folder:
            raw = folder.read(path.name, _MOST)
    except OSError as error:
        raise StoreError(
            f"cannot read the perplexity model {path}: {error.strerror or error}", hint="run codeguard index"
        ) from error
    if not raw.startswith(MAGIC):
        raise StoreError(
            f"{path} is no perplexity model of this version",
            got=repr(raw[: len(MAGIC)]),
            expected=repr(MAGIC),
            hint=_HINT,
        )
    start = len(MAGIC) + _DIGEST + 1
    stated = raw[len(MAGIC) : start - 1].decode("ascii", "replace")
    body = memoryview(raw)[start:]
    found = hashlib.sha256(body).hexdigest()
    if stated != found:
        raise StoreError(f"the perplexity model {path} is damaged", got=found, expected=stated, hint=_HINT)
    try:
        end = raw.index(b"\n", start)
        header = json.loads(raw[start:end])
        count = int(header["grams"])
        missing = [field for field in fields if field not in header]
        if missing or len(raw) != end + 1 + 16 * count:
            raise ValueError(f"fields {missing} missing" if missing else "length does not match")
        keys = np.frombuffer(raw, dtype="<u8", count=count, offset=end + 1).astype(np.uint64)
        counts = np.frombuffer(raw, dtype="<i8", count=count, offset=end + 1 + 8 * count).astype(np.int64)
        if count and (not (keys[1:] > keys[:-1]).all() or counts.min() < 1):
            raise ValueError("n-grams are not ascending or counts not positive")
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"the perplexity model {path} is malformed: {error}", hint=_HINT) from error
    return header, keys, counts
