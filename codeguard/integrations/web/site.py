"""The site's answers, from one guard, one request at a time."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime

from codeguard.api import CodeGuard
from codeguard.errors import ConfigError, NothingToDoError
from codeguard.escaping import FinishedPage
from codeguard.index.workspace import Workspace
from codeguard.models import Trust
from codeguard.ranking.inventory import Inventory
from codeguard.ranking.reranking import Ranked
from codeguard.reports.html.page import file_id
from codeguard.reports.html.ranking import ranking_page
from codeguard.reports.html.site import (
    LONGEST_QUESTION,
    MODES,
    PageFrame,
    file_page,
    findings_page,
    overview_page,
)

MOST_RESULTS = 50
MOST_TRUSTED_FILES = 5  # trusted files that a file is compared with
READING_S = 10.0  # for reading the results about files, per answer


class Site:
    """The pages over a guard. Not thread-safe.

    Args:
        guard: an open guard; if its index fails it is closed, and reopened by the next request.
    """

    def __init__(self, guard: CodeGuard) -> None:
        self._guard = guard
        self._inventory: tuple[Workspace, Inventory] | None = None

    def frame(self) -> PageFrame:
        """Return the frame of a page created now."""
        return PageFrame(datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"))

    def close(self) -> None:
        """Release the index; the next request reopens it."""
        self._inventory = None
        self._guard.close()

    def map(self, asked: Mapping[str, str]) -> FinishedPage:
        """Return the map of the index."""
        workspace, inventory = self._opened()
        facts = {
            "chunks": f"{workspace.catalog.count():,}",
            "checked in": f"sandbox {workspace.level}" if workspace.level else "no sandbox",
        }
        overview = inventory.overview(READING_S)
        return overview_page(overview, facts, self.frame(), _warnings(workspace), workspace.trend)

    def findings(self, asked: Mapping[str, str]) -> FinishedPage:
        """Return the findings."""
        workspace, inventory = self._opened()
        return findings_page(inventory.overview(READING_S), self.frame(), _warnings(workspace))

    def search(self, asked: Mapping[str, str]) -> FinishedPage:
        """Return an answer with and without the defense; `q` is the query, `k` and `mode` are optional."""
        question, mode = asked.get("q", "").strip(), asked.get("mode", "rerank")
        if not question or len(question) > LONGEST_QUESTION:
            got = f"{len(question)} characters"
            raise ConfigError("this cannot be answered", got=got, expected=f"1 to {LONGEST_QUESTION}")
        if mode not in MODES:
            raise ConfigError("mode", got=repr(mode[:40]), expected=" or ".join(MODES))
        k = _count(asked.get("k", "5"))
        ranking = self._guard.query(question, k, mode=mode)
        frame = PageFrame(self.frame().made, question, k, mode)
        shown = "" if mode == "rerank" else f" --mode {mode}"
        return ranking_page(
            ranking,
            self._guard.settings.defense.required_level,
            command=f"codeguard query {shlex.quote(question)} -k {k}{shown}",
            made=frame.made,
            layout="site.html",
            frame=frame,
        )

    def file(self, asked: Mapping[str, str]) -> FinishedPage:
        """Return the page of the file `id`."""
        workspace, inventory = self._opened()
        path = _path_of(workspace, asked.get("id", ""))
        chunks = inventory.chunks(path)
        required = workspace.settings.defense.required_level
        return file_page(
            path, chunks, _counterparts(workspace, inventory, chunks), required, workspace.level, self.frame()
        )

    def _opened(self) -> tuple[Workspace, Inventory]:
        """Return the current index, even if it was changed or replaced meanwhile."""
        workspace = self._guard.workspace
        workspace.refresh()
        if self._inventory is None or self._inventory[0] is not workspace:
            self._inventory = workspace, Inventory(workspace)
        return self._inventory


def _warnings(workspace: Workspace) -> list[str]:
    lines = list(dict.fromkeys(workspace.warnings))
    if workspace.under_way():
        lines.append("the index is being made: not all of it is known yet")
    return lines


def _count(given: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) <= 3 and 1 <= int(given) <= MOST_RESULTS):
        raise ConfigError("k", got=repr(given[:40]), expected=f"1 to {MOST_RESULTS}")
    return int(given)


def _path_of(workspace: Workspace, given: str) -> str:
    for path in workspace.catalog.paths():
        if file_id(path) == given:
            return path
    raise NothingToDoError("no such file in the index", hint="it may have left the index meanwhile")


def _counterparts(workspace: Workspace, inventory: Inventory, chunks: Sequence[Ranked]) -> list[Ranked]:
    """Return the trusted chunks of the files that the evidence names."""
    reasons = " ".join(part.reason for item in chunks if item.standing for part in item.evidence)
    trusted = () if workspace.manifest is None else workspace.manifest.files
    paths = [path for path in trusted if f"{path}:" in reasons][:MOST_TRUSTED_FILES]
    return [own for path in paths for own in inventory.chunks(path) if own.trust is Trust.TRUSTED]
