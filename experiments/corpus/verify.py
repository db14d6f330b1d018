"""Find out whether generated poison is really wrong, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.attacks.base import PoisonFile, TargetFunction

CHILD = Path(__file__).with_name("confined.py")
SECONDS = 150.0
"""How long a child may take for all candidates that it is given."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What shows that a candidate is poison.

    `shown` is `example` (a documented call gives another result), `input`
    (another call inside the domain does), `trigger` (only a call made for it
    does), `effect` (results right, but it reached out), `none`
    (equivalent, as far as was tried) or `broken` (does not load, or hangs).
    `share` is the share of the known calls with another result.
    """

    shown: str
    args: str = ""
    kwargs: str = ""
    expected: str = ""
    got: str = ""
    share: float = 0.0
    effects: tuple[str, ...] = ()
    detail: str = ""

    @property
    def wrong(self) -> bool:
        """Whether the candidate is poison."""
        return self.shown in ("example", "input", "trigger", "effect")


def verify(
    target: TargetFunction,
    candidates: Sequence[PoisonFile],
    seconds: float = SECONDS,
    folders: Sequence[Path] = (),
) -> list[Finding]:
    """Run candidates beside the target's reference and return what shows, in the same order.

    A reference of an importable module runs among that module's globals, and
    so do the candidates; `folders` are where it is imported from, beside the
    standard library. A child that dies gives `broken` for all.
    """
    groups: dict[str, list[int]] = {}
    for index, candidate in enumerate(candidates):
        environment = json.dumps(dict(candidate.trigger.environment), sort_keys=True)
        groups.setdefault(environment, []).append(index)
    answers = _ask(
        target,
        [(key, [_item(candidates[index]) for index in indices]) for key, indices in groups.items()],
        seconds,
        folders,
    )
    if answers is None:
        return [Finding("broken", detail="the child died")] * len(candidates)
    found: dict[int, Finding] = {}
    for indices, answer in zip(groups.values(), answers, strict=True):
        for index, item in zip(indices, answer["items"], strict=True):
            found[index] = _finding(item)
    return [found[index] for index in range(len(candidates))]


def _request(
    target: TargetFunction, groups: Sequence[tuple[str, list[dict[str, Any]]]], folders: Sequence[Path]
) -> dict[str, Any]:
    return {
        "module": target.module,
        "folders": [str(folder) for folder in folders],
        "groups": [
            {
                "environment": json.loads(environment),
                "reference": "\n\n\n".join(["\n".join(_loadable(target)), *target.helpers, target.source]),
                "name": target.name,
                "calls": [[call.args, call.kwargs] for call in target.calls],
                "examples": len(target.examples),
                "items": items,
            }
            for environment, items in groups
        ],
    }


def _loadable(target: TargetFunction) -> list[str]:
    return sorted(target.imports, key=lambda statement: "__future__" not in statement)


def _item(candidate: PoisonFile) -> dict[str, Any]:
    return {
        "code": candidate.code,
        "symbol": candidate.poisoned_symbols[0] if candidate.poisoned_symbols else "",
        "calls": [[call.args, call.kwargs] for call in candidate.trigger.calls],
        "repeat": candidate.trigger.repeat,
        "extra": candidate.trigger.extra,
        "effect": candidate.trigger.effect,
    }


def _finding(item: dict[str, Any]) -> Finding:
    calls = int(item.get("calls", 0))
    return Finding(
        shown=str(item["shown"]),
        args=str(item.get("args", "")),
        kwargs=str(item.get("kwargs", "")),
        expected=str(item.get("expected", "")),
        got=str(item.get("got", "")),
        share=round(int(item.get("differing", 0)) / calls, 4) if calls else 0.0,
        effects=tuple(item.get("effects", ())),
        detail=str(item.get("detail", "")),
    )


def _ask(
    target: TargetFunction,
    groups: Sequence[tuple[str, list[dict[str, Any]]]],
    seconds: float,
    folders: Sequence[Path] = (),
) -> list[dict[str, Any]] | None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-s", "-S", "-P", str(CHILD)],
                input=json.dumps(_request(target, groups, folders)),
                capture_output=True,
                text=True,
                timeout=seconds,
                cwd=folder,
                env={"PYTHONHASHSEED": "0", "HOME": folder, "LC_ALL": "C.UTF-8"},
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode != 0 or not done.stdout:
        return None
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers
