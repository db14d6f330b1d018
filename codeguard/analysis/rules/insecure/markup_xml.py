"""XML that can read files or grow without limit, and markup that is composed from text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import INPUTS, Check, NodeMatch, View, word_set
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.outside import SAID
from codeguard.flow.sinks import LanguagePattern, Sink
from codeguard.flow.tables import ANSWER
from codeguard.flow.values import Reach, Use
from codeguard.models import Confidence, Severity

_RULES = rules_of(__file__)

_STANDARD = word_set(
    "xml.etree.ElementTree.parse xml.etree.ElementTree.fromstring xml.etree.ElementTree.XML "
    "xml.etree.ElementTree.iterparse xml.etree.cElementTree.parse xml.etree.cElementTree.fromstring "
    "xml.dom.minidom.parse xml.dom.minidom.parseString xml.dom.pulldom.parse xml.dom.pulldom.parseString "
    "xml.sax.parse xml.sax.parseString xml.dom.expatbuilder.parse xml.dom.expatbuilder.parseString xmltodict.parse"
)
_LXML = word_set("lxml.etree.parse lxml.etree.fromstring lxml.etree.XML lxml.etree.iterparse lxml.objectify.parse "
              "lxml.objectify.fromstring")  # fmt: skip


# A text with elements that are not HTML.
_PAGE = (
    r"html|head|body|title|div|span|p|a|b|i|u|s|h[1-6]|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|td|th|img|br|hr|form|input|"
    r"button|label|select|option|textarea|script|style|link|meta|pre|code|strong|em|small|section|article|header|footer|"
    r"nav|main|blockquote|iframe|svg|canvas|video|audio|center|font|tt|big|sup|sub|fieldset|legend|details|summary|aside|"
    r"figure|abbr|kbd|mark|path|g|rect|circle|text|line|polyline|polygon|use|defs|symbol|source|object|embed|base|noscript"
)
_DOCUMENT = LanguagePattern(
    begins=lazy(rf"\s{{0,200}}<(?:\?xml\b|(?!(?:{_PAGE})\b)[A-Za-z_][\w:.]{{0,60}}[\s>])", re.IGNORECASE),
    holds=lazy(
        rf"\s{{0,200}}<(?:\?xml\b|(?!(?:{_PAGE})\b)[A-Za-z_][\w:.]{{0,60}}(?:\s[^<>]{{0,300}})?>)(?=.*</)",
        re.IGNORECASE | re.DOTALL,
    ),
)


def _parser(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if name == "xml.sax.handler.feature_external_ges":
        return
    resolves = view.constant(node, "resolve_entities", default=None)
    external = view.constant(node, "no_network", default=True)
    if resolves is True or view.constant(node, "load_dtd", default=False) is True or external is False:
        yield NodeMatch(
            node, "the parser reads what entities and DTDs point to", Severity.HIGH, Confidence.HIGH
        )
    if view.constant(node, "huge_tree", default=False) is True:
        yield NodeMatch(node, "huge_tree=True switches the limits of expansion off", Severity.MEDIUM)


def _feature(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if len(node.args) < 2 or not view.names.constant(node.args[1]):
        return
    feature = view.names.resolve(node.args[0])
    if feature.endswith(("feature_external_ges", "feature_external_pes")) or "external-general-entities" in (
        view.names.text(node.args[0]) or ""
    ):
        yield NodeMatch(node, "the parser reads what external entities point to")


def _external(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.Call) and name.endswith("setFeature"):
        yield from _feature(view, node, name)
    elif isinstance(node, ast.Call):
        yield from _parser(view, node, name)


def _built(view: View) -> Iterator[NodeMatch]:
    for hit in view.flow.hits:
        if hit.sink.key in ("xml-text", "stylesheet"):
            origin = view.flow.source(hit.value, Use.XML)
            if origin is not None and origin.reach is Reach.REMOTE:
                what = (
                    "is put into the text of a document"
                    if hit.sink.key == "xml-text"
                    else "is run as a stylesheet"
                )
                yield NodeMatch(hit.call, f"{origin.what} {what}")
            continue
        if hit.sink.key not in ("xml-built", "xml-sent") or not hit.value.built:
            continue
        origin = view.flow.source(hit.value, Use.XML)
        if origin is not None and origin.tag in INPUTS and _has_markup(hit.argument, view):
            sent = hit.sink.key == "xml-sent" and _is_element(hit.argument, view)
            severity = Severity.MEDIUM if origin.reach > 1 or sent else Severity.LOW
            yield NodeMatch(hit.call, f"{origin.what} is put into the text of the document", severity)


_ESCAPES = (
    "escape",
    "quoteattr",
    "saxutils",
    "etree",
    "minidom",
    "markupsafe",
    "elementtree",
    "<svg",
    "html",
)
_FREE = lazy(
    r"note|comment|name|text|title|description|message|subject|remark|sku|label|address|city|company|reference"
)


def _written(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find elements with a text of an order or a form: `f"<note>{order['note']}</note>"` in a function for XML."""
    if not view.has("xml") or view.has(*_ESCAPES):
        return
    function = view.function_of(node)
    if view.has("chatmessage", "llm") or (
        not view.has("/xml", "<?xml") and "xml" not in getattr(function, "name", "")
    ):
        return  # a text for a model, or for people
    if isinstance(node, ast.BinOp):
        yield from _joined(view, node)
        return
    assert isinstance(node, ast.JoinedStr)
    first = node.values[0] if node.values else None
    text = view.names.text(first) if isinstance(first, ast.Constant) else None
    if text is None:
        return
    whole = "".join(
        part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    if not _DOCUMENT.begins.match(text) or not ("</" in whole or "/>" in whole):
        return
    for part in node.values:
        if not isinstance(part, ast.FormattedValue) or part.format_spec is not None or part.conversion != -1:
            continue
        key = view.names.text(part.value.slice) if isinstance(part.value, ast.Subscript) else None
        key = part.value.attr if isinstance(part.value, ast.Attribute) else key
        if key is not None and _FREE.search(key.lower()):
            yield NodeMatch(
                node, f'{key} may hold < and ", which end the element or attribute that it stands in'
            )
            return


def _joined(view: View, node: ast.BinOp) -> Iterator[NodeMatch]:
    """Find the same with `+` and `%`."""
    if isinstance(view.parent(node), ast.BinOp):
        return
    parts: list[ast.expr] = []
    if isinstance(node.op, ast.Mod):
        parts = [node.left, *(node.right.elts if isinstance(node.right, ast.Tuple) else [node.right])]
    at: ast.expr = node
    while isinstance(at, ast.BinOp) and isinstance(at.op, ast.Add):
        parts.insert(0, at.right)
        at = at.left
    parts = parts if isinstance(node.op, ast.Mod) else [at, *parts]
    text = view.names.text(parts[0]) if parts else None
    whole = "".join(view.names.text(part) or "" for part in parts)
    if text is None or not _DOCUMENT.begins.match(text) or "</" not in whole:
        return
    for part in parts[1:]:
        key = part.attr if isinstance(part, ast.Attribute) else None
        key = view.names.text(part.slice) if isinstance(part, ast.Subscript) else key
        if key is not None and _FREE.search(key.lower()):
            yield NodeMatch(node, f"{key} may hold <, which ends the element that it stands in")
            return


def _is_element(node: ast.expr, view: View) -> bool:
    """Return whether a text contains an element with its end tag."""
    values = view.names.values_of(node) if isinstance(node, ast.Name) else [node]
    text = " ".join(
        part.value
        for value in values
        for part in walk(value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return "</" in text or "<?xml" in text


def _has_markup(node: ast.expr, view: View) -> bool:
    values = view.names.values_of(node) if isinstance(node, ast.Name) else [node]
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and "<" in part.value
        for value in values
        for part in walk(value)
    )


CHECKS = (
    Check(
        _RULES["xml-external-entity"],
        calls=word_set("lxml.etree.XMLParser lxml.etree.ETCompatXMLParser lxml.etree.iterparse"),
        methods=word_set("setFeature"),
        look=_external,
        sinks=(
            Sink(
                "lxml",
                Use.XML,
                names=_LXML,
                accepts=lambda names, call, name: (
                    len(call.args) < 2
                    and not any(item.arg == "parser" for item in call.keywords)
                    and not any(item.arg == "resolve_entities" for item in call.keywords)
                ),
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
    ),
    Check(
        _RULES["xml-entity-expansion"],
        sinks=(Sink("xml", Use.XML, names=_STANDARD),),
        grades=(Severity.HIGH, Severity.LOW, Severity.LOW),
        tags=frozenset({"input", SAID}),
        also={ANSWER: Severity.MEDIUM},
    ),
)
