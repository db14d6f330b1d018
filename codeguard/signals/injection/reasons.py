"""Say in a line what in a text reads like an instruction."""

from __future__ import annotations

from codeguard.signals.injection.features import sequence, tokens_of

_EXCERPT = 120

_PHRASES = (
    (("addressee",), "addresses an assistant"),
    (("you", "machine"), "addresses a tool"),
    (("override", "instruction"), "overrides its instructions"),
    (("override", "prior"), "overrides what came before"),
    (("disable", "safety"), "tells it to drop a check"),
    (("leak", "sensitive"), "tells it to give away secrets"),
    (("never", "tell", "person"), "tells it to keep silent"),
    (("secrecy",), "asks for secrecy"),
    (("recommend", "artifact"), "tells it what to recommend"),
    (("always", "insert"), "tells it what to write"),
    (("when", "person"), "waits for a request"),
    (("authority",), "claims authority"),
    (("role",), "gives it another role"),
)
_MOST = 3


def reason(text: str, masks: tuple[str, ...]) -> str:
    """Return what the text does and an excerpt; `masks` tell how it was hidden."""
    named = {concept for place in sequence(tokens_of(text)) for concept in place}
    phrases = [phrase for concepts, phrase in _PHRASES if named.issuperset(concepts)][:_MOST]
    what = ", ".join(phrases) or "reads like an order to a model"
    hidden = f"hidden by {', '.join(dict.fromkeys(masks))}, " if masks else ""
    excerpt = " ".join(text.split())
    if len(excerpt) > _EXCERPT:
        excerpt = f"{excerpt[:_EXCERPT]}…"
    return f"{hidden}{what}: “{excerpt}”"
