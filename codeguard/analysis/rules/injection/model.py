"""Orders that need no weighing: few combinations of concepts that honest comments do not have."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from codeguard.analysis.rules.injection import gate, ngrams
from codeguard.analysis.rules.injection.features import features, glimpse, tokens_of
from codeguard.analysis.rules.injection.gate import FEWEST, Glance, is_template
from codeguard.analysis.rules.injection.ngrams import grams, numbers
from codeguard.corpus.patterns import lazy

# Someone is called who can only be a model, near the start: "note to AI assistants:", "an alle KI-Werkzeuge:".
_CALL = lazy(
    r"^.{0,40}?(?:\b(?:ai|llm|gpt|copilot|chatgpt|claude|gemini|assistant"
    r"|(?:code|coding|language|ai)[ -](?:assistant|model|agent|generator|tool))s?\b"
    r"|\bki-|sprachmodell|assistent|asistente|\bia\b|modèle|modelo de lenguaje|ассистент|нейросет|языков"
    r"|助手|大模型|语言模型|智能体|人工智能|アシスタント|어시스턴트|المساعد).{0,40}?[:,：，]",
    re.IGNORECASE,
)
_DIRECTIVES = frozenset(
    {"c:override", "c:recommend", "c:insert", "c:disable", "c:leak", "c:role", "c:never", "c:always"}
)
_ORDERS = frozenset({"c:recommend", "c:insert", "c:disable", "c:leak", "c:always", "c:answer", "c:role"})


def is_order(text: str, found: set[str]) -> bool:
    """Return whether the features of a text are those of an open order to a model.

    It calls an assistant and directs it, puts earlier instructions out of
    force and others in their place, carries the marks of a chat template,
    or forbids telling the user.
    """
    if ("m:self" in found or _CALL.search(text)) and "c:addressee" in found and len(found & _DIRECTIVES) >= 2:
        return True
    if {"c:override", "c:prior", "c:instruction"} <= found and "p:override>instruction" in found:
        return bool(found & _ORDERS) and ("s:override" in found or "c:addressee" in found)
    if "m:chat" in found and len(found & _DIRECTIVES) >= 2:
        return True
    quiet = "p:never>tell" in found and "p:tell>person" in found
    return quiet and bool(found & {"c:secrecy", "c:insert", "c:leak", "c:disable"}) and "s:never" in found


FILE = "model.json"
OPEN = 2.0  # below the weak threshold, for open orders
STEP = 0.1  # between two weights of the table
NOTHING = float("-inf")


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds for one kind of text.

    Set on honest texts of the packages that `calibrate.txt` names: `weak` is
    the score that about twelve in a thousand of them reach, `clear` one that
    two do, `sure` one that hardly any does. Texts of other packages reached
    `weak` and `clear` about five times as often.
    """

    weak: float
    clear: float
    sure: float


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of features by their numbers, what is looked at, and thresholds for each kind of text.

    A score is the bias plus the weights of what a text says (concepts and
    their order) and of how it is worded (n-grams), each divided by the square
    root of their number so that long texts do not score by length.
    """

    weights: memoryview
    bias: float
    glance: Glance
    limits: Mapping[str, Limits]

    def score(self, text: str, limits: Limits) -> float:
        """Return how much a stretch of text reads like an instruction to a model.

        An open order (see `is_order`) that is not far below weak counts as clear.
        """
        tokens = tokens_of(text)
        if len(tokens) < 3 and (len(text) < 8 or text.isascii()):
            return NOTHING
        glimpsed = glimpse(tokens)
        if sum([name[0] == "c" for name in glimpsed]) < FEWEST:
            return NOTHING
        if not self.glance.lets_through(glimpsed) and not is_template(text):
            return NOTHING
        found = features(text, tokens, glimpsed)
        score = self.bias + self._mean(numbers(found)) + self._mean(grams(text))
        if limits.weak - OPEN <= score < limits.clear and is_order(text, found):
            return limits.clear
        return score

    def _mean(self, found: set[int]) -> float:
        """Return the sum of the weights over the square root of their number."""
        known = self.weights
        return sum([known[place] for place in found]) * STEP / math.sqrt(max(1, len(found)))


def read_model(text: str) -> Model:
    """Return the model that a JSON text holds."""
    stored = json.loads(text)
    limits = {kind: Limits(*found) for kind, found in stored["limits"].items()}
    glance = Glance(_unpacked(stored["glance"], gate.BITS), stored["least"])
    return Model(_unpacked(stored["weights"], ngrams.BITS), stored["bias"], glance, limits)


def _unpacked(text: str, bits: int) -> memoryview:
    """Return a table of signed bytes that was compressed and written in base64."""
    table = memoryview(zlib.decompress(base64.b64decode(text))).cast("b")
    if len(table) != 1 << bits:
        raise ValueError(
            f"{FILE}: a table of weights has {len(table)} entries, expected {1 << bits}; train it again"
        )
    return table


@cache
def load_model() -> Model:
    """Return the model that ships with the package."""
    return read_model((resources.files(__package__) / FILE).read_text(encoding="utf-8"))
