"""all-MiniLM-L6-v2 through onnxruntime: no torch, no padding, weights mapped from the verified file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import MissingExtraError
from codeguard.index.embedding.base import Vectors, unit_rows
from codeguard.index.embedding.bert import GRAPH_VERSION, HIDDEN, build_graph
from codeguard.index.embedding.weights import WEIGHTS_SHA256, WeightFiles, first_loaded

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_TOKENS = 256  # what sentence-transformers cuts this model's texts to
BATCH_TOKENS = 384  # the widest intermediate values of more do not fit into a core's cache: 4 to 7 % slower
MOST_LANES = 16  # each holds the intermediate values of one batch, up to 30 MB
PREFIX = 4096  # characters of a long text that are tokenised at first


class MiniLMEmbedding:
    """Embeds texts by all-MiniLM-L6-v2, 384 dimensions, cut at 256 tokens.

    Texts are run in batches of equal token count, so no row depends on the texts beside it but for the last bits
    of rounding (1e-6). Each batch is
    computed by one thread, and as many batches at once as there are lanes:
    threads that share one batch wait for each other after every operation,
    which took up to 1.7 times the processor time. Several threads may share
    an instance.
    """

    dimension = HIDDEN
    identity = f"minilm-l6-v2@{WEIGHTS_SHA256[:12]}/graph{GRAPH_VERSION}"
    note = ""

    def __init__(self, threads: int = 0) -> None:
        """Open the first verified weights (see `codeguard.index.embedding.weights`).

        `threads` is how many batches are computed at once, 0 for one a core.
        EmbeddingError where there are no weights or a library is missing.
        """
        loaded = first_loaded()
        self._run = _open_session(loaded)
        self._tokenizer = open_tokenizer(loaded.tokenizer)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._lanes = threads or min(MOST_LANES, cores)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row a text; the empty text has the row of its two special tokens."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        tokens = _tokenise(self._tokenizer, texts)
        batches = list(_batches(tokens))

        def run(batch: list[int]) -> None:
            rows[batch] = self._run([tokens[index] for index in batch])

        at_once = map if self._lanes == 1 or len(batches) <= 1 else self._pool.map
        for _ in at_once(run, batches):
            pass
        return unit_rows(rows)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._lanes, thread_name_prefix="minilm")


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


def _open_session(loaded: WeightFiles) -> Callable[[list[list[int]]], NDArray[np.float32]]:
    """Return what computes a batch by onnxruntime in the calling thread."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError("onnxruntime is not installed", "minilm") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    graph, tensors = build_graph(loaded.tensors)
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(tensor) for tensor in tensors.values()]
    options.add_external_initializers(list(tensors), values)
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    # The session reads the memory of the values as long as it lives.
    def run(ids: list[list[int]], _values: Sequence[object] = values) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = session.run(["embedding"], {"input_ids": np.array(ids, dtype=np.int64)})[
            0
        ]
        return rows

    return run
