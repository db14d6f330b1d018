"""Maintenance of an index: information, verification, compaction."""

from codeguard.index.maintenance.compact import CompactReport, compact
from codeguard.index.maintenance.info import StoreInfo, info
from codeguard.index.maintenance.verify import Damage, VerifyReport, verify

__all__ = [
    "CompactReport",
    "Damage",
    "StoreInfo",
    "VerifyReport",
    "compact",
    "info",
    "verify",
]
