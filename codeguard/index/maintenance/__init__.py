"""Maintenance of an index: information, verification, compaction."""

from codeguard.index.maintenance.compact import compact
from codeguard.index.maintenance.info import info
from codeguard.index.maintenance.verify import verify

__all__ = [
    "compact",
    "info",
    "verify",
]
