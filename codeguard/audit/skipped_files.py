"""Files that discovery skipped: findings if that hides something from a reviewer, a count if not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from codeguard.analysis.observations import DISCOVERY
from codeguard.analysis.rules.secrets import SIGNAL as SECRETS
from codeguard.audit.bytecode import CACHE
from codeguard.audit.findings import Finding
from codeguard.audit.inspection import file_finding, is_in_test_folder, own_finding
from codeguard.corpus.chunking import languages
from codeguard.corpus.decoding import ARCHIVE, BYTECODE, OBJECTS, OFFICE, PROGRAM
from codeguard.corpus.secrets import secret_file
from codeguard.models import Severity, Skipped

# The reasons are discovery's own texts; a test checks that each of them is recognized here.
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("encoding", re.compile(r"declares the encoding")),
    ("name", re.compile(r"its name (?:holds|is not)")),
    ("link", re.compile(r"link that leads out of the folder")),
)
_UNSEEN = re.compile(r"too large|binary|cannot be read|not a regular file")


def secret_file_findings(
    names: Mapping[str, str], skipped: Iterable[Skipped], known: Iterable[Finding]
) -> list[Finding]:
    """Return a finding for each file that is a secret by its name, unless its text is already a finding.

    `names` maps the audited files to the digests of their bytes. Ignored and excluded files are no findings.
    """
    rules = {rule.id: rule for rule in SECRETS.rules}
    reported = {item.path for item in known if item.rule.startswith(f"{SECRETS.name}.")}
    unread = {item.path: "" for item in skipped if _UNSEEN.match(item.reason)}
    found = []
    for path, digest in {**unread, **names}.items():
        rule = rules.get(secret_file(path))
        if rule is not None and path not in reported:
            reason = f"{rule.summary[0].lower()}{rule.summary[1:]}"
            made = file_finding(f"{SECRETS.name}.{rule.id}", rule, path, reason, digest)
            tested = rule.id == "key-file" and is_in_test_folder(path)
            found.append(replace(made, severity=min(made.severity, Severity.LOW)) if tested else made)
    return found


_MEDIA = frozenset(
    """
    png gif jpg jpeg bmp ico cur tif tiff webp avif heic woff woff2 ttf otf ttc eot svgz mp3 wav ogg flac mp4 m4a webm
    mov avi psd icns pdf mo npy npz
    """.split()  # noqa: SIM905 - words read better as words
)
_RUN_OR_OPENED = (PROGRAM, BYTECODE, ARCHIVE, OFFICE, OBJECTS)
# The purpose of a file that is too large to read is derived from its name, as by programs that load or open
# it.
_BY_NAME = {
    suffix: kind
    for kind, suffixes in {
        BYTECODE: "pyc pyo",
        PROGRAM: "so pyd dll dylib exe wasm",
        ARCHIVE: "zip whl egg jar tar tgz gz bz2 xz zst 7z rar",
        OFFICE: "doc docx docm xls xlsx xlsm ppt pptx pptm odt ods odp",
        OBJECTS: "pkl pickle joblib pt pth",
    }.items()
    for suffix in suffixes.split()
}
_SHOWN = 4  # names listed per reason


def unread_binaries(skipped: Iterable[Skipped]) -> list[Finding]:
    """Return findings about files that are run, loaded or opened but not read, one per kind in a tree.

    Images, fonts and data tables are no findings unless their first bytes show another file type.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for item in skipped:
        kind = item.reason.removeprefix("binary: ") if item.reason.startswith("binary: ") else ""
        suffix = item.path.rpartition(".")[2].lower()
        if item.reason.startswith("too large"):
            kind = _BY_NAME.get(suffix, "")
        if suffix in _MEDIA and kind in (PROGRAM, BYTECODE, OBJECTS):
            kind = f"{kind}, named as if it were none"
        elif kind not in _RUN_OR_OPENED or (suffix in _MEDIA and kind in (ARCHIVE, OFFICE)):
            continue
        folder = item.path.rpartition("/")[0]
        # The interpreter's bytecode caches are one thing to delete, wherever they are.
        place = CACHE if folder.rpartition("/")[2] == CACHE else item.path.partition("/")[0] if folder else ""
        found.setdefault((place, kind), []).append(item.path)
    return [_unread(kind, paths) for (_, kind), paths in sorted(found.items())]


def _unread(kind: str, paths: list[str]) -> Finding:
    names = [path.rpartition("/")[2] for path in sorted(paths)]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    folders = len({path.rpartition("/")[0] for path in paths})
    where = f" in {folders} folders" if folders > 1 else ""
    reason = f"{kind}: {', '.join(names[:_SHOWN])}{more}{where}" if len(names) > 1 else kind
    return own_finding(f"{DISCOVERY}.not-audited", sorted(paths)[0], reason)


def skipped_findings(skipped: Sequence[Skipped]) -> list[Finding]:
    """Return a finding for each file whose absence from the corpus may hide something."""
    extensions = {extension for language in languages() for extension in language.extensions}
    found = []
    for item in skipped:
        rule = next((name for name, pattern in _RULES if pattern.search(item.reason)), None)
        suffix = "." + item.path.rpartition("/")[2].rpartition(".")[2].lower()
        if rule is None and suffix in extensions and _UNSEEN.match(item.reason):
            rule = "not-read"
        if rule is not None:
            found.append(own_finding(f"{DISCOVERY}.{rule}", item.path, item.reason))
    return [*found, *unread_binaries(skipped)]
