"""The vectors in the catalog: the nearest are found exactly, several use them at once, no server is one line."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.errors import StoreError
from codeguard.index.catalog import Catalog
from codeguard.index.store import Row
from codeguard.index.store.chroma import ChromaServer
from codeguard.index.store.folder import LocalVectors

pytestmark = pytest.mark.ci

KEY = b"k" * 32


def unit(*values: float) -> np.ndarray:
    row = np.array(values, dtype=np.float32)
    return row / np.linalg.norm(row)


ROWS = [Row("a", "text a", {"path": "a.py"}), Row("b", "text b", {"path": "b.py"})]
VECTORS = np.stack([unit(1, 0, 0), unit(0, 1, 0)])


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    tmp_path.chmod(0o700)
    with Catalog(tmp_path / "catalog", KEY) as opened:
        yield opened


def test_the_nearest_come_first_with_cosine_distances(catalog: Catalog) -> None:
    store = LocalVectors(catalog)
    store.add(ROWS, VECTORS)
    hits = store.nearest(unit(3, 1, 0), 5)
    assert [hit.id for hit in hits] == ["a", "b"]
    assert hits[0].distance == pytest.approx(1 - 3 / np.sqrt(10), abs=1e-5)


def test_an_empty_store_answers_nothing(catalog: Catalog) -> None:
    store = LocalVectors(catalog)
    assert store.nearest(unit(1, 0, 0), 5) == []
    assert (store.ids(), store.count()) == (set(), 0)


def test_of_equals_the_ids_decide(catalog: Catalog) -> None:
    store = LocalVectors(catalog)
    rows = [Row(name, "", {}) for name in "dbca"]
    store.add(rows, np.stack([unit(1, 0)] * 4))
    assert [hit.id for hit in store.nearest(unit(1, 0), 2)] == ["a", "b"]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=12))
def test_two_that_have_it_open_see_every_change_at_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, int]]
) -> None:
    folder = tmp_path_factory.mktemp("state")
    folder.chmod(0o700)
    expected: dict[str, np.ndarray] = {}
    with Catalog(folder / "catalog", KEY) as one, Catalog(folder / "catalog", KEY) as other:
        writer, reader = LocalVectors(one), LocalVectors(other)
        for number, (added, place) in enumerate(steps):
            before = reader.stamp()
            if added:
                expected[str(place)] = unit(1, number)
                writer.add([Row(str(place), "", {})], expected[str(place)][None])
            else:
                expected.pop(str(place), None)
                writer.delete([str(place), "never there"])
            assert reader.stamp() != before
            found = {hit.id: hit.distance for hit in reader.nearest(unit(1, 0), 10)}
            assert found == pytest.approx({id_: 1 - row[0] for id_, row in expected.items()}, abs=1e-6)
        assert reader.ids() == expected.keys()
        assert {id_: row.tolist() for id_, row in reader.embeddings(["0", "9"]).items()} == {
            id_: row.tolist() for id_, row in expected.items() if id_ == "0"
        }


@pytest.mark.parametrize("size", [5, 4, 16])
def test_a_damaged_vector_is_one_clear_line(catalog: Catalog, size: int) -> None:
    store = LocalVectors(catalog)
    store.add(ROWS, VECTORS)
    with catalog.changing() as db:
        db.execute("UPDATE vectors SET vector = zeroblob(?)" + " WHERE id = 'a'" * (size != 16), (size,))
        db.execute("UPDATE vector_changes SET count = count + 1")
    with pytest.raises(StoreError, match=r"are damaged.*--rebuild"):
        store.nearest(unit(1, 0, 0), 1)


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:99999", "http://127.0.0.1:1"])
def test_no_server_is_one_clear_line(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        ChromaServer(url)
    assert "\n" not in str(caught.value)


def test_a_planted_env_file_neither_runs_nor_redirects(tmp_path: Path) -> None:
    """Chroma's settings name modules to import and hosts to talk to, and read `.env` where one stands."""
    marker = tmp_path / "ran"
    (tmp_path / "here").mkdir()
    (tmp_path / "evil.py").write_text(f"open({str(marker)!r}, 'w')\nclass Api: pass\n")
    (tmp_path / ".env").write_text(
        "chroma_api_impl=evil.Api\nCHROMA_API_IMPL=evil.Api\nchroma_server_host=127.0.0.1\n"
        "chroma_server_http_port=not_a_number\npersist_directory=elsewhere\n"
    )
    code = (
        "from pathlib import Path\nimport numpy as np\nfrom codeguard.index.catalog import Catalog\n"
        "from codeguard.index.store import Row\nfrom codeguard.index.store.folder import FolderVectors\n"
        "vectors = FolderVectors(Catalog(Path('here/catalog.sqlite3'), b'k' * 32))\n"
        "one = np.ones(1, np.float32)\nvectors.add([Row('a', '', {})], one[None])\n"
        "print([len(vectors._asked(one, 1))])\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "PERSIST_DIRECTORY": str(tmp_path / "elsewhere"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout) == [1], done.stderr
    assert not marker.exists()
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "here" / "chroma" / "chroma.sqlite3").exists()
