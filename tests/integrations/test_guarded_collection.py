"""The drop-in over a real Chroma collection: the same calls and shapes, and nothing unjudged in them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guarded_texts import CLEAN, QUERY, TRUSTED, WRONG
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig
from codeguard.errors import ConfigError
from codeguard.index.embedding import open_embedding
from codeguard.index.store.chroma import import_chromadb
from codeguard.integrations.chroma import PASSED_ON, GuardedCollection
from codeguard.ranking.reranking import Ranked

ROWS = {"ours": TRUSTED, "clean": CLEAN, "wrong": WRONG, "prose": "Numbers are added with a plus sign."}


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeGuard]:
    root = tmp_path_factory.mktemp("trusted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        (root / "src").mkdir()
        (root / "src" / "m.py").write_text(TRUSTED)
        settings = lexical_settings(root, root / "store")
        with CodeGuard.open(settings=settings, trust=[root / "src"]) as opened:
            opened.index([root / "src"])
            yield opened


@pytest.fixture
def collection(tmp_path: Path) -> Any:
    chromadb = import_chromadb()
    settings = chromadb.config.Settings(_env_file=None, anonymized_telemetry=False)
    client = chromadb.PersistentClient(path=str(tmp_path / "theirs"), settings=settings)
    made = client.create_collection(
        "snippets", embedding_function=_Function(), configuration={"hnsw": {"space": "cosine"}}
    )
    made.add(
        ids=list(ROWS),
        documents=list(ROWS.values()),
        metadatas=[{"path": f"{name}.py", "trust": "trusted"} for name in ROWS],
    )
    return made


def _function_class() -> Any:
    chromadb = import_chromadb()

    class Lexical(chromadb.EmbeddingFunction):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            self._embedding = open_embedding("lexical")

        def __call__(self, input: list[str]) -> Any:  # noqa: A002 - Chroma's name
            return list(self._embedding.embed(input))

        @staticmethod
        def name() -> str:
            return "lexical-of-a-test"

        def get_config(self) -> dict[str, Any]:
            return {}

        @staticmethod
        def build_from_config(config: dict[str, Any]) -> Any:
            return _Function()

    return Lexical


_Function = _function_class()


@pytest.fixture
def guarded(collection: Any, guard: CodeGuard) -> GuardedCollection:
    return GuardedCollection(collection, guard)


def test_what_is_wrong_does_not_come_back(collection: Any, guarded: GuardedCollection) -> None:
    assert collection.query(query_texts=[QUERY], n_results=1)["ids"] == [["wrong"]]
    found = guarded.query(query_texts=[QUERY], n_results=2)
    assert found["ids"] == [["ours", "clean"]]
    assert found["documents"] == [[TRUSTED, CLEAN]]
    assert [row["path"] for row in found["metadatas"][0]] == ["ours.py", "clean.py"]


@pytest.mark.parametrize(
    "include", [("metadatas", "documents", "distances"), ("distances",), ("embeddings", "documents"), ()]
)
def test_the_shape_of_an_answer_is_chromas(
    collection: Any, guard: CodeGuard, include: tuple[str, ...]
) -> None:
    guarded = GuardedCollection(collection, guard, mode="rerank")
    ours = guarded.query(query_texts=[QUERY, "reverse"], n_results=3, include=list(include))
    theirs = collection.query(query_texts=[QUERY, "reverse"], n_results=3, include=list(include))
    assert ours.keys() == theirs.keys()
    assert sorted(ours["included"]) == sorted(theirs["included"])
    for key in theirs:
        if key not in ("included", "ids"):
            assert (ours[key] is None) == (theirs[key] is None), key
            assert ours[key] is None or [len(rows) for rows in ours[key]] == [3, 3]
    got, expected = (
        guarded.get(include=["documents", "embeddings"]),
        collection.get(include=["documents", "embeddings"]),
    )
    assert got.keys() == expected.keys()
    assert got["ids"] == expected["ids"]
    assert np.array_equal(got["embeddings"], expected["embeddings"])


def test_rerank_keeps_what_is_wrong_behind_the_rest(collection: Any, guard: CodeGuard) -> None:
    found = GuardedCollection(collection, guard, mode="rerank").query(query_texts=QUERY, n_results=4)
    assert found["ids"][0][-1] == "wrong"


def test_embeddings_filters_and_single_queries(guarded: GuardedCollection) -> None:
    vector = open_embedding("lexical").embed([QUERY])[0]
    for embeddings in (vector, vector.tolist(), [vector]):
        assert guarded.query(query_embeddings=embeddings, n_results=1)["ids"] == [["ours"]]
    assert guarded.query(query_texts=[QUERY], ids=["clean", "wrong"])["ids"] == [["clean"]]
    assert guarded.query(query_texts=[QUERY], where={"path": "wrong.py"})["ids"] == [[]]
    assert guarded.query(query_texts=[QUERY], where_document={"$contains": "sum("})["ids"] == [["clean"]]


def test_reading_rows_is_guarded_too(guarded: GuardedCollection) -> None:
    assert guarded.get()["ids"] == ["ours", "clean", "prose"]
    assert guarded.get(ids="wrong")["documents"] == []
    assert "wrong" not in guarded.peek()["ids"]
    assert guarded.count() == 4


def test_what_was_removed_is_reported(collection: Any, guard: CodeGuard) -> None:
    told: list[Ranked] = []
    GuardedCollection(collection, guard, report=told.extend).query(query_texts=[QUERY])
    assert [item.id for item in told] == ["wrong"]
    assert told[0].verdict == "fail"


@pytest.mark.parametrize(
    "name", ["attach_function", "get_attached_function", "_embed", "_client", "get_model"]
)
def test_what_is_not_guarded_is_not_there(guarded: GuardedCollection, name: str) -> None:
    with pytest.raises(AttributeError, match="unguarded"):
        getattr(guarded, name)


def test_what_a_collection_says_of_itself(guarded: GuardedCollection, collection: Any) -> None:
    for name in (
        "tenant",
        "database",
        "configuration_json",
        "metadata",
        "id",
        "name",
    ):
        assert getattr(guarded, name) == getattr(collection, name)
    assert guarded.configuration.keys() == collection.configuration.keys()
    assert type(guarded.schema) is type(collection.schema)  # made anew for each call, and not comparable
    for call in (guarded.fork_count, guarded.get_indexing_status, lambda: guarded.fork("copy")):
        with pytest.raises(NotImplementedError, match="Local Chroma"):  # which says so itself
            call()
    with pytest.raises(ConfigError, match="unguarded"):
        guarded.search(object())


def test_a_fork_is_guarded_like_its_origin(guarded: GuardedCollection, collection: Any) -> None:
    class Hosted:  # only a hosted Chroma forks
        def __getattr__(self, name: str) -> Any:
            return (lambda new_name: collection) if name == "fork" else getattr(collection, name)

    copy = GuardedCollection(Hosted(), judge=guarded._judge).fork("copy")
    assert "wrong" not in copy.query(query_texts=[QUERY])["ids"][0]


def test_every_public_name_of_a_collection_is_decided_about(collection: Any) -> None:
    """A method that Chroma adds later is refused until somebody looked at it."""
    theirs = {name for name in dir(type(collection)) if not name.startswith("_")}
    ours = {name for name in dir(GuardedCollection) if not name.startswith("_")} | PASSED_ON
    assert ours - {"unguarded"} <= theirs
    assert theirs - ours == {"attach_function", "detach_function", "get_attached_function", "get_model"}
    assert {"query", "get", "peek", "count", "add", "upsert", "update", "delete", "modify"} <= ours


@pytest.mark.parametrize("include", [["uris"], ["data"], ["everything"]])
def test_what_cannot_be_judged_is_refused(guarded: GuardedCollection, include: list[str]) -> None:
    with pytest.raises(ConfigError, match="text"):
        guarded.query(query_texts=[QUERY], include=include)
    with pytest.raises(ConfigError, match="text"):
        guarded.get(include=include)


def test_writing_goes_through_and_is_judged_when_read(guarded: GuardedCollection) -> None:
    guarded.upsert(ids=["late"], documents=[WRONG.replace("official", "late")])
    assert guarded.count() == 5
    assert "late" not in guarded.query(query_texts=[QUERY])["ids"][0]
    guarded.update(ids=["wrong"], documents=[CLEAN])
    assert "wrong" in guarded.query(query_texts=[QUERY])["ids"][0]
    guarded.delete(ids=["late"])
    guarded.modify(name="renamed")
    assert (guarded.count(), guarded.name) == (4, "renamed")


@pytest.mark.parametrize(
    ("name", "text", "metadata"),
    [
        ("another language", WRONG, {"language": "javascript"}),
        ("a trusted path", WRONG, {"path": "src/m.py", "trust": "trusted", "source": "src/m.py"}),
        ("indented", "    " + WRONG.replace("\n", "\n    ").rstrip() + "\n", None),
        ("beside a good one", f"{CLEAN.replace('add', 'total')}\n\n{WRONG}", None),
        ("in prose", f"Use this:\n\n{WRONG}\nThat is all.\n", None),
    ],
)
def test_metadata_and_surroundings_do_not_help(
    collection: Any, guarded: GuardedCollection, name: str, text: str, metadata: dict[str, str] | None
) -> None:
    collection.add(ids=["poison"], documents=[text], metadatas=[metadata] if metadata else None)
    assert "poison" not in guarded.query(query_texts=[QUERY], n_results=10)["ids"][0], name


def test_a_row_without_text_is_left_out(collection: Any, guarded: GuardedCollection) -> None:
    collection.add(ids=["blank"], embeddings=[open_embedding("lexical").embed([QUERY])[0]])
    assert "blank" not in guarded.query(query_texts=[QUERY], n_results=10)["ids"][0]


def test_trust_is_by_the_text_alone(collection: Any, guard: CodeGuard) -> None:
    told: list[Ranked] = []
    config = DefenseConfig(drop_threshold=-1.0)  # everything is reported
    GuardedCollection(collection, guard, config=config, report=told.extend).get()
    assert {item.id: item.trust.value for item in told} == {
        "ours": "trusted", "clean": "unlisted", "wrong": "unlisted", "prose": "unlisted",
    }  # fmt: skip


def test_past_a_flood_of_poison_there_are_still_results(collection: Any, guarded: GuardedCollection) -> None:
    copies = [WRONG.replace("official", f"official {number}") for number in range(60)]
    collection.add(ids=[f"flood{number}" for number in range(60)], documents=copies)
    assert guarded.query(query_texts=[QUERY, "add"], n_results=2)["ids"] == [["ours", "clean"]] * 2


def test_without_a_guard_nothing_is_run(collection: Any) -> None:
    found = GuardedCollection(collection).query(query_texts=[QUERY], n_results=4)
    assert set(found["ids"][0]) == set(ROWS)
