"""The vectors, in Chroma: embedded in a folder, behind a server process of ours, or on a server.

The store may be shared with others and rewritten by an attacker, so only ids and distances from here are
used; the catalog says what an id stands for.
"""

from codeguard.index.store.base import COLLECTION, Hit, Row, Vectors
from codeguard.index.store.chroma import VectorStore
from codeguard.index.store.shared import SharedStore

__all__ = ["COLLECTION", "Hit", "Row", "SharedStore", "VectorStore", "Vectors"]
