"""The protocol between clients of an embedded store and its server, over a Unix socket in the state folder.

A frame is a length of eight bytes and a JSON object, in which vectors are little-endian float32 in base64. Its size is
bounded, no code is transferred, and both ends refuse a peer of another user.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.trust.state_files import StateFolder

PROTOCOL = "codeguard.store/3"  # with another version, the serving process is asked to exit
LONGEST = 128 << 20  # bytes of a frame
ANSWER_S = 60.0
VECTORS = {"embeddings", "query_embeddings"}  # what is sent in base64
_LENGTH = struct.Struct(">Q")
_PEER = struct.Struct("3i")


class GoneError(Exception):
    """No process serves the store, or it has ended."""


class SilentError(GoneError):
    """A process serves the store and gives no answer in time."""


def socket_path(folder: Path) -> Path:
    """Return where the process that serves a store's folder listens."""
    return folder.with_name(folder.name + ".sock")


def connect(folder: Path, wait_s: float = ANSWER_S) -> socket.socket:
    """Connect to the process that serves a folder, and wait for each answer so long.

    Raises:
        GoneError: none does, or it belongs to another user.
    """
    path = socket_path(folder)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(wait_s)
    try:
        with short_name(path) as name:
            connection.connect(name)
        if not same_user(connection):
            raise GoneError("another user's process serves the store")
    except BaseException as error:
        connection.close()
        if isinstance(error, OSError):
            raise GoneError(str(error)) from error
        raise
    return connection


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """Name a socket by its folder's descriptor, as a socket's address holds only a hundred bytes.

    Raises UnsafeStateError if the folder is not private to this user, or the name belongs to anything except
    a socket of this user.
    """
    with StateFolder(path.parent) as folder:
        with contextlib.suppress(FileNotFoundError):
            folder.check(path.name, stat.S_IFSOCK)
        yield f"/proc/self/fd/{folder.descriptor}/{path.name}"


def same_user(connection: socket.socket) -> bool:
    """Return whether, according to the kernel, the peer runs as this process's user."""
    return _peer(connection)[1] == os.geteuid()


def _peer(connection: socket.socket) -> tuple[int, int, int]:
    process, user, group = _PEER.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    )
    return process, user, group


def _late(connection: socket.socket) -> SilentError:
    seconds = connection.gettimeout() or 0.0
    return SilentError(f"process {_peer(connection)[0]} gives no answer within {seconds:g} s")


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send one frame.

    Raises:
        GoneError: the peer is gone.
        ValueError: the frame is too long.
    """
    data = json.dumps(_packed(message)).encode("ascii")
    if len(data) > LONGEST:
        raise ValueError(f"a message of {len(data)} bytes is too long")
    try:
        connection.sendall(_LENGTH.pack(len(data)) + data)
    except TimeoutError:
        raise _late(connection) from None
    except OSError as error:
        raise GoneError(str(error)) from error


def receive(connection: socket.socket) -> dict[str, Any]:
    """Receive one frame.

    Raises:
        GoneError: the peer is gone, or does not speak this protocol.
    """
    try:
        (size,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
        if size > LONGEST:
            raise GoneError(f"a message of {size} bytes")
        message = _unpacked(json.loads(_exactly(connection, size)))
    except TimeoutError:
        raise _late(connection) from None
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise GoneError(str(error)) from error
    return message


def _packed(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message, and what it found, with vectors in base64."""
    sent = dict(message)
    if isinstance(message.get("found"), dict):
        sent["found"] = _packed(message["found"])
    for key in VECTORS & message.keys():
        rows = np.ascontiguousarray(message[key], dtype="<f4")
        sent[key] = [len(rows), base64.b64encode(rows.tobytes()).decode("ascii")]
    return sent


def _unpacked(message: Any) -> dict[str, Any]:
    """Return the message of `_packed`; raise ValueError if it is none."""
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    if isinstance(message.get("found"), dict):
        message["found"] = _unpacked(message["found"])
    for key in VECTORS & message.keys():
        count, text = message[key]
        rows = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(
            np.float32, copy=False
        )
        message[key] = rows.reshape(int(count), -1) if count else rows.reshape(0, 0)
    return message


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(1 << 20, size - len(parts)))
        if not part:
            raise GoneError("the other end hung up")
        parts += part
    return bytes(parts)


def ask_to_retire(folder: Path) -> None:
    """Ask the process that serves a folder, if any, to release it; return when it has or does not answer."""
    with contextlib.suppress(GoneError):
        connection = connect(folder)
        with connection:
            send(connection, {"op": "retire"})
            receive(connection)
