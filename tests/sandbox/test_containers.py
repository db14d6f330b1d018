"""In environments like containers' the sandbox reaches what holds there, and no command keeps quiet about less."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from attacks.catalogue import ONLY_LAYER

from codeguard.config import CATALOG
from codeguard.sandbox import Layer, Level, Sandbox, advice
from experiments.benchmarks import containers
from experiments.benchmarks.environments import ENVIRONMENTS, obstacle

pytestmark = pytest.mark.ci

LOOK = """
import json
from codeguard.sandbox import Call, Job, Level, Sandbox
with Sandbox(Level.L2) as sandbox:
    layers = {layer.name: [layer.engaged, layer.detail] for layer in sandbox.layers()}
    result = sandbox.run(Job("def f(): return 1", (Call("f"),)))
    print(json.dumps({"level": sandbox.level.name, "layers": layers, "status": result.status.value}))
"""


@cache
def _reach() -> Level:
    with Sandbox(Level.L0) as sandbox:
        return sandbox.level


@cache
def _missing(name: str) -> str:
    """Return why an environment cannot be built here, empty where it can."""
    if reason := obstacle(name):
        return reason
    return "" if _reach() is Level.L3 else f"this machine's own sandbox reaches {_reach().name} only"


def _needs(name: str) -> None:
    if reason := _missing(name):
        pytest.skip(f"{name}: {reason}")


# environment: (level, layers that are missing)
LEVELS = {
    "docker-root": ("L2", {"namespaces"}),
    "docker-user": ("L2", {"namespaces"}),
    "no-new-privileges": ("L2", {"namespaces"}),
    "cap-drop-all": ("L1", {"namespaces", "capabilities"}),
    "restricted": ("L2", {"namespaces"}),
    "rootless": ("L2", {"namespaces"}),
    "rootless-cap-drop-all": ("L2", {"namespaces"}),
    "rootless-single": ("L2", {"namespaces"}),
    "rootless-single-cap-drop-all": ("L2", {"namespaces"}),
    "rootless-unconfined": ("L3", set()),
    "userns-full": ("L2", {"namespaces"}),
    "apparmor-userns": ("L2", {"namespaces"}),
    "no-landlock": ("L2", {"landlock"}),
    "landlock-off": ("L2", {"landlock"}),
    "docker-no-landlock": ("L1", {"namespaces", "landlock"}),
    "gvisor": ("L1", {"namespaces", "landlock"}),
    "no-seccomp": ("L0", {"seccomp", "child_filter"}),
    "no-proc": ("L2", {"namespaces"}),
}


@pytest.fixture
def work() -> Iterator[Path]:
    made = containers.make_work()
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("name", LEVELS)
def test_the_level_is_what_really_holds(name: str, work: Path) -> None:
    _needs(name)
    level, missing = LEVELS[name]
    done = containers.run(name, (sys.executable, "-P", "-c", LOOK), work)
    found = json.loads(done.stdout)
    layers = found["layers"]
    assert {layer for layer, (engaged, _) in layers.items() if not engaged} == missing
    assert found["level"] == level
    assert found["status"] == ("completed" if level >= "L2" else "unsupported")


def test_root_of_a_user_namespace_counts_as_an_ordinary_user_by_trying(work: Path) -> None:
    for name, sign in {
        "rootless-single-cap-drop-all": "not the machine's root: processes EAGAIN",
        "cap-drop-all": "is the machine's root: descriptors EMFILE, processes done",
    }.items():
        _needs(name)
        done = containers.run(name, (sys.executable, "-P", "-c", LOOK), work)
        assert sign in json.loads(done.stdout)["layers"]["capabilities"][1]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Callable[[str, str], tuple[str, str]]]:
    """How a command served in an environment; the commands of one run in their order in one folder."""
    works: dict[str, Path] = {}

    @cache
    def outcome(name: str, command: str) -> tuple[str, str]:
        _needs(name)
        if command == "query" or command == "mcp" or command == "python":
            outcome(name, "index")
        work = works.setdefault(name, containers.make_work())
        done = containers.run(name, containers.COMMANDS[command][0], work)
        return containers.judged(command, done, LEVELS[name][0])

    yield outcome
    for made in works.values():
        shutil.rmtree(made)


# Each starts several interpreters: the quickest command stands for the others in an ordinary run.
EVERY_COMMAND = [
    command if command == "check" else pytest.param(command, marks=pytest.mark.slow)
    for command in containers.COMMANDS
]


@pytest.mark.parametrize("name", ["docker-no-landlock", "no-seccomp"])
@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_every_command_says_that_the_level_is_too_low(
    name: str, command: str, outcomes: Callable[[str, str], tuple[str, str]]
) -> None:
    service, line = outcomes(name, command)
    assert service == "loud"
    assert f"sandbox {LEVELS[name][0]} is BELOW the required L2" in line


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_every_command_serves_fully_without_a_single_capability(
    command: str, outcomes: Callable[[str, str], tuple[str, str]]
) -> None:
    assert outcomes("rootless-single-cap-drop-all", command) == ("full", "")


def _output(name: str, command: tuple[str, ...], work: Path) -> subprocess.CompletedProcess[str]:
    return containers.run(name, (*containers.CODEGUARD, *command), work)


@pytest.mark.slow
def test_evidence_kept_from_a_stronger_sandbox_does_not_hide_a_weaker_one(work: Path) -> None:
    """The index remembers the level of its verdicts; what it has no verdict on is judged here and now."""
    strong, weak = "ordinary-user", "docker-no-landlock"
    _needs(strong)
    _needs(weak)
    assert _output(strong, ("audit", "theirs", "--trust", "mine"), work).returncode == 1
    changed = work / "theirs/changed.py"
    changed.write_text(containers.WRONG.replace("total", "amount"))
    assert "L1 is BELOW the required L2" in _output(weak, ("audit", "theirs", "--trust", "mine"), work).stdout
    _output(strong, containers.COMMANDS["index"][0][len(containers.CODEGUARD) :], work)
    with sqlite3.connect(work / "kept" / CATALOG) as catalog:
        catalog.execute("DELETE FROM analyses WHERE key != 'unsigned'")  # the manifest of what is trusted
    queried = _output(weak, ("query", "add all numbers", "--store", "kept"), work)
    assert "L1 is BELOW the required L2" in queried.stdout.splitlines()[0]
    assert "L1 is BELOW the required L2" in queried.stderr


@pytest.mark.slow
def test_the_required_level_is_the_configured_one(work: Path) -> None:
    _needs("docker-user")
    (work / "home/.config/codeguard/config.toml").write_text('[defense]\nrequired_level = "L3"\n')
    for command in ("check", "index", "query"):
        done = containers.run("docker-user", containers.COMMANDS[command][0], work)
        assert "sandbox L2 is BELOW the required L3" in done.stdout.splitlines()[0]
        assert "sandbox L2 is BELOW the required L3" in done.stderr


def test_a_user_without_a_home_gets_one_line(work: Path) -> None:
    _needs("no-home")
    done = _output("no-home", ("check", "theirs/wrong.py"), work)
    assert done.returncode == 2
    assert done.stderr.startswith("codeguard: no folder for the configuration and keys")
    assert len(done.stderr.splitlines()) == 1


def test_a_user_who_may_start_no_process_gets_one_line(work: Path) -> None:
    _needs("no-processes")
    done = _output("no-processes", ("check", "theirs/wrong.py", "--against", "mine/sums.py"), work)
    assert (done.returncode, done.stdout) == (2, "")  # not even a worker that reads the file
    (line,) = done.stderr.splitlines()
    assert line.startswith("codeguard: the system refuses (Resource temporarily unavailable)")
    assert "ulimit -u" in line


@pytest.mark.soak
@pytest.mark.parametrize("name", ["docker-user", "rootless-single-cap-drop-all", "no-landlock"])
def test_the_attack_suite_passes_at_the_level_of_an_environment(name: str, work: Path) -> None:
    _needs(name)
    suite = Path(__file__).with_name("test_attack_suite.py")
    chosen = ["-m", "not slow and not soak", "-k", "has_no_effect", "--rootdir", str(suite.parent)]
    chosen += ["--basetemp", str(work / "tmp")]
    done = containers.run(
        name, (sys.executable, "-P", "-m", "pytest", str(suite), *chosen), work, timeout_s=3600
    )
    assert done.returncode == 0, done.stdout[-3000:]
    skipped = re.search(r"(\d+) skipped", done.stdout.splitlines()[-1])
    assert int(skipped[1] if skipped else 0) <= len(ONLY_LAYER[("namespaces",)])


def test_the_service_of_a_command_is_silent_where_it_neither_judges_nor_says_so() -> None:
    """The measuring can fail."""
    command = subprocess.CompletedProcess([], 0, stdout="sandbox L2, 1 of 1 functions tested", stderr="")
    assert containers.judged("check", command, "L2")[0] == "SILENT"
    command = subprocess.CompletedProcess([], 1, stdout="fail CONVICTED", stderr="")
    assert containers.judged("check", command, "L2")[0] == "full"
    assert containers.judged("check", command, "L1")[0] == "SILENT"


def test_every_environment_differs_from_the_others() -> None:
    made = [str({**vars_of(item)}) for item in ENVIRONMENTS.values()]
    assert len(set(made)) == len(made)


def vars_of(item: object) -> dict[str, object]:
    names = [name for name in type(item).__slots__ if name not in ("name", "stands_for")]  # type: ignore[attr-defined]
    return {name: getattr(item, name) for name in names}


REMEDIES: list[tuple[dict[str, str], Level, list[str]]] = [
    ({"namespaces": "clone: Operation not permitted"}, Level.L2, ["L3: namespaces is missing (clone: Operation"]),
    ({"landlock": "x"}, Level.L2, ["L3: landlock is missing (x); it takes a kernel of 5.13 or newer"]),
    ({"landlock": "x", "namespaces": "y"}, Level.L1, ["L2 (one of", "L2 (one of"]),
    ({"capabilities": "user 0 is the machine's root"}, Level.L1, ["L2: capabilities is missing (user 0"]),
    ({"seccomp": "not made for darwin on arm64", "child_filter": "x"}, Level.L0, ["L1: seccomp is missing (not made"]),
    ({"zygote": "Resource temporarily unavailable"}, Level.L0, ["L1: zygote is missing (Resource"]),
]  # fmt: skip


@pytest.mark.parametrize(("missing", "level", "expected"), REMEDIES, ids=lambda part: "")
def test_each_missing_layer_that_a_level_needs_has_a_remedy(
    missing: dict[str, str], level: Level, expected: list[str]
) -> None:
    found = advice(level, [Layer(name, False, detail) for name, detail in missing.items()])
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True)), found
