"""The versions last seen of each tree, in the state directory, to detect rollbacks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from codeguard.errors import ManifestError
from codeguard.escaping import shown
from codeguard.trust.local import read_state
from codeguard.trust.manifest import Manifest
from codeguard.trust.state_files import StateFolder
from codeguard.trust.strict_json import integer, members, parse_json, sha256, text

SEEN_NAME = "versions-seen.json"
_SCHEMA = "codeguard.versions-seen/1"
_MAX_BYTES = 4 * 1024 * 1024


_SEEN = members({"version": integer(1), "sha256": sha256})


def _roots(value: object, where: str) -> Any:
    return members(dict.fromkeys(value, _SEEN) if isinstance(value, dict) else {})(value, where)


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest verified manifest of one tree: its version and the sha256 of its payload."""

    version: int
    sha256: str


class VersionsSeen:
    """The record of versions seen, one file in the state directory.

    If nothing has been seen yet, the version of the first manifest is accepted; `least_version` of the
    signing policy closes that gap.
    """

    def __init__(self, state_dir: Path | None = None) -> None:
        """Open the record of a state directory, by default the user's own."""
        self._path = (state_dir or Path(platformdirs.user_state_dir("codeguard"))) / SEEN_NAME

    def last(self, root: str) -> Seen | None:
        """Return what was last seen of a tree, or None; raise ManifestError if the record is damaged."""
        return self._load().get(root)

    def check(self, manifest: Manifest, payload_sha256: str) -> Seen | None:
        """Raise ManifestError if the manifest is older than the one seen, or has its version but differs.

        Returns what was seen before.
        """
        last = self.last(manifest.root)
        if last is None:
            return None
        if manifest.version < last.version:
            raise ManifestError(
                f"manifest of {shown(manifest.root)} is older than one already seen",
                got=f"version {manifest.version}",
                expected=f"version {last.version} or later",
                hint="somebody may have put an old manifest back; get the current one",
            )
        if manifest.version == last.version and payload_sha256 != last.sha256:
            raise ManifestError(
                f"two manifests of {shown(manifest.root)} carry the version {manifest.version}",
                got=f"payload sha256 {payload_sha256}",
                expected=f"{last.sha256}, seen before",
                hint="sign the newer one again with: codeguard trust update",
            )
        return last

    def record(self, manifest: Manifest, payload_sha256: str) -> None:
        """Record a verified manifest; the recorded version never decreases."""
        with (
            StateFolder(self._path.parent, create=True) as folder,
            folder.lock(f"{self._path.name}.lock"),
        ):
            seen = self._load()
            last = seen.get(manifest.root)
            if last is not None and last.version >= manifest.version:
                return
            seen[manifest.root] = Seen(manifest.version, payload_sha256)
            roots = {label: {"version": s.version, "sha256": s.sha256} for label, s in sorted(seen.items())}
            text = json.dumps({"schema": _SCHEMA, "roots": roots}, indent=1)
            folder.write(self._path.name, text.encode("utf-8"))

    def _load(self) -> dict[str, Seen]:
        try:
            data = read_state(self._path, _MAX_BYTES)
            if data is None:
                return {}
            record = members({"schema": text(), "roots": _roots})(parse_json(data, "record"), "the record")
            if record["schema"] != _SCHEMA:
                raise ManifestError("schema", got=shown(record["schema"]), expected=_SCHEMA)
            return {label: Seen(**entry) for label, entry in record["roots"].items()}
        except ManifestError as error:
            raise ManifestError(
                f"record of the versions seen is damaged: {self._path}",
                got=str(error),
                expected=f"the schema {_SCHEMA}",
                hint="without it a rollback is not noticed; check who wrote there before you remove it",
            ) from None
