"""Several processes, one embedded store: everybody is served, whoever ends."""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ended import gone

from codeguard.errors import StoreError
from codeguard.index.store import Row, SharedStore, VectorStore
from codeguard.index.store.wire import GoneError, connect, receive, send, socket_path

pytestmark = pytest.mark.ci

EYE = np.eye(4, dtype=np.float32)


def rows(*names: str) -> list[Row]:
    return [Row(name, f"text {name}", {"path": f"{name}.py"}) for name in names]


@pytest.fixture(autouse=True)
def _sharing(_own_configuration: None) -> None:
    """Commands share a store as they do for a user; the process that serves it ends with its last user."""
    place = Path(os.environ["XDG_CONFIG_HOME"]) / "codeguard" / "config.toml"
    place.write_text("share_idle_s = 0.0\njobs = 1\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "chroma"


@pytest.fixture
def store(folder: Path) -> Iterator[SharedStore]:
    opened = SharedStore(folder, idle_s=0)
    yield opened
    opened.close()


def serving(folder: Path) -> int:
    """Return the process that serves a folder."""
    with connect(folder) as connection:
        send(connection, {"op": "hello"})
        return int(receive(connection)["pid"])


def test_everything_that_a_store_does(store: SharedStore) -> None:
    assert store.nearest(EYE[0], 3) == []
    store.add(rows("a", "b", "ü\ud800"[:1]), EYE[:3])
    assert store.count() == 3
    assert store.ids() == {"a", "b", "ü"}
    assert [hit.id for hit in store.nearest(EYE[1], 1)] == ["b"]
    assert store.documents(["a", "never"]) == {"a": "text a"}
    assert store.metadatas(["b"]) == {"b": {"path": "b.py"}}
    assert np.array_equal(store.embeddings(["ü"])["ü"], EYE[2])
    assert store.embeddings(["never"]) == {}
    store.delete(["a", "never"])
    assert store.ids() == {"b", "ü"}


def test_two_see_each_others_rows_through_one_process(folder: Path, store: SharedStore) -> None:
    other = SharedStore(folder, idle_s=0)
    store.add(rows("a"), EYE[:1])
    assert other.ids() == {"a"}
    other.add(rows("b"), EYE[1:2])
    other.close()
    assert store.ids() == {"a", "b"}


@pytest.mark.slow
def test_more_rows_than_one_request_bears(store: SharedStore) -> None:
    many = [Row(f"r{number}", "x" * 10_000, {"path": "p"}) for number in range(2100)]
    store.add(many, np.tile(EYE, (525, 1)))
    assert store.ids() == {row.id for row in many}
    assert len(store.documents([row.id for row in many])) == 2100


@pytest.mark.slow
def test_a_killed_holder_is_replaced_and_nothing_acknowledged_is_lost(
    folder: Path, store: SharedStore
) -> None:
    for number in range(5):
        store.add(rows(f"r{number}"), EYE[:1])
        os.kill(serving(folder), signal.SIGKILL)
        assert store.ids() == {f"r{before}" for before in range(number + 1)}


def test_a_holder_that_dies_at_every_try_is_an_error(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.count()

    def dies(*_: object) -> None:
        raise GoneError

    monkeypatch.setattr("codeguard.index.store.shared.receive", dies)
    monkeypatch.setattr(SharedStore, "_greeted", lambda self: connect(self._folder))
    with pytest.raises(StoreError, match=r"ended 5 times.*codeguard index --rebuild"):
        store.count()


def test_the_last_to_leave_closes_the_store(folder: Path) -> None:
    first = SharedStore(folder, idle_s=0)
    first.add(rows("a"), EYE[:1])
    first.close()
    assert not socket_path(folder).exists()
    alone = VectorStore.open_folder(folder, wait_s=0.0)
    assert alone.ids() == {"a"}
    alone.close()


def test_whoever_wants_the_folder_alone_gets_it_and_the_others_come_back(
    folder: Path, store: SharedStore
) -> None:
    store.add(rows("a"), EYE[:1])
    alone = VectorStore.open_folder(folder)
    alone.add(rows("b"), EYE[1:2])
    alone.close()
    assert store.ids() == {"a", "b"}


def test_a_folder_held_by_one_that_serves_nobody_is_one_clear_line(folder: Path) -> None:
    alone = VectorStore.open_folder(folder)
    waiting = SharedStore(folder, idle_s=0, wait_s=0.1)
    with pytest.raises(StoreError, match="in use by another process"):
        waiting.count()
    alone.close()
    assert waiting.count() == 0
    waiting.close()


def test_a_store_that_cannot_be_opened_is_one_clear_line(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "chroma.sqlite3").write_bytes(b"garbage " * 1000)
    store = SharedStore(folder, idle_s=0)
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        store.count()
    assert "\n" not in str(caught.value)
    store.close()


def test_what_the_serving_process_refuses_is_told_with_got_and_expected(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    (tmp_path / "other").write_bytes(b"")
    (folder / "chroma.sqlite3").symlink_to(tmp_path / "other")
    store = SharedStore(folder, idle_s=0)
    with pytest.raises(StoreError, match="got a link, expected a regular file; "):
        store.count()
    store.close()


def test_the_socket_is_this_users_alone(folder: Path, store: SharedStore) -> None:
    store.count()
    assert stat.S_IMODE(socket_path(folder).stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">Q", 1 << 40),
        struct.pack(">Q", 4) + b"[[[[",
        struct.pack(">Q", 20_000) + b"[" * 20_000,
        struct.pack(">Q", 2) + b"[]",
        struct.pack(">Q", 2) + b"{}",
        struct.pack(">Q", 12) + b'{"op": "x" }',
        struct.pack(">Q", 51) + b'{"op": "nearest", "count": -1, "vector":"AACAfw=="}',
        struct.pack(">Q", 44) + b'{"op": "nearest", "count": 1, "vector": "?"}',
    ],
)
def test_nonsense_at_the_socket_harms_nobody_else(folder: Path, store: SharedStore, sent: bytes) -> None:
    store.add(rows("a"), EYE[:1])
    before = serving(folder)
    with connect(folder) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(4096):
                pass
    assert store.ids() == {"a"}
    assert serving(folder) == before


def test_a_long_path_is_no_hindrance(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 100) / ("e" * 100) / "chroma"
    store = SharedStore(folder, idle_s=0)
    assert store.count() == 0
    store.close()


def test_a_folder_that_is_taken_away_is_let_go(folder: Path, tmp_path: Path, store: SharedStore) -> None:
    store.add(rows("a"), EYE[:1])
    other = SharedStore(folder, idle_s=0)
    folder.parent.rename(tmp_path / "moved")
    moved = SharedStore(tmp_path / "moved" / "chroma", idle_s=0)
    assert moved.ids() == {"a"}
    moved.close()
    other.close()


def test_who_asks_the_holder_of_a_folder_that_was_taken_away_is_let_go_and_gets_no_error(
    folder: Path, tmp_path: Path
) -> None:
    store = SharedStore(folder, idle_s=60)  # so that its process does not look at its folder by itself
    store.add(rows("a"), EYE[:1])
    with connect(folder) as connection:
        send(connection, {"op": "hello"})
        receive(connection)
        folder.parent.rename(tmp_path / "moved")
        send(connection, {"op": "ids", "offset": 0})
        with pytest.raises(GoneError):
            receive(connection)
    moved = SharedStore(tmp_path / "moved" / "chroma", idle_s=0)
    assert moved.ids() == {"a"}
    moved.close()
    store.close()


def test_a_holder_of_a_deleted_folder_leaves_the_next_ones_socket_alone(folder: Path) -> None:
    former = SharedStore(folder, idle_s=60)
    former.add(rows("a"), EYE[:1])
    pid = serving(folder)
    former.close()  # its process waits for others, and ends when it notices that its folder is gone
    shutil.rmtree(folder.parent)
    again = SharedStore(folder, idle_s=0)
    again.add(rows("b"), EYE[:1])
    assert gone(pid, 30)
    assert serving(folder) != pid
    assert again.ids() == {"b"}
    again.close()


def test_what_is_not_ours_in_the_working_directory_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('planted')")
    (tmp_path / "chromadb.py").write_text("raise SystemExit('planted')")
    code = (
        "import sys; sys.path.remove(''); from pathlib import Path; from codeguard.index.store import SharedStore\n"
        "store = SharedStore(Path('s/chroma'), idle_s=0); print(store.count()); store.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "0\n", done.stderr


@pytest.mark.slow
def test_three_ask_while_one_indexes_and_the_holder_is_killed(tmp_path: Path) -> None:
    """Every query succeeds, gives what it would give alone, and the index is whole afterwards."""
    code = tmp_path / "code"
    for name, text in {
        "ours/m.py": 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n',
        "theirs/bad.py": 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n',
    }.items():
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_text(text)

    def command(*words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "codeguard", *words]

    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command(*words), cwd=code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    index = ("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical")
    query = ("query", "add two numbers", "-k", "2", "--format", "json")
    subprocess.run(command(*index), cwd=code, check=True, capture_output=True)
    for number in range(300):
        (code / "theirs" / f"f{number}.py").write_text(f"def zig{number}(q):\n    return [{number}, q]\n")
    indexing = start(*index, "--format", "json")
    asked = [start(*query) for _ in range(3)]
    folder = code / ".codeguard" / "chroma"
    for round_ in range(2):
        for place, process in enumerate(asked):
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
            answer = json.loads(out)
            assert [item["path"] for item in answer["results"]][:1] == ["ours/m.py"]
            assert any(i["path"] == "theirs/bad.py" and i["convicted"] for i in answer["ranking"])
            if round_ < 1:
                asked[place] = start(*query)
        with contextlib.suppress(GoneError):  # it may just have ended with its last user
            os.kill(serving(folder), signal.SIGKILL)
    out, err = indexing.communicate(timeout=120)
    assert indexing.returncode == 0, err
    assert json.loads(out)["files"] == 302
    again = subprocess.run(
        command(*index, "--format", "json"), cwd=code, check=True, capture_output=True, text=True
    )
    assert json.loads(again.stdout)["added"] == 0
    store = VectorStore.open_folder(folder)
    assert store.count() == json.loads(again.stdout)["chunks"]
    store.close()


@pytest.mark.slow
def test_two_that_index_at_once_take_turns(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"f{number}.py").write_text(f"def zig{number}(q):\n    return [{number}, q]\n")
    words = [
        sys.executable,
        "-P",
        "-m",
        "codeguard",
        "index",
        ".",
        "--embedding",
        "lexical",
        "--format",
        "json",
    ]
    both = [
        subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    added = sorted(json.loads(out)["added"] for out, _ in answers)
    assert added == [0, 60]
