"""Prompt injection: text in a file that gives instructions to the model that reads the code."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

from codeguard.analysis import Reading, Segment, SegmentKind
from codeguard.analysis.reading import IN_PROSE
from codeguard.analysis.rules.base import LESS_SURE, DetectorContext, Match, Rule, rules_of
from codeguard.analysis.rules.injection.address import speaks
from codeguard.analysis.rules.injection.features import concepts_of, sequence, tokens_of
from codeguard.analysis.rules.injection.gate import may_order
from codeguard.analysis.rules.injection.model import NOTHING, Thresholds, load_model
from codeguard.analysis.text.assistants import speaks_throughout
from codeguard.analysis.text.kinds import is_settings
from codeguard.analysis.text.orders import is_translation, may_speak, orders_in, read_orders
from codeguard.analysis.text.unmasking import split_name, unmasked
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import ParseBoundError, parse, walk
from codeguard.models import Confidence, Severity

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
        if run and (len(run) >= _PIECES or not _near(reading.text, run[-1].end, segment.start)):
            yield from _joined(reading.text, run)
            run = []
        run.append(segment)
    yield from _joined(reading.text, run)


def _near(text: str, end: int, start: int) -> bool:
    """Return whether code may join two strings: adjacent pieces, items of a list, consecutive assignments."""
    return start - end <= 200 and _NEXT.fullmatch(text, end, start) is not None


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
_SENTENCE_WORD = lazy(
    r"\b(?:the|an?|to|you|your|of|are|this|that|it|must|should|always|never|please|do|when|all|any|by|be|has|have|will|can"
    r"|its|our|my|der|die|das|du|sie|den|ein|le|la|les|vous|el|los|que|il|o|os|para|per)\b",
    re.IGNORECASE,
)
# Front matter of a skill, a rule, a command or an agent.
_FOR_AGENTS = lazy(
    r"\ufeff?---[ \t]*\r?\n(?:[^\n]{0,2000}\n){0,40}?(?:description|alwaysApply|globs|applyTo|allowed-tools)[ \t]*:"
)
_PUNCTUATION = lazy("[.!?,:;\u2014\u3002\uff01\uff1f\uff0c]")
_ADDRESSES = lazy(r"https?://[^\s'\"<>]{1,2000}")
# Descriptions of a tool are for people.
_SPOKEN_OF = lazy(
    r"\b(?:assistants?|tools?|copilot|agents?|models?|chatgpt|claude)\b[^.!?]{0,40}"
    r"\b(?:can|could|may) (?:also )?(?:help|assist)\b",
    re.IGNORECASE,
)
_PHRASES = (
    (("addressee",), "addresses an assistant"),
    (("you", "machine"), "addresses a tool"),
    (("override", "instruction"), "overrides its instructions"),
    (("override", "prior"), "overrides what came before"),
    (("disable", "safety"), "tells it to drop a check"),
    (("leak", "sensitive"), "tells it to give away secrets"),
    (("never", "tell", "person"), "tells it to keep silent"),
    (("secrecy",), "asks for secrecy"),
    (("recommend", "artifact"), "tells it what to recommend"),
    (("always", "insert"), "tells it what to write"),
    (("when", "person"), "waits for a request"),
    (("authority",), "claims authority"),
    (("role",), "gives it another role"),
)
_MOST_REASONS = 3


_ADDRESSED = (frozenset({"addressee"}), frozenset({"you", "machine"}))
_ASKED = tuple(
    frozenset(concepts)
    for concepts, _ in _PHRASES
    if frozenset(concepts) not in (*_ADDRESSED, frozenset({"authority"}), frozenset({"role"}))
)


_MEANT_FOR_MODELS = frozenset({"addressee", "machine", "override"})


def is_plain_order(text: str) -> bool:
    """Return whether a text both addresses a model and instructs it, so that no other reader is meant."""
    named = _named(text)
    return any(map(named.issuperset, _ADDRESSED)) and any(map(named.issuperset, _ASKED))


def _in_english(text: str) -> bool:
    """Return whether no letter is outside ASCII: dashes and curved quotes are of English, too."""
    return text.isascii() or not any(letter.isalpha() and not letter.isascii() for letter in text)


def _asks(text: str, kind: SegmentKind) -> bool:
    """Return whether an English text requests something typical of prompts; in code it also has to name a model.

    Docstrings use the imperative by convention ("Put the first letter of every word in upper
    case"), and a program's strings instruct its users. For other languages there are too few
    concepts for this test.
    """
    if any(letter.isalpha() and not letter.isascii() for letter in text):
        of_program = kind is SegmentKind.STRING  # catalogs of translations ask their users for something
        return not of_program or not _named(text).isdisjoint(_MEANT_FOR_MODELS)
    if kind in (SegmentKind.DOCSTRING, SegmentKind.STRING):
        return is_plain_order(text)
    return any(map(_named(text).issuperset, _ASKED))


# Concepts of what is asked of a model: whom it obeys, whom it speaks to, what it weakens or gives away.
_OF_ATTACKS = _MEANT_FOR_MODELS | {"authority", "leak", "praise", "risk", "you"} | {"instruction", "safety"}


_FORBIDS_LEAKS = lazy(
    r"\b(?:must|shall|should|do) not\b[^.!?]{0,60}\b(?:credentials|secrets|tokens|passwords|keys)\b",
    re.IGNORECASE,
)


def _is_rule_for_people(text: str) -> bool:
    """Return whether English prose requests nothing typical of prompts, or forbids revealing secrets."""
    named = _named(text)
    asks = any(map(named.issuperset, (*_ADDRESSED, *_ASKED)))
    return _in_english(text) and (not asks or _FORBIDS_LEAKS.search(text) is not None)


def _is_wording(text: str) -> bool:
    """Return whether an English text neither names a model nor requests anything typical of prompts."""
    named = _named(text)
    if named.isdisjoint(("you", "package")):
        named -= {"always"}  # "Mark all tests as slow" names no addressee
    spoken = any(map(named.issuperset, (*_ADDRESSED, *_ASKED)))
    return _in_english(text) and not spoken and named.isdisjoint(("machine", "override", "leak"))


def _only_claims_authority(text: str) -> bool:
    """Return whether English text names who is in charge, but neither addresses a model nor asks it for anything."""
    named = _named(text)
    asks = any(map(named.issuperset, (*_ADDRESSED, *_ASKED)))
    answers = "leak" in named or "override" in named or {"answer", "recommend"} <= named
    return _in_english(text) and "authority" in named and not asks and not answers


_OF_OPTIONS = frozenset({"disable", "safety", "risk", "sensitive", "always", "never", "insert", "artifact"})


def _named(text: str) -> set[str]:
    return {concept for place in sequence(tokens_of(text)) for concept in place}


def reason(text: str, masks: tuple[str, ...]) -> str:
    """Return a description of the text with an excerpt; `masks` are the ways in which it was hidden."""
    named = _named(text)
    phrases = [phrase for concepts, phrase in _PHRASES if named.issuperset(concepts)][:_MOST_REASONS]
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
FORMS = (_RULES["forged-message"], _RULES["order-to-act"], _RULES["order-to-insert"])
_UNSURE = (LIKELY.id, POSSIBLE.id)  # not reported for a text with a recognised instruction
_FORMS_TABLE = Path(__file__).with_name("forms.toml")
_READ_FOR_FORMS = (SegmentKind.COMMENT, SegmentKind.DOCSTRING, SegmentKind.PROSE)
# Programs that use models contain prompts, and their docstrings mention models.
_LIMITS = {SegmentKind.STRING: "string", SegmentKind.DOCSTRING: "docstring", SegmentKind.PROSE: "docstring"}
_FEW = 4  # blanks in a comment; the model alone does not decide on shorter ones
_REVEALED = 0.5  # margin by which hidden text has to exceed the score of the visible text
_MOST = 100  # matches per file
_TOO_MANY = f"orders to a model were not looked for after {_MOST} texts that may be some"


class InjectionSignal:
    """Scores each text of a file with a grammar of concepts and a linear model over it."""

    name: ClassVar[str] = "injection"
    intent: ClassVar[bool] = True
    summary: ClassVar[str] = "text that gives orders to the model which reads the code"
    rules: ClassVar[tuple[Rule, ...]] = (INSTRUCTION, LIKELY, POSSIBLE, HIDDEN, *FORMS)
    needs: ClassVar[frozenset[str]] = frozenset()

    def inspect(self, reading: Reading, context: DetectorContext) -> Iterator[Match]:
        """Yield at most one match for each comment, string or name."""
        found, reported = 0, set[int]()
        for segment in texts(reading):
            unread = reading.unread
            known = segment.kind in _READ_FOR_FORMS
            formed = list(unread.apart("orders by their form", _formed, reading, segment)) if known else []
            yield from formed
            match = None
            with unread.alone("orders by the model"):
                match = _judge(reading, segment)
            if match is not None and match.start not in reported and not (formed and match.rule in _UNSURE):
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


# What an attacker wants in code: an address, or a call that reaches out or runs something.
_REACHING = lazy(
    r"https?://|\d{1,3}(?:\.\d{1,3}){3}|\b(?:import|install|require|exec|eval|socket|curl|wget|environ|Popen|system|fetch)\b|\w\("
)


def _is_preference(reading: Reading, segment: Segment) -> bool:
    """Return whether a passage of a text for assistants names nothing that an attacker would have inserted."""
    for_agents = _FOR_AGENTS.match(reading.text) or speaks_throughout(
        reading.text, segment.start, segment.end
    )
    return bool(for_agents) and _REACHING.search(segment.text) is None


def _formed(reading: Reading, segment: Segment) -> Iterator[Match]:
    """Yield instructions recognised by their form, each rule once."""
    in_prose = segment.kind is SegmentKind.PROSE
    table = read_orders(_FORMS_TABLE)
    for found in orders_in(table, segment.text, segment.start, prose=in_prose):
        end = min(segment.end, found.start + 80)
        severity = found.severity
        # Assistants are told what to write and to prefer in texts that are for them.
        if found.order.rule == "order-to-insert" and in_prose and _is_preference(reading, segment):
            severity = Severity.LOW
        yield Match(found.order.rule, found.start, end, found.reason, severity)


# A score, the text that has it, and the disguises under which that text was found.
_Scored = tuple[float, str, tuple[str, ...]]


def _judge(reading: Reading, segment: Segment) -> Match | None:
    kind = _LIMITS.get(segment.kind, "comment")
    plain, hidden, encoded, weighed = _strongest(reading, segment, kind)
    if max(plain, hidden)[0] == NOTHING:
        return None
    limits = load_model().limits
    # Percent escapes run the words together, and the model reads them all the same.
    margin = _REVEALED if " " in plain[1] else 0.0
    # Of many decoded parts, as of the recorded answer of a server, one has a weak sign by chance.
    chosen = encoded < _BY_CHANCE or any(map(_named(hidden[1]).issuperset, (*_ADDRESSED, *_ASKED)))
    least = limits["comment"].weak if chosen else limits["comment"].clear
    secret = hidden[0] >= max(least, plain[0] + margin)
    if secret and hidden[2] == ("percent escapes",) and not is_plain_order(hidden[1]):
        secret = "%" in _ADDRESSES.sub("", segment.text)  # URLs have to encode spaces and non-ASCII letters
    secret = secret and not _is_claims(hidden[1]) and _reveals_order(segment.text, *hidden[1:])
    score, text, masks = hidden if secret else plain
    if score < limits[kind].weak and not secret:
        return None
    rule = HIDDEN if secret else _rule_of(score - _chance(weighed), limits[kind])
    translated = segment.kind is SegmentKind.PROSE and is_translation(segment.text)
    if translated or (not secret and _may_be_honest(reading, segment, text, rule)):
        rule = POSSIBLE
    in_comment = segment.kind is SegmentKind.COMMENT and not secret
    if rule is INSTRUCTION and in_comment and _only_claims_authority(text):
        rule = LIKELY  # "Add user as admin."
    if rule is INSTRUCTION and not secret and _is_documentation(segment, text):
        rule = LIKELY
    start, end = _place(reading.text, segment, text)
    # What explains code or settings to people orders a model nothing that it could do for an attacker.
    explains = (
        rule is INSTRUCTION
        and _in_english(text)
        and _named(text).isdisjoint(_OF_ATTACKS)
        and (
            (in_comment and not any(map(_named(text).issuperset, _ASKED)))
            or (reading.language == "text" and is_settings(reading.text))
        )
    )
    # What the model alone takes for an order is right less often than not in programs that talk to models; in files
    # that assistants obey it counts all the same.
    less_sure = (
        explains
        or rule is LIKELY
        or (
            rule is INSTRUCTION
            and (_is_only_named(segment, text) or _is_prompt(segment) or _is_statement(text))
        )
    )
    # Prompts of a program are strings.
    sure = rule is INSTRUCTION and segment.kind is not SegmentKind.STRING and is_plain_order(text)
    return Match(
        rule.id,
        start,
        end,
        reason(text, masks),
        confidence=Confidence.HIGH if sure else None,
        measurements={"score": round(score, 2), **({LESS_SURE: True} if less_sure else {})},
    )


_BY_CHANCE = 8  # decoded parts of a text
_USUAL = 3  # windows of a comment
_SLOPE = 0.5  # what e times as many windows need more: the highest of many scores is higher
_MOST_WINDOWS = (
    300  # from which on a text needs no higher score: nobody shall hide an order behind many others
)


def _chance(windows_weighed: int) -> float:
    """Return how much higher the highest score of so many windows is by chance."""
    return _SLOPE * math.log(min(max(windows_weighed, _USUAL), _MOST_WINDOWS) / _USUAL)


def _strongest(reading: Reading, segment: Segment, kind: str) -> tuple[_Scored, _Scored, int, int]:
    """Return the window of a segment with the highest score, as written and with a disguise removed.

    The third value is the number of parts that were decoded, the fourth that of windows of the text as written.
    """
    plain: _Scored = (NOTHING, "", ())
    hidden, encoded, weighed = plain, 0, 0

    def met(what: str) -> None:
        reading.unread.note(what, reading.line_of(segment.start))

    for piece in pieces(segment.text):
        for shown in unmasked(piece, met=met):
            encoded += bool(shown.masks)
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
    return plain, hidden, encoded, weighed


def _may_be_honest(reading: Reading, segment: Segment, text: str, rule: Rule) -> bool:
    """Return whether an undisguised text has the form of one of the kinds of honest text that resemble orders."""
    asked = segment.text if segment.text.count(" ") < WORDS else text
    # The few honest comments and docstrings that the model takes for orders speak to a reader and ask for something as
    # well.
    by_model = segment.kind in (SegmentKind.COMMENT, SegmentKind.DOCSTRING) and asked.count(" ") >= _FEW
    return (
        _SPOKEN_OF.search(text) is not None
        or _describes(reading, segment, text, rule)
        or _is_for_readers(reading, segment, text, rule)
        or _is_enumeration(segment, text)
        or _is_of_options(segment, text)
        or (not by_model and not speaks(text, segment.kind))
        or (not by_model and rule is not INSTRUCTION and _is_wording(asked))
        or (rule is LIKELY and _is_explanation(segment, text))
    )


def _is_explanation(segment: Segment, text: str) -> bool:
    """Return whether a text is part of a long remark that speaks to nobody."""
    long = segment.kind is SegmentKind.COMMENT and segment.text.count(" ") >= WORDS
    return long and not speaks(text, segment.kind)


def _describes(reading: Reading, segment: Segment, text: str, rule: Rule) -> bool:
    """Return whether a text describes code in the imperative, reports an error to people, or shows a call."""
    of_program = segment.kind is SegmentKind.STRING and not _asks(text, segment.kind)
    if rule is INSTRUCTION:
        return of_program and not {"override", "instruction"} <= _named(text)
    return rule is LIKELY and (of_program or _is_error_message(reading, segment) or _is_code(text))


def _is_documentation(segment: Segment, text: str) -> bool:
    """Return whether a docstring asks nothing of a model: "The system instructions that the assistant uses"."""
    asks = _asks(text, segment.kind) or {"override", "instruction"} <= _named(text)
    return segment.kind is SegmentKind.DOCSTRING and not asks


def _is_for_readers(reading: Reading, segment: Segment, text: str, rule: Rule) -> bool:
    """Return whether prose instructs its human readers; the `agent` signal examines the content of prose."""
    if segment.kind is not SegmentKind.PROSE:
        # Code shown in a text is explained to those who read it.
        in_example = segment.kind is SegmentKind.COMMENT and IN_PROSE in reading.shared
        return in_example and rule is LIKELY and not {"override", "instruction"} <= _named(text)
    if (
        rule is INSTRUCTION
        and len(list(islice(_CHANGES.finditer(segment.text), _SOME_CHANGES))) == _SOME_CHANGES
    ):
        return True
    said = _without_examples(text)
    replaces = {"override", "instruction"} <= _named(said)
    of_agents = _FOR_AGENTS.match(reading.text) or speaks_throughout(reading.text, segment.start, segment.end)
    if of_agents and not replaces:
        return True
    return (rule is LIKELY and not replaces) or (
        rule is INSTRUCTION and (_is_rule_for_people(text) or (said != text and _is_rule_for_people(said)))
    )


# Entries of a changelog: "- Added support for a model".
_CHANGES = lazy(
    r"^[ \t]{0,8}[-*+] (?:add|fix|improv|chang|updat|remov|support|bump|renam|deprecat|introduc|enhanc)\w{0,6}\b",
    re.MULTILINE | re.IGNORECASE,
)
_SOME_CHANGES = 3
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


# What a program fills in: `{question}`, `{{ question }}`, `%s`.
_FILLED_IN = lazy(r"\{\{?\s?[A-Za-z_][\w.]{0,60}\s?\}?\}|%(?:\(\w{1,60}\))?s\b")
_MARKED = lazy(r"<\|\w{1,20}\|>|\[/?INST\]|<start_of_turn>|<\|?(?:system|user|assistant)\|?>")


def _is_prompt(segment: Segment) -> bool:
    """Return whether a string is a program's own prompt: it has marks of a chat and places that are filled in."""
    return (
        segment.kind is SegmentKind.STRING
        and _MARKED.search(segment.text) is not None
        and _FILLED_IN.search(segment.text) is not None
    )


# "It can ensure that the output conforms to a grammar": what something does, and nothing that a reader is to do.
_STATES = lazy(
    r"\W{0,8}(?:it|this|that|these|those|they|we|there|the (?:\w{1,20} ){1,3})\s{0,3}"
    r"(?:also |then |now |only |currently )?"
    r"(?:can|could|may|might|is|are|was|were|has|have|had|does|did|lets?|allows?|makes?"
    r"|supports?|provides?"
    r"|ensures?|uses?|will|tells?|contains?|returns?|shows?)\b",
    re.IGNORECASE,
)
_OF_ORDERS = lazy(
    r"\b(?:you|your|must|shall|should|always|never|do not|don't|please|has to|have to|needs? to|ought"
    r"|required?|mandatory|prefer\w{0,5}"
    r"|recommend\w{0,5}|ignore|disregard|instead|important|only|system)\b",
    re.IGNORECASE,
)


def _is_statement(text: str) -> bool:
    """Return whether English text says what something does, without a word that orders have."""
    return _in_english(text) and _STATES.match(text) is not None and _OF_ORDERS.search(text) is None


def _is_only_named(segment: Segment, text: str) -> bool:
    """Return whether a name says what it holds, and nothing to a model: `requestSnippetGenerator_curl_bash`."""
    return segment.kind is SegmentKind.IDENTIFIER and _named(text).isdisjoint(("addressee", "override"))


def _is_enumeration(segment: Segment, text: str) -> bool:
    """Return whether a text is a list of words, or a string of keys, names and URLs."""
    if segment.text.count(" ") > WORDS and not _PUNCTUATION.search(segment.text):
        return True
    return segment.kind is SegmentKind.STRING and text.isascii() and not _SENTENCE_WORD.search(text)


def _is_of_options(segment: Segment, text: str) -> bool:
    """Return whether an identifier addresses nobody: `tls_insecure_skip_verify`, `AllChatAdministrators`."""
    if segment.kind is not SegmentKind.IDENTIFIER:
        return False
    named = _named(text)
    return named <= _OF_OPTIONS or ("authority" in named and not any(map(named.issuperset, _ASKED)))


_FEWEST_WORDS = 3  # "admin:admin" orders nothing


def _reveals_order(shown: str, revealed: str, masks: tuple[str, ...]) -> bool:
    """Return whether a hidden text is long enough for an order, and what was hidden contains one of its concepts.

    In `user admin http://x.y.z:80` only the name of a host is read differently, so that nothing was hidden. Percent
    escapes stand between words, and texts in other scripts are not judged by their words.
    """
    if masks == ("character references",) and _letters(revealed) in _letters(shown):
        return False  # signs, such as the times sign of a button that closes
    if not revealed.isascii():
        return True
    words = {token for token in tokens_of(revealed) if token.isalpha()}
    new = words.difference(tokens_of(shown))
    hides = "percent escapes" in masks or any(map(concepts_of, new))
    return hides and len(words) >= _FEWEST_WORDS


_REFERENCE = lazy(r"&#?\w{1,10};")


def _letters(text: str) -> str:
    """Return the letters of a text, without those of character references."""
    return "".join(filter(str.isalpha, _REFERENCE.sub("", text)))


def _is_claims(text: str) -> bool:
    """Return whether a text is a JSON object of single words, as a token holds them: no sentence is hidden in it."""
    try:
        held = json.loads(text) if text[:1] == "{" else None
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and not any(" " in str(item) for item in held.values())


def _is_error_message(reading: Reading, segment: Segment) -> bool:
    """Return whether a string is the message of a raised exception."""
    if segment.kind is not SegmentKind.STRING or reading.tree is None:
        return False
    line = reading.line_of(segment.start)
    return any(node.lineno <= line <= (node.end_lineno or 0) for node in reading.nodes_of(ast.Raise))


def _is_code(text: str) -> bool:
    """Return whether a text is Python code with a call, such as an example in a docstring."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, ParseBoundError):
        return False
    return any(isinstance(node, ast.Call) for node in walk(tree))


def _rule_of(score: float, limits: Thresholds) -> Rule:
    if score >= limits.sure:
        return INSTRUCTION
    return LIKELY if score >= limits.clear else POSSIBLE


def _place(source: str, segment: Segment, text: str) -> tuple[int, int]:
    """Return the position of a text's first line, or the whole segment if it does not occur there literally."""
    line = text.strip().split("\n", 1)[0][:60].rstrip()
    start = source.find(line, segment.start, segment.end) if len(line) >= 8 else -1
    return (start, start + len(line)) if start >= 0 else (segment.start, segment.end)


SIGNAL = InjectionSignal()
