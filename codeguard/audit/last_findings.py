"""The digests of the last audit's findings, so that `accept` can say that a digest is none of them.

They are kept for the user, not in the audited project: an audit needs no index.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import platformdirs

from codeguard.audit.findings import AuditReport
from codeguard.config import CATALOG, Settings
from codeguard.errors import CodeguardError
from codeguard.trust.installation import installation_key
from codeguard.trust.state_files import StateFolder

NAME = "last-findings.txt"
_MAX_BYTES = 10_000_000


def keep(report: AuditReport) -> None:
    """Keep the digests of an audit's findings in place of an earlier audit's; without a place, keep nothing."""
    data = "".join(f"{digest}\n" for digest in sorted({item.digest for item in report.findings}))
    with (
        contextlib.suppress(CodeguardError, OSError),
        StateFolder(_folder().parent, create=True, checked=False),
        StateFolder(_folder(), create=True) as folder,
    ):
        folder.write(NAME, data.encode("ascii"))


def is_known(digest: str, settings: Settings) -> bool:
    """Return whether a finding of the last audit, or a text in the index, has this digest."""
    kept = b""
    with contextlib.suppress(CodeguardError, OSError), StateFolder(_folder()) as folder:
        kept = folder.read(NAME, _MAX_BYTES)
    return digest.encode("ascii") in kept.split() or _indexed(digest, settings)


def _indexed(digest: str, settings: Settings) -> bool:
    path = settings.state / CATALOG
    if not path.exists():
        return False
    from codeguard.index.catalog import Catalog  # imports sqlite3, which audits must not

    with contextlib.suppress(CodeguardError), Catalog(path, installation_key()) as catalog:
        return catalog.has_digest(digest)
    return False


def _folder() -> Path:
    return Path(platformdirs.user_state_dir("codeguard")) / "audit"
