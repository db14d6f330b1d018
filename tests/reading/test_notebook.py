"""The Python of a notebook's code cells, and where each of its characters stands in the file."""

from __future__ import annotations

import json

import pytest

from codeguard.corpus.notebooks import DEEPEST, notebook_code

WORDS = "# import nothing\n#\n\n"  # the first cell of every notebook here
_PYTHON = {"kernelspec": {"name": "python3", "language": "python"}, "language_info": {"name": "python"}}


def notebook(*sources: object, metadata: object = _PYTHON, indent: int | None = 1) -> str:
    cells = [{"cell_type": "code", "outputs": [], "source": source} for source in sources]
    words = {"cell_type": "markdown", "source": ["import nothing\n"]}
    return json.dumps({"cells": [words, *cells], "metadata": metadata, "nbformat": 4}, indent=indent)


def text_of(raw: str) -> str | None:
    code = notebook_code(raw)
    return None if code is None else code.python.text.removeprefix(WORDS)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (notebook(["a = 1\n", "b = 2"]), "a = 1\nb = 2\n"),
        (notebook("a = 1\nb = '\\n'", "c = 3"), "a = 1\nb = '\\n'\nc = 3\n"),
        (notebook(), ""),
        ('{"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1"]}]}]}', "a = 1\n"),
        ('{"cells": [{"source": ["a"], "cell_type": "code", "source": ["b"]}]}', "ab\n"),
        ('{"cells": [{"cell\\u005ftype": "c\\u006fde", "source": "x"}]}', "x\n"),
        ('{"cells": [{"cell_type": "code", "source": ["\\ud83d\\ude00 \\/\\t"]}]}', "# \U0001f600 /\t\n\n"),
        ('{"cells": [{"cell_type": "code", "source": [["x"], {"y": "z"}, 3, null]}]}', ""),
        (notebook("a", "b <- c(1 2)", metadata={"kernelspec": {"language": "R"}}), "a\n# b <- c(1 2)\n\n"),
        (notebook("a", metadata={"language_info": {"name": "ipython3"}}), "a\n"),
        (notebook("a", metadata={**_PYTHON, "x": {"kernelspec": {"language": "R"}}}), "a\n"),
        ("", ""),
        ("{", None),
        ('{"a": "', None),
        ('{"a": [}', None),
        ("[" * (DEEPEST + 1), None),
        ("[" * DEEPEST + "]" * DEEPEST, ""),
    ],
)
def test_the_code_is_what_a_person_would_run(raw: str, text: str | None) -> None:
    assert text_of(raw) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("%matplotlib inline\nx = 1\n", "# %matplotlib inline\nx = 1\n\n"),
        ("if x:\n    !ls\n    x?\n", "if x:\n    pass  # !ls\n    pass  # x?\n\n"),
        ("x = (1\n  % y)\n", "x = (1\n  % y)\n\n"),
        ("f(1\n%g())\n", "f(1\n%g())\n\n"),
        ("!pip install a\nx = (1\n  % y)\n", "# !pip install a\nx = (1\n  % y)\n\n"),
        ("%%time\nx = 1\n", "# %%time\nx = 1\n\n"),
        ("%%bash\nrm x\n", "# %%bash\n# rm x\n#\n\n"),
        ("%%heat\nx = 1\n", "# %%heat\nx = 1\n\n"),
        ("def f(:\n", "# def f(:\n#\n\n"),
        ("", "\n"),
    ],
)
def test_magic_becomes_a_comment_and_statements_stay(source: str, text: str) -> None:
    assert text_of(notebook(source)) == text


@pytest.mark.parametrize("indent", [1, None])
def test_each_character_is_found_in_the_file(indent: int | None) -> None:
    raw = notebook(["a = '\\y'\n", 'b = "\u00e9\U0001f600\t"\n'], "c = 1\nd", indent=indent)
    code = notebook_code(raw)
    assert code is not None
    escapes = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "\u00e9": "\\u00e9"}
    begin = len(WORDS)
    ends = [place for place in range(begin, len(code.python.text)) if code.python.text[place] == "\n"]
    for offset, character in enumerate(code.python.text[begin:], begin):
        shown = escapes.get(character, "\\ud83d" if character == "\U0001f600" else character)
        if offset not in (ends[2], ends[-1]):  # the line breaks between cells stand nowhere
            assert raw[code.python.place(offset) :].startswith(shown)
    assert code.python.place(len(code.python.text)) <= len(raw)
    assert raw[code.python.place(2) :].startswith("import nothing")


def test_cells_in_other_languages_are_told() -> None:
    raw = notebook("x = 1", "%%bash\nls", "%%ruby\nputs", "%%perl\nprint", "%%sql\nselect")
    code = notebook_code(raw)
    assert code is not None
    assert [raw[place : place + 5] for place in code.foreign] == ["%%per", "%%sql"]
    assert [(script.language, script.text.strip()) for script in code.scripts] == [("ruby", "puts")]


@pytest.mark.parametrize(
    "source",
    [
        "!curl x | sh",
        "x = 1\nif x:\n    !!curl x | sh\n",
        "%sx curl x | sh",
        "%%bash\ncurl x | sh",
        "%%sh\ncurl x | sh\n",
    ],
)
def test_what_a_shell_is_given_stands_where_it_stands_in_the_code(source: str) -> None:
    raw = notebook("y = 2", "%%sql\nselect", source)
    code = notebook_code(raw)
    assert code is not None
    assert len(code.shell.text) == len(code.python.text)
    assert code.shell.text.split() == ["curl", "x", "|", "sh"]
    assert raw[code.python.place(code.shell.text.index("curl")) :].startswith("curl x | sh")


def test_a_notebook_without_shell_has_no_shell_text() -> None:
    code = notebook_code(notebook("%matplotlib inline\nx = 1", "%%time\nx = (1\n  % y)"))
    assert code is not None
    assert code.shell.text == ""


def test_the_prose_is_what_cells_hold_that_are_no_code() -> None:
    raw = notebook("y = 2")
    code = notebook_code(raw)
    assert code is not None
    assert code.prose.text == "import nothing\n\n"
    assert raw[code.prose.place(7) :].startswith("nothing")
