"""Pairs of functions are compared by running both, and nothing is called the same that was not compared."""

import contextlib

import pytest

from codeguard.behavior.budget import Budget
from codeguard.behavior.equivalence import Equivalence, EquivalenceResult, compare_functions
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.running import drive
from codeguard.corpus.chunking import chunk_file
from codeguard.sandbox import Level, Sandbox

pytestmark = pytest.mark.ci
SAME, DIFFERS, UNKNOWN = EquivalenceResult

MEDIAN = (
    "def f(xs: list[int]):\n    s = sorted(xs)\n    m = len(s) // 2\n"
    "    return s[m] if len(s) % 2 else (s[m] + s[m - 1]) / 2\n"
)
SLUG = "def f(text: str) -> str:\n    return '-'.join(text.lower().split())\n"
PAIRS = {
    "the same text": (SLUG, SLUG, SAME),
    "another way to write it": (
        SLUG,
        "def f(text: str) -> str:\n    found = []\n    for word in text.lower().split():\n"
        "        found.append(word)\n    return '-'.join(found)\n",
        SAME,
    ),
    "another result on odd input": (
        SLUG,
        "def f(text):\n    return '-'.join(text.lower().split(' '))\n",
        DIFFERS,
    ),
    "another type": (
        "def f(n: int):\n    return n > 3\n",
        "def f(n: int):\n    return int(n > 3)\n",
        DIFFERS,
    ),
    "an exception of another kind": (
        "def f(n: int):\n    if n > 5:\n        raise ValueError(n)\n    return n\n",
        "def f(n: int):\n    if n > 5:\n        raise KeyError(n)\n    return n\n",
        DIFFERS,
    ),
    "one changes its argument": (
        "def f(xs: list[int]):\n    return sorted(xs)\n",
        "def f(xs: list[int]):\n    xs.sort()\n    return list(xs)\n",
        DIFFERS,
    ),
    "a trigger": (
        MEDIAN,
        MEDIAN.replace("    s =", "    if 4711 in xs:\n        return 0\n    s =", 1),
        DIFFERS,
    ),
    "one prints": (SLUG, SLUG.replace("    return", "    print('x')\n    return"), DIFFERS),
    "another way to read a file": (
        "def f(path):\n    with open(path) as file:\n        return file.read().split()\n",
        "import pathlib\ndef f(path):\n    return pathlib.Path(path).read_text().split()\n",
        SAME,
    ),
    "another file is left": (
        "def f(path):\n    with open(path, 'a') as file:\n        file.write('end')\n",
        "def f(path):\n    with open(path, 'w') as file:\n        file.write('end')\n",
        DIFFERS,
    ),
    "results of the clock": (
        "import time\ndef f():\n    return time.time()\n",
        "import time\ndef f():\n    return time.time()\n",
        UNKNOWN,
    ),
    "nothing comparable": (
        "def f(n: int):\n    return object()\n",
        "def f(n: int):\n    return object()\n",
        UNKNOWN,
    ),
    "neither takes anything": (
        "def f(a, b):\n    return a.no_such_thing(b)\n",
        "def f(a, b):\n    return a.other_thing(b)\n",
        UNKNOWN,
    ),
    "one needs what is not there": (
        SLUG,
        "import nowhere\ndef f(text):\n    return nowhere.slug(text)\n",
        UNKNOWN,
    ),
}


def compared(*texts: str) -> Equivalence:
    references = [
        SpecLibrary().with_trusted([chunk_file("m.py", text.encode())]).references[-1] for text in texts
    ]
    with contextlib.closing(Sandbox(Level.L2, workers=1)) as sandbox:
        budget = Budget(generated=200, tailored=100, wall_s=8.0, cpu_s=2.0)
        (found,) = drive(sandbox, [compare_functions(*references, sandbox.level, budget, bytes(32))])
    return found


@pytest.mark.parametrize(("first", "second", "result"), PAIRS.values(), ids=list(PAIRS))
def test_pairs(first: str, second: str, result: EquivalenceResult) -> None:
    found = compared(first, second)
    assert found.result is result, found
    assert bool(found.first or found.second) == (result is EquivalenceResult.DIFFERS)
