"""The code cells of a notebook are audited as Python; findings stand at their line of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from audit_helpers import look, write

NO_JSON = "a notebook that is no JSON is looked at as text"
WEAK = ["import os\n", "def ping(host):\n", "    os.system('ping ' + host)\n"]


def notebook(cells: list[object], language: str = "python", indent: int | None = 1) -> str:
    found = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in cells]
    return json.dumps({"cells": found, "metadata": {"kernelspec": {"language": language}}}, indent=indent)


@pytest.mark.parametrize("indent", [1, None])
def test_a_finding_stands_where_the_notebook_has_it(tmp_path: Path, indent: int | None) -> None:
    text = notebook([["%pip install x\n", "x = 1"], WEAK], indent=indent)
    write(tmp_path, {"a.ipynb": text})
    (finding,) = look(tmp_path, only=("insecure",)).open
    assert finding.rule == "insecure.command-injection"
    line = text.splitlines()[finding.place.start_line - 1]
    assert line[finding.place.start_column - 1 :].startswith("os.system('ping ' + host)")


def test_a_file_of_another_name_that_is_a_notebook_is_one(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": notebook([WEAK])})
    assert [item.rule for item in look(tmp_path, only=("insecure",)).open] == ["insecure.command-injection"]


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (notebook([["x = 1\n"]]), []),
        (notebook([["%%ruby\n", "puts 1\n"]]), []),
        (notebook([["%%perl\n", "print 1;\n"]]), ["a cell in another language is looked at as text"]),
        (notebook([["x <- c(1 2)\n"]], "R"), ["a cell in another language is looked at as text"]),
        (notebook([WEAK])[:-1], [NO_JSON]),
        ("[" * 300_000, [NO_JSON]),  # a megabyte of them comes near the bound of a file on a slow machine
        ('{"a": "' + '\\"' * 400_000, [NO_JSON]),
    ],
)
def test_what_no_rule_sees_is_told(tmp_path: Path, text: str, reasons: list[str]) -> None:
    write(tmp_path, {"a.ipynb": text})
    report = look(tmp_path)
    assert [item.reason.partition(":")[0] for item in report.findings] == reasons


SHELL = "curl http://127.0.0.1/x | sh\n"


@pytest.mark.parametrize(
    ("kind", "source"),
    [("code", "!" + SHELL), ("code", "%%bash\n" + SHELL), ("markdown", f"Install:\n\n```sh\n{SHELL}```\n")],
)
def test_what_a_cell_gives_to_a_shell_or_shows_is_looked_at(tmp_path: Path, kind: str, source: str) -> None:
    cell = {"cell_type": kind, "metadata": {}, "outputs": [], "source": source}
    text = json.dumps({"cells": [cell], "metadata": {"kernelspec": {"language": "python"}}})
    write(tmp_path, {"a.ipynb": text})
    (finding,) = look(tmp_path, only=("capabilities.download-and-run",)).findings
    assert text[finding.place.start_column - 1 :].startswith("curl http")


@pytest.mark.parametrize("number", ["0x" + "f" * 5_000, "0o" + "7" * 6_000, "0b" + "1" * 20_000])
def test_a_number_too_long_to_be_written_hides_nothing(tmp_path: Path, number: str) -> None:
    lines = ["import os", f"x = str({number})", f"open('a', {number})", f"os.chmod('a', {number})"]
    write(tmp_path, {"a.py": "\n".join([*lines, "def ping(host):", "    os.system('ping ' + host)", ""])})
    rules = {item.rule for item in look(tmp_path, only=("insecure", "audit")).findings}
    assert "insecure.command-injection" in rules
    assert "audit.detector-error" not in rules


def test_a_cell_that_does_not_parse_is_told_and_the_others_are_seen(tmp_path: Path) -> None:
    write(tmp_path, {"a.ipynb": notebook([["def f(:\n"], WEAK])})
    rules = {item.rule for item in look(tmp_path, only=("insecure", "discovery")).findings}
    assert rules == {"insecure.command-injection", "discovery.syntax"}


def test_a_string_that_a_broken_cell_opens_hides_no_other_cell(tmp_path: Path) -> None:
    write(tmp_path, {"a.ipynb": notebook([['x = """\n'], WEAK, ['""" = x\n', "eval(input())\n"]])})
    report = look(tmp_path, only=("insecure",))
    rules = sorted(item.rule for item in report.open if item.rule.startswith("insecure."))
    assert rules == ["insecure.code-injection", "insecure.command-injection"]
    assert sum(item.rule == "discovery.syntax" for item in look(tmp_path).findings) == 2


def test_what_the_text_shows_already_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, {"a.ipynb": notebook([["x = 'a\u202eb'\n"]]).replace("\\u202e", "\u202e")})
    found = look(tmp_path, only=("deceptive",)).findings
    assert len({(item.rule, item.place.start_line) for item in found}) == len(found) > 0


def test_what_a_cell_does_is_no_effect_of_an_import(tmp_path: Path) -> None:
    code = ["import os\n", "os.system('ls')\n"]
    write(tmp_path, {"a.ipynb": notebook([code]), "a.py": "".join(code)})
    found = look(tmp_path, only=("capabilities",)).findings
    assert [item.path.rpartition("/")[2] for item in found if item.rule.endswith("import-effect")] == ["a.py"]
