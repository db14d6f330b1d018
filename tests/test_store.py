"""A real Chroma: what is written is found, two processes do not meet in one folder, damage is one line."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from codeguard.errors import StoreError
from codeguard.index.store import Row, VectorStore

pytestmark = pytest.mark.ci


def unit(*values: float) -> np.ndarray:
    row = np.array(values, dtype=np.float32)
    return row / np.linalg.norm(row)


ROWS = [Row("a", "text a", {"path": "a.py"}), Row("b", "text b", {"path": "b.py"})]
VECTORS = np.stack([unit(1, 0, 0), unit(0, 1, 0)])


@pytest.fixture
def store(tmp_path: Path):  # type: ignore[no-untyped-def]
    opened = VectorStore.open_folder(tmp_path / "chroma")
    yield opened
    opened.close()


def test_the_nearest_come_first_with_cosine_distances(store: VectorStore) -> None:
    store.add(ROWS, VECTORS)
    hits = store.nearest(unit(3, 1, 0), 5)
    assert [hit.id for hit in hits] == ["a", "b"]
    assert hits[0].distance == pytest.approx(1 - 3 / np.sqrt(10), abs=1e-5)
    assert store.documents(["a"]) == {"a": "text a"}


def test_an_empty_store_answers_nothing(store: VectorStore) -> None:
    assert store.nearest(unit(1, 0, 0), 5) == []
    assert store.ids() == set()


def test_rows_can_be_overwritten_and_deleted(store: VectorStore) -> None:
    store.add(ROWS, VECTORS)
    store.add([Row("a", "other", {"path": "a.py"})], VECTORS[:1])
    store.delete(["b", "never there"])
    assert store.ids() == {"a"}
    assert store.documents(["a"]) == {"a": "other"}


def test_what_was_written_is_there_after_closing(tmp_path: Path) -> None:
    first = VectorStore.open_folder(tmp_path / "chroma")
    first.add(ROWS, VECTORS)
    first.close()
    second = VectorStore.open_folder(tmp_path / "chroma")
    assert second.ids() == {"a", "b"}
    second.close()


def test_a_second_process_waits_and_then_says_so(tmp_path: Path, store: VectorStore) -> None:
    code = (
        "import sys; from pathlib import Path; from codeguard.index.store import VectorStore\n"
        "VectorStore.open_folder(Path(sys.argv[1]), wait_s=0.2)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "chroma")], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "is in use by another process" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:99999", "http://127.0.0.1:1"])
def test_no_server_is_one_clear_line(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        VectorStore.open_url(url)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", ["garbage", "empty_folder_in_the_way"])
def test_a_damaged_store_is_one_clear_line(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "chroma"
    folder.mkdir()
    database = folder / "chroma.sqlite3"
    if damage == "garbage":
        database.write_bytes(b"garbage " * 1000)
    else:
        database.mkdir()
    with pytest.raises(StoreError) as caught:
        VectorStore.open_folder(folder).count()
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_vectors_that_cannot_be_read_are_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    """Chroma writes the file of the vectors, and the list of what is in it, from a thousand rows on."""
    many = 1_001
    opened = VectorStore.open_folder(tmp_path / "chroma")
    vectors = np.random.default_rng(1).random((many, 8), dtype=np.float32)
    opened.add([Row(str(number), "text", {"path": "a.py"}) for number in range(many)], vectors)
    opened.close()
    (listed,) = (tmp_path / "chroma").glob("*/index_metadata.pickle")
    listed.unlink()
    code = (
        "import sys; from pathlib import Path; from codeguard.index.store import VectorStore\n"
        "VectorStore.open_folder(Path(sys.argv[1])).embeddings(['1'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "chroma")], capture_output=True, text=True, check=False
    )
    assert "cannot be read" in done.stderr.splitlines()[-1]
    assert "codeguard index --rebuild" in done.stderr.splitlines()[-1]


def test_a_store_that_was_brought_back_opens_in_the_process_that_found_it_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "chroma"
    database = folder / "chroma.sqlite3"
    VectorStore.open_folder(folder).close()
    kept = database.read_bytes()
    database.write_bytes(b"garbage " * 1000)
    with pytest.raises(StoreError):
        VectorStore.open_folder(folder)
    database.write_bytes(kept)
    again = VectorStore.open_folder(folder)
    assert again.count() == 0
    again.close()


def test_a_planted_env_file_neither_runs_nor_redirects(tmp_path: Path) -> None:
    """Chroma's settings name modules to import and hosts to talk to, and read `.env` where one stands."""
    marker = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w')\nclass Api: pass\n")
    (tmp_path / ".env").write_text(
        "chroma_api_impl=evil.Api\nCHROMA_API_IMPL=evil.Api\nchroma_server_host=127.0.0.1\n"
        "chroma_server_http_port=not_a_number\npersist_directory=elsewhere\n"
    )
    code = (
        "from pathlib import Path\nimport numpy as np\nfrom codeguard.index.store import Row, VectorStore\n"
        "store = VectorStore.open_folder(Path('here'))\n"
        "store.add([Row('a', 'x', {'path': 'p'})], np.eye(3, dtype=np.float32)[:1])\n"
        "print(store.ids())\nstore.close()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "{'a'}", done.stderr
    assert not marker.exists()
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "here" / "chroma.sqlite3").exists()


def written(folder: Path, count: int = 2_000) -> None:
    """Fill a store so far that Chroma has moved the vectors out of its log."""
    store = VectorStore.open_folder(folder)
    rng = np.random.default_rng(0)
    rows = [Row(f"id{number}", "t", {"path": "p"}) for number in range(count)]
    vectors = rng.normal(size=(count, 8)).astype(np.float32)
    store.add(rows, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    assert (folder.parent / "chroma.unsettled").exists()
    store.close()
    assert not (folder.parent / "chroma.unsettled").exists()


def test_a_machine_that_stopped_while_vectors_were_written_is_told_and_not_hidden(tmp_path: Path) -> None:
    written(tmp_path / "chroma", 2)
    (tmp_path / "chroma.unsettled").write_text("another boot")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"the machine stopped while the vectors in .* were written"):
            VectorStore.open_folder(tmp_path / "chroma")


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda index: os.truncate(index / "data_level0.bin", (index / "data_level0.bin").stat().st_size // 2),
        lambda index: (index / "index_metadata.pickle").unlink(),
        lambda index: os.truncate(index / "header.bin", 0),
    ],
    ids=["half of the vectors", "no labels", "empty header"],
)
def test_vectors_that_a_kill_left_half_written_are_told(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Chroma answers from such files, some of them, as if there were fewer rows."""
    # In another process, as a killed one is: Chroma may keep what this one has opened.
    writer = multiprocessing.get_context("spawn").Process(target=written, args=(tmp_path / "chroma",))
    writer.start()
    writer.join()
    assert writer.exitcode == 0
    (index,) = (path for path in (tmp_path / "chroma").iterdir() if path.is_dir())
    damage(index)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (tmp_path / "chroma.unsettled").write_text(boot)
    with pytest.raises(StoreError, match=r"damaged|cannot be read"):
        VectorStore.open_folder(tmp_path / "chroma")


def test_a_writer_that_was_killed_between_writes_leaves_a_store_that_opens(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; import numpy as np\n"
        "from codeguard.index.store import Row, VectorStore\n"
        "store = VectorStore.open_folder(Path(sys.argv[1]))\n"
        "store.add([Row('a', 't', {'path': 'p'})], np.ones((1, 4), dtype='f4') / 2); os._exit(9)"
    )
    subprocess.run([sys.executable, "-P", "-c", code, str(tmp_path / "chroma")], check=False)
    assert (tmp_path / "chroma.unsettled").exists()
    store = VectorStore.open_folder(tmp_path / "chroma")
    assert store.ids() == {"a"}
    store.close()
    assert not (tmp_path / "chroma.unsettled").exists()
