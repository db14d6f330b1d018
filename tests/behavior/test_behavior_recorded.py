"""What a team's own tests call a function with is where a changed copy is held to it."""

from __future__ import annotations

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Verdict
from codeguard.sandbox import Sandbox
from tests.behavior.conftest import SEED

SPOKEN = '''
def spoken(count, plural=None):
    """Say how many seconds there are, in the words of a person who is told."""
    if count < 0:
        return "none"
    word = "second" if count == 1 else plural or "seconds"
    text = str(count) if count > 9 else "a few"
    return " ".join([text, word])
'''
CASE = '  [[spec.case]]\n  args = [{}]\n  expected = "{}"\n'


def judged(sandbox: Sandbox, code: str, shown: dict[int, str]) -> tuple[Verdict, bool]:
    """Check a copy of the function whose calls were recorded."""
    return judged_beside(
        sandbox, SPOKEN, "spoken", code, "".join(CASE.format(*pair) for pair in shown.items())
    )


def judged_beside(sandbox: Sandbox, own: str, name: str, code: str, cases: str) -> tuple[Verdict, bool]:
    """Check a copy of a trusted function with recorded calls."""
    learned = f'[[spec]]\nname = "{name}"\npath = "src/shop.py"\n{cases}'
    files = {"src/shop.py": own, "codeguard.learned.toml": learned}
    trusted = [chunk_file(path, text.encode()) for path, text in files.items()]
    file = chunk_file("unknown.py", code.encode())
    (chunk,) = [item for item in file.chunks if item.symbol == name]
    library = SpecLibrary.load(shipped=False).with_trusted(trusted)
    report = BehaviorChecker(library, sandbox, seed=SEED).check(chunk, file)
    return report.verdict, report.refuted
