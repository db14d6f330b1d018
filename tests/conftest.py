"""Every test has a configuration directory of its own; those that ask for it have a Chroma server on loopback."""

import contextlib
import gc
import itertools
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import pytest
from hypothesis import settings

from codeguard.index.workspace import Workspace

# The threads of numpy's library wait for each other by computing, which takes cores from the other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A busy machine must not fail a test.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


# A store makes sure that its files are on the disk some eighty times an index, which tests need not wait for.
MEMORY = Path("/dev/shm")
ROOM_BYTES = 1 << 30  # containers often have less there, and allow no programs


def _is_usable(folder: Path) -> bool:
    if not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(folder).free >= ROOM_BYTES


if sys.platform == "linux" and _is_usable(MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collection_finish() -> None:
    gc.freeze()  # what thousands of tests are made of outlives every collection


# One worker serves the tests of a process.
CONFIGURATION = "jobs = 1\n"


@pytest.fixture(scope="session")
def _spare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    # Numbers of our own: `mktemp` looks through all folders of before for the next one.
    folder = tmp_path_factory.mktemp("config")

    def homes() -> Iterator[Path]:
        for number in itertools.count():
            home = folder / str(number)
            _furnish(home)
            yield home
            while _as_furnished(home):  # most tests leave it as it was
                yield home

    return homes()


def _furnish(home: Path) -> None:
    (home / "codeguard").mkdir(parents=True)
    (home / "codeguard" / "config.toml").write_text(CONFIGURATION)


def _as_furnished(home: Path) -> bool:
    try:
        listed = (os.listdir(home), os.listdir(home / "codeguard"))  # noqa: PTH208
        return (
            listed == (["codeguard"], ["config.toml"])
            and (home / "codeguard" / "config.toml").read_text() == CONFIGURATION
        )
    except OSError:
        return False


@pytest.fixture(autouse=True)
def _own_configuration(_spare: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    home = next(_spare)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))


OWN_SEED: cached_property[bytes] = vars(Workspace)["seed"]


def _same_seed(workspace: Workspace) -> bytes:
    own: bytes = OWN_SEED.func(workspace)
    return own if workspace.settings.fixed_seed is not None else b"seed of the tests"


SAME_SEED = cached_property(_same_seed)
SAME_SEED.__set_name__(Workspace, "seed")


@pytest.fixture(autouse=True)
def _one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all stores of this process have one seed: the interpreters of the sandbox, which have a hash seed that
    comes of it, then serve one store after another.
    """
    monkeypatch.setattr(Workspace, "seed", SAME_SEED)


@pytest.fixture
def own_seed(monkeypatch: pytest.MonkeyPatch, _one_seed: None) -> None:
    """Let each store have a seed of its own, as it does for users."""
    monkeypatch.setattr(Workspace, "seed", OWN_SEED)


@pytest.fixture(scope="module")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> dict[object, tuple[Path, Path]]:
    return {}


@pytest.fixture
def once(
    _kept: dict[object, tuple[Path, Path]],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[Path], object]], Path]:
    """Make a folder once a module and put it back as it was for each test, its keys and configuration too."""

    def place_made_by(make: Callable[[Path], object]) -> Path:
        known = make in _kept
        if not known:
            base = tmp_path_factory.mktemp("once")
            _kept[make] = (base / "place", base / "kept")
            _furnish(base / "place" / "home")
        place, kept = _kept[make]
        monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "home"))
        monkeypatch.setenv("XDG_STATE_HOME", str(place / "home" / "state"))
        if known:
            shutil.rmtree(place)
            shutil.copytree(kept, place, symlinks=True)
        else:
            make(place)
            shutil.copytree(place, kept, symlinks=True)
        return place

    return place_made_by


@pytest.fixture(scope="module")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """Port and process of a real `chroma run` with an empty store."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen(
        [Path(sys.executable).with_name("chroma"), "run", "--path", str(tmp_path_factory.mktemp("served")),
         "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.05)
    yield port, process.pid
    process.terminate()
    process.wait()


@pytest.fixture(scope="module")
def chroma_port(chroma_server: tuple[int, int]) -> int:
    """Port of a real `chroma run` with an empty store."""
    return chroma_server[0]
