"""The one way chromadb is imported: late, and deaf to the folder we stand in."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from codeguard.workers.garbage_collection import deferred


def import_chromadb() -> ModuleType:
    """Import chromadb without letting the current directory's `.env` configure it.

    Chroma reads a `.env` while it is imported, which a hostile repository can
    bring along; the import happens in an empty folder if there is one.
    """
    if "chromadb" in sys.modules:
        return sys.modules["chromadb"]
    with deferred():  # its modules are no garbage
        if not Path(".env").exists():
            import chromadb

            return chromadb
        here = Path.cwd()
        with tempfile.TemporaryDirectory() as empty:
            os.chdir(empty)
            try:
                import chromadb
            finally:
                os.chdir(here)
    return chromadb
