"""Runs each entry in the hostile tree, once for all promises."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hostile_tree
import yaml
from entries import SERVES, Entry
from library_entries import Shown
from reading import READERS

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
CONFIGURATION = 'jobs = 1\nembedding = "lexical"\n[defense]\nbudget_s = 3.0\nfile_budget_s = 1.0\n'
HANGS_S = 300  # a run that takes as long does not end


@dataclass(frozen=True)
class Record:
    """What a run of an entry did: exit codes, the modules of the tree that ran, and what it showed."""

    codes: tuple[int, ...]
    marked: tuple[str, ...]
    shown: Shown
    errors: str


class Runs:
    """Runs each entry in the hostile tree, once."""

    def __init__(self, place: Path) -> None:
        self._place, self._tree, self._marks = place, place / "tree", place / "marks"
        self._kept = place / "kept"
        self._records: dict[str, Record] = {}
        self._families: dict[str, tuple[subprocess.CompletedProcess[str], tuple[str, ...]]] = {}
        (place / "home" / "codeguard").mkdir(parents=True)
        (place / "home" / "codeguard" / "config.toml").write_text(CONFIGURATION)
        hostile_tree.make(self._tree, self._marks)
        done = self._codeguard("index", "ours", "theirs", "--trust", "ours")
        assert done.returncode == 0, done.stderr
        hostile_tree.change(self._tree)
        shutil.copytree(self._tree, self._kept, symlinks=True)

    def __call__(self, entry: Entry) -> Record:
        """Return the record of an entry."""
        if entry.name not in self._records:
            self._records[entry.name] = self._run(entry)
            if entry.changes:
                shutil.rmtree(self._tree)
                shutil.copytree(self._kept, self._tree, symlinks=True)
        return self._records[entry.name]

    def _run(self, entry: Entry) -> Record:
        if entry.family:
            return self._of_family(entry)
        if entry.group == "hook":
            done = [self._hook(entry.name.removeprefix("hook "))]
        elif entry.group == "Action":
            done = [self._action(entry.name.removeprefix("Action: "))]
        else:
            start = (str(BIN / "codeguard"),) if entry.group == "start" else ()
            done = [self._codeguard(*words, start=start, stdin=entry.stdin) for words in entry.runs]
        errors = "".join(item.stderr for item in done)
        seen = READERS[entry.reads]("".join(item.stdout for item in done))
        seen = seen | {"text": seen["text"] + errors}
        return Record(tuple(item.returncode for item in done), self._marked(), seen, errors)

    def _of_family(self, entry: Entry) -> Record:
        if entry.family not in self._families:
            script = Path(__file__).with_name("library_entries.py")
            done = self._start(sys.executable, "-I", str(script), entry.family)
            self._families[entry.family] = done, self._marked()
        done, marked = self._families[entry.family]
        seen = json.loads(done.stdout.splitlines()[-1])[entry.name] if done.returncode == 0 else {}
        return Record((done.returncode,), marked, seen, done.stderr)

    def _marked(self) -> tuple[str, ...]:
        names = tuple(sorted(path.name for path in self._marks.iterdir()))
        for path in self._marks.iterdir():
            path.unlink()
        return names

    def _codeguard(
        self, *words: str, start: tuple[str, ...] = (), stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return self._start(*(start or (sys.executable, "-I", "-m", "codeguard")), *words, stdin=stdin)

    def _hook(self, id_: str) -> subprocess.CompletedProcess[str]:
        """Run the line of a hook as pre-commit does: the programs of its environment first, in the repository."""
        (hook,) = [hook for hook in HOOKS if hook["id"] == id_]
        program, *words = shlex.split(hook["entry"])
        names = [name for name in hostile_tree.FILES if name.startswith("theirs/")]
        return self._start(str(BIN / program), *words, *(names if hook.get("pass_filenames", True) else ()))

    def _action(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run a step of the Action as the runner does; this environment stands for the installed one."""
        runner = self._place / "runner"
        (runner / "codeguard").mkdir(parents=True, exist_ok=True)
        if not (runner / "codeguard" / "venv").exists():
            (runner / "codeguard" / "venv").symlink_to(sys.prefix)
        (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
        variables = {
            **dict.fromkeys(step.get("env", ()), ""),
            "GITHUB_WORKSPACE": str(self._tree),
            "GITHUB_OUTPUT": str(runner / "output"),
            "RUNNER_TEMP": str(runner),
            "FAIL_ON": ACTION["inputs"]["fail-on"]["default"],
            "PATHS": "theirs",
        }
        bash = shutil.which("bash") or "bash"
        done = self._start(
            bash, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"], **variables
        )
        sarif = re.findall("(?m)^sarif=(.*)$", (runner / "output").read_text())
        done.stdout = Path(sarif[-1]).read_text()
        return done

    def _start(self, *words: str, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        home = {"XDG_CONFIG_HOME": str(self._place / "home"), "XDG_STATE_HOME": str(self._place / "state")}
        given: Mapping[str, str] = {**environment, **home, **variables}
        if words[-1] == SERVES:
            with subprocess.Popen(
                words[:-1],
                cwd=self._tree,
                env=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                first = process.stdout.readline() if process.stdout else ""
                process.send_signal(signal.SIGINT)
                out, errors = process.communicate(timeout=HANGS_S)
            return subprocess.CompletedProcess(words, process.returncode, first + out, errors)
        return subprocess.run(
            words,
            cwd=self._tree,
            env=given,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=HANGS_S,
            check=False,
        )
