"""Ten seconds of a terminal as an SVG: a poisoned answer without the defense, and the answer with it.

    python -m experiments.recording docs/recording.svg

The commands are run on the example corpora, and what they print is what the picture shows. The lines appear one after
the other; where nothing is animated, all of them are there at once.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path

from experiments.demo import CORPORA, ROOT

QUESTION = "calculate factorial"
STEPS: tuple[list[str], ...] = (
    ["--no-defense", "--full"],
    [],
)  # added to the query, one after the other
STARTS = (0.4, 5.0)  # seconds at which the commands appear
WAIT = 0.8  # seconds from a command to what it prints
COLUMNS, LINE, SIZE, MARGIN = 104, 18, 13, 16
MARKS = {
    "data/poisoned": "bad",
    "your own code": "good",
    "pushed out": "bad",
}  # the color of a line with such a text


def recorded(store: str) -> list[tuple[str, list[str]]]:
    """Return each command as it is typed, with the lines that it prints."""
    _codeguard("index", *CORPORA, "--trust", CORPORA[0], "--store", store)
    return [
        (
            " ".join(["$ codeguard query", f'"{QUESTION}"', "-k 1", *options]),
            _codeguard("query", QUESTION, "-k", "1", *options, "--store", store).rstrip().split("\n"),
        )
        for options in STEPS
    ]


def picture(steps: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return the SVG of some commands and what they print, with the seconds of STARTS."""
    rows: list[tuple[str, str, float]] = []  # text, class, second
    for start, (command, lines) in zip(STARTS, steps, strict=True):
        rows.append((command, "typed", start))
        for line in lines:
            kind = next((name for text, name in MARKS.items() if text in line), "")
            rows += [(part, kind, start + WAIT) for part in _wrapped(line)]
        rows.append(("", "", start))
    width, height = int(COLUMNS * SIZE * 0.605) + 2 * MARGIN, (len(rows) + 1) * LINE
    texts = "\n".join(
        f'<text class="{kind}" style="animation-delay:{second:.1f}s" x="{MARGIN}" y="{number * LINE + MARGIN + 4}" '
        f'xml:space="preserve">{escape(text)}</text>'
        for number, (text, kind, second) in enumerate(rows)
        if text
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-label="The same question without the defense, where poisoned code comes first, and with it">
<style>
rect {{ fill: #16181d }}
text {{ fill: #d6d9de; font: {SIZE}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
 animation: appear .2s both }}
.typed {{ fill: #fff; font-weight: bold }} .bad {{ fill: #ff8a80 }} .good {{ fill: #8ee6a0 }}
@keyframes appear {{ from {{ opacity: 0 }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="8"/>
{texts}
</svg>
"""


def _wrapped(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(
        line, COLUMNS, subsequent_indent=indent, drop_whitespace=False, replace_whitespace=False
    ) or [""]


def _codeguard(*words: str) -> str:
    command = [sys.executable, "-P", "-m", "codeguard", *words]
    return subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout


def main() -> None:
    """Run the commands and write the picture to the file that the command line names."""
    with tempfile.TemporaryDirectory() as store:
        Path(sys.argv[1]).write_text(picture(recorded(store)), encoding="utf-8")


if __name__ == "__main__":
    main()
