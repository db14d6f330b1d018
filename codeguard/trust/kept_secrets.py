"""Secrets of this installation: created on first use, readable only by their owner."""

from __future__ import annotations

import secrets
from pathlib import Path

from codeguard.errors import StoreError
from codeguard.trust.state_files import StateFolder

SECRET_BYTES = 32


def kept_secret(path: Path, *, checked: bool = False) -> bytes:
    """Return the 32 bytes stored in a file, created on first use.

    `checked` is for a state folder, which must be private to this user (see `StateFolder`).

    Raises:
        StoreError: the file cannot be created, read or opened safely, or is not such a secret.
    """
    try:
        with StateFolder(path.parent, create=True, checked=checked) as folder:
            try:
                secret = folder.read(path.name, SECRET_BYTES)
            except FileNotFoundError:
                folder.write_new(path.name, secrets.token_bytes(SECRET_BYTES))
                secret = folder.read(path.name, SECRET_BYTES)
    except OSError as error:
        raise StoreError(
            f"the secret {path} cannot be kept ({error.strerror})", hint="check its folder"
        ) from None
    if len(secret) != SECRET_BYTES:
        raise StoreError(
            f"the secret {path}",
            got=f"{len(secret)} bytes" if len(secret) < SECRET_BYTES else f"more than {SECRET_BYTES} bytes",
            expected=f"{SECRET_BYTES} bytes",
            hint="delete it: a new one is made and cached evidence is computed anew",
        )
    return secret
