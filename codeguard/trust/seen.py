"""The versions last seen of each tree, in the state directory, to detect rollbacks."""

from __future__ import annotations

import json
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


def _roots(value: Any, where: str) -> Any:
    return members(dict.fromkeys(value, _SEEN) if isinstance(value, dict) else {})(value, where)


class VersionsSeen:
    """The record of the newest verified manifest of each tree: its version and the sha256 of its payload.

    If nothing has been seen yet, the version of the first manifest is accepted; `least_version` of the
    signing policy closes that gap.
    """

    def __init__(self, state_dir: Path | None = None) -> None:
        """Open the record of a state directory, by default the user's own."""
        self._path = (state_dir or Path(platformdirs.user_state_dir("codeguard"))) / SEEN_NAME

    def last_version(self, root: str) -> int:
        """Return the version last seen of a tree, 0 if none was; raise ManifestError if the record is damaged."""
        return int(self._load().get(root, {"version": 0})["version"])

    def record(self, manifest: Manifest, payload_sha256: str) -> None:
        """Record a verified manifest.

        Raises ManifestError if it is older than the one seen, or has its version but differs.
        """
        label, version = shown(manifest.root), manifest.version
        with (
            StateFolder(self._path.parent, create=True) as folder,
            folder.lock(f"{self._path.name}.lock"),
        ):
            seen = self._load()
            last = seen.get(manifest.root, {"version": 0})
            if version < last["version"]:
                raise ManifestError(
                    f"manifest of {label} is older than one already seen",
                    got=f"version {version}",
                    expected=f"version {last['version']} or later",
                    hint="somebody may have put an old manifest back; get the current one",
                )
            if version > last["version"]:
                seen[manifest.root] = {"version": version, "sha256": payload_sha256}
                record = {"schema": _SCHEMA, "roots": dict(sorted(seen.items()))}
                folder.write(self._path.name, json.dumps(record, indent=1).encode("utf-8"))
            elif payload_sha256 != last["sha256"]:
                raise ManifestError(
                    f"two manifests of {label} carry the version {version}",
                    got=f"payload sha256 {payload_sha256}",
                    expected=f"{last['sha256']}, seen before",
                    hint="sign the newer one again with: codeguard trust update",
                )

    def _load(self) -> dict[str, dict[str, Any]]:
        try:
            data = read_state(self._path, _MAX_BYTES)
            if data is None:
                return {}
            record = members({"schema": text(), "roots": _roots})(parse_json(data, "record"), "the record")
            if record["schema"] != _SCHEMA:
                raise ManifestError("schema", got=shown(record["schema"]), expected=_SCHEMA)
            return dict(record["roots"])
        except ManifestError as error:
            raise ManifestError(
                f"record of the versions seen is damaged: {self._path}",
                got=str(error),
                expected=f"the schema {_SCHEMA}",
                hint="without it a rollback is not noticed; check who wrote there before you remove it",
            ) from None
