"""Find calls and formats that fail on every call: arguments exchanged, formats and patterns that cannot be read.

What is looked at is the text of one expression, or of one condition and the error that it raises.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator

from codeguard.behavior.matching.branches import mentions, shown
from codeguard.behavior.source.definitions import dotted_name

_PLAIN_CLASSES = frozenset(
    [
        "str",
        "bytes",
        "bytearray",
        "int",
        "float",
        "complex",
        "bool",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
    ]
)
_HANDLERS = frozenset(
    """
    strict ignore replace xmlcharrefreplace backslashreplace namereplace surrogateescape surrogatepass
    """.split()  # noqa: SIM905 - words read better as words
)
# `__class_`: a special name is written with two underscores on both sides.
_CUT_NAME = re.compile(r"__[a-z][a-z0-9_]*[a-z0-9]_")
_CLASS_NAME = re.compile(r"_?[A-Z]\w*[a-z]\w*")
_VALUE_NAME = re.compile(r"(?!.*(?:cls|class|type|kind|meta|base|tp))[a-z_]{2,}")
_NAMING = re.compile(r"name|attr|key|method|field|prop|member|slot|option", re.IGNORECASE)
_PERCENT = re.compile(r"%(?:\([^)]*\))?[#0\- +]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?[hlL]?[diouxXeEfFgGcrsab%]")
_PATTERNS = frozenset(
    {"compile", "match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn"}
)
MAX_PATTERN = 2_000  # characters


def misuse_of(node: ast.AST) -> str:
    """Return what in one expression or statement fails whenever it is reached, "" if nothing is seen."""
    match node:
        case ast.Call():
            return next(filter(None, _of_call(node)), "")
        case ast.BinOp(ast.Constant(str() as text), ast.Mod()):
            return f"a format that cannot be read: {shown(node)}" if "%" in _PERCENT.sub("", text) else ""
        case ast.BinOp(
            ast.Attribute(ast.Name(module), first), ast.BitAnd(), ast.Attribute(ast.Name(name), other)
        ):
            if module == name and first != other and first.isupper() and other.isupper():
                return f"two flags have no bit in common: {shown(node)}"
        case ast.BinOp(ast.Name(), ast.Sub(), ast.Constant(str())):
            return f"text cannot be taken away: {shown(node)}"
        case ast.Subscript(slice=ast.Constant(str() as text)) | ast.Attribute(attr=text) if isinstance(
            text, str
        ) and _CUT_NAME.fullmatch(text):
            return f"a special name lacks an underscore: {text}"
        case ast.Subscript(slice=ast.Slice(ast.expr() as first, ast.BinOp(left, ast.Sub(), right), None)):
            if _is_positive(right) and ast.dump(first) == ast.dump(left):
                return f"ends before it begins: {shown(node)}"
        case ast.If(test, [ast.Raise() as error, *_]):
            return _other_error(test, error) or _demanded(test, error)
        case ast.If(ast.Compare(key, [ast.In()], [ast.Name(table)]), [ast.Expr(ast.Call(func, [added]))], []):
            match func:
                case ast.Attribute(ast.Name(name), "add" | "append") if name == table:
                    if ast.dump(key) == ast.dump(added):
                        return f"adds only what is there: {shown(node)}"
    return ""


def _is_positive(node: ast.expr) -> bool:
    """Return whether a number that is taken away may be taken for a positive one."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and node.value > 0
    return not isinstance(node, ast.UnaryOp)


def _of_call(node: ast.Call) -> Iterator[str]:
    """Yield what is wrong with a call."""
    name = dotted_name(node.func)
    match node.func, node.args:
        case ast.Name("isinstance"), [ast.Name(first), ast.Name(second)]:
            a_class = first in _PLAIN_CLASSES or _CLASS_NAME.fullmatch(first)
            if a_class and second not in _PLAIN_CLASSES and _VALUE_NAME.fullmatch(second):
                yield f"asks whether a class is of the kind of a value: {shown(node)}"
        case ast.Name("getattr" | "hasattr"), [
            ast.Name("name" | "attr" | "attrname" | "attribute"),
            ast.Name(of),
            *_,
        ]:
            if not _NAMING.search(of):
                yield f"looks for an attribute of a name: {shown(node)}"
        case ast.Attribute(_, "get"), [ast.Constant(None) | ast.Name("default"), ast.Name()]:
            yield f"the key is not the first argument: {shown(node)}"
        case ast.Attribute(_, "replace"), [ast.Constant("" | b""), ast.Constant(str() | bytes())]:
            yield f"replaces nothing with something: {shown(node)}"
        case ast.Attribute(_, "debug" | "info" | "warning" | "error" | "critical" | "exception"), [
            ast.Constant(str() as message),
            ast.expr(),
            *_,
        ]:
            if "%" in _PERCENT.sub("", message):
                yield f"a format that cannot be read: {shown(node)}"
        case ast.Name("int"), [ast.Constant(int()), ast.expr()]:
            yield f"reads a number as text: {shown(node)}"
        case ast.Name("open"), [_, ast.Constant(str() as mode), *_]:
            if not _is_mode(mode):
                yield f"there is no mode {mode!r} to open a file: {shown(node)}"
        case ast.Name("getattr" | "hasattr" | "setattr" | "delattr"), [_, ast.Constant(str() as text), *_]:
            if _CUT_NAME.fullmatch(text):
                yield f"a special name lacks an underscore: {shown(node)}"
        case ast.Attribute(ast.Constant(str() as written), "format"), arguments:
            yield _format(written, node, arguments)
        case ast.Attribute(_, "encode" | "decode"), [_, ast.Constant(str() as handler), *_]:
            yield _handler(handler)
    for keyword in node.keywords:
        if keyword.arg == "errors" and isinstance(keyword.value, ast.Constant):
            yield _handler(str(keyword.value.value))
    module, _, called = name.rpartition(".")
    if module == "re" and called in _PATTERNS and node.args:
        yield _pattern(node)
    match node.args:
        case [ast.Name() | ast.Attribute(), ast.Constant(str() as layout), *_] if module == "struct":
            if layout[:1] in tuple("<>=!@"):
                yield f"the format is not the first argument: {shown(node)}"


def _is_mode(mode: str) -> bool:
    """Return whether a mode of `open` names one way to open a file, in any order of its letters."""
    ways = [letter for letter in mode if letter in "rwax"]
    rest = sorted(letter for letter in mode if letter not in "rwax")
    return (len(ways) == 1 or "U" in rest) and "".join(rest) in (
        "",
        "+",
        "b",
        "+b",
        "t",
        "+t",
        "U",
        "Ub",
        "Ut",
    )


def _format(text: str, node: ast.Call, arguments: list[ast.expr]) -> str:
    """Report a format of `str.format` that cannot be read, or that has more places than values."""
    if any(isinstance(item, ast.Starred) for item in arguments) or any(
        item.arg is None for item in node.keywords
    ):
        return ""
    named = {item.arg for item in node.keywords}
    places = 0
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
    except ValueError:
        return f"a format that cannot be read: {shown(node)}"
    for field in fields:
        first = re.split(r"[.\[]", field, maxsplit=1)[0]
        if not first:
            places += 1
        elif first.isdecimal():
            places = max(places, int(first[:9]) + 1)
        elif first not in named:
            return f"a format with no value for {first}: {shown(node)}"
    return f"a format with {places} places for {len(arguments)} values" if places > len(arguments) else ""


def _handler(name: str) -> str:
    """Report an error handler of encodings that does not exist, and is one that does without its last letter."""
    return f"there is no error handler {name!r}" if any(item[:-1] == name for item in _HANDLERS) else ""


def _pattern(node: ast.Call) -> str:
    """Report a regular expression whose brackets do not match; it is not compiled, because anybody wrote it."""
    verbose = mentions(node, "re") and any(
        isinstance(part, ast.Attribute) and part.attr in ("X", "VERBOSE") for part in ast.walk(node)
    )
    match node.args[0]:
        case ast.Constant(str() | bytes() as pattern) if not verbose and len(pattern) <= MAX_PATTERN:
            text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
            if "(?" not in text or not re.match(r"\(\?[a-zA-Z]*x", text):
                return "" if _is_balanced(text) else f"a pattern that cannot be read: {shown(node)}"
    return ""


def _is_balanced(pattern: str) -> bool:
    """Return whether every group and every set of characters of a regular expression ends, and no more than these."""
    depth = place = 0
    while place < len(pattern):
        char = pattern[place]
        if char == "\\":
            if place + 1 == len(pattern):
                return False
            place += 1
        elif char == "[":
            place += 1
            place += pattern[place : place + 1] == "^"
            place += pattern[place : place + 1] == "]"
            while place < len(pattern) and pattern[place] != "]":
                place += 1 + (pattern[place] == "\\")
            if place >= len(pattern):
                return False
        elif char == "(":
            if pattern.startswith("(?#", place):
                place = pattern.find(")", place)
                if place < 0:
                    return False
            else:
                depth += 1
        elif char == ")":
            depth -= 1
            if depth < 0:
                return False
        place += 1
    return depth == 0


# What a condition asks, and the errors that say the opposite where it holds.
_ASKED = {
    "isdir": frozenset({"NotADirectoryError"}),
    "is_dir": frozenset({"NotADirectoryError"}),
    "S_ISDIR": frozenset({"NotADirectoryError"}),
    "exists": frozenset({"FileNotFoundError"}),
    "isfile": frozenset({"FileNotFoundError"}),
    "is_file": frozenset({"FileNotFoundError"}),
}
_NEGATED = {
    "isdir": frozenset({"IsADirectoryError"}),
    "is_dir": frozenset({"IsADirectoryError"}),
    "S_ISDIR": frozenset({"IsADirectoryError"}),
    "exists": frozenset({"FileExistsError"}),
    "isfile": frozenset({"FileExistsError"}),
    "is_file": frozenset({"FileExistsError"}),
}
_WORDS = {
    "str": r"(?:a )?(?:str|strings?|text)",
    "bytes": r"(?:a )?(?:bytes|byte strings?)",
    "int": r"(?:an )?(?:int|integers?)",
    "list": r"(?:a )?lists?",
    "tuple": r"(?:a )?tuples?",
    "dict": r"(?:a )?(?:dict|dictionary|dictionaries|mapping)",
}


def _other_error(test: ast.expr, error: ast.Raise) -> str:
    """Report an error whose name or message says the opposite of the condition that raises it."""
    holds = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds, test = not holds, test.operand
    if not isinstance(test, ast.Call) or not isinstance(error.exc, ast.Call | ast.Name):
        return ""
    called = dotted_name(test.func).rpartition(".")[2] or getattr(test.func, "attr", "")
    raised = dotted_name(error.exc.func if isinstance(error.exc, ast.Call) else error.exc)
    if raised in (_ASKED if holds else _NEGATED).get(called, ()):
        return f"raises {raised} where the opposite holds: {'' if holds else 'not '}{shown(test)}"
    if holds and called == "isinstance" and len(test.args) == 2 and isinstance(test.args[1], ast.Name):
        wanted = _WORDS.get(test.args[1].id)
        told = " ".join(
            part.value
            for part in ast.walk(error.exc)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
        if wanted and re.search(
            rf"\b(?:must be|should be|has to be|expected|requires) {wanted}\b(?! of)",
            told[:400],
            re.IGNORECASE,
        ):
            return f"demands of a value what it is: {shown(test)}"
    return ""


_RELATIONS: tuple[tuple[re.Pattern[str], type[ast.cmpop]], ...] = (
    (re.compile(r"(?:>=|at least|greater (?:than )?or equal to) ?(-?\d+)"), ast.GtE),
    (re.compile(r"(?:<=|at most|less (?:than )?or equal to) ?(-?\d+)"), ast.LtE),
    (re.compile(r"(?:>|greater than|more than|larger than) ?(-?\d+)"), ast.Gt),
    (re.compile(r"(?:<|less than|smaller than) ?(-?\d+)"), ast.Lt),
    (re.compile(r"(?:non-?negative)()"), ast.GtE),
    (re.compile(r"(?:positive)()"), ast.Gt),
)
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
}


def _demanded(test: ast.expr, error: ast.Raise) -> str:
    """Report an error that demands of a number what it is where the error is raised."""
    holds = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds, test = not holds, test.operand
    match test:
        case ast.Compare(ast.Name(), [operator], [ast.Constant(int() | float() as number)]):
            relation = type(operator) if holds else _OPPOSITE.get(type(operator))
        case _:
            return ""
    told = " ".join(
        part.value
        for part in ast.walk(error)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    begin = re.search(r"\b(?:must|should|has to) be (?:a |an )?", told[:400])
    if begin is None:
        return ""
    for pattern, wanted in _RELATIONS:
        found = pattern.match(told, begin.end())
        if found is not None:
            if wanted is relation and float(found[1] or 0) == number:
                return f"demands of a number what it is: {shown(test)}"
            return ""
    return ""
