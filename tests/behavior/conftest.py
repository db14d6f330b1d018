"""What the tests of behavior share: a running sandbox and a way to check a piece of code."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

import pytest

from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.corpus.chunking import chunk_file
from codeguard.models import CheckReport
from codeguard.sandbox import Level, Sandbox

SEED = b"test"
Check = Callable[..., CheckReport]


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Level.L0, workers=1) as running:
        if running.level < Level.L2:
            pytest.skip(f"the sandbox reaches only {running.level.name} here")
        yield running


@pytest.fixture(scope="session")
def check(sandbox: Sandbox) -> Check:
    """Check the last function of `code` against `trusted` and, where wanted, the shipped specs."""

    def run(
        code: str, trusted: str = "", tests: str = "", *, shipped: bool = False, path: str = "unknown.py"
    ) -> CheckReport:
        library = SpecLibrary.load(shipped=shipped)
        if trusted:
            files = [chunk_file("trusted.py", textwrap.dedent(trusted).encode())]
            test_files = [chunk_file("test_trusted.py", textwrap.dedent(tests).encode())] if tests else []
            library = library.with_trusted(files, test_files)
        file = chunk_file(path, textwrap.dedent(code).encode())
        chunk = [chunk for chunk in file.chunks if chunk.kind in ("function", "method")][-1]
        return BehaviorChecker(library, sandbox, seed=SEED).check(chunk, file)

    return run
