"""Audit files as they would enter the corpus, without a vector store or an embedding."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from codeguard.analysis.rules import FileSignal
from codeguard.audit.bytecode import made_of_sources
from codeguard.audit.evidence import (
    Checked,
    behavior_findings,
    provenance_findings,
    secret_file_findings,
    skipped_findings,
)
from codeguard.audit.findings import AuditReport, Finding, with_fingerprints
from codeguard.audit.inspection import (
    Inspected,
    Side,
    Source,
    inspect_all,
    own_modules,
    told_once,
    with_more,
    without_general,
    workers_for,
)
from codeguard.audit.rules import RuleSelection, all_rules, with_confidence
from codeguard.config import CATALOG, Settings, check_jobs
from codeguard.corpus.discovery import NOT_REGULAR, FoundFile, discover, read_file
from codeguard.errors import CorpusError, NothingToDoError
from codeguard.index.file_tasks import compared, masked
from codeguard.index.trusted_base import TrustedBase, of_paths
from codeguard.models import Severity
from codeguard.ranking.signals import load_all, refuse_unknown
from codeguard.trust.acceptances import Acceptances, load_acceptances
from codeguard.trust.installation import is_own_state, left_alone
from codeguard.workers.processes import deferred, open_executor
from codeguard.workers.tasks import Shared

if TYPE_CHECKING:
    from codeguard.audit.changes import ChangeSet
    from codeguard.audit.policy import Policy
    from codeguard.index.behavior_reports import SiblingFiles
    from codeguard.index.workspace import Workspace

Progress = Callable[[str, int, int], None]
NEAR_COPY = "near_copy."
_SHOWN = 5  # paths named if there is nothing to audit


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """The options of an audit.

    `trust` are paths that are the team's own, `base` is an already verified manifest; without both, the index
    of the settings, if there is one, determines what is trusted. With `since` (what names a commit) or `staged`
    only what a change brings is reported: that of the checked-out commit, or of the git index. Findings outside
    of the selection are counted and not listed. `jobs` bounds the worker processes. With `update_baseline` the
    baseline file is rewritten with the findings that are at least as severe as `baseline_from`; new entries get
    `reason`.
    """

    selection: RuleSelection = field(default_factory=RuleSelection)
    since: str | None = None
    staged: bool = False
    trust: tuple[Path, ...] = ()
    base: TrustedBase | None = None
    behavior: bool = True
    policy: Path | None = None
    baseline: Path | None = None
    update_baseline: bool = False
    baseline_from: Severity = Severity.INFO
    reason: str = ""
    jobs: int | None = None

    def __post_init__(self) -> None:
        check_jobs(self.jobs)

    @property
    def of_change(self) -> bool:
        """Whether a change is audited, not files as they are."""
        return self.staged or self.since is not None


def audit(
    paths: Sequence[Path],
    options: AuditOptions | None = None,
    settings: Settings | None = None,
    *,
    progress: Progress = lambda stage, done, total: None,
) -> AuditReport:
    """Audit the files under `paths`, or what a change brings.

    Raises:
        NothingToDoError: there is no file, suitable or not, under the paths.
        CorpusError: a path does not exist, or cannot be read.
        ConfigError, ManifestError, StoreError: see there.
    """
    with ExitStack() as stack, deferred():
        run = _Audit(paths, options or AuditOptions(), settings or Settings(), progress, stack)
        return run.report()


def _common_root(paths: Sequence[Path]) -> Path:
    """Return the folder that names are relative to: the working directory, or a common parent."""
    here = Path.cwd()
    real = [path.resolve() for path in paths]
    if all(path.is_relative_to(here) for path in real):
        return here
    return Path(os.path.commonpath([path.parent for path in real]))


class _Audit:
    """One audit: collects findings, then applies policy, acceptances and the baseline."""

    def __init__(
        self,
        paths: Sequence[Path],
        options: AuditOptions,
        settings: Settings,
        progress: Progress,
        stack: ExitStack,
    ) -> None:
        self._begun = time.monotonic()
        self._paths = [Path(path) for path in paths]
        self._options = options
        self._policy: Policy | None = None
        if options.policy is not None:
            from codeguard.audit.policy import read_policy

            self._policy = read_policy(options.policy, options.since, options.of_change, self._paths)
            self._paths = self._paths or list(self._policy.paths)
        self._settings = settings
        self._progress = progress
        self._stack = stack
        registered = load_all()
        self._signals = [item.name for item in registered if isinstance(item, FileSignal)]
        rules = all_rules(registered)
        self._special_of = {item.id: item.rule.special_of for item in rules if item.rule.special_of}
        options.selection.check(rules)
        refuse_unknown(settings.defense)
        if options.baseline is not None:  # report an unreadable baseline before the work, not after it
            from codeguard.audit.policy import read_baseline

            read_baseline(options.baseline, missing_is_empty=options.update_baseline)
        self._ignored_state = left_alone(settings)
        self._index = self._open_index(stack)
        self._notes: tuple[str, ...] = ()
        self._files: tuple[FoundFile, ...] = ()
        self._change: ChangeSet | None = None
        self._side, self._root = self._found()
        self._own: Mapping[str, str] = {}  # changed files that were trusted before: name, and name before
        self._base = self._trusted(self._root)
        self._warnings = [*filter(None, [self._ignored_state]), *self._base.warnings]
        self._warnings += self._policy.expired() if self._policy is not None else ()

    def report(self) -> AuditReport:
        """Run the audit."""
        inspected = self._inspect(self._side)
        change = self._change
        before = self._inspect(change.before) if change is not None else []
        checked, earlier = self._behavior(inspected, before)
        findings = self._findings(inspected, self._side, checked.findings)
        if change is not None:
            there = self._findings(before, change.before, earlier.findings)
            review = self._reviewed(inspected)
            beside, beside_before, left = self._in_importers(change, inspected, before)
            self._warnings += left
            findings, there = with_more(findings, beside), with_more(there, beside_before)
            findings = [*change.newly_caused(findings, there), *review.findings]
            checked = checked.with_review(earlier).with_review(review)
        if self._policy is not None:
            findings = self._policy.leveled(findings)
        kept = with_fingerprints(told_once(self._accepted(findings, inspected)))
        chosen = [item for item in kept if self._takes(item)]
        return AuditReport(
            # Only of those that were asked for: `--select` of the general rule alone shows it.
            findings=tuple(without_general(chosen, self._special_of)),
            files=len(inspected),
            functions=sum(item.functions for item in inspected),
            lines=sum(item.lines for item in inspected),
            skipped=self._side.skipped,
            notes=self._notes,
            hidden=len(kept) - len(chosen),
            trust=self._base.said,
            trusted=sum(self._base.covers(item.name, item.sha256) for item in inspected),
            sandbox_level=checked.level,
            checked=checked.functions,
            ran=checked.ran,
            budget=checked.budget,
            seconds=time.monotonic() - self._begun,
            warnings=(*self._warnings, *checked.warnings),
        )

    def _findings(
        self, inspected: Sequence[Inspected], side: Side, of_behavior: Iterable[Finding]
    ) -> list[Finding]:
        """Return all findings in the files of one side, with confidence."""
        findings = [finding for item in inspected for finding in item.findings]
        compiled = made_of_sources(self._files, side.skipped, self._executor)
        findings += skipped_findings([item for item in side.skipped if item.path not in compiled])
        read = {item.name: item.sha256 for item in inspected if item.lines}
        findings += secret_file_findings(read, side.skipped, findings)
        own = {*self._own, *self._own.values()}
        gone = self._change.gone if self._change is not None else frozenset()
        findings += provenance_findings(
            [item for item in inspected if item.name not in own], self._base, gone
        )
        findings += of_behavior
        findings = own_modules(findings, [item.name for item in inspected])
        # That own code differs from what it was is no guilt.
        findings = [item for item in findings if not (item.path in own and item.rule.startswith(NEAR_COPY))]
        return with_confidence(findings)

    def _open_index(self, stack: ExitStack) -> Workspace | None:
        """Open the index whose trust applies if no other trust was given."""
        named = self._options.trust or self._options.base or self._settings.defense.trust_paths
        if named or self._ignored_state or not (self._settings.state / CATALOG).exists():
            return None
        from codeguard.index.without_index import index_of

        index = index_of(self._settings)
        if index is not None:
            stack.callback(index.close)
        return index

    def _found(self) -> tuple[Side, Path]:
        root = self._options.base.root if self._options.base is not None else _common_root(self._paths)
        if self._index is not None:
            root = Path(self._index.catalog.meta("root") or ".")
        if self._options.of_change:
            from codeguard.audit.changes import ChangeSet

            self._change = ChangeSet(Path.cwd(), self._options.since, self._paths, self._settings.exclude)
            self._stack.callback(self._change.close)
            return self._change.after, self._change.root
        missing = [path for path in self._paths if not path.exists() and not path.is_symlink()]
        if missing:
            raise CorpusError(f"no such file: {missing[0]}", hint="check the path")
        found = discover(
            self._paths,
            root=root,
            exclude=self._settings.exclude,
            is_own_state=partial(is_own_state, shared=self._settings.shared_state),
        )
        if not found.files and all(item.reason.startswith(NOT_REGULAR) for item in found.skipped):
            said = "; ".join(f"{item.path}: {item.reason}" for item in found.skipped[:_SHOWN])
            raise NothingToDoError(
                "no file to audit", got=said or "nothing in there", hint="give other paths"
            )
        self._notes, self._files = found.notes, found.files
        sources = (Source(item.name, item.size, partial(read_file, item)) for item in found.files)
        return Side(tuple(sources), found.skipped), root

    def _trusted(self, root: Path) -> TrustedBase:
        if self._options.base is not None:
            return self._with_own(self._options.base)
        if self._index is not None:
            from codeguard.index.without_index import base_of

            return self._with_own(base_of(self._index))
        paths = self._options.trust or tuple(Path(path) for path in self._settings.defense.trust_paths)
        if not paths:
            return TrustedBase(root)
        return of_paths(paths, self._settings, root) if self._change is None else self._before(paths)

    def _with_own(self, base: TrustedBase) -> TrustedBase:
        """Note which changed files were trusted as they were before the change."""
        if self._change is not None and base.manifest is not None:
            before = {source.name: source for source in self._change.before.sources}
            listed = [name for name in before if name in base.manifest.files]
            self._own = self._change.own(
                name for name in listed if base.covers(name, sha256(before[name].read()).hexdigest())
            )
        return base

    def _before(self, paths: Sequence[Path]) -> TrustedBase:
        """Trust paths as they were before the change; they are read if something else could be compared with them."""
        change = self._change
        assert change is not None
        names = change.names_below(paths)
        self._own = change.own(names)
        many = f"{len(names)} files are" if len(names) != 1 else "1 file is"
        said = f"{many} trusted, as before the change (in {change.base[:12]})"
        if all(source.name in self._own for source in self._side.sources):
            return TrustedBase(change.root, said=said)
        folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="codeguard-before-")))
        change.write_before(names, folder)
        return replace(of_paths([folder], self._settings, folder), root=change.root, said=said)

    @cached_property
    def _executor(self) -> Executor:
        """Return the executor that examines files: forks of this small process with loaded signals."""
        count = workers_for(self._side.sources, self._options.jobs or self._settings.jobs)
        return self._stack.enter_context(open_executor(count, fork=True))

    @cached_property
    def _shared(self) -> Shared:
        trusted = self._base.files() if self._base.manifest is not None else None
        catalog = None if self._index is None else self._index.catalog
        return Shared.of_values(compared(trusted, self._signals, self._executor, catalog))

    def _inspect(self, side: Side) -> list[Inspected]:
        # What a change brings is judged by the text of functions on both sides.
        keep = self._options.behavior or self._base.manifest is not None or self._change is not None
        return inspect_all(
            side.sources,
            self._executor,
            self._shared,
            self._signals,
            keep=keep,
            progress=lambda done, total: self._progress("files", done, total),
        )

    def _in_importers(
        self, change: ChangeSet, inspected: Sequence[Inspected], before: Sequence[Inspected]
    ) -> tuple[list[Finding], list[Finding], list[str]]:
        from codeguard.audit.importers import in_importers

        def inspect(side: Side, only: Sequence[str]) -> list[Inspected]:
            return inspect_all(
                side.sources, self._executor, self._shared, self._signals, keep=False, only=tuple(only)
            )

        now, then, left = in_importers(change, inspected, before, inspect)
        return with_confidence(now), with_confidence(then), left

    def _reviewed(self, inspected: Sequence[Inspected]) -> Checked:
        """Compare the owner's changed functions with what they were."""
        change, files = self._change, [item.file for item in inspected if item.file is not None]
        own = [file for file in files if file.path in self._own]
        if change is None or not own:
            return Checked()
        from codeguard.audit.changes import OwnFile, removed_checks

        before = change.files(change.tree_before, self._executor)
        pairs = [
            OwnFile(old, file)
            for file in masked(own, self._executor)
            if (old := before.file(self._own[file.path])) is not None
        ]
        checks = removed_checks(pairs, self._executor)
        python = [pair for pair in pairs if pair.after.language == "python" and pair.changed()]
        if not python or not self._may_run:
            return Checked(tuple(checks))
        from codeguard.audit.review import reviewed

        after = change.files(change.tree_after, self._executor)
        review = reviewed(python, files, before, after, self._settings, self._executor)
        return replace(review, findings=(*checks, *review.findings))

    @property
    def _may_run(self) -> bool:
        return self._options.behavior and self._settings.defense.enable_behavior

    def _behavior(
        self, inspected: Sequence[Inspected], before: Sequence[Inspected]
    ) -> tuple[Checked, Checked]:
        """Check untrusted functions; of a change those that it adds, changes or reaches, and what these were before."""
        if not self._may_run:
            return Checked(), Checked()
        change = self._change
        if change is None:
            from codeguard.audit.imported_files import on_disk

            imported = on_disk(self._root, self._root, self._executor, self._base.covers)
            return self._checked(inspected, imported, ()), Checked()
        from codeguard.audit.changes import touched_names

        old = {item.name: item.file for item in before}
        there = [(item.name, chunk) for item in before if item.file for chunk in item.file.chunks]
        known, same, again = {chunk.sha256 for _, chunk in there}, set(), set()
        for item in inspected:
            reached = touched_names(item.file, old.get(change.came_from(item.name)), around=True)
            for chunk in item.file.chunks if item.file else ():
                if chunk.sha256 in known and chunk.symbol.rpartition(".")[2] not in reached:
                    same.add((item.name, chunk.sha256))
                else:
                    again.add(chunk.sha256)
        now = change.files(change.tree_after, self._executor, self._base.covers)
        then = change.files(change.tree_before, self._executor, self._base.covers)
        rest = {(name, chunk.sha256) for name, chunk in there if chunk.sha256 not in again}
        return self._checked(inspected, now, same), self._checked(before, then, rest)

    def _checked(
        self, inspected: Sequence[Inspected], imported: SiblingFiles, unchanged: Collection[tuple[str, str]]
    ) -> Checked:
        own = {*self._own, *self._own.values()}
        # Masked like the trusted files of an index: a secret makes no difference in behavior.
        found = (item.file for item in inspected if item.file is not None and item.name not in own)
        return behavior_findings(
            masked(found, self._executor),
            self._base,
            self._settings,
            self._executor,
            imported,
            unchanged,
            self._index,
            lambda done, total: self._progress("checks", done, total),
        )

    def _accepted(self, findings: Sequence[Finding], inspected: Sequence[Inspected]) -> list[Finding]:
        """Overrule what the user, the policy and the baseline accept, in this order."""
        known = Acceptances() if self._ignored_state else load_acceptances(self._settings.state)
        if known.refused:
            self._warnings.append(f"{known.refused} acceptances do not verify: they do not count")
        accepted = [*known.entries.values(), *(self._policy.accepted if self._policy is not None else ())]
        place = self._options.baseline
        if not accepted and place is None:
            return list(findings)
        from codeguard.audit.policy import audited_scope, overruled, read_baseline, write_baseline

        found = overruled(with_fingerprints(findings), accepted)
        if place is None:
            return found
        known_before = read_baseline(place, missing_is_empty=self._options.update_baseline)
        if self._options.update_baseline:
            names = audited_scope(self._paths, self._base.root, self._options.of_change, inspected)
            write_baseline(known_before, found, names, self._writes_down, self._options.reason)
            known_before = read_baseline(place)
        problem = known_before.problem(self._paths, self._base, self._options.of_change, inspected)
        return [*found, problem] if problem is not None else overruled(found, known_before.entries)

    def _writes_down(self, item: Finding) -> bool:
        return self._takes(item) and item.severity >= self._options.baseline_from and item.sure

    def _takes(self, item: Finding) -> bool:
        return self._options.selection.takes(item.rule)
