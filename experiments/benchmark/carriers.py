"""What is no Python file: pages, notebooks and files for agents, the same for honest code and for poison.

Both sides are written by these functions alone, so that no form tells one from the other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

AGENT_NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "SKILL.md", ".cursorrules", "copilot-instructions.md")


@dataclass(frozen=True, slots=True)
class Carrier:
    """A kind of file and where in it a sentence stands; `name` is the file's own where its kind has a fixed one."""

    kind: str
    place: str
    name: str = ""

    @property
    def suffix(self) -> str:
        """The ending of the file's name."""
        return {"notebook": ".ipynb"}.get(self.kind, ".md")

    def text(self, title: str, summary: str, source: str, sentences: Sequence[str]) -> str:
        """Return the file for a function, with sentences beside it."""
        said = "\n".join(sentences)
        if self.kind == "notebook":
            head = ("markdown", f"# {title}\n\n{summary}")
            if self.place == "code":
                commented = "\n".join(f"# {line}" for line in said.splitlines())
                return notebook([head, ("code", f"{commented}\n{source}")])
            return notebook([("markdown", f"{head[1]}\n\n{said}"), ("code", source)])
        if self.kind == "agent":
            front = (
                f"---\nname: {title[:40]}\ndescription: {summary}\n---\n\n" if self.name == "SKILL.md" else ""
            )
            steps = "\n".join(f"{number}. {line}" for number, line in enumerate(sentences, 1))
            return f"{front}# {title}\n\n{summary}\n\n## How to\n\n{steps}\n"
        shown = {
            "comment": f"<!-- {said} -->",
            "fold": f"<details><summary>Details</summary>\n\n{said}\n\n</details>",
            "image": f'![{said}](diagram.png "{title}")',
        }.get(self.place, said)
        return f"# {title}\n\n{summary}\n\n{shown}\n\n```python\n{source}\n```\n"


def notebook(cells: Sequence[tuple[str, str]]) -> str:
    """Return a notebook (format 4.5) of cells, each of a kind and a text."""
    made = []
    for number, (kind, text) in enumerate(cells):
        cell: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = text.splitlines(keepends=True)
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        made.append(cell)
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
