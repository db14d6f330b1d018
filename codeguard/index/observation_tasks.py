"""The engine as a task for workers, for audit and ranking alike: files in, observations out.

A file that reaches a limit, or on which a worker dies, gives a separate observation in addition to those made
until then, and does not affect other files.
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
from codeguard.index.executor import BatchSize, answered
from codeguard.models import SourceFile, as_json, parts_digest, rebuilt, text_digest
from codeguard.workers.tasks import (
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
