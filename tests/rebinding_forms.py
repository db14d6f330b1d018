"""Ways in which a module gives an importer something else than the text of its right `factorial`, and honest ones."""

from __future__ import annotations

import tomllib
from pathlib import Path

RIGHT = '''def factorial(n):
    """Return n! for an integer n of at least 0.

    >>> factorial(5)
    120
    >>> factorial(0)
    1
    """
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result
'''
WRONG = "def _wrong(n):\n    return 0\n"
_FORMS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
POSSIBLE = _FORMS["may_rebind"]
REBOUND = _FORMS["rebinds"] | POSSIBLE
HONEST = _FORMS["honest"]


def honest(form: str) -> str:
    """Return the module of an honest form."""
    indented = "".join(f"    {line}\n" if line else "\n" for line in RIGHT.splitlines())
    return form.replace("<right>", RIGHT).replace("<inside>", indented)


def rebound(form: str) -> str:
    """Return the module of a form that rebinds."""
    return f"{RIGHT}\n\n{WRONG}\n\n{form}\n"
