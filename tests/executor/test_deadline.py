import sys
import time

import pytest

from codeguard.workers.tasks import Deadline, DeadlineError


def _compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


class Finalized:
    def __del__(self) -> None:
        _compute(0.3)


def test_a_finalizer_that_is_interrupted_prints_nothing_and_the_next_step_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with pytest.raises(DeadlineError), Deadline(0.05):
        Finalized()
        _compute(5)
    assert told == []
    Broken()
    assert len(told) == 1


def test_other_faults_of_finalizers_are_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with Deadline(5):
        Broken()
    assert len(told) == 1


class Broken:
    def __del__(self) -> None:
        raise ValueError
