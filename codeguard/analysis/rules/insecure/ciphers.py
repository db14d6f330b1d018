"""Weak ciphers, modes, nonces and keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, parameters_of, word_set
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk

_RULES = rules_of(__file__)

_PACKAGES = ("Crypto.Cipher", "Cryptodome.Cipher")
_BROKEN = ("DES", "DES3", "ARC4", "ARC2", "Blowfish", "CAST", "XOR")
_HAZMAT = "cryptography.hazmat.primitives.ciphers"
_WEAK_CIPHERS = frozenset(f"{package}.{name}.new" for package in _PACKAGES for name in _BROKEN) | frozenset(
    f"{_HAZMAT}.{part}.{name}"
    for part in ("algorithms", "algorithms.decrepit")
    for name in ("ARC4", "TripleDES", "Blowfish", "IDEA", "CAST5", "SEED", "RC2")
)
_NEW = frozenset(
    f"{package}.{name}.new" for package in _PACKAGES for name in (*_BROKEN, "AES", "ChaCha20", "Salsa20")
)
_MODES = frozenset(f"{_HAZMAT}.modes.{mode}" for mode in ("CBC", "CTR", "OFB", "CFB", "GCM", "CFB8"))
_RSA = word_set(
    "Crypto.PublicKey.RSA.generate Cryptodome.PublicKey.RSA.generate Crypto.PublicKey.DSA.generate "
    "cryptography.hazmat.primitives.asymmetric.rsa.generate_private_key "
    "cryptography.hazmat.primitives.asymmetric.dsa.generate_private_key rsa.newkeys "
    "cryptography.hazmat.primitives.asymmetric.dh.generate_parameters paramiko.RSAKey.generate "
    "paramiko.DSSKey.generate Cryptodome.PublicKey.DSA.generate OpenSSL.crypto.PKey.generate_key "
    "asyncssh.generate_private_key"
)
_CURVES = frozenset(
    f"cryptography.hazmat.primitives.asymmetric.ec.{name}"
    for name in ("SECP192R1", "SECT163K1", "SECT163R2", "SECT233K1", "SECP224R1")
)


def _weak_cipher(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    last = name.removesuffix(".new").rpartition(".")[2]
    yield NodeMatch(node, f"{last} is broken: use AES-GCM or ChaCha20-Poly1305")


def _ecb(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name.endswith("modes.ECB"):
        yield NodeMatch(node, "ECB shows which blocks are equal")
        return
    mode = view.argument(node, "mode", 1)
    if mode is not None and view.names.resolve(mode).endswith("MODE_ECB"):
        yield NodeMatch(node, "ECB shows which blocks are equal")
    elif mode is not None and name.rpartition(".")[0].endswith("AES") and view.names.constant(mode) == 1:
        yield NodeMatch(node, "mode 1 is ECB, which shows which blocks are equal")


def _fixed_nonce(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name in _MODES:
        given = node.args[0] if node.args else None
    elif name.endswith((".encrypt", ".encrypt.encrypt")):
        given = node.args[0] if len(node.args) >= 3 else view.argument(node, "nonce")
        if not name.startswith("cryptography."):
            return
    else:
        given = view.argument(node, "iv", 2) or view.argument(node, "nonce")
    if given is None or _is_decryption(view, node):
        return
    value = view.names.constant(given)
    if isinstance(value, str | bytes) and value:
        yield NodeMatch(node, "the nonce or IV is a constant, the same for every message")
    elif _numbered(view, given):
        yield NodeMatch(
            node,
            "the nonce is a number that comes again: with another key, after a restart, for a changed record",
        )
    elif _derived(view, given) or computed(view, given):
        yield NodeMatch(node, "the nonce or IV is computed from what is the same for other messages")
    elif _zeros(view, given):
        yield NodeMatch(node, "the nonce or IV is made of one byte, the same for every message")


def _zeros(view: View, node: ast.expr) -> bool:
    """Return whether a value is all zeros: `bytes(16)`, `b"0" * AES.block_size`, or a name for one."""
    for value in (node, *view.names.values_of(node)):
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            if any(isinstance(view.names.constant(side), bytes) for side in (value.left, value.right)):
                return True
        elif (
            isinstance(value, ast.Call)
            and view.names.called(value) in ("bytes", "bytearray")
            and len(value.args) == 1
        ):
            size = value.args[0]
            if isinstance(view.names.constant(size), int) or view.names.resolve(size).endswith(".block_size"):
                return True
    return False


def _numbered(view: View, node: ast.expr) -> bool:
    """Return whether a nonce is a parameter or counter as bytes: `record_id.to_bytes(12, "big")`."""
    function = view.function_of(node)
    for value in (node, *view.names.values_of(node)):
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            continue
        packed = view.names.called(value) == "struct.pack" and len(value.args) > 1
        number = value.args[-1] if packed else value.func.value if value.func.attr == "to_bytes" else None
        if isinstance(number, ast.Name) and number.id in parameters_of(function):
            return _COUNTER.search(number.id.lower()) is None
        if isinstance(number, ast.Attribute):
            return any(isinstance(item, ast.Constant) for item in view.names.values_of(number)) and not (
                _begins_with_key(view, node)
            )
    return False


def _begins_with_key(view: View, node: ast.expr) -> bool:
    """Return whether the object counts from the moment that it is given a key of one session."""
    owner = view.names.class_of(node)
    made = [item for item in owner.body if isinstance(item, ast.FunctionDef)] if owner is not None else []
    return any(
        item.name == "__init__" and any(_SESSION_KEY.search(name) for name in parameters_of(item))
        for item in made
    )


_SESSION_KEY = lazy(r"(?:session|ephemeral|traffic|shared)_?(?:key|secret)")
_COUNTER = lazy(r"count|seq|nonce|packet|serial")


def _derived(view: View, node: ast.expr) -> bool:
    for value in (node, *view.names.values_of(node)):
        if (
            isinstance(value, ast.Subscript)
            and isinstance(value.slice, ast.Slice)
            and "key" in unqualified_name(value.value).lower()
        ):
            return True
    return False


_DIGESTS = ("hashlib.", "struct.pack", "bytes", "str", "len", "int")
_SAME_AGAIN = word_set("digest hexdigest encode ljust rjust zfill ljust to_bytes lower upper strip")
_ONCE = lazy(
    r"count|seq|nonce|salt|random|\biv\b|_iv\b|sent|packet|index|offset|number|message|plaintext|data$|body|id$|time"
)


def computed(view: View, node: ast.expr) -> bool:
    """Return whether a value is computed from names, keys and lengths alone: `sha256(key).digest()[:16]`.

    A counter, or anything that is drawn or passed in as it is, makes another value for each message.
    """
    made = [node, *view.names.values_of(node)]
    calls = [part for value in made for part in walk(value) if isinstance(part, ast.Call)]
    if not calls or not any(isinstance(value, ast.Call | ast.Subscript) for value in made):
        return False
    cuts = any(
        view.names.called(call).startswith("hashlib.")
        or view.names.called(call) == "len"
        or (isinstance(call.func, ast.Attribute) and call.func.attr in ("ljust", "rjust", "zfill"))
        for call in calls
    )
    same = all(
        view.names.called(call).startswith(_DIGESTS)
        or (isinstance(call.func, ast.Attribute) and call.func.attr in _SAME_AGAIN)
        for call in calls
    )
    named = [part for value in made for part in walk(value) if isinstance(part, ast.Name | ast.Attribute)]
    given = {unqualified_name(part) for part in named} - {unqualified_name(node)}
    measured = {
        unqualified_name(call.args[0]) for call in calls if view.names.called(call) == "len" and call.args
    }
    return cuts and same and not any(_ONCE.search(name.lower()) for name in given - measured)


def _is_decryption(view: View, node: ast.Call) -> bool:
    at = view.parent(node)
    while isinstance(at, ast.Call):  # Cipher(algorithm, mode(iv)).decryptor()
        at = view.parent(at)
    return isinstance(at, ast.Attribute) and at.attr in ("decrypt", "decryptor")


def _nonce_reuse(view: View) -> Iterator[NodeMatch]:
    """Find a nonce that is used by two encryptions, or made once at module level."""
    if not view.has("encrypt"):
        return
    for node in view.reading.nodes_of(ast.Call):
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "encrypt":
            continue
        name = view.names.called(node)
        if "AESGCM" not in name and "ChaCha20Poly1305" not in name and "AESCCM" not in name:
            continue
        nonce = node.args[0] if node.args else view.argument(node, "nonce")
        if nonce is None or not _made_once(view, nonce):
            continue
        yield NodeMatch(node, "the nonce is made once and used for every message")


def _made_once(view: View, nonce: ast.expr) -> bool:
    """Return whether a nonce outlives the call: it is of the module, of an object, or from before a loop."""
    if isinstance(nonce, ast.Attribute):
        return bool(view.names.values_of(nonce))
    if not isinstance(nonce, ast.Name):
        return False
    scope = view.names.scopes.scope_of(nonce)
    found = view.names.scopes.find(nonce.id, scope)
    if found is None:
        return False
    if found[0] is not scope and found[0] is view.names.scopes.module:
        return True
    loop = _loop_around(view, nonce)
    return loop is not None and all(
        binding.value is not None and not _within(view, binding.node, loop) for binding in found[1]
    )


def _loop_around(view: View, node: ast.AST) -> ast.AST | None:
    at = view.parent(node)
    while at is not None and not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(at, ast.For | ast.While | ast.ListComp | ast.GeneratorExp):
            return at
        at = view.parent(at)
    return None


def _within(view: View, node: ast.AST, holder: ast.AST) -> bool:
    at: ast.AST | None = node
    while at is not None and at is not holder:
        at = view.parent(at)
    return at is holder


_LEAST_EXPONENT = 65537


def _short_key(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name in _CURVES:
        yield NodeMatch(node, f"{name.rpartition('.')[2]} is too short: use SECP256R1 or Ed25519")
        return
    exponent = (
        view.constant(node, "public_exponent", 0) if name.endswith("rsa.generate_private_key") else None
    )
    if isinstance(exponent, int) and exponent < _LEAST_EXPONENT:
        yield NodeMatch(node, f"with the exponent {exponent} short messages can be read back: take 65537")
        return
    position = 1 if name.startswith(("cryptography", "OpenSSL")) and "dsa" not in name else 0
    bits = view.constant(node, "key_size", position)
    bits = view.constant(node, "bits", position) if bits is None else bits
    if isinstance(bits, int) and 256 < bits < 2048:  # shorter keys belong to elliptic curves
        yield NodeMatch(node, f"{bits} bits are too short: at least 2048, better 3072")


CHECKS = (
    Check(
        _RULES["weak-cipher"],
        calls=_WEAK_CIPHERS,
        look=_weak_cipher,
    ),
    Check(
        _RULES["ecb-mode"],
        calls=_NEW | {f"{_HAZMAT}.modes.ECB"},
        look=_ecb,
    ),
    Check(
        _RULES["constant-iv"],
        calls=_NEW
        | _MODES
        | frozenset(
            f"{_HAZMAT}.aead.{name}.encrypt" for name in ("AESGCM", "AESCCM", "ChaCha20Poly1305", "AESGCMSIV")
        ),
        look=_fixed_nonce,
    ),
    Check(
        _RULES["nonce-reuse"],
        look_at_file=_nonce_reuse,
    ),
    Check(
        _RULES["short-key"],
        calls=_RSA | _CURVES,
        look=_short_key,
    ),
)
