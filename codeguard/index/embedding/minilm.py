"""all-MiniLM-L6-v2 through onnxruntime: no torch, no padding, weights mapped from the verified file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import EmbeddingError, MissingExtraError
from codeguard.index.embedding.base import EmbeddingKind, Vectors, unit_rows
from codeguard.index.embedding.bert import GRAPH_VERSION, HIDDEN, build_graph
from codeguard.index.embedding.weights import INSTALL, WeightFiles, load_weights, places, state_of_weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_TOKENS = 256  # what sentence-transformers cuts this model's texts to
BATCH_TOKENS = 384  # the widest intermediate values of more do not fit into a core's cache: 4 to 7 % slower
GPU_BATCH_TOKENS = 1 << 16
MOST_LANES = 16  # each holds the intermediate values of one batch, up to 30 MB
PREFIX = 4096  # characters of a long text that are tokenised at first
# TensorRT is left out, it compiles for minutes; CoreML computes this graph slower than the CPU.
GPU_PROVIDERS = (
    "CUDAExecutionProvider",
    "MIGraphXExecutionProvider",
    "ROCMExecutionProvider",
    "DmlExecutionProvider",
)

BEYOND = -1  # in the place of a token number: the text has ended

Ids = NDArray[np.int64]
Run = Callable[[Ids], NDArray[np.float32]]


class MiniLMEmbedding:
    """Embeds texts by all-MiniLM-L6-v2, 384 dimensions, cut at 256 tokens.

    Texts are run in batches of equal token count, rounded up to a multiple of
    `multiple`, so no row depends on the texts beside it but for the last bits
    of rounding (1e-6). Each batch is
    computed by one thread, and as many batches at once as there are lanes:
    threads that share one batch wait for each other after every operation,
    which took up to 1.7 times the processor time. Several threads may share
    an instance.
    """

    dimension = HIDDEN
    note = ""

    def __init__(
        self,
        tokenizer: Tokenizer,
        run: Run,
        identity: str,
        *,
        batch_tokens: int = BATCH_TOKENS,
        multiple: int = 1,
        lanes: int = 1,
    ) -> None:
        """Join a tokenizer, set to cut and not to pad, and what computes a batch; `open` makes both.

        With a `multiple` above 1 it is given `BEYOND` behind the end of shorter texts.
        """
        self.identity = identity
        self._tokenizer = tokenizer
        self._run = run
        self._batch_tokens = batch_tokens
        self._multiple = multiple
        self._lanes = lanes

    @classmethod
    def open(cls, folder: Path | None = None, *, threads: int = 0) -> MiniLMEmbedding:
        """Open the first verified weights (see `codeguard.index.embedding.weights`), on the GPU where there is one.

        `threads` is how many batches are computed at once, 0 for one a core.
        EmbeddingError where there are no weights or a library is missing.
        """
        loaded = first_loaded(folder)
        run, on_gpu = _open_session(loaded)
        tokenizer = open_tokenizer(loaded.tokenizer)
        name = f"minilm-l6-v2@{loaded.digest[:12]}/graph{GRAPH_VERSION}"
        if on_gpu:
            return cls(tokenizer, run, name, batch_tokens=GPU_BATCH_TOKENS)
        return cls(tokenizer, run, name, lanes=lanes_for(threads))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row a text; the empty text has the row of its two special tokens."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        tokens = _tokenise(self._tokenizer, texts)
        batches = list(_batches(tokens, self._batch_tokens, self._multiple))

        def run(batch: list[int]) -> None:
            rows[batch] = self._run(_ids([tokens[index] for index in batch], self._multiple))

        at_once = map if self._lanes == 1 or len(batches) <= 1 else self._pool.map
        for _ in at_once(run, batches):
            pass
        return unit_rows(rows)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._lanes, thread_name_prefix="minilm")


def lanes_for(threads: int = 0) -> int:
    """Return how many batches to compute at once: so many, or one for each core that this process may use."""
    if threads:
        return threads
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_LANES, cores)


def first_loaded(folder: Path | None = None) -> WeightFiles:
    """Return the first weights that verify; EmbeddingError says what was wrong with those that do not."""
    refused: list[str] = []
    for found in places(folder):
        try:
            return load_weights(found)
        except EmbeddingError as error:
            refused.append(f"{error.what}, got {error.got}" if error.got else error.what)
    what = "; ".join(refused) or "the weights of all-MiniLM-L6-v2 are not on this machine"
    raise EmbeddingError(what, hint=INSTALL)


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


def _batches(tokens: Sequence[Sequence[int]], most: int, multiple: int) -> Iterable[list[int]]:
    """Yield indices of texts of one length, together at most `most` tokens or one text."""

    def length_of(index: int) -> int:
        return _rounded_up(len(tokens[index]), multiple)

    for length, group in groupby(sorted(range(len(tokens)), key=length_of), key=length_of):
        same = list(group)
        step = max(1, most // length)
        for start in range(0, len(same), step):
            yield same[start : start + step]


def _ids(tokens: Sequence[Sequence[int]], multiple: int) -> Ids:
    ids = np.full((len(tokens), _rounded_up(max(map(len, tokens)), multiple)), BEYOND, dtype=np.int64)
    for row, numbers in zip(ids, tokens, strict=True):
        row[: len(numbers)] = numbers
    return ids


def _rounded_up(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple


def gpu_provider() -> str | None:
    """Return the name of the GPU that onnxruntime can compute on, if any; MissingExtraError without onnxruntime."""
    offered = _onnxruntime().get_available_providers()
    return next((provider for provider in GPU_PROVIDERS if provider in offered), None)


def _onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError("onnxruntime is not installed", "minilm") from error
    return onnxruntime


def _open_session(loaded: WeightFiles) -> tuple[Run, bool]:
    """Return what computes a batch by onnxruntime in the calling thread, and whether it does so on a GPU."""
    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    gpu = gpu_provider()
    providers = [*([gpu] if gpu else ()), "CPUExecutionProvider"]
    graph, tensors = build_graph(loaded.tensors)
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(tensor) for tensor in tensors.values()]
    options.add_external_initializers(list(tensors), values)
    session = onnxruntime.InferenceSession(graph, options, providers=providers)

    # The session reads the memory of the values as long as it lives.
    def run(ids: Ids, _values: Sequence[object] = values) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = session.run(["embedding"], {"input_ids": ids})[0]
        return rows

    return run, session.get_providers()[0] in GPU_PROVIDERS


KIND = EmbeddingKind(
    "minilm",
    open=lambda options: MiniLMEmbedding.open(options.model_dir),
    state=lambda options: state_of_weights(options.model_dir, "onnxruntime", "minilm"),
    by_workers=True,
)
