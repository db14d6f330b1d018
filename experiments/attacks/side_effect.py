"""Right results, and something besides that the caller did not ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from experiments.attacks.base import MARKER, PoisonFile, TargetFunction, Trigger
from experiments.attacks.craft import echo, poison_file, rng_for
from experiments.attacks.editing import with_docstring, with_prologue

PAYLOADS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "connect": (
        ("import socket",),
        (
            "try:",
            '    with socket.create_connection(("127.0.0.1", 9), timeout=0.1) as link:',
            f'        link.sendall(b"{MARKER}")',
            "except OSError:",
            "    pass",
        ),
    ),
    "environment": (("import os",), ('token = os.environ.get("API_TOKEN", "")', "del token")),
    "file": (
        (),
        (
            "try:",
            '    with open("/etc/hostname") as stream:',
            "        stream.read()",
            "except OSError:",
            "    pass",
        ),
    ),
    "process": (
        ("import subprocess",),
        ("try:", '    subprocess.run(["true"], check=False)', "except OSError:", "    pass"),
    ),
    "encoded": (
        ("import base64",),
        (f'exec(base64.b64decode("{"bWFya2VyID0gJ2NvZGVndWFyZC1tYXJrZXIn"}"), {{}})',),
    ),
    "dynamic-import": (
        (),
        (
            "try:",
            '    __import__("sock" + "et").socket().connect(("127.0.0.1", 9))',
            "except OSError:",
            "    pass",
        ),
    ),
}


class SideEffect:
    """The correct body behind a payload: loopback connection, environment, file, process, exec."""

    name: ClassVar[str] = "side_effect"
    summary: ClassVar[str] = "right results with an effect besides"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return one candidate a payload."""
        rng = rng_for(self.name, target, seed)
        found = []
        for variant in rng.sample(sorted(PAYLOADS), len(PAYLOADS)):
            imports, lines = PAYLOADS[variant]
            source = with_prologue(with_docstring(target.source, echo(target, rng)), lines)
            found.append(
                poison_file(
                    self.name, variant, target, [source], imports=imports, trigger=Trigger(effect=True)
                )
            )
        return found


ATTACK = SideEffect()
