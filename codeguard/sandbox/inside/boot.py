"""Entry point of the zygote's interpreter: `python -P -s -S boot.py OPTIONS-AS-JSON`."""

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    # What modules would do after each fork (reseed, reset the locks of threads that do not
    # exist) touches 140 pages, more than the rest of a fork, and each page costs a copy.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork = lambda **_: None
    options = json.loads(sys.argv[1])
    sys.argv[:] = [""]
    here = Path(__file__).resolve().parent
    sys.path.append(str(here.parent))
    # the package's own __init__ loads much that the transformer does not need
    package = sys.modules["RestrictedPython"] = type(sys)("RestrictedPython")
    package.__path__ = [str(Path(options["site"]) / "RestrictedPython")]
    from inside.zygote import main  # type: ignore[import-not-found]

    main(options)
