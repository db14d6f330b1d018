"""Put untrusted text into a message: escaped, in quotes, cut."""

from __future__ import annotations

from codeguard.escaping import escaped

__all__ = ["escaped", "shown"]


def shown(text: str, longest: int = 200) -> str:
    """Return the text escaped, in quotes, cut after `longest` characters."""
    return f"'{escaped(text if len(text) <= longest else text[:longest] + '…')}'"
