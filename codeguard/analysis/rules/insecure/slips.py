"""Slips: comparisons without effect, lost errors, locks not released, filters with holes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import joined_words
from codeguard.analysis.rules.insecure.surroundings import is_server
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_CHECKING = lazy(
    r"verif|check|valid|auth|permit|allow|admit|accept|scan|malware|login|token|ssl|tls|certificate|signature",
    re.IGNORECASE,
)
_ASKING = lazy(r"^(?:is|has|can|may|should)_[a-z]")


def _compared(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find comparisons as statements, `user.locked == True`, except in tests that expect an exception."""
    assert isinstance(node, ast.Expr)
    value, around = node.value, view.parent(node)
    if not isinstance(value, ast.Compare) or not isinstance(value.ops[0], ast.Eq):
        return
    if isinstance(value.left, ast.Name | ast.Attribute | ast.Subscript) and isinstance(
        around, ast.FunctionDef | ast.AsyncFunctionDef | ast.If | ast.For | ast.While
    ):
        yield NodeMatch(node, f"{ast.unparse(node)[:60]} is compared, not set")


def _uncalled(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `if not user.is_admin:` if every `is_admin` in the file is a method."""
    assert isinstance(node, ast.If | ast.IfExp | ast.While)
    for part in _conditions(node.test):
        # `self.screen` is an object of another class, which may have a property of that name
        if not (isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)):
            continue
        if _ASKING.match(part.attr) and part.attr in _methods(view):
            yield NodeMatch(part, f"{part.attr} is a method, which is true whatever it would answer: call it")


def _conditions(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _conditions(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _conditions(test.operand)
    else:
        yield test


def _methods(view: View) -> frozenset[str]:
    """Return the names in the file that only plain methods have."""
    known = view.reading.shared.get("methods that ask")
    if isinstance(known, frozenset):
        return known
    methods: set[str] = set()
    others: set[str] = set()
    functions: list[FunctionNode] = [
        *view.reading.nodes_of(ast.FunctionDef),
        *view.reading.nodes_of(ast.AsyncFunctionDef),
    ]
    for node in functions:
        plain = isinstance(view.parent(node), ast.ClassDef) and not node.decorator_list
        (methods if plain else others).add(node.name)
    for attribute in view.reading.nodes_of(ast.Attribute):
        if isinstance(attribute.ctx, ast.Store):
            others.add(attribute.attr)
    for owner in view.reading.nodes_of(ast.ClassDef):
        for part in owner.body:
            if isinstance(part, ast.Assign | ast.AnnAssign):
                others.add(last_name(part.target if isinstance(part, ast.AnnAssign) else part.targets[0]))
    found = view.reading.shared["methods that ask"] = frozenset(methods - others)
    return found


def _lost(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Try)
    function = view.function_of(node)
    for statement in node.finalbody:
        if isinstance(statement, ast.Return) and function is not None:
            checks = _CHECKING.search(f"{function.name} {joined_words(node.body)}") or any(
                isinstance(part, ast.Raise) for item in node.body for part in walk(item)
            )
            yield NodeMatch(
                statement, "whatever was raised before is taken back", None if checks else Severity.LOW
            )


_DONE = lazy(
    r"^_?(?:wipe|shred|revoke|verify|validate|disable|encrypt|purge|erase|lock|sign|authenticate|authori[sz]e|check)(?:_|$)"
)


def _success(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `except OSError: pass` followed by `return True`, which reports success after a failure."""
    assert isinstance(node, ast.Try)
    function = view.function_of(node)
    last = function.body[-1] if function is not None else None
    if function is None or not _DONE.match(function.name) or not isinstance(last, ast.Return):
        return
    if not (isinstance(last.value, ast.Constant) and last.value.value is True) or node not in function.body:
        return
    answers = [part for part in walk(function) if isinstance(part, ast.Return | ast.Raise)]
    passes = [item for item in node.handlers if all(isinstance(part, ast.Pass) for part in item.body)]
    if len(answers) == 1 and passes:
        yield NodeMatch(passes[0], "what failed is answered like what worked")


_HELD = lazy(r"lock|mutex|lease|once|settle", re.IGNORECASE)


def _lock_not_asked(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find `r.set(key, mine, nx=True)` whose answer nobody looks at before the lock is given back."""
    statement = view.parent(node)
    if not isinstance(statement, ast.Expr) or view.constant(node, "nx") is not True or not node.args:
        return
    block = getattr(view.parent(statement), "body", [])
    key, function = ast.unparse(node.args[0]), view.function_of(node)
    after = block[block.index(statement) + 1 :] if isinstance(block, list) and statement in block else []
    given_back = any(
        isinstance(part, ast.Try) and key in " ".join(map(ast.unparse, part.finalbody)) for part in after
    )
    if given_back or (_HELD.search(f"{key} {getattr(function, 'name', '')}") and after):
        yield NodeMatch(node, "whether the lock was free is not looked at: who has it goes on as well")


def _kept(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `lock.acquire()` and `lock.release()` around code that may raise."""
    assert isinstance(node, ast.Call)
    statement = view.parent(node)
    block = getattr(view.parent(statement), "body", ()) if isinstance(statement, ast.Expr) else ()
    if node.args or node.keywords or not isinstance(node.func, ast.Attribute) or statement not in block:
        return
    given_back = f"{ast.unparse(node.func.value)}.release()"
    between: list[ast.stmt] = []
    for following in block[block.index(statement) + 1 :]:
        if isinstance(following, ast.Expr) and ast.unparse(following) == given_back:
            if any(_may_fail(part) for item in between for part in walk(item)):
                yield NodeMatch(node, "an error in between leaves the lock held")
            return
        between.append(following)


_HARMLESS = word_set(
    "acquire release append appendleft clear pop popleft get add discard remove update items values keys time notify "
    "notify_all monotonic len"
)


def _may_fail(part: ast.AST) -> bool:
    return isinstance(part, ast.Call) and last_name(part.func) not in _HARMLESS


def _jail(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    holder: ast.AST | None = view.function_of(node) or view.reading.tree
    after = [
        part
        for part in (walk(holder) if holder is not None else ())
        if isinstance(part, ast.Call) and part.lineno >= node.lineno
    ]
    if not any(view.names.called(part) in ("os.chdir", "os.fchdir") for part in after):
        yield NodeMatch(node, "relative paths still lead out of the new root: change to / after it")


# Ranges across alphabets, or between punctuation characters with letters or digits in between.
_RANGE = lazy(r"(?<!\\)\[\^?((?:\\.|[^\]\\]){1,80})\]")
_WIDE = lazy(r"(?:\\.|.)*?(?<!\\)([A-Z]-[a-z]|[+*,.=%&$#;(/_:]-[_/:;@=.?])")
_PATTERNS = word_set(
    "re.compile re.match re.fullmatch re.search re.sub re.findall django.core.validators.RegexValidator "
    "wtforms.validators.Regexp"
)


def _range(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    pattern = view.names.text(node.args[0] if node.args else view.argument(node, "regex"))
    for found in _RANGE.finditer(pattern or "") if pattern is not None and len(pattern) < 500 else ():
        wide = _WIDE.match(found[1])
        first, last = (wide[1][0], wide[1][2]) if wide is not None else ("", "")
        if first and ord(last) - ord(first) > 9:
            yield NodeMatch(node, f"{first}-{last} holds every character between the two")
            return


_TAGS = lazy(
    r"<\W{0,8}\s?script|<(?:\\s\*)?/?\??(?:\\s\*)?\(\w{0,30}\|?script|<\(?\?:?script|javascript:|on\\w\+",
    re.IGNORECASE,
)


_CLEANING = lazy(r"clean|saniti|strip|safe|escape|filter|xss|html|comment|markup|show|render", re.IGNORECASE)


def _filtered(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name in ("html.escape", "cgi.escape"):
        function = view.function_of(node)
        quoted = function is not None and any(
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and part.value.endswith(("='", '="'))
            for part in walk(function)
        )
        if quoted and view.constant(node, "quote", 1, name == "html.escape") is False:
            yield NodeMatch(node, "a quote ends the attribute that the value stands in: leave quote=True")
        return
    if isinstance(node.func, ast.Attribute) and node.func.attr == "sub" and name != "re.sub":
        made = [
            value
            for value in view.names.values_of(node.func.value)
            if isinstance(value, ast.Call) and value.args
        ]
        pattern = (
            view.names.text(made[0].args[0])
            if len(made) == 1 and view.names.called(made[0]) == "re.compile"
            else None
        )
        function = view.function_of(node)
        cleans = function is not None and _CLEANING.search(f"{function.name} {joined_words([function.args])}")
        if (
            pattern
            and cleans
            and view.names.text(node.args[0] if node.args else None) == ""
            and _TAGS.search(pattern)
        ):
            yield NodeMatch(node, "markup has more spellings than the pattern: escape the text")
        return
    texts = [view.names.text(argument) for argument in node.args[:2]]
    if len(texts) < 2 or texts[0] is None or texts[1] != "":
        return
    if name == "re.sub":
        function = view.function_of(node)
        shown = is_server(view) or (function is not None and _CLEANING.search(function.name))
        if _TAGS.search(texts[0]) and shown:
            yield NodeMatch(node, "markup has more spellings than the pattern: escape the text")
    elif texts[0].lower() in ("<script>", "</script>", "javascript:"):
        yield NodeMatch(node, f"{texts[0]} has other spellings: escape the text")
    elif texts[0] in ("../", "..\\", "..\\\\") and (view.is_route(node) or is_server(view)):
        yield NodeMatch(node, "..././ is ../ once ../ was taken out: resolve the path and compare it")


CHECKS = (
    Check(_RULES["comparison-dropped"], nodes=(ast.Expr,), look=_compared),
    Check(_RULES["uncalled-check"], nodes=(ast.If, ast.IfExp, ast.While), look=_uncalled),
    Check(
        _RULES["error-lost"],
        nodes=(ast.Try,),
        look=lambda view, node, name: [*_lost(view, node, name), *_success(view, node, name)],
    ),
    Check(
        _RULES["lock-kept"],
        methods=word_set("acquire set"),
        look=lambda view, node, name: (
            _lock_not_asked(view, node)
            if isinstance(node, ast.Call) and last_name(node.func) == "set"
            else _kept(view, node, name)
        ),
    ),
    Check(_RULES["jail-left-open"], calls=word_set("os.chroot"), look=_jail),
    Check(_RULES["wide-range"], calls=_PATTERNS, look=_range),
    Check(
        _RULES["incomplete-filter"],
        calls=word_set("re.sub html.escape cgi.escape"),
        methods=word_set("replace sub"),
        look=_filtered,
    ),
)
