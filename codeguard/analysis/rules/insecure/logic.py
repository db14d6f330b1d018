"""Ineffective checks: ignored results, conditions that are always true, hosts compared in part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.surroundings import is_server
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_ANSWERS = word_set(
    "hmac.compare_digest secrets.compare_digest werkzeug.security.check_password_hash bcrypt.checkpw "
    "django.contrib.auth.hashers.check_password django.contrib.auth.authenticate passlib.hash.bcrypt.verify "
    "django.utils.crypto.constant_time_compare django.utils.http.url_has_allowed_host_and_scheme os.access"
)
_PEOPLE = lazy(
    r"admin|allow|trusted|privileged|staff|whitelist|permitted|owners?|users|roles|hosts|origins|domains",
    re.IGNORECASE,
)
_HOST = lazy(r"host|netloc|domain|origin|referr?er", re.IGNORECASE)
_ADDRESS = lazy(
    r"url|uri|link|origin|host|netloc|referr?er|target|next|redirect|callback|address|domain", re.IGNORECASE
)
_DOMAIN = lazy(
    r"^(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|test|example|internal|local|co|app|cloud|edu|gov"
    r"|[a-z]{2})$"
)
_SITE = lazy(r"^https?://(?:[\w-]{1,63}\.){1,5}[\w-]{2,63}$")
_PATTERN = lazy(r"^(?:\^|\\A)?(?:\(\?:)?https?\??:(?://|\\/\\/)[\w\\.()|+*\[\]-]{3,80}$")
_JUDGES = lazy(
    r"allow|valid|trust|safe|check|permit|verify|accept|is_|origin|redirect|fetch|proxy|cors", re.IGNORECASE
)
_FILE_ENDS = frozenset(
    {"py", "js", "md", "sh", "so", "pl", "rs", "cc", "hs", "ts", "mk", "am", "in", "gz", "ps"}
)


def _dropped(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if not isinstance(view.parent(node), ast.Expr):
        return
    if name in _COMMANDS:
        if view.argument(node, "check") is None and _removed_after(view, node):
            yield NodeMatch(
                node, "the command's answer is not looked at, and what it copies is removed: check=True"
            )
        elif view.argument(node, "check") is None and _VERIFIES.search(_command_words(view, node)):
            yield NodeMatch(node, "the command's answer is not looked at: check=True raises where it says no")
        return
    if name in _ANSWERS or (isinstance(node.func, ast.Attribute) and not _may_raise(view, name)):
        yield NodeMatch(node, "the answer of the check is not looked at")


_COMMANDS = word_set("subprocess.run subprocess.call os.system")
_VERIFIES = lazy(
    r"(?:^| )(?:--verify|-verify|verify|--check|--check-sig|verify-blob|--assess)(?: |$)|(?:sha\d+sum|md5sum"
    r"|shasum) .*-c\b|gpgv\b"
    r"|signify .*-V\b|minisign .*-V"
)


def _removed_after(view: View, node: ast.Call) -> bool:
    """Return whether what a command copies is removed after it, whether it has worked or not."""
    statement = view.parent(node)
    block = getattr(view.parent(statement), "body", []) if statement is not None else []
    if not isinstance(block, list) or statement not in block or not _COPIES.search(_copied(view, node)):
        return False
    used = {part.id for part in walk(node) if isinstance(part, ast.Name)}
    used |= {
        part.id
        for given in node.args[:1]
        for value in view.names.values_of(given)
        for part in walk(value)
        if isinstance(part, ast.Name)
    }
    return any(
        isinstance(part, ast.Call)
        and view.names.called(part) in ("shutil.rmtree", "os.remove", "os.unlink", "pathlib.Path.unlink")
        and any(isinstance(item, ast.Name) and item.id in used for item in walk(part))
        for following in block[block.index(statement) + 1 :]
        for part in walk(following)
    )


_COPIES = lazy(
    r"\b(?:rsync|scp|cp|mv|tar|zip|rclone|pg_dump|mysqldump|aws|gsutil|borg|restic|7z|gpg|zstd|gzip)\b"
)


def _copied(view: View, node: ast.Call) -> str:
    given = node.args[0] if node.args else None
    values = [] if given is None else [given, *view.names.values_of(given)]
    return " ".join(
        str(part.value) for value in values for part in walk(value) if isinstance(part, ast.Constant)
    )


def _command_words(view: View, node: ast.Call) -> str:
    """Return the literal words of a command, including those of a list unpacked into it."""
    given = node.args[0] if node.args else None
    found: list[str] = []
    for item in (
        given.elts if isinstance(given, ast.List | ast.Tuple) else [given] if given is not None else []
    ):
        values = [item.value, *view.names.values_of(item.value)] if isinstance(item, ast.Starred) else [item]
        for value in values:
            parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
            found += [view.names.text(part) or "" for part in parts]
    return " ".join(found)[:500]


# Calls that only have an effect if their result is raised or returned.
_MADE = lazy(
    r"^(?:flask|django|fastapi|starlette|quart|werkzeug|rest_framework|litestar|sanic)\..*?(?:redirect|Http404|"
    r"[A-Z]\w*(?:Redirect|Forbidden|Denied|Exception|NotAllowed|BadRequest|Error|NotFound|Unauthorized"
    r"|Response|"
    r"NotAuthenticated|AuthenticationFailed))$|^(?:PermissionError|HTTPException)$"
)


def _made(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find results that are neither returned nor raised: `redirect("/login")`, `PermissionDenied()`."""
    assert isinstance(node, ast.Expr)
    called = view.names.called(node.value) if isinstance(node.value, ast.Call) else ""
    if _MADE.search(called) and not called.rpartition(".")[2].startswith("assert"):
        last = called.rpartition(".")[2]
        yield NodeMatch(node, f"{last} is made and dropped: the function goes on as if nothing were wrong")


def _answer_dropped(view: View, node: ast.Expr) -> Iterator[NodeMatch]:
    """Find `verifier.verify(body, tag)` whose answer, a bool by the file's own function, nobody looks at."""
    call = node.value.value if isinstance(node.value, ast.Await) else node.value
    asked = unqualified_name(call.func) if isinstance(call, ast.Call) else ""
    if not _ASKS.match(asked) or not view.has("-> bool"):
        return
    functions: list[FunctionNode] = [
        *view.reading.nodes_of(ast.FunctionDef),
        *view.reading.nodes_of(ast.AsyncFunctionDef),
    ]
    functions = [item for item in functions if item.name == asked]
    if functions and all(
        isinstance(item.returns, ast.Name)
        and item.returns.id == "bool"
        and not any(isinstance(part, ast.Raise) for part in walk(item))
        for item in functions
    ):
        yield NodeMatch(node, f"{asked} answers whether it is right, and nobody looks at the answer")


_ASKS = lazy(
    r"^_?(?:verify|validate|is|can|may|has|authori[sz]e|allowed|check_(?:password|permission|access|token|signature|owner"
    r"|auth|credential|mac|hmac|pin|code))(?:_|$)"
)


def _past_the_end(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find off-by-one indices: `for index in range(len(items) + 1): items[index]`."""
    assert isinstance(node, ast.For)
    made = node.iter
    if not (
        isinstance(made, ast.Call)
        and view.names.called(made) == "range"
        and isinstance(node.target, ast.Name)
    ):
        return
    stop = made.args[0] if len(made.args) == 1 else made.args[1] if len(made.args) > 1 else None
    if not (isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add) and isinstance(stop.left, ast.Call)):
        return
    size = stop.left
    if view.names.called(size) != "len" or not size.args or view.names.constant(stop.right) != 1:
        return
    parts = [part for statement in node.body for part in walk(statement)]
    if any(isinstance(part, ast.Compare | ast.Try) for part in parts):
        return  # the last index is handled
    for part in parts:
        if (
            isinstance(part, ast.Subscript)
            and ast.dump(part.value) == ast.dump(size.args[0])
            and isinstance(part.slice, ast.Name)
            and part.slice.id == node.target.id
        ):
            yield NodeMatch(part, f"{ast.unparse(part)[:60]} goes one place beyond the end")
            return


def _by_identity(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find texts compared by identity: `role is "admin"`."""
    assert isinstance(node, ast.Compare)
    if isinstance(node.ops[0], ast.Is | ast.IsNot):
        for side in (node.left, node.comparators[0]):
            if (
                isinstance(side, ast.Constant)
                and isinstance(side.value, str | bytes | int)
                and not isinstance(side.value, bool)
            ):
                yield NodeMatch(
                    node, f"{ast.unparse(node)[:60]} compares objects, not values: it may hold or not"
                )
                return
        yield from _one_object(view, node)


_PERSON = lazy(r"(?:^|_)(?:user|author|owner|approver|member|account|customer|creator|requester|actor)$")


def _one_object(view: View, node: ast.Compare) -> Iterator[NodeMatch]:
    """Find rows and texts compared by identity: `claim.author is approver`, `name is RESERVED`."""
    left, right = node.left, node.comparators[0]
    if len(node.ops) > 1 or not isinstance(left, ast.Attribute | ast.Name):
        return
    if isinstance(right, ast.Name) and right.id.isupper() and not right.id.startswith("_"):
        made = view.names.values_of(left)
        drawn = any(
            isinstance(value, ast.Call) and _MAKES_TEXT.search(last_name(value.func)) for value in made
        )
        if drawn and view.names.text(right):
            yield NodeMatch(node, f"{ast.unparse(node)[:60]} compares objects, not values: it never holds")
    elif isinstance(right, ast.Name | ast.Attribute) and view.modules & {
        "django",
        "sqlalchemy",
        "flask_sqlalchemy",
        "peewee",
    }:
        people = _PERSON.search(last_name(left)) and _PERSON.search(last_name(right))
        if people and isinstance(left, ast.Attribute) and isinstance(view.statement(node), ast.If):
            yield NodeMatch(node, "two objects of one row are not the same object: compare their keys")


_MAKES_TEXT = lazy(r"^(?:strip|lower|upper|casefold|decode|format|join|replace|str|input|read|get)$")


def _may_raise(view: View, name: str) -> bool:
    """Return whether a method such as `check_password` is in the file and raises."""
    definition = view.names.definition(name)
    return definition is not None and any(isinstance(part, ast.Raise) for part in walk(definition))


def _always(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find conditions that are always true: `if role == "editor" or "admin":`."""
    assert isinstance(node, ast.BoolOp)
    if not isinstance(node.op, ast.Or) or not isinstance(
        view.parent(node), ast.If | ast.While | ast.IfExp | ast.Assert
    ):
        return
    compared = any(isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq) for part in node.values)
    for part in node.values[1:]:
        if compared and isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value:
            yield NodeMatch(node, f"the condition holds whatever the value is: {part.value!r} alone is true")
            return


def _in_text(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find membership tests in a text, `name in "alice,bob"`, which accept every substring."""
    assert isinstance(node, ast.Compare)
    right = node.comparators[0]
    if not isinstance(node.ops[0], ast.In | ast.NotIn) or len(node.ops) > 1:
        return
    if isinstance(right, ast.Constant) and isinstance(right.value, str):
        named = isinstance(node.left, ast.Name | ast.Attribute) and _ONE_OF_PEOPLE.search(
            last_name(node.left)
        )
        if named and _LISTED.match(right.value):
            yield NodeMatch(node, f"every part of {right.value[:40]!r} counts as a member: split it")
        return
    if not isinstance(right, ast.Name | ast.Attribute):
        return
    loop = view.parent(node)
    if isinstance(loop, ast.GeneratorExp) and isinstance(right, ast.Name) and isinstance(node.ops[0], ast.In):
        if right.id == last_name(node.left) and _ONE_OF_PEOPLE.search(right.id) and _is_any(view, loop):
            yield NodeMatch(node, f"every part of a {right.id} counts as one: compare with ==")
        return
    listed = view.names.constant(right) if _PEOPLE.search(last_name(right)) else None
    if (
        isinstance(listed, str)
        and len(listed) > 2
        and isinstance(node.left, ast.Name | ast.Attribute | ast.Subscript)
        and not isinstance(
            view.parent(node), ast.comprehension | ast.GeneratorExp | ast.ListComp
        )  # compares single letters
    ):
        yield NodeMatch(node, f"every part of the text {last_name(right)} counts as a member: split it")


_ONE_OF_PEOPLE = lazy(
    r"(?:^|_)(?:role|group|user|user_?name|login|e?mail|account|tenant|scope|permission)$", re.IGNORECASE
)
_LISTED = lazy(r"^\w{2,30}(?:(?:[,;|] ?| )\w{2,30}){1,20}$")


def _is_any(view: View, loop: ast.GeneratorExp) -> bool:
    around = view.parent(loop)
    return isinstance(around, ast.Call) and view.names.called(around) == "any" and not loop.generators[0].ifs


def _by_part(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find hosts compared by their start or end, or as a part of a URL."""
    if isinstance(node, ast.Compare):
        yield from _as_part(view, node)
        return
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    method, holder = node.func.attr, node.func.value
    if method in ("match", "search", "fullmatch"):
        yield from _unanchored(view, node, name)
        return
    text = view.names.text(node.args[0]) if len(node.args) == 1 else None
    if text is None:
        return
    whole = text.startswith("-") and text.count(".") > 1  # `-direct.example.org` belongs to example.org
    if method == "endswith" and _DOMAIN.match(text.lower()) and not whole and _is_host(view, holder):
        yield NodeMatch(
            node,
            f"evil{text} ends with it, too: compare the whole host, or end with a dot before it",
            None if is_server(view) or _decides(view, node) else Severity.LOW,
        )
    elif method == "startswith" and _SITE.match(text) and _ADDRESS.search(last_name(holder)):
        yield NodeMatch(node, f"{text}.evil.test begins with it, too: put a / behind it")


def _is_host(view: View, node: ast.expr) -> bool:
    if _HOST.search(last_name(node)):
        return True
    return any(_HOST.search(last_name(value)) for value in view.names.values_of(node))


def _as_part(view: View, node: ast.Compare) -> Iterator[NodeMatch]:
    left, right = view.names.text(node.left), node.comparators[0]
    if not isinstance(node.ops[0], ast.In | ast.NotIn) or left is None or not _DOMAIN.match(left.lower()):
        return
    if left.rpartition(".")[2] in _FILE_ENDS or not _ADDRESS.search(last_name(right)):
        return
    if not isinstance(right, ast.Name | ast.Attribute | ast.Subscript) or not _decides(view, node):
        return
    if isinstance(view.names.constant(right), tuple):
        return
    yield NodeMatch(node, f"any address that holds {left!r} somewhere passes: compare its host")


def _decides(view: View, node: ast.Compare | ast.Call) -> bool:
    """Return whether a comparison is used to reject something."""
    function = view.function_of(node)
    statement = view.statement(node)
    if isinstance(statement, ast.Return):
        return function is not None and bool(_JUDGES.search(function.name))
    if not isinstance(statement, ast.If) or node not in walk(statement.test):
        return False
    last = statement.body[-1]
    refused = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn)
    if refused or isinstance(view.parent(node), ast.UnaryOp):
        return isinstance(last, ast.Raise | ast.Return) or (
            isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
        )
    return isinstance(last, ast.Return) and isinstance(last.value, ast.Constant) and last.value.value is True


def _unanchored(view: View, node: ast.Call, name: str) -> Iterator[NodeMatch]:
    """Find patterns without an anchor after the host: `re.match("https://shop.test", origin)`."""
    if name in ("re.match", "re.search", "re.fullmatch"):
        pattern, subject = view.names.text(node.args[0]) if node.args else None, node.args[1:2]
    else:
        assert isinstance(node.func, ast.Attribute)
        pattern, subject = None, node.args[:1]
        for value in view.names.values_of(node.func.value):
            if isinstance(value, ast.Call) and view.names.called(value) == "re.compile" and value.args:
                pattern = view.names.text(value.args[0])
    if (
        pattern is not None
        and subject
        and _OPEN_DOT.search(pattern)
        and _NAMED_HOST.match(last_name(_inside(subject[0])).lower())
    ):
        yield NodeMatch(
            node, "a dot in the pattern stands for any character, so that other hosts match: write \\."
        )
        return
    if (
        pattern is None
        or not subject
        or not _PATTERN.match(pattern)
        or not _ADDRESS.search(last_name(subject[0]))
    ):
        return
    if "." in pattern and not name.endswith("fullmatch"):
        yield NodeMatch(node, "the pattern ends within the host: https://shop.test.evil.test matches, too")


_OPEN_DOT = lazy(
    r"(?<![\\\]*+])[\w)]\.(?![*+?{])(?:example\b|[\w-]{2,40})(?:\\)?\.?(?:com|org|net|io|dev|internal|local"
    r"|cloud|de|edu|gov)\b(?![\w\\])"
)
_NAMED_HOST = lazy(r"^(?:h|host(?:_?name)?|netloc|domain|origin|server_name|referr?er)$")


def _inside(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    return node


_VALIDATES = lazy(
    r"^_?(?:is|validate|valid|check|allowed?|accept|ensure|verify)(?:_|$)|_(?:valid|ok|allowed)$"
)
_CLASS = lazy(r"^(?:\^|\\A)?(?:\(?\[[^\]]{1,60}\]|\\[dw])[+*]?(?:[^|]{0,60})(?:\+|\*|\}|\]|\))$")


def _open_ended(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find checks that accept any suffix: `return bool(re.match("[a-z]+", name))`."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    if function is None or not (_VALIDATES.search(function.name) or _is_demanded(view, node)):
        return
    pattern = view.names.text(node.args[0]) if node.args else None
    method = name.rpartition(".")[2]
    if name not in ("re.match", "re.search"):
        holder = node.func.value if isinstance(node.func, ast.Attribute) else None
        made = (
            [value for value in view.names.values_of(holder) if isinstance(value, ast.Call)]
            if holder is not None
            else []
        )
        made = [value for value in made if view.names.called(value) == "re.compile" and value.args]
        pattern = view.names.text(made[0].args[0]) if len(made) == 1 else None
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    statement = view.statement(node)
    demanded = _is_demanded(view, node) and _WORDS.match(pattern or "")
    if pattern is None or not (demanded or (_VALIDATES.search(function.name) and _CLASS.match(pattern))):
        return
    if (
        method == "match"
        and not pattern.endswith(("$", "\\Z"))
        and isinstance(statement, ast.Return | ast.If)
    ):
        uses = any(
            isinstance(part, ast.Attribute) and part.attr in ("group", "groups", "end", "span")
            for part in walk(function)
        )
        if not uses:
            yield NodeMatch(node, "what follows the first good characters is not looked at: take fullmatch")


_NAMED = lazy(
    r"(?:name|slug|label|tag|code|bucket|host|user|login|email|iban|zip|identifier|sku)$", re.IGNORECASE
)
# A class of characters that repeats, and a choice of words, or another class, at the end.
_WORDS = lazy(
    r"^(?:\^|\\A)?\[[^\]]{1,60}\][+*](?:[^|()\[]{0,20})(?:\([\w|-]{1,80}\)|\[[^\]]{1,60}\](?:[+*]|\{\d+,\d+\}))?$"
)


def _is_demanded(view: View, node: ast.Call) -> bool:
    """Return whether what does not match a name's pattern is refused: `if PATTERN.match(name) is None: raise`."""
    at = view.statement(node)
    if not isinstance(at, ast.If) or at.orelse or not isinstance(at.body[-1], ast.Raise):
        return False
    around = view.parent(node)
    negated = isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.Not)
    absent = isinstance(around, ast.Compare) and isinstance(around.ops[0], ast.Is)
    return (negated or absent) and bool(node.args) and _NAMED.search(last_name(node.args[-1])) is not None


CHECKS = (
    Check(_RULES["answer-misread"]),  # by shapes
    Check(
        _RULES["pattern-open-ended"], calls=word_set("re.match"), methods=word_set("match"), look=_open_ended
    ),
    Check(
        _RULES["check-dropped"],
        calls=_ANSWERS | _COMMANDS,
        methods=word_set("check_password verify_password compare_digest has_perm is_authorized"),
        nodes=(ast.Expr,),
        look=lambda view, node, name: (
            [*_made(view, node, name), *_answer_dropped(view, node)]
            if isinstance(node, ast.Expr)
            else _dropped(view, node, name)
        ),
    ),
    Check(
        _RULES["condition-always-holds"],
        nodes=(ast.BoolOp,),
        look=_always,
    ),
    Check(
        _RULES["member-of-text"],
        nodes=(ast.Compare,),
        look=_in_text,
    ),
    Check(
        _RULES["host-by-part"],
        nodes=(ast.Compare,),
        methods=word_set("endswith startswith match search fullmatch"),
        look=_by_part,
    ),
    Check(_RULES["past-the-end"], nodes=(ast.For,), look=_past_the_end),
    Check(_RULES["compared-by-identity"], nodes=(ast.Compare,), look=_by_identity),
)
