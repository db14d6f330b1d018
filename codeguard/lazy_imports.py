"""Packages whose public names are imported when they are first used, so that importing them costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from codeguard.errors import MissingExtraError
from codeguard.extras import missing_extra


def attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `homes` says in which module each of its names is."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            if (extra := missing_extra(error)) is None:
                raise
            raise MissingExtraError(
                f"{package}.{name} needs {error.name}, which is not installed", extra
            ) from None

    return find
