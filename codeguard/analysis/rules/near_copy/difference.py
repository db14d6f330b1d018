"""Compare a trusted function with its near-copy, and rate the changes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum
from itertools import pairwise

from codeguard.analysis.python.sketches import Token
from codeguard.analysis.python.statements import ITSELF, Statement, is_variable
from codeguard.corpus import syntax
from codeguard.corpus.patterns import lazy

MAX_HUNKS = 8
MAX_CHANGED_HUNKS = 3
MAX_RUN = 300  # tokens of a changed range that are compared one by one
COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!=", "in", "not", "is", "===", "!=="})
_OPERATORS = "+ - * / // % ** & | ^ << >> and or && || ! += -= *= /= //= %= @"
OPERATORS = frozenset(_OPERATORS.split())
LEAVING = frozenset({"raise", "assert", "throw", "abort", "panic"})
QUIET = lazy(r"(?:log(?:ger|ging)?|_log|print|warnings|console|debug|echo)\b")
_PROTECTING = """
verify check_hostname cert_reqs CERT_REQUIRED ssl_context autoescape safe_load SafeLoader usedforsecurity
compare_digest hmac secure httponly samesite algorithms escape quote sanitize sanitise validate valid is_valid
authenticate authorize authorise permission permissions has_permission login_required realpath resolve
is_relative_to commonpath sha256 sha384 sha512 blake2b scrypt pbkdf2_hmac bcrypt argon2 iterations secrets
token_bytes token_hex urandom literal_eval timeout O_EXCL O_NOFOLLOW shell follow_symlinks allow_redirects
trust_env csrf_exempt umask mode nonce iv salt
"""
PROTECTING = frozenset(_PROTECTING.split())
_WEAK = """
md5 sha1 MD5 SHA1 ECB DES ARC4 RC4 CERT_NONE _create_unverified_context eval exec system popen pickle marshal
unsafe_load UnsafeLoader 0o777 0o666 0777 0666 random mktemp shell
"""
WEAK = frozenset(_WEAK.split())


class ChangeWeight(IntEnum):
    """How much a change matters."""

    NOTHING = 0
    QUIET = 1  # a message, a log line
    CHANGE = 2  # another comparison, constant, operator, call or variable
    PROTECTION = 3  # a check, a security argument or a protecting call


@dataclass(frozen=True, slots=True)
class StatementChange:
    """One change: its kind, its position in the candidate, both lines as written, and how many tokens differ."""

    what: str
    weight: ChangeWeight
    start: int
    end: int
    was: str
    now: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class FunctionDifference:
    """All differences between two functions.

    `size` counts the tokens of both, `share` is the share of them that differ, 0 to 1. `replaced`
    counts the original's statements without an equal, `added` the copy's. `mostly_equal` means that
    more of the bodies agrees than differs.
    """

    changes: tuple[StatementChange, ...]
    share: float
    size: int
    replaced: int
    added: int
    mostly_equal: bool


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
    changed = sum(end > begin for _, begin, end, _, _ in hunks)
    # Inserted statements can hide a change, so a single change may be surrounded by more of them.
    if len(hunks) > (MAX_HUNKS if changed <= 1 else MAX_CHANGED_HUNKS):
        return None
    size = sum(len(item.key) for item in (*trusted, *copy))
    pairs = [
        pair
        for tag, begin, end, other, _ in blocks
        if tag == "equal"
        for pair in zip(trusted[begin:end], copy[other : other + end - begin], strict=True)
    ]
    changes: list[StatementChange] = []
    differing = 0
    for _, begin, end, other, other_end in hunks:
        hunk = _Hunk(trusted[begin:end], copy[other:other_end], trusted_text, copy_text)
        found, tokens = hunk.change(copy, other)
        differing += tokens
        if found is not None:
            changes.append(found)
    changes += _exchanged(pairs, trusted_text, copy_text)
    return FunctionDifference(
        tuple(changes),
        differing / max(1, size),
        size,
        sum(max(end - begin, other_end - other) for _, begin, end, other, other_end in hunks if end > begin),
        sum(other_end - other for _, begin, end, other, other_end in hunks if end == begin),
        _body_size(trusted) + _body_size(copy) - differing >= differing,
    )


def _body_size(found: Sequence[Statement]) -> int:
    return sum(len(item.key) for item in found[1:])


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Statements of one function and of the other at the same place."""

    gone: Sequence[Statement]
    come: Sequence[Statement]
    trusted_text: str
    copy_text: str

    def change(self, copy: Sequence[Statement], at: int) -> tuple[StatementChange | None, int]:
        """Return the change and the number of different tokens; None if keywords are in another order, or brackets
        were set that change nothing.
        """
        gone = [word for item in self.gone for word in item.key]
        come = [word for item in self.come for word in item.key]
        if self.gone and self.come and Counter(gone) == Counter(come) and gone.count("=") > 1:
            return None, 0
        if self._differs_in_brackets_alone(gone, come):
            return None, 0
        lost, new = _differing(gone, come)
        what, weight = self._judge(lost, new, self._bare_names(copy))
        start, end = self._place(copy, at)
        was = " ".join(_shown(self.trusted_text, item) for item in self.gone[:2])
        now = " ".join(_shown(self.copy_text, item) for item in self.come[:2])
        differing = len(lost) + len(new)
        return StatementChange(what, weight, start, end, was, now, differing), differing

    def _differs_in_brackets_alone(self, gone: list[str], come: list[str]) -> bool:
        """Return whether single statements of Python have the same tree: formatters set brackets of their own."""
        if len(self.gone) != 1 or len(self.come) != 1:
            return False
        if [word for word in gone if word not in "()"] != [word for word in come if word not in "()"]:
            return False
        trees = [
            _tree(text[item.start : item.end])
            for text, item in ((self.trusted_text, self.gone[0]), (self.copy_text, self.come[0]))
        ]
        return trees[0] == trees[1] != ""

    def _bare_names(self, copy: Sequence[Statement]) -> set[str]:
        """Return the names that the copy uses here and binds nowhere, such as an imported `sha256`."""
        used = {token.text for item in self.come for token in item.tokens}
        bound = {token.text for token in copy[0].tokens} if copy else set[str]()
        for item in copy:
            texts = [token.text for token in item.tokens]
            bound.update(name for name, after in pairwise(texts) if after in ("=", ":=", ":", ",", "in"))
        return used - bound

    def _judge(self, lost: list[str], new: list[str], bare: Set[str]) -> tuple[str, ChangeWeight]:
        if self._only_quiet():
            return "a message", ChangeWeight.QUIET
        if self._removed_check():
            return "removed check", ChangeWeight.PROTECTION
        weak = sorted(WEAK.intersection(new) - set(lost))
        touched = sorted(PROTECTING.intersection(_names_at(self.gone, lost, self.come, new)) - bare)
        if weak:
            return f"weakened to {weak[0]}", ChangeWeight.PROTECTION
        if touched and self.gone:
            return f"changed protection ({touched[0]})", ChangeWeight.PROTECTION
        differing = [*lost, *new]
        if not self.gone:
            return "added statement", ChangeWeight.CHANGE
        if not self.come:
            return "removed statement", ChangeWeight.CHANGE
        if COMPARISONS.intersection(differing):
            return "changed comparison", ChangeWeight.CHANGE
        if OPERATORS.intersection(differing):
            return "changed operator", ChangeWeight.CHANGE
        if all(_is_constant(word) for word in differing):
            return "changed constant", ChangeWeight.CHANGE
        return "changed code", ChangeWeight.CHANGE

    def _only_quiet(self) -> bool:
        statements = [*self.gone, *self.come]
        if all(QUIET.match(item.tokens[0].text) for item in statements):
            return True
        if len(self.gone) != 1 or len(self.come) != 1:
            return False
        lost, new = _differing(self.gone[0].key, self.come[0].key)
        raising = self.gone[0].key[0] in LEAVING and self.come[0].key[0] in LEAVING
        return (
            raising
            and self.gone[0].key[1:2] == self.come[0].key[1:2]
            and all(_is_text(word) or not word.isalnum() for word in (*lost, *new))
        )

    def _removed_check(self) -> bool:
        kept = Counter(word for item in self.come for word in item.key if word in LEAVING)
        had = Counter(word for item in self.gone for word in item.key if word in LEAVING)
        return bool(had - kept)

    def _place(self, copy: Sequence[Statement], at: int) -> tuple[int, int]:
        """Return the range to show: the changed statements, or the one next to missing statements."""
        if self.come:
            return self.come[0].start, self.come[-1].end
        beside = copy[min(at, len(copy) - 1)]
        return beside.start, beside.end


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


def _names_at(
    gone: Sequence[Statement], lost: list[str], come: Sequence[Statement], new: list[str]
) -> Iterator[str]:
    """Yield the words that differ, and the keyword of a differing value."""
    yield from lost
    yield from new
    before, after = keywords(gone), keywords(come)
    yield from (name for name in before if before[name] != after.get(name))


def keywords(items: Sequence[Statement]) -> dict[str, str]:
    """Return the first words of the values that names or keywords get in statements."""
    found: dict[str, str] = {}
    for item in items:
        for at in range(1, len(item.key) - 1):
            if item.key[at] == "=" and item.tokens[at - 1].text.isidentifier() and at > 1:
                found[item.tokens[at - 1].text] = item.key[at + 1]
    return found


def _is_text(word: str) -> bool:
    return word[-1:] in "\"'`"


def _is_constant(word: str) -> bool:
    return (
        _is_text(word)
        or word[:1].isdigit()
        or word in ("True", "False", "None", "true", "false", "null", "-")
    )


def _shown(text: str, item: Statement) -> str:
    return " ".join(text[item.start : item.end].split())[:120]


def _exchanged(
    pairs: Sequence[tuple[Statement, Statement]], trusted_text: str, copy_text: str
) -> Iterator[StatementChange]:
    """Yield the statements in which a copy uses a variable inconsistently.

    In an honest copy each variable of the original has one name. A name that differs in few places
    was exchanged.
    """
    meant: dict[str, Counter[str]] = {}
    for first, second in pairs:
        for one, other in _variables(first, second):
            meant.setdefault(one, Counter())[other] += 1
    usual = {one: others.most_common(1)[0][0] for one, others in meant.items()}
    origins: dict[str, Counter[str]] = {}
    for one, others in meant.items():
        origins.setdefault(usual[one], Counter())[one] += others[usual[one]]
    found = 0
    for first, second in pairs:
        wrong = [
            (one, other)
            for one, other in _variables(first, second)
            if usual[one] != other or origins[other].most_common(1)[0][0] != one
        ]
        if wrong and found < MAX_CHANGED_HUNKS:
            found += 1
            yield StatementChange(
                "exchanged variable",
                ChangeWeight.CHANGE,
                second.start,
                second.end,
                _shown(trusted_text, first),
                _shown(copy_text, second),
            )


def _variables(first: Statement, second: Statement) -> Iterator[tuple[str, str]]:
    if "def" in first.key[:2] or ITSELF in first.key[:3]:
        return  # parameters may be reordered
    for at in range(len(first.tokens)):
        if is_variable(first.tokens, at):
            yield _named(first.tokens[at]), _named(second.tokens[at])


def _named(token: Token) -> str:
    return token.text
