"""Choose from the candidates of an attack one that is verified poison."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.attacks import Attack, PoisonFile, TargetFunction
from experiments.corpus.labels import FunctionLabel
from experiments.corpus.verify import SECONDS, Finding, verify

BATCH = 8
PREFERRED = {
    True: ("trigger", "effect", "input", "example"),
    False: ("example", "input", "trigger", "effect"),
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """A poison file and what shows that it is poison."""

    target: TargetFunction
    file: PoisonFile
    finding: Finding


def choose(
    target: TargetFunction,
    attack: Attack,
    seed: int,
    count: int = 1,
    used: Mapping[str, int] | None = None,
    seconds: float = SECONDS,
) -> list[Chosen]:
    """Return verified candidates of an attack, the variants least `used` so far first, each variant once.

    An adaptive attack is taken at its best: candidates that the known calls
    do not give away come first.
    """
    candidates = candidates_of(target, attack, seed)
    by_variant: dict[str, list[PoisonFile]] = {}
    for candidate in candidates:
        by_variant.setdefault(candidate.name, []).append(candidate)
    chosen: list[Chosen] = []
    for name in sorted(by_variant, key=lambda name: (used or {}).get(name, 0)):
        found = choose_variant(target, by_variant[name], attack.adaptive, seconds)
        if found is not None:
            chosen.append(found)
        if len(chosen) == count:
            break
    return chosen


def candidates_of(target: TargetFunction, attack: Attack, seed: int) -> list[PoisonFile]:
    """Return the candidates of an attack whose code parses.

    Source that no template can take apart (code in the line of the `def`,
    for instance) gives none.
    """
    try:
        found = attack.generate(target, seed)
    except (ValueError, SyntaxError, AssertionError, IndexError):
        return []
    return [candidate for candidate in found if parses(candidate.code)]


def choose_variant(
    target: TargetFunction, candidates: Sequence[PoisonFile], adaptive: bool, seconds: float = SECONDS
) -> Chosen | None:
    """Return the first candidate that is verified poison and shows as its kind should, else any that is."""
    rest: list[Chosen] = []
    for start in range(0, min(len(candidates), 3 * BATCH), BATCH):
        batch = candidates[start : start + BATCH]
        found = [
            Chosen(target, candidate, finding)
            for candidate, finding in zip(batch, verify(target, batch, seconds), strict=True)
            if finding.wrong
        ]
        best = [item for item in found if item.finding.shown in PREFERRED[adaptive][:2]]
        if best:
            return best[0]
        rest += found
    return rest[0] if rest else None


def labels_of(path: str, chosen: Chosen, *, verified: bool = True) -> list[FunctionLabel]:
    """Return the labels of every function of a stored poison file."""
    finding = chosen.finding
    attack, _, variant = chosen.file.name.partition("/")
    labels = []
    for label in chosen.file.labels:
        start, end = span_of(chosen.file.text, label.symbol)
        if not label.poisoned:
            labels.append(
                FunctionLabel(path, label.symbol, start, end, "poison", False, target=_known_as(label.target))
            )
            continue
        labels.append(
            FunctionLabel(
                path,
                label.symbol,
                start,
                end,
                "poison",
                True,
                target=label.target,
                attack=attack,
                variant=variant,
                shown=finding.shown if verified else "unverified",
                share=finding.share,
                call=_call(finding),
                expected=finding.expected,
                got=finding.got,
                verified=verified,
            )
        )
    return labels


def span_of(text: str, symbol: str) -> tuple[int, int]:
    """Return the first and last line of a top-level function, in a file that need not parse."""
    lines = text.split("\n")
    start = next(number for number, line in enumerate(lines, 1) if re.match(rf"def {symbol}\b", line))
    end = start
    for number in range(start + 1, len(lines) + 1):
        line = lines[number - 1]
        if line and not line.startswith((" ", "\t", ")")):
            break
        if line.strip():
            end = number
    return start, end


def _call(finding: Finding) -> str:
    if not finding.args:
        return ""
    return finding.args if finding.kwargs in ("", "{}") else f"{finding.args} {finding.kwargs}"


def _known_as(name: str) -> str:
    return "" if name.startswith("_") else name


def parses(text: str) -> bool:
    """Return whether a file parses as a whole."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
