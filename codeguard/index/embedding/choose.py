"""Open an embedding by name, and list which can be opened here."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import entry_points
from pathlib import Path

from codeguard.errors import EmbeddingError, MissingExtraError
from codeguard.index.embedding.base import Embedding, EmbeddingInfo, EmbeddingKind, EmbeddingOptions
from codeguard.index.embedding.lexical import LexicalEmbedding

ENTRY_POINT_GROUP = "codeguard.embeddings"
DEFAULT = "static"  # what `auto` is for code
PACKAGE = __name__.rpartition(".")[0]
FIRST_SHOWN = (DEFAULT, "minilm", "lexical")


def open_embedding(
    name: str = "auto",
    *,
    model_dir: Path | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    prose: bool = False,
) -> Embedding:
    """Return the embedding of that name; EmbeddingError where it is unknown or cannot be used.

    `auto` is `static`, which was trained on code. For `prose` it is `minilm`
    where its weights and onnxruntime are found, else `lexical` with a note on
    how to get the other. For the options see
    `codeguard.index.embedding.base.EmbeddingOptions`; without `base_url` and
    `api_key` a service's own environment variables hold.
    """
    options = EmbeddingOptions("", model_dir, base_url, api_key)
    if name == "auto" and prose:
        return _for_prose(options)
    wanted, _, model = (DEFAULT if name == "auto" else name).partition(":")
    kind = _kind(wanted)
    if kind is None or bool(model) != kind.takes_model:
        known = ", ".join(("auto", *(item.shown for item in embedding_kinds())))
        raise EmbeddingError("unknown embedding", got=repr(name), expected=f"one of {known}")
    return kind.open(EmbeddingOptions(model, model_dir, base_url, api_key))


def available_embeddings() -> tuple[EmbeddingInfo, ...]:
    """Return every kind of embedding, with where it was found or why it cannot be used.

    MiniLM's files are read and verified for it (90 MB); no model is started.
    """
    options = EmbeddingOptions()
    return tuple(EmbeddingInfo(kind.shown, *kind.state(options)) for kind in embedding_kinds())


def embedding_kinds() -> tuple[EmbeddingKind, ...]:
    """Return every kind: ours, those of `auto` first, then third parties' by name.

    Raises:
        EmbeddingError: a third party's kind cannot be loaded, or is none.
    """
    modules = (module.name for module in pkgutil.iter_modules(_folders()))
    ours = [kind for name in modules if (kind := _in_module(name)) is not None]
    ours.sort(
        key=lambda kind: (
            FIRST_SHOWN.index(kind.name) if kind.name in FIRST_SHOWN else len(FIRST_SHOWN),
            kind.name,
        )
    )
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    theirs = [_third_party(point.name) for point in points if point.name not in {kind.name for kind in ours}]
    return (*ours, *(kind for kind in theirs if kind is not None))


def by_workers(name: str) -> bool:
    """Return whether other processes may open an embedding: a service's key stays here, a model is downloaded once."""
    kind = _kind(name)
    return kind is not None and kind.by_workers


def _folders() -> list[str]:
    """Return where the package's modules are, also one that was added to its path."""
    return list(importlib.import_module(PACKAGE).__path__)


def _kind(name: str) -> EmbeddingKind | None:
    """Return the kind of a name; no other one's libraries are imported for it."""
    module = name.replace("-", "_")
    there = {item.name for item in pkgutil.iter_modules(_folders())}
    found = _in_module(module) if module in there else None
    return found if found is not None and found.name == name else _third_party(name)


def _in_module(name: str) -> EmbeddingKind | None:
    found = getattr(importlib.import_module(f"{PACKAGE}.{name}"), "KIND", None)
    return found if isinstance(found, EmbeddingKind) else None


def _third_party(name: str) -> EmbeddingKind | None:
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        try:
            found = point.load()
        except Exception as error:  # a third party's import may raise anything
            raise EmbeddingError(
                f"embedding {name!r} ({point.value}) cannot be loaded: {error!r}",
                hint="uninstall its package or fix it",
            ) from error
        if not isinstance(found, EmbeddingKind) or found.name != name:
            raise EmbeddingError(
                f"embedding {name!r} ({point.value})",
                got=type(found).__name__,
                expected=f"an EmbeddingKind named {name!r}",
            )
        return found
    return None


def _for_prose(options: EmbeddingOptions) -> Embedding:
    from codeguard.index.embedding.minilm import MiniLMEmbedding

    try:
        return MiniLMEmbedding.open(options.model_dir)
    except (EmbeddingError, MissingExtraError) as error:
        return LexicalEmbedding(note=f"embedding by words alone: {error}")
