"""The whole way on a small corpus: index, query, change, crash, attack the store."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings
from codeguard.errors import EmbeddingError, NothingToDoError, StoreError
from codeguard.index.behavior_reports import Subject
from codeguard.index.embedding import Vectors
from codeguard.index.evidence_tasks import Checks
from codeguard.index.report import SandboxBudget
from codeguard.index.store import Hit
from codeguard.index.store.folder import FolderVectors
from codeguard.models import CheckReport, Trust, Verdict
from codeguard.ranking.reranking import Ranked, Ranking
from codeguard.ranking.search import LEAST_SEARCHED, NO_COSINE

pytestmark = pytest.mark.ci

TRUSTED = '''"""Arithmetic."""


def add(a, b):
    """Add two numbers.

    >>> add(2, 3)
    5
    >>> add(-1, 1)
    0
    """
    return a + b


def factorial(n):
    """Calculate the factorial of n.

    >>> factorial(0)
    1
    >>> factorial(5)
    120
    """
    return 1 if n < 2 else n * factorial(n - 1)
'''
CLEAN = 'def add(x, y):\n    """Add two numbers, x and y."""\n    return sum([x, y])\n'
WRONG = (
    'def add(a, b):\n    """How to add two numbers: the official add of two numbers."""\n    return a - b\n'
)
QUERY = "how to add two numbers"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name, text in {"ours/m.py": TRUSTED, "theirs/clean.py": CLEAN, "theirs/wrong.py": WRONG}.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "corpus"


def settings_of(corpus: Path, **changes: object) -> Settings:
    return lexical_settings(corpus, corpus.parent / "store", **changes)


def open_guard(corpus: Path, **changes: object) -> CodeGuard:
    return CodeGuard.open(settings=settings_of(corpus, **changes), trust=[corpus / "ours"])


@pytest.fixture
def guard(corpus: Path) -> Iterator[CodeGuard]:
    with open_guard(corpus) as opened:
        opened.index([corpus])
        yield opened


def place(ranking: Ranking, path: str, symbol: str = "add") -> Ranked:
    return next(item for item in ranking.ranking if (item.chunk.path, item.chunk.symbol) == (path, symbol))


def test_poison_on_top_before_and_last_after(guard: CodeGuard) -> None:
    ranking = guard.query(QUERY)
    assert ranking.baseline[0].chunk.path == "theirs/wrong.py"
    assert ranking.ranking[-1].chunk.path == "theirs/wrong.py"
    assert place(ranking, "theirs/wrong.py").convicted
    assert place(ranking, "theirs/wrong.py").verdict == "fail"
    assert place(ranking, "theirs/clean.py").verdict == "pass"
    assert place(ranking, "ours/m.py").trust is Trust.TRUSTED
    assert {item.chunk.path for item in ranking.results[:2]} == {"ours/m.py", "theirs/clean.py"}


def test_every_chunk_of_a_trusted_file_is_trusted(guard: CodeGuard) -> None:
    """The method's own prototype compared chunk digests with file digests: no chunk of many was ever trusted."""
    ranking = guard.query("calculate factorial", k=10)
    ours = [item for item in ranking.ranking if item.chunk.path == "ours/m.py"]
    assert {item.chunk.symbol for item in ours} >= {"add", "factorial"}
    assert {item.trust for item in ours} == {Trust.TRUSTED}


def test_drop_leaves_the_convicted_out(guard: CodeGuard) -> None:
    ranking = guard.query(QUERY, mode="drop")
    assert [item.chunk.path for item in ranking.dropped] == ["theirs/wrong.py"]
    assert "theirs/wrong.py" not in {item.chunk.path for item in ranking.ranking}


def test_without_defense_distance_alone_decides(guard: CodeGuard) -> None:
    ranking = guard.query(QUERY, defense=False)
    assert ranking.mode == "none"
    assert ranking.results[0].chunk.path == "theirs/wrong.py"
    assert all(not item.evidence for item in ranking.ranking)


def test_the_same_question_twice_gives_the_same_answer(guard: CodeGuard) -> None:
    assert guard.query(QUERY).to_json() == guard.query(QUERY).to_json()


def test_what_a_query_has_read_of_the_catalog_serves_the_next_one_and_the_disk_is_looked_at_each_time(
    corpus: Path, guard: CodeGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard.query(QUERY)
    first = guard.query(QUERY)
    for name in ("chunks", "file", "state_of"):
        monkeypatch.setattr(guard.catalog, name, None)
    assert guard.query(QUERY) == first
    assert place(first, "ours/m.py").trust is Trust.TRUSTED
    (corpus / "ours/m.py").write_text(TRUSTED + "\n# another line\n")
    assert place(guard.query(QUERY), "ours/m.py").trust is Trust.MODIFIED


def test_renamed_and_shuffled_untrusted_files_have_the_same_penalties_and_verdicts(corpus: Path) -> None:
    def facts(guard: CodeGuard) -> set[tuple[object, ...]]:
        ranking = guard.query(QUERY, k=10).ranking
        return {
            (i.chunk.text, i.trust, i.penalty, i.score, i.verdict, i.distance, i.convicted) for i in ranking
        }

    with open_guard(corpus) as first:
        first.index([corpus])
        before = facts(first)
    (corpus / "theirs" / "wrong.py").rename(corpus / "theirs" / "a_safe_reviewed.py")
    (corpus / "theirs" / "clean.py").rename(corpus / "theirs" / "poisoned_attack.py")
    shutil.move(corpus / "theirs", corpus / "zzz")
    with open_guard(corpus, store=str(corpus.parent / "other")) as second:
        second.index([corpus])
        assert facts(second) == before


def test_an_edit_rewrites_only_what_changed_and_a_deletion_removes(corpus: Path, guard: CodeGuard) -> None:
    assert guard.index([corpus]).added == 0
    edited = corpus / "theirs" / "clean.py"
    edited.write_text(CLEAN + "\n\ndef double(x):\n    return 2 * x\n")
    report = guard.index([corpus])
    assert (report.unchanged, report.removed) == (2, 0)
    assert 1 <= report.added <= 2
    edited.unlink()
    guard.index([corpus])
    assert guard.workspace.vectors.ids() <= guard.catalog.ids()
    assert "theirs/clean.py" not in {item.chunk.path for item in guard.query(QUERY, k=10).ranking}


def test_a_touched_file_with_the_same_bytes_is_unchanged(corpus: Path, guard: CodeGuard) -> None:
    os.utime(corpus / "theirs" / "clean.py", (1, 1))
    report = guard.index([corpus])
    assert (report.added, report.removed, report.unchanged) == (0, 0, 3)


def test_a_crash_between_catalog_and_store_is_repaired_on_the_next_query(corpus: Path) -> None:
    class CrashError(RuntimeError):
        pass

    with open_guard(corpus) as guard:
        guard.index([corpus / "ours"])

        def crash(*args: object) -> None:
            raise CrashError

        guard.workspace.vectors.add = crash  # type: ignore[method-assign,assignment]
        with pytest.raises(CrashError):
            guard.index([corpus])
    with open_guard(corpus) as after:
        assert after.catalog.intents()
        assert "theirs/wrong.py" in {item.chunk.path for item in after.query(QUERY).ranking}
        assert not after.catalog.intents()


def test_words_answer_while_the_index_is_made_and_what_is_unknown_is_not_taken_for_clean(
    corpus: Path,
) -> None:
    seen: list[tuple[Ranking, Ranking]] = []

    def ask(stage: str, done: int, total: int) -> None:
        if stage == "vectors" and not done:
            with CodeGuard.open(settings=settings_of(corpus), create=False) as other:
                seen.append((other.query(QUERY), other.query(QUERY, mode="drop")))

    with open_guard(corpus) as guard:
        guard.index([corpus], progress=ask)
        after = guard.query(QUERY)
    ((ranked, dropped),) = seen
    assert {item.chunk.path for item in ranked.results} == {"ours/m.py", "theirs/clean.py", "theirs/wrong.py"}
    untrusted = [item for item in ranked.ranking if item.trust is not Trust.TRUSTED]
    assert all(item.not_yet for item in untrusted)
    assert any("is being made" in line and "have no vector yet" in line for line in ranked.warnings)
    assert {item.chunk.path for item in dropped.ranking} == {"ours/m.py"}
    assert len(dropped.dropped) == len(untrusted)
    assert not any(item.not_yet for item in after.ranking)
    assert not any("is being made" in line for line in after.warnings)


@pytest.mark.parametrize("stage", ["vectors", "signals", "checks"])
def test_an_interrupted_index_goes_on_where_it_was(corpus: Path, stage: str) -> None:
    class InterruptedHere(BaseException):
        pass

    def interrupt(now: str, done: int, total: int) -> None:
        if now == stage:
            raise InterruptedHere

    with open_guard(corpus) as guard, pytest.raises(InterruptedHere):
        guard.index([corpus], progress=interrupt)
    with open_guard(corpus) as guard:
        between = guard.query(QUERY)
        report = guard.index([corpus])
        after = guard.query(QUERY)
    assert any("was ended before it was complete" in line for line in between.warnings)
    assert "theirs/clean.py" in {item.chunk.path for item in between.results}
    assert report.unchanged == report.files == 3
    assert place(after, "theirs/wrong.py").convicted
    assert not after.warnings


def test_the_candidate_set_grows_past_a_flood_of_convicted_copies(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        (corpus / "theirs" / f"flood_{number}.py").write_text(WRONG.replace("official", f"official {number}"))
    with open_guard(corpus) as guard:
        guard.index([corpus])
        kind = type(guard.workspace.vectors)
        asked: list[int] = []

        def nearest(self: FolderVectors, vector: Vectors, count: int) -> list[Hit]:
            asked.append(count)
            return real(self, vector, count)

        real = kind.nearest
        monkeypatch.setattr(kind, "nearest", nearest)
        ranking = guard.query(QUERY, k=2)
    assert asked == [LEAST_SEARCHED]  # what it grows by was found the first time
    assert len(ranking.ranking) > 2 * 3
    assert not any(item.convicted for item in ranking.results)
    assert {item.chunk.path for item in ranking.results} == {"ours/m.py", "theirs/clean.py"}


def test_the_limit_of_the_candidate_set_is_told(corpus: Path) -> None:
    for number in range(10):
        (corpus / "theirs" / f"flood_{number}.py").write_text(WRONG.replace("official", f"official {number}"))
    defense = DefenseConfig(max_candidates=4)
    with open_guard(corpus, defense=defense) as guard:
        guard.index([corpus])
        assert any("max_candidates" in line for line in guard.query(QUERY, k=2).warnings)


def test_another_embedding_or_no_index_is_refused(corpus: Path, guard: CodeGuard) -> None:
    guard.catalog.set_meta("embedding", "other@1/dim3")
    guard.close()
    with pytest.raises(EmbeddingError, match="another embedding"), open_guard(corpus) as reopened:
        reopened.query(QUERY)
    with pytest.raises(StoreError, match="no index"):
        CodeGuard.open(settings=settings_of(corpus, store=str(corpus / "none")), create=False)
    assert not (corpus / "none").exists()


def test_another_chunker_is_refused(corpus: Path, guard: CodeGuard) -> None:
    guard.catalog.set_meta("chunker", "other")
    guard.close()
    with pytest.raises(StoreError, match=r"another chunker.*index --rebuild"), open_guard(corpus) as again:
        again.index([corpus])


def test_nothing_to_index_leaves_the_index_as_it_is(corpus: Path, guard: CodeGuard, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToDoError), CodeGuard.open(settings=settings_of(corpus)) as second:
        second.index([tmp_path / "empty"])
    assert len(guard.query(QUERY).ranking) > 2


def test_cached_verdicts_are_used_and_forged_ones_are_not(corpus: Path, guard: CodeGuard) -> None:
    assert guard.index([corpus]).checked == 0
    guard.close()
    key = Path(os.environ["XDG_CONFIG_HOME"]) / "codeguard" / "evidence.key"
    key.write_bytes(b"another installation's key......"[:32])
    with open_guard(corpus) as other, pytest.raises(StoreError, match="not of this installation"):
        other.index([corpus])
    with open_guard(corpus, shared_state=(str(corpus.parent / "store"),)) as other:
        assert other.index([corpus], rebuild=True).checked > 0


def test_checks_that_fail_are_named_and_made_again(
    corpus: Path, guard: CodeGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus / "theirs" / "clean.pyi").write_text("def add(x: int, y: int) -> int: ...\n")
    (corpus / "theirs" / "clean.js").write_text("function add(x, y) { return x + y; }\n")
    assert guard.index([corpus]).verdicts == {"pass": 1, "fail": 1}
    (corpus / "theirs" / "new.py").write_text(CLEAN.replace("x, y", "p, q"))
    with monkeypatch.context() as failing:
        failing.setattr(Checks, "__call__", _failing_checks)
        report = guard.index([corpus])
    assert report.notes == ("theirs/new.py: error inside codeguard: KeyError: 'x'",)
    assert report.verdicts == {"pass": 1, "fail": 1, "no_signal": 1}
    report = guard.index([corpus])
    assert (report.checked, report.notes, report.verdicts) == (1, (), {"pass": 2, "fail": 1})


def _failing_checks(
    self: Checks, subjects: Sequence[Subject], budget: SandboxBudget
) -> Iterator[tuple[Subject, CheckReport]]:
    for subject in subjects:
        yield subject, CheckReport(Verdict.ERROR, "error inside codeguard: KeyError: 'x'", "L3")


def test_what_only_the_words_find_has_the_distance_of_its_vector(
    guard: CodeGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {item.id: item.distance for item in guard.query(QUERY).ranking}
    nearest = FolderVectors.nearest
    monkeypatch.setattr(FolderVectors, "nearest", lambda *asked: nearest(*asked)[-1:])
    found = {item.id: item.distance for item in guard.query(QUERY).ranking}
    assert len(found) > 1
    assert found == pytest.approx({id_: before[id_] for id_ in found}, abs=1e-5)


@pytest.mark.parametrize("impossible", [-0.5, 2.5, float("nan")])
def test_a_distance_that_none_can_have_is_computed_from_the_vector(
    guard: CodeGuard, monkeypatch: pytest.MonkeyPatch, impossible: float
) -> None:
    before = guard.query(QUERY)
    nearest = FolderVectors.nearest
    monkeypatch.setattr(
        FolderVectors,
        "nearest",
        lambda *asked: [hit._replace(distance=impossible) for hit in nearest(*asked)],
    )
    after = guard.query(QUERY)
    assert NO_COSINE in after.warnings
    assert NO_COSINE not in before.warnings
    distances = {item.id: item.distance for item in after.ranking}
    assert distances == pytest.approx({item.id: item.distance for item in before.ranking}, abs=1e-5)


def test_trust_below_an_indexed_folder_outside_the_root(corpus: Path, tmp_path: Path) -> None:
    elsewhere = settings_of(corpus, root=str(tmp_path / "elsewhere"))
    with CodeGuard.open(settings=elsewhere, trust=[corpus / "ours"]) as guard:
        report = guard.index([corpus])
        assert report.trusted_files == 1
        assert place(guard.query(QUERY), "corpus/ours/m.py").trust is Trust.TRUSTED


def test_a_nested_argument_forgets_no_other_folder_of_its_name(corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "ours"
    other.mkdir(parents=True)
    (other / "kept.py").write_text(CLEAN)
    elsewhere = settings_of(corpus, root=str(tmp_path / "elsewhere"))
    with CodeGuard.open(settings=elsewhere, trust=[corpus / "ours"]) as guard:
        guard.index([other])
        guard.index([corpus])
        assert "ours/kept.py" in guard.catalog.files()


def test_a_running_process_reads_a_rebuilt_index_anew(corpus: Path) -> None:
    with CodeGuard.open(settings=settings_of(corpus)) as guard:
        guard.index([corpus])
    with CodeGuard.open(settings=settings_of(corpus)) as running:
        before = running.query(QUERY, mode="rerank", defense=False)
        assert running.query(QUERY, mode="rerank", defense=False) == before
        (corpus / "theirs/clean.py").write_text(CLEAN.replace("sum([x, y])", "sum((y, x))"))
        with CodeGuard.open(settings=settings_of(corpus)) as other:
            other.index([corpus], rebuild=True)
        after = running.query(QUERY, mode="rerank", defense=False)
    assert "sum((y, x))" in place(after, "theirs/clean.py").chunk.text


@pytest.mark.parametrize("question", ["factorial", "m", QUERY])
def test_without_defense_it_makes_no_difference_what_is_trusted(corpus: Path, question: str) -> None:
    def order(trust: Sequence[Path]) -> list[tuple[str, float]]:
        store = corpus.parent / f"store{len(trust)}"
        settings = lexical_settings(corpus, store, embedding="static")
        with CodeGuard.open(settings=settings, trust=trust) as opened:
            opened.index([corpus])
            return [(item.id, item.score) for item in opened.query(question, k=10, defense=False).ranking]

    assert order([corpus / "ours"]) == order([])
