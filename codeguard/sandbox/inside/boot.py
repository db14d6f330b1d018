"""Entry point of the zygote's interpreter: `python -P -s -S -B boot.py OPTIONS-AS-JSON`."""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    sys.argv[:] = [""]
    here = Path(__file__).resolve().parent
    sys.path.append(str(here.parent))
    sys.path.append(options["site"])
    from inside.zygote import main  # type: ignore[import-not-found]

    main(options)
