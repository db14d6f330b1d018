"""Run git in an untrusted repository, without running or fetching anything that its configuration names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from codeguard.interpreter import OUTSIDE

TIMEOUT_S = 120
IGNORED_S = 20  # to match a tree with its .gitignore; a hostile pattern takes time that grows with every star
# Settings by which a repository's configuration could run a program or redirect git.
_SETTINGS = {
    "advice.graftFileDeprecated": "false",
    "core.commitGraph": "false",
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "diff.external": "",
    "diff.ignoreSubmodules": "none",
    "diff.renames": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
VARIABLES = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_GRAFT_FILE": os.devnull,
    "LC_ALL": "C",
}


def run_git(
    folder: Path,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    variables: Collection[str] = (),
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = TIMEOUT_S,
) -> subprocess.CompletedProcess[bytes]:
    """Run git and return its output and exit status.

    Args:
        folder: a folder in the repository.
        arguments: the command and its arguments.
        settings: in addition to our own, or overriding them.
        variables: names of `GIT_…` variables to keep. All others are removed: they could redirect git to
            another repository, index or object store.
        environment: more variables.
        stdin: what git reads.
        timeout: seconds.

    Raises:
        FileNotFoundError: git is not installed.
        subprocess.TimeoutExpired: it did not finish in time.
    """
    return subprocess.run(
        command(folder, *arguments, settings=settings),
        cwd=OUTSIDE,  # what a relative entry of PATH finds there is not the repository's
        input=stdin,
        capture_output=True,
        env=environment_of(variables, environment),
        timeout=timeout,
        check=False,
    )


def environment_of(variables: Collection[str] = (), more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for git: this process's, of the `GIT_…` variables only those named, ours, and more."""
    own = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in variables
    }
    return own | VARIABLES | dict(more or {})


def command(folder: Path, *arguments: str, settings: Mapping[str, str] | None = None) -> list[str]:
    """Return the command line of git in a folder, with our settings; it needs `VARIABLES` as well."""
    chosen = {**_SETTINGS, **(settings or {})}
    options = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    return ["git", "--no-pager", "-C", str(folder.absolute()), *options, *arguments]


def ignored_in(folder: Path) -> tuple[frozenset[str], str]:
    """Return what git ignores in a folder: names relative to it, those of folders with a slash, and why git cannot say.

    That is nothing outside of a working tree, where an archive's author would choose what is examined (a folder named
    `.git` proves nothing: anyone can put one into an archive), and nothing in a folder that git ignores itself, which
    somebody names on purpose. What git tracks is never ignored.
    """
    if not any((place / ".git").exists() for place in (folder, *folder.parents)):
        return frozenset(), ""
    # A repository of another user may be listed: nothing that its configuration names is run.
    settings = {"safe.directory": "*", "core.excludesFile": os.devnull}
    listing = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    inner = not (folder / ".git").exists()
    asked = ("check-ignore", "--quiet", "--no-index", ".")
    try:
        itself = inner and run_git(folder, *asked, settings=settings, timeout=IGNORED_S).returncode == 0
        done = run_git(folder, *listing, settings=settings, timeout=IGNORED_S)
    except FileNotFoundError:
        return frozenset(), "git is not installed"
    except (OSError, subprocess.TimeoutExpired):
        return frozenset(), "git cannot be run, or does not answer in time"
    if done.returncode:
        return frozenset(), done.stderr.decode("utf-8", "replace").strip().partition("\n")[0][:200]
    if itself:
        return frozenset(), ""
    return frozenset(done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]), ""
