"""The Action's steps and the hook's entry, as they stand, in a checkout where every name is a trap.

The traps write a mark and are tested themselves. Whatever a workflow's variables or git's configuration say, no
mark may appear, and what is wrong in the checkout is still reported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_action import CLEAN, INSECURE, ROOT, audit, found, git, step

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not shutil.which("bash") or not shutil.which("git"), reason="needs bash and git"),
]

HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
PARTS = ("pyproject.toml", "README.md", "LICENSE", "requirements-action.lock", "codeguard")
# Programs that a script could take from a relative entry of PATH.
PROGRAMS = ("python", "python3", "pip", "git", "rm", "mkdir", "codeguard", "ssh", "sh", "bash", "env")
ODD_NAMES = ("--trust", "-c", "--config=pip.conf", "$(touch hacked).py", "a\nb.py", "-\n--no-behavior")
GIT_HOOKS = (
    "applypatch-msg", "fsmonitor-watchman", "post-checkout", "post-index-change", "pre-commit", "reference-transaction",
)  # fmt: skip
# Settings by which git runs a program, `{}`, for something that it does.
GIT_PROGRAMS = (
    "core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.pager", "core.editor", "core.askPass",
    "core.alternateRefsCommand", "credential.helper", "diff.external", "diff.trap.command", "diff.trap.textconv",
    "filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "merge.trap.driver", "gpg.program",
    "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "remote.origin.uploadpack", "uploadpack.packObjectsHook",
    "pager.diff", "sequence.editor", "tar.tar.command",
)  # fmt: skip
GIT_SETTINGS = {
    "filter.trap.required": "true",
    "protocol.allow": "always",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
    "log.showSignature": "true",
}


class Checkout:
    """A checkout of a pull request, a commit `base` before it, and the folder where traps write."""

    def __init__(self, place: Path, modules: frozenset[str]) -> None:
        self.folder, self.marks = place / "checkout", place / "marks"
        self.marks.mkdir(parents=True)
        self.trap = place / "trap"
        self.trap.write_text(f'#!/bin/sh\n: > {self.marks}/"${{0##*/}}-$$"\n')
        self.trap.chmod(0o755)
        self._write({"src/m.py": CLEAN, ".gitattributes": "* filter=trap diff=trap merge=trap ident\n"})
        git(self.folder, "init", "-q")
        self.base = self._commit()
        self._write(self._traps(modules))
        # Equal texts would be reported once.
        names = enumerate(("new.py", *ODD_NAMES))
        self._write({name: INSECURE.replace("run", f"run_{number}") for number, name in names})
        (self.folder / "bin").mkdir()
        for name in PROGRAMS:
            shutil.copy(self.trap, self.folder / "bin" / name)
        self._commit()
        self._configure()

    def _write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)

    def _commit(self) -> str:
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", "x")
        return git(self.folder, "rev-parse", "HEAD")

    def _traps(self, modules: frozenset[str]) -> dict[str, str]:
        # `open` is not there yet when the first modules are imported.
        mark = f"import posix; posix.open({str(self.marks)!r} + '/' + {{}}, posix.O_CREAT); posix._exit(0)\n"
        module = mark.format("__name__")
        line = mark.format("'pth'")
        trap, here = self.trap, self.folder
        pip = f"[global]\npython = {trap}\ntarget = {here}\nindex-url = file://{here}\nfind-links = {here}\n"
        return {
            **{f"{name}.py": module for name in modules},
            **{f"{name}/__main__.py": module for name in ("venv", "pip", "ensurepip", "codeguard")},
            **dict.fromkeys(("setup.py", "conftest.py"), module),
            **dict.fromkeys(("planted.pth", "lib/python3/site-packages/planted.pth"), line),
            **dict.fromkeys(("pip.conf", "pip.ini", ".pip/pip.conf", ".config/pip/pip.conf"), pip),
            "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "sitecustomize"\nbackend-path = ["."]\n',
            "setup.cfg": f"[install]\nprefix = {here}\n[easy_install]\nindex_url = file://{here}\n",
            "pyvenv.cfg": f"home = {here}\ninclude-system-site-packages = true\n",
            "python._pth": ".\nimport site\n",
            ".gitconfig": f"[core]\n\tfsmonitor = {trap}\n\thooksPath = {here}/hooks\n[diff]\n\texternal = {trap}\n",
        }

    def _configure(self) -> None:
        settings = {**dict.fromkeys(GIT_PROGRAMS, str(self.trap)), **GIT_SETTINGS}
        settings |= {"core.hooksPath": f"{self.folder}/.git/hooks", "remote.origin.url": f"ext::{self.trap}"}
        for name, value in settings.items():
            git(self.folder, "config", name, value)
        for name in GIT_HOOKS:
            hook = self.folder / ".git" / "hooks" / name
            hook.unlink(missing_ok=True)
            hook.symlink_to(self.trap)

    def variables(self) -> dict[str, str]:
        """Return what a workflow's variables may be when they name the checkout."""
        here = str(self.folder)
        return {
            "PATH": f"bin:.{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": here,
            "PYTHONHOME": here,
            "PYTHONUSERBASE": here,
            "PYTHONSTARTUP": f"{here}/setup.py",
            "PYTHONWARNINGS": "error::sitecustomize.Warn",
            "PIP_CONFIG_FILE": f"{here}/pip.conf",
            "PIP_PYTHON": str(self.trap),
            "PIP_TARGET": here,
            "GIT_CONFIG_GLOBAL": f"{here}/.gitconfig",
            "GIT_EXTERNAL_DIFF": str(self.trap),
            "GIT_SSH_COMMAND": str(self.trap),
            "GIT_TEMPLATE_DIR": f"{here}/.git",
        }

    def marked(self) -> list[str]:
        return sorted(path.name for path in self.marks.iterdir())


@pytest.fixture(scope="module")
def modules() -> frozenset[str]:
    """Return every name that Python, pip or codeguard could import."""
    from importlib.metadata import packages_distributions

    return frozenset(sys.stdlib_module_names | packages_distributions().keys()) | {
        "sitecustomize",
        "usercustomize",
    }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, modules: frozenset[str]) -> Iterator[Path]:
    """Return a runner's temporary folder after the step `Install`, run in a hostile checkout."""
    place = tmp_path_factory.mktemp("action")
    action, runner = place / "action", place / "runner"
    runner.mkdir()
    action.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, action / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, action / part)
    checkout = Checkout(place, modules)
    folders = {"RUNNER_TEMP": str(runner), "GITHUB_ACTION_PATH": str(action)}
    done = step("Install", checkout.folder, **folders, **checkout.variables())
    assert done.returncode == 0, done.stderr
    assert checkout.marked() == []
    assert git(checkout.folder, "-c", "core.fsmonitor=false", "ls-files", "--others") == ""
    yield runner
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def checkout(tmp_path: Path, modules: frozenset[str]) -> Checkout:
    return Checkout(tmp_path, modules)


def test_the_action_runs_nothing_of_the_checkout_and_reports_what_is_in_it(
    checkout: Checkout, installed: Path
) -> None:
    code, _, log = audit(
        checkout.folder, installed, BASE=checkout.base, TRUST="src\n", **checkout.variables()
    )
    assert checkout.marked() == []
    assert code == 1
    command = {path for rule, path in found(log) if rule == "insecure.command-injection"}
    assert {"new.py", "%24%28touch%20hacked%29.py"} <= command
    assert "a%5Cnb.py" in {path for _, path in found(log)}
    assert not (checkout.folder / "hacked").exists()


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_runs_nothing_of_the_repository(
    checkout: Checkout, installed: Path, hook: dict[str, Any]
) -> None:
    """pre-commit puts the programs of the hook's environment first, and starts the entry in the repository."""
    programs = installed / "codeguard" / "venv" / "bin"
    names = ["--", *ODD_NAMES, "new.py"] if hook.get("pass_filenames", True) else []
    words = hook["entry"].split()
    done = subprocess.run(
        [programs / words[0], *words[1:], *names],
        cwd=checkout.folder,
        env={**os.environ, **checkout.variables(), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checkout.marked() == []
    assert ("insecure.command-injection" in done.stdout) == bool(names), done.stdout
    assert done.returncode == (1 if names else 2), done.stderr


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        pytest.param("python3 -m venv there", (), id="a module of the folder"),
        pytest.param("python3 -c pass", ("PYTHONPATH",), id="a module of a variable"),
        pytest.param("python3 -I -m pip --version", ("PIP_PYTHON",), id="a setting of pip"),
        pytest.param("python3 -I -m venv there", ("PATH",), id="a program of the folder"),
        pytest.param("git status", (), id="a monitor"),
        pytest.param("git worktree add there HEAD", (), id="a filter and a hook"),
        pytest.param("git diff HEAD~", (), id="a difference shown by a program"),
        pytest.param("git fetch", (), id="a remote"),
    ],
)
def test_the_traps_are_traps(checkout: Checkout, words: str, variables: tuple[str, ...]) -> None:
    chosen = {name: value for name, value in checkout.variables().items() if name in variables}
    program, *rest = words.split()
    where = None if "PATH" in variables else shutil.which(program)
    assert where or "PATH" in variables
    subprocess.run(
        ["bash", "-c", 'exec "$@"', "bash", where or program, *rest],
        cwd=checkout.folder,
        env={**os.environ, **chosen},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert checkout.marked() != []
