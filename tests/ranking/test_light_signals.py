"""Distance and perplexity by the values that they depend on, and signals whose names do not exist."""

from __future__ import annotations

import argparse
import ast
import base64
import fractions
import inspect
import random
import re
import shutil
import statistics
import tarfile
import textwrap
import zipfile
import zlib

import pytest

from codeguard.analysis.perplexity import PerplexityModel
from codeguard.config import DefenseConfig
from codeguard.corpus.chunking import chunk_file
from codeguard.errors import ConfigError
from codeguard.models import Evidence, Trust
from codeguard.ranking.signals import distance, perplexity, refuse_unknown, unrelated
from codeguard.ranking.signals.base import Signal, SignalContext, SignalServices, Subject
from codeguard.weights import Weights

CLEAN = "def total(amounts):\n    result = 0\n    for amount in amounts:\n        result += amount\n    return result\n"
PAYLOAD = base64.b64encode(zlib.compress(repr(list(range(0, 999, 7))).encode())).decode()
ODD = f"def run(decode):\n    return decode('{PAYLOAD}')\n"


def examined(
    signal: Signal,
    text: str = CLEAN,
    *,
    trust: Trust = Trust.UNLISTED,
    z: float | None = 0.0,
    model: PerplexityModel | None = None,
) -> list[Evidence]:
    file = chunk_file("m.py", text.encode())
    chunk = [item for item in file.chunks if item.symbol][-1]
    context = SignalContext(SignalServices(perplexity=model), Weights())
    return list(signal.examine(Subject(chunk, file, trust, 0.0, z), context))


@pytest.mark.parametrize(
    ("z", "penalty"), [(None, None), (-2.0, None), (1.0, None), (1.5, 0.45), (3.0, 0.9), (40.0, 0.9)]
)
def test_distance_costs_by_deviations_above_one_and_no_more_than_three(
    z: float | None, penalty: float | None
) -> None:
    found = examined(distance.SIGNAL, z=z)
    assert [item.penalty for item in found] == ([] if penalty is None else [pytest.approx(penalty)])
    assert [item.convicts or item.demotes for item in found] == [False] * len(found)


@pytest.fixture(scope="module")
def model() -> PerplexityModel:
    return PerplexityModel.train(map(inspect.getsource, (inspect, random, textwrap)))


@pytest.mark.parametrize(
    ("text", "trust", "flagged"),
    [
        (CLEAN, Trust.UNLISTED, False),
        (ODD, Trust.UNLISTED, True),
        (ODD, Trust.MODIFIED, True),
        (ODD, Trust.COPY, False),
        (ODD, Trust.TRUSTED, False),
    ],
)
def test_perplexity_flags_outliers_that_nobody_vouches_for(
    model: PerplexityModel, text: str, trust: Trust, flagged: bool
) -> None:
    found = examined(perplexity.SIGNAL, text, trust=trust, model=model)
    assert [(item.id, item.penalty) for item in found] == ([("outlier", 0.5)] if flagged else [])
    assert examined(perplexity.SIGNAL, text, trust=trust) == []


SAYS = '    """Return the date that a text in ISO 8601 says, without its time."""\n'
DATE = f"def parse_iso_date(text):\n{SAYS}"
ZONED = DATE.replace("text):", "text, zone):").replace("its time", "its zone")
MOST = DATE.replace("text):", "self, text, zone, form):")
DOES = (
    "    year, month, day = text.split('T')[0].split('-')\n    return date(int(year), int(month), int(day))\n"
)
HALF = "    words = sorted(text.split(), key=len)\n    return words[0] + words[-1]\n"
OTHER = "    for item in sorted(basket, key=price_of):\n        yield item.weight * item.price, shelf[item]\n"


@pytest.mark.parametrize(
    ("text", "trust", "flagged"),
    [
        (DATE + DOES, Trust.UNLISTED, False),
        (DATE + OTHER, Trust.UNLISTED, True),
        (DATE + HALF, Trust.UNLISTED, False),  # somewhat far
        (ZONED + HALF, Trust.UNLISTED, True),  # and the description names what it ignores
        (ZONED + DOES, Trust.UNLISTED, True),
        (ZONED + DOES.replace("(day))", "(day), zone)"), Trust.UNLISTED, False),
        (DATE.replace("text):", "text, zone):") + HALF, Trust.UNLISTED, False),  # not named, and half of them
        (DATE.replace("text):", "text, zone, form):") + HALF, Trust.UNLISTED, True),  # most of them
        (
            f"class Dates:\n{textwrap.indent(MOST + HALF, '    ')}",
            Trust.UNLISTED,
            False,
        ),  # a class above may ask
        (DATE + "    # the date of a text in ISO 8601\n" + OTHER, Trust.UNLISTED, True),
        (f"class Dates:\n{textwrap.indent(DATE + OTHER, '    ')}", Trust.MODIFIED, True),
        (DATE + OTHER, Trust.COPY, False),
        (DATE + OTHER, Trust.TRUSTED, False),
        (DATE + "    return shelf[text]\n", Trust.UNLISTED, False),  # too short to tell
        (f"def parse_iso_date(text):\n{OTHER}", Trust.UNLISTED, False),  # without a description
    ],
)
def test_code_far_from_what_its_name_and_description_say_is_flagged(
    text: str, trust: Trust, flagged: bool
) -> None:
    found = examined(unrelated.SIGNAL, text, trust=trust)
    assert [(item.id, item.penalty, item.demotes) for item in found] == [("body", 1.5, False)] * flagged


def test_bodies_exchanged_among_functions_of_the_standard_library_are_mostly_far() -> None:
    described = re.compile(r'(def \w.*?""".*?"""\n)(.+)', re.DOTALL)
    modules = (inspect, random, textwrap, ast, argparse, fractions, shutil, statistics, tarfile, zipfile)
    functions = [
        found.groups()
        for module in modules
        for chunk in chunk_file("m.py", inspect.getsource(module).encode()).chunks
        if chunk.symbol and (found := described.fullmatch(textwrap.dedent(chunk.text))) is not None
    ]
    bodies = [body for _, body in functions]
    random.Random(1).shuffle(bodies)

    def share(texts: list[str]) -> float:
        return sum(bool(examined(unrelated.SIGNAL, text)) for text in texts) / len(texts)

    assert len(functions) > 200
    assert share([head + body for head, body in functions]) < 0.03
    assert share([head + body for (head, _), body in zip(functions, bodies, strict=True)]) > 0.5


@pytest.mark.parametrize(
    "config",
    [
        DefenseConfig(disabled_signals=("distances",)),
        DefenseConfig(weights=Weights({"distance.outlyer": 1.0})),
    ],
)
def test_a_name_that_no_signal_or_rule_has_is_refused_with_the_nearest(config: DefenseConfig) -> None:
    with pytest.raises(ConfigError, match="distance"):
        refuse_unknown(config)


@pytest.mark.parametrize(
    "config",
    [
        DefenseConfig(),
        DefenseConfig(disabled_signals=("distance",)),
        DefenseConfig(weights=Weights({"distance.outlier": 1.0})),
    ],
)
def test_a_name_that_exists_is_taken(config: DefenseConfig) -> None:
    refuse_unknown(config)
