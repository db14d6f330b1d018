"""Whether prose addresses an assistant, by its front matter, its title or its wording."""

from __future__ import annotations

import re
from pathlib import Path

from codeguard.corpus.patterns import lazy, stored

WORDING = {
    name: lazy("|".join(forms), re.IGNORECASE)
    for name, forms in stored(Path(__file__).with_name("wording.toml")).items()
}
"""The rows of `wording.toml`."""
_HEAD = 400  # characters at the start of a text that identify it


def instructs(text: str) -> bool:
    """Return whether a paragraph addresses an assistant or refers to its user's requests."""
    return WORDING["spoken_to"].search(text) is not None


def is_for_assistants(text: str) -> bool:
    """Return whether a whole text is a skill, a rule or a prompt, by its front matter, title or first words."""
    known = ("front_matter", "title", "greeting")
    return any(WORDING[name].match(text) for name in known) or instructs(text[:_HEAD])


def names_an_assistant(text: str) -> bool:
    """Return whether a text names an assistant, an agent or a model anywhere, or speaks of its user."""
    return WORDING["named"].search(text) is not None
