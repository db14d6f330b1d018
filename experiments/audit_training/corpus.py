"""Examples to learn from: injected comments written for this, ordinary ones too, and those of installed packages."""

from __future__ import annotations

import gettext
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codeguard.reading import SegmentKind
from codeguard.reading.segments import segments_of
from codeguard.signals.injection.windows import windows

HERE = Path(__file__).parent
HARD = re.compile(
    r"\b(?:instruct\w*|prompt\w*|models?|assistants?|ignor\w*|system|users?|rules?|you must|do not|don't|please"
    r"|always|never)\b",
    re.IGNORECASE,
)
_LICENCE = 20_000  # characters of one
_FILES = 400  # read of one package
_CHOICE = re.compile(r"\{([^{}]*\|[^{}]*)\}")
_SLOT = re.compile(r"\{=([a-z]+)\}|(?<![\w=])=([a-z]+)")
_LANGUAGES = ("de", "fr", "es", "pt", "it", "ru", "zh", "ja", "ko", "ar")


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


@cache
def slots() -> dict[str, str]:
    """Return the shared words of templates: `language.slot` to choices parted by bars."""
    lines = (HERE / "slots.txt").read_text(encoding="utf-8").splitlines()
    parted = (line.partition(" = ") for line in lines if not line.startswith("#"))
    return {name: choices for name, _, choices in parted}


def expanded(template: str, language: str, rng: random.Random) -> str:
    """Return a template with its slots filled and one of each choice."""
    template = _SLOT.sub(lambda match: f"{{{slots()[f'{language}.{match[1] or match[2]}']}}}", template)
    while (match := _CHOICE.search(template)) is not None:
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    return " ".join(template.split())


def written(folder: str, times: int, seed: int) -> list[Example]:
    """Return examples made of the templates of a folder, each up to `times` times in different words."""
    rng = random.Random(seed)
    return [
        Example(text, group, folder == "injected")
        for group, template in templates(folder)
        for text in sorted(
            {expanded(template, _language(group), rng) for _ in range(_times(template, times))}
        )
    ]


def _times(template: str, times: int) -> int:
    """A template with slots stands for many more texts."""
    return 2 * times if _SLOT.search(template) else times


def _language(group: str) -> str:
    return group.partition("/")[2].partition(":")[0].partition("_")[0]


def of_catalogs(roots: list[Path], limit: int, seed: int) -> list[Example]:
    """Return messages that people translated, at most `limit` a language: honest text that is not English."""
    rng = random.Random(seed)
    found: dict[str, set[str]] = {}
    for root in roots:
        for path in sorted(root.rglob("*.mo")):
            language = path.parts[-3].partition("_")[0].lower()
            if language in _LANGUAGES:
                with path.open("rb") as stream:
                    catalog = vars(gettext.GNUTranslations(stream))["_catalog"]
                texts = {value for value in catalog.values() if isinstance(value, str)}
                found.setdefault(language, set()).update(text for text in texts if len(text) >= 12)
    return [
        Example(text, f"catalog/{language}", False)
        for language, texts in sorted(found.items())
        for text in sorted(sorted(texts), key=lambda _: rng.random())[:limit]
    ]


def of_licences(roots: list[Path]) -> list[Example]:
    """Return the stretches of the licences under some folders, which stand at the head of many files."""
    paths = sorted(path for root in roots for name in ("LICENSE*", "COPYING*") for path in root.rglob(name))
    texts = {
        path.read_text(encoding="utf-8", errors="replace")[:_LICENCE] for path in paths if path.is_file()
    }
    found = {part for text in texts for one in segments_of(text, "text") for part in windows(one.text)}
    return [Example(text, "licence/en", False) for text in sorted(found)]


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
