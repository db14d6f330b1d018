"""Near-copies of trusted functions, with the changed lines.

Layout, comments, names of variables, annotations, order of parameters and keywords are ignored.
Exact copies in this sense are not reported.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import Counterpart, TrustedFunctions
from codeguard.analysis.python.statements import ITSELF, MAX_STATEMENTS, Statement, is_variable, statements
from codeguard.analysis.rules.base import DetectorContext, Match, signal_of
from codeguard.corpus import secrets, syntax
from codeguard.corpus.patterns import lazy, stored
from codeguard.models import Chunk, ChunkKind

FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
_TOO_LONG = f"a function of more than {MAX_STATEMENTS:,} statements was not compared with its trusted twin"
LEAST_TOKENS = 14  # tokens of both functions together
LEAST_COMMON_TOKENS = 120  # of both together; so much common code is no coincidence, whatever the names
MOST_REPLACED = 3
MOST_ADDED = 6
NAMED_SHARE = 0.3
UNNAMED_SHARE = 0.1
MAX_HUNKS = 8
MAX_CHANGED_HUNKS = 3
MAX_RUN = 300  # tokens of a changed range that are compared one by one
QUIET = lazy(r"(?:log(?:ger|ging)?|_log|print|warnings|console|debug|echo)\b")  # calls that only tell
LEAVING, PROTECTING, WEAK, _OFF = (
    frozenset(words.split()) for words in stored(Path(__file__).with_name("protections.toml")).values()
)


@dataclass(frozen=True, slots=True)
class StatementChange:
    """One change: its kind, its position in the candidate, and both lines as written.

    With `protects`, what is lost is a check, a security argument or a protecting call.
    """

    what: str
    protects: bool
    start: int
    end: int
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class FunctionDifference:
    """All differences between two functions.

    `size` counts the tokens of both, `share` is the share of them that differ, 0 to 1. `mostly_equal` means that
    more of the bodies agrees than differs.
    """

    changes: tuple[StatementChange, ...]
    share: float
    size: int
    mostly_equal: bool


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    trusted = context.trusted_functions
    if (
        not trusted or reading.file.raw
    ):  # the chunks are cut of a notebook's cells, which are read by themselves
        return
    position = 0
    without = secrets.without_secrets(reading.file, reading.secrets)  # as an index stores trusted code
    for chunk, masked in zip(reading.file.chunks, without.chunks, strict=True):
        if chunk.kind in FUNCTIONS:
            yield from reading.unread.apart(chunk.symbol, _matches, reading, masked, position, trusted)
        position += len(chunk.text)


def _matches(reading: Reading, chunk: Chunk, position: int, trusted: TrustedFunctions) -> Iterator[Match]:
    closest: tuple[Counterpart, FunctionDifference] | None = None
    counterparts = trusted.counterparts(chunk)
    own = statements(chunk.text, chunk.language, chunk.symbol.rpartition(".")[2]) if counterparts else ()
    if counterparts and not own and chunk.text.strip():
        reading.unread.note(_TOO_LONG, chunk.start_line)
    for counterpart in counterparts:
        text, original = counterpart.function.text, counterpart.function.chunk
        theirs = statements(text, original.language, original.symbol.rpartition(".")[2])
        found = difference(theirs, text, own, chunk.text)
        if found is None:
            continue
        if not found.changes:
            return  # an exact copy apart from ignored differences
        if closest is None or found.share < closest[1].share:
            closest = (counterpart, found)
    if closest is None or not _is_copy(*closest, chunk):
        return
    counterpart, found = closest
    for change in sorted(found.changes, key=lambda item: not item.protects)[:3]:
        yield _match(change, counterpart, position)


# An assertion that a type checker asks for.
_FOR_TYPES = lazy(r"assert (?:isinstance\(|[\w.]+ is not None\b(?! and| or))")


def lost_protections(before: Chunk, after: Chunk) -> Iterator[StatementChange]:
    """Yield the changes by which a function lost a check or a protection, places counted in its text.

    What it has as often as before, in whatever place, is not lost; a function that was rewritten is not compared.
    """
    then, now = (
        statements(part.text, part.language, part.symbol.rpartition(".")[2]) for part in (before, after)
    )
    found = difference(then, before.text, now, after.text)
    if found is None:
        return
    body = [item for item in then if item.key[0] not in ("@", "async", "def")]
    if all(item.key[0] in LEAVING or item.key[0][-1:] in "\"'" for item in body):
        return  # it never returned anything, as one that others are to define
    words = [Counter(word for item in side for word in item.key) for side in (then, now)]
    lost, new = words[0] - words[1], words[1] - words[0]
    values = [_keywords(side) for side in (then, now)]
    switched_off = any(
        values[0][name] not in _OFF and values[1].get(name) in _OFF for name in values[0].keys() & PROTECTING
    )
    if (LEAVING | PROTECTING) & lost.keys() or WEAK & new.keys() or switched_off:
        yield from (
            item
            for item in found.changes
            if item.protects
            and item.was
            # Where a handler goes, what it translated is raised all the same.
            and (item.now or not item.was.startswith("except"))
            and _FOR_TYPES.match(item.was) is None
        )


def _is_copy(counterpart: Counterpart, found: FunctionDifference, chunk: Chunk) -> bool:
    """Return whether the functions agree so much that one is an edited copy of the other."""
    if found.size < LEAST_TOKENS or not found.mostly_equal:
        return False
    own, other = chunk.symbol.rpartition("."), counterpart.function.chunk.symbol.rpartition(".")
    named = counterpart.named and (own[0] == other[0] or found.size >= LEAST_COMMON_TOKENS)
    if named:
        return found.share <= NAMED_SHARE
    return found.size >= LEAST_COMMON_TOKENS and found.share <= UNNAMED_SHARE


def _match(change: StatementChange, counterpart: Counterpart, position: int) -> Match:
    shown = f"{change.what} beside {counterpart.function.chunk.symbol} ({counterpart.function.origin})"
    lines = f"trusted: {change.was or 'nothing'}; here: {change.now or 'nothing'}"
    return Match(
        "removed-check" if change.protects else "changed-line",
        position + change.start,
        position + change.end,
        f"{shown}; {lines}",
        measurements={
            "trusted_line": counterpart.function.chunk.start_line,
            "likeness": round(counterpart.likeness, 2),
        },
    )


def difference(
    trusted: Sequence[Statement],
    trusted_text: str,
    copy: Sequence[Statement],
    copy_text: str,
) -> FunctionDifference | None:
    """Compare two functions statement by statement; None if they differ in too many places."""
    matcher = SequenceMatcher(
        None, [item.key for item in trusted], [item.key for item in copy], autojunk=False
    )
    blocks = matcher.get_opcodes()
    hunks = [block for block in blocks if block[0] != "equal"]
    changed = [
        max(end - begin, other_end - other) for _, begin, end, other, other_end in hunks if end > begin
    ]
    added = sum(other_end - other for _, begin, end, other, other_end in hunks if end == begin)
    # Inserted statements can hide a change, so a single change may be surrounded by more of them.
    most = MAX_HUNKS if len(changed) <= 1 else MAX_CHANGED_HUNKS
    if len(hunks) > most or sum(changed) > MOST_REPLACED or added > MOST_ADDED:
        return None
    size = len(_words(trusted)) + len(_words(copy))
    pairs = [
        pair
        for tag, begin, end, other, _ in blocks
        if tag == "equal"
        for pair in zip(trusted[begin:end], copy[other : other + end - begin], strict=True)
    ]
    changes: list[StatementChange] = []
    differing = 0
    for _, begin, end, other, other_end in hunks:
        texts = trusted_text, copy_text
        found, tokens = _change(trusted[begin:end], copy[other:other_end], copy, other, texts)
        differing += tokens
        if found is not None:
            changes.append(found)
    changes += _exchanged(pairs, trusted_text, copy_text)
    return FunctionDifference(
        tuple(changes),
        differing / max(1, size),
        size,
        len(_words(trusted[1:])) + len(_words(copy[1:])) >= 2 * differing,
    )


def _words(items: Iterable[Statement]) -> list[str]:
    return [word for item in items for word in item.key]


def _change(
    gone: Sequence[Statement],
    come: Sequence[Statement],
    copy: Sequence[Statement],
    at: int,
    texts: tuple[str, str],
) -> tuple[StatementChange | None, int]:
    """Return the change between statements at the same place of a copy and the number of different tokens.

    None if it is a message, keywords are in another order, or brackets were set that change nothing.
    """
    if _only_quiet(gone, come):
        return None, 0
    was, now = _words(gone), _words(come)
    if gone and come and Counter(was) == Counter(now) and was.count("=") > 1:
        return None, 0
    # Formatters set brackets of their own.
    if len(gone) == len(come) == 1 and [word for word in was if word not in "()"] == [
        word for word in now if word not in "()"
    ]:
        trees = [
            _tree(text[item.start : item.end]) for text, (item,) in zip(texts, (gone, come), strict=True)
        ]
        if trees[0] == trees[1] != "":
            return None, 0
    lost, new = _differing(was, now)
    what, protects = _judged(gone, come, lost, new)
    shown = come or [copy[min(at, len(copy) - 1)]]  # the changed statements, or the one next to missing ones
    lines = [
        " ".join(_shown(text, item) for item in side[:2])
        for text, side in zip(texts, (gone, come), strict=True)
    ]
    differing = len(lost) + len(new)
    return StatementChange(what, protects, shown[0].start, shown[-1].end, lines[0], lines[1]), differing


def _judged(
    gone: Sequence[Statement], come: Sequence[Statement], lost: list[str], new: list[str]
) -> tuple[str, bool]:
    """Return what a change is, and whether it takes a check or a protection away."""
    leaving = [Counter(word for word in _words(side) if word in LEAVING) for side in (gone, come)]
    before, after = _keywords(gone), _keywords(come)
    valued = (name for name in before if before[name] != after.get(name))
    weak = sorted(WEAK.intersection(new) - set(lost))
    touched = sorted(PROTECTING.intersection((*lost, *new, *valued)))
    taken = ["removed check"] if leaving[0] - leaving[1] else []
    taken += [f"weakened to {weak[0]}"] if weak else []
    taken += [f"changed protection ({touched[0]})"] if touched and gone else []
    plain = "changed code" if gone and come else "removed statement" if gone else "added statement"
    return " and ".join(taken) or plain, bool(taken)


def _only_quiet(gone: Sequence[Statement], come: Sequence[Statement]) -> bool:
    if all(QUIET.match(item.tokens[0].text) for item in (*gone, *come)):
        return True
    if len(gone) != 1 or len(come) != 1:
        return False
    was, now = gone[0].key, come[0].key
    lost, new = _differing(was, now)
    return (
        was[0] in LEAVING
        and now[0] in LEAVING
        and was[1:2] == now[1:2]
        and all(word[-1:] in "\"'`" or not word.isalnum() for word in (*lost, *new))
    )


def _tree(statement: str) -> str:
    """Return the syntax tree of a statement of Python, or of its first line with a colon; "" if it has none."""
    text = statement.strip().removeprefix("el")  # `elif` has the tree of `if`
    try:
        return ast.dump(syntax.parse(f"{text} pass" if text.endswith(":") else text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _differing(gone: Sequence[str], come: Sequence[str]) -> tuple[list[str], list[str]]:
    if max(len(gone), len(come)) > MAX_RUN:
        return list(gone), list(come)
    lost: list[str] = []
    new: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, gone, come, autojunk=False).get_opcodes():
        if tag != "equal":
            lost += gone[a:b]
            new += come[c:d]
    return lost, new


def _keywords(items: Sequence[Statement]) -> dict[str, str]:
    """Return the first words of the values that names or keywords get in statements."""
    found: dict[str, str] = {}
    for item in items:
        for at in range(1, len(item.key) - 1):
            if item.key[at] == "=" and item.tokens[at - 1].text.isidentifier() and at > 1:
                found[item.tokens[at - 1].text] = item.key[at + 1]
    return found


def _shown(text: str, item: Statement) -> str:
    return " ".join(text[item.start : item.end].split())[:120]


def _exchanged(
    pairs: Sequence[tuple[Statement, Statement]], trusted_text: str, copy_text: str
) -> Iterator[StatementChange]:
    """Yield the statements in which a copy uses a variable inconsistently.

    In an honest copy each variable of the original has one name. A name that differs in few places
    was exchanged.
    """
    counted = Counter(pair for both in pairs for pair in _variables(*both))
    usual: dict[str, str] = {}
    origin: dict[str, str] = {}
    for (one, other), _ in counted.most_common():
        usual.setdefault(one, other)
        origin.setdefault(other, one)
    wrong = (
        both
        for both in pairs
        if any(usual[one] != other or origin[other] != one for one, other in _variables(*both))
    )
    for first, second in islice(wrong, MAX_CHANGED_HUNKS):
        lines = _shown(trusted_text, first), _shown(copy_text, second)
        yield StatementChange("exchanged variable", False, second.start, second.end, *lines)


def _variables(first: Statement, second: Statement) -> Iterator[tuple[str, str]]:
    if "def" in first.key[:2] or ITSELF in first.key[:3]:
        return  # parameters may be reordered
    for at in range(len(first.tokens)):
        if is_variable(first.tokens, at):
            yield first.tokens[at].text, second.tokens[at].text


SIGNAL = signal_of(
    __file__, "copies of trusted functions with a changed line", _inspect, intent=True, compares=True
)
