"""Every command of a page runs as it is printed, in the order of the page, in a project like its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeguard.models import text_digest

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.name not in ("reference.md", "rules.md")
    ),
]
# What a test cannot run: it needs a registry, a container runtime, hours, or the packages of other projects.
ELSEWHERE = re.compile(r"(pip|pip3|docker|make|tar|openssl|ssh)\b|python3 -I -m venv|/opt/|npm\b")
WAITS = re.compile(r"codeguard (serve|mcp|watch)\b")
TAKES_S = 240
WAITS_S = 20
# A page's words for what a reader has, and what the test puts there.
PLACEHOLDERS = {
    "DIGEST": text_digest("a text that somebody has read"),
    "BATCH": "texts/batch.csv",
    "BASE": "texts/base.csv",
    "CLEAN_PASSAGES": "texts/clean.jsonl",
    "PASSAGES": "texts/passages.jsonl",
    "DOCUMENTS": "texts/passages.jsonl",
    "EXAMPLES": "texts/examples.csv",
    "FILE --collection NAME": "texts/batch.csv --collection notes",
    "--model FILE": "--model texts/filter.json",
    "RULE": "behavior.fail",
}
TOPICS = {
    "weather": "rain cloud storm wind snow fog hail frost thunder drizzle breeze sunshine",
    "kitchen": "oven recipe flour butter sugar pan whisk spoon dough bake fry simmer",
}
MONEY = '''"""Prices in cents."""


def discount(cents: int, percent: int) -> int:
    """Return a price less a discount; ValueError unless 0 <= percent <= 100."""
    if not 0 <= percent <= 100:
        raise ValueError("percent")
    return cents - cents * percent // 100
'''
TEST_MONEY = """from shop.money import discount


def test_discount():
    assert discount(200, 10) == 180
    assert discount(5, 0) == 5
    assert discount(999, 50) == 500
"""
WRONG = MONEY.replace("cents - cents", "cents + cents")


def commands_of(page: Path) -> Iterator[str]:
    """Yield the commands in the plain code blocks of a page, with continued lines joined and without remarks."""
    for block in re.findall(r"^```\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        lines = block.replace("\\\n", " ").splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompted or lines:
            command = re.sub(r"\s{2,}#.*", "", line).strip()
            if re.match(r"(codeguard|git|python3?|pip3?|openssl|docker|make|tar) ", command):
                yield command


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _texts(folder: Path) -> None:
    """Write a labelled base and a batch, and passages about one thing."""
    rows = [
        (f"The {word} of {other} is about {topic} and {word}.", topic)
        for topic, words in TOPICS.items()
        for word in words.split()
        for other in words.split()[:6]
    ]
    table = ["text,label", *(f"{text},{label}" for text, label in rows)]
    _write(folder / "base.csv", "\n".join(table) + "\n")
    _write(folder / "batch.csv", "\n".join([table[0], *table[1:9]]) + "\n")
    examples = [
        f"where is {text.split()[1]},{'where is ' * poisoned}{text},{str(poisoned).lower()}"
        for number, (text, _) in enumerate(rows)
        for poisoned in (number % 2 == 0,)
    ]
    _write(folder / "examples.csv", "\n".join(["query,text,poisoned", *examples]) + "\n")
    passages = [
        f"The city of Lorne lies at river number {number}, and its harbor was built in {1800 + number}. "
        f"Travelers describe {word} and long evenings by the water."
        for number, word in enumerate(" ".join(TOPICS.values()).split())
    ]
    for name in ("clean", "passages"):
        _write(folder / f"{name}.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in passages))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with the team's own code, code from elsewhere, and a branch that changes something."""
    place = tmp_path / "project"
    _write(place / "src" / "shop" / "money.py", MONEY)
    shutil.copy(ROOT / "data/sample_code/math_utils.py", place / "src" / "math_utils.py")
    shutil.copytree(place / "src", place / "ours")
    for folder in ("vendor/snippets", "theirs"):
        _write(place / folder / "prices.py", WRONG)
    for name in ("vendor/dates.py", "theirs.py"):
        _write(place / name, WRONG)
    _write(place / "tests" / "test_money.py", TEST_MONEY)
    for folder, name in (
        ("sample_code", "math_utils.py"),
        ("unknown_source", "clean_alt_math_utils.py"),
        ("poisoned", "tidy_recipes.py"),
    ):
        (place / "data" / folder).mkdir(parents=True)
        shutil.copy(ROOT / "data" / folder / name, place / "data" / folder / name)
    _texts(place / "texts")
    (tmp_path / "policy").mkdir()
    _write(place / ".gitignore", ".codeguard\n__pycache__\n")
    for command in (
        "git init -q -b main",
        "git add .",
        "git -c user.name=t -c user.email=t@example.org commit -qm first",
        "git update-ref refs/remotes/origin/main HEAD",
        "git checkout -q -b change",
    ):
        subprocess.run(command.split(), cwd=place, check=True)
    _write(place / "vendor" / "more.py", "def twice(x):\n    return x * 2\n")
    subprocess.run(["git", "add", "."], cwd=place, check=True)
    return place


def _ran(command: str, place: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a command as a shell does, and answer yes where it asks; one that serves is ended after a while."""
    waits = bool(WAITS.match(command))
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}" if waits else command],
        cwd=place,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            output, _ = process.communicate("y\n", timeout=WAITS_S if waits else TAKES_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            output, _ = process.communicate(timeout=TAKES_S)
            return (0 if waits and "http://127.0.0.1" in output else 124), output
    return process.returncode, output


def _is_expected(command: str, status: int, output: str) -> bool:
    """Return whether a command ended as its page says: findings are a result, and a filter may refuse."""
    if status == 1:
        return re.match(r"codeguard (audit|check|text)", command) is not None
    if status == 2:
        return "--calibrate" in command and "cannot tell these passages from poison" in output
    return status == 0


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(commands_of(page))], ids=lambda page: page.name
)
def test_the_commands_of_a_page_run(page: Path, project: Path) -> None:
    home = project.parent / "home"
    home.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CODEGUARD_"))},
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(project / "src"),
    }
    for printed in commands_of(page):
        if ELSEWHERE.match(printed):
            continue
        command = printed
        for words, value in PLACEHOLDERS.items():
            command = re.sub(rf"(?<!\S){re.escape(words)}(?!\w)", value, command)
        status, output = _ran(command, project, environment)
        assert _is_expected(command, status, output), f"{printed}\n{output}"
        assert "Traceback" not in output, f"{printed}\n{output}"
