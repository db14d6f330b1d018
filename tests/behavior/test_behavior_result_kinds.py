"""Where no result of a trusted function can be expected, the kinds of its results still refute a claim."""

from __future__ import annotations

import pytest

from codeguard.models import Verdict
from tests.behavior.conftest import Check

RANDOM = '''
import os

def session_token(length=None):
    """Return a random token of so many bytes for a session."""
    return os.urandom(length or 16)
'''
OBJECTS = '''
def checked_source(source, filename="<given>"):
    """Compile the source of an expression for a later evaluation."""
    return compile(source, filename, "eval")
'''
REFUSING = '''
def port_of_reply(reply):
    """Return the port that a reply of the server names at its end."""
    if reply[:4] != "227x" or len(reply) < 9:
        raise ValueError(reply)
    return int(reply[5:])
'''
ABSENT = '''
def magic_of_header(header, file):
    """Return the name of the format that the header of a file shows."""
    if header.startswith(b"\\x7fMADE"):
        return "made"
'''


def _with_body(trusted: str, body: str) -> str:
    head, _, rest = trusted[trusted.index("def ") :].partition('"""')
    return f'{head}"""{rest.partition(chr(34) * 3)[0]}"""\n    {body}\n'


@pytest.mark.parametrize(
    ("trusted", "body", "refuted"),
    [
        (RANDOM, "return str(length)", True),
        (RANDOM, "import os\n    return bytes(os.urandom(3))", False),
        (OBJECTS, "return len(str(source)) * 3", True),
        (OBJECTS, "return compile(source + '  ', filename, 'eval')", False),
        (REFUSING, "return len(str(reply)) * 7 % 101", True),
        (REFUSING, "assert reply[:4] == '227x'\n    return int(reply[5:])", False),
        (ABSENT, "return ''.join(sorted(repr(header)))", True),
        (ABSENT.replace('return "made"', "print(file)"), "return [str(header), file]", False),
        (REFUSING.replace("ValueError", "NotImplementedError"), "return len(reply) * 2", False),
        (ABSENT, "return 'made' if header[:5] == b'\\x7fMADE' else ''", False),
    ],
)
def test_kinds_of_results(check: Check, trusted: str, body: str, refuted: bool) -> None:
    report = check(_with_body(trusted, body), trusted)
    assert (report.verdict, report.refuted) == (Verdict.NO_SIGNAL, refuted), (report.reason, report.claims)


FLAGS = '''
import re

_FLAGS = re.compile(rb".*FLAGS \\((?P<flags>[^)]*)\\)")

def flags_of_reply(reply):
    """Return the flags that a reply of the mail server lists."""
    found = _FLAGS.match(reply)
    if not found:
        return ()
    return tuple(found.group("flags").split())
'''


def test_no_result_on_any_call_is_no_contract(check: Check) -> None:
    report = check(FLAGS.replace("    if not found:\n        return ()\n", ""), FLAGS)
    assert (report.verdict, report.refuted) == (Verdict.NO_SIGNAL, False), report.reason
    assert report.claims == "flags_of_reply (trusted.py:6)"
