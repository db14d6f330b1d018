"""The parts that index and query share, each opened when it is first needed and closed together."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from codeguard.behavior.specfiles import SHIPPED, SpecFile, digest_of, spec_files
from codeguard.behavior.version import POLICY_VERSION
from codeguard.catalog import Catalog
from codeguard.checks import BehaviorReports, is_test
from codeguard.chunking import CHUNKER_ID
from codeguard.config import CATALOG, DefenseConfig, Settings, user_config_dir
from codeguard.errors import CodeguardError, EmbeddingError, StoreError
from codeguard.models import SourceFile
from codeguard.provenance import Manifest, VerifiedManifest, load_unsigned, save_unsigned, verify_unsigned
from codeguard.provenance.local import UNSIGNED_NAME
from codeguard.secret import SECRET_BYTES, kept_secret
from codeguard.signed_trust import SignedTree, from_text, to_text, together, verified_trees

if TYPE_CHECKING:
    from codeguard.behavior import BehaviorChecker, SpecLibrary
    from codeguard.embedding import Embedding
    from codeguard.perplexity import PerplexityModel
    from codeguard.sandbox import Sandbox
    from codeguard.static_evidence import StaticEvidence
    from codeguard.store import Vectors, VectorStore

PERPLEXITY = "perplexity.npz"
SEED = "seed"
VECTORS = "chroma"
SIGNED_TREES = "signed_trees"
WRITING = "index.lock"


class Workspace:
    """A state directory with its catalog, vectors, manifest, models and sandbox.

    Args:
        settings: where everything is.
        create: make the state directory; without it a missing index is an error.
    """

    def __init__(self, settings: Settings, *, create: bool = False) -> None:
        self.settings = settings
        self.state = settings.state
        self.warnings: list[str] = []
        self._sandbox: Sandbox | None = None
        self._vectors: Vectors | None = None
        self._trust_state: tuple[object, ...] = ()
        if not create and not (self.state / CATALOG).exists():
            raise StoreError(f"no index in {self.state}", hint=_how_to_make(settings))
        if create:
            try:
                self.state.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"the state directory {self.state} cannot be made ({error.strerror})",
                    hint="choose another with --store",
                ) from None
        self._key = self._evidence_key()
        self.catalog = Catalog(self.state / CATALOG, self._key)
        try:
            self._check_make()
        except BaseException:
            self.catalog.close()
            raise

    def _check_make(self) -> None:
        """Refuse an index that was made with another chunker, embedding or store."""
        made_with = self.catalog.meta("chunker")
        if made_with is not None and made_with != CHUNKER_ID:
            raise StoreError(
                f"the index in {self.state} was made with another chunker",
                got=CHUNKER_ID,
                expected=made_with,
                hint="index again into a new folder (--store)",
            )
        store = self.catalog.meta("store")
        if store is not None and store != self._store_identity:
            raise StoreError(
                f"the catalog in {self.state} belongs to another store",
                got=self._store_identity,
                expected=store,
                hint="give that store, or another state_dir in the configuration",
            )

    @property
    def _store_identity(self) -> str:
        return self.settings.store if self.settings.remote else "embedded"

    def remember_make(self) -> None:
        """Write down what the index is made with, once."""
        if self.embedding.note:
            self.warnings.append(self.embedding.note)
        if self.catalog.meta("embedding") is not None:
            return
        with self.catalog.transaction():
            self.catalog.set_meta("chunker", CHUNKER_ID)
            self.catalog.set_meta("store", self._store_identity)
            self.catalog.set_meta("embedding", self.embedding.identity)
            self.catalog.set_meta("embedding_name", self._embedding_name())

    def _embedding_name(self) -> str:
        """Return the name that opens this embedding again, whatever "auto" will mean by then."""
        if self.settings.embedding != "auto":
            return self.settings.embedding
        return "lexical" if self.embedding.identity.startswith("lexical") else "minilm"

    @cached_property
    def embedding(self) -> Embedding:
        """The embedding of the index; "auto" means the one the index was made with."""
        from codeguard.embedding import open_embedding  # `check` and `audit` must not load it

        remembered = self.catalog.meta("embedding")
        name = self.settings.embedding
        if name == "auto" and remembered is not None:
            name = self.catalog.meta("embedding_name") or name
        embedding = open_embedding(name)
        if remembered is not None and embedding.identity != remembered:
            raise EmbeddingError(
                f"the index in {self.state} was made with another embedding",
                got=embedding.identity,
                expected=remembered,
                hint="leave --embedding out, or index again into a new folder (--store)",
            )
        return embedding

    @property
    def vectors(self) -> Vectors:
        """The vector store."""
        if self._vectors is None:
            self._vectors = self._open_vectors()
        return self._vectors

    def _open_vectors(self) -> Vectors:
        from codeguard.store import SharedStore, VectorStore  # `check` and `audit` must not load it

        settings = self.settings
        if settings.share and not settings.remote:
            # Before the embedding is loaded: the serving process starts meanwhile.
            return SharedStore(self.state / VECTORS, idle_s=settings.share_idle_s)
        if settings.remote:
            return VectorStore.open_url(settings.store, settings.headers)
        return VectorStore.open_folder(self.state / VECTORS)

    @contextlib.contextmanager
    def exclusive_vectors(self) -> Iterator[VectorStore]:
        """Hold the embedded store in this process alone; whoever else uses it waits."""
        from codeguard.store import VectorStore

        if self._vectors is not None:
            self._vectors.close()
            self._vectors = None
        store = VectorStore.open_folder(self.state / VECTORS)
        try:
            yield store
        finally:
            store.close()

    @cached_property
    def manifest(self) -> VerifiedManifest | None:
        """The verified manifest of the trusted paths, None where nothing is trusted.

        Signed manifests are verified here and now, each in its tree.

        Raises ManifestError, ConfigError: one is missing or refused, or a signature is required and
        the manifest of some trusted path has none.
        """
        parts = verified_trees(self.signed_trees, self.settings)
        unsigned = self.unsigned_manifest
        if unsigned is not None and unsigned.files:
            signature = self.settings.require_signature
            parts.append((".", verify_unsigned(unsigned, require_signature=signature)))
        return together(parts)

    @property
    def unsigned_manifest(self) -> Manifest | None:
        """What the state directory lists as trusted on the word of `index --trust` alone."""
        return load_unsigned(self.state, seal_key=self._key)

    @property
    def signed_trees(self) -> list[SignedTree]:
        """Where signed manifests lie, as the last `index --trust` found them."""
        return from_text(self.catalog.meta(SIGNED_TREES))

    def save_signed_trees(self, trees: Sequence[SignedTree]) -> None:
        """Remember where signed manifests lie."""
        self.catalog.set_meta(SIGNED_TREES, to_text(trees))

    def save_manifest(self, manifest: Manifest) -> None:
        """Keep the unsigned manifest, sealed, so that a state directory of another hand is not believed."""
        save_unsigned(manifest, self.state, seal_key=self._key)

    @cached_property
    def perplexity(self) -> PerplexityModel | None:
        """The character model of the trusted code, None where there is none yet."""
        path = self.state / PERPLEXITY
        if not path.exists():
            return None
        from codeguard.perplexity import PerplexityModel  # brings numpy

        try:
            return PerplexityModel.load(path)
        except CodeguardError as error:
            self.warnings.append(f"perplexity is off: {error}")
            return None

    @cached_property
    def seed(self) -> bytes:
        """The installation's secret seed for generated inputs, 32 bytes."""
        if self.settings.fixed_seed is not None:
            return self.settings.fixed_seed
        return kept_secret(self.state / SEED)

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox, started when it first runs something."""
        from codeguard.sandbox import Level, Sandbox

        if self._sandbox is None:
            workers = self.settings.jobs or os.cpu_count() or 1
            self._sandbox = Sandbox(Level[self.settings.defense.required_level], workers=workers)
        return self._sandbox

    @cached_property
    def _spec_files(self) -> tuple[tuple[SpecFile, ...], tuple[SpecFile, ...]]:
        """The user's files of specs, and the shipped ones: what the digest is of is what is parsed."""
        return spec_files(map(Path, self.settings.specs)), spec_files([SHIPPED])

    @cached_property
    def specs(self) -> SpecLibrary:
        """The hand-written specs: shipped ones and the user's."""
        from codeguard.behavior import SpecLibrary

        return SpecLibrary.of(*self._spec_files)

    def trusted_files(self) -> list[SourceFile]:
        """Return the catalog's files that the manifest covers as they are."""
        if self.manifest is None:
            return []
        found = []
        for path, state in self.catalog.files().items():
            if not self.manifest.covers(path, state.sha256):
                continue
            file = self.catalog.file(path)
            # The catalog's word for the file is not enough: each chunk of it has to be the listed text.
            if file is not None and _digests(file) == self.manifest.files[path].chunks:
                found.append(file)
        return found

    @cached_property
    def library(self) -> SpecLibrary:
        """Specs together with what is derived from the trusted code."""
        files = self.trusted_files()
        return self.specs.with_trusted(files, [file for file in files if is_test(file.path)])

    @cached_property
    def checker(self) -> BehaviorChecker:
        """The behavior checker."""
        from codeguard.behavior import BehaviorChecker
        from codeguard.sandbox import Level

        return BehaviorChecker(
            self.library,
            self.sandbox,
            seed=self.seed,
            required_level=Level[self.settings.defense.required_level],
        )

    @property
    def specs_digest(self) -> str:
        """Digest of the hand-written specs, which are not parsed for it."""
        own, shipped = self._spec_files
        return digest_of([*own, *shipped])

    @property
    def trust_digest(self) -> str:
        """Digest of which files are trusted, and of their bytes."""
        trusted = hashlib.sha256()
        for path, entry in sorted(self.manifest.files.items() if self.manifest is not None else ()):
            trusted.update(f"{path}\0{entry.sha256}\0".encode("utf-8", "surrogatepass"))
        return trusted.hexdigest()

    @property
    def epoch(self) -> str:
        """Digest of what the behavior reports depend on beside the candidate and its file."""
        level = self.catalog.meta("sandbox_level") or ""
        seed_id = hashlib.sha256(b"seed" + self.seed).hexdigest()
        parts = (
            POLICY_VERSION,
            self.specs_digest,
            self.trust_digest,
            level,
            self.settings.defense.required_level,
            seed_id,
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def reports(self, budget_s: float | None = None) -> BehaviorReports:
        """Return the source of behavior reports for the current epoch."""
        level = self.catalog.meta("sandbox_level") or ""
        return BehaviorReports(lambda: self.checker, self.epoch, self.catalog, budget_s, level)

    @contextlib.contextmanager
    def writing(self, waiting: Callable[[], None] | None = None) -> Iterator[bool]:
        """Be the only one that changes this index; yield whether that is so (see `codeguard.writerlock.held`)."""
        from codeguard.writerlock import held  # brings logging, which reading does without

        with held(self.state / WRITING, waiting) as alone:
            yield alone

    def refresh(self) -> None:
        """Read trust anew where another process has changed it."""
        stamps = tuple(_stamp(self.state / name) for name in (UNSIGNED_NAME, PERPLEXITY))
        state = (*stamps, self.catalog.meta(SIGNED_TREES))
        if state != self._trust_state:
            self._trust_state = state
            self.forget_trust()

    def static_evidence(self, config: DefenseConfig) -> StaticEvidence:
        """Return what the static signals say of indexed files, by the weights of a configuration."""
        from codeguard.static_evidence import StaticEvidence

        return StaticEvidence(
            config.weights,
            catalog=self.catalog,
            epoch=self.epoch,
            trusted=self.trusted_files if self.manifest is not None else None,
            enabled=config.enabled,
        )

    def forget_trust(self) -> None:
        """Read manifest, models and specs anew after the trusted files changed."""
        for name in ("manifest", "perplexity", "library", "checker"):
            self.__dict__.pop(name, None)

    def _evidence_key(self) -> bytes:
        """Return the key that authenticates cached evidence; an ephemeral one where none can be kept."""
        try:
            return kept_secret(user_config_dir() / "evidence.key")
        except StoreError as error:
            self.warnings.append(f"{error}: cached evidence is computed anew")
            return secrets.token_bytes(SECRET_BYTES)

    def close(self) -> None:
        """Stop the sandbox and let go of catalog and store."""
        if self._sandbox is not None:
            self._sandbox.close()
        try:
            if self._vectors is not None:
                self._vectors.close()
        finally:
            self.catalog.close()


def _how_to_make(settings: Settings) -> str:
    if settings.remote:
        return f"make or rebuild it from the files with: codeguard index PATH… --trust PATH --store {settings.store}"
    return "make one with: codeguard index PATH… --trust PATH"


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _digests(file: SourceFile) -> tuple[str, ...]:
    return tuple(chunk.sha256 for chunk in file.chunks)
