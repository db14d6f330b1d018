"""What CONTRIBUTING promises: a format, a language, a signal, a rule is one new file.

Each test writes that file (a rule: with its text) into a folder of its own, lets the package look there
as well, and finds the newcomer at work with nothing else touched.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from codeguard import reports
from codeguard.analysis import Reading, rules
from codeguard.analysis.rules import insecure, load_file_signals
from codeguard.analysis.rules.insecure import RuleIndex as Checks
from codeguard.analysis.rules.insecure import load_checks
from codeguard.corpus.chunking import chunk_file, grammars, languages
from codeguard.corpus.chunking.base import Grammar, Role
from codeguard.index.static_evidence import StaticEvidence
from codeguard.models import Severity, Trust
from codeguard.weights import Weights

Add = Callable[[ModuleType, str, str], Path]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Return what adds a file to a package, for the length of a test."""
    before = set(sys.modules)

    def added(package: ModuleType, name: str, text: str) -> Path:
        folder = tmp_path / package.__name__
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        importlib.invalidate_caches()
        return folder / name

    yield added
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return what installs a distribution: its module's text, and its entry points."""

    def install(text: str, points: str) -> None:
        site = tmp_path / "site"
        info = site / "newcomer-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: newcomer\nVersion: 1\n")
        (info / "entry_points.txt").write_text(points)
        (site / f"newcomer_{tmp_path.name}.py").write_text(text)
        monkeypatch.syspath_prepend(str(site))

    return install


def test_a_format_is_one_file(add: Add, tmp_path: Path) -> None:
    add(
        reports,
        "audit_csv.py",
        "def render(view):\n"
        "    return '\\n'.join(f'{item.path},{item.place.start_line},{item.rule}' for item in view.report.findings)\n",
    )
    (tmp_path / "m.py").write_text("x = 1  # codeguard: ignore\n")
    code = (
        "import codeguard.reports; codeguard.reports.__path__.append("
        + repr(str(tmp_path / reports.__name__))
        + ")\n"
        "from codeguard.cli import main; main(['audit', 'm.py', '--no-behavior', '--format', 'csv'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("m.py,1,audit.inline-ignore", 1), done.stderr


def test_a_language_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    # A worker process has the shipped rows alone.
    monkeypatch.setattr("codeguard.corpus.chunking.cutting.in_worker", lambda: True)
    toy = Grammar(
        name="toy",
        extensions=(".toy",),
        wheel="tree-sitter-python",
        roles={"function_definition": Role.FUNCTION},
    )
    monkeypatch.setattr(grammars, "GRAMMARS", (*grammars.GRAMMARS, toy))
    assert "toy" in [item.name for item in languages()]
    file = chunk_file("m.toy", b"x = 1\n\n\ndef f():\n    return 2\n")
    assert (file.language, [chunk.symbol for chunk in file.chunks]) == ("toy", ["", "f"])


def test_a_detector_is_one_file(add: Add) -> None:
    add(
        rules,
        "shouting.py",
        "from codeguard.analysis.rules import FileSignal, Match, Rule\n"
        "from codeguard.models import Confidence, Severity\n"
        "RULES = (Rule('loud', 'all capitals', Severity.MEDIUM, Confidence.LOW),)\n"
        "def inspect(reading, context):\n"
        "    at = reading.text.find('LOUD')\n"
        "    if at >= 0:\n"
        "        yield Match('loud', at, at + 4, 'loud')\n"
        "SIGNAL = FileSignal('shouting', 'sees capitals', RULES, inspect)\n",
    )
    (signal,) = [item for item in load_file_signals() if item.name == "shouting"]
    file = chunk_file("m.py", b"def f():\n    return 'LOUD'\n")
    found = StaticEvidence(Weights(), file_signals=[signal])(file.chunks[0], file, Trust.UNLISTED)
    assert [(item.id, item.penalty) for item in found] == [("loud", Weights().of("", Severity.MEDIUM))]


def test_a_rule_is_rows_in_one_file(add: Add) -> None:
    add(
        insecure,
        "abort_call.toml",
        '[abort-call]\nsummary = "ends the process"\nseverity = "low"\nconfidence = "high"\nfrom = { local = "high" }\n'
        '[[abort-call.match]]\nfind = "os.abort(...)"\nsays = "it ends the process"\n'
        '[[abort-call.flow]]\nuse = "data"\nto = ["os.kill($SINK)"]\n',
    )
    checks = Checks(load_checks(insecure.__path__))
    reading = Reading(chunk_file("m.py", b"import os, sys\n\nos.abort()\nos.kill(sys.argv[1], 9)\n"))
    found = [(item.rule, reading.line_of(item.start)) for item in checks.inspect(reading)]
    assert [place for place in found if place[0] == "abort-call"] == [("abort-call", 3), ("abort-call", 4)]
