"""`codeguard text` shows no secret of the documents that it judges, in whatever format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from codeguard.cli import main

pytestmark = pytest.mark.ci

TOKEN = "ghp_" + "A1b2C3d4E5" * 3 + "A1b2C3"
DOCUMENTS = [
    {"id": "a", "text": "Paris is the capital of France."},
    {"id": "b", "text": f"The deploy token is {TOKEN} and Lyon is the capital of France."},
    {"id": "c", "text": "The capital of France is Paris."},
]


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_of_a_document_is_shown(tmp_path: Path, form: str) -> None:
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in DOCUMENTS))
    words = [
        "text",
        "filter",
        str(file),
        "--threshold",
        "0.2",
        "--query",
        "What is the capital of France?",
        "--format",
        form,
    ]
    done = CliRunner().invoke(main, words)
    assert done.exit_code in (0, 1), done.output
    assert TOKEN not in done.output
    assert "a" in done.output
