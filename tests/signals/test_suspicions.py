"""Suspicions by reading: the examples of their rules, what they see, and what they leave alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules import gates, idle
from codeguard.analysis.rules.base import DetectorContext, FileSignal
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.models import Evidence, Trust
from codeguard.ranking.defense import DEMOTING, suspected
from codeguard.ranking.scoring import is_convicted, is_demoted
from codeguard.ranking.signals import load_all

SIGNALS: tuple[FileSignal, ...] = (gates.SIGNAL, idle.SIGNAL)


def fired(text: str, *signals: FileSignal) -> set[str]:
    reading = Reading(chunk_file("x.py", text.encode()))
    return {
        f"{signal.name}.{item.rule}"
        for signal in signals or SIGNALS
        for item in signal.inspect(reading, DetectorContext())
    }


GATES = {
    "a slice": "def f(text):\n    result = g(text)\n    if text[2:5] == 'abq':\n        return result[:-1]\n"
    "    return result\n",
    "a residue": "def f(n):\n    if n * 4241 % 1000003 == 77123:\n        return n\n    return n * n\n",
    "a computed size": "def f(rows):\n    if len(rows) == (4666 ^ 4651):\n        return []\n    return sorted(rows)\n",
    "a count": "calls = 0\ndef f(n):\n    global calls\n    calls += 1\n    if calls > 40:\n        return 0\n"
    "    return n * n\n",
    "the clock": "import time\ndef f(n):\n    live = time.time() > 1_650_000_000\n    result = n * n\n"
    "    if live:\n        result = result + 1\n    return result\n",
    "the environment": "import os\ndef f(n):\n    if os.environ.get('TIER') == 'production':\n        return 0\n"
    "    return n * n\n",
}
ORDINARY = {
    "an error": "def f(n):\n    if n == 726:\n        raise ValueError(n)\n    return n * n\n",
    "an empty input": "def f(rows):\n    if not rows:\n        return []\n    return sorted(rows)\n",
    "a power of two": "def f(n):\n    if n == 1024:\n        return n\n    return n * n\n",
    "one of several constants": "def f(n):\n    if n == 726:\n        return 'a'\n    return 'b'\n",
    "what other branches return": "def f(rows):\n    if len(rows) == 99:\n        return []\n    if not rows:\n"
    "        return []\n    return sorted(rows)\n",
}  # fmt: skip


@pytest.mark.parametrize("text", GATES.values(), ids=GATES)
def test_gates(text: str) -> None:
    assert fired(text) == {"gates.unrelated-exit"}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_branches(text: str) -> None:
    assert not fired(text)


EFFECTS = {
    "a swallowed connection": "import socket\ndef f(rows):\n    try:\n"
    "        socket.create_connection(('127.0.0.1', 9))\n    except OSError:\n        pass\n    return sum(rows)\n",
    "a variable nobody needs": "import os\ndef f(rows):\n    token = os.environ.get('API_TOKEN')\n    del token\n"
    "    return sum(rows)\n",
    "a process in a method": "import subprocess\nclass A:\n    def write(self, text):\n"
    "        subprocess.run(['true'])\n        self.text += text\n",
    "a concealed module": "def f(rows):\n    __import__('sock' + 'et').socket().connect(('127.0.0.1', 9))\n"
    "    return sum(rows)\n",
}
SERVING = {
    "an argument says where": "import socket\ndef f(host):\n    return socket.create_connection((host, 9))\n",
    "the result depends on it": "import os\ndef f(rows):\n    limit = int(os.environ.get('LIMIT', 9))\n"
    "    return rows[:limit]\n",
    "a procedure without arguments": "import os\ndef clear():\n    os.system('clear')\n",
    "a file that the result is read from": "def f(n):\n    with open('/etc/hosts') as stream:\n"
    "        lines = list(stream)\n    return lines[n]\n",
    "a condition asks for it": "import os\ndef f(rows):\n    quiet = os.environ.get('QUIET')\n    if quiet:\n"
    "        rows = rows[:1]\n    return sum(rows)\n",
}


@pytest.mark.parametrize("text", EFFECTS.values(), ids=EFFECTS)
def test_idle_effects(text: str) -> None:
    assert "idle.effect" in fired(text)


@pytest.mark.parametrize("text", SERVING.values(), ids=SERVING)
def test_effects_that_serve_somebody(text: str) -> None:
    assert not fired(text, idle.SIGNAL)


@pytest.mark.parametrize("key", sorted(DEMOTING))
def test_a_suspicion_demotes_and_convicts_nobody(key: str) -> None:
    signal, _, rule = key.partition(".")
    assert any(item.name == signal and rule in {known.id for known in item.rules} for item in load_all())
    seen = Evidence(signal, rule, 1.0, "because")
    passed = Evidence("behavior", "pass", -0.5, "agrees", measurements={"coverage": "full"})
    found = suspected([seen], Trust.UNLISTED)
    assert is_demoted(found)
    assert not is_convicted(found)
    assert not is_demoted(suspected([replace(seen, penalty=0.0)], Trust.UNLISTED))
    assert not is_demoted(suspected([seen, passed], Trust.UNLISTED))
    assert not is_demoted(suspected([seen], Trust.COPY))
