"""Provenance and behavior of files as they would enter the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codeguard.auditing.inspecting import Inspected, chunk_finding, detector_error, own_finding
from codeguard.auditing.rules import AUDIT, DISCOVERY
from codeguard.auditing.trust import TrustedBase
from codeguard.config import LEVELS, Settings
from codeguard.errors import CodeguardError
from codeguard.findings import Finding
from codeguard.models import Severity, SourceFile, Trust, Verdict
from codeguard.provenance.paths import NameIndex
from codeguard.reading import Reading
from codeguard.signals import Context, Rule, Sighting, Subject
from codeguard.signals.behavior import BehaviorSignal
from codeguard.signals.provenance import ProvenanceSignal

if TYPE_CHECKING:
    from codeguard.workspace import Workspace

_MODIFIED = next(rule for rule in ProvenanceSignal.rules if rule.id == "modified")
_BEHAVIOR = {rule.id: rule for rule in BehaviorSignal.rules}
_TOLD_BY_OTHERS = "company"  # text around a convicted function: that function is a finding already


@dataclass(frozen=True, slots=True)
class Checked:
    """What the behavior checks of an audit came to."""

    findings: tuple[Finding, ...] = ()
    level: str = ""
    functions: int = 0
    ran: int = 0
    warnings: tuple[str, ...] = ()


def provenance_findings(inspected: Sequence[Inspected], base: TrustedBase) -> list[Finding]:
    """Return modified trusted files, and names that pass for another's."""
    listed = NameIndex(() if base.manifest is None else base.manifest.files)
    present = NameIndex()
    found: list[Finding] = []
    for item in inspected:
        twin, other = listed.twin(item.name), present.add(item.name)
        if base.manifest is None or item.name not in base.manifest.files:
            if twin is not None:
                reason = f"passes for the trusted file {twin}"
                trusted_twin = own_finding(f"{DISCOVERY}.collision", item.name, reason, item.sha256)
                found.append(replace(trusted_twin, severity=Severity.HIGH))
            elif other is not None:
                reason = f"passes for {other}"
                found.append(own_finding(f"{DISCOVERY}.collision", item.name, reason, item.sha256))
        elif item.file is not None and not base.covers(item.name, item.sha256):
            found += _modified(item.file, base)
    return found


def _modified(file: SourceFile, base: TrustedBase) -> list[Finding]:
    """Return a finding for each chunk of a listed file that is not the listed text.

    Where the manifest is unsigned it is a snapshot of ours, and an edit since
    then the ordinary case.
    """
    assert base.manifest is not None
    reading = Reading(file)
    severity = Severity.LOW if base.manifest.unsigned else _MODIFIED.severity
    found = []
    for chunk in file.chunks:
        if base.manifest.trust_of(file.path, chunk.sha256) is Trust.MODIFIED and chunk.text.strip():
            reason = "the path is trusted, this text of it is not"
            sighting = Sighting(_MODIFIED.id, 0, 0, reason, severity)
            found.append(chunk_finding(reading, chunk, sighting, ProvenanceSignal.name, _MODIFIED))
    return found


def behavior_findings(
    files: Iterable[SourceFile],
    base: TrustedBase,
    settings: Settings,
    index: Workspace | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Checked:
    """Return what the functions of untrusted files do that they should not, from kept evidence where it holds.

    `index` is the workspace of the index that `base` comes from, None where
    there is none. A checker that cannot start is a warning and no pass.
    """
    from codeguard.auditing.room import room  # with it comes the behavior checker

    wanted = [file for file in files if not base.covers(file.path, file.sha256) and _has_functions(file)]
    if not wanted:
        return Checked()
    try:
        if index is not None:
            return _checked(wanted, base, index, progress)
        with room(settings, base) as opened:
            return _checked(wanted, base, opened, progress)
    except CodeguardError as error:
        failed = own_finding(
            f"{AUDIT}.detector-error", wanted[0].path, f"behavior was not looked at: {error}"
        )
        return Checked((failed,), warnings=(f"behavior was not looked at: {error}",))


def _has_functions(file: SourceFile) -> bool:
    from codeguard.checks import checkable

    return any(checkable(chunk) for chunk in file.chunks)


def _checked(
    files: Sequence[SourceFile], base: TrustedBase, workspace: Workspace, progress: Callable[[int, int], None]
) -> Checked:
    from codeguard.auditing.room import ensure_level
    from codeguard.checks import checkable

    level = ensure_level(workspace)
    reports = workspace.reports()
    subjects = [
        (chunk, file)
        for file in files
        for chunk in file.chunks
        if checkable(chunk) and _trust(base, file.path, chunk.sha256) is not Trust.TRUSTED
    ]
    ran = reports.prepare(subjects, progress)
    required = workspace.settings.defense.required_level
    too_low = LEVELS.index(level) < LEVELS.index(required)
    context = Context({"behavior": reports})
    found: list[Finding] = []
    for file in files:
        found += _of_file(file, base, context)
    warnings = [*workspace.warnings]
    if too_low:
        warnings.append(f"sandbox {level} is below the required {required}: behavior was not looked at")
    return Checked(tuple(found), level, 0 if too_low else len(subjects), ran, tuple(warnings))


def _of_file(file: SourceFile, base: TrustedBase, context: Context) -> list[Finding]:
    from codeguard.checks import checkable

    reading = Reading(file)
    signal = BehaviorSignal()
    found = []
    for chunk in filter(checkable, file.chunks):
        subject = Subject(chunk, file, _trust(base, file.path, chunk.sha256))
        try:
            evidence = list(signal.examine(subject, context))
        except Exception as error:
            found.append(detector_error(signal.name, reading, error))
            continue
        for item in evidence:
            rule = _BEHAVIOR[item.id]
            if item.measurements.get("verdict") == Verdict.ERROR.value and item.id == "untested":
                failed = Rule("untested", rule.summary, Severity.LOW, rule.confidence)
                sighting = Sighting("untested", 0, 0, item.reason)
                found.append(chunk_finding(reading, chunk, sighting, signal.name, failed))
            elif item.severity > Severity.INFO and item.id != _TOLD_BY_OTHERS:
                # What does not convict is for a reader to know, and no reason to stop a commit.
                severity = item.severity if item.convicts else min(item.severity, Severity.LOW)
                sighting = Sighting(
                    item.id, 0, 0, item.reason, severity, item.confidence, dict(item.measurements)
                )
                found.append(chunk_finding(reading, chunk, sighting, signal.name, rule))
    return found


def _trust(base: TrustedBase, path: str, digest: str) -> Trust:
    return Trust.UNLISTED if base.manifest is None else base.manifest.trust_of(path, digest)
