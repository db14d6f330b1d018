"""The working tree of a git repository: whether a folder is in one, and what git tracks in it."""

from __future__ import annotations

import subprocess
from functools import cached_property
from pathlib import Path

from codeguard.corpus.git_runner import run_git


class WorkingTree:
    """A folder that may be in the working tree of a git repository; git is run on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def is_one(self) -> bool:
        """Whether the folder or one above it holds a repository."""
        return any((place / ".git").exists() for place in (self._folder, *self._folder.parents))

    @property
    def problem(self) -> str:
        """Why git cannot list tracked files, or ""."""
        return self._answer[1]

    def tracks(self, relative: str) -> bool:
        """Return whether a file (relative to the folder, posix) is tracked, or anything in a folder of that name."""
        return relative in self._answer[0]

    @cached_property
    def _answer(self) -> tuple[frozenset[str], str]:
        try:
            done = run_git(self._folder, "ls-files", "-z", "--cached")
        except FileNotFoundError:
            return frozenset(), "git is not installed"
        except (OSError, subprocess.TimeoutExpired):
            return frozenset(), "git cannot be run"
        if done.returncode:
            return frozenset(), done.stderr.decode("utf-8", "replace").strip().partition("\n")[0][:200]
        known: set[str] = set()
        for name in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
            while name and name not in known:
                known.add(name)
                name = name.rpartition("/")[0]
        return frozenset(known), ""
