"""The Dockerfile: pinned, locked, not root, and nothing in its context that it does not copy."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.benchmarks.environments import ENVIRONMENTS

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
LINES = [line for line in DOCKERFILE.splitlines() if line.strip() and not line.lstrip().startswith("#")]
STEPS = [
    (name, rest.strip())
    for name, _, rest in (
        line.strip().partition(" ") for line in re.sub(r"\\\n", " ", "\n".join(LINES)).splitlines()
    )
]
_PIN = re.compile(
    r"^([a-z0-9.-]+)==([^ ;]+)(?: ;[^\\]*)? \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\\n|\n|$))+)", re.M
)


def pins(name: str) -> dict[tuple[str, str], frozenset[str]]:
    """Return name and version of each pin of a lock file, with its hashes."""
    found = _PIN.findall((ROOT / name).read_text())
    return {
        (package, version): frozenset(re.findall("[0-9a-f]{64}", hashes))
        for package, version, hashes in found
    }


def test_every_base_is_pinned_by_its_digest() -> None:
    bases = [rest.partition(" AS ")[0] for name, rest in STEPS if name == "FROM"]
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}", bases[0])


def test_everything_is_installed_from_lock_files_with_hashes() -> None:
    installs = [
        part for name, rest in STEPS if name == "RUN" for part in rest.split("&&") if " install " in part
    ]
    assert len(installs) == 3
    for part in installs:
        assert ("--require-hashes" in part and " -r " in part) or "--no-deps --no-build-isolation ." in part


@pytest.mark.parametrize(
    ("name", "least"), [("requirements-image.lock", 50), ("requirements-action.lock", 10)]
)
def test_a_part_of_the_lock_has_the_versions_and_hashes_of_the_whole(name: str, least: int) -> None:
    whole, part = pins("requirements.lock"), pins(name)
    assert len(part) > least
    beyond = part.keys() - whole.keys()
    assert {package for package, _ in beyond} <= {"setuptools"}
    assert all(part[key] == whole[key] for key in part.keys() - beyond)


def test_it_runs_as_a_user_other_than_root_with_the_command_as_entry_point() -> None:
    last = {name: rest for name, rest in STEPS if name in ("USER", "ENTRYPOINT")}
    user = int(last["USER"].partition(":")[0])
    assert user == ENVIRONMENTS["docker-user"].user != 0
    assert last["ENTRYPOINT"] == '["python", "-I", "-m", "codeguard"]'


def test_what_is_copied_is_there_and_nothing_else_is_in_the_context() -> None:
    copied = {
        source
        for name, rest in STEPS
        if name == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(["hadolint", str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0
