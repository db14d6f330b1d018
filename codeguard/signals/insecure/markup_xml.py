"""XML that reads files, grows without end, or is put together from text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.flowsinks import Sink
from codeguard.reading.flowvalues import Use
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View, names

_STANDARD = names(
    "xml.etree.ElementTree.parse xml.etree.ElementTree.fromstring xml.etree.ElementTree.XML "
    "xml.etree.ElementTree.iterparse xml.etree.cElementTree.parse xml.etree.cElementTree.fromstring "
    "xml.dom.minidom.parse xml.dom.minidom.parseString xml.dom.pulldom.parse xml.dom.pulldom.parseString "
    "xml.sax.parse xml.sax.parseString xml.dom.expatbuilder.parse xml.dom.expatbuilder.parseString xmltodict.parse"
)
_LXML = names("lxml.etree.parse lxml.etree.fromstring lxml.etree.XML lxml.etree.iterparse lxml.objectify.parse "
              "lxml.objectify.fromstring")  # fmt: skip


def _parser(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    if name == "xml.sax.handler.feature_external_ges":
        return
    resolves = view.constant(node, "resolve_entities", default=None)
    external = view.constant(node, "no_network", default=True)
    if resolves is True or view.constant(node, "load_dtd", default=False) is True or external is False:
        yield Found(node, "the parser reads what entities and DTDs point to", Severity.HIGH, Confidence.HIGH)
    if view.constant(node, "huge_tree", default=False) is True:
        yield Found(node, "huge_tree=True switches the limits of expansion off", Severity.MEDIUM)


def _feature(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    if len(node.args) < 2 or not view.names.constant(node.args[1]):
        return
    feature = view.names.resolve(node.args[0])
    if feature.endswith(("feature_external_ges", "feature_external_pes")) or "external-general-entities" in (
        view.names.text(node.args[0]) or ""
    ):
        yield Found(node, "the parser reads what external entities point to")


def _external(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    if isinstance(node, ast.Call) and name.endswith("setFeature"):
        yield from _feature(view, node, name)
    elif isinstance(node, ast.Call):
        yield from _parser(view, node, name)


def _built(view: View) -> Iterator[Found]:
    for hit in view.flow.hits:
        if hit.sink.key not in ("xml-built", "xml-sent") or not hit.value.built:
            continue
        origin = view.flow.source(hit.value, Use.XML)
        if origin is not None and origin.tag == "input" and _has_markup(hit.argument, view):
            sent = hit.sink.key == "xml-sent" and _is_element(hit.argument, view)
            severity = Severity.MEDIUM if origin.reach > 1 or sent else Severity.LOW
            yield Found(hit.call, f"{origin.what} is put into the text of the document", severity)


def _is_element(node: ast.expr, view: View) -> bool:
    """Whether a text has an element with its end in it."""
    values = view.names.values_of(node) if isinstance(node, ast.Name) else [node]
    text = " ".join(
        part.value
        for value in values
        for part in ast.walk(value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return "</" in text or "<?xml" in text


def _has_markup(node: ast.expr, view: View) -> bool:
    values = view.names.values_of(node) if isinstance(node, ast.Name) else [node]
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and "<" in part.value
        for value in values
        for part in ast.walk(value)
    )


CHECKS = (
    Check(
        Rule(
            "xml-external-entity",
            "An XML parser reads external entities",
            Severity.HIGH,
            Confidence.HIGH,
            "An entity in the document names a file or address that the parser then reads. Switch "
            "resolve_entities off.",
            bad="from lxml import etree\n\nparser = etree.XMLParser(resolve_entities=True)",
            good="from lxml import etree\n\nparser = etree.XMLParser(resolve_entities=False, no_network=True)",
            cwe=(611,),
        ),
        calls=names("lxml.etree.XMLParser lxml.etree.ETCompatXMLParser"),
        methods=names("setFeature"),
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
        Rule(
            "xml-entity-expansion",
            "XML that others choose is parsed with entities expanded",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "A few nested entities grow to gigabytes. Parse with defusedxml.",
            bad="import xml.etree.ElementTree as ET\nfrom flask import request\n\n@app.route('/x', methods=['POST'])\n"
            "def take():\n    return ET.fromstring(request.data).tag",
            good="import defusedxml.ElementTree as ET\nfrom flask import request\n\n"
            "@app.route('/x', methods=['POST'])\n"
            "def take():\n    return ET.fromstring(request.data).tag",
            cwe=(776, 611),
        ),
        sinks=(Sink("xml", Use.XML, names=_STANDARD),),
        grades=(Severity.HIGH, Severity.LOW, Severity.LOW),
    ),
    Check(
        Rule(
            "xml-injection",
            "XML is put together from a value that others choose",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "A < in the value begins an element of its own. Build the tree with a library, or escape the value.",
            bad='import xml.etree.ElementTree as ET\nfrom flask import request\n\n@app.route("/x")\ndef make():\n'
            '    text = "<user>" + request.args["name"] + "</user>"\n    return ET.fromstring(text)',
            good='import xml.etree.ElementTree as ET\nfrom flask import request\n\n@app.route("/x")\ndef make():\n'
            '    user = ET.Element("user")\n    user.text = request.args["name"]\n    return ET.tostring(user)',
            cwe=(91,),
        ),
        sinks=(
            Sink("xml-built", Use.XML, names=_STANDARD | _LXML, needs_built=True, accepts=lambda *_: True),
            Sink(
                "xml-sent",
                Use.XML,
                names=names(
                    "requests.post requests.put httpx.post httpx.put requests.Session.post urllib.request.Request"
                ),
                arguments=("data", "content"),
                needs_built=True,
            ),
        ),
        grades=(None, None, None),
        look_at_file=_built,
    ),
)
