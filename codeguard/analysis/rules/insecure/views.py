"""Views that use request data without validation: forms, numbers, indices, matches, hosts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from codeguard.analysis.python.dataflow.sinks import Sink
from codeguard.analysis.python.dataflow.values import Use
from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import is_from_request, joined_words
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_CHECKED = lazy(r"\b(?:is_valid|validate|validate_on_submit|full_clean|cleaned_data|errors)\b")


def _unchecked(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find data of a form that the function creates and never validates: `form.data["amount"]`."""
    assert isinstance(node, FUNCTIONS)
    if not view.modules & {"django", "flask_wtf", "wtforms", "quart_wtf", "starlette_wtf"}:
        return
    if not view.has("form") or _CHECKED.search(joined_words(node.body)):
        return
    made = {
        part.targets[0].id
        for part in walk(node)
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and isinstance(part.value, ast.Call)
        and _is_form(view, view.names.called(part.value))
    }
    for part in walk(node) if made else ():
        if isinstance(part, ast.Attribute) and part.attr == "data" and _holder(part.value) in made:
            yield NodeMatch(
                part, f"{ast.unparse(part)[:60]} is what was sent, and the form was never asked about it"
            )
            return


def _is_form(view: View, name: str) -> bool:
    definition = view.names.definition(name)
    bases = view.names.bases(definition) if isinstance(definition, ast.ClassDef) else ()
    return any(one.endswith("Form") for one in (name, *bases))


def _holder(node: ast.expr) -> str:
    inner = node.value if isinstance(node, ast.Attribute) else node
    return inner.id if isinstance(inner, ast.Name) else ""


_AMOUNT = lazy(
    r"amount|price|total|bid|balance|rate|sum|cost|fee|discount|weight|value|percent|score", re.IGNORECASE
)
_FINITE = lazy(r"isfinite|isnan|isinf|is_finite|is_nan|Decimal|finite")


def _no_number(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    function, kept = view.function_of(node), view.parent(node)
    if function is None or not node.args or not _is_asked(view, function, node.args[0]):
        return
    target = kept.targets[0] if isinstance(kept, ast.Assign) else None
    if (
        not isinstance(target, ast.Name)
        or not _AMOUNT.search(target.id)
        or _FINITE.search(joined_words(function.body))
    ):
        return
    compared = any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        and any(
            isinstance(side, ast.Name) and side.id == target.id for side in (part.left, *part.comparators)
        )
        for part in walk(function)
    )
    if compared:
        yield NodeMatch(node, f"{target.id} may be NaN, which is neither more nor less than anything")


def _is_asked(view: View, function: FunctionNode, node: ast.expr) -> bool:
    """Return whether a value is part of a request, or was read from one."""
    if not view.is_route(function.body[0]):
        return False
    for part in walk(node):
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and is_from_request(view, part):
            return True
    return False


_DIVIDES = (ast.Div, ast.FloorDiv)


def _placed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find unchecked numbers of the request as an index or a divisor: `PAGES[number]`, `total / count`."""
    assert isinstance(node, FUNCTIONS)
    # A `try` anywhere is taken to catch what a bad number raises.
    if not view.is_route(node.body[0]) or any(isinstance(part, ast.Try) for part in walk(node)):
        return
    numbers = {target.id for target, value in _assigned(node) if _is_sent_number(view, value)}
    numbers |= {
        item.arg
        for item in _without_default(node)
        if isinstance(item.annotation, ast.Name) and item.annotation.id in ("int", "float")
    }
    bodies = _bodies(view, node)
    tests = (part.test for part in walk(node) if isinstance(part, ast.If | ast.IfExp | ast.While))
    looked_at = joined_words(tests).split()
    for part in walk(node):
        if (reason := _without_look(view, part, numbers, bodies, looked_at)) is not None:
            yield NodeMatch(part, f"{reason}, and nothing looks at it first")
            return


def _assigned(function: FunctionNode) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Yield the names that a function assigns to, with their values; `a, b = 1, 2` is two."""
    for part in walk(function):
        if not isinstance(part, ast.Assign):
            continue
        target, value = part.targets[0], part.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        yield from ((name, given) for name, given in pairs if isinstance(name, ast.Name))


def _without_default(function: FunctionNode) -> list[ast.arg]:
    """Return the parameters that a request has to name; a default may say what is allowed."""
    listed = [*function.args.posonlyargs, *function.args.args]
    return listed[: len(listed) - len(function.args.defaults)]


def _is_sent_number(view: View, node: ast.expr) -> bool:
    """Return whether a value is `int(request.args["n"])` or the like."""
    return (
        isinstance(node, ast.Call)
        and view.names.called(node) in ("int", "float")
        and bool(node.args)
        and is_from_request(view, node.args[0])
    )


def _without_look(
    view: View, part: ast.AST, numbers: AbstractSet[str], bodies: AbstractSet[str], looked_at: Sequence[str]
) -> str | None:
    """Return why an expression may fail on a number of the request; None if it does not use one."""
    if isinstance(part, ast.Subscript):
        of_list = isinstance(part.ctx, ast.Load) and _is_list(view, part.value)
        if of_list and isinstance(part.slice, ast.Name) and part.slice.id in numbers - set(looked_at):
            return f"{part.slice.id} is what the request says"
        return None
    if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.Div | ast.FloorDiv | ast.Mod):
        return None
    divisor, divides = part.right, isinstance(part.op, _DIVIDES)
    if isinstance(divisor, ast.Name) and divisor.id not in looked_at:
        if divides and _is_sent(view, divisor):
            return f"{divisor.id} is nothing where the request says so"
        # `"%s" % count` formats; only with `/` is a constant on the left certainly a number.
        is_number = isinstance(part.op, ast.Div) or not isinstance(part.left, ast.Constant)
        if divisor.id in numbers and is_number:
            return f"{divisor.id} is what the request says"
    if divides and (of_none := _length_sent(view, divisor)) is not None and of_none not in looked_at:
        return f"{of_none} is empty where the request says so"
    if divides and _is_sent_number(view, divisor):
        return "the divisor is what the request says"
    of_body = isinstance(divisor, ast.Attribute) and _holder(divisor) in bodies
    if of_body and isinstance(divisor, ast.Attribute) and divisor.attr not in looked_at:
        return f"{ast.unparse(divisor)} is what the request says"
    return None


def _length_sent(view: View, node: ast.expr) -> str | None:
    """Return the name of a list of the request whose length an expression is."""
    if not isinstance(node, ast.Call) or view.names.called(node) != "len" or len(node.args) != 1:
        return None
    held = node.args[0]
    return held.id if isinstance(held, ast.Name) and is_from_request(view, held) else None


def _is_sent(view: View, node: ast.expr, depth: int = 0) -> bool:
    """Return whether a number is the difference of two values of the request."""
    for value in view.names.values_of(node) if depth < _DEEPEST else ():
        differs = depth > 0 or any(
            isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) for part in walk(value)
        )
        if differs and is_from_request(view, value):
            return True
        parts = [part for part in walk(value) if isinstance(part, ast.Name)] if differs else []
        if any(_is_sent(view, part, depth + 1) for part in parts):
            return True
    return False


_DEEPEST = 4


def _is_list(view: View, node: ast.expr) -> bool:
    values = view.names.values_of(node)
    return bool(values) and all(isinstance(value, ast.List | ast.Tuple) for value in values)


def _bodies(view: View, function: FunctionNode) -> set[str]:
    """Return the parameters of a view that are body models with numbers that may be zero."""
    found: set[str] = set()
    for argument in function.args.args:
        definition = (
            view.names.definition(view.names.resolve(argument.annotation)) if argument.annotation else None
        )
        if isinstance(definition, ast.ClassDef) and any(
            base.endswith("BaseModel") for base in view.names.bases(definition)
        ):
            bounded = any(
                "gt=" in ast.unparse(item) or "Positive" in ast.unparse(item) for item in definition.body
            )
            if not bounded:
                found.add(argument.arg)
    return found


def _grouped(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `re.match(pattern, request.args["v"]).group(1)` without a check of the match."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    made = node.func.value
    if not isinstance(made, ast.Call) or not view.is_route(node) or not made.args:
        return
    if view.names.called(made).rpartition(".")[2] in ("match", "search", "fullmatch"):
        at: ast.AST | None = node
        while at is not None and not isinstance(at, FUNCTIONS):
            at = view.parent(at)
            if isinstance(at, ast.Try):
                return
        if any(is_from_request(view, argument) for argument in made.args):
            yield NodeMatch(node, "where the request does not match there is no group")


_FINDS = frozenset({"first", "one_or_none", "find_one", "scalar_one_or_none"})


def _found_or_not(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `user = query.first()` of a request, and `user.email` where nothing asks whether there is one."""
    assert isinstance(node, ast.Call)
    kept, function = view.parent(node), view.function_of(node)
    kept = view.parent(kept) if isinstance(kept, ast.Await) else kept
    target = kept.targets[0] if isinstance(kept, ast.Assign) else None
    if not isinstance(target, ast.Name) or function is None or not view.is_route(node):
        return
    held, parts = target.id, list(walk(function))
    if not _reads_request(view, node) or any(isinstance(part, ast.Try) for part in parts):
        return
    tests = [part.test for part in parts if isinstance(part, ast.If | ast.IfExp | ast.While | ast.Assert)]
    tests += [part for part in parts if isinstance(part, ast.BoolOp | ast.Compare)]
    if any(isinstance(item, ast.Name) and item.id == held for test in tests for item in walk(test)):
        return
    for part in parts:
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == held:
            yield NodeMatch(part, f"where nothing is found {held} is None")
            return


def _reads_request(view: View, node: ast.Call) -> bool:
    return any(
        isinstance(part, ast.Subscript | ast.Call | ast.Name)
        and part is not node
        and is_from_request(view, part)
        for part in walk(node)
    )


_OF_LINKS = lazy(r"reset|forgot|recover|confirm|invit|verif|activat|magic|token", re.IGNORECASE)
_HOSTS = lazy(
    r"\brequest\.(?:host|host_url|url_root|base_url|get_host\(\)|url\.(?:netloc|hostname)|META(?:\[|\.get\()['\"]HTTP_(?:X_FORWARDED_)?HOST)"
    r"|\brequest\.headers(?:\[|\.get\()['\"](?:Host|X-Forwarded-Host)",
    re.IGNORECASE,
)


def _by_host(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find links built from the Host header: `f"https://{request.host}/reset/{token}"` in a view that sends it."""
    assert isinstance(node, ast.JoinedStr | ast.BinOp)
    if not view.has("request") or not view.has("host"):
        return
    function = view.function_of(node)
    if function is None or isinstance(view.parent(node), ast.BinOp):
        return
    written = ast.unparse(node)[:500]
    if isinstance(node, ast.JoinedStr):  # `host = request.META["HTTP_HOST"]` as a separate statement
        held = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        written += " ".join(
            ast.unparse(value)[:200]
            for part in held
            if isinstance(part, ast.Name)
            for value in view.names.values_of(part)
        )
    if not _HOSTS.search(written) or not _OF_LINKS.search(f"{function.name} {written}"):
        return
    if re.search(r"\b(?:send\w*|mail\w*|deliver|notify|enqueue|delay)\b", joined_words(function.body)):
        yield NodeMatch(node, "the host of the link is what the request says it is")


_NARROW = word_set(
    "ctypes.c_uint8 ctypes.c_int8 ctypes.c_uint16 ctypes.c_int16 ctypes.c_short ctypes.c_ushort ctypes.c_byte "
    "ctypes.c_ubyte numpy.int8 numpy.uint8 numpy.int16 numpy.uint16 numpy.int32 numpy.uint32 ctypes.c_int ctypes.c_uint"
)

_MONEY = lazy(
    r"octets|traffic|cents|amount|price|balance|income|salary|invoice|payment|settle", re.IGNORECASE
)
_ASKS_SIZE = lazy(r"iinfo|can_cast|errstate|overflow|clip")


def _money_cut(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find amounts in 32 bits, which overflow at 21 million in cents: `amounts.sum(dtype=np.int32)`."""
    assert isinstance(node, ast.Attribute)
    if node.attr not in _NARROW_TYPES or view.names.resolve(node) not in _NARROW:
        return
    function = view.function_of(node)
    if function is None or not _MONEY.search(f"{function.name} {joined_words([function])}"):
        return
    if not _ASKS_SIZE.search(joined_words([function])):
        yield NodeMatch(node, f"an amount of more than {node.attr} holds comes out wrong, without an error")


_NARROW_TYPES = frozenset({"int32", "uint32", "int16", "uint16", "int8", "uint8"})


CHECKS = (
    Check(_RULES["form-not-checked"], nodes=FUNCTIONS, look=_unchecked),
    Check(_RULES["no-number"], calls=word_set("float"), look=_no_number),
    Check(_RULES["place-by-input"], nodes=FUNCTIONS, look=_placed),
    Check(
        _RULES["match-not-looked-at"],
        methods=word_set("group groups groupdict") | _FINDS,
        look=lambda view, node, name: (
            _found_or_not(view, node, name)
            if isinstance(node, ast.Call) and unqualified_name(node.func) in _FINDS
            else _grouped(view, node, name)
        ),
    ),
    Check(
        _RULES["number-cut"],
        sinks=(Sink("narrow", Use.SIZE, names=_NARROW),),
        grades=(Severity.MEDIUM, None, None),
        nodes=(ast.Attribute,),
        look=_money_cut,
    ),
    Check(_RULES["link-by-host"], nodes=(ast.JoinedStr, ast.BinOp), look=_by_host),
)
