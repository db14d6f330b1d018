"""The stages that are timed are there under the names by which they are looked up."""

import pytest

from experiments.benchmarks.stages import STAGES


@pytest.mark.parametrize(("owner", "name", "stage"), STAGES)
def test_a_stage_is_there(owner: object, name: str, stage: str) -> None:
    assert callable(getattr(owner, name)), stage
