import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from text_samples import clean_base, clean_batch, flipped

from codeguard.cli.text import text, visible
from codeguard.text import Document


def write(path: Path, documents: list[Document]) -> str:
    rows = [{"text": item.text, "label": item.label, "id": item.id} for item in documents]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def base(tmp_path: Path) -> str:
    return write(tmp_path / "base.jsonl", clean_base())


OPTIONS = ["--embedding", "lexical", "--neighbours", "3"]


def test_a_clean_batch_exits_0(base: str, tmp_path: Path) -> None:
    batch = write(tmp_path / "batch.jsonl", clean_batch())
    result = CliRunner().invoke(text, ["label-flip", batch, "--base", base, *OPTIONS])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "8 kept, 0 rejected")


def test_a_flipped_entry_exits_1_and_is_named(base: str, tmp_path: Path) -> None:
    batch = write(tmp_path / "batch.jsonl", clean_batch()[:5] + flipped(clean_batch()[5:6]))
    result = CliRunner().invoke(text, ["label-flip", batch, "--base", base, "--format", "json", *OPTIONS])
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["schema"], answer["rejected"]) == (1, "codeguard.text.label-flip/1", 1)
    assert [item["id"] for item in answer["judgments"] if not item["kept"]] == ["bs1"]


def test_tsv_files_are_read_with_their_heading(base: str, tmp_path: Path) -> None:
    batch = tmp_path / "batch.tsv"
    batch.write_text("Label\tSMS\nspam\tfree prize, call now to claim\n", encoding="utf-8")
    result = CliRunner().invoke(text, ["label-flip", str(batch), "--base", base, *OPTIONS])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "1 kept, 0 rejected")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no documents"),
        ("{", "line 1"),
        ("[" * 100_000, "line 1"),
        ('{"text": 3}', 'string "text"'),
        ('{"text": "x", "label": ["ham"]}', "line 1: label"),
        ('{"text": "x"}', "no label"),
        ("\udce4", "cannot be read"),
    ],
)
def test_a_malformed_file_exits_2_with_one_line(
    base: str, tmp_path: Path, content: str, message: str
) -> None:
    batch = tmp_path / "batch.jsonl"
    batch.write_bytes(content.encode("utf-8", "surrogateescape"))
    result = CliRunner().invoke(text, ["label-flip", str(batch), "--base", base, *OPTIONS])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_texts_cannot_drive_the_terminal(base: str, tmp_path: Path) -> None:
    hostile = Document("free prize\x1b[2J\u202egnp", id="\x1b]0;x\x07", label="ham")
    batch = write(tmp_path / "batch.jsonl", [hostile])
    result = CliRunner().invoke(text, ["label-flip", batch, "--base", base, *OPTIONS])
    assert result.exit_code == 1
    assert result.output.isascii()
    assert "\x1b" not in result.output


def test_visible_leaves_ordinary_text_alone() -> None:
    assert visible("naïve – 価格 ok") == "naïve – 価格 ok"
    assert visible("a\r\nb\x00\udc80") == "a\\r\\nb\\x00\\udc80"
