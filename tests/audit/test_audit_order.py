"""What an audit finds, and where, does not depend on the order of sets, which Python draws anew in each process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

POISONED = Path(__file__).parents[2] / "data/poisoned"

BETWEEN = '''"""Two readings of one micron, and memory that is filled and run."""
import ctypes

# µs and μs
kernel = ctypes.windll.kernel32
place = kernel.VirtualAlloc(0, 4096, 0x3000, 0x40)
kernel.RtlMoveMemory(place, b"marker", 6)
kernel.CreateThread(0, 0, place, 0, 0, 0)
'''


@pytest.mark.slow
def test_two_processes_find_the_same(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(BETWEEN, encoding="utf-8")

    def audited(seed: str) -> Any:
        command = [sys.executable, "-m", "codeguard", "audit", str(tmp_path), str(POISONED)]
        done = subprocess.run(
            [*command, "--no-behavior", "--all", "--format", "json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return json.loads(done.stdout)["findings"]

    first, *others = map(audited, ("1", "2", "3"))
    assert "capabilities.runs-machine-code" in {finding["rule"] for finding in first}
    assert others == [first, first]
