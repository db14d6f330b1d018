"""What a change causes in files that it leaves as they are: one import away, and nothing that was there before."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_helpers import commit, look, write

RUNS = "import os\n\n\ndef helper(x):\n    os.system(x)\n"
SHOWS = "def helper(x):\n    print(x)\n"
CLEANS = "import shlex\n\n\ndef helper(x):\n    return shlex.quote(x)\n"
PASSES_ON = "def helper(x):\n    return x\n"
HEAD = "from __future__ import annotations\n\nimport os\nfrom flask import request\n"
CALL = "helper('ls ' + request.args['x'])"
CLEANED = "os.system('ls ' + helper(request.args['x']))"


def caused(repository: Path, before: str, after: str, importer: str, module: str = "pkg/h.py") -> list[str]:
    """Return what an audit of the change of a module says, as rule, path and line."""
    commit(repository, {"pkg/__init__.py": "", module: before, "pkg/view.py": HEAD + importer})
    commit(repository, {module: after})
    found = look(since="HEAD~1", only=("insecure",)).open
    return [f"{item.path}:{item.place.start_line}" for item in found if item.severity >= 2]


@pytest.mark.parametrize(
    ("imported", "name"),
    [
        ("from pkg.h import helper\n", "helper"),
        ("from .h import helper as other\n", "other"),
        ("from .h import (\n    helper,\n)\n", "helper"),
        ("from . import h\n", "h.helper"),
        ("import pkg.h\n", "pkg.h.helper"),
        ("import pkg.h as there\n", "there.helper"),
    ],
)
def test_a_sink_that_a_helper_gets_or_a_check_that_it_loses(
    repository: Path, imported: str, name: str
) -> None:
    view = f"{imported}\n\ndef view():\n    {CALL.replace('helper', name)}\n"
    assert caused(repository, SHOWS, RUNS, view) == ["pkg/h.py:5"]
    view = f"{imported}\n\ndef view():\n    {CLEANED.replace('helper', name)}\n"
    line = (HEAD + view).count("\n")
    assert caused(repository, CLEANS, PASSES_ON, view) == [f"pkg/view.py:{line}"]


@pytest.mark.parametrize(
    ("before", "after", "call"),
    [
        (RUNS, RUNS + "\n\nWIDTH = 3\n", CALL),  # it was there
        (PASSES_ON, PASSES_ON.replace("return x", "return str(x)"), CLEANED),
        (PASSES_ON, CLEANS, CLEANED),  # it is better now
    ],
)
def test_what_was_there_is_not_new(repository: Path, before: str, after: str, call: str) -> None:
    assert caused(repository, before, after, f"from pkg.h import helper\n\n\ndef view():\n    {call}\n") == []


def test_another_module_of_that_name_is_not_meant(repository: Path) -> None:
    write(repository, {"other/__init__.py": "", "other/h.py": CLEANS})
    view = f"from other.h import helper\n\n\ndef view():\n    {CLEANED}\n"
    assert caused(repository, CLEANS, PASSES_ON, view) == []


def test_attributes_hide_no_importer(repository: Path) -> None:
    write(repository, {".gitattributes": "*.py binary\n"})
    view = f"from pkg.h import helper\n\n\ndef view():\n    {CALL}\n"
    assert caused(repository, SHOWS, RUNS, view) == ["pkg/h.py:5"]


def test_what_is_left_out_is_said(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codeguard.audit.importers.MOST", 1)
    view = f"from pkg.h import helper\n\n\ndef view():\n    {CALL}\n"
    write(repository, {"pkg/a.py": HEAD + view})
    caused(repository, SHOWS, RUNS, view)
    (line,) = look(since="HEAD~1", only=("insecure",)).warnings
    assert "only 1 are read" in line
