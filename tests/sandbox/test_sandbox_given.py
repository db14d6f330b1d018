"""Modules that the user gives the sandbox: there for the native tier, confined, the same for every check."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeguard.errors import SandboxError
from codeguard.sandbox import (
    Call,
    CallResult,
    Job,
    JobResult,
    Level,
    Outcome,
    Sandbox,
    Status,
    Tier,
    read_given,
)

pytestmark = pytest.mark.ci

PACKAGE = {
    "helper/__init__.py": "try:\n    from ._fast import twice\nexcept ImportError:\n    from .plain import twice\n",
    "helper/plain.py": "def twice(x):\n    return 2 * x\n",
    "helper/later.py": "import helper\nVALUE = helper.twice(21)\n",
    "single.py": "import os\nTABLE = {'a': 1}\n",
}
USES = "from helper import twice\ndef f(x):\n    return twice(x)\n"


def _run(source: str, texts: dict[str, str], tier: Tier = Tier.NATIVE) -> JobResult:
    with Sandbox(given=tuple(sorted(texts.items()))) as sandbox:
        return sandbox.run(Job(source, (Call("f", (3,)),), tier=tier))


def _answer(result: JobResult) -> CallResult:
    return result.calls[0]


@pytest.fixture(scope="module", autouse=True)
def _confined() -> None:
    with Sandbox() as sandbox:
        if sandbox.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {sandbox.level.name} only")


def test_native_code_imports_what_is_given_and_falls_back_as_its_text_says() -> None:
    assert _answer(_run(USES, PACKAGE)).value == 6


def test_a_submodule_that_the_package_does_not_load_itself_is_there_as_well() -> None:
    source = "def f(x):\n    import helper.later\n    return helper.later.VALUE\n"
    assert _answer(_run(source, PACKAGE)).value == 42


def test_without_being_given_it_is_missing() -> None:
    result = _run(USES, {})
    assert result.status is Status.ERROR
    assert "No module named 'helper'" in result.detail


@pytest.mark.parametrize(
    "source",
    [
        USES,
        "import helper\ndef f(x):\n    return helper.twice(x)\n",
        "import single\ndef f(x):\n    return single.os.getpid()\n",
        "from single import os\ndef f(x):\n    return os.getpid()\n",
    ],
)
def test_the_restricted_tier_refuses_it_as_it_does_any_module_without_a_facade(source: str) -> None:
    assert _run(source, PACKAGE, Tier.RESTRICTED).status is Status.POLICY


def test_what_a_check_does_to_it_the_next_does_not_meet() -> None:
    attack = "import helper, single\nhelper.twice = helper.plain.twice = lambda x: 0\nsingle.TABLE['a'] = 2\n"
    attack += "import sys\nfor one in sys.meta_path:\n    getattr(one, '_texts', {}).clear()\n"
    probe = "import helper, helper.later, single\ndef f(x):\n"
    probe += "    return helper.twice(x), single.TABLE['a'], helper.later.VALUE\n"
    with Sandbox(given=tuple(sorted(PACKAGE.items()))) as sandbox:
        for source in (attack, attack + "def f(x):\n    return 0\n"):
            sandbox.run(Job(source, (Call("f", (3,)),), tier=Tier.NATIVE))
        assert sandbox.run(Job(probe, (Call("f", (3,)),), tier=Tier.NATIVE)).calls[0].value == (6, 1, 42)


@pytest.mark.parametrize(
    "act",
    [
        "open({marker!r}, 'w').close()",
        "import os; os.mkdir({marker!r})",
        "import subprocess; subprocess.run(['touch', {marker!r}])",
        "import ctypes; ctypes.CDLL(None).mkdir({marker!r}.encode(), 0o777) and 1 / 0",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
    ],
)
def test_its_own_code_is_confined_when_it_is_imported(act: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    tmp_path.chmod(0o777)
    texts = {**PACKAGE, "hostile.py": f"{act.format(marker=str(marker))}\n"}
    source = "def f(x):\n    import hostile\n"
    assert _answer(_run(source, texts)).outcome is Outcome.RAISED
    assert not marker.exists()
    assert _answer(_run(USES, texts)).value == 6  # one that does not import takes nothing from the others


def test_code_that_ends_the_zygote_is_no_verdict() -> None:
    result = _run(USES, {**PACKAGE, "hostile.py": "import os\nos._exit(0)\n"})
    assert result.status is Status.UNSUPPORTED
    assert "does not start" in result.detail


def test_no_descriptor_of_the_texts_reaches_a_check() -> None:
    source = "import os\ndef f(x):\n    return os.read(0, 10)\n"
    assert _answer(_run(source, PACKAGE)).outcome is Outcome.RAISED


def test_reading_takes_python_files_by_their_place_in_the_package(tmp_path: Path) -> None:
    for place, text in PACKAGE.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text, "utf-8")
    (tmp_path / "helper" / "secret.py").symlink_to("/etc/hostname")
    (tmp_path / "helper" / "data.txt").write_text("data")
    given = read_given([str(tmp_path / "helper"), str(tmp_path / "single.py")])
    assert given == tuple(sorted(PACKAGE.items()))


@pytest.mark.parametrize("path", ["helper", "{folder}/missing", "{folder}/json", "{folder}/not-a-name.py"])
def test_reading_refuses_what_another_folder_could_choose_or_what_hides_a_standard_module(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("helper", "json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "not-a-name.py").write_text("")
    with pytest.raises(SandboxError):
        read_given([path.format(folder=tmp_path)])
