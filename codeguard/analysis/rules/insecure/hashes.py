"""Weak digests, and unsuitable digests of passwords."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.ciphers import computed
from codeguard.analysis.rules.insecure.words import PASSWORD, SECRET, last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, walk
from codeguard.flow.sinks import Sink
from codeguard.flow.values import Use
from codeguard.models import Confidence, Severity

_RULES = rules_of(__file__)

_WEAK = frozenset({"md5", "md4", "md2", "sha1", "sha", "ripemd160", "rmd160", "whirlpool"})
_FAST = (
    frozenset({"sha224", "sha256", "sha384", "sha512", "sha3_256", "sha3_512", "blake2b", "blake2s"}) | _WEAK
)
_CALLS = frozenset(f"hashlib.{name}" for name in _FAST) | word_set(
    "hashlib.new hashlib.file_digest "
    "Crypto.Hash.MD5.new Crypto.Hash.MD4.new Crypto.Hash.MD2.new Crypto.Hash.SHA.new Crypto.Hash.SHA1.new "
    "Crypto.Hash.SHA256.new Crypto.Hash.SHA512.new Cryptodome.Hash.MD5.new Cryptodome.Hash.SHA1.new "
    "cryptography.hazmat.primitives.hashes.MD5 cryptography.hazmat.primitives.hashes.SHA1"
)
_SECURITY = lazy(
    r"sign|token|verif|integrit|auth(?!n_|or)|certificate|session|api_?key|nonce|hmac|(?:key|cert\w*|host)_?fingerprint|tamper|licen[cs]e|secur|reset",
    re.IGNORECASE,
)
_OF_FILES = lazy(
    r"installer|firmware|fingerprint|sums?\b|checksum|download|release|expected|update", re.IGNORECASE
)
_SHORT_FUNCTION = 20  # lines; the name of a longer function does not describe each digest in it
_PRESCRIBED = lazy(r"\bx5t\b|(?<!un)thumbprint", re.IGNORECASE)  # names of certificates, by their standard
_TOKENIZER = lazy(r"tokeni[sz]\w*", re.IGNORECASE)
_DERIVE = word_set("hashlib.pbkdf2_hmac cryptography.hazmat.primitives.kdf.pbkdf2.PBKDF2HMAC "
                "Crypto.Protocol.KDF.PBKDF2 passlib.hash.pbkdf2_sha256.using passlib.hash.pbkdf2_sha512.using "
                "werkzeug.security.generate_password_hash "
                "bcrypt.gensalt hashlib.scrypt cryptography.hazmat.primitives.kdf.scrypt.Scrypt")  # fmt: skip


def _algorithm(view: View, node: ast.Call, name: str) -> str:
    if name == "hashlib.file_digest":
        given = view.argument(node, "digest", 1)
        named = (
            "" if given is None else view.names.text(given) or view.names.resolve(given).rpartition(".")[2]
        )
        return named.lower().replace("-", "")
    if name == "hashlib.new":
        return (view.names.text(view.argument(node, "name", 0)) or "").lower().replace("-", "")
    last = name.removesuffix(".new").rpartition(".")[2].lower()
    return last


def _weak(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    algorithm = _algorithm(view, node, name)
    if _secret_first(view, node) and algorithm in _EXTENDED:
        yield NodeMatch(
            node, "who has one digest makes those of longer messages without the secret: take hmac"
        )
        return
    if algorithm not in _WEAK:
        return
    if _hashes_password(view, node, name) or _of_no_data(view, node) or _needs_no_strength(view, node):
        return
    function = view.function_of(node)
    statement = view.statement(node)
    named = function is not None and (
        isinstance(statement, ast.Return) or (function.end_lineno or 0) - function.lineno <= _SHORT_FUNCTION
    )
    around = f"{function.name if function is not None and named else ''} {unparse(statement)}"
    if name == "hashlib.file_digest" and function is not None and named:
        around += f" {unparse(function.args)}"
    around = _TOKENIZER.sub("", around)
    if _PRESCRIBED.search(around):
        return
    # A module-level table of algorithms by name does not use any of them.
    table = function is None and isinstance(view.reading.parents.get(node), ast.Dict)
    of_file = name == "hashlib.file_digest" and _OF_FILES.search(around) is not None
    serious = not table and (of_file or bool(_SECURITY.search(around)) or mentions(around, SECRET))
    severity = Severity.MEDIUM if serious else Severity.LOW
    yield NodeMatch(node, f"{algorithm} can be forged: use sha256 or better", severity,
                Confidence.MEDIUM if serious else Confidence.LOW)  # fmt: skip


_EXTENDED = frozenset({"md5", "sha1", "sha256", "sha512"})
_SIGNS = lazy(r"sign(?!al|up|in)|signature|(?:^|_)h?mac(?:$|_)|webhook|token", re.IGNORECASE)


def _secret_first(view: View, node: ast.Call) -> bool:
    """Return whether a signature is a digest of a secret and a message: `sha256(secret + body)`."""
    given = node.args[0] if node.args else None
    while isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add):
        given = given.left
        if isinstance(given, ast.BinOp):
            continue
        while (
            isinstance(given, ast.Call)
            and isinstance(given.func, ast.Attribute)
            and given.func.attr == "encode"
        ):
            given = given.func.value
        function = view.function_of(node)
        keyed = _KEYED.search(last_name(given).lower()) is not None
        return keyed and function is not None and _SIGNS.search(function.name) is not None
    return False


_KEYED = lazy(r"secret|(?:^|_)key$|private")


def _of_no_data(view: View, node: ast.Call) -> bool:
    """Return whether only a property is read: `sha1().digest_size`."""
    parent = view.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("digest_size", "block_size", "name")


_IDENTIFYING = frozenset({"OAEP", "MGF1", "fingerprint", "add_certificate", "add_response"})
_DRAWN = ("os.urandom", "secrets.", "uuid.uuid4", "random.SystemRandom")


def _needs_no_strength(view: View, node: ast.Call) -> bool:
    """Return whether collisions are harmless: OAEP, a certificate's name, random data, or a stated purpose."""
    if _NOT_SECURITY.search(unparse(node)):
        return True
    around = view.parent(node)
    while isinstance(around, ast.expr | ast.keyword):
        if isinstance(around, ast.Call) and last_name(around.func) in _IDENTIFYING:
            return True
        around = view.parent(around)
    return bool(node.args) and all(
        isinstance(argument, ast.Call) and view.names.called(argument).startswith(_DRAWN)
        for argument in node.args
    )


_NOT_SECURITY = lazy(r"usedforsecurity\W{1,4}False")


def _hashes_password(view: View, node: ast.Call, name: str) -> bool:
    """Return whether the hashed data is named like a password, also in `update`."""
    data = [*node.args[1 if name == "hashlib.new" else 0 :], *(item.value for item in node.keywords)]
    words = [part for argument in data for part in _words(view, argument)]
    parent = view.parent(node)
    if not data and isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        function = view.function_of(node)
        holder = parent.targets[0].id
        for call in walk(function) if function is not None else ():
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "update"
                and isinstance(call.func.value, ast.Name)
                and call.func.value.id == holder
            ):
                words += [part for argument in call.args for part in _words(view, argument)]
    return any(mentions(word, PASSWORD) for word in words)


def _words(view: View, node: ast.expr) -> Iterator[str]:
    """Yield the names and keys in an expression, and in the values of its names."""
    for part in walk(node):
        if isinstance(part, ast.Name):
            yield part.id
            for value in view.names.values_of(part)[:2]:
                yield from (item.id for item in walk(value) if isinstance(item, ast.Name))
                yield from (item.attr for item in walk(value) if isinstance(item, ast.Attribute))
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif (
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and isinstance(view.parent(part), ast.Subscript | ast.Call)
        ):
            yield part.value


_LEAKED = "pwnedpasswords"  # services for leaked passwords are queried by the prefix of a digest


def _fast_password(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    algorithm = _algorithm(view, node, name)
    if algorithm not in _FAST or not _hashes_password(view, node, name):
        return
    if view.has(_LEAKED):
        return
    if _NOT_SECURITY.search(unparse(node)):
        return
    yield NodeMatch(
        node, f"{algorithm} of a password is tried out by the billion: use scrypt, bcrypt or argon2"
    )


def _brought_password(view: View) -> Iterator[NodeMatch]:
    """Find a digest in a helper that is called with a password."""
    for hit in view.flow.hits if not view.has(_LEAKED) else ():
        if hit.sink.key == "hash" and isinstance(hit.call, ast.Call):
            name = view.names.called(hit.call)
            if (
                _algorithm(view, hit.call, name) in _FAST
                and view.constant(hit.call, "usedforsecurity") is not False
            ):
                word = next((word for word in view.flow.words(hit.value) if mentions(word, PASSWORD)), "")
                if word and not name.startswith("hmac"):
                    yield NodeMatch(
                        hit.call, f"{word} is kept as a fast digest: use scrypt, bcrypt or argon2"
                    )


_OLD = lazy(
    r"MD5|SHA1|Unsalted|Crypt(?:Password)?Hasher|(?:md5|sha1|des|bsdi|ldap_plaintext|plaintext|hex_\w+|lmhash|nthash|"
    r"mysql323|apr_md5)(?:_crypt)?(?:\.hash|\.encrypt)?$"
)


_KNOWN = lazy(r"^(?:user_?name|user|login|e?_?mail|account|name|user_?id|password|passwd|pw|phone)$")


def _unsalted(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    position = {"hashlib.pbkdf2_hmac": 2, "hashlib.scrypt": None, "Crypto.Protocol.KDF.PBKDF2": 1}.get(
        name, 99
    )
    salt = view.argument(node, "salt", position)
    value = view.names.constant(salt)
    if isinstance(value, str | bytes) and salt is not None:
        yield NodeMatch(node, "the salt is the same for every password")
    elif salt is not None and any(
        _KNOWN.match(last_name(_within_calls(value)).lower()) for value in (salt, *view.names.values_of(salt))
    ):
        yield NodeMatch(node, "the salt is known beforehand, and the same wherever the name is: draw it")
    elif salt is not None and computed(view, salt):
        yield NodeMatch(node, "the salt is computed from what others know: draw it")


def _within_calls(node: ast.expr) -> ast.expr:
    """Return the start of a chain of calls: `name` in `name.lower().encode()` or `sha256(name).digest()`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not (node.args and isinstance(node.func.value, ast.Name)):
            node = node.func.value
        elif len(node.args) == 1:
            node = node.args[0]
        else:
            break
    return node


def _iterations(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    least, given = 100_000, None
    if name == "hashlib.pbkdf2_hmac":
        given = view.constant(node, "iterations", 3)
    elif name == "Crypto.Protocol.KDF.PBKDF2":
        given = view.constant(node, "count", 3, 1000)
    elif name == "bcrypt.gensalt":
        least, given = 10, view.constant(node, "rounds", 0, 12)
    elif name.endswith("scrypt") or name.endswith("Scrypt"):
        least, given = 1 << 13, view.constant(node, "n")
    elif name == "werkzeug.security.generate_password_hash":
        method = view.constant(node, "method", 1, "scrypt")
        last = str(method).rpartition(":")[2]
        if str(method) in ("plain", "md5", "sha1", "sha256"):
            yield NodeMatch(node, f"method {method!r} is no slow hash")
        given = int(last) if str(method).startswith("pbkdf2") and last.isascii() and last.isdigit() else None
    else:
        given = view.constant(node, "iterations", None) or view.constant(node, "rounds", None)
    if isinstance(given, int) and given < least:
        yield NodeMatch(node, f"{given} rounds are too few: at least {least}")


CHECKS = (
    Check(
        _RULES["weak-hash"],
        calls=_CALLS,
        look=_weak,
    ),
    Check(
        _RULES["fast-password-hash"],
        calls=_CALLS,
        look=_fast_password,
        sinks=(Sink("hash", Use.DATA, names=_CALLS, arguments=("*",)),),
        grades=(None, None, None),
        look_at_file=_brought_password,
    ),
    Check(
        _RULES["constant-salt"],
        calls=_DERIVE,
        look=_unsalted,
    ),
    Check(
        _RULES["few-iterations"],
        calls=_DERIVE,
        look=_iterations,
    ),
)
