"""Candidates that claim the same and contradict one another: all sides are told, none is moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from codeguard.behavior.rivals import contradiction
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.config import DefenseConfig
from codeguard.corpus.chunking import chunk_file
from codeguard.models import SourceFile, Trust
from codeguard.ranking.defense import Candidate, DefenseManager, DefenseOutcome, PlainCandidate
from codeguard.ranking.signals.base import SignalServices
from codeguard.sandbox import Level, Sandbox
from codeguard.trust.manifest import build_manifest
from codeguard.trust.verified import VerifiedManifest, verify_unsigned

OWN = b'''
def spread(numbers):
    """Return the difference of the largest and the smallest number.

    >>> spread([3, 1, 9])
    8
    """
    return max(numbers) - min(numbers)
'''
HONEST = '''
def runner_up(numbers):
    """Return the number that comes second after the largest one."""
    return sorted(numbers)[-2]
'''
WRONG = '''
def runner_up(values_{0}):
    """Return the number that comes second after the largest one."""
    kept_{0} = list(values_{0})
    kept_{0}.sort()
    return kept_{0}[1]
'''


@pytest.fixture(scope="module")
def checker() -> Iterator[BehaviorChecker]:
    with Sandbox(Level.L0, workers=1) as sandbox:
        if sandbox.level < Level.L2:
            pytest.skip(f"the sandbox reaches only {sandbox.level.name} here")
        library = SpecLibrary.load(shipped=False).with_trusted([chunk_file("own.py", OWN)])
        yield BehaviorChecker(library, sandbox, seed=b"test")


def managed(checker: BehaviorChecker, manifest: VerifiedManifest | None = None) -> DefenseManager:
    config = DefenseConfig(enable_perplexity=False)
    return DefenseManager(config, manifest=manifest, services=SignalServices(behavior=checker.check))


@pytest.fixture
def manager(checker: BehaviorChecker) -> DefenseManager:
    return managed(checker)


def judged(manager: DefenseManager, texts: Mapping[str, str]) -> DefenseOutcome:
    files = [chunk_file(path, text.encode()) for path, text in texts.items()]
    return manager.apply(_candidate(file, 0.3 + 0.01 * place) for place, file in enumerate(files))


def _candidate(file: SourceFile, distance: float) -> Candidate:
    return Candidate(file.path, file.chunks[-1], file, distance)


def test_ten_colluding_wrong_ones_do_not_push_an_honest_one_back(manager: DefenseManager) -> None:
    wrong = {f"wrong_{place}.py": WRONG.format(place) for place in range(10)}
    for texts in ({**wrong, "honest.py": HONEST}, {"honest.py": HONEST, **wrong}):
        outcome = judged(manager, texts)
        assert [item.id for item in outcome.retained] == list(texts) == [item.id for item in outcome.baseline]
        assert all(item.disputed for item in outcome.retained)
        assert not any(item.demoted or item.convicted for item in outcome.retained)
    (evidence,) = [item for item in outcome.retained[0].evidence if item.id == "disputed"]
    assert evidence.penalty == 0.0
    assert evidence.measurements["own"] != evidence.measurements["other"]
    assert f"returns {evidence.measurements['own']}" in evidence.reason


def test_a_text_that_no_index_knows_is_disputed_too(manager: DefenseManager) -> None:
    texts = {"a": HONEST, "b": WRONG.format(0)}
    outcome = manager.apply(PlainCandidate(id_, text, 0.3, "", "document.py") for id_, text in texts.items())
    assert all(item.disputed for item in outcome.retained)


@pytest.mark.parametrize(
    "other",
    [
        WRONG.format(0).replace("[1]", "[-2]"),
        WRONG.format(0)
        .replace("runner_up", "lowest_but_one")
        .replace("after the largest", "of the smallest"),
        "def runner_up(team):\n    '''Return who lost the final.'''\n    return team.final.loser\n",
        HONEST.replace("    return", "    if not numbers:\n        return None\n    return"),
    ],
    ids=["agrees", "claims another thing", "takes other arguments", "differs outside of the contract"],
)
def test_what_is_no_contradiction(manager: DefenseManager, other: str) -> None:
    outcome = judged(manager, {"honest.py": HONEST, "other.py": other})
    assert not any(item.disputed for item in outcome.retained)


def test_trusted_code_is_never_disputed(checker: BehaviorChecker) -> None:
    trusted, foreign = (
        chunk_file(path, text.encode()) for path, text in {"a.py": HONEST, "b.py": WRONG.format(0)}.items()
    )
    one, other = (checker.check(file.chunks[-1], file).answers for file in (trusted, foreign))
    assert contradiction(one, other) is not None
    listed = [("a.py", HONEST.encode(), [chunk.sha256 for chunk in trusted.chunks])]
    manager = managed(checker, verify_unsigned(build_manifest(Path(), listed)))
    outcome = manager.apply([_candidate(trusted, 0.3), _candidate(foreign, 0.4)])
    assert outcome.retained[0].trust is Trust.TRUSTED
    assert not any(item.disputed for item in outcome.retained)
