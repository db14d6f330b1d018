"""The vectors: recorded in the catalog and searched by Chroma in a folder, or in Chroma on a server.

A server may be shared with others and rewritten by an attacker, so only ids and distances from there are
used; the catalog says what an id stands for.
"""

from codeguard.index.store.base import Hit, Row, Vectors
from codeguard.index.store.local import LocalVectors

__all__ = ["Hit", "LocalVectors", "Row", "Vectors"]
