"""Third-party chunk signals as a task for workers, so that none of them can hang or crash a query.

The data that a signal needs is sent along: the weights, the behavior report for this chunk, and the character
model. Reaching a limit is evidence of its own: it is reported, and the chunk does not count as cleared.
"""

from __future__ import annotations

import base64
import functools
import json
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codeguard.analysis.observations import NOT_FULLY_READ
from codeguard.corpus.serialization import as_json, rebuilt
from codeguard.models import CheckReport, Confidence, Evidence, Severity, Trust
from codeguard.ranking.signals import load_signals
from codeguard.ranking.signals.base import Signal, SignalContext, SignalServices, Subject
from codeguard.weights import Weights
from codeguard.workers.processes import default_workers, send
from codeguard.workers.tasks import (
    FAILED,
    LOOKING_S,
    ItemBounds,
    Run,
    Shared,
    WorkerError,
    by_values,
    encoded,
)

if TYPE_CHECKING:
    from codeguard.analysis.perplexity import PerplexityModel

BOUNDS = ItemBounds(LOOKING_S)
MOST = 1_000  # pieces of evidence about one chunk
BEHAVIOR, PERPLEXITY = "behavior", "perplexity"


def runs_in_worker(signal: Signal) -> bool:
    """Return whether a signal runs in a worker: if it is an installed plugin, which a worker can load."""
    return not ours(signal) and any(known is signal for known in load_signals())


def ours(signal: Signal) -> bool:
    """Return whether a signal is codeguard's own, which reads text within limits or in a worker."""
    return type(signal).__module__.startswith("codeguard.")


def examined(signal: Signal, subject: Subject, context: SignalContext) -> tuple[Evidence, ...]:
    """Return a signal's evidence about a chunk, computed by this process's shared worker.

    Raises:
        WorkerError: the signal failed, or a worker does not have it.
    """
    payload = encoded(_asked(signal, subject, context))
    used = context.weights
    weights = json.dumps([dict(used.overrides), dict(used.own)], sort_keys=True)
    shared = _shared(weights, context.services.perplexity if PERPLEXITY in _wanted(signal) else None)
    (answer,) = send(default_workers(), examine_task, [payload], shared, BOUNDS).result()
    if answer.ended == FAILED:
        raise WorkerError(answer.why)
    if answer.ended:
        return (ended(signal, answer.why, context.weights),)
    return tuple(Evidence.from_json(value) for value in answer.value)


def ended(signal: Signal, why: str, weights: Weights) -> Evidence:
    """Return the evidence that a limit interrupted a signal on a chunk."""
    return Evidence(
        signal=NOT_FULLY_READ[0],
        id=NOT_FULLY_READ[1],
        penalty=weights.of(".".join(NOT_FULLY_READ), Severity.MEDIUM),
        reason=f"not all of it was looked at: the signal {signal.name} did not finish: {why}",
        demotes=True,
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
    )


def _wanted(signal: Signal) -> frozenset[str]:
    consulted: frozenset[str] = getattr(signal, "uses", frozenset())
    return signal.needs | consulted


def _asked(signal: Signal, subject: Subject, context: SignalContext) -> dict[str, Any]:
    checks = context.services.behavior if BEHAVIOR in _wanted(signal) else None
    return {
        "signal": signal.name,
        "file": as_json(subject.file),
        "chunk": subject.file.chunks.index(subject.chunk),
        "trust": subject.trust.value,
        "distance": subject.distance,
        "distance_z": subject.distance_z,
        "report": None if checks is None else checks(subject.chunk, subject.file).to_json(),
    }


@functools.lru_cache(maxsize=2)
def _shared(weights: str, model: PerplexityModel | None) -> Shared:
    data = None if model is None else base64.b64encode(_saved(model)).decode("ascii")
    return Shared.of_values({"weights": json.loads(weights), "model": data})


def _saved(model: PerplexityModel) -> bytes:
    with tempfile.TemporaryDirectory(prefix="codeguard-") as folder:
        model.save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def examine_task(shared: Shared) -> Run:
    """Let a signal examine chunks."""
    value = shared.value()
    weights = Weights(*value["weights"])
    signals = {signal.name: signal for signal in load_signals()}
    model = None if value["model"] is None else _loaded(base64.b64decode(value["model"]))

    def evidence(asked: dict[str, Any]) -> Iterator[object]:
        report = None if asked["report"] is None else CheckReport.from_json(asked["report"])
        services = SignalServices(None if report is None else lambda chunk, file: report, model)
        file = rebuilt(asked["file"])
        chunk = file.chunks[asked["chunk"]]
        subject = Subject(chunk, file, Trust(asked["trust"]), asked["distance"], asked["distance_z"])
        found = signals[asked["signal"]].examine(subject, SignalContext(services, weights))
        yield [item.to_json() for item in islice(found, MOST)]

    return by_values(evidence)


def _loaded(data: bytes) -> PerplexityModel:
    from codeguard.analysis.perplexity import PerplexityModel  # imports numpy

    with tempfile.TemporaryDirectory(prefix="codeguard-") as folder:
        (Path(folder) / "model").write_bytes(data)
        return PerplexityModel.load(Path(folder) / "model")
