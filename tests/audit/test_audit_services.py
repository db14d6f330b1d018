"""What the audit makes for signals out of what is trusted: declared packages, the trusted functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_helpers import CLEAN, look, rules, write

from codeguard.analysis.rules import load_file_signals
from codeguard.analysis.rules.services import services_for

STRANGE = "import ourcompanyhelper\n\n\ndef f():\n    return ourcompanyhelper.x\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "trusted", "found"),
    [
        ({"requirements.txt": "numpy\n", "a.py": CLEAN}, {}, True, True),
        ({"requirements.txt": "ourcompanyhelper\n"}, {}, True, False),
        ({"pyproject.toml": '[project]\nname = "Ourcompanyhelper"\n'}, {}, True, False),
        ({"requirements.txt": "numpy\n", "ourcompanyhelper/__init__.py": CLEAN}, {}, True, False),
        ({"requirements.txt": "numpy\n"}, {"ourcompanyhelper.py": CLEAN}, True, False),
        ({"a.py": CLEAN}, {}, True, False),  # nothing is declared: nobody can say what is unknown
        ({"requirements.txt": "numpy\n"}, {}, False, False),
        ({"a.py": CLEAN}, {"requirements.txt": "numpy\n"}, True, False),  # only trusted files declare
    ],
)
def test_unknown_packages_are_told_from_declared_ones(
    project: Path, ours: dict[str, str], theirs: dict[str, str], trusted: bool, found: bool
) -> None:
    write(project / "ours", ours)
    write(project / "theirs", {"x.py": STRANGE, **theirs})
    trust = (Path("ours"),) if trusted else ()
    findings = look("theirs", only=("imports",), trust=trust).findings
    assert rules(findings) == (["imports.unknown-package"] if found else [])


def test_what_a_trusted_twin_cannot_do_is_told_without_near_copies(project: Path) -> None:
    own = "def load(path):\n    with open(path) as file:\n        return file.read()\n"
    sends = "        socket.create_connection(('127.0.0.1', 9))\n        return"
    other = "import socket\n\n\n" + own.replace("        return", sends)
    write(project, {"ours/a.py": own, "theirs/x.py": other})
    findings = look("theirs", only=("capabilities.beyond-twin",), trust=(Path("ours"),)).findings
    assert rules(findings) == ["capabilities.beyond-twin"]


@pytest.mark.parametrize(
    ("name", "services"), [("capabilities", {"trusted_functions"}), ("imports", set()), ("deceptive", set())]
)
def test_services_are_made_for_signals_that_use_them(name: str, services: set[str]) -> None:
    chosen = [signal for signal in load_file_signals() if signal.name == name]
    made = services_for(chosen, lambda: [])
    assert {item for item in ("trusted", "trusted_functions", "packages") if made.meet([item])} == services
