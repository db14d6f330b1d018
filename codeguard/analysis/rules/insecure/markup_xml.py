"""XML that can read files or grow without limit, and markup that is composed from text."""

from __future__ import annotations

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, word_set
from codeguard.flow.outside import SAID
from codeguard.flow.sinks import Sink
from codeguard.flow.tables import ANSWER
from codeguard.flow.values import Use
from codeguard.models import Severity

_RULES = rules_of(__file__)

_STANDARD = word_set(
    "xml.etree.ElementTree.parse xml.etree.ElementTree.fromstring xml.etree.ElementTree.XML "
    "xml.etree.ElementTree.iterparse xml.etree.cElementTree.parse xml.etree.cElementTree.fromstring "
    "xml.dom.minidom.parse xml.dom.minidom.parseString xml.dom.pulldom.parse xml.dom.pulldom.parseString "
    "xml.sax.parse xml.sax.parseString xml.dom.expatbuilder.parse xml.dom.expatbuilder.parseString xmltodict.parse"
)
_LXML = word_set("lxml.etree.parse lxml.etree.fromstring lxml.etree.XML lxml.etree.iterparse lxml.objectify.parse "
              "lxml.objectify.fromstring")  # fmt: skip


CHECKS = (
    Check(
        _RULES["xml-external-entity"],
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
