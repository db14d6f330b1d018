"""The share of the public functions and methods of packages that the sandbox runs, where their package is trusted.

    python -m experiments.benchmarks.functions_run FOLDER PACKAGE==VERSION ... [--json FILE]

One counts as run if three different calls, or its only possible one, gave a value or an exception that is not about
the types of the arguments, and one of them a value. Wheels are kept in FOLDER; nothing of them is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from codeguard.behavior.budget import Budget
from codeguard.behavior.matching.candidate import is_overload
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.profiles import observe
from codeguard.behavior.verdict.running import drive, worlds_for
from codeguard.sandbox import Job, JobResult, Level, Outcome, Sandbox
from experiments.benchmarks.audit_common import finish, parser_of
from experiments.benchmarks.behavior_wild import SEED, beside, files_of

UNFIT = frozenset({"TypeError", "AttributeError", "NameError", "ImportError", "ModuleNotFoundError"})
LEAST_CALLS = 3


@dataclass
class _Recorder:
    """A sandbox that keeps what each call gave: True for a value, False for an exception that counts."""

    box: Sandbox
    answered: dict[str, bool] = field(default_factory=dict)

    @property
    def level(self) -> Level:
        return self.box.level

    def run_many(self, jobs: Sequence[Job]) -> Iterator[JobResult]:
        for job, result in zip(jobs, self.box.run_many(jobs), strict=True):
            for call, answer in zip(job.calls, result.calls, strict=False):
                returned = answer.outcome is Outcome.RETURNED
                if returned or (answer.exception and UNFIT.isdisjoint(answer.exception[:1])):
                    key = repr((call.target, call.args, call.kwargs))
                    self.answered[key] = self.answered.get(key, False) or returned
            yield result


def public(references: Iterable[Reference]) -> Iterator[Reference]:
    """Yield what callers of a package may use."""
    for item in references:
        names = item.qualified_name.split(".")
        setter = item.definition.is_setter or is_overload(item.definition.node, item.module.statements)
        if not setter and not any(name.startswith("_") for name in names):
            yield item


def main() -> None:
    """Measure, print and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="+")
    arguments = parser.parse_args()
    budget, figures = replace(Budget(), worlds=worlds_for(SEED)), dict[str, Any]()
    with Sandbox(Level.L2) as box:
        for package in arguments.packages:
            library = SpecLibrary.load().with_trusted(beside(files_of(arguments.folder, [package])), [])
            found = [item for item in public(library.references) if item.usable is not None]
            run = 0
            for item in found:
                recorder = _Recorder(box)
                drive(recorder, [observe(item, box.level, budget, SEED)])
                needed = (
                    1 if item.definition.owner is None and not item.definition.parameters else LEAST_CALLS
                )
                run += len(recorder.answered) >= needed and any(recorder.answered.values())
            figures[package] = {"functions": len(found), "run": run}
    finish(figures, arguments.json)


if __name__ == "__main__":
    main()
