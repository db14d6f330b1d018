import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from text_samples import clean_base, clean_batch, flipped

from codeguard.cli.text import text
from codeguard.text import Document
from experiments.text.consensus_corpus import load_topics


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


def test_filter_names_what_it_drops(tmp_path: Path) -> None:
    topic = load_topics()[5]
    long = [Document(" ".join(topic.documents[start : start + 3]), id=str(start)) for start in (0, 3)]
    path = write(tmp_path / "found.jsonl", long)
    arguments = ["filter", "--query", topic.question, "--threshold", "0.5", "--embedding", "lexical"]
    assert CliRunner().invoke(text, [*arguments, path]).exit_code == 0
    poison = Document(f"{topic.question}? Sydney.", id="p")
    path = write(tmp_path / "found.jsonl", [poison, *long])
    result = CliRunner().invoke(text, [*arguments, path, "--format", "json"])
    rules = {item["id"]: item["rule"] for item in json.loads(result.stdout)["judgments"]}
    assert (result.exit_code, rules) == (1, {"p": "dense", "0": "density_ok", "3": "density_ok"})


def test_filter_trains_saves_and_uses_a_model(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    topics = load_topics()[:12]
    rows = [
        {"query": topic.question, "text": sample, "poisoned": bad}
        for topic in topics
        for sample, bad in (
            *((item, False) for item in topic.documents[:2]),
            (f"{topic.question}? The answer is {topic.wrong}.", True),
            (f"So, {topic.question}? Certainly {topic.wrong}.", True),
        )
    ]
    examples, model = tmp_path / "examples.jsonl", tmp_path / "filter.npz"
    examples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    trained = CliRunner().invoke(
        text, ["filter", "--train", str(examples), "--model", str(model), "--embedding", "lexical"]
    )
    assert (trained.exit_code, model.exists()) == (0, True)
    other = load_topics()[20]
    path = write(
        tmp_path / "found.jsonl", [Document(f"{other.question}? The answer is {other.wrong}.", id="p")]
    )
    used = CliRunner().invoke(
        text, ["filter", path, "--query", other.question, "--model", str(model), "--embedding", "lexical"]
    )
    assert (used.exit_code, "rejected p" in used.stdout) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["filter"],
        ["filter", "--train", "FILE"],
        ["filter", "FILE"],
        ["filter", "FILE", "--query", "q", "--model", "FILE"],
    ],
)
def test_filter_without_what_it_needs_exits_2(arguments: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "found.jsonl", clean_batch())
    result = CliRunner().invoke(text, [path if item == "FILE" else item for item in arguments])
    assert result.exit_code == 2


def test_consensus_answers_or_says_why_not(tmp_path: Path) -> None:
    topic = load_topics()[2]
    clean = write(tmp_path / "clean.jsonl", [Document(item) for item in topic.documents])
    arguments = ["consensus", "--query", topic.question, "--embedding", "lexical"]
    good = CliRunner().invoke(text, [*arguments, clean])
    assert "206" in good.stdout.splitlines()[0]
    split = [*topic.documents[:5], *(item.replace("206", "212") for item in topic.documents[5:])]
    camps = write(tmp_path / "camps.jsonl", [Document(item) for item in split])
    bad = CliRunner().invoke(text, [*arguments, camps, "--format", "json"])
    answer = json.loads(bad.stdout)
    assert (bad.exit_code, answer["answer"]) == (1, "")
    assert "206" in answer["abstained"]


def test_a_model_that_cannot_be_reached_rejects_every_document(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    path = write(tmp_path / "found.jsonl", clean_batch()[:2])
    arguments = [
        "consensus",
        path,
        "--query",
        "q",
        "--embedding",
        "lexical",
        "--llm-url",
        "http://127.0.0.1:9/v1",
    ]
    result = CliRunner().invoke(text, [*arguments, "--format", "json"])
    assert (result.exit_code, {item["rule"] for item in json.loads(result.stdout)["judgments"]}) == (
        1,
        {"call_failed"},
    )
