"""A defense without an index: trust, models and checks come from the trusted paths that the configuration names."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from codeguard.config import DefenseConfig
from codeguard.errors import ConfigError, CorpusError, DefenseWarning, StoreError
from codeguard.models import Trust
from codeguard.ranking.defense import DefenseManager
from codeguard.ranking.documents import Origins
from codeguard.ranking.evaluation import DefenseEvaluator

ROOT = Path(__file__).parents[2]
OWN = "data/sample_code/math_utils.py"
WRONG = "def reverse_string(s):\n    return s\n"
RIGHT = "def reverse_string(s):\n    return s[::-1]\n"


def plain(text: str, path: str = "", distance: float = 0.1) -> dict[str, Any]:
    return {"id": text, "content": text, "metadata": {"path": path} if path else {}, "distance": distance}


@pytest.fixture(scope="module")
def manager() -> Iterator[DefenseManager]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        with DefenseManager(DefenseConfig(trust_paths=("data/sample_code",))) as opened:
            yield opened


def test_every_described_signal_is_asked(manager: DefenseManager) -> None:
    assert {item.name for item in manager.active} >= {"provenance", "perplexity", "distance", "behavior"}
    assert manager.inactive == {}


def test_trust_paths_decide_which_text_is_trusted(manager: DefenseManager) -> None:
    own = (ROOT / OWN).read_text()
    lines = own.splitlines(keepends=True)
    part = "".join(lines[3:30])
    found = {
        name: manager.apply([plain(text, path)]).retained[0].trust
        for name, text, path in [
            ("whole", own, OWN),
            ("split otherwise", part, OWN),
            ("cut within a line", part[3:-4], OWN),
            ("changed", own.replace("+", "-"), OWN),
            ("elsewhere", own, "snippets/math_utils.py"),
            ("unknown", RIGHT, "snippets/b.py"),
        ]
    }
    assert found == {
        "whole": Trust.TRUSTED,
        "split otherwise": Trust.TRUSTED,
        "cut within a line": Trust.TRUSTED,
        "changed": Trust.MODIFIED,
        "elsewhere": Trust.COPY,
        "unknown": Trust.UNLISTED,
    }


def test_text_without_a_path_is_trusted_only_where_the_caller_says_that_paths_are_unknown(
    manager: DefenseManager,
) -> None:
    own = (ROOT / OWN).read_text()
    (item,) = manager.apply([plain(own)]).retained
    known = Origins(manager._manifest, paths_unknown=True)
    assert (item.trust, known.trust_of("", own)) == (Trust.COPY, Trust.TRUSTED)
    assert known.trust_of("snippets/math_utils.py", own) is Trust.COPY
    assert known.trust_of("", "") is Trust.UNLISTED


def test_a_fragment_of_a_word_is_no_part_of_a_trusted_file() -> None:
    with DefenseManager(signals=()) as nothing:
        origins = Origins(nothing._manifest, {"a.py": "import os\nos.remove(name)\n"})
    assert origins.trust_of("b.py", "remove") is Trust.UNLISTED
    assert origins.trust_of("b.py", "os.remove(name)\n") is Trust.COPY


def test_the_worst_function_of_a_text_counts_and_metadata_choose_nothing(manager: DefenseManager) -> None:
    text = "def helper():\n    return 1\n\n\n" + WRONG
    chosen = [plain(text), {**plain(text), "id": "2", "metadata": {"symbol": "helper", "kind": "module"}}]
    outcome = manager.apply([*chosen, plain(RIGHT, distance=0.9)])
    assert outcome.retained[0].id == RIGHT
    assert [item.convicted for item in outcome.retained] == [False, True, True]


def test_what_is_inactive_is_listed_and_warned_of(tmp_path: Path) -> None:
    with pytest.warns(DefenseWarning, match="perplexity is not asked: there is no trusted code"):
        manager = DefenseManager(DefenseConfig())
    with manager:
        assert manager.inactive.keys() == {"perplexity"}
        # The shipped specs are asked all the same.
        outcome = manager.apply([plain(WRONG), plain(RIGHT, distance=0.9)])
        assert [(item.id, item.verdict) for item in outcome.retained] == [(RIGHT, "pass"), (WRONG, "fail")]


def test_a_trusted_path_that_is_not_there_is_refused() -> None:
    with pytest.raises((ConfigError, CorpusError), match="nowhere"):
        DefenseManager(DefenseConfig(trust_paths=("nowhere",)))


class Collection:
    """A collection in memory, with the answers of Chroma."""

    name = "code"

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.asked: list[int] = []

    def query(self, *, query_texts: list[str], n_results: int, include: list[str]) -> dict[str, Any]:
        self.asked.append(n_results)
        rows = list(self.texts.items())[:n_results]
        return {
            "ids": [[path for path, _ in rows]],
            "documents": [[text for _, text in rows]],
            "metadatas": [[{"path": path} for path, _ in rows]],
            "distances": [[0.1 * place for place in range(len(rows))]],
        }


def test_an_evaluator_fetches_from_a_collection_by_itself(manager: DefenseManager) -> None:
    texts = {"bad.py": WRONG, "good.py": RIGHT} | {f"{n}.py": f"x{n} = {n}\n" for n in range(9)}
    collection = Collection(texts)
    evaluator = DefenseEvaluator(lambda chunk: chunk.path == "bad.py", collection=collection, manager=manager)
    (result,) = evaluator.fetch(["reverse a string"], 2)
    assert (result.poison_before, result.poison_after) == (1, 0)
    assert [item.chunk.path for item in result.before[:2]] == ["bad.py", "good.py"]
    assert collection.asked == [2 * manager.config.fetch_multiplier]


def test_an_evaluator_needs_a_whole_source(manager: DefenseManager) -> None:
    with pytest.raises(ConfigError, match="a collection and a manager"):
        DefenseEvaluator(lambda chunk: False, manager=manager)
    with pytest.raises(ConfigError, match="1 or more"):
        DefenseEvaluator(lambda chunk: False, collection=Collection({}), manager=manager).fetch(["x"], 0)


def test_an_error_of_the_store_is_one_of_ours(manager: DefenseManager) -> None:
    class Broken(Collection):
        def query(self, **asked: Any) -> dict[str, Any]:
            raise RuntimeError("no such collection")

    with pytest.raises(StoreError, match="no such collection"):
        DefenseEvaluator(lambda chunk: False, collection=Broken({}), manager=manager).fetch(["x"], 1)


@pytest.mark.ci
def test_the_example_of_the_page_prints_what_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "how-to" / "chroma.md").read_text()
    examples = re.findall(r"```python\n(.*?)```\n\nIt prints:\n\n```text\n(.*?)```", page, re.S)
    assert len(examples) == 2
    for code, printed in examples:
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(code, "chroma.md", "exec"), {})
        assert output.getvalue() == printed
