"""Secrets of this installation: made on first use, readable by their owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from codeguard.errors import StoreError

SECRET_BYTES = 32


def kept_secret(path: Path) -> bytes:
    """Return the 32 bytes kept in a file, made on first use.

    Raises:
        StoreError: the file cannot be made or read, or is not such a secret.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            target.write(secrets.token_bytes(SECRET_BYTES))
        try:
            os.link(draft, path)  # whole or not at all, and the first of two at once wins
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        secret = path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"the secret {path} cannot be kept ({error.strerror})", hint="check its folder"
        ) from None
    if len(secret) != SECRET_BYTES:
        raise StoreError(
            f"the secret {path}",
            got=f"{len(secret)} bytes",
            expected=f"{SECRET_BYTES} bytes",
            hint="delete it: a new one is made and cached evidence is computed anew",
        )
    return secret
