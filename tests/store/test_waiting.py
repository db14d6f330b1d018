"""Every wait for another process ends, with one line that says what was awaited."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import codeguard

from codeguard.errors import CodeguardError, StoreError
from codeguard.index import catalog
from codeguard.index.catalog import Catalog
from codeguard.index.store import Row
from codeguard.index.store.chroma import ChromaServer
from codeguard.index.swapping import held
from codeguard.index.workspace import WRITING
from codeguard.integrations.chroma import GuardedCollection
from codeguard.integrations.documents import DocumentJudge
from codeguard.trust import state_files
from codeguard.trust.state_files import StateFolder
from codeguard.workers.tasks import within

pytestmark = pytest.mark.ci

SOON = 0.3
LATE = f"no answer within {SOON:g} s"
EYE = np.eye(4, dtype=np.float32)


@contextlib.contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@contextlib.contextmanager
def silent_server(drip: bool) -> Iterator[int]:
    """A server that accepts and never answers, or answers without an end."""
    ended = threading.Event()
    accepted: list[socket.socket] = []

    def feed(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
            while not ended.wait(0.05):
                connection.sendall(b" ")

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                accepted.append(connection)
                if drip:
                    threading.Thread(target=feed, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        ended.set()
        for connection in accepted:
            connection.close()


@contextlib.contextmanager
def holder(program: str, *arguments: str) -> Iterator[None]:
    """A process that holds something until the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", f"{program}\nprint(flush=True)\ninput()", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.communicate(b"\n")


LOCKS = "import fcntl, sys\nfile = open(sys.argv[1], 'w')\nfcntl.flock(file, fcntl.LOCK_EX)"
LOCKS_SQLITE = (
    "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    "db.execute('BEGIN EXCLUSIVE')"
)


@pytest.mark.parametrize("drip", [False, True], ids=["no answer", "an answer without an end"])
def test_a_server_that_never_answers_costs_a_command_one_line(tmp_path: Path, drip: bool) -> None:
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    config = tmp_path / "config.toml"
    config.write_text(f"wait_s = {SOON}\njobs = 1\n")
    with silent_server(drip) as port:
        done = codeguard(
            "--config", str(config), "index", "a.py", "--store", f"http://127.0.0.1:{port}", cwd=tmp_path
        )
    assert done.returncode == 2
    *_, line = done.stderr.splitlines()
    assert f"127.0.0.1:{port}" in line
    assert LATE in line


def test_a_chroma_server_that_is_stopped(
    chroma_server: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, process = chroma_server
    store = ChromaServer(f"http://127.0.0.1:{port}")
    store.add([Row("a", "text", {"path": "a.py"})], EYE[:1])
    store._wait_s = SOON
    guarded = GuardedCollection(store._collection)
    monkeypatch.setattr(DocumentJudge, "wait_s", SOON)
    requests: list[Callable[[], Any]] = [
        store.count,
        lambda: store.nearest(EYE[0], 1),
        lambda: store.delete(["a"]),
        guarded.get,
        lambda: guarded.query(query_embeddings=[EYE[0].tolist()]),
        lambda: ChromaServer(f"http://127.0.0.1:{port}", wait_s=SOON),
    ]
    with stopped(process):
        for request in requests:
            with pytest.raises(StoreError, match="no answer within"):
                request()
    store._wait_s = 60.0
    assert store.count() <= 1  # the deletion may have come through since


def test_a_lock_that_another_process_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    state.mkdir(0o700)
    waiting: list[str] = []
    with holder(LOCKS, str(state / WRITING)):
        with (
            pytest.raises(StoreError, match=f"changed the index in {state} for more than {SOON} s"),
            held(state / WRITING, lambda: waiting.append("told"), SOON),
        ):
            pass
        monkeypatch.setattr(state_files, "LOCKED_S", SOON)
        with (
            StateFolder(state) as folder,
            pytest.raises(TimeoutError, match=f"holds {WRITING}"),
            folder.lock(WRITING),
        ):
            pass
    assert waiting == ["told"]
    with held(state / WRITING, lambda: None, SOON) as alone:
        assert alone


def test_a_catalog_that_another_process_has_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "BUSY_S", SOON)
    state = tmp_path / "state"
    state.mkdir(0o700)
    with Catalog(state / "catalog", b"k" * 32) as opened:
        with (
            holder(LOCKS_SQLITE, str(state / "catalog")),
            pytest.raises(StoreError, match=f"after {SOON} s of waiting for another process"),
        ):
            opened.put_analyses({"key": {}})
        opened.put_analyses({"key": {}})


def test_what_is_asked_in_time_answers_or_raises_as_it_does() -> None:
    def refuses() -> None:
        raise StoreError("no")

    assert within(60.0, lambda: 7) == 7
    with pytest.raises(CodeguardError, match="no"):
        within(60.0, refuses)
