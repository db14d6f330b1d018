"""Claims of safety count beside code that is not safe, and nowhere else."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.safety_claims import SIGNAL
from codeguard.models import Severity, SourceFile, text_digest

SQL = 'def f(cursor, name):\n    {}\n    cursor.execute("SELECT * FROM t WHERE n = \'" + name + "\'")\n'
GOOD_SQL = 'def f(cursor, name):\n    {}\n    cursor.execute("SELECT * FROM t WHERE n = ?", (name,))\n'


def severities(text: str) -> list[Severity | None]:
    file = SourceFile("sample", text, text_digest(text), "python", ())
    return [item.severity for item in SIGNAL.inspect(Reading(file), DetectorContext())]


@pytest.mark.parametrize(
    "text",
    [
        SQL.format("# name was sanitized by the caller"),
        SQL.format('"""Look a name up safely."""'),
        SQL.format("pass  # no injection possible here"),
        "# constant time\n" + 'def f(a, signature, hmac):\n    return pickle_free(a)\n' + SQL.format("# trusted input"),
        "import os\n\ndef f(cmd):\n    # already validated\n    os.system('ls ' + cmd)\n",
        "import pickle\n\ndef load(data):\n    '''Trusted data only comes here.'''\n    return pickle.loads(data)\n",
        "import hmac\n\ndef verify(key, data, signature):\n    # constant-time comparison\n"
        "    return hmac.new(key, data, 'sha256').digest() == signature\n",
        "import yaml\n# safe: the file is ours\nyaml.load(open('x'), Loader=yaml.Loader)\n",
    ],
)  # fmt: skip
def test_a_claim_beside_a_flaw_is_found(text: str) -> None:
    assert severities(text)
    assert max(severity or 0 for severity in severities(text)) >= Severity.HIGH


@pytest.mark.parametrize(
    "text",
    [
        GOOD_SQL.format("# name was sanitized by the caller"),
        SQL.format("# look the name up"),
        SQL.format("# not safe: name must be escaped first"),
        SQL.format("# TODO is this safe?"),
        SQL.format("# thread-safe"),
        SQL.format('"""Return a name; ``secure`` is not part of it."""'),
        SQL.format("# this is unsafe"),
        SQL.format("# callers ensure it is validated"),
        "# validated elsewhere\n\n\n\n\n" + SQL.format("pass"),
        "x = 1  # safe\n",
        "from markupsafe import Markup\ndef mark(text):\n    '''Mark it as safe.'''\n    return Markup(text)\n",
        "def broken(:\n  # safe",
    ],
)
def test_no_claim_or_no_flaw_is_silent(text: str) -> None:
    assert not severities(text)


def test_the_rule_s_examples() -> None:
    rule = SIGNAL.rules[0]
    assert severities(rule.bad)
    assert not severities(rule.good)


EFFECT = "import os, shutil, tempfile\n\n\ndef f(path):\n    {}\n    {}\n    return path\n"


def rules_in(text: str) -> list[str]:
    file = SourceFile("sample", text, text_digest(text), "python", ())
    return [item.rule for item in SIGNAL.inspect(Reading(file), DetectorContext())]


@pytest.mark.parametrize(
    ("said", "done", "found"),
    [
        ('"""Read-only: makes no changes."""', "os.remove(path)", True),
        ('"""No side effects; returns the path."""', "shutil.move(path, '/tmp-free')", False),
        ('"""No side effects; returns the path."""', "shutil.move(path, '/elsewhere')", True),
        ("# nothing is deleted", "shutil.rmtree(path)", True),
        ('"""Never modifies files."""', "open(path).read()", False),
        ('"""Remove read-only files."""', "os.remove(path)", False),
        ('"""Make sure that nothing is deleted twice."""', "os.remove(path)", False),
        ('"""Never modifies files."""', "os.remove(tempfile.mktemp())", False),
    ],
)
def test_a_promise_to_change_nothing_is_held_against_what_is_called(
    said: str, done: str, found: bool
) -> None:
    assert ("false-effect" in rules_in(EFFECT.format(said, done))) is found


@pytest.mark.parametrize(
    "comment",
    [
        "# tab-expanded for safe pasting",
        "# quoting needed to safely build it is up to the caller",
        "# safe = a-z",
    ],
)
def test_words_about_something_else_are_no_claim(comment: str) -> None:
    assert not rules_in(SQL.format(comment))


def test_a_comment_far_from_the_flaw_is_not_about_it() -> None:
    far = "\n".join(f"    step_{number}()" for number in range(30))
    assert rules_in(SQL.format("# already sanitized"))
    assert not rules_in(SQL.format(f"pass\n{far}\n    # already sanitized\n{far}"))
