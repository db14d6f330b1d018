"""Examples to learn from: injected comments written for this, ordinary ones too, and those of installed packages."""

from __future__ import annotations

import gettext
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codeguard.analysis import SegmentKind
from codeguard.analysis.rules.injection import windows
from codeguard.analysis.rules.injection.features import tokens_of
from codeguard.analysis.rules.injection.model import may_order
from codeguard.analysis.text.segments import segments_of

HERE = Path(__file__).parent
OURS = HERE.parent.parent
_RULES = OURS / "codeguard" / "analysis" / "rules"
HARD = re.compile(r"\b(?:instruct\w*|prompt\w*|models?|assistants?|ignor\w*|system)\b", re.IGNORECASE)
_LICENCE = 20_000  # characters of one
_FILES = 300  # read of one package
_LONGEST = 200_000  # characters of one file
_STRETCHES = 30  # of one text
_CHOICE = re.compile(r"\{([^{}]*\|[^{}]*)\}")
_SLOT = re.compile(r"\{=([a-z]+)\}|(?<![\w=])=([a-z]+)")
_LANGUAGES = ("de", "fr", "es", "pt", "it", "ru", "zh", "ja", "ko", "ar")


@dataclass(frozen=True, slots=True)
class Example:
    """A comment with where it comes from, which cross-validation keeps together.

    `group` is its template (or file), `voice` the file of the template,
    whose words are of one writer, `register` how it speaks, `goals` what it
    asks for (empty where the file does not say).
    """

    text: str
    group: str
    injected: bool
    kind: str = "comment"
    register: str = ""
    goals: frozenset[str] = frozenset()

    @property
    def voice(self) -> str:
        """The file of the template."""
        return self.group.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Template:
    """A line of a voice: `slots` are its words by name, each with what they ask for."""

    text: str
    group: str
    register: str
    slots: Mapping[str, Sequence[tuple[str, str]]]

    def expanded(self, rng: random.Random) -> tuple[str, frozenset[str]]:
        """Return the text with its slots filled and one of each choice, and what it asks for."""
        goals: set[str] = set()

        def fill(match: re.Match[str]) -> str:
            goal, choices = rng.choice(self.slots[match[1] or match[2]])
            goals.add(goal)
            return f"{{{choices}}}" if "|" in choices else choices

        text = _SLOT.sub(fill, self.text)
        while (match := _CHOICE.search(text)) is not None:
            text = text[: match.start()] + rng.choice(match[1].split("|")) + text[match.end() :]
        return " ".join(text.split()), frozenset(goals - {""})


def templates(folder: str) -> Iterator[Template]:
    """Yield every template of a folder.

    A line `@slot/goal = a|b` gives words to the templates of its file,
    `# register: name` says how those below it speak.
    """
    for path in sorted((HERE / folder).glob("*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        slots = _slots_of(lines, path.stem.partition("_")[0])
        register = ""
        for number, line in enumerate(lines, 1):
            if line.startswith("# register: "):
                register = line.removeprefix("# register: ")
            elif line and not line.startswith(("# ", "@")):
                yield Template(line, f"{folder}/{path.stem}:{number}", register, slots)


def _slots_of(lines: Sequence[str], language: str) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for name, choices in _shared().items():
        if name.startswith(f"{language}."):
            found[name.partition(".")[2]] = [("", choices)]
    for line in lines:
        name, _, choices = line.partition(" = ")
        if line.startswith("@") and choices:
            slot, _, goal = name[1:].partition("/")
            found.setdefault(slot, []).append((goal, choices))
    return found


@cache
def _shared() -> dict[str, str]:
    """Return the words that files share: `language.slot` to choices parted by bars."""
    lines = (HERE / "slots.txt").read_text(encoding="utf-8").splitlines()
    parted = (line.partition(" = ") for line in lines if not line.startswith("#"))
    return {name: choices for name, _, choices in parted}


def written(folder: str, times: int, seed: int) -> list[Example]:
    """Return examples made of the templates of a folder, each up to `times` times in different words.

    A template with slots stands for many more texts and counts double.
    """
    rng = random.Random(seed)
    found = []
    for template in templates(folder):
        count = 2 * times if _SLOT.search(template.text) else times
        texts = dict(template.expanded(rng) for _ in range(count))
        found += [
            Example(
                text, template.group, folder in ("injected", "probe"), register=template.register, goals=goals
            )
            for text, goals in sorted(texts.items())
        ]
    return found


def of_authors() -> list[Example]:
    """Return the texts of independent authors, orders as well as honest ones, each author a voice of both folders."""
    return [
        Example(
            row["text"],
            f"{'injected' if row['bad'] else 'ordinary'}/{path.stem}:{number}",
            row["bad"],
            register=row["place"],
        )
        for path in sorted((HERE / "orders").glob("*.jsonl"))
        for number, row in enumerate(map(json.loads, path.read_text(encoding="utf-8").splitlines()), 1)
    ]


def of_catalogs(root: Path, limit: int, seed: int) -> list[Example]:
    """Return messages that people translated, at most `limit` a language: honest text that is not English."""
    rng = random.Random(seed)
    found: dict[str, set[str]] = {}
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


def of_licences(root: Path) -> list[Example]:
    """Return the stretches of the licences under a folder, which stand at the head of many files."""
    paths = sorted(path for name in ("LICENSE*", "COPYING*") for path in root.rglob(name))
    texts = {
        path.read_text(encoding="utf-8", errors="replace")[:_LICENCE] for path in paths if path.is_file()
    }
    found = {part for text in texts for one in segments_of(text, "text") for part in windows(one.text)}
    return [Example(text, "licence/en", False) for text in sorted(found)]


def of_package(root: Path, seen: set[str]) -> Iterator[Example]:
    """Yield the comments, docstrings and sentences in strings of a Python package that were not seen before."""
    rng = random.Random(root.name)
    paths = sorted(root.rglob("*.py"))
    for path in rng.sample(paths, min(len(paths), _FILES)):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for segment in segments_of(text[:_LONGEST], "python"):
            if segment.kind is SegmentKind.IDENTIFIER or segment.text.count(" ") < 3 or segment.text in seen:
                continue
            seen.add(segment.text)
            yield Example(segment.text, root.name, False, segment.kind.value)


def of_our_code() -> list[Example]:
    """Return the stretches of this project's own comments and docstrings that may be orders, without its rules.

    Like the orders and unlike most packages they are by a language model, so that its style tells nothing.
    """
    found: dict[str, Example] = {}
    for path in sorted(path for name in ("codeguard", "experiments") for path in (OURS / name).rglob("*.py")):
        if _RULES in path.parents:
            continue
        for segment in segments_of(path.read_text(encoding="utf-8"), "python"):
            if segment.kind in (SegmentKind.COMMENT, SegmentKind.DOCSTRING):
                for part in stretches(Example(segment.text, "", False)):
                    if may_order(part, tokens_of(part)):
                        found[part] = Example(part, f"ordinary/ours:{path.stem}", False)
    return list(found.values())


def stretches(one: Example) -> list[str]:
    """Return what is weighed of an example, some of it where it is long."""
    found = list(dict.fromkeys(windows(one.text)))
    return random.Random(len(one.text)).sample(found, min(len(found), _STRETCHES))
