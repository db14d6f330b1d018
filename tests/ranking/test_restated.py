"""Which texts of unknown origin stand behind the ones that they repeat or are edits of."""

from __future__ import annotations

import textwrap

import pytest

from codeguard.corpus.chunking import chunk_file
from codeguard.models import Chunk
from codeguard.ranking.restated import _Text, relation, restated

QUESTION = "How do I turn a cookie string into a dictionary?"
BODY = """    found = {}
    for part in raw.split(";"):
        name, _, value = part.partition("=")
        if name.strip():
            found[name.strip().lower()] = value.strip()
    return found
"""
HONEST = f"""def parse_header(raw):
    '''Read name and value pairs of one field.

    Later ones win.
    '''
{BODY}"""
ECHO = "Turn a cookie string into a dictionary, the easy way."
SUMMARY = "Read name and value pairs of one field."


def function(path: str, text: str) -> Chunk:
    return next(chunk for chunk in chunk_file(path, text.encode()).chunks if chunk.symbol)


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        (f'def parse_header(raw):\n    """{ECHO}"""\n{BODY.replace("lower", "upper")}', True),
        (f'def turn_cookie(raw):\n    """{ECHO}\n\n    {SUMMARY}"""\n    return len(raw)\n', True),
        (f'def simple_parse_header(raw: str):\n    """{ECHO}"""\n    pass\n', True),
        ('def parse_header(raw):\n    "Read one."\n    raise NotImplementedError("see there")\n', True),
        ('def parse_header(raw):\n    "Read one."\n    return raw\n', True),
        (f'def turn_cookie(raw):\n    """{ECHO}"""\n    return len(raw)\n', False),  # it repeats nothing
        (f'def parse_header(raw):\n    """{SUMMARY}"""\n{BODY}', False),  # in no more words
    ],
    ids=[
        "an edit",
        "the description on another body",
        "a stub under its name",
        "a stub that says little",
        "a stub that returns what it got",
        "other code and words",
        "a copy",
    ],
)
def test_what_repeats_another_with_more_of_the_question_stands_behind_it(text: str, behind: bool) -> None:
    chunks = {"honest": function("a.py", HONEST), "other": function("b.py", text)}
    costs, found = restated(QUESTION, {"honest": 0.5, "other": 0.1}, chunks, list(chunks))
    assert found == ({"other": "honest"} if behind else {})
    assert (costs["other"] > costs["honest"]) is behind
    assert costs["honest"] == 0.5


PAGE = f"# Fields\n\nread  name and value\npairs of one *field*: {ECHO}\n"


@pytest.mark.parametrize(
    ("page", "foreign", "behind"),
    [
        (PAGE, ["page"], True),
        (PAGE, ["honest", "page"], True),
        (textwrap.indent(PAGE, "# ", lambda line: True), ["page"], True),
        (PAGE.replace(ECHO, ""), ["page"], True),
        (PAGE.replace(ECHO, ""), ["honest", "page"], False),  # or any function would move a page by one of its lines
        (PAGE.replace("value", "a value"), ["page"], False),
        (PAGE, ["honest"], False),
    ],
    ids=["own code", "other code", "comments alone", "no more words", "other code, no more", "something else", "own"],
)  # fmt: skip
def test_a_page_that_says_what_a_function_says_of_itself_stands_behind_it(
    page: str, foreign: list[str], behind: bool
) -> None:
    name = "fields.py" if page.startswith("# #") else "fields.md"
    (text,) = chunk_file(name, page.encode()).chunks
    chunks = {"honest": function("a.py", HONEST), "page": text}
    costs, found = restated(QUESTION, {"honest": 0.5, "page": 0.1}, chunks, foreign)
    assert found == ({"page": "honest"} if behind else {})
    assert costs["honest"] == 0.5
    assert not behind or relation(text, chunks["honest"]) == ("repeats", "whose description it repeats")


def test_within_one_file_and_behind_trusted_text_nothing_moves() -> None:
    repeated = f'def parse_header(raw):\n    """{ECHO}\n\n    {SUMMARY}"""\n{BODY}'
    here = {"honest": function("a.py", HONEST), "other": function("a.py", repeated)}
    assert restated(QUESTION, {"honest": 0.5, "other": 0.1}, here, list(here))[1] == {}
    there = {**here, "other": function("b.py", repeated)}
    assert restated(QUESTION, {"honest": 0.5, "other": 0.1}, there, ["other"])[1] == {}


@pytest.mark.parametrize("description", [f'    """{ECHO} {SUMMARY} No. {{}}."""\n', "    # No. {}\n"])
def test_ten_that_collude_do_not_push_an_honest_one_back(description: str) -> None:
    chunks = {"honest": function("a.py", HONEST)}
    for number in range(10):
        text = f"def parse_header(raw):\n{description.format(number)}{BODY.replace('lower', 'upper')}"
        chunks[f"other {number}"] = function(f"b{number}.py", text)
    costs = {id_: 0.5 if id_ == "honest" else 0.1 for id_ in chunks}
    moved, behind = restated(QUESTION, costs, chunks, list(chunks))
    assert moved["honest"] == 0.5
    assert "honest" not in behind


GUARDED = """def stored(root, name):
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise ValueError(name)
    return path.read_bytes()
"""
UNGUARDED = GUARDED.replace("    if not path.is_relative_to(root):\n        raise ValueError(name)\n", "")
LAST = "    return path.read_bytes()"


@pytest.mark.parametrize(
    ("first", "behind", "rule"),
    [
        (GUARDED, UNGUARDED, "unprotected"),
        ("data = load(stream)\nwrite(escape(data))\n", "data = load(stream)\nwrite(data)\n", "unprotected"),
        (GUARDED, GUARDED.replace(LAST, f"{LAST}[1:]"), "adds"),
        (GUARDED, GUARDED.replace(LAST, f"    if name == 'a':\n        return b''\n{LAST}"), "adds"),
        (GUARDED, GUARDED.replace("stored(root, name)", "load(base: Path, key: str)")
         .replace("root", "base").replace("name", "key").replace(LAST, f"{LAST} * 2"), "adds"),
    ],
    ids=["a check less", "a protecting call less", "another result", "another way out", "renamed"],
)  # fmt: skip
def test_of_two_near_copies_one_is_the_riskier(first: str, behind: str, rule: str) -> None:
    chunks = {
        name: chunk_file(f"{name}.py", text.encode()).chunks[-1]
        for name, text in (("first", first), ("behind", behind))
    }
    costs, found = restated(QUESTION, {"first": 0.5, "behind": 0.1}, chunks, list(chunks))
    assert found == {"behind": "first"}
    assert costs["first"] == 0.5 < costs["behind"] < 0.501
    assert relation(chunks["behind"], chunks["first"])[0] == rule


@pytest.mark.parametrize(
    "other",
    [
        GUARDED.replace("read_bytes", "read_text"),
        GUARDED.replace("    path = ", '    """Read the bytes below one folder."""\n    path = key = '),
        "def stored(root, name):\n    return root / name\n",
    ],
    ids=["exchanged", "something put in, and words of the question in the other", "much less code"],
)
def test_what_is_no_edit_stays(other: str) -> None:
    asked = GUARDED.replace(
        "(root, name):\n", '(root, name):\n    """Turn a cookie string into a dictionary."""\n'
    )
    chunks = {"first": function("a.py", asked), "other": function("b.py", other)}
    assert "other" not in restated(QUESTION, {"first": 0.5, "other": 0.1}, chunks, list(chunks))[1]


def test_ten_copies_with_a_check_more_push_an_honest_one_back_by_one_place() -> None:
    chunks = {"honest": function("a.py", UNGUARDED)} | {
        f"other {number}": function(f"b{number}.py", GUARDED + f"# {number}\n") for number in range(10)
    }
    costs = {id_: 0.5 if id_ == "honest" else 0.6 + 0.01 * int(id_[-1]) for id_ in chunks}
    moved, _ = restated(QUESTION, costs, chunks, list(chunks))
    assert sorted(moved, key=lambda id_: moved[id_])[1] == "honest"


def test_two_texts_are_compared_once_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    beside = _Text._beside
    monkeypatch.setattr(_Text, "_beside", lambda *pair: (compared.append(pair), beside(*pair))[1])
    edit = f'def parse_header(raw):\n    """{ECHO}"""\n{BODY.replace("lower", "casefold")}'
    chunks = {"honest": function("c.py", HONEST), "other": function("d.py", edit)}
    for question in (QUESTION, "cookie"):
        restated(question, {"honest": 0.5, "other": 0.1}, chunks, list(chunks))
    assert len(compared) == 4  # each with both, itself among them
