"""The vectors, in Chroma: embedded in a folder, behind a process of ours, or on a server.

The store may be shared with others and may be rewritten by an attacker, so
nothing that comes from here is believed but an id and a distance; the
catalog says what the id stands for.
"""

from codeguard.index.store.base import COLLECTION, Hit, Row, Vectors
from codeguard.index.store.chroma import VectorStore
from codeguard.index.store.replacing import Replacement, recover
from codeguard.index.store.shared import SharedStore

__all__ = ["COLLECTION", "Hit", "Replacement", "Row", "SharedStore", "VectorStore", "Vectors", "recover"]
