"""Examples to learn from: injected comments written for this, ordinary ones too, and those of installed packages."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codeguard.reading import SegmentKind
from codeguard.reading.segments import segments_of

HERE = Path(__file__).parent
HARD = re.compile(
    r"\b(?:instruct\w*|prompt\w*|models?|assistants?|ignor\w*|system|users?|rules?|you must|do not|don't|please"
    r"|always|never)\b",
    re.IGNORECASE,
)
_FILES = 400  # read of one package
_CHOICE = re.compile(r"\{([^{}]*\|[^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Example:
    """A comment with the template (or file) that it comes from, which cross-validation keeps together."""

    text: str
    group: str
    injected: bool
    kind: str = "comment"


def templates(folder: str) -> Iterator[tuple[str, str]]:
    """Yield group and text of every template of a folder."""
    for path in sorted((HERE / folder).glob("*.txt")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line and not line.startswith("# "):
                yield f"{folder}/{path.stem}:{number}", line


def expanded(template: str, rng: random.Random) -> str:
    """Return a template with one of each choice."""
    while (match := _CHOICE.search(template)) is not None:
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    return " ".join(template.split())


def written(folder: str, times: int, seed: int) -> list[Example]:
    """Return examples made of the templates of a folder, each up to `times` times in different words."""
    rng = random.Random(seed)
    return [
        Example(text, group, folder == "injected")
        for group, template in templates(folder)
        for text in sorted({expanded(template, rng) for _ in range(times)})
    ]


def of_packages(roots: list[Path], limit: int, seed: int) -> list[Example]:
    """Return comments, docstrings and sentences in strings of Python packages: all hard ones and some others."""
    rng = random.Random(seed)
    hard: dict[str, Example] = {}
    other: dict[str, Example] = {}
    for root in roots:
        paths = sorted(root.rglob("*.py"))
        for path in rng.sample(paths, min(len(paths), _FILES)):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            for segment in segments_of(text, "python"):
                if segment.kind is SegmentKind.IDENTIFIER or segment.text.count(" ") < 3:
                    continue
                wanted = hard if HARD.search(segment.text) else other
                wanted.setdefault(
                    segment.text, Example(segment.text, str(root.name), False, segment.kind.value)
                )
    chosen = sorted(hard, key=lambda text: rng.random())[:limit]
    rest = sorted(other, key=lambda text: rng.random())[: limit // 2]
    return [hard[text] for text in chosen] + [other[text] for text in rest]
