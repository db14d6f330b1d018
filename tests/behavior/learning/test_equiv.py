"""`codeguard equiv`: what is said of pairs of functions, and that nothing is called the same that was not compared."""

import json
import subprocess
from pathlib import Path

import pytest
from in_process import codeguard

from codeguard.behavior.verdict.comparison import Comparison, same_value
from codeguard.sandbox import Iteration, Opaque

pytestmark = pytest.mark.ci

MEDIAN = (
    "def f(xs: list[int]):\n    s = sorted(xs)\n    m = len(s) // 2\n"
    "    return s[m] if len(s) % 2 else (s[m] + s[m - 1]) / 2\n"
)
SLUG = "def f(text: str) -> str:\n    return '-'.join(text.lower().split())\n"
PAIRS = {
    "the same text": (SLUG, SLUG, 0),
    "another way to write it": (
        SLUG,
        "def f(text: str) -> str:\n    found = []\n    for word in text.lower().split():\n"
        "        found.append(word)\n    return '-'.join(found)\n",
        0,
    ),
    "another result on odd input": (SLUG, "def f(text):\n    return '-'.join(text.lower().split(' '))\n", 1),
    "another type": ("def f(n: int):\n    return n > 3\n", "def f(n: int):\n    return int(n > 3)\n", 1),
    "an exception of another kind": (
        "def f(n: int):\n    if n > 5:\n        raise ValueError(n)\n    return n\n",
        "def f(n: int):\n    if n > 5:\n        raise KeyError(n)\n    return n\n",
        1,
    ),
    "one changes its argument": (
        "def f(xs: list[int]):\n    return sorted(xs)\n",
        "def f(xs: list[int]):\n    xs.sort()\n    return list(xs)\n",
        1,
    ),
    "a trigger": (MEDIAN, MEDIAN.replace("    s =", "    if 4711 in xs:\n        return 0\n    s =", 1), 1),
    "one prints": (SLUG, SLUG.replace("    return", "    print('x')\n    return"), 1),
    "another way to read a file": (
        "def f(path):\n    with open(path) as file:\n        return file.read().split()\n",
        "import pathlib\ndef f(path):\n    return pathlib.Path(path).read_text().split()\n",
        0,
    ),
    "another file is left": (
        "def f(path):\n    with open(path, 'a') as file:\n        file.write('end')\n",
        "def f(path):\n    with open(path, 'w') as file:\n        file.write('end')\n",
        1,
    ),
    "results of the clock": (
        "import time\ndef f():\n    return time.time()\n",
        "import time\ndef f():\n    return time.time()\n",
        3,
    ),
    "nothing comparable": (
        "def f(n: int):\n    return object()\n",
        "def f(n: int):\n    return object()\n",
        3,
    ),
    "neither takes anything": (
        "def f(a, b):\n    return a.no_such_thing(b)\n",
        "def f(a, b):\n    return a.other_thing(b)\n",
        3,
    ),
    "one needs what is not there": (SLUG, "import nowhere\ndef f(text):\n    return nowhere.slug(text)\n", 3),
}


def equiv(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return codeguard("equiv", "a.py::f", "b.py::f", *options, cwd=folder)


@pytest.mark.parametrize(("first", "second", "code"), PAIRS.values(), ids=list(PAIRS))
def test_pairs(tmp_path: Path, first: str, second: str, code: int) -> None:
    (tmp_path / "a.py").write_text(first)
    (tmp_path / "b.py").write_text(second)
    done = equiv(tmp_path, "--format", "json")
    assert done.returncode == code, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["result"] == {0: "same", 1: "differs", 3: "unknown"}[code]
    assert (found["counterexample"] is not None) == (code == 1)
    assert (found["compared"] >= 5) or code == 3


def test_what_was_not_reached_is_told(tmp_path: Path) -> None:
    hidden = SLUG.replace("    return", "    if len(text) > 10 ** 9:\n        return 'long'\n    return")
    (tmp_path / "a.py").write_text(SLUG)
    (tmp_path / "b.py").write_text(hidden)
    done = equiv(tmp_path)
    assert done.returncode == 0
    assert "not reached in b.py::f: return 'long'" in done.stdout


def test_a_missing_function_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SLUG)
    (tmp_path / "b.py").write_text("def g():\n    pass\n")
    done = equiv(tmp_path)
    assert done.returncode == 3
    assert "b.py has no such function" in done.stderr


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (1, 1, True),
        (1, True, False),
        ((1, 2), [1, 2], False),
        (0.1 + 0.2, 0.3, True),
        (float("nan"), float("nan"), True),
        ({"a": [1]}, {"a": [2]}, False),
        (Opaque("A", (("n", 1),)), Opaque("A", (("n", 1),)), True),
        (Opaque("A"), Opaque("A"), None),
        ([Opaque("A"), 1], [Opaque("A"), 2], False),
        (Iteration("generator", (1,)), Iteration("generator", (1,), exhausted=False), False),
    ],
)
def test_identical(first: object, second: object, same: bool | None) -> None:
    wanted = {True: Comparison.SAME, False: Comparison.DIFFERENT, None: Comparison.UNKNOWN}[same]
    assert same_value(first, second, strict=True) is wanted
