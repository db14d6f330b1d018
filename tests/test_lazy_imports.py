"""The package whose names are imported when they are first used: every name is there, and only those."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import codeguard
from experiments.workbench import DATA


def test_every_public_name_is_found_where_it_is_said_to_be() -> None:
    for name in codeguard.__all__:
        found = getattr(codeguard, name)
        assert getattr(found, "__name__", name) == name
    with pytest.raises(AttributeError, match="codeguard"):
        _ = codeguard.no_such_name


LEFT_OUT = """
import sys
sys.modules |= dict.fromkeys(["kubernetes", "onnxruntime"])
from codeguard import CodeGuard
from codeguard.index.store import folder

folder.MOST_EXACT = -1  # as if there were many
with CodeGuard.open(store=sys.argv[1], trust=[sys.argv[2]]) as guard:
    guard.index([sys.argv[2]])
    assert guard.query("reverse a string").results
    vectors = guard.workspace.vectors
    assert isinstance(vectors, folder.FolderVectors) and vectors._client is not None
"""


def test_an_index_is_searched_by_chroma_without_the_large_packages_that_the_image_leaves_out(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", LEFT_OUT, str(tmp_path / "store"), str(DATA / "sample_code")]
    subprocess.run(command, check=True, timeout=300)


def test_importing_chromadb_compiles_no_grammar_that_nobody_uses() -> None:
    code = (
        "import sys; from codeguard.index.store.chroma import import_chromadb; import_chromadb();"
        " loaded = [name in sys.modules for name in ('rfc3987_syntax', 'lark')];"
        " from jsonschema import FormatChecker;"
        " print(*loaded, FormatChecker(['iri']).conforms('http://é.de/', 'iri'))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]
