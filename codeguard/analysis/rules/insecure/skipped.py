"""Checks that are there and do not hold: never reached, skipped, passed by nothing, or by a part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, leaves, word_set
from codeguard.analysis.rules.insecure.handlers import is_from_request
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, variables_in, walk

_RULES = rules_of(__file__)

_MATTERS = lazy(
    r"^(?:await )?(?:[\w.]+\.)?_?(?:audit|revoke|verify|invalidate|lock|unlock|release|close|clear|rollback|notify_\w+"
    r"|log_?out|wipe|erase|check|validate|authori[sz]e)\w*\("
)


def _unreached(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a check that stands behind `return`."""
    if isinstance(node, ast.If):
        yield from _behind_branches(view, node)
        return
    assert isinstance(node, ast.Return)
    parent = view.parent(node)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if not isinstance(block, list) or block[-1:] == [node]:
            continue
        if next((item for item in block if isinstance(item, ast.Return)), None) is not node:
            continue  # what follows a second `return` was seen with the first
        rest = block[block.index(node) + 1 :]
        parts = [part for statement in rest for part in walk(statement)]
        checks: list[ast.stmt] = [part for part in parts if isinstance(part, ast.If) and leaves(part.body)]
        checks += [
            part for part in rest if isinstance(part, ast.Expr) and _MATTERS.search(view.written(part))
        ]
        if checks and _torn(view, node.lineno, checks[0].lineno):
            continue
        # A `yield` makes a generator of a function that yields nothing.
        if checks and not any(isinstance(part, ast.Yield | ast.YieldFrom) for part in parts):
            yield NodeMatch(checks[0], "the function has returned before it: it is never done")


def _torn(view: View, first: int, last: int) -> bool:
    """Return whether another function begins between two lines of a file that does not parse, as of Cython."""
    if not view.reading.syntax_error:
        return False
    starts = view.reading.line_starts
    return _BEGINS.search(view.reading.text, starts[first], starts[last - 1]) is not None


_BEGINS = lazy(r"^[ \t]*(?:@|(?:async[ \t]+)?def\b|cp?def\b|class\b)", re.MULTILINE)


def _behind_branches(view: View, node: ast.If) -> Iterator[NodeMatch]:
    """Find a check that stands behind `if … return … else: return …`."""
    branches: list[ast.stmt] = [node]
    while isinstance(last := branches[-1], ast.If):
        if not isinstance(last.body[-1], ast.Return | ast.Raise) or not last.orelse:
            return
        branches.append(last.orelse[-1])
    if not isinstance(branches[-1], ast.Return | ast.Raise):
        return
    block = getattr(view.parent(node), "body", [])
    rest = block[block.index(node) + 1 :] if isinstance(block, list) and node in block else []
    check = next(
        (item for item in rest if isinstance(item, ast.If) or _MATTERS.search(view.written(item))), None
    )
    if check is not None and not any(
        isinstance(part, ast.Yield | ast.YieldFrom) for item in rest for part in walk(item)
    ):
        yield NodeMatch(check, "every branch before it has returned: it is never done")


_PROOF = lazy(r"code|token|otp|sig(?:nature)?s?$|signature|password|csrf|h?mac$|^pin$", 2)
_VERIFIES = lazy(r"verif|check|valid|compare_digest|authenticate", 2)


def _skipped(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `if code and not verify(code): abort()`, and a signature that is verified if there is one."""
    assert isinstance(node, ast.If)
    test = node.test
    if node.orelse:
        return
    inner = node.body[0] if len(node.body) == 1 else None
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and len(test.values) == 2:
        present, refused, block = test.values[0], test.values[1], node.body
    elif isinstance(test, ast.Name) and isinstance(inner, ast.If) and not inner.orelse:
        present, refused, block = test, inner.test, inner.body
    else:
        yield from _optional_signature(view, node)
        return
    # Without a proof neither form does anything, and the request goes on as if the proof had been right.
    held = _found_present(present)
    if (
        held is not None
        and _PROOF.search(held.id)
        and isinstance(refused, ast.UnaryOp)
        and isinstance(refused.op, ast.Not)
        and leaves(block)
        and _verified(refused, held.id)
        and is_from_request(view, held)
        and not _asked_for(view, (node, inner), held.id)
    ):
        yield NodeMatch(test, f"without {held.id} nothing is checked, and the request goes on")


def _optional_signature(view: View, node: ast.If) -> Iterator[NodeMatch]:
    """Find `if signature.exists(): key.verify(signature, data)`, after which the data are used all the same."""
    held = _found_present(node.test)
    if held is None or not _PROOF.search(held.id) or leaves(node.body):
        return
    block = getattr(view.parent(node), "body", [])
    goes_on = isinstance(block, list) and block and block[-1] is not node
    if (
        goes_on
        and view.has("verify", "compare_digest")
        and any(_refuses_wrong(statement, held.id) for statement in node.body)
        and not _asked_for(view, (node,), held.id)
    ):
        yield NodeMatch(
            node.test, f"without {held.id} nothing is verified, and what it signs is taken all the same"
        )


def _refuses_wrong(statement: ast.stmt, held: str) -> bool:
    """Return whether a statement refuses a wrong proof: compares and leaves, or verifies it, which raises."""
    if isinstance(statement, ast.If) and leaves(statement.body):
        return "compare_digest" in ast.unparse(statement.test)
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr == "verify"
        and any(held in variables_in(given) for given in part.args)
        for part in walk(statement)
    )


def _found_present(test: ast.expr) -> ast.Name | None:
    """Return the name that a test finds present: `signature.exists()`, `signature`, `signature is not None`."""
    if (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Attribute)
        and test.func.attr in ("exists", "is_file")
    ):
        test = test.func.value
    elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot):
        test = test.left
    return test if isinstance(test, ast.Name) else None


def _asked_for(view: View, done: tuple[ast.AST | None, ...], held: str) -> bool:
    """Return whether another test of the function than those in `done` refuses what lacks the name."""
    function = view.function_of(done[0]) if done[0] is not None else None
    return function is None or any(
        isinstance(part, ast.If) and part not in done and held in variables_in(part.test)
        for part in walk(function)
    )


def _verified(node: ast.expr, held: str) -> bool:
    return any(
        isinstance(part, ast.Call)
        and _VERIFIES.search(unqualified_name(part.func))
        and any(isinstance(item, ast.Name) and item.id == held for given in part.args for item in walk(given))
        for part in walk(node)
    )


_ASKED = lazy(
    r"header|cookie|request|form|args|param|payload|body|data|json|event|query|fields|message|claims", 2
)


def _nothing_passes(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `compare_digest(codes.pop(phone, ""), code)`: who has no code passes with an empty one."""
    assert isinstance(node, ast.Call)
    if len(node.args) != 2:
        return
    lengths = [
        side for side in node.args if isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Slice)
    ]
    if len(lengths) == 2:
        size = view.names.constant(lengths[0].slice.upper)  # type: ignore[attr-defined]
        if isinstance(size, int) and 0 < size < _SHORTEST_TAG:
            yield NodeMatch(node, f"{size} bytes are tried out soon: compare the whole digest")
        return
    for side in node.args:
        held = _encoded(side)
        if not isinstance(held, ast.Name) or _is_tested(view, held.id):
            continue
        for value in view.names.values_of(held):
            if _may_be_empty(view, value) and not is_from_request(view, value):
                yield NodeMatch(
                    node, f"where {held.id} is missing it is empty, and so is what an attacker sends"
                )
                return


_SHORTEST_TAG = 8


def _encoded(node: ast.expr) -> ast.expr:
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("encode", "strip")
    ):
        node = node.func.value
    return node


def _may_be_empty(view: View, value: ast.expr) -> bool:
    value = _encoded(value)
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or):
        return view.names.constant(value.values[-1]) in ("", b"") and not _ASKED.search(ast.unparse(value))
    if not (isinstance(value, ast.Call) and len(value.args) == 2 and isinstance(value.func, ast.Attribute)):
        return False
    asked = _ASKED.search(ast.unparse(value.func.value))
    return (
        value.func.attr in ("get", "pop", "getenv")
        and view.names.constant(value.args[1]) in ("", b"")
        and not asked
    )


def _is_tested(view: View, held: str) -> bool:
    """Return whether any condition of the file asks for a name."""
    tests: list[ast.AST] = [part.test for part in view.reading.nodes_of(ast.If)]
    tests += [part.test for part in view.reading.nodes_of(ast.IfExp)]
    tests += view.reading.nodes_of(ast.BoolOp)
    return any(
        isinstance(part, ast.Name) and part.id == held and not isinstance(view.parent(part), ast.Attribute)
        for test in tests
        for part in walk(test)
        if not _in_digest(view, part)
    )


def _in_digest(view: View, node: ast.AST) -> bool:
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.stmt):
        if isinstance(at, ast.Call) and unqualified_name(at.func) == "compare_digest":
            return True
        at = view.parent(at)
    return False


_SAME = lazy(r"same|equal|verify|match|compare|check", 2)


def _shorter(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `all(x == y for x, y in zip(a, b))`, which a shorter one passes."""
    assert isinstance(node, ast.Call)
    loop, function = node.args[0] if len(node.args) == 1 else None, view.function_of(node)
    if not isinstance(loop, ast.GeneratorExp) or len(loop.generators) != 1 or function is None:
        return
    made, test = loop.generators[0].iter, loop.elt
    zipped = isinstance(made, ast.Call) and view.names.called(made) == "zip" and not made.keywords
    compares = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq)
    decides = isinstance(view.statement(node), ast.Return) and _SAME.search(function.name)
    if zipped and compares and decides and not re.search(r"\blen\(", ast.unparse(function)):
        yield NodeMatch(
            node, "the shorter of both decides how much is compared: compare their lengths as well"
        )


_PLACE = lazy(
    r"(?:^|\.)request\.(?:path|full_path|path_info|url|uri|get_full_path\(\)|url\.path|rel_url\.path|build_absolute_uri"
    r"\(\))$|scope\[['\"]path['\"]\]$|environ\[['\"]PATH_INFO['\"]\]$|^str\(request\.url\)$"
)
_GUARDS = lazy(r"auth|login|token|session|api_?key|permission|forbidden|40[13]", 2)


def _by_part(view: View, node: ast.Compare) -> Iterator[NodeMatch]:
    """Find `"/static/" in request.path` where a login is asked for."""
    part = node.left.value if isinstance(node.left, ast.Constant) else None
    if not isinstance(part, str) or not part.startswith("/") or len(part) < 3:
        return
    held = node.comparators[0]
    if not any(_PLACE.search(ast.unparse(value)[:200]) for value in (held, *view.names.values_of(held))):
        return
    function = view.function_of(node)
    if function is not None and _GUARDS.search(ast.unparse(function)):
        yield NodeMatch(node, f"{part} may stand anywhere in the address: ask what it begins with")


_FORBIDDEN = lazy(r"block|deny|denied|forbid|banned|reserved|dangerous|disallow|black_?list|executable", 2)
_LOWERED = lazy(r"\b(?:lower|casefold|upper|normcase|IGNORECASE)\b")
_NAMES_OF_STAFF = frozenset({"admin", "root", "administrator", "support", "moderator", "staff", "system"})


def _by_case(view: View, node: ast.Compare) -> Iterator[NodeMatch]:
    """Find `suffix in BLOCKED`, which `.EXE` passes."""
    listed = node.comparators[0]
    if not isinstance(listed, ast.Name | ast.Attribute) or not _FORBIDDEN.search(last_name(listed)):
        return
    members: list[str] = []
    for value in view.names.values_of(listed):
        value = value.args[0] if isinstance(value, ast.Call) and value.args else value
        elements = value.elts if isinstance(value, ast.Set | ast.List | ast.Tuple) else []
        members += [view.names.text(item) or "" for item in elements]
    named = any(member.startswith(".") for member in members) or _NAMES_OF_STAFF.intersection(members)
    if not named or any(member != member.lower() for member in members):
        return
    around = view.function_of(node) or view.reading.tree
    if around is not None and not _LOWERED.search(ast.unparse(around)):
        yield NodeMatch(node, f"other capitals pass {last_name(listed)}: take lower() or casefold() first")


_RUNS = frozenset({".exe", ".bat", ".cmd", ".js", ".php", ".sh", ".scr", ".vbs", ".html", ".svg"})
_ASSETS = frozenset({".css", ".js", ".png", ".jpg", ".ico", ".svg", ".gif", ".woff2"})


def _by_ending(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `name.endswith((".exe", ".bat"))`, which `.EXE` passes, and logins that an ending of the address skips."""
    if isinstance(node, ast.Compare):
        yield from _in_list(view, node, name)
        return
    assert isinstance(node, ast.Call)
    given = view.names.constant(node.args[0]) if len(node.args) == 1 else None
    ends = set(given) if isinstance(given, tuple) else {given}
    holder = node.func.value if isinstance(node.func, ast.Attribute) else node
    around = view.function_of(node)
    if around is None or not all(isinstance(end, str) and end.startswith(".") for end in ends):
        return
    if ends & _ASSETS and _PLACE.search(ast.unparse(holder)[:200]) and _GUARDS.search(ast.unparse(around)):
        yield NodeMatch(
            node, f"any address with {min(map(str, ends))} behind it passes: ask what it begins with"
        )
    elif len(ends & _RUNS) > 1 and _OF_FILES.search(unqualified_name(holder)):
        asked = isinstance(view.parent(node), ast.UnaryOp | ast.If)
        if asked and not _LOWERED.search(ast.unparse(around)):
            yield NodeMatch(node, "other capitals pass: take lower() or casefold() first")


_OF_FILES = lazy(r"name|file|upload|attach")


def _in_list(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Compare)
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield from _by_case(view, node)
        if isinstance(node.ops[0], ast.In):
            yield from _by_part(view, node)


_WHO = lazy(
    r"^(?:user\w*|role\w*|account\w*|owner\w*|tenant\w*|admin|is_\w+|price|discount|permissions?|rights?)$"
)


def _last_round(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `if row.get("role") in ROLES: role = row["role"]` in a loop that uses the role in any case."""
    assert isinstance(node, ast.For)
    for index, statement in enumerate(node.body):
        if not isinstance(statement, ast.If) or statement.orelse or len(statement.body) != 1:
            continue
        made = statement.body[0]
        target = made.targets[0] if isinstance(made, ast.Assign) else None
        function = view.function_of(node)
        if not isinstance(target, ast.Name) or not _WHO.match(target.id) or function is None:
            continue
        bound = [
            part
            for part in walk(function)
            if (isinstance(part, ast.Name) and part.id == target.id and isinstance(part.ctx, ast.Store))
            or (isinstance(part, ast.arg) and part.arg == target.id)
        ]
        used = any(
            isinstance(part, ast.Name) and part.id == target.id and isinstance(part.ctx, ast.Load)
            for later in node.body[index + 1 :]
            for part in walk(later)
        )
        if len(bound) == 1 and used:
            yield NodeMatch(made, f"otherwise {target.id} is that of the row before: set it in each round")
            return


_MAY = lazy(
    r"^_?(?:can|may|is|has|check|authori[sz]e|require|allow|ensure|permit)_|permission|access|allowed$"
)
_OF_RIGHTS = lazy(r"admin|is_staff|superuser|owner|author|role|permission|is_member|moderator")


def _without_brackets(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `user.is_admin or user.id == page.owner and not page.locked`."""
    assert isinstance(node, ast.BoolOp)
    last = node.values[-1]
    if not isinstance(node.op, ast.Or) or not isinstance(last, ast.BoolOp):
        return
    function, limit = view.function_of(node), last.values[-1]
    negated = isinstance(limit, ast.UnaryOp) and isinstance(limit.op, ast.Not)
    if function is None or not negated or not _MAY.search(getattr(function, "name", "")):
        return
    rights = all(_OF_RIGHTS.search(view.written(part)) for part in (*node.values[:-1], last.values[0]))
    start, _ = view.reading.place(last)
    if rights and not view.reading.text[:start].rstrip().endswith("("):
        yield NodeMatch(
            node, f"{view.written(limit)[:60]} is asked in the last case alone: write the brackets"
        )


CHECKS = (
    Check(_RULES["acts-before-check"]),  # by shapes
    Check(_RULES["or-without-brackets"], nodes=(ast.BoolOp,), look=_without_brackets),
    Check(_RULES["check-unreached"], nodes=(ast.Return, ast.If), look=_unreached),
    Check(_RULES["check-skipped"], nodes=(ast.If,), look=_skipped),
    Check(
        _RULES["nothing-passes"],
        calls=word_set("hmac.compare_digest secrets.compare_digest all"),
        look=lambda view, node, name: (
            _shorter(view, node, name) if name == "all" else _nothing_passes(view, node, name)
        ),
    ),
    Check(_RULES["out-of-date"]),  # by shapes
    Check(_RULES["either-factor"]),  # by shapes
    Check(_RULES["flags-joined"]),  # by shapes
    Check(_RULES["list-passed"], nodes=(ast.Compare,), methods=word_set("endswith"), look=_by_ending),
    Check(_RULES["kept-from-last-round"], nodes=(ast.For,), look=_last_round),
)
