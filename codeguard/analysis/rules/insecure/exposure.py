"""Secrets that leak: compared in variable time, written to logs, stored in plain text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import REQUEST_READS, is_from_request
from codeguard.analysis.rules.insecure.words import PASSWORD, last_name, mentions, vocabulary
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_LOGGED = vocabulary("logged")
_LOGIN_TOKEN = vocabulary("login_token")
_HARMLESS = vocabulary("harmless")
_COMPARED = vocabulary("compared")
_BY_CHARACTER = vocabulary("compared_by_character")
_NOT_COMPARED = vocabulary("not_compared")
_OF_TYPES = vocabulary("type_signature")
_TOKENS = vocabulary("client_token")
_VERIFYING = vocabulary("verifying")
_ENTERS = vocabulary("entering")
_LOGS_IN_BY = vocabulary("login_encoding")
_HASHED = vocabulary("hashed")
_AUTHENTICATING = vocabulary("authenticating")
_TYPED_AGAIN = vocabulary("typed_again")
_STORED = vocabulary("stored")
_ENCRYPTED = vocabulary("encrypted")
_PERSONAL = vocabulary("personal")
_TYPED_PASSWORD = vocabulary("typed_password")
_CARD_COLUMN = vocabulary("card_column")
_LOG_METHODS = word_set("debug info warning warn error critical exception log")


def _by_character(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find secrets compared character by character, whose timing reveals the length of a common prefix."""
    assert isinstance(node, ast.For | ast.comprehension)
    made = node.iter
    if not (isinstance(made, ast.Call) and view.names.called(made) == "zip" and len(made.args) == 2):
        return
    function = view.function_of(made)
    around = function.name if function is not None else ""
    if not mentions(f"{around} {' '.join(last_name(item) for item in made.args)}", _BY_CHARACTER):
        return
    if isinstance(node, ast.For):
        early = any(
            isinstance(part, ast.If)
            and isinstance(part.test, ast.Compare)
            and isinstance(part.test.ops[0], ast.NotEq | ast.Eq)
            and isinstance(part.body[-1], ast.Return | ast.Break)
            for part in node.body
        )
        if early:
            yield NodeMatch(node, "the time tells how many characters are right: take hmac.compare_digest")
    elif isinstance(view.parent(view.parent(node) or node), ast.Call):
        outer = view.parent(view.parent(node) or node)
        if isinstance(outer, ast.Call) and view.names.called(outer) == "all":
            yield NodeMatch(
                made,
                "what is shorter is compared alone, and ends early: compare the whole with hmac.compare_digest",
            )


_REVERSED = lazy(
    r"(?:^|[._])(?:b64decode|urlsafe_b64decode|a85decode|decrypt|unhexlify|fromhex|decode_password|rot13)$"
)


_FEWEST = 16  # hexadecimal digits


def _shortened(view: View, node: ast.Compare) -> bool:
    """Find truncated signatures, `signature == hmac.new(…).hexdigest()[:8]`, which can be guessed."""
    for side in (node.left, node.comparators[0]):
        for value in (side, *view.names.values_of(side)):
            last = view.names.constant(value.slice.upper) if _is_start(value) else None  # type: ignore[attr-defined]
            if isinstance(last, int) and 0 < last < _FEWEST:
                made = value.value  # type: ignore[attr-defined]
                if isinstance(made, ast.Call) and getattr(made.func, "attr", "") == "hexdigest":
                    return "hmac" in unparse(made) or mentions(
                        getattr(view.function_of(node), "name", ""), _VERIFYING
                    )
    return False


def _is_start(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.lower is None


def _recoverable(view: View, node: ast.Compare) -> bool:
    """Return whether a password is compared with a decoded or decrypted stored one."""
    sides = (node.left, node.comparators[0])
    if not any(mentions(last_name(side), PASSWORD) for side in sides):
        return False
    return any(
        isinstance(part, ast.Call)
        and _REVERSED.search(view.names.called(part) or getattr(part.func, "attr", ""))
        for side in sides
        for value in (side, *view.names.values_of(side))
        for part in walk(value)
    )


def _compared(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.For | ast.comprehension):
        yield from _by_character(view, node, name)
        return
    assert isinstance(node, ast.Compare)
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return
    if view.has("hexdigest") and _shortened(view, node):
        yield NodeMatch(node, "so few digits of a digest are tried out: compare the whole")
        return
    if view.has("hmac") and _compares_digests(view, node):
        yield NodeMatch(
            node, "== on a digest tells by its time how many characters are right", Severity.MEDIUM
        )
        return
    sides = (node.left, node.comparators[0])
    if any(_is_plain(view, side) for side in sides):
        return
    words = [last_name(side).replace("-", "_") for side in sides]  # headers["X-Api-Key"]
    if any(word.isupper() and "SIGNATURE" in word for word in words):
        return  # a method's name or a format's magic bytes; an expected signature is not constant
    secret = next(
        (word for word in words if mentions(word, _COMPARED) and not mentions(word, _NOT_COMPARED)), ""
    )
    if not secret and _of_settings(view, node, sides):
        yield NodeMatch(node, "== on a key tells by its time how many characters are right", Severity.MEDIUM)
        return
    computed = any(_is_digest(view, side) for side in sides)
    if not secret and not computed:
        return
    strong = (
        _of_settings(view, node, sides)
        or computed
        or sum(bool(mentions(word, _COMPARED)) for word in words) == 2
        or _from_request(view, sides)
    )
    if (
        _pair_of_new(words)
        or _looks_for_change(view, node)
        or not strong
        or getattr(view.function_of(node), "name", "") in ("__eq__", "__ne__")
    ):
        return
    certain = computed or (_authentic(view, node, secret) and not _OF_FORMS.search(secret))
    reason = f"== on {secret or 'a digest'} tells by its time how many characters are right"
    yield NodeMatch(node, reason, Severity.MEDIUM if certain else Severity.LOW)


_OF_FORMS = lazy(r"csrf|xsrf", re.IGNORECASE)  # tokens that live as long as a session
_KEY_OF_SETTINGS = lazy(
    r"^(?:settings|config|conf|self\.settings|self\.config|current_app\.config)\b.{0,40}(?:key|token|secret)",
    2,
)
_EXPECTED = lazy(r"^(?:expected|wanted|stored|known|real|correct|configured)(?:_\w+)?$")
_PRESENTED = lazy(r"(?:^|_)(?:key|token|secret|api_?key|signature|sig|mac|digest|credential)$")
_REFUSAL = lazy(r"\b40[13]\b|Forbidden|Unauthorized|PermissionDenied|PermissionError")


def _of_settings(view: View, node: ast.Compare, sides: tuple[ast.expr, ast.expr]) -> bool:
    """Return whether a key of the settings is compared, and who does not know it is refused."""
    statement = view.statement(node)
    if not isinstance(statement, ast.If) or not isinstance(node.ops[0], ast.NotEq):
        return False
    given = [side for side in sides if isinstance(side, ast.Name)]
    kept = [side for side in sides if _KEY_OF_SETTINGS.search(unparse(side)[:80])]
    expected = [side for side in given if _EXPECTED.match(side.id)]
    presented = [side for side in given if side not in expected and _PRESENTED.search(side.id)]
    return (
        (len(given) == 1 and len(kept) == 1) or (len(expected) == 1 and len(presented) == 1)
    ) and _REFUSAL.search(" ".join(map(unparse, statement.body))) is not None


def _compares_digests(view: View, node: ast.Compare) -> bool:
    """Return whether a function returns only this comparison of its parameters, and is called with a digest."""
    function = view.function_of(node)
    if not isinstance(function, FUNCTIONS) or not isinstance(view.parent(node), ast.Return):
        return False
    listed = [item.arg for item in function.args.args if item.arg not in ("self", "cls")]
    sides = [side.id for side in (node.left, node.comparators[0]) if isinstance(side, ast.Name)]
    body = [part for part in function.body if not isinstance(part, ast.Expr)]
    if len(body) != 1 or len(sides) != 2 or not set(sides) <= set(listed):
        return False
    return any(
        unqualified_name(call.func) == function.name and any(_is_digest(view, given) for given in call.args)
        for call in view.reading.nodes_of(ast.Call)
    )


def _authentic(view: View, node: ast.Compare, secret: str) -> bool:
    """Return whether a comparison authenticates a request, not tokens of a language or file checksums."""
    function = view.function_of(node)
    sides = (node.left, node.comparators[0])
    from_request = _from_request(view, sides)
    own = mentions(secret, _TOKENS) and not from_request
    if (
        own
        and not any(_is_digest(view, side) for side in sides)
        and not mentions(function.name if function is not None else "", _VERIFYING)
    ):
        return False  # a client that compares its own tokens
    around = (function.name if function is not None else "") + " " + unparse(node)
    if (
        mentions(secret, _OF_TYPES)
        and not from_request
        and not view.has("hmac", "hashlib", "crypt", "verif", "webhook", "secret")
    ):
        return False  # of a function
    return mentions(around, _AUTHENTICATING)


def _pair_of_new(words: list[str]) -> bool:
    """Return whether both values come from the same form: `password == confirmation`."""
    return any(mentions(word, _TYPED_AGAIN) for word in words)


def _looks_for_change(view: View, node: ast.Compare) -> bool:
    """Return whether a comparison only detects a change, as in `if user.secret != secret: user.secret = secret`.

    The values are typed twice, belong to two objects, or the new one is stored afterwards.
    """
    sides = (node.left, node.comparators[0])
    if any(isinstance(side, ast.Call) and view.names.called(side) == "getpass.getpass" for side in sides):
        return True
    left, right = map(unparse, sides)
    if all(isinstance(side, ast.Attribute) for side in sides) and last_name(sides[0]) == last_name(sides[1]):
        return not _from_request(view, sides)
    at, kept = view.statement(node), (f"{left} = {right}", f"{right} = {left}")
    return isinstance(at, ast.If) and any(unparse(part) in kept for part in at.body)


def _from_request(view: View, sides: tuple[ast.expr, ast.expr]) -> bool:
    return any(
        getattr(part, "id", getattr(part, "attr", "")) in ("request", "req", "headers")
        for side in sides
        for value in (side, *view.names.values_of(side))
        for part in walk(value)
    )  # fmt: skip


def _is_digest(view: View, node: ast.expr) -> bool:
    """Return whether a value is made with hmac, also in another place of the file."""
    return view.has("hmac") and any(
        isinstance(part, ast.Call)
        and (name := view.names.called(part)).startswith("hmac.")
        and name.endswith("digest")
        and not name.endswith("compare_digest")
        for part in view.behind(node)
    )


def _is_plain(view: View, node: ast.expr) -> bool:
    """Return whether a side is a literal, an empty value or the like, which no attacker measures."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, str | bytes) or len(node.value) < 6
    return isinstance(node, ast.Call) and view.names.called(node) in ("len", "type", "id", "ord", "int")


def _logged(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute):
        owner = last_name(node.func.value).lower()
        if "log" not in owner and not name.startswith("logging."):
            return
    elif name != "print":
        return
    for argument in (*node.args, *(item.value for item in node.keywords)):
        word = _secret_in(argument)
        if word.lower() == "token" and not view.has(*_OF_LOGINS):
            word = ""  # of a language
        if word and _is_object(view, argument, word):
            word = ""
        word = (
            word
            or _whole_form(view, node, argument)
            or _credentials_in(view, argument)
            or _card_in(view, argument)
        )
        if word:
            typed = any(view.names.called(value) == "getpass.getpass" for value in _calls_of(view, argument))
            other = word.lower().endswith("token") and not mentions(word, _LOGIN_TOKEN)
            severity = Severity.LOW if (name == "print" and not typed) or other else Severity.MEDIUM
            yield NodeMatch(node, f"{word} is written into a log", severity)
            return


_OF_TEXTS = frozenset(dir(str)) | frozenset(dir(bytes))


def _is_object(view: View, argument: ast.expr, word: str) -> bool:
    """Return whether a name stands for an object, such as a row: an attribute that no text has was read before.

    Only what is always run before counts, where a text would have raised an exception: tests around the node and
    plain statements above it.
    """
    child: ast.AST = argument
    at = view.parent(child)
    while at is not None and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        before: list[ast.AST] = []
        if isinstance(at, ast.If | ast.While) and child is not at.test:
            before.append(at.test)
        for block in (getattr(at, "body", []), getattr(at, "orelse", [])):
            if isinstance(block, list) and child in block:
                above = block[: block.index(child)]
                before += (item for item in above if isinstance(item, ast.Expr | ast.Assign | ast.AnnAssign))
        if any(_reads_object(part, word) for item in before for part in _always_run(item)):
            return True
        child, at = at, view.parent(at)
    return False


def _reads_object(part: ast.AST, word: str) -> bool:
    return (
        isinstance(part, ast.Attribute)
        and isinstance(part.ctx, ast.Load)
        and isinstance(part.value, ast.Name)
        and part.value.id == word
        and part.attr not in _OF_TEXTS
    )


def _always_run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a statement that are evaluated whenever it is run."""
    yield node
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    if isinstance(node, ast.BoolOp):
        parts: Iterable[ast.AST] = node.values[:1]
    elif isinstance(node, ast.IfExp):
        parts = [node.test]
    elif isinstance(node, ast.Compare):
        parts = [node.left, node.comparators[0]]
    else:
        parts = ast.iter_child_nodes(node)
    for part in parts:
        yield from _always_run(part)


_OF_LOGINS = (
    "auth",
    "login",
    "bearer",
    "passw",
    "credential",
    "session",
    "jwt",
    "secret",
    "api_key",
    "apikey",
)


def _calls_of(view: View, argument: ast.expr) -> list[ast.Call]:
    parts = [part for part in walk(argument) if isinstance(part, ast.Name)]
    return [value for part in parts for value in view.names.values_of(part) if isinstance(value, ast.Call)]


def _credentials_in(view: View, argument: ast.expr) -> str:
    """Return the authentication header in a mapping of headers that the file builds."""
    for value in view.names.values_of(argument):
        for key in value.keys if isinstance(value, ast.Dict) else ():
            if key is not None and str(view.names.text(key)).lower() in _LOGS_IN:
                return f"the header {view.names.text(key)}"
    return ""


def _card_in(view: View, argument: ast.expr) -> str:
    """Return the card or password that a mapping of the function holds: `body = {**card, "amount": cents}`."""
    for value in view.names.values_of(argument) if isinstance(argument, ast.Name) else ():
        for key, given in zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ():
            said = last_name(given) if key is None else view.names.text(key) or ""
            if _CARD.match(said) and not isinstance(given, ast.Constant):
                return said
    return ""


_CARD = lazy(r"^(?:card|credit_?card|card_?(?:number|data|details)|cvv2?|cvc|passwords?|passwd|ssn)$", 2)
_LOGS_IN = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"})


def _whole_form(view: View, node: ast.Call, argument: ast.expr) -> str:
    """Return the form that is logged as a whole, with its passwords, in a login or registration."""
    function = view.function_of(node)
    if function is None or not view.has("request"):
        return ""
    if not mentions(function.name, _ENTERS) and not _READS_PASSWORD.search(view.written(function)):
        return ""
    texts = [unparse(value)[:200] for value in (argument, *view.names.values_of(argument))]
    return "the whole form" if any(_FORM.search(text) for text in texts) else ""


_READS_PASSWORD = lazy(r"""(?:\[|\.get\()['"](?:passw(?:or)?d|pin)['"]""")
_FORM = lazy(
    r"\brequest\.(?:form|POST|json|data|body|headers|get_json\(\)|get_data\(\)|form\.to_dict\(\)|values)\)*$"
)


def _secret_in(node: ast.expr) -> str:
    """Return the secret that an argument contains, directly or in a composed text."""
    if isinstance(node, ast.JoinedStr):
        return next(
            (
                word
                for part in node.values
                if isinstance(part, ast.FormattedValue) and (word := _secret_in(part.value))
            ),
            "",
        )
    if isinstance(node, ast.BinOp):
        return _secret_in(node.right) or _secret_in(node.left)
    if isinstance(node, ast.Tuple):
        return next((word for part in node.elts if (word := _secret_in(part))), "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return next((word for part in node.args if (word := _secret_in(part))), "")
    if (
        isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in ("dict", "str", "repr")
        and len(node.args) == 1
    ):
        held = node.args[0]
        if isinstance(held, ast.Attribute) and held.attr in ("headers", "cookies", "environ"):
            return f"all {held.attr}, credentials with them,"
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not _is_beginning(node):
        word = last_name(node)
        if word == "environ" and not isinstance(node, ast.Subscript):
            return "the whole environment"
        if word.lower() == "authorization" and isinstance(node, ast.Subscript):
            return word
        if mentions(word, _LOGGED) and not mentions(word, _HARMLESS):
            return word
    return ""


_MOST_SHOWN = 8  # characters that tell tokens apart without telling them


def _is_beginning(node: ast.expr) -> bool:
    """Return whether only the first characters of a value are taken: `token[:3]`."""
    if not _is_start(node):
        return False
    assert isinstance(node, ast.Subscript)
    assert isinstance(node.slice, ast.Slice)
    last = node.slice.upper
    return isinstance(last, ast.Constant) and isinstance(last.value, int) and 0 < last.value <= _MOST_SHOWN


def _stored(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find passwords written in plain text to a file, a cookie or a row."""
    assert isinstance(node, ast.Call)
    if unqualified_name(node.func) == "set_cookie":
        told = next((word for given in node.args[1:2] if (word := _card_behind(view, given))), "")
        if told:
            yield NodeMatch(node, f"{told} is stored in clear text")
            return
    for argument in (*node.args, *(item.value for item in node.keywords)):
        word = _secret_in(argument)
        if word and mentions(word, _STORED) and not mentions(word, _ENCRYPTED):
            owner = view.names.resolve(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            a_token = not mentions(word, _PERSONAL)
            whole = isinstance(node.func, ast.Attribute) and node.func.attr == "write_text"
            if (
                whole
                or owner.startswith(("open", "pathlib.Path"))
                or (unqualified_name(node.func) == "set_cookie" and not a_token)
            ):
                yield NodeMatch(node, f"{word} is stored in clear text")
                return
    to_file = isinstance(node.func, ast.Attribute) and last_name(node.func.value) not in ("stdout", "stderr")
    if to_file and unqualified_name(node.func) in ("write", "write_text") and node.args and view.has("dumps"):
        told = _entry_behind(view, node.args[0])
        if told:
            yield NodeMatch(node, f"{told} is stored in clear text")


def _entry_behind(view: View, node: ast.expr) -> str:
    """Return the password or token in a mapping that is written as JSON."""
    parts = list(view.behind(node))
    calls = [view.names.called(part) for part in parts if isinstance(part, ast.Call)]
    if not any(name.endswith((".dumps", ".safe_dump", ".dump")) for name in calls) or any(
        _SEALED.search(name.lower()) for name in calls
    ):
        return ""
    open_to_others = not view.has("0o600", "s_irusr", "umask", "opener", "os.open", "keyring")
    for part in parts:
        for key, value in zip(part.keys, part.values, strict=True) if isinstance(part, ast.Dict) else ():
            said = view.names.text(key) if key is not None else None
            if said is None or not isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
                continue
            if mentions(said, PASSWORD) or (open_to_others and _TOKEN_KEY.match(said)):
                return said
    return ""


_TOKEN_KEY = lazy(r"^(?:access_?|refresh_?|auth_?|api_?|bearer_?)?(?:token|api_?key|secret)$", 2)


def _card_behind(view: View, node: ast.expr, depth: int = 0) -> str:
    """Return the card that a value is made of: `b64encode(json.dumps(data))`, `data = {"card": …}`."""
    if depth > _DEEPEST:
        return ""
    for part in walk(node):
        if isinstance(part, ast.Call) and _SEALED.search(view.names.called(part).lower()):
            return ""
    for part in walk(node):
        if isinstance(part, ast.Name):
            word = _card_in(view, part)
            for value in view.names.values_of(part) if not word else ():
                word = word or _card_behind(view, value, depth + 1)
            if word:
                return word
    return ""


_DEEPEST = 3
_SEALED = lazy(r"encrypt|seal|sign|dumps_secure|fernet|serializer|hash")


def _kept(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find passwords stored unchanged or only encoded, and tokens dumped to a file."""
    assert isinstance(node, ast.Call)
    if name.endswith(("NoEncryption", "encryption_algorithm")):
        yield from _plain_key(view, node)
    elif name.startswith("base64."):
        if _keeps_encoded(view, node):
            yield NodeMatch(node, "base64 hides nothing: anyone who reads it has the password")
    elif "jwt" in name:
        for key, value in _entries(view, node.args[0] if node.args else None):
            if mentions(key, PASSWORD) and not isinstance(value, ast.Constant):
                yield NodeMatch(node, f"{key} stands in the token, which anybody can read")
    elif name in ("json.dump", "yaml.dump", "yaml.safe_dump"):
        own = view.has("0o600", "s_irusr") and view.has("os.open", "opener", "fdopen")
        for key, value in _entries(view, node.args[0] if node.args else None) if not own else ():
            # A constant is documentation or a default, not user input.
            if (
                mentions(key, _LOGGED)
                and not mentions(key, _HARMLESS)
                and not isinstance(value, ast.Constant)
            ):
                yield NodeMatch(node, f"{key} is stored in clear text")
    else:
        yield from _in_database(view, node, name)


def _keeps_encoded(view: View, node: ast.Call) -> bool:
    """Return whether an encoded password is given the name of one, or of what hides it, or is put into a store."""
    if not node.args or not mentions(last_name(_inner(node.args[0])), PASSWORD):
        return False
    statement, function = view.statement(node), view.function_of(node)
    targets = [last_name(target) for target in statement.targets] if isinstance(statement, ast.Assign) else []
    if any(mentions(target, PASSWORD) for target in targets):
        return True
    if any(_HIDES.search(target.lower()) for target in targets) and view.has("write", "json.dump"):
        return True
    around = f"{function.name if function is not None else ''} {' '.join(targets)}"
    return (
        view.has("json.dump", "insert", "update ", "save", "write")
        and not mentions(around, _LOGS_IN_BY)
        and isinstance(_stored_at(view, node), ast.Dict | ast.keyword)
    )


def _in_database(view: View, node: ast.Call, name: str) -> Iterator[NodeMatch]:
    """Find unchanged passwords in queries and rows; each way of storing has them at another place of the call."""
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    first = node.args[0] if node.args else None
    if method == "execute":
        yield from _in_query(view, node)
    elif method in ("find_one", "find", "filter_by"):
        yield from _raw(view, node, [item for item in _entries(view, first) if item[0] in _COLUMNS])
        yield from _raw(view, node, _columns(node))
    elif method in ("insert", "insert_one"):
        yield from _raw(view, node, _entries(view, first))
    elif method == "add" or name.endswith(".objects.create"):
        made = first if method == "add" and first is not None else node
        # The row may be created separately: `user = User(…); session.add(user)`.
        for value in (made, *view.names.values_of(made)):
            if isinstance(value, ast.Call):
                yield from _raw(view, node, _columns(value))
                return


def _columns(node: ast.Call) -> list[tuple[str, ast.expr]]:
    """Return the arguments that are named like the column of a password."""
    return [(item.arg, item.value) for item in node.keywords if item.arg in _COLUMNS]


def _in_query(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    query = (view.names.text(node.args[0]) or "").lower() if node.args else ""
    row = node.args[1] if len(node.args) > 1 else None
    given = [("", item) for item in row.elts] if isinstance(row, ast.Tuple | ast.List) else []
    writes = query.lstrip().startswith(("insert", "update"))
    # `where password = ?` compares with a stored one, which another rule reports.
    if writes and "passw" in query and "where passw" not in query:
        yield from _raw(view, node, given)
    elif _INSERTS.match(query):
        yield from _raw(view, node, [item for item in given if isinstance(item[1], ast.Name)])
    # What a query searches for is stored in plain text.
    if query.lstrip().startswith("select") and _SEARCHED.search(query) and not _HASHED.search(query):
        yield from _raw(view, node, given)


_HIDES = lazy(r"hidden|obfuscat|scrambl|encrypt|encoded|masked|secret")


def _plain_key(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find a private key that is written as it is, with the rights that new files have."""
    function = view.function_of(node)
    if function is None or view.has("0o600", "0o400", "s_irusr", "umask", "chmod", "opener", "mkstemp"):
        return
    written = any(
        isinstance(part, ast.Call)
        and (
            unqualified_name(part.func) == "write_bytes"
            or (view.names.called(part) == "open" and "w" in str(view.constant(part, "mode", 1, "r")))
        )
        for part in walk(function)
    )
    if written:
        yield NodeMatch(node, "the private key is written where other users of the machine can read it")


def _stored_at(view: View, node: ast.AST) -> ast.AST | None:
    """Return the holder of a text, without the methods called on it."""
    at = view.parent(node)
    while isinstance(at, ast.Attribute | ast.Call):
        at = view.parent(at)
    return at


_INSERTS = lazy(r"\s*insert\s+into\s.{1,200}\b(?:secret|pass|pw|pwd|credential)\b")
_SEARCHED = lazy(r"where\b.{0,200}\b(?:password|passwd|pwd)\s?=\s?(?:\?|%s|:\w+|\$\d)")


def _raw(view: View, node: ast.Call, given: list[tuple[str, ast.expr]]) -> Iterator[NodeMatch]:
    """Return values named like a password that no call has transformed."""
    for key, value in given:
        if (
            key in _COLUMNS
            and isinstance(value, ast.Subscript | ast.Call)
            and REQUEST_READS.search(_start_of(value))
        ):
            yield NodeMatch(node, f"{key} is stored in clear text")
            return
        if (key and key not in _COLUMNS) or not isinstance(value, ast.Name | ast.Subscript | ast.Attribute):
            continue
        word = last_name(value)
        bound = view.names.values_of(value)
        if len(bound) == 1 and isinstance(bound[0], ast.Subscript) and not mentions(word, _TYPED_PASSWORD):
            word = last_name(bound[0])  # `stored = row["password"]`
        made = any(isinstance(item, ast.Call) and not is_from_request(view, item) for item in bound)
        if mentions(word, _TYPED_PASSWORD) and not made:
            yield NodeMatch(node, f"{word} is stored in clear text")
            return


def _start_of(node: ast.expr) -> str:
    """Return what a lookup reads from, and nothing of what a call of a function makes of it."""
    holder = node.func if isinstance(node, ast.Call) else node
    return unparse(holder)[:100] if isinstance(holder, ast.Subscript | ast.Attribute) else ""


def _decoded(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Compare)
    if not view.has("decode", "decrypt", "unhexlify", "fromhex", "rot13"):
        return
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq) and _recoverable(view, node):
        yield NodeMatch(node, "anyone who reads the stored password has it: keep a slow hash of it alone")


def _inner(node: ast.expr) -> ast.expr:
    return node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node


def _entries(view: View, node: ast.expr | None) -> list[tuple[str, ast.expr]]:
    found: list[tuple[str, ast.expr]] = []
    for value in [node, *view.names.values_of(node)] if node is not None else []:
        if isinstance(value, ast.Dict):
            for key, given in zip(value.keys, value.values, strict=True):
                found.append((view.names.text(key) or "", given))
    return found


def _personal(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find columns for card numbers or their codes in model classes."""
    assert isinstance(node, ast.Assign | ast.AnnAssign)
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(target, ast.Attribute) and target.attr in _COLUMNS and node.value is not None:
        of_user = re.search(r"user|account|member|customer|profile", unparse(target.value).lower())
        made = node.value.func if isinstance(node.value, ast.Call) else None
        if of_user and isinstance(made, ast.Attribute) and made.attr == "encrypt":
            yield NodeMatch(node, "who has the key has every password: keep a slow hash of it alone")
        return
    if not isinstance(target, ast.Name) or not isinstance(node.value, ast.Call):
        return
    if not isinstance(view.parent(node), ast.ClassDef) or not mentions(target.id, _CARD_COLUMN):
        return
    if view.names.called(node.value).rpartition(".")[2] in (
        "CharField",
        "TextField",
        "Column",
        "mapped_column",
        "IntegerField",
    ):
        yield NodeMatch(node, f"{target.id} is kept as it is in the database")


_COLUMNS = frozenset({"password", "passwd", "pwd", "user_password"})


CHECKS = (
    Check(
        _RULES["timing-comparison"],
        nodes=(ast.Compare, ast.For, ast.comprehension),
        look=_compared,
    ),
    Check(
        _RULES["logged-secret"],
        methods=_LOG_METHODS,
        calls=word_set("print"),
        look=_logged,
    ),
    Check(
        _RULES["stored-in-clear"],
        methods=word_set("write write_text set_cookie writelines"),
        look=_stored,
    ),
    Check(
        _RULES["kept-in-clear"],
        calls=word_set(
            "jwt.encode jose.jwt.encode authlib.jose.jwt.encode base64.b64encode base64.urlsafe_b64encode json.dump "
            "yaml.dump yaml.safe_dump cryptography.hazmat.primitives.serialization.NoEncryption"
        ),
        methods=word_set("execute insert insert_one add create find_one find filter_by"),
        nodes=(ast.Assign, ast.AnnAssign, ast.Compare),
        look=lambda view, node, name: (
            _kept(view, node, name)
            if isinstance(node, ast.Call)
            else _decoded(view, node)
            if isinstance(node, ast.Compare)
            else _personal(view, node, name)
        ),
    ),
)
