"""Say a documented purpose in other words, by rules and a seed: no question repeats the sentence it came from."""

from __future__ import annotations

import re
from random import Random

SYNONYMS: dict[str, tuple[str, ...]] = {
    "add": ("append", "put in"),
    "all": ("every one of the",),
    "argument": ("parameter",),
    "arguments": ("parameters",),
    "bytes": ("binary data",),
    "build": ("put together", "make"),
    "calculate": ("work out", "compute"),
    "call": ("invoke",),
    "callable": ("function",),
    "character": ("letter",),
    "characters": ("letters",),
    "check": ("find out", "test"),
    "checks": ("tests",),
    "collection": ("group of items",),
    "compute": ("work out", "calculate"),
    "contains": ("has", "includes"),
    "convert": ("turn", "change"),
    "converts": ("turns", "changes"),
    "create": ("make", "set up"),
    "creates": ("makes", "sets up"),
    "current": ("present",),
    "default": ("fallback",),
    "delete": ("remove", "drop"),
    "dict": ("mapping",),
    "dictionary": ("mapping",),
    "directory": ("folder",),
    "element": ("item",),
    "elements": ("items",),
    "escape": ("quote",),
    "file": ("document on disk",),
    "filename": ("name of a file",),
    "find": ("look up", "locate"),
    "first": ("leading",),
    "format": ("render", "lay out"),
    "function": ("routine",),
    "generate": ("produce",),
    "get": ("obtain", "fetch"),
    "header": ("header field",),
    "iterable": ("series of items",),
    "iterate": ("loop",),
    "join": ("glue together", "combine"),
    "last": ("final",),
    "list": ("sequence", "array"),
    "make": ("create", "build"),
    "merge": ("combine",),
    "name": ("label",),
    "number": ("numeric value",),
    "numbers": ("numeric values",),
    "object": ("thing", "instance"),
    "objects": ("things", "instances"),
    "open": ("open up",),
    "output": ("what is printed",),
    "parse": ("read", "interpret"),
    "parses": ("reads", "interprets"),
    "path": ("location",),
    "print": ("show", "write out"),
    "prompt": ("ask the user",),
    "prompts": ("asks the user",),
    "provided": ("passed",),
    "quote": ("escape",),
    "raise": ("throw",),
    "read": ("load",),
    "remove": ("strip", "drop", "get rid of"),
    "removes": ("strips", "drops"),
    "replace": ("swap", "substitute"),
    "request": ("incoming call",),
    "response": ("reply",),
    "result": ("outcome",),
    "return": ("give back", "get"),
    "returns": ("gives back", "yields"),
    "sequence": ("list",),
    "show": ("display",),
    "shows": ("displays",),
    "single": ("lone",),
    "size": ("length",),
    "sort": ("order",),
    "specified": ("chosen",),
    "split": ("cut up", "break up"),
    "splits": ("cuts up", "breaks up"),
    "start": ("beginning",),
    "string": ("text", "piece of text"),
    "strings": ("texts",),
    "takes": ("accepts",),
    "test": ("check",),
    "text": ("string",),
    "transform": ("change", "turn"),
    "type": ("kind",),
    "unicode": ("non-ASCII",),
    "url": ("web address",),
    "urls": ("web addresses",),
    "use": ("apply",),
    "user": ("person",),
    "value": ("entry",),
    "values": ("entries",),
    "width": ("number of columns",),
    "wrap": ("enclose",),
    "write": ("save", "put"),
}
HOW = (
    "how do I {phrase}?",
    "what is the way to {phrase} here",
    "is there a helper to {phrase}",
    "need to {phrase}, which function?",
    "{phrase}",
    "python: {phrase}",
)
NOUNS = ("looking for: {}", "which code is this: {}", "where do we have this? {}")
NO_VERBS = frozenset(
    """
    a an the this that these it its like if when same helper decorator true false given alias property factory
    method class function one two all any no not in on at for with by to from as is are dict list string name
    value values base default http url simple variant version optional whether which what number here internal
    utility shorthand shortcut equivalent similar context command-line python each every there you we i some
    """.split()  # noqa: SIM905
)
ISSUES = (
    "I have {names} and would like to {phrase}. I wrote this by hand again; do we not have code for it?",
    "Feature request: given {names}, {phrase}. Please point me to what exists.",
    "Bug triage: which code is meant to {phrase} when it gets {names}?",
    "A colleague needs to {phrase} (input: {names}) and found nothing in the docs.",
)
SYMBOLS = ("where is {name} defined", "{name}", "definition of {name}", "{words} function", "{name}() source")
ERRORS = ("{error}: {message}", 'what raises "{message}"', "Traceback ends with {error}: {message}")
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
        return rng.choice(NOUNS).format(reworded(phrase, rng))
    return rng.choice(HOW).format(phrase=reworded(imperative(phrase), rng))


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
    return rng.choice(ISSUES).format(phrase=reworded(imperative(phrase), rng), names=shown)


def symbol(name: str, rng: Random) -> str:
    """Return a look-up of a name."""
    words = " ".join(re.findall(r"[A-Za-z][a-z]*|\d+", name)).lower()
    return rng.choice(SYMBOLS).format(name=name, words=words)


def error(kind: str, message: str, rng: Random) -> str:
    """Return what a person pastes who met an error."""
    return rng.choice(ERRORS).format(error=kind, message=message)
