"""Any service with OpenAI's /v1/embeddings: OpenAI, vLLM, Ollama, llama.cpp, text-embeddings-inference."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import numpy as np

from codeguard.errors import EmbeddingError, MissingExtraError
from codeguard.index.embedding.base import Vectors, unit_rows

BATCH_TEXTS = 64
BATCH_CHARACTERS = 100_000
MAX_CHARACTERS = 24_000  # of a text: about the 8,191 tokens that OpenAI's models take
TIMEOUT = 60.0  # seconds a request may take; the package itself tries again twice


class OpenAIEmbedding:
    """Embeds texts by a service. Texts leave this machine where the service is elsewhere.

    A text is cut at 24,000 characters. An empty text, which the services
    refuse, is sent as a single space.
    """

    note = ""

    def __init__(self, model: str) -> None:
        """Ask the service for one vector to learn the dimension.

        `OPENAI_BASE_URL` and `OPENAI_API_KEY` say which. EmbeddingError where it cannot be
        reached, refuses, or answers something else than vectors.
        """
        try:
            from openai import OpenAI
        except ImportError as error:
            raise MissingExtraError("openai is not installed", extra="llm") from error
        address = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        key = os.environ.get("OPENAI_API_KEY")
        if key is None and urlsplit(address).hostname == "api.openai.com":
            raise EmbeddingError("OpenAI wants a key", hint="set OPENAI_API_KEY")
        # A service on the own machine mostly wants no key, but the package insists on one.
        self._client = OpenAI(base_url=address, api_key=key or "none", timeout=TIMEOUT)
        self._model = model
        self._place = urlsplit(address).netloc.rpartition("@")[2]
        self.dimension = len(self._request(["dimension"])[0])
        self.identity = f"openai:{model}@{self._place}/dim{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row a text; EmbeddingError where the service fails."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        start = 0
        for batch in _batches(texts):
            found = self._request(batch)
            if len(found[0]) != self.dimension:
                raise EmbeddingError(
                    f"{self._place} changed the length of its vectors",
                    got=len(found[0]),
                    expected=self.dimension,
                )
            rows[start : start + len(batch)] = found
            start += len(batch)
        return unit_rows(rows)

    def _request(self, batch: list[str]) -> Vectors:
        from openai import OpenAIError

        try:
            # Asked for nothing, the package asks for base64, which not every service knows.
            answer = self._client.embeddings.create(model=self._model, input=batch, encoding_format="float")
            entries = sorted(answer.data, key=lambda entry: entry.index)
            rows = np.array([entry.embedding for entry in entries], dtype=np.float32)
        except (OpenAIError, ValueError, TypeError, AttributeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise EmbeddingError(
                f"the embedding service at {self._place} failed: {reason}",
                hint="check OPENAI_BASE_URL, OPENAI_API_KEY and the model",
            ) from error
        if rows.ndim != 2 or len(rows) != len(batch) or not rows.shape[1] or not np.isfinite(rows).all():
            raise EmbeddingError(
                f"the embedding service at {self._place} did not answer with one vector a text",
                got=f"shape {rows.shape}",
                expected=f"{len(batch)} rows of finite numbers",
            )
        return rows


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        sent = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode() or " "
        if batch and (len(batch) == BATCH_TEXTS or size + len(sent) > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(sent)
        size += len(sent)
    if batch:
        yield batch
