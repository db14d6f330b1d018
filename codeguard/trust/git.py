"""Signed git commits as evidence: did an allowed signer sign the commit that contains these bytes?

The repository is not trusted yet, so everything that its configuration could make git run is disabled, and so
are replaced objects and network fetches. The allowed signers come from the user.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from codeguard.corpus.git import run_git
from codeguard.errors import ManifestError
from codeguard.trust.escape import shown

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_GOOD = re.compile(r'Good "git" signature for (.+) with (\S+) key (SHA256:\S+)')


@dataclass(frozen=True, slots=True)
class CommitEvidence:
    """A commit with a valid signature: the signer by the allowed signers file, and the key."""

    commit: str
    signer: str
    key: str


def head_commit(root: Path) -> str:
    """Return the id of the checked-out commit, or "" if `root` is not in a git repository."""
    done = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    commit = done.stdout.decode("ascii", "replace").strip()
    return commit if done.returncode == 0 and _COMMIT.fullmatch(commit) else ""


def verify_commit(root: Path, commit: str, allowed_signers: Path) -> CommitEvidence:
    """Return who signed a commit, by `git verify-commit` with an allowed signers file (ssh-keygen(1)).

    OpenPGP and X.509 signatures are not accepted: they would be checked against a key ring that this policy
    does not control.

    Raises ManifestError if the signature is missing, invalid, or by a signer who is not in the file.
    """
    done = _git(root, "verify-commit", "--raw", _checked(commit), allowed_signers=allowed_signers)
    report = done.stderr.decode("utf-8", "replace").strip()
    good = [found for line in report.splitlines() if (found := _GOOD.fullmatch(line))]
    if done.returncode != 0 or len(good) != 1:
        raise ManifestError(
            f"commit {commit} is not signed by an allowed signer",
            got=shown(" ".join(report.split()) or "no signature"),
            expected=f"a signature of a signer in {shown(str(allowed_signers))}",
        )
    return CommitEvidence(commit, good[0].group(1), good[0].group(3))


def vouch(
    root: Path, changed: Mapping[str, str | None], since: str, allowed_signers: Path
) -> tuple[CommitEvidence, ...]:
    """Return the signed commits that vouch for changed files, newest first.

    `changed` maps paths to the sha256 of their bytes now, None if the file
    is gone. The checked-out commit must contain exactly this, and must be signed by an allowed signer; so
    must every commit after `since` (the commit of the manifest, empty for the checked-out one alone) that
    touches one of the paths.

    Raises ManifestError if one of these does not hold.
    """
    head = head_commit(root)
    if not head:
        raise ManifestError("nothing can vouch for the edit", got="no git commit", expected="a signed commit")
    for path, sha256 in changed.items():
        committed = _committed(root, head, path)
        if committed != sha256:
            raise ManifestError(
                f"commit {head} does not hold {shown(path)} as it is",
                got=f"sha256 {sha256}" if sha256 else "no such file",
                expected=f"sha256 {committed}, as committed" if committed else "no such file, as committed",
                hint="commit the edit, signed; where line endings are converted, see docs/provenance.md",
            )
    commits = [head]
    if since:
        for commit in _commits_touching(root, since, head, list(changed)):
            if commit not in commits:
                commits.append(commit)
    return tuple(verify_commit(root, commit, allowed_signers) for commit in commits)


def _commits_touching(root: Path, since: str, head: str, paths: list[str]) -> list[str]:
    if _git(root, "merge-base", "--is-ancestor", _checked(since), head).returncode != 0:
        raise ManifestError(
            "the commit of the manifest is no ancestor of the one checked out",
            got=head,
            expected=f"a descendant of {since}",
        )
    # All parents of every merge are followed, so that no merge hides the other side's commits.
    done = _git(
        root,
        "rev-list",
        "--full-history",
        f"{since}..{head}",
        "--",
        *(f":(top,literal){p}" for p in _at_top(root, paths)),
    )
    if done.returncode != 0:
        raise ManifestError("git cannot list the commits", got=_said(done), expected="a list")
    return [line for line in done.stdout.decode("ascii", "replace").split() if _COMMIT.fullmatch(line)]


def _at_top(root: Path, paths: list[str]) -> list[str]:
    """Return paths relative to the top of the repository, which may be above `root`."""
    prefix = _git(root, "rev-parse", "--show-prefix").stdout.decode("utf-8", "surrogateescape").rstrip("\n")
    return [prefix + path for path in paths]


def _committed(root: Path, commit: str, path: str) -> str | None:
    """Return the sha256 of a regular file as stored in a commit, or None if there is none."""
    (at_top,) = _at_top(root, [path])
    listed = _git(root, "ls-tree", "-z", "--full-tree", commit, "--", f":(top,literal){at_top}").stdout
    entry = re.match(rb"100(?:644|755) blob ([0-9a-f]+)\t", listed)
    if entry is None:
        return None
    done = _git(root, "cat-file", "blob", entry.group(1).decode("ascii"))
    return hashlib.sha256(done.stdout).hexdigest() if done.returncode == 0 else None


def _checked(commit: str) -> str:
    if not _COMMIT.fullmatch(commit):
        raise ManifestError(
            "not the id of a commit", got=shown(commit), expected="40 or 64 hexadecimal digits"
        )
    return commit


def _git(
    root: Path, *arguments: str, allowed_signers: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    signers = str(allowed_signers.resolve()) if allowed_signers else os.devnull
    try:
        return run_git(root, *arguments, settings={"gpg.ssh.allowedSignersFile": signers})
    except FileNotFoundError:
        raise ManifestError("git is not installed", got="no git", expected="git 2.34 or later") from None
    except subprocess.TimeoutExpired as error:
        raise ManifestError(
            "git does not answer", got=f"nothing in {error.timeout:g} s", expected="an answer"
        ) from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return shown(" ".join(done.stderr.decode("utf-8", "replace").split()))
