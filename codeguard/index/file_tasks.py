"""Reading files as tasks for workers: where a file is cut into chunks, where it has secrets, what the engine observes.

Texts and digests are computed here, from the bytes that were read here: answers stay short, and a worker that
a hostile file takes over can cut a file in the wrong places, but cannot forge its content. A text in which the
search for secrets reached a limit counts as one secret: it is neither returned nor shown. A file that reaches a limit
of the engine, or on which a worker dies, gives a separate observation in addition to those made until then, and does
not affect other files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, NamedTuple

from codeguard.analysis.engine import ENGINE, Engine, Step, engine_version
from codeguard.analysis.observations import AUDIT, Observation, bound_met, detector_error
from codeguard.analysis.python.counterparts import sketches_of
from codeguard.analysis.reading import Reading
from codeguard.analysis.rules import DetectorContext, load_file_signals
from codeguard.corpus.chunking.chunker import assembled, cuts_by_lines, cuts_of, read_file_text
from codeguard.corpus.chunking.cutting import cuts_from
from codeguard.corpus.secrets import FoundSecret, find_secrets, named_secrets, searched, without_secrets
from codeguard.errors import CorpusError
from codeguard.models import Skipped, SourceFile, as_json, parts_digest, rebuilt, text_digest
from codeguard.workers.processes import BatchSize, answered, default_workers
from codeguard.workers.tasks import (
    CUTTING_S,
    FAILED,
    LOOKING_S,
    ItemBounds,
    Run,
    Shared,
    Task,
    TaskAnswer,
    WorkerError,
    by_values,
)

if TYPE_CHECKING:
    from codeguard.index.catalog import Catalog

READING = BatchSize(256)
CUTTING, SEARCHING = ItemBounds(CUTTING_S), ItemBounds(2.0)
PASSING = "this time"  # part of a note that another try may invalidate
UNSEARCHED = "not-searched"  # the rule for a text that could not be searched

File = tuple[str, bytes]  # name and content


def chunked(executor: Executor, files: Iterable[File]) -> Iterator[SourceFile | Skipped]:
    """Yield files given by name and content, chunked or refused, in order.

    A file that reached a limit is cut by its lines, with a note.

    Raises:
        WorkerError: a worker's answer is malformed, or not about these files.
    """
    values = ((file, [file[0], file[1].decode("latin-1")]) for file in files)
    for file, answer in answered(executor, chunk_task, values, READING, CUTTING):
        yield _chunked(file, answer)


def chunk_one(name: str, data: bytes) -> SourceFile:
    """Chunk one file in this process's shared worker.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    (found,) = chunked(default_workers(), [(name, data)])
    if isinstance(found, Skipped):
        raise CorpusError(found.reason)
    return found


def chunk_task() -> Run:
    """Find the cuts of files, given by name and bytes; null for one that cannot be read."""

    def cuts(file: list[str]) -> Iterator[object]:
        name, data = file
        try:
            yield cuts_of(read_file_text(name, data.encode("latin-1")))
        except CorpusError:
            yield None

    return by_values(cuts)


def _chunked(file: File, answer: TaskAnswer) -> SourceFile | Skipped:
    try:
        text = read_file_text(*file)
    except CorpusError as error:
        return Skipped(file[0], str(error))
    if answer.ended:
        why = "an error in it" if answer.ended == FAILED else answer.why
        return assembled(text, cuts_by_lines(text, why if answer.lasting else f"{PASSING}: {why}"))
    try:
        return assembled(text, cuts_from(answer.value))
    except (KeyError, TypeError, ValueError) as error:
        raise WorkerError(f"a worker cut a file where it cannot be cut ({error})") from error


def masked(
    files: Iterable[SourceFile], executor: Executor | None = None, *, withhold: bool = True
) -> Iterator[SourceFile]:
    """Yield files with their secrets masked, in order; see `codeguard.corpus.secrets.without_secrets`.

    Raises:
        WorkerError: a worker's answer is malformed.
    """
    texts = ((file, [file.path, searched(file)]) for file in files)
    workers = executor or default_workers()
    for file, answer in answered(workers, secrets_task, texts, READING, SEARCHING):
        yield without_secrets(file, _secrets(answer, len(searched(file))), withhold=withhold)


def secrets_in(text: str) -> list[FoundSecret]:
    """Return the secrets in one text, found by this process's shared worker."""
    ((_, answer),) = answered(default_workers(), secrets_task, [(None, ["", text])], READING, SEARCHING)
    return _secrets(answer, len(text))


def secrets_task() -> Run:
    """Find the secrets in texts, each preceded by the name of its file."""

    def secrets(file: list[str]) -> Iterator[object]:
        name, text = file
        found = named_secrets(name, text) or find_secrets(text)
        yield [(item.start, item.end, item.rule) for item in found]

    return by_values(secrets)


def _secrets(answer: TaskAnswer, size: int) -> list[FoundSecret]:
    if answer.ended:
        return [FoundSecret(0, size, UNSEARCHED)]
    try:
        found = [FoundSecret(int(start), int(end), str(rule)) for start, end, rule in answer.value]
    except (TypeError, ValueError) as error:
        raise WorkerError(f"a worker found a secret that cannot be one ({error})") from error
    if any(not 0 <= item.start <= item.end <= size for item in found):
        raise WorkerError("a worker found a secret outside of the text")
    return sorted(found)


BATCH = BatchSize(12, 1 << 18)
OBSERVING = ItemBounds(LOOKING_S)
MOST_STALE = 2  # times as much as is in use of what was derived of trusted files


class ExaminationRequest(NamedTuple):
    """A file to examine, and the names of the detectors to run, None for all."""

    file: SourceFile
    only: tuple[str, ...] | None = None


class ExaminedFile(NamedTuple):
    """The engine's result for a file: its own step and one for each detector that ran."""

    file: SourceFile
    steps: tuple[Step, ...]

    @property
    def observations(self) -> tuple[Observation, ...]:
        """All observations, in the order of the steps."""
        return tuple(item for step in self.steps for item in step.observations)


Observe = Callable[[Iterable[ExaminationRequest]], Iterator[ExaminedFile]]


def compared(
    trusted: Sequence[SourceFile] | None,
    signals: Sequence[str],
    executor: Executor | None = None,
    catalog: Catalog | None = None,
) -> dict[str, object]:
    """Return what workers need for comparisons, as plain values.

    `trusted` are the trusted files, None if there is no manifest. `signals` are the names of the detectors. With both,
    an executor's workers make the sketches of functions that a catalog lacks, and each worker has them from there.
    """
    sketched: Mapping[str, object] = {}
    if trusted and signals and executor is not None and catalog is not None:
        sketched = of_trusted(executor, trusted, catalog, _sketch_key, sketch_task)
    return {
        "sketched": sketched,
        "trusted": None if trusted is None else [as_json(file) for file in trusted],
        "signals": list(signals),
        "version": engine_version(),
    }


def of_trusted(
    executor: Executor,
    files: Iterable[SourceFile],
    catalog: Catalog | None,
    key_of: Callable[[SourceFile], str],
    task: Task,
) -> dict[str, Any]:
    """Return what a task derives of trusted files, by path, from a catalog or from workers; what is new is kept there.

    A file that meets a limit is left out: whoever needs it derives it alone.
    """
    found: dict[str, Any] = {}
    used: set[str] = set()

    def missing() -> Iterator[tuple[SourceFile, object]]:
        for file in files:
            used.add(key := key_of(file))
            kept = catalog.analysis(key) if catalog is not None else None
            if kept is None:
                yield file, as_json(file)
            else:
                found[file.path] = kept["derived"]

    made = [item for item in answered(executor, task, missing(), BATCH, OBSERVING) if not item[1].ended]
    found |= {file.path: answer.value for file, answer in made}
    if made and catalog is not None:
        catalog.put_analyses({key_of(file): {"derived": found[file.path]} for file, _ in made})
        kind, _, _ = key_of(made[0][0]).partition(":")
        stale = set(catalog.analysis_keys(f"{kind}:")) - used
        if len(stale) > MOST_STALE * len(used):  # a catalog without an index has other trees' too
            catalog.forget_analyses(stale)
    return found


def _sketch_key(file: SourceFile) -> str:
    return "sketches:" + parts_digest(engine_version(), file.sha256, text_digest(file.text))


def sketch_task() -> Run:
    """Sketch the functions of a trusted file, to find near-copies."""
    return by_values(lambda file: [sketches_of(rebuilt(file))])


@functools.lru_cache(maxsize=1)
def material_of(shared: Shared) -> dict[str, Any]:
    """Return the plain values of the material, read once for all tasks of a worker. Nobody may change them."""
    value: dict[str, Any] = shared.value()
    return value


@functools.lru_cache(maxsize=1)
def _engine(shared: Shared) -> Engine:
    value = material_of(shared)
    names, trusted = value["signals"], value["trusted"]
    if engine_version() != value["version"]:
        raise WorkerError(
            "a worker has other static signals than this process",
            hint="install the same version on every machine",
        )
    signals = [item for item in load_file_signals() if item.name in names]
    files = None if trusted is None else lambda: map(rebuilt, trusted)
    return Engine(signals, DetectorContext.made_for(signals, files, value["sketched"]))


def observe_task(shared: Shared) -> Run:
    """Examine a file; a part for each step."""
    engine = _engine(shared)

    def steps(request: list[Any]) -> Iterator[object]:
        file, only = request
        return (step.to_values() for step in engine.observe(rebuilt(file), only))

    return by_values(steps)


def examine_files(
    executor: Executor,
    shared: Callable[[], Shared],
    names: Sequence[str],
    requests: Iterable[ExaminationRequest],
) -> Iterator[ExaminedFile]:
    """Yield the engine's results for files, computed by workers, in order.

    Args:
        executor: runs the work.
        shared: makes the values of `compared`, or of what holds all of them, if there is a request.
        names: the detectors in order, to report which one was ended by a limit.
        requests: read ahead only as far as the workers need.
    """
    values = ((request, [as_json(request.file), request.only]) for request in requests)
    for request, answer in answered(executor, observe_task, values, BATCH, OBSERVING, shared):
        yield _examined(request, answer, names)


def _examined(request: ExaminationRequest, answer: TaskAnswer, names: Sequence[str]) -> ExaminedFile:
    try:
        steps = [Step.from_values(value) for value in answer.values]
    except (TypeError, ValueError) as error:
        raise WorkerError(f"a worker found what cannot be found ({error})") from error
    if answer.ended:
        chosen = (ENGINE, *(name for name in names if request.only is None or name in request.only))
        left = chosen[len(steps) :] or (ENGINE,)
        at = f" (in the signal {left[0]})" if left[0] else ""
        if answer.ended == FAILED:
            ended = detector_error(AUDIT, Reading(request.file), WorkerError(answer.why + at))
        else:
            ended = bound_met(answer.why + at)
        steps.append(Step(left[0], (ended,), answer.lasting))
        # Detectors that did not run would end the same way: do not retry until the file changes.
        steps += [Step(name, (), answer.lasting) for name in left[1:]]
    return ExaminedFile(request.file, tuple(steps))
