"""Strings a small step away from another: characters, words, numbers inside, brackets, one template."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from codeguard.behavior.pools import Pool
from codeguard.behavior.shapes import Texts
from codeguard.behavior.texts import BRACKETS

MAX_PLACES = 6
STRUCTURED = re.compile(r"\d[^\w\s]\d")  # numbers joined by signs: dates, versions, ranges, clock times


def mutate_text(value: str, texts: Texts | None, pool: Pool, random: Random) -> str:
    """Return a string a small step away from another one, within its template where it has one."""
    characters = (
        sorted(texts.characters) if texts is not None and texts.characters else sorted(set(value)) or ["a"]
    )
    near = sorted(set(value)) or characters
    if texts is not None and texts.choices is not None:
        return random.choice(sorted(texts.choices))
    templated = texts is not None and texts.template is not None
    if random.random() < (0.8 if templated else 0.5) and (templated or STRUCTURED.search(value)):
        return _same_template(value, characters, pool, random)
    if texts is not None and texts.balanced and random.random() < 0.7:
        return _mutate_balanced(value, sorted(texts.balanced), random)
    place = random.randint(0, len(value))
    other = random.choice([text for text in (*pool.seen, *pool.literals) if isinstance(text, str)] or [value])
    one = random.choice(near if random.random() < 0.5 else characters)
    start, end = sorted((random.randint(0, len(value)), random.randint(0, len(value))))
    if random.random() < 0.2 and (changed := _number_inside(value, pool, random)) is not None:
        return changed
    steps = [
        value[:place] + one + value[place:],
        value[: max(0, place - 1)] + value[place:],
        value[: max(0, place - 1)] + one + value[place:],
        value[:end] + value[start:],
        value[:start] + value[end:],
        value + other,
        value[place:] + value[:place],
        value[::-1],
        value.swapcase(),
        value + value[::-1],
        value[:place] + one * random.randint(1, 4) + value[place:],
    ]
    if " " in value:
        parts = value.split(" ")
        random.shuffle(parts)
        steps += [" ".join(parts), " ".join(parts[:-1]), " ".join((*parts, random.choice(parts)))]
    return random.choice(steps)


def _same_template(value: str, characters: Sequence[str], pool: Pool, random: Random) -> str:
    """Change letters and digits and leave every other character where it is."""
    if random.random() < 0.5:
        changed = _number_inside(value, pool, random)
        if changed is not None:
            return changed
    digits = [char for char in characters if char.isdigit()] or ["0", "1"]
    letters = [char for char in characters if char.isalpha()] or ["a", "b"]
    share = random.choice((0.1, 0.5))
    made = []
    for char in value:
        keep = random.random() >= share or not char.isalnum()
        made.append(char if keep else random.choice(digits if char.isdigit() else letters))
        if char.isalnum() and random.random() < 0.05:
            made.append(made[-1])
    return "".join(made)


def numbers_inside(value: str, literals: Sequence[object]) -> Iterator[str]:
    """Yield a string with each number that it spells out replaced by those at the edge of what is known."""
    known = sorted({item for item in literals if type(item) is int and 0 <= item < 10**6})
    edges = dict.fromkeys([0, 1, *(known[-1:] and (known[-1] + 1, known[-1])), 99])
    places = list(re.finditer(r"\d+", value))[:MAX_PLACES]
    for number in edges:
        for place in places:
            text = str(number).zfill(len(place.group()))
            yield value[: place.start()] + text + value[place.end() :]


def _number_inside(value: str, pool: Pool, random: Random) -> str | None:
    """Change one of the numbers that a string spells out, to small ones and to known limits above all."""
    places = list(re.finditer(r"\d+", value))
    if not places:
        return None
    place = random.choice(places)
    numbers = [item for item in pool.literals if type(item) is int and 0 <= item < 10**9]
    near = int(place.group()[:15]) + random.choice((-1, 1))
    chosen = random.choice(
        [0, 1, max(0, near), random.randint(0, 99)]
        + ([max(0, random.choice(numbers) + random.choice((-1, 0, 1)))] * 2 if numbers else [])
    )
    text = str(chosen).zfill(len(place.group())) if random.random() < 0.7 else str(chosen)
    return value[: place.start()] + text + value[place.end() :]


def _mutate_balanced(value: str, openings: Sequence[str], random: Random) -> str:
    opening = random.choice(openings)
    start, end = sorted((random.randint(0, len(value)), random.randint(0, len(value))))
    steps = [
        value[:start] + opening + BRACKETS[opening] + value[start:],
        opening + value + BRACKETS[opening],
        value[:start] + opening + value[start:end] + BRACKETS[opening] + value[end:],
        value.replace(opening + BRACKETS[opening], "", 1),
        value + value,
        " ".join(reversed(value.split(" "))),
    ]
    return random.choice(steps)
