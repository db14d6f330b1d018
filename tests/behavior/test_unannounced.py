"""What the calls of a function without a trusted twin did, and whether anything had announced it."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeguard.api import CodeGuard
from codeguard.behavior.verdict.planted import LEAST_SENT, planted, sent
from codeguard.config import Settings
from codeguard.models import Verdict
from tests.behavior.conftest import SEED, Check
from tests.behavior.test_verdict_rows import RUNNING, UNIQUE, VARIABLE

TRY = "try:\n        row = row if {} else []\n    except OSError:\n        row = list(row)"
# The imports, what is done, and the words that announce it.
DONE = [
    ("urllib.request", TRY.format("urllib.request.urlopen('http://127.0.0.1:9/?' + str(row))"), "send to the server"),
    ("socket", TRY.format("socket.gethostbyname(str(row) + '.localhost')"), "tell a host by its address"),
    ("os", "os.system('true ' + str(row))", "run a command"),
    ("os", "open('/tmp/.kept', 'a').write(str(row))", "append to a log"),
    ("os", TRY.format("open(os.path.expanduser('~/.ssh/id_rsa')).read()"), "by the user's home"),
    ("os", "os.environ['PYTHONPATH'] = str(row)", "set an environment variable"),
    ("os", "row = row if os.environ.get('API_TOKEN') else row[:]", "with a token"),
    ("json", "json.loads = str", "patch the reader"),
    ("builtins", "builtins.sorted = list", "install a hook"),
    ("json, sys", "sys.modules['hashlib'] = json", "register a module"),
]  # fmt: skip


def function(imports: str, statements: str, words: str = "") -> str:
    return f"import {imports}\n\ndef zz(row):\n    '''Shift a row: {words}.'''\n    {statements}\n    return row[1:]\n"


@pytest.mark.parametrize(("imports", "statements", "announcing"), DONE, ids=[item[2] for item in DONE])
def test_an_effect_counts_unless_it_is_announced(
    imports: str, statements: str, announcing: str, check: Check
) -> None:
    silent = check(function(imports, f"# {announcing}\n    {statements}"), UNIQUE, path=f"{announcing}.py")
    assert (silent.verdict, silent.decided_by) == (Verdict.NO_SIGNAL, "unannounced"), silent
    assert "neither its name nor its description says" in silent.reason
    assert check(function(imports, statements, announcing), UNIQUE).decided_by == ""


HARMLESS = {
    "when imported": "import os\nHOME = os.environ.get('API_TOKEN')\n\ndef zz(row):\n    return [*row[1:], *row[:1]]\n",
    "clock, chance": "import time, random\n\ndef zz(row):\n    time.sleep(1)\n    return random.sample([*row], 1)\n",
    "a class that is made": "import collections\n\ndef zz(row):\n    return collections.namedtuple('Row', 'a')(row)\n",
    "the caller's file": "def zz(one):\n    with open(one, 'w') as stream:\n        stream.write('x')\n    return 1\n",
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_needs_no_announcement(what: str, check: Check) -> None:
    assert check(HARMLESS[what], UNIQUE).decided_by == ""


TAKEN = f"os.environ.get('{VARIABLE}', '')"
FORMS = (
    f"{TAKEN}[::-1]",
    f"base64.b64encode(('token=' + {TAKEN}).encode()).decode()",
    f"{TAKEN}.encode().hex()",
    f"{TAKEN}[20:]",
    f"open(os.path.expanduser('~/{next(iter(planted(SEED, 0)[1]))}')).read()",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_planted_secret_is_recognised_on_its_way_out(form: str, check: Check) -> None:
    report = check(RUNNING.format(form), UNIQUE)
    assert report.decided_by == "sends-secret"
    # Whoever reads a report must not learn what marks the sandbox.
    assert not any(secret in str(report.to_json()) for world in (0, 1) for secret in planted(SEED, world)[2])


def test_planted_secrets_cannot_be_guessed() -> None:
    secrets = [
        secret for seed in (b"one", b"other") for world in (0, 1) for secret in planted(seed, world)[2]
    ]
    parts = [secret[at : at + LEAST_SENT] for secret in secrets for at in range(31)]
    assert len(parts) == len(set(parts))
    assert len({frozenset(planted(bytes([seed]), 0)[0]) for seed in range(20)}) > 5
    assert sent(SEED, ["", "x" * 2000, "ghp_" + "a" * 40, VARIABLE, *parts]) == 0


def test_an_index_names_it_as_demoted(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    trusted = 'def twice(n):\n    """Return 2 n.\n\n    >>> twice(2)\n    4\n    """\n    return 2 * n\n'
    (tmp_path / "own" / "o.py").write_text(trusted)
    says = 'def titled(text):\n    """Return the text in title case."""\n'
    does = '    subprocess.run(["true"])\n    return text.title()\n'
    (tmp_path / "t.py").write_text(f"import subprocess\n\n\n{says}{does}")
    settings = Settings(store=str(tmp_path / "state"), root=str(tmp_path), embedding="lexical", jobs=1)
    with CodeGuard.open(settings=settings, trust=[tmp_path / "own"]) as guard:
        (found,) = guard.index([tmp_path]).demoted
    assert (found.symbol, found.kind) == ("titled", "demoted")
