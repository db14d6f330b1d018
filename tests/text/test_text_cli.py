import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from text_samples import clean_base, clean_batch, flipped

from codeguard.cli import main
from codeguard.cli.text import selection_lines
from codeguard.errors import CorpusError
from codeguard.text import Document, files
from codeguard.text.model import reject_all
from codeguard.text.reading import SUMMARY
from experiments.text.consensus_corpus import load_topics
from experiments.text.loopback import Reply, completion, serve

pytestmark = pytest.mark.ci


def write(path: Path, documents: list[Document]) -> str:
    rows = [{"text": item.text, "label": item.label, "id": item.id} for item in documents]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def invoke(words: list[str]) -> Result:
    return CliRunner().invoke(main, ["text", *words])


@pytest.fixture
def base(tmp_path: Path) -> str:
    return write(tmp_path / "base.jsonl", clean_base())


OPTIONS = ["--embedding", "lexical", "--detector", "centroid"]


def test_a_clean_batch_exits_0(base: str, tmp_path: Path) -> None:
    batch = write(tmp_path / "batch.jsonl", clean_batch())
    result = invoke(["label-flip", batch, "--base", base, *OPTIONS])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "8 kept, 0 rejected")


def test_a_flipped_entry_exits_1_and_is_named(base: str, tmp_path: Path) -> None:
    batch = write(tmp_path / "batch.jsonl", clean_batch()[:5] + flipped(clean_batch()[5:6]))
    result = invoke(["label-flip", batch, "--base", base, "--format", "json", *OPTIONS])
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["schema"], answer["rejected"]) == (1, "codeguard.text.label-flip/1", 1)
    assert [item["id"] for item in answer["judgments"] if not item["kept"]] == ["bs1"]


def test_a_refusal_to_judge_is_said_once_and_not_for_every_document() -> None:
    refused = reject_all([Document("one"), Document("two")], "cannot_tell", "too few", error="too few")
    assert list(selection_lines(refused)) == [
        "nothing was judged, so none of the 2 documents is kept",
    ]


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "codeguard: interrupted"),
        (
            OSError(28, "No space left on device"),
            2,
            "codeguard: the system refuses (No space left on device)",
        ),
        (RuntimeError("odd"), 2, "codeguard: internal error (RuntimeError: odd)"),
        (CorpusError("no"), 2, "codeguard: no"),
    ],
)
def test_what_ends_a_command_is_one_line_and_never_the_code_of_findings(
    base: str, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, said: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("codeguard.cli.text.read_documents", fails)
    for words in (
        ["label-flip", base, "--base", base],
        ["filter", base, "--query", "x", "--threshold", "0.2"],
        ["consensus", base, "--query", "x"],
    ):
        done = invoke([*words, "--embedding", "lexical"])
        (line,) = done.stderr.splitlines()
        assert (done.exit_code, line[: len(said)]) == (code, said)


@pytest.mark.parametrize("command", ["filter", "consensus"])
def test_a_blank_question_is_a_mistake_of_use(base: str, command: str) -> None:
    done = invoke([command, base, "--query", " ", "--embedding", "lexical"])
    (line,) = done.stderr.splitlines()
    assert (done.exit_code, "--query" in line) == (2, True)


def test_a_missing_filter_is_said_to_be_missing(base: str, tmp_path: Path) -> None:
    done = invoke(
        ["filter", base, "--query", "x", "--model", str(tmp_path / "m.json"), "--embedding", "lexical"]
    )
    assert (done.exit_code, "no such file: " in done.stderr, "Error" in done.stderr) == (2, True, False)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "{", "line 1"),
        ("a.jsonl", "[" * 100_000, "line 1"),
        ("a.jsonl", '{"text": 3}', 'string "text"'),
        ("a.jsonl", '{"text": "x", "label": ["ham"]}', "line 1: label"),
        ("a.jsonl", '{"text": "x", "label": "ham", "id": true}', "line 1: id"),
        ("a.jsonl", '{"text": "x"}', "no label"),
        ("a.jsonl", "\udce4", "cannot be read"),
        ("a.csv", "label,text\nham,caf\udce9\n", "save it as UTF-8"),
        ("a.csv", "label,text2\nham,hello\n", "no column 'text'"),
        ("a.csv", "", "no column 'text'"),
        ("a.csv", 'label,text\nham,"never closed\nspam,free prize\n', "is not readable"),
        ("a.csv", "text,label\ncall me,ham\nfree, now,spam\n", "line 3: more cells than columns"),
        ("a.tsv", "hello", "no column 'text'"),
    ],
)
def test_a_malformed_file_exits_2_with_one_line(
    base: str, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    result = invoke(["label-flip", str(tmp_path / name), "--base", base, *OPTIONS])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_file_without_documents_exits_3(base: str, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    result = invoke(["label-flip", str(tmp_path / "empty.jsonl"), "--base", base, *OPTIONS])
    assert (result.exit_code, "holds no documents" in result.stderr) == (3, True)


@pytest.mark.parametrize("options", [[], ["--model"], ["--calibrate"]], ids=["texts", "model", "calibrate"])
def test_a_pipe_or_device_is_refused_and_not_read(tmp_path: Path, options: list[str]) -> None:
    pipe, texts = tmp_path / "pipe", write(tmp_path / "texts.jsonl", clean_base())
    os.mkfifo(pipe)
    command = (
        ["filter", texts, *options, str(pipe)] if options else ["filter", str(pipe), "--threshold", "0.2"]
    )
    # In a process of its own: without the check it would wait for a writer for ever.
    done = subprocess.run(
        [sys.executable, "-m", "codeguard", "text", *command, "--query", "q", "--embedding", "lexical"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "pipe, socket or device" in done.stderr


def test_a_file_over_the_limit_is_refused(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = write(tmp_path / "batch.jsonl", clean_batch())
    monkeypatch.setattr(files, "MAX_BYTES", 100)
    result = invoke(["label-flip", batch, "--base", base, *OPTIONS])
    assert (result.exit_code, "too large" in result.stderr) == (2, True)


def test_texts_cannot_drive_the_terminal(base: str, tmp_path: Path) -> None:
    hostile = Document("free prize\x1b[2J\u202egnp", id="\x1b]0;x\x07", label="ham")
    batch = write(tmp_path / "batch.jsonl", [hostile])
    result = invoke(["label-flip", batch, "--base", base, *OPTIONS])
    assert result.exit_code == 1
    assert result.output.isascii()
    assert "\x1b" not in result.output


def test_filter_names_what_it_drops(tmp_path: Path) -> None:
    topic = load_topics()[5]
    long = [Document(" ".join(topic.documents[start : start + 3]), id=str(start)) for start in (0, 3)]
    path = write(tmp_path / "found.jsonl", long)
    arguments = ["filter", "--query", topic.question, "--threshold", "0.5", "--embedding", "lexical"]
    assert invoke([*arguments, path]).exit_code == 0
    poison = Document(f"{topic.question}? Sydney.", id="p")
    path = write(tmp_path / "found.jsonl", [poison, *long])
    result = invoke([*arguments, path, "--format", "json"])
    rules = {item["id"]: item["rule"] for item in json.loads(result.stdout)["judgments"]}
    assert (result.exit_code, rules) == (1, {"p": "dense", "0": "density_ok", "3": "density_ok"})


def test_what_is_not_read_and_shared_ids_are_told(tmp_path: Path) -> None:
    texts = [
        ("a", "Paris is the capital."),
        ("a", "Lyon is the capital."),
        ("b", "word " * 40_001),
        ("c", "So it is."),
    ]
    file = write(tmp_path / "batch.jsonl", [Document(text, id=name) for name, text in texts])
    said = invoke(
        ["filter", file, "--query", "Which is the capital?", "--threshold", "0.2", "--embedding", "lexical"]
    ).stderr
    assert "1 of 4 documents are read up to character 200,000 only, the first is b" in said
    assert "the id a stands for several texts; tell them apart" in said


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
    examples, model = tmp_path / "examples.jsonl", tmp_path / "filter.json"
    examples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    trained = invoke(["filter", "--train", str(examples), "--model", str(model), "--embedding", "lexical"])
    assert (trained.exit_code, model.exists()) == (0, True)
    other = load_topics()[20]
    path = write(
        tmp_path / "found.jsonl", [Document(f"{other.question}? The answer is {other.wrong}.", id="p")]
    )
    used = invoke(
        ["filter", path, "--query", other.question, "--model", str(model), "--embedding", "lexical"]
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
    result = invoke([path if item == "FILE" else item for item in arguments])
    assert result.exit_code == 2


def test_consensus_answers_or_says_why_not(tmp_path: Path) -> None:
    topic = load_topics()[2]
    clean = write(tmp_path / "clean.jsonl", [Document(item) for item in topic.documents])
    arguments = ["consensus", "--query", topic.question, "--embedding", "lexical"]
    good = invoke([*arguments, clean])
    assert "206" in good.stdout.splitlines()[0]
    split = [*topic.documents[:5], *(item.replace("206", "212") for item in topic.documents[5:])]
    camps = write(tmp_path / "camps.jsonl", [Document(item) for item in split])
    shown = invoke([*arguments, camps])
    assert shown.stdout.startswith(("answer: ", "confidence: 0.5"))
    assert "50% of the votes: " in shown.stdout
    bad = invoke([*arguments, camps, "--format", "json", "--strictness", "strict"])
    answer = json.loads(bad.stdout)
    assert (bad.exit_code, answer["answer"]) == (1, "")
    assert "206" in answer["abstained"]
    assert [camp["share"] for camp in answer["camps"]] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines.jsonl", '{"text": "free prize, call now", "label": "spam", "id": 7}\n'),
        ("table.csv", 'id,label,text\n7,spam,"free prize, call now"\n'),
        ("table.tsv", "id\tlabel\ttext\n7\tspam\tfree prize, call now\n"),
    ],
)
def test_every_format_is_read_with_integer_ids(base: str, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    result = invoke(["label-flip", str(tmp_path / name), "--base", base, *OPTIONS, "--format", "json"])
    answer = json.loads(result.stdout)
    assert (result.exit_code, [item["id"] for item in answer["judgments"]]) == (0, ["7"])


def test_a_document_without_an_id_is_named_by_its_text(base: str, tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text('{"text": "free prize", "label": "spam"}\n', encoding="utf-8")
    result = invoke(["label-flip", str(path), "--base", base, *OPTIONS, "--format", "json"])
    assert json.loads(result.stdout)["judgments"][0]["id"] == Document("free prize").id


def passages(path: Path, count: int = 30) -> str:
    rows = [
        {"text": " ".join(topic.documents[start : start + 3]), "query": topic.question}
        for start in (0, 3)
        for topic in load_topics()[:count]
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_a_filter_without_calibration_is_refused_unless_a_threshold_is_given_and_then_warns_first(
    tmp_path: Path,
) -> None:
    topic = load_topics()[29]
    found = write(tmp_path / "found.jsonl", [Document(" ".join(topic.documents[:3]), id="clean")])
    asked = ["--query", topic.question, "--embedding", "lexical"]
    arguments = ["filter", found, *asked]
    refused = invoke(arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "not calibrated" in refused.stderr
    given = invoke([*arguments, "--threshold", "0.2"])
    assert given.stdout.startswith("note: warning: the threshold 0.2 is not calibrated")
    clean = passages(tmp_path / "clean.jsonl", 29)
    # Density sees nothing in the corpus's own style, so a promise to keep 95 % is refused.
    result = invoke([*arguments, "--calibrate", clean])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot tell these passages from poison" in result.stderr
    loose = invoke([*arguments, "--calibrate", clean, "--keep-clean", "0.05"])
    assert "at least 5% of further ones like them pass" in loose.stdout
    few = invoke([*arguments, "--calibrate", clean, "--keep-clean", "0.999"])
    assert (few.exit_code, "too few clean texts" in few.stderr) == (2, True)
    single = tmp_path / "single.jsonl"
    single.write_text('{"text": "One sentence alone has no question."}\n' * 30, "utf-8")
    none = invoke([*arguments, "--calibrate", str(single)])
    assert none.exit_code == 2
    assert "got 0" in none.stderr
    assert "a passage of one sentence counts only with its question" in none.stderr


COMMANDS = {
    "consensus": ["consensus", "FOUND", "--query", "what is new"],
    "filter": ["filter", "FOUND", "--query", "what is new", "--threshold", "0.2"],
}
HOSTILE = "out of credit\x1b[2J\u202e"
OUT_OF_CREDIT = Reply(json.dumps({"error": {"message": HOSTILE}}).encode(), 402)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (OUT_OF_CREDIT, "status 402: out of credit\\x1b[2J\\u202e"),
        (Reply(OUT_OF_CREDIT.body, 200), "out of credit\\x1b[2J\\u202e"),
        (Reply(b"plain words", 400), "status 400: plain words"),
        (Reply(b"[1, 2]", 200), "choices[0].message.content: [1, 2]"),
        (Reply(b"<html>", 200), "not JSON"),
    ],
)
def test_a_failing_endpoint_exits_2_with_the_server_s_own_words(
    base: str, tmp_path: Path, command: str, reply: Reply, message: str, form: str
) -> None:
    odd = Document("call me now when the lecture is over, I won a prize", id="odd", label="ham")
    paths = {"BASE": base, "FOUND": write(tmp_path / "found.jsonl", [odd])}
    with serve(lambda request: reply) as server:
        arguments = [paths.get(item, item) for item in COMMANDS[command]]
        result = invoke([*arguments, "--embedding", "lexical", "--llm-url", server.url, "--format", form])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.output.isascii()
    assert "\x1b" not in result.output


@pytest.mark.parametrize("failing", ["summary", "answer"])
def test_one_failed_call_of_many_exits_2_too(tmp_path: Path, failing: str) -> None:
    topic = load_topics()[2]
    path = write(tmp_path / "found.jsonl", [Document(item) for item in topic.documents[:5]])

    def respond(request: dict[str, Any]) -> Reply:
        asked = request["messages"][-1]["content"]
        kind = "summary" if SUMMARY in asked else "answer"
        if kind == failing and (kind == "answer" or topic.documents[0] in asked):
            return OUT_OF_CREDIT
        return completion("An adult human has 206 bones.")

    with serve(respond) as server:
        result = invoke(
            ["consensus", path, "--query", topic.question, "--embedding", "lexical", "--llm-url", server.url],
        )
    assert result.exit_code == 2
    assert "out of credit" in result.stderr


def test_a_model_that_cannot_be_reached_exits_2_and_keeps_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "found.jsonl", clean_batch()[:2])
    with serve(lambda request: completion("x")) as server:
        url = server.url
    result = invoke(
        ["consensus", path, "--query", "q", "--embedding", "lexical", "--llm-url", url, "--format", "json"],
    )
    assert (result.exit_code, {item["rule"] for item in json.loads(result.stdout)["judgments"]}) == (
        2,
        {"call_failed"},
    )
    assert "connection to the model's server failed" in result.stderr


def test_examples_that_the_model_could_not_read_train_nothing(tmp_path: Path) -> None:
    examples = tmp_path / "examples.jsonl"
    rows = [
        {"query": topic.question, "text": item, "poisoned": bad}
        for topic in load_topics()[:10]
        for item, bad in ((topic.documents[0], False), (f"{topic.question}? {topic.wrong}.", True))
    ]
    examples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serve(lambda request: OUT_OF_CREDIT) as server:
        where = ["--embedding", "lexical", "--llm-url", server.url]
        result = invoke(["filter", "--train", str(examples), "--model", str(tmp_path / "m.json"), *where])
    assert (result.exit_code, (tmp_path / "m.json").exists()) == (2, False)
    assert "out of credit" in result.stderr


def test_a_row_padded_as_spreadsheets_do_is_read(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    path.write_text("text,label\ncall me,ham,,\n", encoding="utf-8")
    assert [item.text for item in files.read_documents(path)] == ["call me"]


@pytest.mark.parametrize("separator", ["\u2028", "\x0c", "\x85"])
def test_only_a_newline_ends_a_row(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "batch.tsv"
    path.write_text(f"text\tlabel\ncall{separator}me\tham\n", encoding="utf-8")
    found = files.read_documents(path)
    assert [(item.text, item.label) for item in found] == [(f"call{separator}me", "ham")]


TOKEN = "ghp_" + "A1b2C3d4E5" * 3 + "A1b2C3"


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_of_a_document_is_shown(tmp_path: Path, form: str) -> None:
    texts = ["Paris is the capital of France.", f"The token is {TOKEN} and Lyon is the capital of France."]
    path = write(tmp_path / "documents.jsonl", [Document(text, id=f"n{len(text)}") for text in texts])
    asked = ["--threshold", "0.2", "--query", "What is the capital of France?", "--format", form]
    done = invoke(["filter", path, *asked])
    assert done.exit_code in (0, 1), done.output
    assert TOKEN not in done.output
    assert "n31" in done.output
