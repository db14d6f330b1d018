"""Detect, at the cost of one stat per file and of reading the trusted ones, that an index run has nothing to do.

The last run stores its report in the catalog, authenticated, under a digest of everything that it depended on
besides the files: arguments, settings, codeguard's own code, the interpreter, the installed packages, and the files of
the state directory. If the digest and every file are the
same, so is the report. If anything differs or cannot be read, a full run is made.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from codeguard.config import CATALOG, Settings, below_level, user_config_dir
from codeguard.corpus.discovery import Discovery
from codeguard.corpus.stamps import stamp_of
from codeguard.errors import CodeguardError
from codeguard.index.catalog import (
    EXCLUDED_GLOBS,
    INDEXED_PATHS,
    SIGNED_TREES,
    TRUSTED_PATHS,
    Catalog,
)
from codeguard.index.on_disk import differing, found_on_disk
from codeguard.index.report import IndexReport
from codeguard.index.swapping import ROWS, VECTORS
from codeguard.index.trusted_paths import from_text
from codeguard.trust.installation import EVIDENCE_KEY, ensure_ours
from codeguard.trust.state_files import inode_of

LAST_RUN = "last run"
STATE_FILES = ("manifest.unsigned.json", "perplexity.npz", "seed", "accepted.jsonl")
STORE = (VECTORS, f"{VECTORS}/{ROWS}")  # if missing or replaced, they must be written again
SIGNED_NAME = "codeguard.manifest.json"
VARIABLES = ("CODEGUARD_", "CHROMA_", "HF_", "XDG_", "PATH", "PYTHON", "TMPDIR", "HOME")
UNIMPORTANT = {"jobs": None, "share": True, "share_idle_s": 0.0, "wait_s": 60.0}


def unchanged_report(
    settings: Settings,
    paths: Sequence[Path],
    trust: Sequence[Path],
    untrust: Sequence[Path] = (),
    exclude: Sequence[str] = (),
) -> IndexReport | None:
    """Return the report of a run with nothing to do, or None if the run must be made."""
    start = time.monotonic()
    path = settings.state / CATALOG
    try:
        key = (user_config_dir() / EVIDENCE_KEY).read_bytes()
        if not ensure_ours(settings.state, key, settings.shared_state) or not path.exists():
            return None
        with Catalog(path, key) as catalog:
            remembered = catalog.analysis(LAST_RUN)
            if remembered is None or catalog.intents():
                return None
            # A signature is verified anew each time, even if an earlier run verified it.
            if json.loads(catalog.meta(SIGNED_TREES) or "[]"):
                return None
            if remembered.get("inputs") != inputs_digest(settings, paths, trust, untrust):
                return None
            excluded = json.loads(catalog.meta(EXCLUDED_GLOBS) or "[]")
            if list(exclude) != excluded[len(excluded) - len(exclude) :]:
                return None
            root, files = catalog.meta("root"), catalog.files()
            tops = [Path(item) for item in json.loads(catalog.meta(INDEXED_PATHS) or "[]")]
            patterns = (*settings.exclude, *excluded)
            discovery = found_on_disk([*paths, *trust], Path(root or "."), settings, patterns, files, tops)
            if remembered.get("found") != _found_digest(discovery):
                return None
            if any(differing(discovery.files, files, from_text(catalog.meta(TRUSTED_PATHS)))):
                return None
        report = IndexReport.from_json(remembered["report"])
        defense = settings.defense
        if defense.enable_behavior and below_level(report.sandbox_level, defense.required_level):
            return None  # it may have become better
    except (CodeguardError, OSError, KeyError, TypeError, ValueError):
        return None
    return replace(
        report,
        added=0,
        removed=0,
        unchanged=len(discovery.files),
        checked=0,
        budget=report.budget and replace(report.budget, spent_s=0.0),
        notes=discovery.notes,
        seconds=time.monotonic() - start,
    )


def remember(
    catalog: Catalog,
    settings: Settings,
    paths: Sequence[Path],
    trust: Sequence[Path],
    untrust: Sequence[Path],
    discovery: Discovery,
    report: IndexReport,
) -> None:
    """Store a run's report for `unchanged_report`."""
    catalog.put_analyses(
        {
            LAST_RUN: {
                "inputs": inputs_digest(settings, paths, trust, untrust),
                "found": _found_digest(discovery),
                "report": report.to_json(),
            }
        }
    )


def forget(catalog: Catalog) -> None:
    """Invalidate the stored report before a run makes changes."""
    if catalog.analysis(LAST_RUN):
        catalog.put_analyses({LAST_RUN: {}})


def _found_digest(discovery: Discovery) -> str:
    names = [item.name for item in discovery.files]
    skipped = [(item.path, item.reason) for item in discovery.skipped]
    return _digest([names, skipped, list(discovery.notes)])


def inputs_digest(
    settings: Settings,
    paths: Sequence[Path],
    trust: Sequence[Path],
    untrust: Sequence[Path],
) -> str | None:
    """Return a digest of all inputs of a run except the files; None if signatures must be verified."""
    resolved = [path.resolve() for path in trust]
    if any((folder / SIGNED_NAME).exists() for path in resolved for folder in (path, *path.parents)):
        return None
    state = [settings.state / name for name in STATE_FILES]
    specs = [item for folder in settings.specs for item in sorted(Path(folder).rglob("*"))]
    own = [
        Path(folder, name)
        for folder, _, names in os.walk(Path(__file__).parents[1])
        for name in names
        if name.endswith((".py", ".toml", ".json"))
    ]
    return _digest(
        [
            repr(replace(settings, **UNIMPORTANT)),  # type: ignore[arg-type]
            [str(path.resolve()) for path in paths],
            [str(path) for path in resolved],
            [str(path.resolve()) for path in untrust],
            sys.version,
            sys.executable,
            os.geteuid(),
            sorted(item for item in os.environ.items() if item[0].startswith(VARIABLES)),
            _stamps(Path(entry) for entry in sys.path if entry),
            _stamps([*sorted(own), *state, *specs]),
            [inode_of(settings.state / name, follow_symlinks=False) for name in STORE],
        ]
    )


def _stamps(paths: Iterable[Path]) -> list[tuple[str, str]]:
    stamps = []
    for path in paths:
        try:
            stamps.append((str(path), stamp_of(path.stat())))
        except OSError:
            stamps.append((str(path), ""))
    return stamps


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode("ascii")).hexdigest()
