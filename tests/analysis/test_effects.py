"""One table of what library functions do is what flaws and malice are found by, in every language."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.capabilities import SIGNAL as CAPABILITIES
from codeguard.analysis.rules.insecure import SIGNAL as INSECURE
from codeguard.corpus.chunking import chunk_file


@pytest.mark.parametrize(
    "call",
    ["os.system({})", "ctypes.CDLL(None).system({})", "invoke.run({})", "subprocess.run({}, shell=True)"],
)
def test_a_sink_of_flaws_is_one_of_malice(call: str) -> None:
    fetched = call.format("requests.get('http://127.0.0.1/x').text")
    given = call.format("'ls ' + request.args['x']")
    text = (
        f"import ctypes, invoke, os, requests, subprocess\nfrom flask import request\n"
        f"def load():\n    {fetched}\ndef view():\n    {given}\n"
    )
    reading = Reading(chunk_file("a.py", text.encode()))
    rules = {
        item.rule
        for signal in (CAPABILITIES, INSECURE)
        for item in signal.inspect(reading, DetectorContext())
    }
    assert {"download-and-run", "command-injection"} <= rules
