"""A knowledge base of labelled texts with centroids, a learned metric and nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from codeguard.index.embedding import Embedding, LexicalEmbedding, open_embedding
from codeguard.index.embedding.base import Vectors, unit_rows
from codeguard.text.model import Document, TextDefenseError

Floats = NDArray[np.float64]
POWER = 8.0  # of a neighbour's cosine in its weight
NEIGHBOUR_BLOCK = 512  # rows compared at once: 512 x 100,000 float32 similarities are 200 MB


class LabelledBase:
    """Vectors and labels of documents whose labels are taken to be right.

    `vectors` has shape (n, dimension) with rows of length 1, `labels` has n entries. The base is
    immutable.
    """

    def __init__(self, vectors: NDArray[np.float32], labels: Sequence[str], embedding: Embedding) -> None:
        """Take vectors and their labels; use `of` to embed documents.

        Raises:
            TextDefenseError: the counts differ, a label is empty, or a vector is not finite.
        """
        if len(vectors) != len(labels):
            raise TextDefenseError("labelled base", got=f"{len(labels)} labels", expected=f"{len(vectors)}")
        if not all(labels):
            raise TextDefenseError("a document of the labelled base has no label")
        if not np.isfinite(vectors).all():
            raise TextDefenseError("the embedding gave a value that is not finite")
        self.embedding = embedding
        self.vectors = vectors
        self.names: tuple[str, ...] = tuple(sorted(set(labels)))
        index = {name: position for position, name in enumerate(self.names)}
        self.codes: NDArray[np.intp] = np.array([index[label] for label in labels], dtype=np.intp)

    @classmethod
    def of(cls, documents: Sequence[Document], embedding: Embedding) -> LabelledBase:
        """Embed documents and return them as a base."""
        vectors = embedding.embed([document.text for document in documents])
        return cls(vectors, [document.label for document in documents], embedding)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def centroids(self) -> Floats:
        """Mean vector of each label in the order of `names`; shape (labels, dimension)."""
        return centroids(self.vectors.astype(np.float64), self.codes, len(self.names))

    @cached_property
    def metric(self) -> Floats:
        """Whitening matrix W of shape (dimension, dimension): x @ W has equal within-label spread in all directions.

        W is the inverse Cholesky factor of the within-label covariance. The covariance is shrunk as
        in Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices"
        (2004), so that W exists even with fewer documents than dimensions.
        """
        residuals = self.vectors.astype(np.float64) - self.centroids[self.codes]
        covariance = shrunk_covariance(residuals)
        inverse: Floats = np.linalg.inv(np.linalg.cholesky(covariance)).T
        return inverse

    def centroid_similarity(self, vectors: NDArray[np.floating], *, whitened: bool) -> Floats:
        """Return the cosine of each vector to each label's centroid; shape (n, labels).

        With `whitened`, vectors and centroids are first centred on the mean of the centroids and
        multiplied by `metric`. The nearest centroid is then the prediction of linear discriminant
        analysis with equal priors.
        """
        rows, centers = vectors.astype(np.float64), self.centroids
        if whitened:
            middle = centers.mean(axis=0)
            rows, centers = (rows - middle) @ self.metric, (centers - middle) @ self.metric
            # Nearest by distance, shown as a cosine-like figure: with two labels the
            # centroids lie opposite each other and both orders agree.
            if len(self.names) > 2:
                offsets = np.sum(centers * centers, axis=1) / 2
                scale = np.linalg.norm(rows, axis=1, keepdims=True) * np.linalg.norm(centers, axis=1).mean()
                fits: Floats = (rows @ centers.T - offsets) / np.maximum(scale, 1e-12)
                return fits
        cosines: Floats = _unit(rows) @ _unit(centers).T
        return cosines

    def neighbour_shares(self, vectors: NDArray[np.float32], k: int) -> Floats:
        """Return every label's share of the k nearest documents of each vector; shape (n, labels).

        A neighbour's weight is its cosine to the power `POWER`; negative cosines count as 0.
        """
        count = min(k, len(self))
        shares = np.zeros((len(vectors), len(self.names)))
        for start in range(0, len(vectors), NEIGHBOUR_BLOCK):
            block = vectors[start : start + NEIGHBOUR_BLOCK] @ self.vectors.T
            nearest = np.argpartition(-block, count - 1, axis=1)[:, :count]
            similarity = np.take_along_axis(block, nearest, axis=1).astype(np.float64)
            weight = np.maximum(similarity, 1e-9) ** POWER
            for code in range(len(self.names)):
                shares[start : start + len(block), code] = np.where(
                    self.codes[nearest] == code, weight, 0.0
                ).sum(axis=1)
        normalised: Floats = shares / shares.sum(axis=1, keepdims=True)
        return normalised


def centroids(vectors: Floats, codes: NDArray[np.intp], count: int) -> Floats:
    """Return the mean vector of each code from 0 to count - 1; zeros for a code without vectors."""
    sums = np.zeros((count, vectors.shape[1]))
    np.add.at(sums, codes, vectors)
    sizes = np.bincount(codes, minlength=count)
    means: Floats = sums / np.maximum(sizes, 1)[:, None]
    return means


def shrunk_covariance(residuals: Floats) -> Floats:
    """Return the Ledoit-Wolf estimate of the covariance of centred rows; shape (dimension, dimension)."""
    count, dimension = residuals.shape
    sample = residuals.T @ residuals / count
    level = max(float(np.trace(sample)) / dimension, 1e-12)
    identity = np.eye(dimension)
    spread = float(np.sum((sample - level * identity) ** 2))
    squares = residuals * residuals
    noise = float(np.sum(squares.T @ squares / count - sample * sample)) / count
    share = 1.0 if spread <= 0 else min(max(noise, 0.0), spread) / spread
    # A floor keeps the Cholesky factor defined where every document of a label is the same.
    share = max(share, 1e-6)
    shrunk: Floats = (1 - share) * sample + share * level * identity
    return shrunk


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = rows / np.maximum(lengths, 1e-12)
    return scaled


class JoinedEmbedding:
    """Two embeddings side by side, so that a cosine is the mean of their two cosines.

    A sentence embedding places "you have won" and "you won the match" close together, and spam
    filters live on the spelling that tells them apart. A lexical embedding sees the spelling and
    misses the meaning.
    """

    def __init__(self, first: Embedding, second: Embedding) -> None:
        """Take two embeddings; each has half of the weight."""
        self._parts = (first, second)
        self.identity = f"{first.identity}+{second.identity}"
        self.dimension = first.dimension + second.dimension
        self.note = first.note or second.note

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension) with rows of length 1."""
        return unit_rows(np.hstack([part.embed(texts) for part in self._parts]))


def label_embedding(name: str = "auto") -> Embedding:
    """Open an embedding by name and join it with the lexical one, unless it is the lexical one.

    Raises:
        EmbeddingError: the name is unknown or its model is not installed.
    """
    chosen = open_embedding(name, prose=True)
    if isinstance(chosen, LexicalEmbedding):
        return chosen
    return JoinedEmbedding(chosen, LexicalEmbedding())
