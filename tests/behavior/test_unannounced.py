"""What the calls of a function without a trusted twin did, and whether anything had announced it."""

from __future__ import annotations

import base64

import pytest

from codeguard.behavior.verdict.planted import LEAST_SENT, planted, sent
from codeguard.models import Verdict
from tests.behavior.conftest import SEED, Check
from tests.behavior.test_verdict_rows import RUNNING, VARIABLE

TRUSTED = '''
def spread(numbers):
    """Return the difference of the largest and the smallest number.

    >>> spread([3, 1, 9])
    8
    """
    return max(numbers) - min(numbers)
'''
# What is done: the statements, the imports at the top, and a description that announces it.
DONE = {
    "a connection": (
        "try:\n        urllib.request.urlopen('http://127.0.0.1:9/?' + str(row))\n"
        "    except OSError:\n        row = list(row)",
        "urllib.request",
        "Shift a row and send it to the server.",
    ),
    "a name that is looked up": (
        "try:\n        socket.gethostbyname(str(row) + '.localhost')\n    except OSError:\n        row = list(row)",
        "socket",
        "Shift a row and tell a host by its address.",
    ),
    "a process": ("os.system('true ' + str(row))", "os", "Shift a row and run a command."),
    "a file": ("open('/tmp/.kept', 'a').write(str(row))", "os", "Shift a row and append it to a log."),
    "a key": (
        "try:\n        row = row if open(os.path.expanduser('~/.ssh/id_rsa')).read() else []\n"
        "    except OSError:\n        pass",
        "os",
        "Shift a row by the configuration of the user's home.",
    ),
    "a variable": (
        "os.environ['PYTHONPATH'] = str(row)",
        "os",
        "Shift a row and set an environment variable.",
    ),
    "a secret": ("row = row if os.environ.get('API_TOKEN') else row[:]", "os", "Shift a row, with a token."),
    "another module": ("json.loads = str", "json", "Shift a row and patch the reader."),
    "a function of everybody": ("builtins.sorted = list", "builtins", "Install a hook, and shift a row."),
    "a module in place of another": (
        "sys.modules['hashlib'] = json",
        "json, sys",
        "Register a module, shift a row.",
    ),
}


def function(statements: str, imports: str, description: str) -> str:
    return (
        f'import {imports}\n\n\ndef rotated(row):\n    """{description}"""\n    {statements}\n'
        "    return [*row[1:], *row[:1]]\n"
    )


@pytest.mark.parametrize("what", DONE)
def test_an_effect_counts_unless_it_is_announced(what: str, check: Check) -> None:
    statements, imports, announcing = DONE[what]
    silent = check(function(statements, imports, "Shift a row by one place."), TRUSTED)
    assert (silent.verdict, silent.decided_by) == (Verdict.NO_SIGNAL, "unannounced"), silent
    assert "neither its name nor its description says" in silent.reason
    assert check(function(statements, imports, announcing), TRUSTED).decided_by == ""


@pytest.mark.parametrize(
    "code",
    [
        "import os\nHOME = os.environ.get('API_TOKEN')\n\ndef rotated(row):\n    return [*row[1:], *row[:1]]\n",
        "import time, random\n\ndef rotated(row):\n    time.sleep(1)\n    return random.sample(list(row), len(row))\n",
        "import collections\n\ndef rotated(row):\n    return collections.namedtuple('Row', 'a')(row)\n",
        "def rotated(one):\n    with open(one, 'w') as stream:\n        stream.write('x')\n    return 1\n",
    ],
    ids=["when imported", "clock and chance", "a class that is made", "a file that the caller names"],
)
def test_what_needs_no_announcement(code: str, check: Check) -> None:
    assert check(code, TRUSTED).decided_by == ""


def test_neither_a_file_name_nor_the_text_of_a_body_announces(check: Check) -> None:
    statements, imports, _ = DONE["a process"]
    code = function(f"# runs a command\n    {statements}", imports, "Shift a row.")
    assert check(code, TRUSTED, path="run_commands.py").decided_by == "unannounced"


SENT = {
    "plain": "value",
    "reversed": "value[::-1]",
    "base64 of more": "base64.b64encode(('token=' + value).encode()).decode()",
    "hexadecimal": "value.encode().hex()",
    "a half": "value[20:]",
}


@pytest.mark.parametrize("form", SENT)
def test_a_planted_secret_is_recognised_on_its_way_out(form: str, check: Check) -> None:
    code = RUNNING.format(SENT[form]).replace(
        "    sub", f"    value = os.environ.get('{VARIABLE}', '')\n    sub", 1
    )
    report = check(code, TRUSTED)
    assert report.decided_by == "sends-secret"
    assert not any(
        secret in str(report.to_json()) for world in (0, 1) for secret in planted(SEED, world).secrets
    )


def test_a_key_file_counts(check: Check) -> None:
    path = next(iter(planted(SEED, 0).files))
    code = RUNNING.format(f"open(os.path.expanduser('~/{path}')).read()")
    assert check(code, TRUSTED).decided_by == "sends-secret"


def test_planted_secrets_cannot_be_guessed() -> None:
    seen = [planted(seed, world).secrets for seed in (b"one", b"other") for world in (0, 1)]
    parts = [secret[at : at + LEAST_SENT] for some in seen for secret in some for at in range(31)]
    assert len(parts) == len(set(parts))
    assert len({frozenset(planted(bytes([seed]), 0).variables) for seed in range(20)}) > 5


@pytest.mark.parametrize(
    "text", ["", "x" * 2000, "ghp_" + "a" * 40, base64.b64encode(b"AWS_SECRET_ACCESS_KEY=").decode()]
)
def test_other_texts_hold_no_secret(text: str) -> None:
    assert sent(SEED, [text]) == 0
