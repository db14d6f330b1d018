"""Say a documented purpose in other words, by rules and a seed: no question repeats the sentence it came from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from random import Random

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SYNONYMS: dict[str, list[str]] = _WORDS["synonyms"]
NO_VERBS = frozenset(_WORDS["no_verbs"]["words"])
FORMS: dict[str, list[str]] = _WORDS["forms"]
LONGEST_PHRASE = 24  # words


def plain_sentence(docstring: str) -> str:
    """Return the first sentence of a docstring without markup, in lower case at its beginning."""
    text = re.sub(r":\w+:`~?\.?([^`]*)`", lambda found: found.group(1).rpartition(".")[2], docstring)
    text = re.sub(r"[`*|]|\s::", "", text.split("\n\n")[0])
    text = re.sub(r"\s+", " ", text).strip()
    sentence = re.split(r"(?<=[a-z0-9)]{2})[.:;](?:\s|$)", text)[0]
    words = sentence.split()[:LONGEST_PHRASE]
    if words and (len(words[0]) == 1 or not words[0].isupper()):
        words[0] = words[0][:1].lower() + words[0][1:]
    return " ".join(words).strip(" .,:;")


def reworded(phrase: str, rng: Random) -> str:
    """Return a phrase with the words that have synonyms replaced, most of them, at least one where there is any."""
    words = phrase.split()
    places = [place for place, word in enumerate(words) if _bare(word) in SYNONYMS]
    rng.shuffle(places)
    for place in places[: max(1, round(0.8 * len(places)))]:
        bare = _bare(words[place])
        words[place] = words[place].lower().replace(bare, rng.choice(SYNONYMS[bare]))
    return " ".join(words)


def _bare(word: str) -> str:
    return word.lower().strip(".,;:()'\"")


def imperative(phrase: str) -> str:
    """Return a phrase with its first verb in the base form: "returns a list" becomes "return a list"."""
    first, _, rest = phrase.partition(" ")
    if first.endswith("ss") or first in ("this", "is", "has", "as", "does", "its", "always"):
        return phrase
    if first.endswith("ies"):
        first = f"{first[:-3]}y"
    elif re.search(r"(?:ss|x|z|ch|sh)es$", first):
        first = first[:-2]
    elif first.endswith("s"):
        first = first[:-1]
    return f"{first} {rest}".strip()


def is_instruction(phrase: str) -> bool:
    """Return whether a phrase begins with a verb, as far as the words at the beginning of other phrases tell."""
    first = phrase.partition(" ")[0]
    return first not in NO_VERBS and not first.endswith("ly") and "-" not in first and first.isalpha()


def how(docstring: str, rng: Random) -> str:
    """Return a question for the purpose that a docstring tells."""
    phrase = plain_sentence(docstring)
    if not is_instruction(phrase):
        return rng.choice(FORMS["nouns"]).format(reworded(phrase, rng))
    return rng.choice(FORMS["how"]).format(phrase=reworded(imperative(phrase), rng))


def purpose(docstring: str, rng: Random) -> str:
    """Return the purpose that a docstring tells in other words, without a question around it."""
    phrase = plain_sentence(docstring)
    return reworded(imperative(phrase) if is_instruction(phrase) else phrase, rng)


def issue(docstring: str, names: list[str], rng: Random) -> str:
    """Return an issue-like description: what somebody has, and what is wanted of it; empty where that is not told."""
    phrase = plain_sentence(docstring)
    if not names or not is_instruction(phrase):
        return ""
    shown = ", ".join(name.replace("_", " ") for name in names[:3])
    return rng.choice(FORMS["issues"]).format(phrase=reworded(imperative(phrase), rng), names=shown)


def symbol(name: str, rng: Random) -> str:
    """Return a look-up of a name."""
    words = " ".join(re.findall(r"[A-Za-z][a-z]*|\d+", name)).lower()
    return rng.choice(FORMS["symbols"]).format(name=name, words=words)


def error(kind: str, message: str, rng: Random) -> str:
    """Return what a person pastes who met an error."""
    return rng.choice(FORMS["errors"]).format(error=kind, message=message)
