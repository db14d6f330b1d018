"""What discovery left out: findings where that hides something from a reviewer, a count where not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from codeguard.auditing.inspecting import own_finding
from codeguard.auditing.rules import DISCOVERY
from codeguard.chunking import languages
from codeguard.findings import Finding
from codeguard.models import Skipped

# The reasons are discovery's own words; a test holds that each of them is told apart here.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("encoding", re.compile(r"declares the encoding")),
    ("name", re.compile(r"its name (?:holds|is not)")),
    ("link", re.compile(r"link that leads out of the folder")),
)
_UNSEEN = re.compile(r"too large|binary|cannot be read")


def unseen_findings(skipped: Iterable[Skipped]) -> list[Finding]:
    """Return a finding for each file whose absence from the corpus may hide something."""
    extensions = {extension for language in languages() for extension in language.extensions}
    found = []
    for item in skipped:
        rule = next((name for name, pattern in _RULES if pattern.search(item.reason)), None)
        suffix = "." + item.path.rpartition("/")[2].rpartition(".")[2].lower()
        if rule is None and suffix in extensions and _UNSEEN.match(item.reason):
            rule = "unseen"
        if rule is not None:
            found.append(own_finding(f"{DISCOVERY}.{rule}", item.path, item.reason))
    return found
