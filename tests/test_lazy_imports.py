"""Packages whose names are imported when they are first used: every name is there, and only those."""

from __future__ import annotations

import importlib

import pytest


@pytest.mark.parametrize("package", ["codeguard", "codeguard.behavior"])
def test_every_public_name_is_found_where_it_is_said_to_be(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        found = getattr(module, name)
        assert getattr(found, "__name__", name) == name
    with pytest.raises(AttributeError, match=package):
        _ = module.no_such_name
