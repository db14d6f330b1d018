"""The perplexity model: what it flags, what it leaves alone, and what a damaged file gives."""

from __future__ import annotations

import base64
import inspect
import random
import textwrap
import zlib
from collections.abc import Callable

import pytest

from codeguard.analysis import perplexity as trained
from codeguard.analysis.perplexity import PerplexityModel, sample_of

TRUSTED = [inspect.getsource(module) for module in (inspect, random, textwrap)]
PAYLOAD = b"import socket\nsocket.create_connection(('127.0.0.1', 9)).send(b'marker-41')\n" * 2
CLEAN = '''
def running_total(amounts, start=0.0):
    """Yield the balance after each of the amounts."""
    balance = start
    for amount in amounts:
        balance += amount
        yield balance
'''
ENCODERS: dict[str, Callable[[bytes], str]] = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "hex": bytes.hex,
    "zlib": lambda data: base64.b64encode(zlib.compress(data)).decode(),
    "base85": lambda data: base64.b85encode(zlib.compress(data)).decode(),
    "escapes": lambda data: "".join(f"\\x{byte:02x}" for byte in data),
}


@pytest.fixture(scope="module")
def model() -> PerplexityModel:
    return PerplexityModel.train(TRUSTED)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_an_encoded_payload_is_an_outlier_and_is_pointed_at(model: PerplexityModel, encoder: str) -> None:
    blob = ENCODERS[encoder](PAYLOAD)
    text = f'{CLEAN}\ndef run():\n    exec(decode("{blob}"))\n'
    score = model.score(text)
    assert score.outlier
    assert text.index(blob) - 64 <= score.start < score.end <= text.index(blob) + len(blob) + 64


@pytest.mark.parametrize(
    "text",
    [
        CLEAN,
        CLEAN + "#" * 200,
        CLEAN + "    # " + "=-" * 3 + "=" * 90 + "\n",
        CLEAN + "# Сумма нарастающим итогом, по одному значению на каждую операцию счёта клиента банка\n",
        CLEAN + "# 依次返回每笔金额之后的余额，起始余额默认为零，金额可以为负数，表示从账户中支出\n" * 2,
        "x",
        "",
    ],
    ids=["plain", "rule", "mixed rule", "cyrillic", "chinese", "one character", "empty"],
)
def test_plain_code_in_any_language_is_no_outlier(model: PerplexityModel, text: str) -> None:
    assert not model.score(text).outlier


def test_the_order_of_the_trusted_files_plays_no_part(model: PerplexityModel) -> None:
    other = PerplexityModel.train(reversed(TRUSTED))
    assert other.calibration == model.calibration
    assert other.score(CLEAN) == model.score(CLEAN)


@pytest.mark.parametrize(
    ("files", "judges"),
    [
        ([], False),
        (["x = 1\n"], False),
        (TRUSTED[:1], True),
        (TRUSTED[:2], True),
    ],
    ids=["no file", "too short", "one file", "two files"],
)
def test_few_trusted_files(files: list[str], judges: bool) -> None:
    few = PerplexityModel.train(files)
    noise = few.score(f'run("{ENCODERS["base64"](PAYLOAD)}")')
    assert noise.outlier == judges
    assert not few.score(CLEAN).outlier
    assert ("too little trusted text" in noise.reason) != judges


def test_a_sample_has_a_limit_and_most_edits_leave_it_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained, "TRAINED_CHARACTERS", 20_000)
    texts = [f"# {n}\n{base64.b64encode(random.Random(n).randbytes(3_000)).decode()}\n" for n in range(40)]
    sample = sample_of(texts)
    assert sum(map(len, sample)) == 20_000
    assert sample_of(texts[::-1]) == sample
    edited = [sample_of([*texts[:n], f"{texts[n]}# edited\n", *texts[n + 1 :]]) for n in range(40)]
    assert edited.count(sample) > 20


def test_a_stored_model_scores_the_same(model: PerplexityModel) -> None:
    again = PerplexityModel.from_bytes(model.to_bytes())
    assert again.score(CLEAN) == model.score(CLEAN)
    assert again.to_bytes() == model.to_bytes()
