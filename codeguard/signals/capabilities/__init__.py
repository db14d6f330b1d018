"""What code can do, and where that together with what it handles is a threat."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import ClassVar

from codeguard.models import Severity
from codeguard.reading import Reading, SegmentKind
from codeguard.reading.carriage import (
    BLOB,
    DECODED,
    ENVIRONMENT,
    FETCHED,
    FILE,
    SECRET,
    STARTUP_NAME,
    VARIABLE,
    Arrival,
    Carriage,
)
from codeguard.reading.importnames import SCRIPTS
from codeguard.reading.patterns import lazy
from codeguard.reading.twins import TrustedFunctions
from codeguard.signals.base import Context, Rule, Sighting
from codeguard.signals.capabilities.kinds import able, beyond_twins
from codeguard.signals.capabilities.rules import RULES
from codeguard.signals.capabilities.shells import script_places, shell_places
from codeguard.signals.capabilities.threats import threats

_FLOWING = lazy(
    r"__import__|import_module|getattr|exec|eval|compile|system|popen|spawn|subprocess|requests|httpx|urllib|http|socket|smtp|ftp|aiohttp|write"
)


class CapabilitiesSignal:
    """Resolves what is called, follows what is carried there, and compares with the trusted twin.

    The optional service `trusted_functions` (a `TrustedFunctions`) holds what
    the trusted code can do under the same name.
    """

    name: ClassVar[str] = "capabilities"
    summary: ClassVar[str] = "what code can do, and the threats in it"
    needs: ClassVar[frozenset[str]] = frozenset()
    uses: ClassVar[frozenset[str]] = frozenset({"trusted_functions"})
    rules: ClassVar[tuple[Rule, ...]] = RULES

    def inspect(self, reading: Reading, context: Context) -> Iterable[Sighting]:
        """Yield threats, what no trusted twin can do, and every function's capabilities."""
        if reading.language == "bash":
            yield from _without_comments(reading, shell_places(reading.text))
        elif reading.language in SCRIPTS:
            yield from _without_comments(reading, script_places(reading.text))
        elif reading.tree is not None:
            yield from threats(reading)
            if _FLOWING.search(reading.text):
                for arrival in Carriage(reading).arrivals:
                    yield from _carried(reading, arrival)
            abilities = able(reading)
            trusted: TrustedFunctions | None = context.services.get("trusted_functions")
            if trusted:
                yield from beyond_twins(reading, abilities, trusted)
            for ability in abilities:
                yield ability.sighting


def _without_comments(reading: Reading, found: Iterable[tuple[str, str, int, int]]) -> Iterator[Sighting]:
    comments = [item for item in reading.segments if item.kind is SegmentKind.COMMENT]
    starts = [item.start for item in comments]
    for rule, what, start, end in found:
        before = bisect_right(starts, start) - 1
        if before < 0 or start >= comments[before].end:
            yield Sighting(rule, start, end, what)


def _carried(reading: Reading, arrival: Arrival) -> Iterator[Sighting]:
    rule, reason, severity = _judged(arrival)
    if rule:
        start, end = reading.place(arrival.call)
        yield Sighting(rule, start, end, reason, severity)


def _judged(arrival: Arrival) -> tuple[str, str, Severity | None]:
    labels, name = arrival.labels, arrival.name
    if arrival.what == "send":
        if labels & {ENVIRONMENT, SECRET}:
            what = "the whole environment" if ENVIRONMENT in labels else "a file of secrets"
            return "exfiltration", f"{name} sends {what}", Severity.CRITICAL if SECRET in labels else None
        if VARIABLE in labels:
            return "sends-surroundings", f"{name} sends an environment variable", None
        if FILE in labels:
            return "sends-surroundings", f"{name} sends the content of a file", None
    if arrival.what == "code":
        if FETCHED in labels:
            return "download-and-run", f"{name} gets what the network sent", None
        if BLOB in labels:
            return "decoded-exec", f"{name} gets a text that is written encoded", None
        if DECODED in labels and name != "compile":
            return "runs-decoded", f"{name} gets something decoded", None
    if arrival.what == "command":
        if FETCHED in labels:
            return "download-and-run", f"{name} gets what the network sent", Severity.HIGH
        if BLOB in labels:
            return "decoded-exec", f"{name} gets a text that is written encoded", Severity.HIGH
    if arrival.what == "write" and STARTUP_NAME in labels:
        return "persistence", "writes to a file that is run at the next start or login", None
    return "", "", None


SIGNAL = CapabilitiesSignal()
