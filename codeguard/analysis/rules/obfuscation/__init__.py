"""Code that hides what it does."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.python.imports import SCRIPTS
from codeguard.analysis.python.test_files import is_in_test
from codeguard.analysis.rules.base import LESS_SURE, DetectorContext, Match, Rule, rules_of
from codeguard.analysis.rules.obfuscation.texts import (
    encoded_code,
    is_blob,
    is_plain,
    reads_like_code,
    spelled,
)
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import DECODING, RUNNING_CODE, RUNNING_COMMANDS
from codeguard.models import Severity

SOUP = lazy(r"_{0,3}(?=[lIO01_]*[lI1][lIO01_]*[lIO01])[lIO01_]{6,}\Z|_0x[0-9a-fA-F]{3,}\Z|[O0]{5,}\Z")
LEAST_SOUP = 3
MAX_SHOWN = 60
MOST_PARTS = 2_000  # nodes per expression
_TOO_MANY = f"an expression of more than {MOST_PARTS:,} parts was not looked through for hidden names"
_SCRIPT_PACKED = lazy(
    r"\beval\s{0,3}\(\s{0,3}function\s{0,3}\(\s{0,3}p\s{0,3},\s{0,3}a\s{0,3},\s{0,3}c\b"
    r"|\bString\.fromCharCode\s{0,3}\((?:\s{0,3}(?:0x)?[0-9a-fA-F]{1,6}\s{0,3},){12}"
    r"|\beval\s{0,3}\(\s{0,3}(?:unescape|decodeURIComponent|String\.fromCharCode|\w{1,40}\.split\s{0,3}\([^)\n]{0,20}\)\.reverse)"
)
_BUILDING = frozenset({"chr", "reversed", "bytes", "bytearray"}) | DECODING
_DANGEROUS = RUNNING_CODE | RUNNING_COMMANDS
_SPEAKING_OF_CODE = lazy(r"exec|eval|compile|code|python|func|type", re.IGNORECASE)
_SPEAKING = lazy(
    r"run|call|open|system|exec|shell|spawn|cmd|command|process|output|start|launch|status", re.IGNORECASE
)
_CODE_WORDS = lazy(
    r"\b(?:exec|eval|compile|__import__|system|popen|subprocess|socket|environ|builtins|os|requests|urllib)\b"
)


class ObfuscationSignal:
    """Examines the values of strings, the spelling of names, and the position of code.

    Nothing is run: constants are folded by codeguard's own operations. Encoded data that is neither
    run nor turned into code is informational.
    """

    name: ClassVar[str] = "obfuscation"
    intent: ClassVar[bool] = True
    summary: ClassVar[str] = "code that hides what it does"
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = tuple(rules_of(__file__).values())

    def inspect(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        """Yield obfuscated code, in the order of the rules."""
        apart = reading.unread.apart
        yield from apart("escaped-text", _spelled, reading)
        if reading.tree is not None:
            yield from apart("the rules for Python", _python, reading)
        elif reading.language in SCRIPTS:
            yield from apart("the rules for scripts", _script, reading)


def _in_string(reading: Reading, offset: int) -> bool:
    """Return whether an offset is in a comment or string; segments are sorted and do not overlap."""
    known = reading.shared.get("obfuscation")
    if not isinstance(known, tuple):
        quoted = [
            item
            for item in reading.segments
            if item.kind is not SegmentKind.IDENTIFIER and item.kind is not SegmentKind.PROSE
        ]
        known = reading.shared["obfuscation"] = ([item.start for item in quoted], quoted)
    starts, segments = known
    at = bisect_right(starts, offset) - 1
    return at >= 0 and offset < segments[at].end


def _spelled(reading: Reading) -> Iterator[Match]:
    if reading.language not in SCRIPTS and reading.language != "python":
        return
    for start, end, word in spelled(reading.text):
        severity = None if reads_like_code(word) or _CODE_WORDS.search(word) else Severity.LOW
        yield Match("escaped-text", start, end, f"escapes that spell {word[:MAX_SHOWN]!r}", severity)


def _python(reading: Reading) -> Iterator[Match]:
    soup: dict[str, ast.AST] = {}
    runs = False
    blobs: list[ast.Constant] = []
    decoded: list[tuple[int, int]] = []  # where a text is decoded or run, which says more than the text alone
    encoded: list[Match] = []
    for node in reading.nodes:
        kind = type(node)
        if kind is ast.Call:
            found = list(reading.unread.apart("the rules about calls", _call, reading, node))  # type: ignore[arg-type]
            runs = runs or any(item.rule == "runs-built-text" for item in found) or _runs(reading, node)  # type: ignore[arg-type]
            yield from found
            decoded += ((item.start, item.end) for item in found)
        elif kind is ast.Constant:
            value = node.value  # type: ignore[attr-defined]
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            if isinstance(text, str) and len(text) >= 200 and is_blob(text):
                blobs.append(node)  # type: ignore[arg-type]
            hidden = encoded_code(text) if isinstance(text, str) else ""
            if hidden:
                match = Match("hidden-text", *reading.place(node), f"comes to {hidden[:MAX_SHOWN]!r}")
                encoded.append(_unsure_in_test(reading, match))
        elif kind is ast.Assign or kind is ast.ImportFrom:
            yield from _disguised(reading, node)  # type: ignore[arg-type]
        elif kind is ast.Name and node.id[0] in "lIO_" and SOUP.match(node.id):  # type: ignore[attr-defined]
            soup.setdefault(node.id, node)  # type: ignore[attr-defined]
    for item in encoded:
        if not any(start <= item.start and item.end <= end for start, end in decoded):
            yield item
    for blob in blobs:
        start, end = reading.place(blob)
        reason = f"{end - start} characters of encoded data" + (
            " in a file that runs built text" if runs else ""
        )
        yield Match("encoded-blob", start, end, reason, Severity.MEDIUM if runs else None)
    yield from _soup(reading, soup)


def _disguised(reading: Reading, node: ast.Assign | ast.ImportFrom) -> Iterator[Match]:
    """Yield dangerous functions that get a harmless name, under which other files can import them."""
    if isinstance(node, ast.ImportFrom):
        named = [(f"{node.module}.{alias.name}", alias.asname or "") for alias in node.names]
    elif isinstance(node.value, ast.Name | ast.Attribute) and reading.names.function_of(node) is None:
        targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
        named = [(reading.names.resolve(node.value), target) for target in targets]
    else:
        return
    for function, name in named:
        speaking = _SPEAKING_OF_CODE if function in RUNNING_CODE else _SPEAKING
        if name and function in _DANGEROUS and not speaking.search(name):
            start, end = reading.place(node)
            yield Match("disguised-name", start, end, f"{name} stands for {function}")


def _imported_text(reading: Reading, node: ast.Call) -> str:
    """Return the name of what another file holds, if `exec` or `eval` gets nothing but such."""
    names = reading.names
    given = [part for part in walk(node.args[0]) if isinstance(part, ast.Name)]
    for part in tuple(given):
        if values := names.values_of(part):
            given.remove(part)
            given += (inner for value in values for inner in walk(value) if isinstance(inner, ast.Name))
    given = [part for part in given if names.is_imported(part) or not hasattr(builtins, part.id)]
    if not all(map(names.is_imported, given)):
        return ""
    origins = (name for part in given for name in names.names_of(part))
    return next((name for name in origins if name.partition(".")[0] not in sys.stdlib_module_names), "")


def _runs(reading: Reading, node: ast.Call) -> bool:
    """Return whether a call runs a text that is not a literal argument."""
    if isinstance(node.func, ast.Name | ast.Attribute | ast.Call | ast.Subscript) and node.args:
        name = reading.names.called(node)
        return name in ("exec", "eval") and not isinstance(node.args[0], ast.Constant) and _decodes(reading)
    return False


def _unsure_in_test(reading: Reading, match: Match) -> Match:
    """Return a match as less sure in a test function and in what only those use.

    Tests run what the package has generated, and compare what a server sends with a text that nothing decodes.
    """
    if not is_in_test(reading, match.start):
        return match
    return replace(match, measurements={**match.measurements, LESS_SURE: True})


def _decodes(reading: Reading) -> bool:
    return (
        re.search(r"b64decode|b85decode|a85decode|fromhex|unhexlify|decompress|marshal", reading.text)
        is not None
    )


def _call(reading: Reading, node: ast.Call) -> Iterator[Match]:
    name = reading.names.called(node)
    if _is_concealed(reading, node):
        start, end = reading.place(node)
        named = reading.names.text(node.args[-1] if len(node.args) == 1 else node.args[1])
        yield Match("concealed-name", start, end, f"puts the name {named!r} together")
    if not name:
        return
    if name in _DANGEROUS:
        yield from _hidden_call(reading, node, name)
        if node.args and name in RUNNING_CODE and _is_built(reading, node.args[0]):
            text = reading.names.text(node.args[0])
            if text is not None:
                start, end = reading.place(node)
                yield Match(
                    "runs-built-text", start, end, f"{name} gets {text[:MAX_SHOWN]!r}, put together here"
                )
        if node.args and name in ("exec", "eval") and (origin := _imported_text(reading, node)):
            start, end = reading.place(node)
            first = node.args[0]
            # Tests of a repr evaluate it.
            shown = isinstance(first, ast.Call) and reading.names.called(first) == "repr"
            reason = f"{name} gets what {origin} of another file holds"
            yield _unsure_in_test(
                reading,
                Match("runs-imported-text", start, end, reason, Severity.LOW if shown else None),
            )
    elif name in DECODING or name.endswith(".join"):
        around = reading.parents.get(node)
        if isinstance(around, ast.Attribute | ast.Call) and reading.names.called(_outer(around)) in DECODING:
            return
        text = reading.names.text(node)
        if text is None or len(text) < 6 or not is_plain(text):
            return
        if (name in DECODING or _is_built(reading, node)) and (reads_like_code(text) or _is_name(text)):
            start, end = reading.place(node)
            yield Match("hidden-text", start, end, f"comes to {text[:MAX_SHOWN]!r}")


def _outer(node: ast.AST) -> ast.Call:
    return node if isinstance(node, ast.Call) else ast.Call(ast.Constant(""), [], [])


def _is_name(text: str) -> bool:
    return len(text) <= 40 and _CODE_WORDS.search(text) is not None


def _hidden_call(reading: Reading, node: ast.Call, name: str) -> Iterator[Match]:
    """Yield calls of dangerous functions whose names are composed."""
    built = any(_names_by_text(part, reading) for part in _called_through(reading, node.func))
    if built:
        start, end = reading.place(node)
        yield Match("hidden-call", start, end, f"calls {name} by a name that is put together")


def _walk(
    reading: Reading, root: ast.AST, parts: Callable[[ast.AST], Iterable[ast.AST]]
) -> Iterator[ast.AST]:
    """Yield an expression and the nodes reached by `parts`, each once; a truncated walk is recorded."""
    waiting = [root]
    seen: set[ast.AST] = set()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        if len(seen) >= MOST_PARTS:
            reading.unread.note(_TOO_MANY, getattr(root, "lineno", 0))
            return
        seen.add(at)
        yield at
        waiting += parts(at)


def _called_through(reading: Reading, node: ast.expr) -> Iterator[ast.AST]:
    """Yield the called expression, the object that it is taken from, and the values of its name."""

    def parts(at: ast.AST) -> Iterable[ast.AST]:
        if isinstance(at, ast.Attribute | ast.Subscript):
            return (at.value,)
        if isinstance(at, ast.Name):
            return reading.names.values_of(at)
        return at.args[:1] if isinstance(at, ast.Call) else ()

    return _walk(reading, node, parts)


def _names_by_text(node: ast.AST, reading: Reading) -> bool:
    """Return whether a `getattr`, an import or a subscript uses a composed name."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, ast.Constant) and isinstance(
            reading.names.constant(node.slice), str
        )
    if not isinstance(node, ast.Call):
        return False
    function = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if function not in ("getattr", "__import__", "import_module", "get", "__getattribute__"):
        return False
    given = node.args[-1] if node.args else None
    if function == "getattr" and len(node.args) > 1:
        given = node.args[1]
    return (
        given is not None
        and not isinstance(given, ast.Constant | ast.Name | ast.Attribute)
        and reading.names.text(given) is not None
    )


def _is_concealed(reading: Reading, node: ast.Call) -> bool:
    """Return whether a call takes an attribute or a module by a name whose pieces all stand in the call."""
    by = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
    place = {"getattr": 1, "__import__": 0, "import_module": 0}.get(by, len(node.args))
    if len(node.args) <= place:
        return False
    given = node.args[place]
    pieces = [part for part in _walk(reading, given, ast.iter_child_nodes) if isinstance(part, ast.Name)]
    if isinstance(given, ast.Constant) or any(part.id not in _BUILDING | {"map", "str"} for part in pieces):
        return False
    return reading.names.text(given) is not None


def _is_built(reading: Reading, node: ast.expr) -> bool:
    """Return whether a text is made from character codes, encoded data or reversed text."""

    def parts(at: ast.AST) -> Iterable[ast.AST]:
        values = reading.names.values_of(at) if isinstance(at, ast.Name) else ()
        return (*(values if len(values) == 1 else ()), *ast.iter_child_nodes(at))

    for at in _walk(reading, node, parts):
        if isinstance(at, ast.Call) and reading.names.called(at) in _BUILDING:
            return True
        if isinstance(at, ast.Slice) and at.step is not None and reading.names.constant(at.step) == -1:
            return True
        if isinstance(at, ast.Name) and at.id == "chr":
            return True
    return False


def _soup(reading: Reading, soup: dict[str, ast.AST]) -> Iterator[Match]:
    if len(soup) >= LEAST_SOUP:
        first = min(
            soup.values(), key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        )
        start, end = reading.place(first)
        shown = ", ".join(sorted(soup)[:3])
        yield Match("identifier-soup", start, end, f"{len(soup)} names that cannot be told apart: {shown}")


def _script(reading: Reading) -> Iterator[Match]:
    for found in _SCRIPT_PACKED.finditer(reading.text):
        if not _in_string(reading, found.start()):
            yield Match(
                "runs-built-text", found.start(), found.end(), "runs or spells text from character codes"
            )
            break
    soup: dict[str, tuple[int, int]] = {}
    for segment in reading.segments:
        if segment.kind is SegmentKind.IDENTIFIER and SOUP.match(segment.text):
            soup.setdefault(segment.text, (segment.start, segment.end))
    if len(soup) >= LEAST_SOUP:
        start, end = min(soup.values())
        shown = ", ".join(sorted(soup)[:3])
        yield Match("identifier-soup", start, end, f"{len(soup)} names that cannot be told apart: {shown}")


SIGNAL = ObfuscationSignal()
