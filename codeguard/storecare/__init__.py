"""Look after an index: what is in it, whether it is whole, without what was deleted, as plain records."""

from codeguard.storecare.compact import CompactReport, compact
from codeguard.storecare.export import export
from codeguard.storecare.info import StoreInfo, info
from codeguard.storecare.verify import Damage, VerifyReport, verify

__all__ = [
    "CompactReport",
    "Damage",
    "StoreInfo",
    "VerifyReport",
    "compact",
    "export",
    "info",
    "verify",
]
