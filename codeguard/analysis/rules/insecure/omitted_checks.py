"""Checks that are missing, come too early, or trust what the client claims."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import body_words, is_handler, joined_words
from codeguard.analysis.rules.insecure.words import PASSWORD, SECRET, last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_AUTHENTICATED = word_set("MODE_GCM MODE_EAX MODE_CCM MODE_OCB MODE_SIV")
_DECODERS = word_set(
    "urllib.parse.unquote urllib.parse.unquote_plus os.path.expandvars html.unescape unicodedata.normalize "
    "codecs.decode"
)
_CLAIMED = lazy(
    r"x-forwarded-for|x-real-ip|x-client-ip|forwarded|referer|x-original-\w+|true-client-ip"
    r"|http_x_(?:forwarded_for|real_ip|client_ip)",
    2,
)  # case-insensitive
_CLOCK = word_set(
    "time.time time.time_ns time.monotonic datetime.datetime.now datetime.datetime.utcnow os.getpid "
    "django.utils.timezone.now datetime.date.today datetime.datetime.today"
)
_ENCRYPTS = lazy(r"(?:^|_)(?:en|de)crypt|(?:^|_)(?:cipher|obfuscate|scramble)(?:_|$)")


def _tag_ignored(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `AES.new(key, AES.MODE_GCM, …).decrypt(data)` without verification of the tag."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    if node.func.attr == "decryptor":
        function = view.function_of(node)
        sealed = any(
            isinstance(part, ast.Call) and unqualified_name(part.func) == "GCM" for part in walk(node)
        )
        if sealed and function is not None and "finalize" not in ast.unparse(function):
            yield NodeMatch(
                node, "what was changed on the way is taken for what was sent: finalize() verifies the tag"
            )
            return
        yield from _unsealed(view, node)
        return
    made = next(
        (
            value
            for value in (node.func.value, *view.names.values_of(node.func.value))
            if isinstance(value, ast.Call) and view.names.called(value).endswith(".new")
        ),
        None,
    )
    mode = None if made is None else view.argument(made, "mode", 1)
    if mode is None or view.names.resolve(mode).rpartition(".")[2] not in _AUTHENTICATED:
        return
    around = view.function_of(node) or view.reading.tree
    asked = (part.attr for part in walk(around) if isinstance(part, ast.Attribute)) if around else ()
    if not any("verify" in item for item in asked):
        yield NodeMatch(
            node, "what was changed on the way is taken for what was sent: the tag is not verified"
        )


def _decoded_late(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find paths decoded after the check: `if ".." in path: …`, then `path = unquote(path)`."""
    assert isinstance(node, ast.Call)
    given = node.args[-1] if node.args else None  # a form of Unicode normalisation comes first
    yield from _prefix_first(view, node)
    if not isinstance(given, ast.Name):
        return
    function, held = view.function_of(node), given.id
    for part in walk(function) if function is not None else ():
        if not isinstance(part, ast.Compare) or part.lineno >= node.lineno:
            continue
        if isinstance(part.ops[0], ast.In) and _is_refusal(view, part, held):
            yield NodeMatch(
                node, f"{held} is decoded or normalised after it was checked, which another spelling passes"
            )
            return


def _is_refusal(view: View, test: ast.Compare, held: str) -> bool:
    """Return whether a test looks for what is refused: `".." in path`, `word in name` of a list, `name in RESERVED`."""
    left, right = test.left, test.comparators[0]
    if isinstance(right, ast.Name) and right.id == held:
        looped = isinstance(view.parent(test), ast.GeneratorExp) and isinstance(left, ast.Name)
        return looped or _REFUSED.match(view.names.text(left) or "") is not None
    listed = isinstance(right, ast.Name | ast.Attribute) and last_name(right).isupper()
    return listed and isinstance(left, ast.Name) and left.id == held


def _prefix_first(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find a path that is decoded behind a look at its beginning or its parts, and never looked at again."""
    function = view.function_of(node)
    if function is None or not view.names.called(node).startswith("urllib.parse.unquote") or not node.args:
        return
    held = {part.id for part in walk(node.args[0]) if isinstance(part, ast.Name)}
    held |= {
        part.id for value in _before(view, node.args[0]) for part in walk(value) if isinstance(part, ast.Name)
    }
    statement = view.statement(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    later = target.id if isinstance(target, ast.Name) else ""
    looked: list[ast.AST] = []
    for part in walk(function):
        if not isinstance(part, ast.If):
            continue
        named = {item.id for item in walk(part.test) if isinstance(item, ast.Name)}
        if part.lineno > node.lineno and later in named:
            return
        if part.lineno < node.lineno and named & held and _OF_PATHS.search(ast.unparse(part.test)):
            looked.append(part)
    if looked:
        yield NodeMatch(node, "the path is decoded after it was looked at, which another spelling passes")


_OF_PATHS = lazy(r"startswith\(['\"]/|['\"]\.\.['\"] in .{1,40}\bparts\b")
_REFUSED = lazy(r"^(?:\.\.[/\\]?|[/\\<>'\";|&]|<script.{0,20}|javascript:|://|file:)$", 2)
_BY_ADDRESS = word_set("socket.gethostbyaddr socket.getfqdn socket.getnameinfo")


def _claimed_address(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find decisions by a header in which the client claims its address."""
    assert isinstance(node, ast.Compare | ast.Call)
    if not view.has(*_CLAIMS):
        return
    if isinstance(node, ast.Compare):
        if not isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            return
        sides, others = node.left, node.comparators
    else:
        assert isinstance(node.func, ast.Attribute)
        sides, others = node.func.value, node.args
    if isinstance(sides, ast.Call) and view.names.called(sides) in _ADDRESSES and sides.args:
        for value in _before(view, sides.args[0]):
            texts = [item.value for item in walk(value) if isinstance(item, ast.Constant)]
            said = next((text for text in texts if isinstance(text, str) and _CLAIMED.fullmatch(text)), None)
            if said is not None:
                yield NodeMatch(node, f"{said} is what the client says: anybody can send it")
                return
    if not others or view.names.constant(others[0]) is None:
        return
    if not _decides(view, node) and not view.has("gethostbyaddr", "getfqdn"):
        return
    for value in (sides, *view.names.values_of(sides)):
        for part in walk(value):
            if isinstance(part, ast.Call) and view.names.called(part) in _BY_ADDRESS:
                yield NodeMatch(node, "who owns an address says what its name is: no proof of who calls")
                return
            if (
                isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and _CLAIMED.fullmatch(part.value)
            ):
                yield NodeMatch(node, f"{part.value} is what the client says: anybody can send it")
                return


_CLAIMS = (
    "forwarded",
    "real-ip",
    "real_ip",
    "client-ip",
    "referer",
    "x-original",
    "gethostbyaddr",
    "getfqdn",
    "getnameinfo",
)
_ADDRESSES = word_set("ipaddress.ip_address ipaddress.IPv4Address netaddr.IPAddress")


def _before(view: View, node: ast.expr) -> list[ast.expr]:
    """Return an expression and the values of its names."""
    held = [
        value for part in walk(node) if isinstance(part, ast.Name) for value in view.names.values_of(part)
    ]
    return [node, *held]


def _claimed_right(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find roles claimed in a header: `x_role: str = Header()`."""
    assert isinstance(node, ast.Compare)
    function = view.function_of(node)
    if function is None or not isinstance(node.left, ast.Name) or not _RIGHT.search(node.left.id):
        return
    if not isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn) or not _decides(view, node):
        return
    listed = function.args
    defaults = [
        *zip(reversed([*listed.posonlyargs, *listed.args]), reversed(listed.defaults), strict=False),
        *zip(listed.kwonlyargs, listed.kw_defaults, strict=True),
    ]
    for argument, default in defaults:
        called = view.names.called(default) if isinstance(default, ast.Call) else ""
        if argument.arg == node.left.id and called.rpartition(".")[2] in ("Header", "Cookie", "Query"):
            yield NodeMatch(node, f"{argument.arg} is what the client says: anybody can send it")


_RIGHT = lazy(r"role|admin|staff|(?:^|_)is_|group|permission|scope")


def _in_query(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find secrets in a URL: `requests.get("https://…?api_key=" + key)`."""
    assert isinstance(node, ast.Call)
    if name.endswith("urlencode"):
        function = view.function_of(node)
        around = ast.unparse(function) if function is not None else ""
        if not _ASKS.search(around) or "data=" in around:
            return
    position = 0 if name.endswith("urlencode") else 1
    for value in (
        _before(view, given) if (given := view.argument(node, "params", position)) is not None else ()
    ):
        pairs = list(zip(value.keys, value.values, strict=True)) if isinstance(value, ast.Dict) else []
        told = next((key for item, held in pairs if item is not None and (key := view.names.text(item))
                     and (_PASSWORD_KEY.match(key) or _is_own_token(key, held))), None)  # fmt: skip
        if told is not None:
            yield NodeMatch(
                node, f"{told} stands in the address, which logs and proxies keep: send it in the body"
            )
            return
    address = node.args[0] if node.args else None
    parts: list[ast.expr] = []
    if isinstance(address, ast.JoinedStr):
        parts = list(address.values)
    elif isinstance(address, ast.BinOp) and isinstance(address.op, ast.Add):
        parts = [address.left, address.right]
    for before, after in pairwise(parts):
        text = view.names.text(before) if isinstance(before, ast.Constant) else None
        if text and _QUERY.search(text) and not isinstance(after, ast.Constant):
            yield NodeMatch(
                node, "the secret stands in the address, which logs and proxies keep: take a header"
            )
            return


def _is_own_token(key: str, held: ast.expr) -> bool:
    """Return whether an entry of a query is a token or key that the program keeps."""
    return _TOKEN_KEY.match(key) is not None and _OWN_SECRET.search(ast.unparse(held)) is not None


_ASKS = lazy(r"\?['\"]? ?[+{]|\.get\(|urlopen\(")
_PASSWORD_KEY = lazy(r"^(?:user_?|account_?|client_?)?(?:password|passwd|pwd|passphrase|secret|pin)$", 2)
_TOKEN_KEY = lazy(r"^(?:access|auth|api|client)_?(?:token|key|secret)$", 2)
_OWN_SECRET = lazy(
    r"environ|getenv|self\._?\w*(?:token|key|secret)|settings\.|config\b|secrets\.|^(?:token|api_?key)$", 2
)
_QUERY = lazy(r"[?&](?:api_?key|access_?token|auth_?token|token|password|passwd|secret|client_secret)=$", 2)


def _decides(view: View, node: ast.AST) -> bool:
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        at = view.parent(at)
    if isinstance(at, ast.Return):  # def is_admin(request): return request.META["HTTP_X_FORWARDED_FOR"] == …
        function = view.function_of(node)
        return _RIGHTS.search(getattr(function, "name", "")) is not None
    if not isinstance(at, ast.If):
        return False
    return view.is_route(node) or _REFUSAL.search(" ".join(map(ast.unparse, at.body))) is not None


_REFUSAL = lazy(r"\b40[13]\b|Forbidden|Unauthorized|PermissionDenied|PermissionError")
_RIGHTS = lazy(
    r"^(?:_?is|_?has|_?can|_?may|allow|trust|_?check)\w{0,30}(?:admin|intern|allow|trust|permi|access|staff|local)",
    2,
)


def _shown(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    asked = view.writer.text(node.args[0]) if node.args else None
    if asked is not None and mentions(asked, PASSWORD) and not mentions(asked, _NO_PASSWORD):
        yield NodeMatch(node, "the password is shown while it is typed: take getpass")


_NO_PASSWORD = lazy(r"\[y|y/n|\?|length|file|pin\b")


def _dotted(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if view.constant(node, "allow_dotted_names", 1) is True:
        yield NodeMatch(node, "callers reach every attribute of the object, and of what it holds")


def _own_cipher(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find functions named for encryption that xor bytes with a key."""
    assert isinstance(node, FUNCTIONS)
    if not _ENCRYPTS.search(node.name.lower()):
        return
    for part in walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitXor):
            keyed = any("key" in name for side in (part.left, part.right) for name in _named(side))
            if keyed and view.parent(part) is not None:
                yield NodeMatch(
                    part, "exclusive or with a key that repeats hides nothing: take a known cipher"
                )
                return


def _clocked(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find tokens that are the digest of a clock or a process id."""
    assert isinstance(node, ast.Call)
    guessed = any(isinstance(part, ast.Call) and view.names.called(part) in _CLOCK for part in walk(node))
    drawn = any(
        isinstance(part, ast.Call) and view.names.called(part).startswith(("secrets.", "os.urandom", "hmac."))
        for part in walk(node)
    )
    parts = [part for given in node.args for part in walk(given)] + [
        part
        for given in node.args
        for name_of in walk(given)
        if isinstance(name_of, ast.Name)
        for value in view.names.values_of(name_of)
        for part in walk(value)
    ]
    drawn = drawn or any(
        isinstance(part, ast.Name | ast.Attribute) and _HIDDEN.search(last_name(part).lower())
        for part in parts
    )
    known = any(
        isinstance(part, ast.Name | ast.Attribute) and _IDENTITY.match(last_name(part).lower())
        for part in parts
    )
    if not (guessed or known) or drawn:
        return
    function, statement = view.function_of(node), view.statement(node)
    named = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    named += f" {function.name}" if function is not None and isinstance(statement, ast.Return) else ""
    secret = mentions(named, SECRET) or (guessed and _SHARED_BY.search(named.lower()))
    if secret and not mentions(named, _OF_CACHES):
        source = "the clock" if guessed else "what others know of a user"
        yield NodeMatch(
            node,
            f"a digest of {source} is guessed: take secrets.token_urlsafe",
            None if guessed or _OF_LOGIN.search(named.lower()) else Severity.LOW,
        )


_SHARED_BY = lazy(
    r"(?:^|_)(?:slug|share_?(?:id|key|code|link)|invite|link_?(?:id|code)|coupon|voucher)(?:$|_|\s)"
)
_IDENTITY = lazy(r"^(?:e?_?mail|user_?name|user_?id|login|account_?id|customer_?id|phone|uid)$")
_HIDDEN = lazy(r"secret|key|salt|pepper|nonce|random|token|passw|seed|pwd|hash|digest|content|body|data$")
_OF_LOGIN = lazy(r"token|reset|session|invite|otp|activation|verification|api_?key|csrf|cookie")


def _named(side: ast.expr) -> Iterator[str]:
    """Yield the names in `ord(key[i])` and the like, which use values and not sizes."""
    if isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and side.func.id == "ord" and side.args:
        side = side.args[0]
    yield last_name(side).lower()


_OF_CACHES = lazy(r"cache|etag|tokeni[sz]e|nonce|lock|file")


_USER_HEADER = lazy(
    r"^(?:x[-_])?(?:remote|auth\w*|forwarded|current)?[-_]?(?:user|account|username|email|uid|customer)(?:[-_]?(?:id|name))?$",
    2,
)
_PROVES = lazy(
    r"verif|sign|hmac|digest|token|secret|auth(?!or\b)|password|certificate|trusted|gateway|proxy|allow|remote_addr",
    2,
)


_IDENTIFIES = lazy(
    r"(?:^|_)(?:current|get|load|find|authenticated|logged_in)_?(?:the_)?(?:user|account|member)(?:_|$)"
)


def _named_by_header(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    """Find users identified by a header: `account(x_user)` with `x_user: str = Header()`."""
    assert isinstance(node, FUNCTIONS)
    identifies = _IDENTIFIES.search(node.name) and any("request" in item.arg for item in node.args.args)
    before = any(
        last_name(one) in ("before_request", "before_app_request", "middleware")
        for one in node.decorator_list
    )
    if not view.has("header") or not (identifies or before or is_handler(view, node)):
        return
    if before:
        yield from _header_first(view, node)
        return
    said = body_words(node) + " " + joined_words([*node.decorator_list, *node.args.defaults])
    listed = [*node.args.posonlyargs, *node.args.args]
    pairs = [
        *zip(reversed(listed), reversed(node.args.defaults), strict=False),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        called = view.names.called(default).rpartition(".")[2] if isinstance(default, ast.Call) else ""
        if called == "Header" and _USER_HEADER.match(argument.arg) and not _PROVES.search(said):
            yield NodeMatch(argument, f"{argument.arg} is what the client says: anybody can send it")
    for part in walk(node):
        key = view.names.text(part.slice) if isinstance(part, ast.Subscript) else None
        if (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr == "get"
            and part.args
        ):
            key = view.names.text(part.args[0])
        if key is None or not key.lower().startswith("x-") or not _USER_HEADER.match(key):
            continue
        assert isinstance(part, ast.Subscript | ast.Call)
        if "headers" in ast.unparse(part)[:60] and not _PROVES.search(said):
            yield NodeMatch(part, f"{key} is what the client says: anybody can send it")


def _header_first(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    """Find a user whom a header names, and whom a token proves only where the header is missing."""
    for part in walk(node):
        target = part.targets[0] if isinstance(part, ast.Assign) else None
        call = part.value if isinstance(part, ast.Assign) else None
        if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not call.args:
            continue
        key = view.names.text(call.args[0]) or ""
        if (
            not key.lower().startswith("x-")
            or not _USER_HEADER.match(key)
            or "headers" not in ast.unparse(call.func)
        ):
            continue
        for test in walk(node):
            if (
                isinstance(test, ast.If)
                and ast.unparse(test.test)
                in (
                    f"{target.id} is None",
                    f"not {target.id}",
                )
                and _PROVES.search(joined_words(test.body))
            ):
                yield NodeMatch(part, f"{key} is what the client says, and with it no token is asked for")
                return


def _by_helper(view: View, node: ast.Compare) -> Iterator[NodeMatch]:
    """Find client addresses from a helper that prefers a header to the connection's address."""
    if not isinstance(node.ops[0], ast.In | ast.NotIn | ast.Eq | ast.NotEq) or not view.has(
        "forwarded", "real-ip", "real_ip"
    ):
        return
    if not isinstance(node.left, ast.Call | ast.Name) or _is_presence(node):
        return
    for value in (node.left, *view.names.values_of(node.left)):
        for part in walk(value):
            definition = (
                view.names.definition(view.names.called(part)) if isinstance(part, ast.Call) else None
            )
            if isinstance(definition, FUNCTIONS) and any(
                isinstance(item, ast.Constant)
                and isinstance(item.value, str)
                and _CLAIMED.fullmatch(item.value.lower().removeprefix("http_").replace("_", "-"))
                for item in walk(definition)
            ):
                yield NodeMatch(node, "the address comes from a header that any client can send")
                return


def _is_presence(node: ast.Compare) -> bool:
    return all(isinstance(side, ast.Constant) and side.value is None for side in node.comparators)


def _claimed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, FUNCTIONS):
        yield from _named_by_header(view, node)
        return
    if isinstance(node, ast.Compare):
        yield from _by_helper(view, node)
    yield from _claimed_address(view, node, name)
    if isinstance(node, ast.Compare):
        yield from _claimed_right(view, node, name)


_UNSEALED = word_set("CBC CTR OFB CFB CFB8")
_SEALS = ("hmac", "gcm", "poly1305", "verify", "aead", "signer", "fernet", "tag")


def _unsealed(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find a cookie or token that is encrypted without a tag: who flips its bits flips those of the text."""
    if not view.has("cookie", "session", "token", "request") or view.has(*_SEALS):
        return
    for part in view.reading.nodes_of(ast.Call):
        if unqualified_name(part.func) in _UNSEALED and part in list(walk(node)):
            yield NodeMatch(
                node, "what comes back may have been changed bit by bit: take AES-GCM, or add an HMAC"
            )
            return


CHECKS = (
    Check(_RULES["tag-not-verified"], methods=word_set("decrypt decryptor"), look=_tag_ignored),
    Check(_RULES["decoded-after-check"], calls=_DECODERS, look=_decoded_late),
    Check(
        _RULES["claimed-address"],
        methods=word_set("startswith endswith"),
        nodes=(ast.Compare, *FUNCTIONS),
        look=_claimed,
    ),
    Check(
        _RULES["secret-in-query"],
        calls=frozenset(
            f"{library}.{method}"
            for library in ("requests", "httpx", "requests.Session", "httpx.Client", "httpx.AsyncClient")
            for method in ("get", "post", "put", "delete", "request")
        )
        | word_set("urllib.request.urlopen urllib.request.Request urllib.parse.urlencode"),
        look=_in_query,
    ),
    Check(_RULES["password-shown"], calls=word_set("input builtins.input"), look=_shown),
    Check(_RULES["dotted-names"], methods=word_set("register_instance"), look=_dotted),
    Check(_RULES["own-cipher"], nodes=FUNCTIONS, look=_own_cipher),
    Check(
        _RULES["token-of-the-clock"],
        calls=frozenset(
            f"hashlib.{kind}"
            for kind in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "new")
        ),
        look=_clocked,
    ),
)
