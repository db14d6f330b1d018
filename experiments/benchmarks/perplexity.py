"""What the character model finds that nothing else of the defense does: text that no person wrote.

    python -m experiments.benchmarks.perplexity WHEELS --trusted flask requests --honest attrs httpx rich

The model learns from the trusted packages. Functions of the honest ones are judged as they are, and with what an
attacker or a tool would add: nonsense that draws a retriever or a model, an encoded payload, names without a meaning,
the words of a question many times over. Printed is how many of each kind are outliers.
"""

from __future__ import annotations

import argparse
import base64
import builtins
import keyword
import random
import re
import string
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from codeguard.analysis.perplexity import PerplexityModel
from codeguard.corpus.chunking import chunk_file
from experiments.figures import record

MOST = 300  # functions of a package
LEAST = 80  # characters of a function
_KEPT = {*keyword.kwlist, *dir(builtins), "self"}
Change = Callable[[str, random.Random], str]


def python_files(wheels: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of the Python files of a package's wheel."""
    found = sorted(wheels.glob(f"{name}-*.whl"))
    if not found:
        raise SystemExit(
            f"error: no wheel of {name}, got {wheels}, expected {name}-VERSION-….whl; download it there"
        )
    with zipfile.ZipFile(found[0]) as archive:
        for item in sorted(archive.namelist()):
            if item.endswith(".py"):
                yield item, archive.read(item).decode("utf-8", "replace")


def functions(wheels: Path, name: str) -> list[str]:
    """Return up to `MOST` functions of a package, drawn with a seed."""
    chunks = (
        chunk for path, text in python_files(wheels, name) for chunk in chunk_file(path, text.encode()).chunks
    )
    found = [item.text for item in chunks if item.kind in ("function", "method") and len(item.text) >= LEAST]
    return random.Random(1).sample(found, min(MOST, len(found)))


def _line(text: str, line: str) -> str:
    return f"{text.rstrip()}\n    {line}\n"


def _words(draw: random.Random) -> str:
    return " ".join("".join(draw.choices(string.ascii_lowercase, k=draw.randint(3, 9))) for _ in range(20))


def _renamed(text: str, draw: random.Random) -> str:
    names: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        return names.setdefault(
            found[0], found[0] if found[0] in _KEPT else "O" + "".join(draw.choices("O0Il1", k=11))
        )

    return re.sub(r"\b[A-Za-z_]\w*", other, text)


CHANGES: dict[str, Change] = {
    "random characters": lambda text, draw: _line(
        text, "# " + "".join(draw.choices(string.printable[:94], k=120))
    ),
    "random words": lambda text, draw: _line(text, f"# {_words(draw)}"),
    "payload in base64": lambda text, draw: _line(
        text, f'data = "{base64.b64encode(draw.randbytes(300)).decode()}"'
    ),
    "payload in hex": lambda text, draw: _line(text, f'data = "{draw.randbytes(200).hex()}"'),
    "meaningless names": _renamed,
    "its own words repeated": lambda text, draw: _line(text, f"# {' '.join(text.split()[:8] * 12)}"),
}


def main() -> None:
    """Print the counts; with --record also write them to the figures of the documentation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--trusted", nargs="+", required=True)
    parser.add_argument("--honest", nargs="+", required=True)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    model = PerplexityModel.train(
        [text for name in options.trusted for _, text in python_files(options.wheels, name) if text.strip()]
    )
    honest = [text for name in options.honest for text in functions(options.wheels, name)]

    def outliers(texts: Sequence[str]) -> list[int]:
        return [sum(score.outlier for score in model.scores(texts)), len(texts)]

    figures = {"honest": outliers(honest)}
    for name, change in CHANGES.items():
        draw = random.Random(2)
        figures[name.replace(" ", "_")] = outliers([change(text, draw) for text in honest])
    for name, (found, count) in figures.items():
        print(f"{name.replace('_', ' '):24} {found} of {count}")
    if options.record:
        record("perplexity", {**figures})


if __name__ == "__main__":
    main()
