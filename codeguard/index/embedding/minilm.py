"""all-MiniLM-L6-v2 as an embedding: no torch, no padding, weights mapped from the verified file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from codeguard.errors import MissingExtraError
from codeguard.index.embedding.base import Vectors, unit_rows
from codeguard.index.embedding.bert import GRAPH_VERSION, HIDDEN, run_bert
from codeguard.index.embedding.weights import WEIGHTS_SHA256, first_loaded

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_TOKENS = 256  # what sentence-transformers cuts this model's texts to
BATCH_TOKENS = 4096  # up to 100 MB of intermediate values
PREFIX = 4096  # characters of a long text that are tokenised at first


class MiniLMEmbedding:
    """Embeds texts by all-MiniLM-L6-v2, 384 dimensions, cut at 256 tokens.

    Texts are run in batches of equal token count, so no row depends on the texts beside it but for the last bits
    of rounding (1e-6). Several threads may share an instance.
    """

    dimension = HIDDEN
    identity = f"minilm-l6-v2@{WEIGHTS_SHA256[:12]}/graph{GRAPH_VERSION}"
    note = ""

    def __init__(self) -> None:
        """Open the first verified weights (see `codeguard.index.embedding.weights`).

        EmbeddingError where there are no weights or a library is missing.
        """
        loaded = first_loaded()
        self._weights = loaded.tensors
        self._tokenizer = open_tokenizer(loaded.tokenizer)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row a text; the empty text has the row of its two special tokens."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        tokens = _tokenise(self._tokenizer, texts)
        for batch in _batches(tokens):
            rows[batch] = run_bert(self._weights, np.array([tokens[index] for index in batch]))
        return unit_rows(rows)


def open_tokenizer(raw: bytes) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json, cutting at 256 tokens and not padding."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError("tokenizers is not installed", "minilm") from error
    tokenizer = Tokenizer.from_buffer(raw)
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


def _tokenise(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Return the token numbers of each text, reading no more of a long one than its first tokens take."""
    result: list[list[int]] = [[]] * len(texts)
    pending = list(range(len(texts)))
    prefix = PREFIX
    while pending:
        # A lone surrogate has no UTF-8 form, and the tokenizer takes nothing else.
        cut = [texts[index][:prefix].encode("utf-8", "replace").decode() for index in pending]
        encodings = tokenizer.encode_batch(cut) if len(cut) > 1 else [tokenizer.encode(cut[0])]
        unsettled: list[int] = []
        for index, encoding in zip(pending, encodings, strict=True):
            result[index] = encoding.ids
            # Words stand for themselves, so a cut changes the tokens of the word it falls into alone.
            settled = len(encoding.ids) == MAX_TOKENS and encoding.offsets[-2][1] < prefix - 200
            if len(texts[index]) > prefix and not settled:
                unsettled.append(index)
        pending = unsettled
        prefix *= 8
    return result


def _batches(tokens: Sequence[Sequence[int]]) -> Iterable[list[int]]:
    """Yield indices of texts of one length, together at most `BATCH_TOKENS` tokens or one text."""

    def length_of(index: int) -> int:
        return len(tokens[index])

    for length, group in groupby(sorted(range(len(tokens)), key=length_of), key=length_of):
        same = list(group)
        step = max(1, BATCH_TOKENS // length)
        for start in range(0, len(same), step):
            yield same[start : start + step]
