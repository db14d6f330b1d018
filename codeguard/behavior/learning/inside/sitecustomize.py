"""Start the recorder in an interpreter of the recorded command, then run the next `sitecustomize`."""

import sys

_own = sys.modules[__name__]
_folder = __file__.rpartition("/")[0]
try:
    import codeguard_recorder  # type: ignore[import-not-found]  # found beside this file

    codeguard_recorder.start()
except Exception:  # an error in the recorder must not affect the command
    pass
sys.path[:] = [_entry for _entry in sys.path if _entry != _folder]
# The interpreter may have its own sitecustomize, which this one shadows.
del sys.modules[__name__]
sys.path_importer_cache.pop(_folder, None)
try:
    __import__(__name__)
except ImportError as _error:
    if _error.name != __name__:
        raise
finally:
    sys.modules.setdefault(__name__, _own)
