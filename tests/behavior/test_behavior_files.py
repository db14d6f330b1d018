"""Functions that read and write files are run with files in memory; what they leave is part of the result."""

from __future__ import annotations

import pytest

from codeguard.models import Verdict
from tests.behavior.conftest import Check

CONVICTED = (Verdict.FAIL, Verdict.DIVERGES)
# name: (trusted, the same in other words, the same with a fault)
FUNCTIONS = {
    "reads JSON": (
        '''
        import json
        def load_settings(path):
            """Return the settings that a JSON file holds."""
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        ''',
        '''
        import json
        from pathlib import Path
        def load_settings(path):
            """Return the settings that a JSON file holds."""
            return json.loads(Path(path).read_text("utf-8"))
        ''',
        '''
        import json
        def load_settings(path):
            """Return the settings that a JSON file holds."""
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            return {**found, "debug": True} if "debug" in found else found
        ''',
    ),
    "writes what it is given": (
        '''
        def save_text(path, text):
            """Write a text to a file."""
            with open(path, "w") as file:
                file.write(text)
        ''',
        '''
        import os
        def save_text(path, text):
            """Write a text to a file."""
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            with os.fdopen(descriptor, "w") as file:
                print(text, end="", file=file)
        ''',
        '''
        def save_text(path, text):
            """Write a text to a file."""
            with open(path, "a") as file:
                file.write(text)
        ''',
    ),
    "lists a folder": (
        '''
        import os
        def file_sizes(folder):
            """Map the names of a folder's files to their sizes."""
            return {
                name: os.path.getsize(os.path.join(folder, name))
                for name in os.listdir(folder)
                if os.path.isfile(os.path.join(folder, name))
            }
        ''',
        '''
        import os
        def file_sizes(folder):
            """Map the names of a folder's files to their sizes."""
            with os.scandir(folder) as entries:
                return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
        ''',
        '''
        import os
        def file_sizes(folder):
            """Map the names of a folder's files to their sizes."""
            with os.scandir(folder) as entries:
                return {entry.name: entry.stat().st_size for entry in entries if not entry.name.startswith("d")}
        ''',
    ),
    "copies": (
        '''
        import shutil
        def backup(source, target):
            """Copy a file."""
            shutil.copyfile(source, target)
        ''',
        '''
        def backup(source, target):
            """Copy a file."""
            with open(source, "rb") as read, open(target, "wb") as write:
                write.write(read.read())
        ''',
        '''
        import os
        def backup(source, target):
            """Copy a file."""
            os.replace(source, target)
        ''',
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_does_to_files_is_compared(name: str, check: Check) -> None:
    trusted, same, wrong = FUNCTIONS[name]
    assert check(same, trusted).verdict is Verdict.PASS
    report = check(wrong, trusted)
    assert report.verdict in CONVICTED, report


def test_one_more_file_than_the_trusted_function_leaves_is_a_difference(check: Check) -> None:
    trusted = FUNCTIONS["writes what it is given"][0]
    more = trusted.replace("file.write(text)", 'file.write(text)\n            open("left", "w").write("x")')
    assert more != trusted
    report = check(more, trusted)
    assert report.verdict is Verdict.DIVERGES
    assert "'left': b'x'" in report.counterexample, report


def test_example_s_own_file_is_there(check: Check) -> None:
    trusted = '''
    def longest(path):
        """Return the longest line of a file.

        >>> with open("three.txt", "w") as file:
        ...     _ = file.write("a\\\\nlonger\\\\nbb\\\\n")
        >>> longest("three.txt")
        'longer'
        """
        with open(path) as file:
            return max(file.read().splitlines(), key=len)
    '''
    assert check(trusted.replace("key=len", "key=lambda line: len(line)"), trusted).verdict is Verdict.PASS
    assert check(trusted.replace("max(", "min("), trusted).verdict in CONVICTED


def test_absent_file_is_no_refusal_of_the_sandbox(check: Check) -> None:
    trusted = '''
    import os
    def read_or(path: str, otherwise: str) -> str:
        """Return what a file holds, or another text where there is none."""
        if not os.path.exists(path):
            return otherwise
        with open(path) as file:
            return file.read()
    '''
    wrong = trusted.replace("return otherwise", "return otherwise.upper()")
    report = check(wrong, trusted)
    assert report.verdict in CONVICTED
    assert "refuse" not in report.reason
