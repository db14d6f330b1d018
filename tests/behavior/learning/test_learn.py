"""`codeguard learn` as a team meets it: real test runs, and what is written of them."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from in_process import codeguard
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard

pytestmark = pytest.mark.ci

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL3nR6"
CODE = '''\
"""Money and what is done with it."""

import asyncio
from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    EURO = "EUR"
    CROWN = "SEK"


@dataclass(frozen=True)
class Money:
    cents: int
    unit: Unit = Unit.EURO

    def plus(self, other):
        if self.unit is not other.unit:
            raise ValueError("two units")
        return Money(self.cents + other.cents, self.unit)


class Basket:
    def __init__(self, owner, items=()):
        self.owner = owner
        self.items = list(items)

    def add(self, name, cents):
        self.items.append((name, cents))

    def total(self):
        return sum(cents for _, cents in self.items)

    @property
    def first(self):
        return self.items[0][0]

    @first.setter
    def first(self, name):
        self.items[0] = (name, self.items[0][1])


def discount(cents, percent):
    if percent < 0:
        raise ValueError("negative")
    return cents - cents * percent // 100


def login(password):
    return len(password)


def greet(text):
    return "Hello " + text


def by(items, key):
    return sorted(items, key=key)


def countdown(start):
    while start:
        yield start
        start -= 1


async def fetch(count):
    await asyncio.sleep(0)
    return count * 2


def empty_only(items):
    if items:
        raise KeyError(len(items))
'''
TESTS = f'''\
import asyncio
import pytest
from shop.money import Basket, Money, Unit, by, countdown, discount, empty_only, fetch, greet, login


@pytest.mark.parametrize("cents, percent, left", [(1000, 10, 900), (999, 33, 670), (0, 50, 0), (7, 0, 7)])
def test_discount(cents, percent, left):
    assert discount(cents, percent) == left


def test_negative():
    with pytest.raises(ValueError):
        discount(5, -1)


def test_money():
    assert Money(3).plus(Money(4)) == Money(7)
    with pytest.raises(ValueError):
        Money(3).plus(Money(4, Unit.CROWN))


def test_basket():
    basket = Basket("anna", [("tea", 300), ("cup", 500)])
    assert basket.total() == 800
    basket.add("pot", 700)  # what follows is of an object that its constructor does not make
    assert basket.total() == 1500
    assert basket.first == "tea"
    basket.first = "can"
    assert basket.first == "can"


def test_private():
    assert login("correct horse") == 13
    assert greet("{TOKEN}").startswith("Hello")
    assert greet("anna@example.org").endswith("org")
    assert greet("Anna") == "Hello Anna"


def test_order():
    assert by(["b", "a"], str) == ["a", "b"]


def test_generator():
    assert list(countdown(3)) == [3, 2, 1]
    assert list(countdown(0)) == []


def test_coroutine_and_nothing():
    assert asyncio.run(fetch(4)) == 8
    assert empty_only([]) is None
    with pytest.raises(KeyError):
        empty_only([1, 2])
'''


def write_project(base: Path) -> Path:
    for name, text in {
        "src/shop/__init__.py": "",
        "src/shop/money.py": CODE,
        "tests/test_money.py": TESTS,
    }.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return base


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path)


def learn(cwd: Path, *pytest_words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *pytest_words, "tests")
    return codeguard(
        "learn",
        "--trust",
        "src",
        *options,
        "--",
        *command,
        cwd=cwd,
        PYTHONPATH="src",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )


def specs(cwd: Path) -> dict[str, list[dict[str, object]]]:
    document = tomllib.loads((cwd / "src/codeguard.learned.toml").read_text())
    return {spec["name"]: spec["case"] for spec in document["spec"]}


def learn_project(base: Path) -> None:
    done = learn(write_project(base))
    assert done.returncode == 0, done.stderr
    assert "runs unconfined" in done.stderr


@pytest.fixture
def learned(once: Callable[[Callable[[Path], object]], Path]) -> Path:
    return once(learn_project)


def test_calls_are_written_as_the_calls_that_they_were(learned: Path) -> None:
    found = specs(learned)
    assert {"call": "(999, 33)", "expected_literal": "670"} in found["discount"]
    assert {"call": "(5, -1)", "raises": "ValueError"} in found["discount"]
    plus = [case["expression"] for case in found["Money.plus"]]
    assert "Money(3, Unit.EURO).plus(Money(4, Unit.CROWN))" in plus
    basket = "Basket('anna', [('tea', 300), ('cup', 500)])"
    assert found["Basket.total"] == [{"expression": f"{basket}.total()", "expected_literal": "800"}]
    assert found["Basket.first"] == [{"expression": f"{basket}.first", "expected_literal": "'tea'"}]
    assert {"call": "(3,)"} in found["countdown"], found["countdown"]
    assert found["by"][0]["expression"] == "by(['b', 'a'], str)"
    assert found["fetch"] == [{"call": "(4,)", "expected_literal": "8"}]
    assert {"call": "([],)", "expected_literal": "None"} in found["empty_only"]
    assert {"call": "([1, 2],)", "raises": "KeyError"} in found["empty_only"]


def test_nothing_private_is_in_any_file(learned: Path) -> None:
    texts = {path: path.read_bytes() for path in learned.rglob("*") if path.is_file()}
    assert sum(TOKEN.encode() in text for text in texts.values()) == sum(
        "test_money" in path.name for path in texts
    )
    written = (learned / "src/codeguard.learned.toml").read_text()
    assert "correct horse" not in written
    assert "example.org" not in written
    assert "'Hello Anna'" in written


@pytest.mark.slow
def test_a_second_run_only_adds(learned: Path) -> None:
    before = specs(learned)
    (learned / "tests/test_money.py").write_text(
        "from shop.money import discount\n\ndef test():\n    discount(80, 25)\n"
    )
    done = learn(learned, options=("--format", "json"))
    assert json.loads(done.stdout.splitlines()[-1])["learned"][0]["new_calls"] == 1
    after = specs(learned)
    assert all(case in after[name] for name, cases in before.items() for case in cases)
    assert {"call": "(80, 25)", "expected_literal": "60"} in after["discount"]


@pytest.mark.slow
def test_the_command_ends_as_it_does_without(project: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "import shop.money as m, sys; m.discount(1, 2); print('out'); sys.exit(7)",
    ]
    words = [sys.executable, "-P", "-m", "codeguard", "learn", "--trust", "src", "--", *command]
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert not (project / "src/codeguard.learned.toml").exists()
    done = codeguard(
        "learn", "--trust", "src", "--accept-failures", "--", *command, cwd=project, PYTHONPATH="src"
    )
    assert done.returncode == 7
    assert specs(project)["discount"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugin", "words"), [("xdist", ("-n", "2")), ("pytest_cov", ("--cov=shop", "--cov-report="))]
)
def test_works_beside(project: Path, plugin: str, words: tuple[str, ...]) -> None:
    pytest.importorskip(plugin)
    done = learn(project, "-p", f"{plugin}.plugin", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"call": "(999, 33)", "expected_literal": "670"} in specs(project)["discount"]


def test_what_was_learned_refutes_a_changed_method(learned: Path) -> None:
    trusted = ("--against", "src/shop/money.py", "--against", "src/codeguard.learned.toml")
    theirs = learned / "theirs.py"
    theirs.write_text(CODE)
    assert codeguard("check", "theirs.py", *trusted, cwd=learned, PYTHONPATH="src").returncode == 0
    theirs.write_text(CODE.replace("for _, cents in self.items)", "for _, cents in self.items[1:])"))
    done = codeguard("check", "theirs.py::Basket.total", *trusted, cwd=learned, PYTHONPATH="src")
    assert done.returncode == 1
    assert "false claim" in done.stdout, done.stdout
    assert ": expected " in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[[spec]]\nname = 'f'\n[[spec.case]]\ncall = '(1,)'\nexpected_literal = '1'\n",
            "relative to this folder",
        ),
        ("[[spec]]\nname = 'f'\npath = '../f.py'\n[[spec.case]]\ncall = '(1,)'\n", "relative to this folder"),
        ("not toml", "cannot read the spec file"),
    ],
)
def test_a_malformed_file_is_told_in_one_line(project: Path, text: str, said: str) -> None:
    (project / "src/codeguard.learned.toml").write_text(text)
    done = learn(project)
    assert done.returncode == 2
    assert said in done.stderr
    assert "runs unconfined" not in done.stderr  # the tests were not run for nothing
    assert (project / "src/codeguard.learned.toml").read_text() == text


def test_an_index_does_not_list_the_learned_file_as_one_of_an_unknown_language(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/money.py").write_text("def half(n):\n    return n / 2\n")
    (tmp_path / "src/other.toml").write_text("a = 1\n")
    learned = (
        "[[spec]]\nname = 'half'\npath = 'money.py'\n[[spec.case]]\ncall = '(4,)'\nexpected_literal = '2.0'\n"
    )
    (tmp_path / "src/codeguard.learned.toml").write_text(learned)
    with CodeGuard.open(
        settings=lexical_settings(tmp_path, tmp_path / "state"), trust=[tmp_path / "src"]
    ) as guard:
        notes = guard.index([tmp_path / "src"]).notes
    assert [note.partition(":")[0] for note in notes] == ["src/other.toml"]
