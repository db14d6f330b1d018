"""Behavior checks of functions as a task for workers.

The material that every task needs (the trusted files, specs, seed, weights) is shared: it is sent to a worker
once, which derives its expectations from it once. Each worker starts its own sandbox. Reaching a limit is a
separate result: never a pass, and never clean.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from codeguard.behavior.source.definitions import read_module
from codeguard.behavior.specs.assertions import shown_in
from codeguard.behavior.specs.everyones import Wheels, locked_shelf, public_functions
from codeguard.behavior.specs.facts import FileFacts, facts_version, file_facts, reader_of, to_values
from codeguard.behavior.specs.files import SHIPPED, SpecFile, spec_files
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import PLANNING_S, BehaviorChecker
from codeguard.behavior.verdict.running import Answered, Meter, RunMemory, worlds_for
from codeguard.index.behavior_reports import (
    FACTS,
    RUNS,
    TRUSTED_ANSWERS,
    Subject,
    is_test,
)
from codeguard.index.catalog import Catalog
from codeguard.index.file_tasks import material_of, of_trusted
from codeguard.index.report import SandboxBudget
from codeguard.models import (
    CheckReport,
    Chunk,
    SourceFile,
    Verdict,
    as_json,
    parts_digest,
    rebuilt,
    text_digest,
)
from codeguard.sandbox import Level, Sandbox
from codeguard.sandbox.zygotes import Texts
from codeguard.workers.processes import ONE, answered, at_end, workers_of
from codeguard.workers.tasks import (
    CHECKING_S,
    CPU,
    MEMORY,
    WALL,
    Deadline,
    DeadlineError,
    ItemBounds,
    Run,
    Shared,
    TaskAnswer,
    by_values,
)

STANDARD = "standard:"
CHECKS_A_TASK = 12
FILES_KEPT = CHECKS_A_TASK  # as many as one task has at most
SHARES_A_WORKER = 4
FEW = 16  # functions that are checked in the time that it takes to make a further worker ready
KNOWN = 0.08  # what counts for one whose runs are known: 189 take as long as to make a worker ready
Asked = tuple[Subject, float]  # a function, and the seconds that it may spend in the sandbox
CHECKING = ItemBounds(CHECKING_S, 300.0)  # per function; the sandbox has its own limits
CHECKING_TOGETHER = ItemBounds(CHECKING_S + CHECKS_A_TASK, 120.0 * CHECKS_A_TASK)
TRUSTED_TOGETHER = ItemBounds(None, 1800.0)  # for trusted functions
PASSING = frozenset({Verdict.ERROR, Verdict.UNSUPPORTED})  # which may be temporary
CHECKED_SO_FAR = {CPU: Verdict.TIMEOUT, WALL: Verdict.ERROR, MEMORY: Verdict.MEMORY}


def material(
    *,
    trusted: Sequence[SourceFile] | None,
    comparing: Mapping[str, object],
    specs: Sequence[SpecFile],
    seed: bytes,
    required_level: str,
    zygotes: int = 1,
    given: Texts = (),
    locked: Wheels = (),
    facts: Mapping[str, Any] | None = None,
    standard: Mapping[str, Sequence[str]] | None = None,
) -> Shared:
    """Return everything the checks depend on besides the checked files, the same for the same content.

    `trusted` is None if there is no manifest. `specs` are the user's own. `given` are the modules that the sandbox
    provides, `locked` packages of everyone's. `zygotes` is the number of checks that a worker's sandbox may run at
    once. `facts` are what is known of the trusted files, by path (`trusted_facts`), `standard` the `public_functions`
    of the standard library.
    """
    value = {
        **comparing,
        "specs": [(str(file.path), file.data.decode("utf-8", "surrogateescape")) for file in specs],
        "seed": seed.hex(),
        "required_level": required_level,
        "zygotes": zygotes,
        "given": given,
        "locked": locked,
        "facts": facts or {},
        "standard": standard,
    }
    return Shared.of_values(value)


_opened: dict[tuple[Level, int, int, Texts], Sandbox] = {}


def worker_sandbox(level: Level, zygotes: int, hash_seed: int, given: Texts) -> Sandbox:
    """Return this worker's only sandbox; a previous one of another kind is closed."""
    key = (level, zygotes, hash_seed, given)
    if key not in _opened:
        _close()
        at_end(_close)
        _opened[key] = Sandbox(level, workers=zygotes, hash_seed=hash_seed, given=given)
    return _opened[key]


def _close() -> None:
    while _opened:
        _opened.popitem()[1].close()


def facts_key(file: SourceFile) -> str:
    """Return the key under which the facts of a trusted file are kept."""
    return FACTS + parts_digest(facts_version(), file.path, file.sha256, text_digest(file.text))


@functools.lru_cache(maxsize=1)
def _library(shared: Shared) -> SpecLibrary:
    value = material_of(shared)
    own = (SpecFile(Path(path), text.encode("utf-8", "surrogateescape")) for path, text in value["specs"])
    files = [rebuilt(item) for item in value["trusted"] or ()]
    tests = [file for file in files if is_test(file.path)]
    facts = {path: reader_of(FileFacts)(_unpacked(item)) for path, item in value["facts"].items()}
    library = SpecLibrary.of(own, spec_files([SHIPPED])).with_trusted(files, tests, facts=facts)
    return replace(library, locked=[locked_shelf(value["locked"])], standard=value["standard"])


@functools.lru_cache(maxsize=1)
def _checker(shared: Shared) -> BehaviorChecker:
    value, library = material_of(shared), _library(shared).build_indexes()
    seed, level = bytes.fromhex(value["seed"]), Level[value["required_level"]]
    given = tuple((place, text) for place, text in value["given"])
    sandbox = worker_sandbox(level, value["zygotes"], worlds_for(seed)[0].hash_seed, given)
    return BehaviorChecker(library, sandbox, seed=seed, required_level=level, probes=False, given=given)


@functools.lru_cache(maxsize=FILES_KEPT)
def _file(text: str) -> SourceFile:
    """Return the file of a text, cached because the functions of a large file come in many tasks."""
    return rebuilt(json.loads(text))


@functools.lru_cache(maxsize=FILES_KEPT)
def _text_of(file: SourceFile) -> str:
    return json.dumps(as_json(file))


def trusted_facts(
    executor: Executor, files: Iterable[SourceFile], catalog: Catalog | None = None
) -> dict[str, Any]:
    """Return the facts of trusted files of Python by path; see `of_trusted`."""
    python = (file for file in files if file.language == "python")
    return of_trusted(executor, python, catalog, facts_key, facts_task)


def standard_functions(catalog: Catalog) -> Mapping[str, Sequence[str]]:
    """Return the `public_functions` of the standard library, from a catalog that has them of this interpreter."""
    key = STANDARD + facts_version()
    kept = catalog.analysis(key)
    if kept is None:
        catalog.forget_analyses(catalog.analysis_keys(STANDARD))
        kept = {"places": public_functions()}
        catalog.put_analyses({key: kept})
    places: Mapping[str, Sequence[str]] = kept["places"]
    return places


def facts_task() -> Run:
    """Derive the facts of a trusted file."""
    return by_values(lambda file: [_facts_of(rebuilt(file))])


def _facts_of(file: SourceFile) -> str:
    facts = file_facts(file.path, read_module(file.text))
    return _packed(to_values(replace(facts, shown=shown_in(file) if is_test(file.path) else None)))


def _packed(value: object) -> str:
    """Return plain values in the form in which much of them is kept and sent."""
    data = json.dumps(value, sort_keys=True).encode("ascii")
    return base64.b64encode(zlib.compress(data, 1)).decode("ascii")


# What is kept of the last check of a function: its runs, and its report with what that depends on.
NOTHING_RAN = _packed({"ran": {}, "last": None})


def _unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def check_task(shared: Shared) -> Run:
    """Check functions, except those that wait for the trusted functions' answers."""
    checker, value = _checker(shared), material_of(shared)
    around = parts_digest(json.dumps([value["specs"], value["locked"]]), value["required_level"])

    def met(subject: Subject, asked: list[Any]) -> str:
        found = checker.met(*subject, asked)
        return found and around + found

    def again(subject: Subject, last: Any, seconds: float) -> bool:
        """Return whether a check would end as the last one did."""
        try:
            with Deadline(PLANNING_S):
                CheckReport.from_json(last["report"])
                return bool(last["spent_s"] < seconds and "" != last["met"] == met(subject, last["asked"]))
        except (DeadlineError, Exception):  # there is none, or it is of a worker that was not itself
            return False

    def kept(
        subject: Subject, report: CheckReport, spent_s: float, memory: RunMemory
    ) -> dict[str, Any] | None:
        if not memory.lasting or report.spent or report.verdict in PASSING:
            return None
        with contextlib.suppress(DeadlineError), Deadline(PLANNING_S):
            asked = checker.asked_by(*subject, memory)
            said = met(subject, asked)
            return {"report": report.to_json(), "spent_s": spent_s, "asked": asked, "met": said}
        return None

    def reports(asked: dict[str, Any]) -> Iterator[object]:
        if asked["answers"] is not None:
            checker.take_answers(asked["answers"])
        files = [_file(text) for text in asked["files"]]
        subjects = [(files[file].chunks[chunk], files[file]) for file, chunk in asked["subjects"]]
        known = [_unpacked(packed) for packed in asked["runs"]]
        found: dict[int, tuple[Any, float, str]] = {}
        for at, subject in enumerate(subjects):
            last = known[at]["last"]
            if again(subject, last, asked["seconds"][at]):
                found[at] = last["report"], last["spent_s"], asked["runs"][at]
        due = [at for at, one in enumerate(subjects) if at not in found and not checker.lacks_answers(*one)]
        meters = [Meter(asked["seconds"][at]) for at in due]
        memories = [RunMemory(checker.runs_basis, known[at]["ran"]) for at in due]
        checked = checker.check_many([subjects[at] for at in due], meters, memories)
        for at, report, meter, memory in zip(due, checked, meters, memories, strict=True):
            last = kept(subjects[at], report, meter.spent_s, memory)
            found[at] = report.to_json(), meter.spent_s, _packed({"ran": memory.used, "last": last})
        yield [found.get(at) for at in range(len(subjects))]

    return by_values(reports)


def probe_task(shared: Shared) -> Run:
    """Run a share of the trusted functions on the probes, so that no worker has to run all of them."""
    checker = _checker(shared)
    return by_values(lambda asked: [checker.probe_trusted(**asked)])


def coverage_task(shared: Shared) -> Run:
    """Count the trusted functions, and those with examples; an item names the modules given to the sandbox."""
    library = _library(shared)
    return by_values(lambda given: [asdict(library.coverage(given))])


@dataclass(frozen=True)
class Checks:
    """Behavior checks by workers, see `BehaviorReports.prepare`; without a catalog nothing is kept of what ran."""

    _executor: Executor
    _shared: Callable[[], Shared]
    _catalog: Catalog | None = None

    def __call__(
        self, subjects: Sequence[Subject], budget: SandboxBudget
    ) -> Iterator[tuple[Subject, CheckReport]]:
        """Yield each function with its report.

        Functions that spend their share are run again as long as the others leave enough for a larger one.
        """
        shared = self._shared()
        kept = self._catalog.analysis(TRUSTED_ANSWERS) if self._catalog is not None else None
        known: Answered = {} if kept is None else kept["answers"]
        # Where most are known, most functions need not be sent twice.
        answers = self._answers_of_trusted(shared, known) if known and len(subjects) > CHECKS_A_TASK else None
        due = list(subjects)
        while due:
            unanswered: list[Subject] = []
            spent: list[tuple[Subject, float, CheckReport]] = []
            asked = list(zip(due, budget.shares(due), strict=True))
            for (subject, share), report in self._round(asked, shared, answers, budget):
                if report is None:
                    unanswered.append(subject)
                elif report.spent:
                    spent.append((subject, share, report))
                else:
                    yield subject, report
            if unanswered:
                answers = self._answers_of_trusted(shared, known)
            more = budget.again([item[0] for item in spent], [item[1] for item in spent])
            for (subject, _, report), taken in zip(spent, more, strict=True):
                if not taken:
                    yield subject, report
            due = [*unanswered, *(item[0] for item, taken in zip(spent, more, strict=True) if taken)]

    def _round(
        self,
        asked: Sequence[Asked],
        shared: Shared,
        answers: Answered | None,
        budget: SandboxBudget,
    ) -> Iterator[tuple[Asked, CheckReport | None]]:
        """Yield each function with its report, in order, and charge the budget with what it spent.

        It is None for a function that lacks the trusted functions' `answers`.
        """
        bounds = CHECKING if len(asked) == 1 else CHECKING_TOGETHER
        work = sum(1.0 if self._runs_of(chunk) == NOTHING_RAN else KNOWN for (chunk, _), _ in asked)
        few = int(work <= FEW)  # for one worker, in turn
        starts = range(0, len(asked), CHECKS_A_TASK)
        parts = (
            (part, self._asked(part, answers)) for part in (asked[at : at + CHECKS_A_TASK] for at in starts)
        )
        for part, answer in answered(self._executor, check_task, parts, ONE, bounds, lambda: shared, few):
            if answer.ended and len(part) > 1:
                for one in part:  # so that one cannot end the others
                    yield from self._round([one], shared, answers, budget)
            else:
                yield from zip(part, self._reports(part, answer, budget), strict=True)

    def _answers_of_trusted(self, shared: Shared, known: Answered) -> Answered:
        """Return the trusted functions' answers to the probes, which all workers share out among themselves.

        Those `known` of an earlier run are kept as far as they are the same. They count against no function's limits.
        """
        shares = 1 if known else workers_of(self._executor) * SHARES_A_WORKER
        asked = ((None, {"share": share, "of": shares, "known": known}) for share in range(shares))
        found: Answered = {}
        for _, answer in answered(self._executor, probe_task, asked, ONE, TRUSTED_TOGETHER, lambda: shared):
            if not answer.ended:  # what is missing matches nothing
                found |= answer.value
        lasting = {key: rows for key, rows in found.items() if rows[0]}
        if self._catalog is not None and lasting != known:
            self._catalog.put_analyses({TRUSTED_ANSWERS: {"answers": lasting}})
        return found

    def _reports(
        self, asked: Sequence[Asked], answer: TaskAnswer, budget: SandboxBudget
    ) -> list[CheckReport | None]:
        """Return a worker's results; for a function ended by a limit a verdict that is no pass."""
        if answer.ended:
            ((_, file), share), *_ = asked
            budget.charge(file.path, share)  # what it has spent is lost with the worker
            verdict = CHECKED_SO_FAR.get(answer.ended, Verdict.ERROR)
            return [CheckReport(verdict, f"codeguard could not examine it: {answer.why}", level="")]
        found: list[CheckReport | None] = []
        ran: dict[str, dict[str, Any]] = {}
        for ((chunk, file), _), answer_of_one in zip(asked, answer.value, strict=True):
            if answer_of_one is None:
                found.append(None)
                continue
            report, spent_s, runs = answer_of_one
            budget.charge(file.path, float(spent_s))
            found.append(CheckReport.from_json(report))
            if runs != self._runs_of(chunk):
                ran[_runs_key(chunk)] = {"runs": runs}
        if self._catalog is not None and ran:
            self._catalog.put_analyses(ran)
        return found

    def _runs_of(self, chunk: Chunk) -> str:
        """Return what the last check of a function ran in the sandbox, packed; see `RunMemory`."""
        kept = None if self._catalog is None else self._catalog.analysis(_runs_key(chunk))
        return NOTHING_RAN if kept is None else str(kept["runs"])

    def _asked(self, asked: Sequence[Asked], answers: Answered | None) -> dict[str, Any]:
        """Return the values for a worker."""
        subjects = [subject for subject, _ in asked]
        files = list({id(file): file for _, file in subjects}.values())
        places = {id(file): place for place, file in enumerate(files)}
        return {
            "files": [_text_of(file) for file in files],
            "subjects": [(places[id(file)], file.chunks.index(chunk)) for chunk, file in subjects],
            "answers": answers,
            "seconds": [seconds for _, seconds in asked],
            "runs": [self._runs_of(chunk) for chunk, _ in subjects],
        }


def _runs_key(chunk: Chunk) -> str:
    return RUNS + parts_digest(chunk.path, chunk.symbol)
