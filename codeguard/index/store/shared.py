"""The client side of an embedded store: a connection to the process that serves it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard import interpreter
from codeguard.errors import STOPPED, StoreError
from codeguard.index.store.base import BATCH, DAMAGED, BusyError, Hit, Row, all_ids
from codeguard.index.store.wire import (
    ANSWER_S,
    PROTOCOL,
    WRITES,
    GoneError,
    SilentError,
    connect,
    packed,
    receive,
    send,
    unpacked,
)
from codeguard.trust.state_files import StateFolder

IDLE_S = 60.0
WRITING = 5.0  # times as long for the answer to one of these
START_S = 120.0
ATTEMPTS = 5
LONGEST_BATCH = 4 << 20  # characters of one request's documents
LOOK_AGAIN_S = 0.02

_START = (
    "import os\n"
    "if os.fork(): os._exit(0)\n"
    "from codeguard.index.store.server import main; main(sys.argv[1], float(sys.argv[2])); os._exit(0)"
)


class SharedStore:
    """See `codeguard.index.store.base.Vectors`.

    The serving process is started if there is none. If it ends in the middle of a request, it is restarted
    and the request is sent again, because all requests are idempotent. Opening costs only that start; errors
    come with the first request. A process that serves and gives no answer for `wait_s` seconds is an error.
    """

    def __init__(self, folder: Path, *, idle_s: float = IDLE_S, wait_s: float = ANSWER_S) -> None:
        self._folder = folder.absolute()
        self._idle_s = idle_s
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._owner = os.getpid()
        self._starting: subprocess.Popen[bytes] | None = None
        self.location = str(folder)
        self._connection = self._connected_or_starting()

    def _connected_or_starting(self) -> socket.socket | None:
        try:
            return self._greeted()
        except SilentError as error:
            raise self._silent(error) from None
        except GoneError:
            self._starting = self._started()
            return None

    def _silent(self, error: SilentError) -> StoreError:
        return StoreError(f"the store {self.location} cannot be used ({error})", hint=STOPPED)

    def _greeted(self) -> socket.socket:
        """Connect and compare versions; a process that serves another version is asked to exit."""
        connection = connect(self._folder, self._wait_s)
        try:
            send(connection, {"op": "hello"})
            if receive(connection).get("protocol") != PROTOCOL:
                send(connection, {"op": "retire"})
                with contextlib.suppress(GoneError):
                    receive(connection)
                raise GoneError("it was of another version")
        except BaseException:
            connection.close()
            raise
        return connection

    def _started(self) -> subprocess.Popen[bytes]:
        try:
            with StateFolder(self._folder.parent, create=True):
                pass
            return interpreter.start(
                _START,
                str(self._folder),
                str(self._idle_s),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise StoreError(f"the store {self.location} cannot be served ({error.strerror})") from error

    def _await_start(self, process: subprocess.Popen[bytes]) -> bool:
        """Return whether the started process serves; False if another process has the store."""
        assert process.stdout is not None
        with process.stdout as stream:
            ready, _, _ = select.select([stream], [], [], START_S)
            line = stream.readline() if ready else b""
        with contextlib.suppress(subprocess.TimeoutExpired):  # it only starts the one that serves
            process.wait(self._wait_s)
        try:
            report = json.loads(line)
        except ValueError:
            why = "its process ended while it started" if ready else f"it did not start within {START_S:g} s"
            raise StoreError(f"the store {self.location} cannot be served ({why})") from None
        if "error" in report:
            raise StoreError(str(report["error"]), hint=report["hint"])
        return "ready" in report

    def _connected(self) -> socket.socket:
        if self._owner != os.getpid():  # after a fork, the connection belongs to the parent
            self._connection, self._starting, self._owner = None, None, os.getpid()
        if self._connection is not None:
            return self._connection
        deadline = time.monotonic() + self._wait_s
        while True:
            if self._starting is not None:
                process, self._starting = self._starting, None
                if not self._await_start(process):
                    if time.monotonic() > deadline:
                        raise BusyError(
                            f"the store {self.location} is in use by another process",
                            hint="wait for it, or use a Chroma server (--store http://…)",
                        )
                    time.sleep(LOOK_AGAIN_S)
            self._connection = self._connected_or_starting()
            if self._connection is not None:
                return self._connection

    def _ask(self, op: str, **asked: object) -> Any:
        """Return what the serving process found."""
        with self._lock:
            for left in range(ATTEMPTS - 1, -1, -1):
                connection = self._connected()
                connection.settimeout(self._wait_s * (WRITING if op in WRITES else 1.0))
                try:
                    send(connection, {"op": op, **asked})
                    answer = receive(connection)
                    break
                except GoneError as error:
                    connection.close()
                    self._connection = None
                    if isinstance(error, SilentError):  # started again it would only find the store in use
                        raise self._silent(error) from None
                    if not left:
                        raise StoreError(
                            f"the process that serves {self.location} ended {ATTEMPTS} times at one request",
                            hint=DAMAGED,
                        ) from error
        if "error" in answer:
            raise StoreError(str(answer["error"]), hint=answer.get("hint"))
        return answer.get("found")

    def add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """See `Vectors`."""
        start = 0
        while start < len(rows):
            end, length = start, 0
            while end < len(rows) and end - start < BATCH and length < LONGEST_BATCH:
                length += len(rows[end].document)
                end += 1
            batch = [[row.id, row.document, dict(row.metadata)] for row in rows[start:end]]
            self._ask("add", rows=batch, vectors=packed(vectors[start:end]))
            start = end

    def delete(self, ids: Sequence[str]) -> None:
        """See `Vectors`."""
        for page in _pages(ids):
            self._ask("delete", ids=page)

    def nearest(self, vector: NDArray[np.float32], count: int) -> list[Hit]:
        """See `Vectors`."""
        return [Hit(*hit) for hit in self._ask("nearest", count=count, vector=packed(vector))]

    def count(self) -> int:
        """See `Vectors`."""
        return int(self._ask("count"))

    def page_of_ids(self, offset: int) -> list[str]:
        """Return some ids from `offset` on, none after the last."""
        return list(self._ask("ids", offset=offset))

    def ids(self) -> set[str]:
        """See `Vectors`."""
        return all_ids(self.page_of_ids)

    def documents(self, ids: Sequence[str]) -> dict[str, str]:
        """See `Vectors`."""
        return self._found("documents", ids)

    def metadatas(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """See `Vectors`."""
        return self._found("metadatas", ids)

    def embeddings(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """See `Vectors`."""
        return {id_: unpacked(text) for id_, text in self._found("embeddings", ids).items()}

    def _found(self, op: str, ids: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for page in _pages(ids):
            found.update(self._ask(op, ids=page))
        return found

    def close(self) -> None:
        """See `Vectors`; the serving process stays for other clients, and for a while."""
        with self._lock:
            connection, self._connection = self._connection, None
            if self._starting is not None and self._owner == os.getpid():
                with contextlib.suppress(StoreError):
                    self._await_start(self._starting)
                self._starting = None
            if connection is None or self._owner != os.getpid():
                return
            with connection, contextlib.suppress(GoneError):
                connection.settimeout(10.0)
                send(connection, {"op": "leave"})
                receive(connection)


def _pages(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), BATCH):
        yield list(ids[start : start + BATCH])
