"""Prompt injection: text in a file that gives instructions to the model that reads the code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeguard.analysis import Reading, Segment, SegmentKind
from codeguard.analysis.rules.base import DetectorContext, Match, rules_of, signal_of
from codeguard.analysis.rules.injection.features import tokens_of
from codeguard.analysis.rules.injection.model import (
    NOTHING,
    PHRASES,
    asks,
    by_chance,
    is_plain_order,
    load_model,
    may_order,
    named_in,
)
from codeguard.analysis.text.orders import may_speak
from codeguard.analysis.text.unmasking import split_name, unmasked
from codeguard.corpus.patterns import lazy
from codeguard.models import Confidence

_RULES = rules_of(__file__)

_GLUE = lazy(r"[\s+.\\&]{0,200}")  # what may separate the pieces of one string
_NEXT = lazy(
    r"[\s,;()\[\]+]{0,100}(?:(?:let |const |var )?[\w.$]{1,40}\s{0,3}[+.:]?=\s{0,3}[\[(]?)?\s{0,100}"
)
_PIECES = 60  # of one run
_SHORTEST = 12  # characters
_SPLIT = 50  # average characters of a piece; whole sentences are read alone
_NAME_SHORTEST = 20
# Lines of keys with single words for values, as in YAML: what they say stands in their comments.
_SETTINGS = lazy(
    r"(?:[ \t]{0,40}(?:- )?[\w.-]{1,60}:(?:[ \t]{1,20}[^\s#]{1,80})?(?:[ \t]{1,40}#[^\n]{0,500})?[ \t]*(?:\n|\Z))+"
)
_COMMENTS = lazy(r"(?<=\s)#[ \t]*([^\n]*)")


def texts(reading: Reading) -> Iterator[Segment]:
    """Yield comments, docstrings, prose, strings (joined if code joins them), and long names as words."""
    run: list[Segment] = []
    for segment in reading.segments:
        if segment.kind is SegmentKind.IDENTIFIER:
            words = split_name(segment.text) if len(segment.text) >= _NAME_SHORTEST else ""
            if words.count(" ") >= 3:
                yield Segment(segment.kind, words, segment.start, segment.end)
            continue
        if segment.kind is not SegmentKind.STRING:
            if segment.kind is SegmentKind.PROSE and _SETTINGS.fullmatch(segment.text):
                comments = "\n".join(found[1] for found in _COMMENTS.finditer(segment.text))
                segment = Segment(segment.kind, comments, segment.start, segment.end)
            if len(segment.text) >= _SHORTEST:
                yield segment
            continue
        # Code may join adjacent pieces, items of a list, consecutive assignments.
        near = bool(run) and segment.start - run[-1].end <= 200
        if len(run) >= _PIECES or not (near and _NEXT.fullmatch(reading.text, run[-1].end, segment.start)):
            yield from _joined(reading.text, run)
            run = []
        run.append(segment)
    yield from _joined(reading.text, run)


def _joined(text: str, run: list[Segment]) -> Iterator[Segment]:
    """Yield the strings of a run with their pieces joined, and several short ones as one text."""
    wholes: list[Segment] = []
    for segment in run:
        before = wholes[-1] if wholes else None
        if before is not None and _GLUE.fullmatch(text, before.end, segment.start):
            wholes[-1] = Segment(segment.kind, before.text + segment.text, before.start, segment.end)
        else:
            wholes.append(segment)
    for whole in wholes:
        if len(whole.text) >= _SHORTEST:
            yield Segment(whole.kind, whole.text.replace("\\n", "\n"), whole.start, whole.end)
    if len(wholes) > 1:
        words = " ".join(whole.text for whole in wholes)
        if _SHORTEST <= len(words) <= _SPLIT * len(wholes):
            yield Segment(SegmentKind.STRING, words, run[0].start, run[-1].end)


WORDS = 30
_ALONE = 6  # minimum words of a sentence that is also examined alone
_LONG = 2_000  # characters of a text in which parts without a sentence are left out
PIECE = 16_000  # characters unmasked at a time
_OVERLAP = 400

_SENTENCE = lazy(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n\s*\n")
_WORD = lazy(r"\S+")
_WIDE = lazy("[\u2e80-\u9fff\uac00-\ud7ff]")
_WIDE_LENGTH = 90  # characters; longer texts in scripts without spaces count as long


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that are short enough to unmask; neighboring pieces overlap by a few words."""
    if len(text) <= PIECE:
        yield text
        return
    for start in range(0, len(text), PIECE - _OVERLAP):
        yield text[start : start + PIECE]


def windows(text: str) -> Iterator[str]:
    """Yield a short text and its sentences, or the sentences of a long one and pairs of short neighbors."""
    short = text.count(" ") + text.count("\n") < WORDS and not (
        len(text) > _WIDE_LENGTH and _WIDE.search(text)
    )
    sentences = _SENTENCE.split(text)
    if short:
        yield text
        if len(sentences) > 1:
            yield from (
                sentence for sentence in sentences if sentence.count(" ") >= _ALONE or _WIDE.search(sentence)
            )
        return
    parts = [part for sentence in sentences for part in _short(sentence)]
    lengths = [part.count(" ") for part in parts]
    for index, part in enumerate(parts):
        paired = index + 1 < len(parts) and lengths[index] + lengths[index + 1] < WORDS
        if paired:
            yield f"{part} {parts[index + 1]}"
        if not paired or lengths[index] >= _ALONE:
            yield part


def _short(sentence: str) -> Iterator[str]:
    """Yield a sentence, or two overlapping halves of a long one."""
    words = _WORD.findall(sentence)
    for start in range(0, max(1, len(words) - WORDS // 4), WORDS // 2):
        part = " ".join(words[start : start + WORDS])
        for at in range(0, max(1, len(part)), 600):  # characters of text without spaces
            if part[at : at + 600].strip():
                yield part[at : at + 600]


_EXCERPT = 120
# They only draw attention, and the model has seen few texts that have them.
_PICTURES = lazy("[\U0001f000-\U0001faff\u2600-\u27bf]+")
_ADDRESSES = lazy(r"https?://[^\s'\"<>]{1,2000}")
_MOST_REASONS = 3


def reason(text: str, masks: tuple[str, ...]) -> str:
    """Return a description of the text with an excerpt; `masks` are the ways in which it was hidden."""
    named = named_in(text)
    phrases = [phrase for concepts, phrase in PHRASES if named.issuperset(concepts)][:_MOST_REASONS]
    what = ", ".join(phrases) or "reads like an order to a model"
    hidden = f"hidden by {', '.join(dict.fromkeys(masks))}, " if masks else ""
    excerpt = " ".join(text.split())
    if len(excerpt) > _EXCERPT:
        excerpt = f"{excerpt[:_EXCERPT]}…"
    return f"{hidden}{what}: “{excerpt}”"


INSTRUCTION = _RULES["instruction"]
LIKELY = _RULES["likely-instruction"]
POSSIBLE = _RULES["possible-instruction"]
HIDDEN = _RULES["hidden-instruction"]
# Programs that use models contain prompts, and their docstrings mention models.
_LIMITS = {SegmentKind.STRING: "string", SegmentKind.DOCSTRING: "docstring", SegmentKind.PROSE: "docstring"}
_REVEALED = 0.5  # margin by which hidden text has to exceed the score of the visible text
_MOST = 100  # matches per file
_TOO_MANY = f"orders to a model were not looked for after {_MOST} texts that may be some"


def _inspect(reading: Reading, context: DetectorContext) -> Iterator[Match]:
    """Yield at most one match for each comment, string or name."""
    found, reported = 0, set[int]()
    for segment in texts(reading):
        match = None
        with reading.unread.alone("orders by the model"):
            match = _judge(reading, segment)
        if match is not None and match.start not in reported:
            reported.add(match.start)  # a string is also part of its run of strings
            yield match
            found += 1
            if found >= _MOST:
                reading.unread.note(_TOO_MANY, reading.line_of(segment.start))
                return


def gives_order(sentence: str) -> bool:
    """Return whether a sentence of prose may be an order to the model that reads it, from the weakest sign on."""
    if not may_order(sentence, tokens_of(sentence)):
        return False
    model = load_model()
    limit = model.limits["comment"]
    return model.score(sentence, limit) >= limit.weak


# A score, the text that has it, and the disguises under which that text was found.
_Scored = tuple[float, str, tuple[str, ...]]


def _judge(reading: Reading, segment: Segment) -> Match | None:
    kind = _LIMITS.get(segment.kind, "comment")
    plain, hidden, weighed = _strongest(reading, segment, kind)
    if max(plain, hidden)[0] == NOTHING:
        return None
    limits = load_model().limits
    # Percent escapes run the words together, and the model reads them all the same.
    margin = _REVEALED if " " in plain[1] else 0.0
    secret = hidden[0] >= max(limits["comment"].weak, plain[0] + margin) and asks(hidden[1])
    if secret and hidden[2] == ("percent escapes",) and not is_plain_order(hidden[1]):
        secret = "%" in _ADDRESSES.sub("", segment.text)  # URLs have to encode spaces and non-ASCII letters
    score, text, masks = hidden if secret else plain
    if score < limits[kind].weak and not secret:
        return None
    bounds = limits[kind]
    # The highest of many scores is higher: e times as many windows need `_SLOPE` more.
    sign = score - _SLOPE * by_chance(weighed, _USUAL)
    rule = INSTRUCTION if sign >= bounds.sure else LIKELY if sign >= bounds.clear else POSSIBLE
    rule = HIDDEN if secret else rule
    if not secret and segment.kind is SegmentKind.PROSE and not _is_for_models(text):
        rule = POSSIBLE
    start, end = _place(reading.text, segment, text)
    # Prompts of a program are strings.
    sure = rule is INSTRUCTION and segment.kind is not SegmentKind.STRING and is_plain_order(text)
    return Match(
        rule.id,
        start,
        end,
        reason(text, masks),
        confidence=Confidence.HIGH if sure else None,
        measurements={"score": round(score, 2)},
    )


_USUAL = 3  # windows of a comment
_SLOPE = 0.5


def _strongest(reading: Reading, segment: Segment, kind: str) -> tuple[_Scored, _Scored, int]:
    """Return the window of a segment with the highest score, as written and with a disguise removed.

    The third value is the number of windows of the text as written.
    """
    plain: _Scored = (NOTHING, "", ())
    hidden, weighed = plain, 0

    def met(what: str) -> None:
        reading.unread.note(what, reading.line_of(segment.start))

    for piece in pieces(segment.text):
        for shown in unmasked(piece, met=met):
            if not may_order(shown.text, tokens_of(shown.text)):
                continue
            model = load_model()  # imports are late because few texts get this far
            long = len(shown.text) > _LONG
            for window in windows(shown.text):
                if long and not may_speak(window):
                    continue
                scored = model.score(_PICTURES.sub("", window), model.limits[kind]), window, shown.masks
                if shown.masks:
                    hidden = max(hidden, scored)
                else:
                    plain = max(plain, scored)
                    weighed += 1
    return plain, hidden, weighed


def _is_for_models(text: str) -> bool:
    """Return whether prose instructs a model, not its human readers; the `agent` signal examines what it asks."""
    said = _without_examples(text)
    return is_plain_order(said) or {"override", "instruction"} <= named_in(said)


_QUOTED = lazy(r"[\"\u201c\u201e][^\"\u201d\n]{3,200}(?:[\"\u201d]|\Z)|'[^'\n]{8,200}'(?!\w)")
# What speaks of a text, and does not say it: 'pages may contain text such as "ignore previous instructions"'.
_SPEAKS_OF = lazy(
    r"\b(?:e\.\s?g|such as|for example|for instance|phrases?|wordings?|(?:may|might|can|could) (?:contain|say|hold)"
    r"|contains?|asks? (?:the|its|their) readers?|says|said|reads|typical\w{0,2}|attempts?"
    r"|examples?|quot\w{1,6}|injections?)\b",
    re.IGNORECASE,
)


def _without_examples(text: str) -> str:
    """Return a text without what it quotes, if the rest speaks of such texts."""
    rest = _QUOTED.sub(" ", text)
    return rest if rest != text and _SPEAKS_OF.search(rest) else text


def _place(source: str, segment: Segment, text: str) -> tuple[int, int]:
    """Return the position of a text's first line, or the whole segment if it does not occur there literally."""
    line = text.strip().split("\n", 1)[0][:60].rstrip()
    start = source.find(line, segment.start, segment.end) if len(line) >= 8 else -1
    return (start, start + len(line)) if start >= 0 else (segment.start, segment.end)


SIGNAL = signal_of(
    __file__, "text that gives orders to the model which reads the code", _inspect, intent=True
)
