"""Quote untrusted text for a message: escaped, in quotes, truncated."""

from __future__ import annotations

from codeguard.escaping import escaped

__all__ = ["escaped", "shown"]


def shown(text: str, longest: int = 200) -> str:
    """Return the text escaped, in quotes, truncated to `longest` characters."""
    return f"'{escaped(text if len(text) <= longest else text[:longest] + '…')}'"
