"""Keys, tokens and passwords in files of any language.

Their ranking weight is 0: trusted code may contain one, and the index withholds the chunk.
`codeguard.corpus.secrets` finds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from codeguard.analysis import Reading, SegmentKind
from codeguard.analysis.python.test_files import is_in_test
from codeguard.analysis.rules.base import (
    IN_TEST,
    LESS_SURE,
    DetectorContext,
    Match,
    rules_of,
    signal_of,
)
from codeguard.corpus import secrets
from codeguard.corpus.patterns import lazy
from codeguard.corpus.secrets import FoundSecret
from codeguard.models import Severity

_RULES = rules_of(__file__)


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    told: set[tuple[str, str]] = set()
    for item in reading.secrets:
        value = (item.rule, reading.text[item.start : item.end])
        example = item.rule in _UNSURE and (_is_described(reading, item) or value in told)
        told.add(value)
        measured = {
            IN_TEST: item.rule in OF_TESTS and is_in_test(reading, item.start),
            LESS_SURE: (item.rule in OF_TESTS and _is_published(reading, item))
            or value[1].startswith(_TEMPORARY)
            or (item.rule == secrets.CLOUD_KEY and _SIGNED.match(reading.text, item.end) is not None),
        }
        yield Match(
            item.rule,
            item.start,
            item.end,
            _REASONS[item.rule],
            Severity.LOW if example else None,
            measurements={name: True for name, holds in measured.items() if holds},
        )


# What nobody has issued as a secret for certain: a test or an example needs some value, and may repeat it.
_UNSURE = (secrets.ASSIGNED_SECRET, secrets.JSON_WEB_TOKEN)
OF_TESTS = (*_UNSURE, secrets.PRIVATE_KEY)  # what tests need and nothing else trusts


_REASONS = {id_: f"{rule.summary[0].lower()}{rule.summary[1:]}" for id_, rule in _RULES.items()}


def _is_described(reading: Reading, item: FoundSecret) -> bool:
    """Return whether a secret is in a docstring, where tokens are examples from a cited standard.

    Signed tokens in documentation are examples as well.
    """
    if item.rule == secrets.JSON_WEB_TOKEN and reading.language in ("markdown", "rst"):
        return True
    return any(
        segment.kind is SegmentKind.DOCSTRING and segment.start <= item.start < segment.end
        for segment in reading.segments
    )


# Begin the names of keys that Amazon gives for at most 36 hours, and tokens that GitHub gives for one.
_TEMPORARY = ("ASIA", "ghs_")
# An address that was signed with a key names it to everybody, with day and region.
_SIGNED = lazy(r"(?:/|%2F)20\d{6}(?:/|%2F)[a-z]{2}-", re.IGNORECASE)
_DOCUMENTATION = frozenset({"markdown", "rst"})


def _is_published(reading: Reading, item: FoundSecret) -> bool:
    """Return whether a secret is in documentation or in a page, whose readers are meant to see it.

    Most are examples. Somebody may show a real one by mistake, so they are reported with a lower
    confidence; tokens that a service has issued are reported as anywhere else.
    """
    if reading.language in _DOCUMENTATION:
        return True
    # Every visitor's browser is given a page.
    page = reading.language == "text" and _MARKUP.search(reading.text) is not None
    return page and item.rule == secrets.ASSIGNED_SECRET


_MARKUP = lazy(r"<!doctype html|<(?:html|head|body|script|style|div)\b", re.IGNORECASE)


SIGNAL = signal_of(__file__, "keys, tokens and passwords in files of any language", _inspect)
