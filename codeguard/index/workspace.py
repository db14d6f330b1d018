"""The parts that index and query share, opened on first use and closed together."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import secrets
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from codeguard.behavior.specs.files import SHIPPED, SpecFile, digest_of, spec_files
from codeguard.behavior.version import POLICY_VERSION
from codeguard.config import CATALOG, DefenseConfig, Settings, below_level
from codeguard.corpus.chunking import CHUNKER_ID
from codeguard.corpus.discovery import stamp_of
from codeguard.errors import REBUILD, EmbeddingError, ManifestError, NoIndexError, StoreError
from codeguard.index import trusted_paths
from codeguard.index.behavior_reports import BehaviorReports, CheckWorkers, IndexedFiles, Siblings
from codeguard.index.catalog import EXCLUDED_GLOBS, INDEXED_PATHS, SIGNED_TREES, TRUSTED_PATHS, Catalog
from codeguard.index.report import SandboxBudget
from codeguard.index.swapping import READY, WORKING, WRITING, finish_swap, held
from codeguard.index.trusted_paths import TrustedPath, trusted_by_name
from codeguard.models import SourceFile, parts_digest, text_digest
from codeguard.trust.installation import (
    SECRET_BYTES,
    ForeignStateError,
    claim,
    ensure_ours,
    key_and_note,
    seed_of,
    set_aside,
    set_aside_warning,
)
from codeguard.trust.manifest import Manifest, manifest_from_json, manifest_to_json
from codeguard.trust.signed_trees import SignedTree, from_text, together, verified_trees
from codeguard.trust.signed_trees import to_text as trees_text
from codeguard.trust.verified import VerifiedManifest, narrowed, verify_unsigned
from codeguard.workers.processes import default_workers, workers_of

if TYPE_CHECKING:
    from codeguard.analysis.perplexity import PerplexityModel
    from codeguard.index.embedding import Embedding
    from codeguard.index.report import Suspect, Trend
    from codeguard.index.static_evidence import StaticEvidence
    from codeguard.index.store import Vectors
    from codeguard.sandbox.zygotes import Texts
    from codeguard.workers.tasks import Shared

T = TypeVar("T")


class Stage(StrEnum):
    """What can already be used of an index that is being built; each stage includes the previous ones."""

    WORDS = "words"  # files are being chunked; trust is that of the previous index
    VECTORS = "vectors"  # trust is known, vectors follow
    CHECKS = "checks"  # evidence and behavior checks follow
    COMPLETE = "complete"


# Values and settings of the catalog.
UNSIGNED, PERPLEXITY, TRAINED_ON = "unsigned", "perplexity/2", "trained_on"
LAST_RUN, TREND = "last run", "trend"
PLACE = "place"  # a setting of the catalog: where the state directory is
_OF_THIS_PROCESS = secrets.token_bytes(SECRET_BYTES)  # a key where none can be stored
STAGE = "stage"  # a setting of the catalog: how far the last index has come


def usable_key() -> tuple[bytes, str]:
    """Return the key that authenticates stored data, or a temporary one if none can be stored; and a note on it."""
    try:
        return key_and_note()
    except StoreError as error:
        return _OF_THIS_PROCESS, f"{error}: cached evidence is computed anew"


def open_state(settings: Settings, *, create: bool, renew: bool) -> tuple[bytes, list[str]]:
    """Return the key of the state directory, which is checked, created or set aside, and warnings.

    Raises:
        StoreError: it is of another installation and `renew` is not given, or accessible to others.
    """
    state, shared = settings.state, settings.shared_state
    key, note = usable_key()
    warnings = [note] if note else []
    try:
        ours = (claim if create else ensure_ours)(state, key, shared)
    except ForeignStateError as error:
        if not renew:
            if note:  # which is why
                raise ForeignStateError(
                    error.what, got=error.got, expected=error.expected, hint=note
                ) from None
            raise
        place = set_aside(state)
        warnings.append(set_aside_warning(error, place))
        ours = claim(state, key, shared)
    except OSError as error:
        raise StoreError(
            f"the state directory {state} cannot be made ({error.strerror})",
            hint="choose another with --store",
        ) from None
    if not ours:
        warnings.append(
            f"{state} is shared with other installations: evidence that this one did not write is computed anew"
        )
    return key, warnings


class Workspace:
    """A state directory with its catalog, vectors, manifest and models.

    Args:
        settings: where everything is.
        create: create the state directory; if False, a missing index is an error.
        renew: move the state directory of another installation aside, and create a new one.
    """

    def __init__(self, settings: Settings, *, create: bool = False, renew: bool = False) -> None:
        self.settings = settings
        self.state = settings.state
        self.warnings: list[str] = []
        self._vectors: Vectors | None = None
        self._trust_state: tuple[object, ...] = ()
        self.ran_at = ""  # the lowest sandbox level of the checks that ran for this object
        self._material: tuple[object, Shared] | None = None
        if not create and not any(os.path.lexists(self.state / name) for name in (CATALOG, READY)):
            raise NoIndexError(f"no index in {self.state}", hint=_how_to_make(settings))
        self._key = self._opened_state(create, renew)
        finish_swap(self.state)
        self.catalog = Catalog(self.state / CATALOG, self._key)
        try:
            self._check_make(create)
            self._follow_move()
        except BaseException:
            self.catalog.close()
            raise

    def _opened_state(self, create: bool, renew: bool) -> bytes:
        key, warnings = open_state(self.settings, create=create, renew=renew)
        self.warnings.extend(warnings)
        return key

    def _check_make(self, create: bool) -> None:
        """Refuse an index that was built with another chunker, embedding or store, or never completed."""
        if not create and self.catalog.meta("embedding") is None and not self.catalog.count():
            with self.writing() as alone:
                pass
            if not alone:
                raise NoIndexError(
                    f"the index in {self.state} is being made, and nothing in it can be found yet",
                    hint="ask again in a moment",
                )
            raise NoIndexError(
                f"no index in {self.state}: its making failed", hint=_how_to_make(self.settings)
            )
        made_with = self.catalog.meta("chunker")
        if made_with is not None and made_with != CHUNKER_ID:
            raise StoreError(
                f"the index in {self.state} was made with another chunker",
                got=CHUNKER_ID,
                expected=made_with,
                hint=REBUILD,
            )
        store = self.catalog.meta("store")
        if store is not None and store != self._store_identity:
            raise StoreError(
                f"the catalog in {self.state} belongs to another store",
                got=self._store_identity,
                expected=store,
                hint="give that store, or another state_dir in the configuration",
            )

    def remember_place(self, root: Path) -> None:
        """Record the folder that names are relative to, and where the state is."""
        with self.catalog.changing():
            self.catalog.set_meta("root", str(root))
            self.catalog.set_meta(PLACE, str(self.state.resolve()))

    def _follow_move(self) -> None:
        """Give every path its new place if the project was moved, with this state in it and none in its old place."""
        root, before = Path(self.catalog.meta("root") or ""), Path(self.catalog.meta(PLACE) or "")
        here = self.state.resolve()
        if before == here or not before.is_relative_to(root) or root.is_dir():
            return
        inside = before.relative_to(root).parts
        if here.parts[len(here.parts) - len(inside) :] != inside:
            return
        now = Path(*here.parts[: len(here.parts) - len(inside)])

        def moved(path: Path) -> Path:
            return now / path.relative_to(root) if path.is_relative_to(root) else path

        trees = [replace(tree, folder=moved(tree.folder)) for tree in self.signed_trees]
        known = [replace(item, path=str(moved(Path(item.path)))) for item in self.trusted_paths]
        with self.catalog.changing():
            self.indexed_paths = [moved(path) for path in self.indexed_paths]
            self.catalog.set_meta(SIGNED_TREES, trees_text(trees))
            self.catalog.set_meta(TRUSTED_PATHS, trusted_paths.to_text(known))
            self.remember_place(now)

    @property
    def _store_identity(self) -> str:
        return self.settings.store if self.settings.remote else "embedded"

    def stage(self) -> Stage:
        """Return the stage that the last indexing run reached, or has reached so far."""
        kept = self.catalog.meta(STAGE)
        return Stage(kept) if kept in set(Stage) else Stage.COMPLETE

    def reached(self, stage: Stage) -> None:
        """Record the stage that indexing has reached."""
        self.catalog.set_meta(STAGE, stage.value)

    def under_way(self) -> bool:
        """Return whether another process is indexing now and will finish what it has begun."""
        if self.stage() is Stage.COMPLETE:
            return False
        with self.writing() as alone:
            return not alone

    def remember_chunker(self) -> None:
        """Record the chunker and the store, once."""
        if self.catalog.meta("chunker") is None:
            with self.catalog.transaction():
                self.catalog.set_meta("chunker", CHUNKER_ID)
                self.catalog.set_meta("store", self._store_identity)

    def refuse_embedding(self) -> None:
        """Raise EmbeddingError, before anything is written, if the requested embedding cannot be used.

        For a new index, `auto` is resolved later, when its words can already be searched.
        """
        if self.settings.embedding != "auto" or self.catalog.meta("embedding") is not None:
            self.embedding  # noqa: B018, opened here and kept

    def remember_embedding(self) -> None:
        """Record the embedding, once."""
        from codeguard.index.embedding import DEFAULT

        if self.catalog.meta("embedding") is not None:
            return
        with self.catalog.transaction():
            self.catalog.set_meta("embedding", self.embedding.identity)
            named = self.settings.embedding
            self.catalog.set_meta("embedding_name", DEFAULT if named == "auto" else named)

    @cached_property
    def embedding(self) -> Embedding:
        """The embedding of the index; "auto" means the one the index was built with."""
        from codeguard.index.embedding import open_embedding  # `check` and `audit` must not import it

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
                hint="leave --embedding out, or " + REBUILD,
            )
        return embedding

    @property
    def vectors(self) -> Vectors:
        """The vector store."""
        if self._vectors is None:
            # `check` and `audit` must not import them, and only what needs a server imports chromadb.
            if self.settings.remote:
                from codeguard.index.store.chroma import ChromaServer

                settings = self.settings
                self._vectors = ChromaServer(settings.store, settings.headers, settings.wait_s)
            else:
                from codeguard.index.store.folder import FolderVectors

                self._vectors = FolderVectors(self.catalog)
        return self._vectors

    @cached_property
    def manifest(self) -> VerifiedManifest | None:
        """The verified manifest of the trusted paths, None if nothing is trusted.

        Signed manifests are verified anew, each in its tree.

        Raises ManifestError, ConfigError: one is missing or refused, or a signature is required and
        the manifest of some trusted path has none.
        """
        parts = verified_trees(self.signed_trees, self.settings)
        unsigned = self.unsigned_manifest
        if unsigned is not None and unsigned.files:
            signature = self.settings.require_signature
            parts.append((".", verify_unsigned(unsigned, require_signature=signature)))
        verified, known = together(parts), self.trusted_paths
        if verified is None or all(item.trusted for item in known):
            return verified
        return narrowed(verified, lambda name: trusted_by_name(name, known))

    @property
    def unsigned_manifest(self) -> Manifest | None:
        """What is trusted only because of `index --trust`; see `unsigned_of`."""
        return unsigned_of(self.catalog)

    def save_manifest(self, manifest: Manifest) -> None:
        """Store the unsigned manifest."""
        statement = manifest_to_json(manifest).decode()
        with self.catalog.changing():
            self.catalog.put_analyses({UNSIGNED: {"statement": statement}})
            self.catalog.set_meta(UNSIGNED, text_digest(statement))

    def train_perplexity(self) -> None:
        """Train the character model on a sample of the trusted code, unless it was trained on exactly that."""
        digest, kept = self.trust_digest, self.catalog.analysis(PERPLEXITY)
        if self.catalog.meta(TRAINED_ON) == digest and kept is not None:
            return
        from codeguard.analysis.perplexity import PerplexityModel, sample_of  # brings numpy

        texts = self._texts()
        key = parts_digest(*sample_of(texts))
        with self.catalog.changing():
            if kept is None or kept.get("sample") != key:
                data = PerplexityModel.train(texts).to_bytes() if texts else b""
                model = base64.b64encode(zlib.compress(data, 1)).decode("ascii")
                self.catalog.put_analyses({PERPLEXITY: {"model": model, "sample": key}})
            self.catalog.set_meta(TRAINED_ON, digest)
        self.forget_trust()

    def _texts(self) -> list[str]:
        return [file.text for file in self.trusted_files() if file.text.strip()]

    @property
    def signed_trees(self) -> list[SignedTree]:
        """The locations of signed manifests, as found by the last `index --trust`."""
        return self._decoded(SIGNED_TREES, from_text)

    @property
    def trusted_paths(self) -> list[TrustedPath]:
        """The paths that the user trusts, from all runs so far."""
        return self._decoded(TRUSTED_PATHS, trusted_paths.from_text)

    @property
    def indexed_paths(self) -> list[Path]:
        """The paths given to all runs so far, without paths inside others."""
        return [Path(item) for item in json.loads(self.catalog.meta(INDEXED_PATHS) or "[]")]

    @indexed_paths.setter
    def indexed_paths(self, paths: Sequence[Path]) -> None:
        kept = trusted_paths.outermost(paths)
        self.catalog.set_meta(INDEXED_PATHS, json.dumps([str(path) for path in kept]))

    def excluded(self, more: Sequence[str] = ()) -> list[str]:
        """Return the patterns of files to leave out: the configuration's, those of all runs so far, and `more`."""
        return [*self.settings.exclude, *self.excluded_by_runs(more)]

    def excluded_by_runs(self, more: Sequence[str]) -> list[str]:
        """Return the runs' patterns; a later GLOB takes the place of an earlier one, and `!GLOB` takes it back."""
        before = json.loads(self.catalog.meta(EXCLUDED_GLOBS) or "[]")
        taken_back = {f"!{item}" for item in before}
        left = [item for item in before if item not in more and f"!{item}" not in more]
        return [*left, *(item for item in more if item not in taken_back)]

    @property
    def suspects(self) -> list[dict[str, Any]] | None:
        """What the last run convicted or demoted, as plain values; None if it was ended early."""
        return (self.catalog.analysis(LAST_RUN) or {}).get("suspects")

    @suspects.setter
    def suspects(self, found: Sequence[Suspect] | None) -> None:
        kept = None if found is None else [asdict(item) for item in found]
        if kept != self.suspects:
            self.catalog.put_analyses({LAST_RUN: {"suspects": kept}})

    @property
    def trend(self) -> Trend | None:
        """What the last run that changed something did to them; None if there was one run alone."""
        from codeguard.index.report import Trend

        kept = self.catalog.analysis(TREND)
        return Trend(*(tuple(kept[name]) for name in ("newly", "no_longer"))) if kept else None

    @trend.setter
    def trend(self, found: Trend | None) -> None:
        if found is not None and found != self.trend:
            self.catalog.put_analyses({TREND: asdict(found)})

    def _decoded(self, key: str, decode: Callable[[str | None], list[T]]) -> list[T]:
        try:
            return decode(self.catalog.meta(key))
        except (TypeError, ValueError):
            raise self.catalog.damaged(f"its setting {key!r} is unreadable") from None

    @cached_property
    def perplexity(self) -> PerplexityModel | None:
        """The character model of the trusted code, None if there is none yet."""
        from codeguard.analysis.perplexity import PerplexityModel  # brings numpy

        kept = self.catalog.analysis(PERPLEXITY)
        if kept is None:
            return PerplexityModel.train(texts) if (texts := self._texts()) else None
        data = zlib.decompress(base64.b64decode(kept["model"]))
        return PerplexityModel.from_bytes(data) if data else None

    @cached_property
    def seed(self) -> bytes:
        """The installation's secret seed for generated inputs, 32 bytes."""
        return seed_of(self.settings, self._key)

    @cached_property
    def given(self) -> Texts:
        """The texts of the modules that the user allows trusted code to import in the sandbox."""
        if not self.settings.defense.modules:
            return ()
        from codeguard.sandbox import read_given

        return read_given(self.settings.defense.modules)

    @property
    def level(self) -> str:
        """The sandbox level of the verdicts: the stored one, unless too low while a check must run here."""
        kept = self.catalog.meta("sandbox_level") or ""
        return self.ran_at if below_level(self.ran_at, self.settings.defense.required_level) else kept

    @cached_property
    def _spec_files(self) -> tuple[tuple[SpecFile, ...], tuple[SpecFile, ...]]:
        return spec_files(map(Path, self.settings.specs)), spec_files([SHIPPED])

    def trusted_files(self) -> list[SourceFile]:
        """Return the catalog's files that the manifest covers unchanged."""
        if self.manifest is None:
            return []
        found = []
        for path, state in self.catalog.files().items():
            if not self.manifest.covers(path, state.sha256):
                continue
            file = self.catalog.file(path)
            # The catalog's record of the file is not enough: each of its chunks must be a listed text.
            listed = self.manifest.files[path].chunks
            if file is not None and tuple(chunk.sha256 for chunk in file.chunks) == listed:
                found.append(file)
        return found

    def material(self, static: StaticEvidence, executor: Executor | None = None) -> Shared:
        """Return the material that the workers of an executor need for checks, by default this process's worker."""
        from codeguard.behavior.specs.everyones import locked_wheels
        from codeguard.index.evidence_tasks import (  # imports the checker
            material,
            standard_functions,
            trusted_facts,
        )
        from codeguard.index.file_tasks import compared

        executor = executor or default_workers()
        zygotes = max(1, (self.settings.jobs or os.cpu_count() or 1) // workers_of(executor))
        key = (static.version, self.epoch, zygotes)
        if self._material is None or self._material[0] != key:
            files = self.trusted_files()
            trusted = None if self.manifest is None else files
            locked, others = locked_wheels(self.settings.defense.wheels, files)
            if others:
                more = f", {len(others)} in all" if len(others) > 1 else ""
                self.warnings.append(
                    f"no trusted requirements file has the hash of {others[0]}{more}: not compared with"
                )
            made = material(
                trusted=trusted,
                comparing=compared(trusted, static.names, executor, self.catalog),
                specs=self._spec_files[0],
                seed=self.seed,
                required_level=self.settings.defense.required_level,
                given=self.given,
                locked=locked,
                zygotes=zygotes,
                facts=trusted_facts(executor, files, self.catalog),
                standard=standard_functions(self.catalog),
            )
            self._material = key, made
        return self._material[1]

    def checks(self, executor: Executor | None = None) -> CheckWorkers:
        """Return the runner of behavior checks: an executor's workers, or this process's shared worker."""
        from codeguard.index.evidence_tasks import Checks

        executor = executor or default_workers()
        static = self.static_evidence(self.settings.defense)
        return Checks(executor, partial(self.material, static, executor), self.catalog)

    @property
    def specs_digest(self) -> str:
        """The digest of the hand-written specs, computed without parsing them."""
        own, shipped = self._spec_files
        return digest_of([*own, *shipped])

    @property
    def trust_digest(self) -> str:
        """The digest of the trusted files, names and bytes."""
        trusted = hashlib.sha256()
        for path, entry in sorted(self.manifest.files.items() if self.manifest is not None else ()):
            trusted.update(f"{path}\0{entry.sha256}\0".encode("utf-8", "surrogatepass"))
        return trusted.hexdigest()

    @property
    def epoch(self) -> str:
        """The digest of everything behavior reports depend on besides the candidate and its file."""
        level = self.catalog.meta("sandbox_level") or ""
        seed_id = hashlib.sha256(b"seed" + self.seed).hexdigest()
        return parts_digest(
            POLICY_VERSION,
            sys.version,  # its library is a reference
            self.specs_digest,
            self.trust_digest,
            level,
            self.settings.defense.required_level,
            seed_id,
            *(part for text in self.given for part in text),
            *self._wheels,
        )

    @cached_property
    def _wheels(self) -> list[str]:
        """The wheels that the user names, by path and stamp: what a trusted file locks of them is in `trust_digest`."""
        if not self.settings.defense.wheels:
            return []
        from codeguard.behavior.specs.everyones import wheels_in  # brings the checker

        files = wheels_in(self.settings.defense.wheels)
        return [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path in files for stat in [path.stat()]]

    def reports(
        self,
        *,
        known_only: bool = False,
        executor: Executor | None = None,
        siblings: Siblings | None = None,
    ) -> BehaviorReports:
        """Return the source of behavior reports for the current epoch, with the budget of one run.

        See `checks` for the executor. With `known_only` nothing is run. `siblings` finds what files import, where not
        only the index counts.
        """
        level = self.catalog.meta("sandbox_level") or ""
        checks = partial(self.checks, executor)
        return BehaviorReports(
            checks,
            self.epoch,
            self.catalog,
            budget=SandboxBudget.of(self.settings.defense),
            known_only=known_only,
            level=level,
            siblings=siblings or self.siblings(),
        )

    def siblings(self) -> Siblings:
        """Return what finds the files that an indexed file imports, as the index is now."""
        return Siblings(IndexedFiles(self.catalog, self.manifest))

    @contextlib.contextmanager
    def writing(self, waiting: Callable[[], None] | None = None) -> Iterator[bool]:
        """Hold the right to change this index; yield whether it was acquired (see `swapping.held`)."""
        with held(self.state / WRITING, waiting, WORKING * self.settings.wait_s) as alone:
            yield alone

    def refresh(self) -> None:
        """Reload catalog and trust if another process has replaced or changed them.

        Raises:
            NoIndexError: the catalog is gone. An empty one in its place would answer that there is nothing.
        """
        finish_swap(self.state)
        if self.catalog.replaced():
            if not (self.state / CATALOG).exists():
                raise NoIndexError(f"no index in {self.state}", hint=_how_to_make(self.settings))
            self._close_vectors()
            self.catalog.close()
            self.catalog = Catalog(self.state / CATALOG, self._key)
            self._check_make(create=True)
            self.__dict__.pop("embedding", None)
        state = tuple(self.catalog.meta(key) for key in (UNSIGNED, TRAINED_ON, SIGNED_TREES))
        if state != self._trust_state:
            self._trust_state = state
            self.forget_trust()

    def static_evidence(self, config: DefenseConfig) -> StaticEvidence:
        """Return the static evidence about indexed files, by the weights of a configuration."""
        from codeguard.index.static_evidence import StaticEvidence

        return StaticEvidence(
            config.weights,
            catalog=self.catalog,
            epoch=self.trust_digest,
            trusted=self.trusted_files if self.manifest is not None else None,
            enabled=config.enabled,
            material=self.material,
        )

    def forget_trust(self) -> None:
        """Reload manifest and model after the trusted files changed."""
        for name in ("manifest", "perplexity"):
            self.__dict__.pop(name, None)

    def close(self) -> None:
        """Release catalog and store."""
        self._close_vectors()
        self.catalog.close()

    def _close_vectors(self) -> None:
        if self._vectors is not None:
            self._vectors.close()
            self._vectors = None


def unsigned_of(catalog: Catalog) -> Manifest | None:
    """Return the unsigned manifest in a catalog, None if there is none.

    Raises ManifestError if it is not the one last written.
    """
    digest = catalog.meta(UNSIGNED)
    if digest is None:
        return None
    statement = str((catalog.analysis(UNSIGNED) or {}).get("statement"))
    if text_digest(statement) != digest:
        raise ManifestError(
            f"the unsigned manifest in {catalog.path} is not the last one written",
            hint="trust its paths again with: codeguard index PATH… --trust PATH",
        )
    return manifest_from_json(statement.encode())


def _how_to_make(settings: Settings) -> str:
    if settings.remote:
        return f"make or rebuild it from the files with: codeguard index PATH… --trust PATH --store {settings.store}"
    return "make one with: codeguard index PATH… --trust PATH"


def stamp(path: Path) -> str:
    """Return what changes when a file of the state does, "" if there is none."""
    try:
        return stamp_of(path.stat())
    except OSError:
        return ""
