"""Check indexed files: static signals and behavior checks whose results are not in the catalog yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from functools import cached_property, partial
from typing import Any, NamedTuple

from codeguard.analysis.python.bindings import trust_in_file
from codeguard.behavior.version import POLICY_VERSION
from codeguard.index.behavior_reports import checkable, ensure_level
from codeguard.index.catalog import FileState
from codeguard.index.file_tasks import MOST_STALE, ExaminationRequest, ExaminedFile, examine_files
from codeguard.index.report import FALSE_CLAIM, HARM, Progress, Suspect
from codeguard.index.sandbox_budget import SandboxBudget
from codeguard.index.siblings import siblings_digest
from codeguard.index.workspace import Workspace
from codeguard.models import (
    CONVICTING,
    Chunk,
    Sibling,
    SourceFile,
    SpecCoverage,
    Trust,
    Verdict,
    parts_digest,
)
from codeguard.trust.acceptances import load_acceptances
from codeguard.weights import is_harm
from codeguard.workers.processes import ONE, answered

# Up to so many functions, those of one name go to one worker, which then runs their trusted namesake once. Of more,
# each worker runs most trusted functions anyway, and each file would be sent many times.
BY_NAME = 512
JUDGED = "judged/2:"
OF_TEXTS = (JUDGED, "own:", "near:")  # kinds of results of which each edit makes new ones


class VerdictCounts(NamedTuple):
    """What is convicted or demoted, and how many functions have each verdict of the behavior checker."""

    convicted: tuple[Suspect, ...]
    demoted: tuple[Suspect, ...]
    verdicts: dict[str, int]


class Judge:
    """Checks the untrusted files of an index.

    Results about a file are stored under the digest of the file and of everything its checks depend on, so
    that an unchanged file costs one catalog lookup.
    """

    def __init__(self, workspace: Workspace, progress: Progress, executor: Executor) -> None:
        self._workspace = workspace
        self._catalog = workspace.catalog
        self._progress = progress
        self._executor = executor
        self._due = 0  # files whose signals are needed
        self.budget = SandboxBudget.of(workspace.settings.defense)
        self.unfinished: list[str] = []  # a line for each file that `run` could not fully examine
        self._enabled = workspace.settings.defense.enable_behavior
        if self._enabled:
            ensure_level(workspace.catalog)
        self._static = workspace.static_evidence(workspace.settings.defense)
        self._shared = partial(workspace.material, self._static, executor)
        self._siblings = workspace.siblings()
        self._version = f"{workspace.epoch}\0{self._static.version}\0{self._enabled}"

    def run(self) -> int:
        """Run the static signals and behavior checks missing in the catalog; return how many checks ran."""
        missing = [path for path, key in self._untrusted() if self._catalog.analysis(key) is None]
        self._due = len(missing)
        self._static.prepare(self._files(missing), self._observed)
        if missing:
            self._progress("signals", self._due, self._due)
        self.unfinished = [f"{path}: {why}" for path, why in self._static.unfinished]
        if not self._enabled:
            return 0
        subjects = [
            (chunk, file)
            for file in self._files(missing)
            for chunk in file.chunks
            if self._checked(chunk, file)
        ]
        if len(subjects) <= BY_NAME:
            subjects.sort(key=lambda subject: subject[0].symbol.rpartition(".")[2])
        reports = self._workspace.reports(executor=self._executor, siblings=self._siblings)
        self.budget = reports.budget
        checked = reports.prepare(subjects, lambda done, total: self._progress("checks", done, total))
        self._workspace.ran_at = reports.ran_at or self._workspace.ran_at
        self.unfinished += [f"{chunk.path}: {report.reason}" for chunk, report in reports.failed]
        self._forget_stale()
        return checked

    def _forget_stale(self) -> None:
        """Drop results about earlier texts or beside other trusted code, where those are most of what is kept."""
        kept = {key for kind in OF_TEXTS for key in self._catalog.analysis_keys(kind)}
        if len(kept) <= MOST_STALE * self._catalog.count():
            return
        reports = self._workspace.reports(known_only=True, siblings=self._siblings)
        for path, key in self._untrusted():
            kept.discard(key)
            for file in self._files([path]):
                for chunk in file.chunks:
                    kept -= {reports.own_key(chunk, file), reports.near_key(chunk, file)}
        self._catalog.forget_analyses(kept)

    def _observed(self, requests: Iterable[ExaminationRequest]) -> Iterator[ExaminedFile]:
        """Yield the workers' observations; a file counts as done once its answer has arrived."""
        for done, seen in enumerate(
            examine_files(self._executor, self._shared, self._static.names, requests)
        ):
            self._progress("signals", done, self._due)
            yield seen

    def outcome(self) -> VerdictCounts:
        """Return the verdicts on the functions of the whole index."""
        accepted = load_acceptances(self._workspace.state)
        found: dict[str, list[Suspect]] = {"convicted": [], "demoted": []}
        verdicts: Counter[str] = Counter()
        made: dict[str, dict[str, Any]] = {}
        for path, key in self._untrusted():
            kept = self._catalog.analysis(key)
            if kept is None:
                kept, is_whole = self._look(path)
                made |= {key: kept} if is_whole else {}
            verdicts.update(kept["verdicts"])
            for group, suspects in found.items():
                for item in kept[group]:
                    overruled = accepted.of(item["sha256"])
                    suspects.append(Suspect(**item, accepted="" if overruled is None else overruled.say()))
        self._catalog.put_analyses(made)
        return VerdictCounts(tuple(found["convicted"]), tuple(found["demoted"]), dict(verdicts))

    def _look(self, path: str) -> tuple[dict[str, Any], bool]:
        """Return the verdicts on one file, and whether every check was done."""
        reports = self._workspace.reports(known_only=True, siblings=self._siblings)
        rows: dict[str, list[dict[str, Any]]] = {"convicted": [], "demoted": []}
        verdicts: Counter[str] = Counter()
        for file in self._files([path]):
            for chunk in file.chunks:
                trust = trust_in_file(self._workspace.manifest, chunk, file)
                harm = (item.reason for item in self._static(chunk, file, trust) if is_harm(item))
                if reason := next(harm, ""):
                    rows["demoted"].append(_suspect(chunk, HARM, reason))
            for chunk in (item for item in file.chunks if self._enabled and self._checked(item, file)):
                report = reports(chunk, file)
                # Nobody would expect a verdict on other languages, nor on declarations in a stub file.
                runs = chunk.language == "python" and not chunk.path.endswith(".pyi")
                if report.verdict is not Verdict.NO_SIGNAL or runs:
                    verdicts[FALSE_CLAIM if report.false_claim else report.verdict.value] += 1
                if report.verdict in CONVICTING or report.false_claim or report.unannounced:
                    group = "convicted" if report.verdict in CONVICTING else "demoted"
                    reason = "; ".join(filter(None, (report.reason, report.counterexample)))
                    rows[group].append(_suspect(chunk, report.word, reason))
        return {**rows, "verdicts": verdicts}, not reports.unchecked

    def coverage(self) -> SpecCoverage:
        """Return how much of the trusted code has expectations."""
        workspace = self._workspace
        given = sorted({place.partition("/")[0].removesuffix(".py") for place, _ in workspace.given})
        key = "coverage:" + parts_digest(
            POLICY_VERSION, workspace.specs_digest, workspace.trust_digest, *given
        )
        kept = self._catalog.analysis(key)
        if kept is None:
            from codeguard.index.evidence_tasks import TRUSTED_TOGETHER, coverage_task  # imports the checker

            # A worker has what it counts if it has checked a function.
            asked = self._executor, coverage_task, [(None, given)], ONE, TRUSTED_TOGETHER, self._shared
            ((_, answer),) = answered(*asked)
            kept = answer.value
            self._catalog.put_analyses({key: kept})
        return SpecCoverage(**kept)

    def _untrusted(self) -> Iterator[tuple[str, str]]:
        """Yield path and key of every file that the manifest does not cover."""
        manifest = self._workspace.manifest
        for path, state in self._catalog.files().items():
            if manifest is None or not manifest.covers(path, state.sha256):
                beside = self._imported.get(path, "")
                yield path, JUDGED + parts_digest(self._version, path, state.sha256, beside)

    @cached_property
    def _imported(self) -> dict[str, str]:
        """The digest of what each untrusted file imports from others of the index; none without behavior checks.

        It is kept with the paths of these files, and computed anew, from the texts, where one of them has changed
        or files were added or removed.
        """
        if not self._enabled:
            return {}
        manifest, states = self._workspace.manifest, self._catalog.files()
        covered = {
            path: manifest is not None and manifest.covers(path, state.sha256)
            for path, state in states.items()
        }
        listed = parts_digest(*sorted(states))
        found: dict[str, str] = {}
        made: dict[str, dict[str, Any]] = {}
        for path in (path for path, trusted in covered.items() if not trusted):
            key = "beside:" + parts_digest(listed, path, states[path].sha256)
            kept = self._catalog.analysis(key)
            if kept is None or kept["digest"] != _digest_of(path, kept["paths"], states, covered):
                paths = [item.path for file in self._files([path]) for item in self._siblings.of(file)]
                made[key] = kept = {"paths": paths, "digest": _digest_of(path, paths, states, covered)}
            found[path] = kept["digest"]
        self._catalog.put_analyses(made)
        return found

    def _files(self, paths: list[str]) -> Iterator[SourceFile]:
        for path in paths:
            file = self._catalog.file(path)
            if file is not None:
                yield file

    def _checked(self, chunk: Chunk, file: SourceFile) -> bool:
        return checkable(chunk) and trust_in_file(self._workspace.manifest, chunk, file) is not Trust.TRUSTED


def _suspect(chunk: Chunk, verdict: str, reason: str) -> dict[str, Any]:
    named = {name: getattr(chunk, name) for name in ("path", "symbol", "sha256")}
    return {**named, "line": chunk.start_line, "verdict": verdict, "reason": reason}


def _digest_of(
    path: str, imported: Iterable[str], states: Mapping[str, FileState], covered: Mapping[str, bool]
) -> str:
    others = [Sibling(other, states[other].sha256, trusted=covered[other]) for other in imported]
    return siblings_digest(path, others)
