"""Features of instructions: concepts, their order, and markers such as chat templates and commands."""

from __future__ import annotations

import re
import tomllib
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
    """Return the features of a token: its concepts and stem, or its pairs of ideographs."""
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
