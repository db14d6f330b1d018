"""The perplexity model: what it flags, what it leaves alone, and what a damaged file gives."""

from __future__ import annotations

import base64
import inspect
import random
import textwrap
import zlib
from collections.abc import Callable

import pytest

from codeguard.analysis.perplexity import PerplexityModel
from codeguard.analysis.perplexity import model as trained

TRUSTED = [(module.__name__, inspect.getsource(module)) for module in (inspect, random, textwrap)]
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


def test_names_and_order_of_the_trusted_files_play_no_part(model: PerplexityModel) -> None:
    other = PerplexityModel.train(
        [(f"{index}.py", text) for index, (_, text) in enumerate(reversed(TRUSTED))]
    )
    assert other.calibration == model.calibration
    assert other.score(CLEAN) == model.score(CLEAN)


@pytest.mark.parametrize(
    ("files", "judges"),
    [
        ([], False),
        ([("a.py", "x = 1\n")], False),
        (TRUSTED[:1], True),
        (TRUSTED[:2], True),
    ],
    ids=["no file", "too short", "one file", "two files"],
)
def test_few_trusted_files(files: list[tuple[str, str]], judges: bool) -> None:
    few = PerplexityModel.train(files)
    noise = few.score(f'run("{ENCODERS["base64"](PAYLOAD)}")')
    assert noise.outlier == judges
    assert not few.score(CLEAN).outlier
    assert ("too little trusted text" in noise.reason) != judges


def test_trusted_data_of_ever_new_characters_is_a_smaller_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained, "MOST_NGRAMS", 20_000)
    chance = random.Random(1)
    data = [(str(n), base64.b64encode(chance.randbytes(30_000)).decode()) for n in range(4)]
    learned = PerplexityModel.train(data)
    assert 10_000 < len(learned.ngrams.keys) <= 20_000
    assert PerplexityModel.train(data[::-1]).ngrams.keys.tolist() == learned.ngrams.keys.tolist()


def test_a_stored_model_scores_the_same(model: PerplexityModel) -> None:
    again = PerplexityModel.from_bytes(model.to_bytes())
    assert again.score(CLEAN) == model.score(CLEAN)
    assert again.to_bytes() == model.to_bytes()
