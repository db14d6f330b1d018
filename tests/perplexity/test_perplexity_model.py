"""The perplexity model: what it flags, what it leaves alone, and what a damaged file gives."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import random
import textwrap
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codeguard.analysis.perplexity import PerplexityModel
from codeguard.analysis.perplexity import model as trained
from codeguard.analysis.perplexity.model import MAGIC
from codeguard.errors import StoreError

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


def test_a_saved_model_scores_the_same(model: PerplexityModel, tmp_path: Path) -> None:
    path = tmp_path / "new" / "perplexity.model"
    model.save(path)
    first = path.read_bytes()
    again = PerplexityModel.load(path)
    assert again.score(CLEAN) == model.score(CLEAN)
    again.save(path)
    assert path.read_bytes() == first
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda raw: b"", "no perplexity model"),
        (lambda raw: raw[: len(raw) // 2], "is damaged"),
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "is damaged"),
        (lambda raw: b"PK\x03\x04" + raw, "no perplexity model"),
        (lambda raw: raw + b"x", "is damaged"),
    ],
    ids=["empty", "cut", "one bit", "another format", "longer"],
)
def test_a_damaged_file_is_refused_in_one_line(
    tmp_path: Path, damage: Callable[[bytes], bytes], line: str
) -> None:
    path = tmp_path / "perplexity.model"
    PerplexityModel.train(TRUSTED[:1]).save(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError, match=line) as caught:
        PerplexityModel.load(path)
    assert "\n" not in str(caught.value)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(body=st.binary(max_size=120))
def test_a_rightly_signed_file_of_nonsense_is_refused_too(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "perplexity.model"
    path.write_bytes(MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.raises(StoreError, match="malformed"):
        PerplexityModel.load(path)


@pytest.mark.parametrize(
    "change",
    [{"order": 0}, {"order": "six"}, {"calibration": None}, {"calibration": {}}, {"grams": 10**12}],
    ids=str,
)
def test_a_header_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "perplexity.model"
    PerplexityModel.train(TRUSTED[:1]).save(path)
    header, _, arrays = path.read_bytes()[len(MAGIC) + 65 :].partition(b"\n")
    body = json.dumps({**json.loads(header), **change}).encode() + b"\n" + arrays
    path.write_bytes(MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    with pytest.raises(StoreError, match="malformed"):
        PerplexityModel.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read the perplexity model"):
        PerplexityModel.load(tmp_path / "none")
