"""Features of instructions: concepts, their order, markers such as chat templates and commands, and the wording.

The wording is n-grams of words and letters, each as an index.
"""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from codeguard.corpus.patterns import lazy

CONCEPTS: dict[str, str] = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text("utf-8"))
"""Concept to its words in two dozen languages, separated by whitespace."""

_SPECIAL = r"<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>|<start_of_turn>"
_ROLE_TAG = r"</?(?:system|assistant|user|human)(?:_[a-z]+)?>"
_WHO = r"(?:system|assistant|human|user|ai|llm|copilot|admin)"
_MODEL = r"(?:ai|llm|language model|assistant|model|bot|agent|copilot)"
_OTHER_MODEL = (
    r"wenn du eine? |si (?:tu es|vous êtes|eres|você é) |если (?:ты|вы) |如果你是|あなたが.{1,10}なら|당신이"
)

_PATTERNS = {
    "chat": lazy(rf"{_SPECIAL}|{_ROLE_TAG}", re.IGNORECASE),
    "tool": lazy(
        r"</?(?:tool|function)_?(?:result|call|response|output)s?>|\[tool[ _]|tool (?:output|result):",
        re.IGNORECASE,
    ),
    "turn": lazy(rf"(?:^|\n|[>)\]}}.] ?)\W{{0,4}}{_WHO}(?: \w+)? ?:", re.IGNORECASE),
    "header": lazy(
        r"(?:^|\n)\s*#{2,4}\s*(?:system|instruction|response|human|assistant|new task)", re.IGNORECASE
    ),
    "shout": lazy(r"\b(?:IMPORTANT|ATTENTION|SYSTEM|OVERRIDE|PRIORITY|URGENT|MUST|ALWAYS|NEVER|IGNORE)\b"),
    "address": lazy(r"https?://|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w.-]+@[\w-]+\.\w"),
    "act": lazy(
        r"\b(?:pip|npm|cargo) install\b|\bcurl |\bwget |os\.system|\beval\(|\bexec\(|rm -rf|\.ssh\b|id_rsa"
        r"|=False\b|=True\b|\bmd5\b"
    ),
    "self": lazy(
        rf"\b(?:if|as|since|when) (?:you(?: are|'re)?,? )?(?:an? |the )?(?:\w+ )?{_MODEL}\b|{_OTHER_MODEL}",
        re.IGNORECASE,
    ),
    "boundary": lazy(
        r"</(?:context|document|docs?|code|instructions?)>|-{3,} ?end of|end of (?:context|document)",
        re.IGNORECASE,
    ),
}


REACH = 7  # words between the two concepts of a pair
STEM = 6  # significant letters of a word
_STEMS = range(2, 14)
LONGEST_RUN = 100  # ideographs of a run whose pairs are used

_WIDE = r"\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff"
_INDIC = r"\u0900-\u0963\u0971-\u0e4e"  # scripts whose vowel signs are not letters for `re`
_WORD = rf"(?:[^\W\d_{_WIDE}]|[{_INDIC}]){{1,64}}"  # longer tokens are not words; the results are cached
_TOKEN = lazy(
    rf"\b(?:md5|sha1|pickle\.loads|yaml\.load)\b|{_WORD}(?:['’-]{_WORD}){{0,8}}"
    rf"|[{_WIDE}]{{1,400}}|https?://|verify\s?=\s?false|\.env\b|[.!?:;,。！？：；，।]"
)
_CJK = lazy("[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")
_ARABIC = lazy("[\u0620-\u06ff]")
_VOWELS = lazy("[\u064b-\u0652\u0640]")
_LETTERS = str.maketrans("أإآةى", "اااهي")
_PREFIXES = ("و", "ف", "ب", "ل", "ك", "ال", "وال", "بال", "فال", "كال", "لل", "ولل", "س", "ست", "وس")
_END = frozenset(".!?。！？।")
_LONGEST_CJK = 6

_GROUPS = {
    "A": frozenset({"addressee", "machine", "you"}),
    "D": frozenset({"override", "recommend", "insert", "disable", "leak", "role"}),
    "T": frozenset({"always", "never", "when", "polite", "secrecy"}),
    "O": frozenset({"artifact", "instruction", "safety", "sensitive", "answer", "person", "prior", "risk"}),
}  # addressee, directive, tone, object
_VERBS = frozenset(
    {"override", "recommend", "insert", "leak", "disable", "tell", "never", "always", "role", "polite"}
)


def is_wide(token: str) -> bool:
    """Return whether a token is a run of ideographs or syllables without spaces."""
    return token[0] >= "\u2e80" and _CJK.match(token) is not None


def tokens_of(text: str) -> list[str]:
    """Return words, runs of ideographs and sentence marks in lower case."""
    return _TOKEN.findall(text.lower())


def _bare(word: str) -> str:
    """Return an Arabic word without vowel signs and spelling variants."""
    return _VOWELS.sub("", word).translate(_LETTERS)


def _stripped(word: str) -> Iterator[str]:
    """Yield an Arabic word without attached particles (and, by, for, the)."""
    word = _bare(word)
    yield word
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= 3:
            yield word[len(prefix) :]
            yield "ال" + word[len(prefix) :]


@cache
def _tables() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Return the concepts of whole words (and ideographs), and of stems."""
    words: dict[str, set[str]] = {}
    stems: dict[str, set[str]] = {}
    for concept, text in CONCEPTS.items():
        for entry in map(_bare, text.lower().split()):
            table = stems if entry.endswith("*") else words
            table.setdefault(entry.removesuffix("*"), set()).add(concept)
    return (
        {word: frozenset(found) for word, found in words.items()},
        {stem: frozenset(found) for stem, found in stems.items()},
    )


@lru_cache(maxsize=50_000)
def concepts_of(word: str) -> frozenset[str]:
    """Return the possible concepts of a lower-case word."""
    words, stems = _tables()
    found: set[str] = set()
    parts: Iterable[str] = (word, *word.split("-")) if "-" in word else (word,)
    if _ARABIC.match(word):
        parts = _stripped(word)
    for part in parts:
        found |= words.get(part, frozenset())
        for length in _STEMS:
            if length > len(part):
                break
            found |= stems.get(part[:length], frozenset())
    return frozenset(found)


def ideographs(run: str) -> Iterator[frozenset[str]]:
    """Yield the concepts in a run without spaces, in order, longest words first."""
    words, _ = _tables()
    position = 0
    while position < len(run):
        for length in range(min(_LONGEST_CJK, len(run) - position), 0, -1):
            found = words.get(run[position : position + length])
            if found is not None:
                yield found
                position += length
                break
        else:
            position += 1


@lru_cache(maxsize=50_000)
def concepts_in(token: str) -> frozenset[str]:
    """Return the possible concepts of a token, of a run without spaces those of all its words."""
    return frozenset[str]().union(*ideographs(token)) if is_wide(token) else concepts_of(token)


def sequence(tokens: list[str]) -> list[frozenset[str]]:
    """Return the concepts at each position of a text."""
    found: list[frozenset[str]] = []
    for token in tokens:
        if is_wide(token):
            found.extend(ideographs(token))
        else:
            found.append(concepts_of(token))
    return found


@lru_cache(maxsize=50_000)
def _of_token(token: str) -> frozenset[str]:
    found = {f"c:{concept}" for concept in concepts_in(token)}
    if is_wide(token):
        found |= {f"w:{first}{second}" for first, second in pairwise(token[:LONGEST_RUN])}
    elif token[0].isalpha():
        found.add(f"w:{token[:STEM]}")
    return frozenset(found)


def glimpse(tokens: list[str]) -> set[str]:
    """Return the features that need no order: concepts and words."""
    return set().union(*map(_of_token, tokens))


def text_features(text: str, tokens: list[str]) -> set[str]:
    """Return the features of a text."""
    places = sequence(tokens)
    found = glimpse(tokens)
    concepts = sum(name.startswith("c:") for name in found)
    found.add(f"n:{min(concepts // 2, 8)}")
    found.add(f"l:{min(len(tokens) // 8, 6)}")
    recent: list[tuple[int, str]] = []
    for index, place in enumerate(places):
        if not place:
            continue
        recent = [(at, concept) for at, concept in recent if index - at <= REACH]
        for _, before in recent:
            for concept in place:
                found.add(f"p:{before}>{concept}")
        recent.extend((index, concept) for concept in place)
    found.update(_starts(tokens))
    found.update(_shapes(tokens))
    found.update(f"m:{name}" for name, pattern in _PATTERNS.items() if pattern.search(text))
    if text.isascii():
        words = [token[:STEM] for token in tokens if token[0].isalpha()]
        found.update(f"b:{first} {second}" for first, second in pairwise(words))
    return found


def _shapes(tokens: list[str]) -> Iterator[str]:
    """Yield combinations of addressee, directive, tone and object in one sentence."""
    sentence: list[str] = []
    for token in (*tokens, "."):
        if token not in _END:
            sentence.append(token)
            continue
        named = frozenset[str]().union(*map(concepts_in, sentence))
        shape = "".join(group for group, concepts in _GROUPS.items() if concepts & named)
        if shape:
            yield f"k:{shape}"
            if any(name.startswith("s:") for name in _starts(sentence)):
                yield f"k:{shape}!"
        sentence = []


def _starts(tokens: list[str]) -> Iterator[str]:
    """Yield the concepts that start sentences: a verb in an instruction, an addressee in a call."""
    start = True
    for index, token in enumerate(tokens):
        if not token[0].isalpha():
            start = start or token in _END or token in ":："
            continue
        if start:
            place = next(ideographs(token), frozenset()) if is_wide(token) else concepts_of(token)
            for concept in place & _VERBS:
                yield f"s:{concept}"
            if place & {"addressee", "person", "authority", "machine"} and index + 1 < len(tokens):
                yield f"s:call{tokens[index + 1]}" if tokens[index + 1] in ":,：，" else "s:who"
        start = False


BITS = 19  # bits of an index
LONGEST_WORD = 14  # letters used
_SHORTEST = 4  # minimum letters of a word that is split
_PARTS_OF = range(3, 6)
_APART = (2, 3)  # distances between the words of a pair with a gap

_ADDRESS = lazy(r"https?://\S{1,300}|\b\d{1,3}(?:\.\d{1,3}){3}\S{0,300}|\b[\w.-]{1,64}@[\w-]{1,64}\.\w{1,64}")
_GRAM = lazy(
    r"[a-zà-öø-ÿ]{1,64}(?:['’][a-z]{1,64})?|[^\W\d_a-z]{1,400}|\d+|[.!?:;,()<>\[\]{}`\"/=@#|*$%&_-]",
)
_UNSPACED = lazy("[\u0e00-\u0e7f\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")


def number(name: str) -> int:
    """Return the index of a named feature in the table of weights."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & ((1 << BITS) - 1)


def numbers(names: Iterable[str]) -> set[int]:
    """Return the indices of named features."""
    return set(map(number, names))


def grams(text: str) -> set[int]:
    """Return runs of one to three words, pairs with a gap, and parts of words, as indices."""
    words = tokens(text)
    found = numbers(runs(words))
    for word in set(words):
        found.update(_parts(word))
    return found


def tokens(text: str) -> list[str]:
    """Return words, numbers and marks in lower case; all URLs are one token."""
    return _GRAM.findall(_ADDRESS.sub(" urlurl ", text.lower()))


def runs(words: list[str]) -> Iterator[str]:
    """Yield names of runs of words, and of pairs with a gap; all numbers are equal, and all ideographs."""
    edged = ["^", *map(_sort, words), "$"]
    for index, first in enumerate(edged):
        yield f"u{first}"
        yield f"b{' '.join(edged[index : index + 2])}"
        yield f"t{' '.join(edged[index : index + 3])}"
    plain = [word for word in edged if word[0].isalpha()]
    for apart in _APART:
        for first, second in zip(plain, plain[apart:], strict=False):
            yield f"s{first} {second}"


@lru_cache(maxsize=20_000)
def _parts(word: str) -> tuple[int, ...]:
    return tuple(numbers(parts(word)))


def parts(word: str) -> Iterator[str]:
    """Yield names of the parts of a word: runs of letters, or of up to three ideographs."""
    if _is_unspaced(word):
        run = word[:LONGEST_RUN]
        for length in (1, 2, 3):
            yield from (f"{length}{run[at : at + length]}" for at in range(len(run) - length + 1))
    elif len(word) >= _SHORTEST and word[0].isalpha():
        edged = f"<{word[:LONGEST_WORD]}>"
        for length in _PARTS_OF:
            yield from (f"c{edged[at : at + length]}" for at in range(len(edged) - length + 1))


def _sort(token: str) -> str:
    if token[0].isdigit():
        return "0"
    return "~" if _is_unspaced(token) else token


def _is_unspaced(word: str) -> bool:
    return word[0] >= "\u0e00" and _UNSPACED.match(word) is not None
