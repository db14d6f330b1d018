"""Predictable random values used for secrets."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.words import SECRET, last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, walk
from codeguard.syntax.scopes import FunctionNode

_RULES = rules_of(__file__)

_CALLS = frozenset(
    f"{owner}.{name}"
    for owner in ("random", "random.Random", "numpy.random")
    for name in (
        "random",
        "randint",
        "randrange",
        "choice",
        "choices",
        "sample",
        "getrandbits",
        "randbytes",
        "bytes",
        "uniform",
        "shuffle",
    )
)
_SECRET_PURPOSE = ("password", "passwd", "token", "secret", "otp", "pin_code", "apikey", "api_key", "nonce", "salt",
                   "session", "csrf", "reset", "verification", "captcha", "invit", "gift_card", "gift_code",
                   "access_code", "door_code", "gate_code", "pickup_code", "pairing", "locker_code", "unlock_code",
                   "room_code", "booking_code", "ticket_code", "credential", "private", "_iv",
                   "coupon", "voucher", "auth", "crypt", "recovery", "activation", "two_factor", "mfa", "passcode",
                   "one_time", "signup_code", "login_code", "confirm", "signing_key", "hmac_key", "mac_key",
                   "master_key", "encryption_key", "onetime", "download_code", "claim_code")  # fmt: skip
_CODES = frozenset({"code", "pin", "key"})


def _purpose(view: View, node: ast.AST) -> str:
    """Return the purpose of a value if the names around it indicate a secret."""
    statement = view.statement(node)
    words: list[str] = []
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        words += [unparse(target) for target in targets if not isinstance(target, ast.Tuple)]
    function = view.function_of(node)
    if function is not None and _is_made_by(function, statement):
        words.append(function.name)
    at = view.parent(node)
    while at is not None and at is not statement:
        if isinstance(at, ast.keyword) and at.arg:
            words.append(at.arg)
        at = view.parent(at)
    owner = view.names.class_of(node)
    if owner is not None and words and any(word.lower() in _CODES for word in words):
        words.append(owner.name)
    if function is not None and any(_OF_CODES.search(word) for word in words):
        words += (word for word in _SENT_CODE.findall(view.written(function))[:1])
    return next((word for word in words if _is_secret(word) or _SENT_CODE.search(word)), "")


# What is done with a code that opens something.
_SENT_CODE = lazy(
    r"\bsms\b|one_?time|\botp\b|(?:valid|expire)\w*|\b(?:redeem|unlock|sold|known|used|pending|issued|active)_?(?:codes?)?\b",
    re.IGNORECASE,
)


def _is_secret(word: str) -> bool:
    """Return whether a name is one of a secret; `author` is no word of authentication."""
    said = _AUTHOR.sub("", word.lower())
    return any(part in said for part in _SECRET_PURPOSE)


_AUTHOR = lazy(r"authors?(?!i[sz])")


_WORTH = lazy(
    r"voucher|coupon|gift|token|api_?key|session|password|passwd|secret|invite|licen[cs]e", re.IGNORECASE
)
_FEWEST_BITS = 40
_OF_CODES = lazy(r"(?:^|_|\b)(?:code|pin|otp|passcode)s?(?:$|_|\b)", re.IGNORECASE)
_FEWEST_OF_CODES = 13  # a code of four digits has more


def _few_drawn(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find short secrets drawn from a small alphabet: `"".join(secrets.choice(a) for _ in range(4))`."""
    drawn = view.parent(node)
    if not isinstance(drawn, ast.GeneratorExp | ast.ListComp) or len(drawn.generators) != 1:
        return
    counted = drawn.generators[0].iter
    length = view.names.constant(counted.args[0]) if isinstance(counted, ast.Call) and counted.args else None
    alphabet = view.names.constant(node.args[0]) if node.args else None
    if (
        isinstance(length, int)
        and isinstance(alphabet, str | tuple)
        and len(alphabet) > 1
        and 0 < length < 40
    ):
        bits = length * math.log2(len(set(alphabet)))
        function = view.function_of(node)
        purpose = f"{_purpose(view, node)} {function.name if function is not None else ''}"
        worth = bits < _FEWEST_BITS and _WORTH.search(purpose)
        few = bits < _FEWEST_OF_CODES and _OF_CODES.search(f"{purpose} {_target(view, node)}")
        if (worth or few) and not _NO_SECRET.search(purpose):
            yield NodeMatch(node, f"{bits:.0f} bits are few enough to be tried out: draw more")


def _short(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find secrets with few possible values: `secrets.token_hex(3)`, `uuid.uuid4().hex[:6]`."""
    if name == "secrets.randbelow" and isinstance(node, ast.Call):
        most, function = view.constant(node, "exclusive_upper_bound", 0), view.function_of(node)
        named = f"{_target(view, node)} {function.name if function is not None else ''}"
        # One digit of several is drawn as often as there are digits.
        if isinstance(most, int) and 100 <= most < 1 << _FEWEST_OF_CODES and _OF_CODES.search(named):
            yield NodeMatch(node, f"{most} values are few enough to be tried out: draw more")
        return
    if name == "secrets.choice" and isinstance(node, ast.Call):
        yield from _few_drawn(view, node)
        return
    if isinstance(node, ast.Subscript):
        if not isinstance(node.slice, ast.Slice) or not view.has("token_", "uuid4"):
            return
        made, length = view.names.resolve(node.value), view.names.constant(node.slice.upper)
        if (
            not made.startswith(("secrets.token_", "uuid.uuid4"))
            or not isinstance(length, int)
            or length >= 12
        ):
            return
    else:
        assert isinstance(node, ast.Call)
        size = view.constant(node, "nbytes", 0)
        if not isinstance(size, int) or size >= 8:
            return
    purpose = _purpose(view, node)
    named = _target(view, node)
    if purpose and not _CODE.search(purpose) and not _NO_SECRET.search(named):
        yield NodeMatch(node, f"{purpose!r} is short enough to be tried out: take 16 bytes and more")


_CODE = lazy(r"pin|otp|code|suffix|nonce|salt", re.IGNORECASE)
_NO_SECRET = lazy(
    r"mask|padding|jitter|version|timestamp|delay|wait|sleep|timeout|interval|backoff|retry|percent|pct",
    re.IGNORECASE,
)


_SHORT_FUNCTION = 12  # lines; the name of a longer function does not describe each value in it
_ASKING = lazy(r"dialog|prompt|window|widget|button", re.IGNORECASE)


def _is_made_by(function: FunctionNode, statement: ast.AST) -> bool:
    """Return whether a value is the result of a function that is there to make it."""
    lines = (function.end_lineno or function.lineno) - function.lineno
    made = isinstance(statement, ast.Return) or lines <= _SHORT_FUNCTION
    return made and not _ASKING.search(function.name)


def _target(view: View, node: ast.AST) -> str:
    """Return the name that the statement around a node assigns to."""
    statement = view.statement(node)
    return unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def _purpose_of_callers(view: View, node: ast.AST) -> str:
    """Return the purpose in calls of the function around a node, if a name there indicates a secret."""
    function = view.function_of(node)
    if function is None:
        return ""
    name = ":" + view.names.symbol(function)
    calls = (part for part in view.nodes if isinstance(part, ast.Call) and view.names.called(part) == name)
    return next((purpose for call in calls if (purpose := _purpose(view, call))), "")


def _weak_random(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    purpose = _purpose(view, node) or _purpose_of_callers(view, node) or _key_of_bytes(view, node, name)
    assert isinstance(node, ast.Call)
    if any(other.startswith("secrets.") for other in view.names.names_of(node.func)):
        return  # fallback for old Python versions
    # `random.random() < rate`, `random.choice(self.keys)`
    drawn = isinstance(view.parent(node), ast.Compare) or _picks_one(view, node, name)
    if purpose and not drawn and not _NO_SECRET.search(_target(view, node)):
        yield NodeMatch(node, f"{name} can be foreseen, and makes {purpose!r}: use the secrets module")


_KEYS = lazy(r"^(?:new|make|generate|gen|create|random)_(?:\w{1,30}_)?(?:key|iv|nonce|salt)$")


_KEY = lazy(r"^(?:\w{1,30}_)?(?:key|iv|nonce|salt|secret)$")


def _key_of_bytes(view: View, node: ast.AST, name: str) -> str:
    """Return the name of a function that makes a key of random bits."""
    if name.endswith(("bytes", ".getrandbits")) and _KEY.match(_target(view, node)):
        return _target(view, node)
    function = view.function_of(node)
    bits = name.endswith((".getrandbits", ".randbytes")) or view.has("bytes(", "bytearray(")
    return function.name if function is not None and bits and _KEYS.search(function.name) else ""


_KEPT = lazy(
    r"(?:^|_)(?:keys|tokens|secrets|sessions|credentials|passwords|nonces|cookies|accounts)$", re.IGNORECASE
)


def _picks_one(view: View, node: ast.Call, name: str) -> bool:
    """Return whether a call chooses one of several things that are there, and makes none."""
    if not name.endswith(".choice") or not node.args or not _KEPT.search(last_name(node.args[0])):
        return False
    return not isinstance(view.parent(node), ast.GeneratorExp | ast.ListComp)


def _seed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    given = node.args[0] if node.args else view.argument(node, "a")
    if given is None:
        return
    made = view.names.resolve(given)
    by_time = made.startswith(("time.", "datetime.", "os.getpid", "int()")) or any(
        isinstance(part, ast.Call) and view.names.called(part).startswith(("time.", "datetime.", "os.getpid"))
        for part in walk(given)
    )
    constant = view.names.constant(given) is not None
    if not (by_time or constant):
        return
    function = view.function_of(node)
    holder: ast.AST | None = function or view.reading.tree
    makes = next(
        (
            part
            for part in (walk(holder) if holder is not None else ())
            if isinstance(part, ast.Call) and view.names.called(part) in _CALLS and _purpose(view, part)
        ),
        None,
    )
    if makes is not None or (
        function is not None
        and (
            mentions(function.name, SECRET)
            or mentions(function.name, _MASKS)
            or (by_time and mentions(f"{function.name} {unparse(function.args)}", _PRIZES))
        )
    ):
        yield NodeMatch(node, "the seed is known or easily guessed, and so is all that is made from it")


_MASKS = lazy(
    r"pseudonym|anonymi[sz]|deidentif|de_identif|lottery|raffle|draw_winner|shuffle_deck|deal_cards"
)

_PRIZES = lazy(r"(?:^|\W|_)(?:prizes?|winners?|raffle|lottery|jackpot|giveaway)(?:$|\W|_)")


def _uuid(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    purpose = _purpose(view, node)
    if purpose:
        yield NodeMatch(
            node, f"{name} is made of the clock and the network address, and makes {purpose!r}: use secrets"
        )


CHECKS = (
    Check(
        _RULES["predictable-secret"],
        calls=_CALLS,
        look=_weak_random,
    ),
    Check(
        _RULES["predictable-seed"],
        calls=word_set("random.seed random.Random numpy.random.seed"),
        look=_seed,
    ),
)
