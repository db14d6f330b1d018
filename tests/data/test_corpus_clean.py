"""The hand-written corpora: the references pass their examples, the specs agree with the references."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRUSTED = sorted((ROOT / "data" / "sample_code").glob("*.py"))
UNKNOWN = sorted((ROOT / "data" / "unknown_source").glob("*.py"))
SPECS = sorted((ROOT / "codeguard" / "behavior" / "specs" / "shipped").glob("*.toml"))


def load(path: Path) -> ModuleType:
    """Import one of our own clean files (never poison) under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"corpus_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trusted_functions() -> dict[str, Callable[..., Any]]:
    functions = {}
    for path in TRUSTED:
        module = load(path)
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = getattr(module, node.name)
    return functions


FUNCTIONS = trusted_functions()


def spec_cases() -> Iterator[Any]:
    for path in SPECS:
        for spec in tomllib.loads(path.read_text("utf-8"))["spec"]:
            for number, case in enumerate(spec["case"]):
                yield pytest.param(spec["name"], case, id=f"{spec['name']}-{number}")


@pytest.mark.parametrize("path", TRUSTED + UNKNOWN, ids=lambda path: path.name)
def test_examples_in_docstrings_hold(path: Path) -> None:
    failed, _ = doctest.testmod(load(path))
    assert failed == 0


def test_reference_files_hold_24_to_34_functions_with_hints_and_examples() -> None:
    assert len(TRUSTED) == 3
    assert 24 <= len(FUNCTIONS) <= 34
    finder = doctest.DocTestFinder()
    for name, function in FUNCTIONS.items():
        examples = [example for test in finder.find(function, name) for example in test.examples]
        assert len(examples) >= 4, name
        assert set(function.__annotations__) == {
            *function.__code__.co_varnames[: function_arity(function)],
            "return",
        }


def function_arity(function: Callable[..., Any]) -> int:
    return function.__code__.co_argcount + function.__code__.co_kwonlyargcount


def test_every_reference_has_a_spec_and_no_spec_lacks_its_reference() -> None:
    names = [spec["name"] for path in SPECS for spec in tomllib.loads(path.read_text("utf-8"))["spec"]]
    assert sorted(names) == sorted(FUNCTIONS)


def test_no_name_claims_two_specs() -> None:
    claimed = [
        name
        for path in SPECS
        for spec in tomllib.loads(path.read_text("utf-8"))["spec"]
        for name in (spec["name"], *spec["aliases"])
    ]
    assert len(claimed) == len(set(claimed))


@pytest.mark.parametrize(("name", "case"), list(spec_cases()))
def test_reference_keeps_its_spec(name: str, case: dict[str, Any]) -> None:
    args = ast.literal_eval(case["call"]) if "call" in case else case["args"]
    kwargs = case.get("kwargs", {})
    if "raises" in case:
        with pytest.raises(ValueError, match=r"\w"):
            FUNCTIONS[name](*args, **kwargs)
        assert case["raises"] == "ValueError"
        return
    expected = ast.literal_eval(case["expected_literal"]) if "expected_literal" in case else case["expected"]
    got = FUNCTIONS[name](*args, **kwargs)
    assert (list(got) if isinstance(got, Iterator) else got) == expected
