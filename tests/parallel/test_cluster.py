"""A cluster: who may have which task, and who is refused."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from codeguard.errors import ConfigError, EmbeddingError
from codeguard.index.cluster import Cluster, open_cluster
from codeguard.index.embedding import open_embedding
from codeguard.index.embedding_tasks import embed_texts
from codeguard.index.executor import spread
from codeguard.sandbox import Level
from codeguard.workers.tasks import NO_BOUNDS, Run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    """Two workers in this process, which speak TCP."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def cluster(local: Any) -> Iterator[Cluster]:
    with open_cluster(local.scheduler_address) as opened:
        yield opened


def where() -> Run:
    def run(payload: bytes) -> Iterator[bytes]:
        distributed = pytest.importorskip("distributed")
        yield str(distributed.get_worker().address).encode()

    return run


def weakened(cluster: Cluster, levels: tuple[Level, ...]) -> Cluster:
    facts = [
        dataclasses.replace(worker, level=level)
        for worker, level in zip(cluster.workers, levels, strict=True)
    ]
    return Cluster(cluster._client, tuple(facts))


@pytest.mark.parametrize(
    ("levels", "having", "level"),
    [
        ((Level.L3, Level.L3), {0, 1}, Level.L3),
        ((Level.L3, Level.L2), {0, 1}, Level.L2),
        ((Level.L1, Level.L3), {1}, Level.L3),
        ((Level.L0, Level.L1), {0, 1}, Level.L1),  # nobody may run them: each says so of itself
    ],
)
def test_a_worker_below_the_required_level_gets_no_checks(
    cluster: Cluster, levels: tuple[Level, ...], having: set[int], level: Level
) -> None:
    known = weakened(cluster, levels)
    able = known.at_level(Level.L2)
    allowed = {known.workers[index].address.encode() for index in having}
    answers = spread(able, where, ([b"%d" % number] for number in range(12)), None, NO_BOUNDS)
    assert {answer.last for answer in answers} <= allowed
    assert able.count == len(having)
    assert known.level(Level.L2) == level


def test_each_worker_says_what_it_is(cluster: Cluster) -> None:
    addresses = [worker.address for worker in cluster.workers]
    assert len(set(addresses)) == 2
    assert all(worker.make["Python"] in worker.python for worker in cluster.workers)


def test_another_version_is_refused_in_one_line(local: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from codeguard.index.worker_facts import own_make

    monkeypatch.setattr("codeguard.index.cluster.own_make", lambda: {**own_make(), "numpy": "0.1"})
    with (
        pytest.raises(ConfigError, match=r"has another numpy .* expected 0\.1") as caught,
        open_cluster(local.scheduler_address),
    ):
        pass
    assert "\n" not in str(caught.value)


class Odd:
    """An embedding that no worker has."""

    identity = "lexical@0/dim512"
    dimension = 512
    note = ""


def test_another_embedding_is_refused_in_one_line(cluster: Cluster) -> None:
    with pytest.raises(EmbeddingError, match=r"expected lexical@0") as caught:
        embed_texts(cluster, Odd(), "lexical", ["a", "b"])  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_rows_of_workers_are_those_of_this_process(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeguard.index.embedding_tasks.BATCH_CHARACTERS", 20)
    lexical = open_embedding("lexical")
    texts = [f"def f{number}(x): return x + {number}" for number in range(9)] + ["", "\ud800"]
    assert (embed_texts(cluster, lexical, "lexical", texts) == lexical.embed(texts)).all()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "file:///etc/passwd", "inproc://x"])
def test_only_an_address_of_a_scheduler_is_taken(address: str) -> None:
    with pytest.raises(ConfigError, match="not the address of a cluster"), open_cluster(address):
        pass
