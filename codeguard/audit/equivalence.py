"""Run functions of explicitly given files: compare two of them, or write down the contract of one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from codeguard.audit.check import read_source
from codeguard.behavior.budget import SPENT, Budget
from codeguard.behavior.equivalence import Equivalence, EquivalenceResult, compare_functions
from codeguard.behavior.specs.contract import Contract
from codeguard.behavior.specs.files import RECORDED_NAME
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference
from codeguard.behavior.verdict.profiles import Profile, observe
from codeguard.behavior.verdict.running import BudgetSpentError, Meter, drive, metered
from codeguard.config import Settings, user_config_dir
from codeguard.errors import NothingToDoError
from codeguard.index.sandbox_budget import SandboxBudget
from codeguard.sandbox import Level, Sandbox, read_given
from codeguard.trust.installation import kept_secret

EQUIVALENCE_BUDGET = Budget(generated=200, tailored=100, wall_s=8.0, cpu_s=2.0)


def compare_files(
    first: tuple[Path, str],
    second: tuple[Path, str],
    *,
    specs: Sequence[Path] = (),
    settings: Settings | None = None,
    budget: SandboxBudget | None = None,
) -> Equivalence:
    """Compare two functions, each given as a file and a name (`function` or `Class.method`), in the sandbox.

    `specs` are files of recorded specs (`codeguard.learned.toml`) whose calls are tried as well. Both sides
    are run confined, even if trusted. `budget`, if given, limits the run instead of that of the settings, and has
    then what was spent.

    Raises:
        CorpusError: a file cannot be read.
        NothingToDoError: there is no such function in it.
    """
    chosen = settings or Settings()
    references = [_reference(path, symbol, specs) for path, symbol in (first, second)]
    required = Level[chosen.defense.required_level]
    workers, given = min(2, os.cpu_count() or 1), read_given(chosen.defense.modules)
    with contextlib.closing(Sandbox(required, workers=workers, given=given)) as sandbox:
        if sandbox.level < required:
            reason = f"the sandbox offers {sandbox.level.name}, {required.name} is required"
            return Equivalence(EquivalenceResult.UNKNOWN, reason, level=sandbox.level.name)
        seed = chosen.fixed_seed or kept_secret(user_config_dir() / "check.seed")
        steps = compare_functions(references[0], references[1], sandbox.level, EQUIVALENCE_BUDGET, seed)
        budget = budget or SandboxBudget.of(chosen.defense)
        meter = Meter(budget.file_s)  # the functions are compared with each other: one share for both
        try:
            (found,) = drive(sandbox, [metered(meter, steps)])
        except BudgetSpentError:
            found = Equivalence(EquivalenceResult.UNKNOWN, SPENT, level=sandbox.level.name)
            budget.unfinished(first[0].as_posix())
        budget.charge(first[0].as_posix(), meter.spent_s)
        return found


def profile_of(path: Path, symbol: str, settings: Settings) -> Profile:
    """Run one function (`function` or `Class.method`) of a file as a trusted one, and return what is known of it.

    Recorded specs beside the file count. Below the required sandbox level the contract is empty and `problem` says so.

    Raises:
        CorpusError: the file cannot be read.
        NothingToDoError: there is no such function in it.
    """
    recorded = path.with_name(RECORDED_NAME)
    reference = _reference(path, symbol, [recorded] if recorded.is_file() else [])
    required = Level[settings.defense.required_level]
    with contextlib.closing(
        Sandbox(required, workers=1, given=read_given(settings.defense.modules))
    ) as sandbox:
        if sandbox.level < required:
            problem = f"the sandbox offers {sandbox.level.name}, {required.name} is required"
            return Profile(reference, (), (), Contract(), frozenset(), problem)
        seed = settings.fixed_seed or kept_secret(user_config_dir() / "check.seed")
        (profile,) = drive(sandbox, [observe(reference, sandbox.level, Budget(), seed)])
        return profile


def _reference(path: Path, symbol: str, specs: Sequence[Path]) -> Reference:
    library = SpecLibrary().with_trusted([read_source(item) for item in (path, *specs)])
    names = [item.definition.qualified_name for item in library.references]
    found = [item for item, name in zip(library.references, names, strict=True) if name == symbol]
    if not found:
        raise NothingToDoError(
            f"{path} has no such function",
            got=repr(symbol) if symbol else "none",
            expected=", ".join(dict.fromkeys(names))[:200] or "a function",
        )
    return found[-1]
