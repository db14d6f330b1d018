"""Files that discovery skipped: findings if that hides something from a reviewer, a count if not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from codeguard.analysis.observations import DISCOVERY
from codeguard.analysis.rules.secrets import SIGNAL as SECRETS
from codeguard.audit.findings import Finding
from codeguard.audit.inspection import file_finding, own_finding
from codeguard.corpus.agent_files import agent_file_kind
from codeguard.corpus.chunking import languages
from codeguard.corpus.decoding import (
    ARCHIVE,
    BYTECODE,
    DATA,
    MEDIA,
    OBJECTS,
    OFFICE,
    PADDED_TEXT,
    PROGRAM,
    SCRIPT,
)
from codeguard.corpus.patterns import stored
from codeguard.corpus.secrets import secret_file
from codeguard.models import Skipped

# The reasons are discovery's own texts; a test checks that each of them is recognized here.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("encoding", re.compile(r"declares the encoding")),
    ("name", re.compile(r"its name (?:holds|is not)")),
    ("link", re.compile(r"link that (?:leads (?:out of|into)|gives)")),
)
_UNSEEN = re.compile(r"too large|binary|cannot be read|not a regular file")
_NAMES = stored(Path(__file__).with_suffix(".toml"))
_ALSO_READ, _BUILD_FILES, _TABLES, _MEDIA = (
    frozenset(_NAMES[kind].split()) for kind in ("also_read", "build_files", "tables", "media")
)


def reader_of(item: Skipped) -> str:
    """Return who would run, load or obey a file that was not read, or "" if nobody is known to.

    The one place for it: by its name, and by what its first bytes show (which discovery puts into the reason).
    Programs, archives, documents and pickles are `unread_binaries`.
    """
    if not _UNSEEN.match(item.reason):
        return ""
    base = item.path.rstrip("/").rpartition("/")[2].lower()
    suffix = base.rpartition(".")[2] if "." in base else ""
    if item.path.endswith("/"):
        return "whatever the folder holds"
    if agent_file_kind(item.path):
        return "an assistant"
    if item.reason.endswith(SCRIPT):
        return "the interpreter of its first line"
    if f".{suffix}" in _extensions() or suffix in _ALSO_READ or base in _BUILD_FILES:
        return "an interpreter, a tool or an assistant, by its name"
    plain = item.reason.endswith(PADDED_TEXT) and suffix not in _TABLES | _MEDIA
    nameless = not suffix and item.reason.startswith(("too large", "cannot be read"))
    kinds = (*_RUN_OR_OPENED, MEDIA, DATA)
    return "a shell that is given it" if plain or (nameless and not item.reason.endswith(kinds)) else ""


@cache
def _extensions() -> frozenset[str]:
    return frozenset(extension for language in languages() for extension in language.extensions)


def secret_file_findings(
    names: Mapping[str, str], skipped: Iterable[Skipped], known: Iterable[Finding]
) -> list[Finding]:
    """Return a finding for each file that is a secret by its name, unless its text is already a finding.

    `names` maps the audited files to the digests of their bytes. Ignored and excluded files are no findings.
    """
    rules = {rule.id: rule for rule in SECRETS.rules}
    reported = {item.path for item in known if item.rule.startswith(f"{SECRETS.name}.")}
    unread = {item.path: "" for item in skipped if _UNSEEN.match(item.reason)}
    found = []
    for path, digest in {**unread, **names}.items():
        rule = rules.get(secret_file(path))
        if rule is not None and path not in reported:
            reason = f"{rule.summary[0].lower()}{rule.summary[1:]}"
            found.append(file_finding(f"{SECRETS.name}.{rule.id}", rule, path, reason, digest))
    return found


_RUN_OR_OPENED = (PROGRAM, BYTECODE, ARCHIVE, OFFICE, OBJECTS)
# The purpose of a file that is too large to read is derived from its name, as by programs that load or open
# it.
_OPENED = {"bytecode": BYTECODE, "program": PROGRAM, "archive": ARCHIVE, "office": OFFICE, "objects": OBJECTS}
_BY_NAME = {
    suffix: _OPENED[kind] for kind, suffixes in _NAMES["opened"].items() for suffix in suffixes.split()
}
_CACHE = "__pycache__"
_SHOWN = 4  # names listed per reason


def unread_binaries(skipped: Iterable[Skipped]) -> list[Finding]:
    """Return findings about files that are run, loaded or opened but not read, one per kind in a tree.

    Images, fonts and data tables are no findings unless their first bytes show another file type.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for item in skipped:
        kind = item.reason.removeprefix("binary: ") if item.reason.startswith("binary: ") else ""
        suffix = item.path.rpartition(".")[2].lower()
        if item.reason.startswith("too large"):
            kind = item.reason.rpartition(": ")[2]
            kind = kind if kind in _RUN_OR_OPENED else _BY_NAME.get(suffix, "")
        if suffix in _MEDIA and kind in (PROGRAM, BYTECODE, OBJECTS):
            kind = f"{kind}, named as if it were none"
        elif kind not in _RUN_OR_OPENED or (suffix in _MEDIA and kind in (ARCHIVE, OFFICE)):
            continue
        folder = item.path.rpartition("/")[0]
        # The interpreter's bytecode caches are one thing to delete, wherever they are.
        place = (
            _CACHE if folder.rpartition("/")[2] == _CACHE else item.path.partition("/")[0] if folder else ""
        )
        found.setdefault((place, kind), []).append(item.path)
    return [_unread(kind, paths) for (_, kind), paths in sorted(found.items())]


def _unread(kind: str, paths: list[str]) -> Finding:
    names = [path.rpartition("/")[2] for path in sorted(paths)]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    folders = len({path.rpartition("/")[0] for path in paths})
    where = f" in {folders} folders" if folders > 1 else ""
    reason = f"{kind}: {', '.join(names[:_SHOWN])}{more}{where}" if len(names) > 1 else kind
    return own_finding(f"{DISCOVERY}.not-audited", sorted(paths)[0], reason)


def skipped_findings(skipped: Sequence[Skipped]) -> list[Finding]:
    """Return a finding for each file whose absence from the corpus may hide something."""
    found = []
    for item in skipped:
        rule = next((name for name, pattern in _RULES if pattern.search(item.reason)), "")
        reader = "" if rule else reader_of(item)
        if rule or reader:
            reason = f"{item.reason}; {reader} would read it" if reader else item.reason
            found.append(own_finding(f"{DISCOVERY}.{rule or 'not-read'}", item.path, reason))
    return [*found, *unread_binaries(skipped)]
