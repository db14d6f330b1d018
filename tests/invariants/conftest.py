"""One hostile tree and one run of each entry for all promises."""

from __future__ import annotations

import pytest
from entries import ENTRIES
from running import Runs


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("invariants"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of a promise at every entry where it holds."""
    if "entry" in metafunc.fixturenames:
        promise = metafunc.function.__name__.removeprefix("test_")
        found = [entry for entry in ENTRIES if promise not in entry.leaves_out]
        metafunc.parametrize("entry", found, ids=lambda entry: entry.name)
