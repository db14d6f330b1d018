"""What the audit makes for signals out of what is trusted: the trusted functions."""

from __future__ import annotations

from pathlib import Path

from audit_helpers import look, rules, write

STRANGE = "import ourcompanyhelper\n\n\ndef f():\n    return ourcompanyhelper.x\n"


def test_what_a_trusted_twin_cannot_do_is_told_without_near_copies(project: Path) -> None:
    own = "def load(path):\n    with open(path) as file:\n        return file.read()\n"
    sends = "        socket.create_connection(('127.0.0.1', 9))\n        return"
    other = "import socket\n\n\n" + own.replace("        return", sends)
    write(project, {"ours/a.py": own, "theirs/x.py": other})
    findings = look("theirs", only=("capabilities.beyond-twin",), trust=(Path("ours"),)).findings
    assert rules(findings) == ["capabilities.beyond-twin"]
