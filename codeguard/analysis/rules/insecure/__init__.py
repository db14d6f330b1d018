"""Insecure code by CWE: every rule is a table in a TOML file of this folder, found by one pass over a file's calls and
nodes, and one over its data flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from codeguard.analysis import Reading
from codeguard.analysis.python.test_files import marked
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Match, rule_of
from codeguard.analysis.rules.insecure.base import Check, View
from codeguard.analysis.rules.insecure.flows import FlowIndex, FlowRow
from codeguard.analysis.rules.insecure.rows import Row, RowIndex
from codeguard.corpus.patterns import stored
from codeguard.workers.tasks import DeadlineError


def load_checks(path: Iterable[str]) -> tuple[Check, ...]:
    """Return the rules in the TOML files of some folders, each with its rows."""
    found: list[Check] = []
    for place in sorted(place for folder in path for place in Path(folder).glob("*.toml")):
        for id_, table in stored(place).items():
            if not isinstance(table, dict):
                continue  # a vocabulary
            flows = enumerate(table.get("flow", ()))
            found.append(
                Check(
                    rule_of(id_, table),
                    tuple(Row.read(row) for row in table.get("match", ())),
                    tuple(FlowRow.read(f"{id_}.{place}", row, table.get("from", {})) for place, row in flows),
                )
            )
    return tuple(found)


class RuleIndex:
    """The rules, indexed by the names and node types they apply to."""

    def __init__(self, checks: Iterable[Check]) -> None:
        self.checks = tuple(checks)
        self._rows = RowIndex((check, row) for check in self.checks for row in check.rows)
        self._flows = FlowIndex((check, row) for check in self.checks for row in check.flows)

    def inspect(self, reading: Reading) -> Iterator[Match]:
        """Yield the matches in a file, each rule once per position.

        Raises:
            DeadlineError: the time ran out, after what was found until then.
        """
        if reading.tree is None:
            return
        view = View(reading, self._flows.sinks)
        seen: dict[tuple[str, int, int], Match] = {}
        ended: DeadlineError | None = None
        try:
            _collect(reading.unread.apart("the rules that are rows", self._rows.found, view), seen)
            if self._flows:
                with reading.unread.alone("the data flow"):
                    view.flow.follow()
                _collect(self._flows.found(view), seen)
        except DeadlineError as error:
            ended = error
            with suppress(DeadlineError):  # what the data flow found in other functions until then
                _collect(self._flows.found(view), seen)
        yield from sorted(seen.values(), key=lambda item: (item.start, item.end, item.rule))
        if ended is not None:
            raise ended


def _collect(found: Iterable[Match], seen: dict[tuple[str, int, int], Match]) -> None:
    """Add the matches, of each rule the most severe one per position."""
    for match in found:
        key = (match.rule, match.start, match.end)
        known = seen.get(key)
        if known is None or (known.severity or 0) < (match.severity or 0):
            seen[key] = match


_ENGINE = RuleIndex(load_checks(__path__))


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    return (marked(reading, match) for match in _ENGINE.inspect(reading))


SIGNAL = FileSignal(
    "insecure",
    "insecure code, by CWE, with data flow inside the file",
    tuple(check.rule for check in _ENGINE.checks),
    _inspect,
)
