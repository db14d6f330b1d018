"""What a change does to the behavior of trusted functions: each is compared with itself before, in the sandbox.

A difference is for the owner's reviewers, and no finding against the change. An effect of a kind that nothing in the
file had before is one: whoever takes over an account writes into files that are trusted.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from codeguard.analysis import Reading
from codeguard.analysis.rules import Match
from codeguard.audit.changes import OwnFile
from codeguard.audit.evidence import Checked
from codeguard.audit.findings import CHANGE, Finding
from codeguard.audit.imported_files import ImportedFiles
from codeguard.audit.inspection import chunk_finding
from codeguard.audit.rules import OWN_RULES
from codeguard.behavior.budget import SPENT, Budget
from codeguard.behavior.equivalence import EquivalenceResult, compare_functions
from codeguard.behavior.source.reach import module_capabilities
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.running import BudgetSpentError, Meter, drive, metered, worlds_for
from codeguard.config import Settings
from codeguard.index.behavior_reports import Siblings, is_test
from codeguard.index.evidence_tasks import worker_sandbox
from codeguard.index.report import SandboxBudget
from codeguard.models import Chunk, SourceFile, as_json, rebuilt
from codeguard.sandbox import Level, read_given
from codeguard.syntax.capabilities import CONVICTING, ENVIRONMENT
from codeguard.trust.installation import seed_of
from codeguard.workers.processes import ONE, answered
from codeguard.workers.tasks import CHECKING_S, ItemBounds, Run, Shared, by_values

REVIEW_BUDGET = Budget(generated=80, tailored=60, wall_s=4.0, cpu_s=1.0)
BOUNDS = ItemBounds(4 * CHECKING_S, 300.0)
SHOWN_TESTS = 3
_EXAMPLE = re.compile(r"^[ \t]*>>>.*\n?.*$", re.MULTILINE)  # with the line of its result


def reviewed(
    files: Sequence[OwnFile],
    tests: Sequence[SourceFile],
    before: ImportedFiles,
    after: ImportedFiles,
    settings: Settings,
    executor: Executor,
) -> Checked:
    """Compare the functions of trusted files that a change changes with what they were.

    Args:
        files: the changed trusted files of Python.
        tests: what the change adds or changes, of which tests are named where they name a function.
        before: the files that those import, before the change.
        after: the same after it.
    """
    budget = SandboxBudget.of(settings.defense)
    found: list[Finding] = []
    level = ""
    pairs = [(file, old, new) for file in files for old, new in file.changed()]
    imported_before, imported_after = Siblings(before), Siblings(after)
    sides: dict[int, dict[str, Any]] = {
        id(file): {
            "before": _with_imported(file.before, imported_before, before),
            "after": _with_imported(file.after, imported_after, after),
        }
        for file in files
    }

    def asked() -> Iterator[tuple[tuple[OwnFile, Chunk, Chunk], object]]:
        for pair in pairs:
            file, old, new = pair
            (seconds,) = budget.shares([(new, file.after)])
            yield pair, {**sides[id(file)], "symbols": [old.symbol, new.symbol], "seconds": seconds}

    answers = answered(executor, comparing_task, asked(), ONE, BOUNDS, lambda: _material(settings))
    for (file, old, new), answer in answers:
        if answer.ended:
            budget.charge(file.after.path, budget.file_s)
            result = {"result": EquivalenceResult.UNKNOWN.value, "reason": answer.why}
        else:
            result = answer.value
            level = min(level or result["level"], result["level"])
            budget.charge(file.after.path, result["spent_s"])
        found += _findings(file, old, new, result, tests)
    return Checked(tuple(found), level, len(pairs), len(pairs), budget=budget.report())


def _with_imported(file: SourceFile, siblings: Siblings, tree: ImportedFiles) -> list[dict[str, Any]]:
    """Return a file and those that it imports, as values; the file comes first."""
    others = [tree.file(item.path) for item in siblings.of(file)]
    return [as_json(file), *(as_json(other) for other in others if other is not None)]


def _findings(
    file: OwnFile, old: Chunk, new: Chunk, result: Mapping[str, Any], tests: Sequence[SourceFile]
) -> Iterator[Finding]:
    reading = Reading(file.after)
    alongside = _alongside(old, new, tests)
    outcome = EquivalenceResult(result["result"])

    def finding(rule: str, reason: str, **measured: str) -> Finding:
        known = OWN_RULES[f"{CHANGE}.{rule}"]
        return chunk_finding(reading, new, Match(rule, 0, 0, reason, measurements=measured), CHANGE, known)

    if outcome is EquivalenceResult.DIFFERS and result["call"]:
        call, first, second = result["call"], result["first"], result["second"]
        shown = f"{call}: before {first}; now {second} ({result['reason']}); {alongside}"
        yield finding("behavior", shown, call=call, before=first, now=second, alongside=alongside)
    elif outcome is EquivalenceResult.UNKNOWN:
        yield finding(
            "not-compared", f"it changed, and could not be compared: {result['reason']}; {alongside}"
        )
    if gained := result.get("new_effects"):
        known = {item.kind for item in module_capabilities(file.before.text)}
        beyond = [kind for kind in gained if kind in CONVICTING - known - {ENVIRONMENT}]
        if beyond:
            yield finding("new-effect", f"uses what nothing in its file did before: {', '.join(beyond)}")
        else:
            shown = f"uses {', '.join(gained)} now, as its file did before; {alongside}"
            yield finding("behavior", shown, alongside=alongside)


def _alongside(old: Chunk, new: Chunk, tests: Sequence[SourceFile]) -> str:
    """Return which tests that name the function, or which of its examples, the change touches."""
    name = new.symbol.rpartition(".")[2]
    word = re.compile(rf"\b{re.escape(name)}\b")
    touched = sorted(file.path for file in tests if is_test(file.path) and word.search(file.text))
    parts = touched[:SHOWN_TESTS] + (
        [f"{len(touched) - SHOWN_TESTS} more"] if len(touched) > SHOWN_TESTS else []
    )
    if _EXAMPLE.findall(old.text) != _EXAMPLE.findall(new.text):
        parts.append("its own examples")
    return f"changed with it: {', '.join(parts)}" if parts else "no test or example changed with it"


def _material(settings: Settings) -> Shared:
    value = {
        "level": settings.defense.required_level,
        "given": read_given(settings.defense.modules),
        "seed": seed_of(settings).hex(),
    }
    return Shared.of_values(value)


def comparing_task(shared: Shared) -> Run:
    """Compare a function of one file with that of another, each with the files that it imports."""
    value = shared.value()
    seed, required = bytes.fromhex(value["seed"]), Level[value["level"]]
    given = tuple((place, text) for place, text in value["given"])
    sandbox = worker_sandbox(required, 1, worlds_for(seed)[0].hash_seed, given)

    def compared(asked: dict[str, Any]) -> Iterator[object]:
        meter = Meter(asked["seconds"])
        sides = zip(("before", "after"), asked["symbols"], strict=True)
        references = [_reference(json.dumps(asked[side]), symbol) for side, symbol in sides]
        result: dict[str, Any] = {"result": EquivalenceResult.UNKNOWN.value, "reason": ""}
        if sandbox.level < required:
            result["reason"] = f"the sandbox offers {sandbox.level.name}, {required.name} is required"
        elif references[0] is None or references[1] is None:
            result["reason"] = "it is defined inside of something, or by something"
        else:
            steps = compare_functions(references[0], references[1], sandbox.level, REVIEW_BUDGET, seed)
            try:
                (found,) = drive(sandbox, [metered(meter, steps)])
                named = ("reason", "call", "first", "second", "new_effects")
                result |= {name: getattr(found, name) for name in named} | {"result": found.result.value}
            except BudgetSpentError:
                result["reason"] = SPENT
        yield {**result, "level": sandbox.level.name, "spent_s": meter.spent_s}

    return by_values(compared)


@functools.lru_cache(maxsize=4)
def _library(files: str) -> tuple[SpecLibrary, str]:
    read = [rebuilt(item) for item in json.loads(files)]
    return SpecLibrary().with_trusted(read), read[0].path


def _reference(files: str, symbol: str) -> Reference | None:
    library, path = _library(files)
    found = [
        item for item in library.references if item.path == path and item.definition.qualified_name == symbol
    ]
    return found[-1] if found else None
