"""Starts every interpreter of ours: outside of what is examined, with nothing of it on the module path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

# No folder of a project: a working directory is searched for modules, programs and configurations.
OUTSIDE = os.path.abspath(os.sep)  # noqa: PTH100

_WITH_PATH = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "


def import_path() -> list[str]:
    """Return the entries of this process's module path that do not depend on the working directory."""
    return [entry for entry in sys.path if os.path.isabs(entry)]  # noqa: PTH117


def start(code: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start an interpreter that runs code of ours with this process's module path.

    Args:
        code: statements; `sys.argv[1:]` are the arguments.
        arguments: passed to the code.
        options: of `subprocess.Popen`.

    Raises:
        OSError: it cannot be started.
    """
    path = json.dumps(import_path())
    return _started("-I", "-c", _WITH_PATH + code, path, *arguments, **options)


def start_bare(script: str, *arguments: str, env: dict[str, str], **options: Any) -> subprocess.Popen[bytes]:
    """Start an interpreter that runs a script with the standard library alone and only the given environment.

    Its hash seed can be set by the environment, which `-I` would hide.

    Raises:
        OSError: it cannot be started.
    """
    quiet = ("-B",) if sys.dont_write_bytecode else ()
    return _started("-P", "-s", "-S", *quiet, script, *arguments, env=env, **options)


def _started(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *words], cwd=OUTSIDE, **options)
