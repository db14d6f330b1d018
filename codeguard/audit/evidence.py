"""Findings that no signal of a text gives: of skipped files, of provenance and of behavior."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codeguard.analysis import Reading
from codeguard.analysis.observations import AUDIT, DISCOVERY, detector_error
from codeguard.analysis.python.bindings import trust_in_file
from codeguard.analysis.rules import Match
from codeguard.analysis.rules.secrets import SIGNAL as SECRETS
from codeguard.audit.findings import Finding
from codeguard.audit.inspection import Inspected, chunk_finding, file_finding, finding_of, own_finding
from codeguard.config import Settings, below_level
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
from codeguard.corpus.patterns import lazy, stored
from codeguard.corpus.secrets import secret_file
from codeguard.errors import CodeguardError
from codeguard.index.report import together
from codeguard.index.trusted_base import TrustedBase
from codeguard.models import NOT_FULLY_READ, Severity, Skipped, SourceFile, Trust, Verdict
from codeguard.ranking.signals.base import SignalContext, SignalServices, Subject
from codeguard.ranking.signals.behavior import SIGNAL as BEHAVIOR
from codeguard.ranking.signals.provenance import SIGNAL as PROVENANCE
from codeguard.trust.manifest import NameIndex

if TYPE_CHECKING:
    from codeguard.index.behavior_reports import SiblingFiles, Siblings
    from codeguard.index.report import BudgetReport
    from codeguard.index.workspace import Workspace


_MODIFIED = next(rule for rule in PROVENANCE.rules if rule.id == "modified")
_BEHAVIOR = {rule.id: rule for rule in BEHAVIOR.rules}
_NAMES = stored(Path(__file__).with_name("skipped_files.toml"))
_AGENT_FILES = {kind: lazy("|".join(forms), re.IGNORECASE) for kind, forms in _NAMES["agent_files"].items()}


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of an audit's behavior checks."""

    findings: tuple[Finding, ...] = ()
    level: str = ""
    functions: int = 0
    ran: int = 0
    warnings: tuple[str, ...] = ()
    budget: BudgetReport | None = None

    def with_review(self, other: Checked) -> Checked:
        """Return it with what it took to compare the owner's functions, whose findings are apart."""
        return Checked(
            self.findings,
            min(filter(None, (self.level, other.level)), default=""),
            self.functions + other.functions,
            self.ran + other.ran,
            self.warnings,
            together(self.budget, other.budget),
        )


def provenance_findings(
    inspected: Sequence[Inspected], base: TrustedBase, gone: Collection[str] = ()
) -> list[Finding]:
    """Return findings about modified trusted files, and about names that could pass for a listed one.

    `gone` are listed files that a change removes or renames.
    """
    names = () if base.manifest is None else base.manifest.files
    listed = NameIndex(name for name in names if name not in gone)
    present = NameIndex()
    found: list[Finding] = []
    for item in inspected:
        lookalike, other = listed.lookalike(item.name), present.add(item.name)
        if base.manifest is None or item.name not in base.manifest.files:
            if lookalike is not None:
                reason = f"passes for the trusted file {lookalike}"
                collision = own_finding(f"{DISCOVERY}.collision", item.name, reason, item.sha256)
                found.append(replace(collision, severity=Severity.HIGH))
            elif other is not None:
                reason = f"passes for {other}"
                found.append(own_finding(f"{DISCOVERY}.collision", item.name, reason, item.sha256))
        elif item.file is not None and not base.covers(item.name, item.sha256):
            found += _modified(item.file, base)
        found += _agent_file(item, base)
    return found


def agent_file_kind(name: str) -> str:
    """Return the kind of file that assistants and editors obey without being asked, by its name, or ""."""
    return next((kind for kind, pattern in _AGENT_FILES.items() if pattern.search(name)), "")


def _agent_file(item: Inspected, base: TrustedBase) -> list[Finding]:
    """Return a finding if assistants obey this file and the manifest does not list its current content."""
    kind = agent_file_kind(item.name)
    if not kind or base.manifest is None or base.covers(item.name, item.sha256):
        return []
    known = item.name in base.manifest.files
    what = "has changed since it was listed" if known else "is not listed in the manifest"
    return [own_finding(f"{AUDIT}.agent-file", item.name, f"{kind}: {what}", item.sha256)]


def _modified(file: SourceFile, base: TrustedBase) -> list[Finding]:
    """Return a finding for each chunk of a listed file that is not the listed text.

    An unsigned manifest is our own snapshot, and an edit since then is the normal case.
    """
    assert base.manifest is not None
    reading = Reading(file)
    severity = Severity.LOW if base.manifest.unsigned else _MODIFIED.severity
    found = []
    for chunk in file.chunks:
        if trust_in_file(base.manifest, chunk, file) is Trust.MODIFIED and chunk.text.strip():
            reason = "the path is trusted, this text of it is not"
            match = Match(_MODIFIED.id, 0, 0, reason, severity)
            found.append(chunk_finding(reading, chunk, match, PROVENANCE.name, _MODIFIED))
    return found


def behavior_findings(
    files: Iterable[SourceFile],
    base: TrustedBase,
    settings: Settings,
    executor: Executor,
    others: SiblingFiles,
    unchanged: Collection[tuple[str, str]],
    index: Workspace | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Checked:
    """Return findings about the behavior of functions in untrusted files, from cached evidence where valid.

    What they import is taken from `files` and else from `others`. Functions whose paths and digests are `unchanged`
    are left out. `index` is the workspace of the index that `base` comes from, None where there is none. A checker
    that cannot start causes a warning and never a pass.
    """
    from codeguard.index.behavior_reports import ListedFiles, Siblings, checkable
    from codeguard.index.without_index import opened_workspace  # imports the behavior checker

    present = list(files)
    subjects = [
        Subject(chunk, file, trust)
        for file in present
        if not base.covers(file.path, file.sha256)
        for chunk in file.chunks
        if checkable(chunk) and (file.path, chunk.sha256) not in unchanged
        if (trust := trust_in_file(base.manifest, chunk, file)) is not Trust.TRUSTED
    ]
    if not subjects:
        return Checked()
    siblings = Siblings(ListedFiles(present, base.covers, others))
    try:
        with nullcontext(index) if index is not None else opened_workspace(settings, base) as workspace:
            return _checked(subjects, workspace, executor, progress, siblings)
    except CodeguardError as error:
        why = f"behavior was not looked at: {error}"
        return Checked((own_finding(f"{AUDIT}.detector-error", subjects[0].file.path, why),), warnings=(why,))


def _checked(
    subjects: Sequence[Subject],
    workspace: Workspace,
    executor: Executor,
    progress: Callable[[int, int], None],
    siblings: Siblings,
) -> Checked:
    from codeguard.index.behavior_reports import ensure_level

    level = ensure_level(workspace.catalog)
    reports = workspace.reports(executor=executor, siblings=siblings)
    ran = reports.prepare([(item.chunk, item.file) for item in subjects], progress)
    if ran:
        workspace.ran_at = reports.ran_at
        level = workspace.level  # cached evidence may come from another machine
    below = below_level(level, workspace.settings.defense.required_level)
    context = SignalContext(SignalServices(behavior=reports))
    readings = {item.file.path: Reading(item.file) for item in subjects}
    found = [
        finding for item in subjects for finding in _of_function(item, readings[item.file.path], context)
    ]
    budget = reports.budget.report()
    digests = {item.file.path: item.file.sha256 for item in subjects}
    for path in budget.files:
        reason = f"{budget.file_s:g} CPU seconds at most, and a fair part of {budget.allowed_s:g}"
        reason = f"not fully checked: too large, or its share of the budget in the sandbox is spent: {reason}"
        found.append(own_finding(f"{AUDIT}.budget-spent", path, reason, digests[path]))
    warnings = [*([below] if below else []), *workspace.warnings]
    return Checked(tuple(found), level, 0 if below else len(subjects), ran, tuple(warnings), budget)


def _of_function(subject: Subject, reading: Reading, context: SignalContext) -> Iterator[Finding]:
    try:
        evidence = list(BEHAVIOR.examine(subject, context))
    except Exception as error:
        yield finding_of(subject.file, detector_error(BEHAVIOR.name, reading, error))
        return
    for item in evidence:
        if item.id == NOT_FULLY_READ:  # told of the file
            continue
        rule = _BEHAVIOR[item.id]
        if item.measurements.get("verdict") == Verdict.ERROR.value and item.id == "untested":
            rule = replace(rule, severity=Severity.LOW)
            yield chunk_finding(
                reading, subject.chunk, Match(item.id, 0, 0, item.reason), BEHAVIOR.name, rule
            )
        elif item.severity > Severity.INFO:
            # Evidence that does not convict informs the reader, but is no reason to stop a commit.
            shown = item.convicts or item.id == "replaced"
            severity = item.severity if shown else min(item.severity, Severity.LOW)
            match = Match(item.id, 0, 0, item.reason, severity, item.confidence, dict(item.measurements))
            yield chunk_finding(reading, subject.chunk, match, BEHAVIOR.name, rule)


# The reasons are discovery's own texts; a test checks that each of them is recognized here.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("encoding", re.compile(r"declares the encoding")),
    ("name", re.compile(r"its name (?:holds|is not)")),
    ("link", re.compile(r"link that (?:leads (?:out of|into)|gives)")),
)
_UNSEEN = re.compile(r"too large|binary|cannot be read|not a regular file")
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
