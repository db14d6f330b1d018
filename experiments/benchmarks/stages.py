"""Where the processor time of an index goes: the stages, each without those that run inside it."""

from __future__ import annotations

import functools
import time
from typing import Any

from codeguard.analysis.perplexity import PerplexityModel
from codeguard.index import file_tasks, pipeline
from codeguard.index.catalog import Catalog
from codeguard.index.static_evidence import StaticEvidence
from codeguard.index.trusted import TrustUpdate

STAGES: tuple[tuple[object, str, str], ...] = (
    (pipeline, "found_on_disk", "find the files"),
    (file_tasks, "assembled", "put the files together that were cut"),
    (Catalog, "put_file", "write catalog and words"),
    (Catalog, "chunks", "read the catalog"),
    (pipeline.Indexer, "_embed", "compute the vectors"),
    (StaticEvidence, "prepare", "static signals"),
    (TrustUpdate, "record", "write down what is trusted"),
    (PerplexityModel, "train", "train the character model"),
)


class Stages:
    """Counts the processor time of this process by stage, all its threads together; for one index at a time."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {stage: 0.0 for _, _, stage in STAGES}
        self._inner = [0.0]

    def watch(self) -> None:
        """Count from now on, to the end of the process."""
        for owner, name, stage in STAGES:
            setattr(owner, name, self._counted(getattr(owner, name), stage))

    def _counted(self, function: Any, stage: str) -> Any:
        @functools.wraps(function)
        def counted(*arguments: Any, **named: Any) -> Any:
            start = time.process_time()
            self._inner.append(0.0)
            try:
                return function(*arguments, **named)
            finally:
                spent = time.process_time() - start
                self.seconds[stage] += spent - self._inner.pop()
                self._inner[-1] += spent

        return counted

    def table(self, own: float, everyone: float) -> dict[str, float]:
        """Return seconds by stage, most first, of `own` in this process and `everyone` with all that it started."""
        self.seconds["the rest of the indexing process"] = own - sum(self.seconds.values())
        self.seconds["workers, sandboxes and the process that serves the store"] = everyone - own
        ordered = sorted(self.seconds.items(), key=lambda item: -item[1])
        return {stage: round(seconds, 2) for stage, seconds in ordered}
