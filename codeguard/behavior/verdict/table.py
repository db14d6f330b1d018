"""The table of verdicts: which observations of a candidate decide what is reported.

The rows are data (`verdicts.toml`). Observations are collected in stages, the cheapest first, and after each stage the
rows of that stage are tried in their order: the first whose conditions all hold decides.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from codeguard.models import Verdict

TABLE = Path(__file__).with_name("verdicts.toml")
NOT = "not "
ALWAYS = "always"
LOOKALIKE = "lookalike"
UNANNOUNCED = "unannounced"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    `when` are the observations that have to hold after one of the stages `after`, with "not " in front those that must
    not. `verdict` is what is reported; where it is None, the way in which the child ended decides. `claims` is the
    observation under which the report says that a claim is false, "always", or "". `weighs` names the results of which
    the smallest is the counterexample and whose share is reported, "" if none. `why` is for readers of the table, and
    `decided` counts the functions of the frozen sets that it decided, by label.
    """

    id: str
    after: str
    when: tuple[str, ...]
    verdict: Verdict | None
    reason: str
    why: str
    claims: str = ""
    weighs: str = ""
    decided: Mapping[str, int] = field(default_factory=dict)

    @property
    def stages(self) -> list[str]:
        """The stages after which it is tried."""
        return self.after.split(", ")

    @property
    def rule(self) -> str:
        """The rule of the audit under which it is shown."""
        if UNANNOUNCED in self.when:
            return UNANNOUNCED
        if self.claims and self.verdict in (Verdict.NO_SIGNAL, Verdict.BADTYPE):
            return LOOKALIKE
        return (
            "untested" if self.verdict in (None, Verdict.NO_SIGNAL, Verdict.BADTYPE) else self.verdict.value
        )


def observation(meaning: str, default: object = ()) -> Any:
    """Return a field of a dataclass that rows name, with what it means if there is anything in it."""
    return field(default=default, metadata={"meaning": meaning})


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows, in the order of stages and of priority."""
    data = tomllib.loads(TABLE.read_text("utf-8"))
    return tuple(_row(item) for item in data["row"])


def _row(item: Mapping[str, Any]) -> Row:
    ended = item["verdict"] == "ended"
    return Row(
        **{**item, "when": tuple(item["when"]), "verdict": None if ended else Verdict(item["verdict"])}
    )


def named(id_: str) -> Row:
    """Return the row with this id."""
    return next(row for row in rows() if row.id == id_)


def decide(stage: str, holds: Callable[[str], bool]) -> Row | None:
    """Return the first row of a stage whose conditions hold, None if there is none."""

    def fits(row: Row) -> bool:
        return all(holds(name.removeprefix(NOT)) is not name.startswith(NOT) for name in row.when)

    return next((row for row in rows() if stage in row.stages and fits(row)), None)


def rows_of_rule(rule: str) -> Iterator[str]:
    """Yield a line for each row that is shown under a rule of the behavior signal."""
    for row in rows():
        if row.rule == rule:
            conditions = ", ".join(row.when) or "nothing more"
            yield f"{row.id} (after {row.after}): {conditions}. {row.why}"
