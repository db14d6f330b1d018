"""The process that opens an embedded store and serves it to all processes of its user.

Only one process may use Chroma's files. This one is started by a client that finds no server at the socket;
the store's lock guarantees that there is only one. It writes no log, and ends after a while without use, on
request, or when its folder is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from codeguard.errors import StoreError
from codeguard.index.store.base import BusyError, Row
from codeguard.index.store.chroma import VectorStore
from codeguard.index.store.wire import (
    PROTOCOL,
    WRITES,
    GoneError,
    packed,
    receive,
    same_user,
    send,
    short_name,
    socket_path,
    unpacked,
)
from codeguard.index.swapping import ready_of
from codeguard.trust.state_files import StateFolder, inode_of

FIRST_CLIENT_S = 30.0  # time for the starting client to connect
LOOK_S = 5.0  # how often the folder is checked
CONNECTIONS = 128
LAST_REQUESTS_S = 60.0


def main(folder: str, idle_s: float) -> None:
    """Serve a folder; report the start on stdout, in one line of JSON."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    os.chdir("/")
    place = Path(folder)
    try:
        store = VectorStore.open_folder(place, wait_s=0.0, retire=False)
    except BusyError:
        return _report({"busy": True})
    except StoreError as error:
        return _report({"error": error.problem, "hint": error.hint})
    try:
        try:
            listener = _listen(socket_path(place))
        except OSError as error:
            return _report({"error": f"the store {place} cannot be served ({error.strerror})", "hint": None})
        server = Server(store, place, listener, idle_s)
        signal.signal(signal.SIGTERM, lambda *_: server.retire())
        _report({"ready": True})
        server.run()
    finally:
        store.close()
    return None


def _report(line: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def _listen(path: Path) -> socket.socket:
    with StateFolder(path.parent) as folder:
        folder.delete(path.name)  # left by a killed server: the lock is ours
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_name(path) as name:
        listener.bind(name)  # accessible only to this user, by the umask
    listener.listen(CONNECTIONS)
    return listener


class Server:
    """Answers requests, each connection in a thread; writes one after the other."""

    def __init__(self, store: VectorStore, folder: Path, listener: socket.socket, idle_s: float) -> None:
        self._store = store
        self._folder = folder
        self._identity = inode_of(folder)
        self._socket = inode_of(socket_path(folder))
        self._listener = listener
        self._idle_s = idle_s
        self._writing = threading.Lock()
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._requests = 0
        self._closing = False
        self._used = time.monotonic() + FIRST_CLIENT_S
        self._wake_source, self._wake_sink = socket.socketpair()

    def retire(self) -> None:
        """End after the requests that are being answered."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._wake_sink.send(b"x")

    def run(self) -> None:
        """Serve until retired, idle, or without a folder."""
        while not self._closing and self._in_place() and not self._idle():
            wait = min(LOOK_S, max(0.05, self._used + self._idle_s - time.monotonic()))
            ready, _, _ = select.select([self._listener, self._wake_source], [], [], wait)
            if self._wake_source in ready:
                self._wake_source.recv(64)
            if self._listener in ready:
                connection, _ = self._listener.accept()
                self._welcome(connection)
        self._end()

    def _in_place(self) -> bool:
        return inode_of(self._folder) == self._identity and not os.path.lexists(ready_of(self._folder))

    def _idle(self) -> bool:
        with self._changed:
            return not self._connections and time.monotonic() >= self._used + self._idle_s

    def _welcome(self, connection: socket.socket) -> None:
        with self._changed:
            welcome = same_user(connection) and len(self._connections) < CONNECTIONS
            if welcome:
                self._connections.add(connection)
        if not welcome:
            connection.close()
            return
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        wrote = False
        try:
            with contextlib.suppress(GoneError):
                while (request := receive(connection)).get("op") not in ("leave", "retire"):
                    if not self._in_place():
                        self.retire()
                    with self._changed:
                        if self._closing:
                            return
                        self._requests += 1
                    wrote = wrote or request.get("op") in WRITES
                    try:
                        self._reply(connection, request)
                    finally:
                        with self._changed:
                            self._requests -= 1
                            self._used = time.monotonic()
                            self._changed.notify_all()
                if request["op"] == "retire":
                    self.retire()
        finally:
            if wrote:  # on disk before it is disconnected
                with contextlib.suppress(StoreError), self._writing:
                    if not self._closing:
                        self._store.settle()
            with self._changed:
                last = self._closing or (self._idle_s == 0 and len(self._connections) == 1)
                self._used = time.monotonic()
                if not last:
                    self._connections.discard(connection)
            if last:  # the store is closed first
                self.retire()
            else:
                connection.close()

    def _end(self) -> None:
        self._closing = True
        self._listener.close()
        # If the folder was deleted and recreated, another process may serve there by now.
        if inode_of(socket_path(self._folder)) == self._socket:
            with contextlib.suppress(OSError):
                socket_path(self._folder).unlink()
        with self._changed:
            self._changed.wait_for(lambda: self._requests == 0, LAST_REQUESTS_S)
        self._store.close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _reply(self, connection: socket.socket, request: dict[str, Any]) -> None:
        hint = None
        try:
            return send(connection, {"found": None, **self._answer(request)})
        except StoreError as error:
            if not self._in_place():  # Chroma opens its files by a path that is no longer valid
                self.retire()
                raise GoneError("the folder was taken away") from None
            said, hint = error.problem, error.hint
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
            said = (
                f"the store {self._store.location} cannot answer a request ({type(error).__name__}: {error})"
            )
        send(connection, {"error": said, "hint": hint})

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        store = self._store
        match asked["op"]:
            case "hello":
                return {"protocol": PROTOCOL, "pid": os.getpid()}
            case "nearest":
                return {"found": store.nearest(unpacked(asked["vector"]), int(asked["count"]))}
            case "count":
                return {"found": store.count()}
            case "ids":
                return {"found": store.page_of_ids(int(asked["offset"]))}
            case "documents":
                return {"found": store.documents(_texts(asked["ids"]))}
            case "metadatas":
                return {"found": store.metadatas(_texts(asked["ids"]))}
            case "embeddings":
                found = store.embeddings(_texts(asked["ids"]))
                return {"found": {id_: packed(vector) for id_, vector in found.items()}}
            case "add":
                rows = [
                    Row(str(id_), str(text), {str(key): str(value) for key, value in about.items()})
                    for id_, text, about in asked["rows"]
                ]
                with self._writing:
                    store.add(rows, unpacked(asked["vectors"]).reshape(len(rows), -1))
                return {}
            case "delete":
                with self._writing:
                    store.delete(_texts(asked["ids"]))
                return {}
        raise ValueError("op")


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values]
