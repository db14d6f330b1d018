"""Results as text for people and as JSON, SARIF and workflow commands for programs.

What `index`, `ranking` and `audit` return comes in, text goes out, with everything untrusted escaped. Prints nothing.
"""

from __future__ import annotations

import pkgutil

_FORMATS = ("text", "json", "github", "sarif", "summary")


def format_names() -> tuple[str, ...]:
    """Return the names of the formats of an audit: ours, and any other module `audit_NAME` with a `render`."""
    names = {
        item.name.removeprefix("audit_") for item in pkgutil.iter_modules(__path__) if "audit_" in item.name
    }
    return (*_FORMATS, *sorted(names - {*_FORMATS, "formats"}))
