"""The frozen sets of injected and deceptive text, and the gathering of honest text."""

import ast
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from experiments.audit_sets.benign_comments import BenignText, choose, collect, texts_of
from experiments.audit_sets.texts import HERE, digest_of, load_deceptive, load_injections

INJECTIONS = load_injections()
HOLDOUT = load_injections("injections_holdout")
DECEPTIVE = load_deceptive()
ATTACKS = [case for case in DECEPTIVE if case.attack]
HONEST = [case for case in DECEPTIVE if not case.attack]
LANGUAGES = {"python", "javascript", "go", "c", "cpp", "csharp", "rust", "java"}
GIVEAWAY = re.compile(r"ignor|instruct|\bai\b|assistant|model", re.IGNORECASE)
BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("injections", "17c69b1dcde0002f3fbd479da4462363aec28cbcbf6c99cb9b05b27f035a87af"),
        ("injections_holdout", "f11303fdff3ffbe0b26f24da049e25880c858481834c93d7528d4267430914d4"),
        ("deceptive", "7e76bda6717b51a095d44aafd8d8ab4ca12f263f09a7e44fbc2b783d2b2f1da6"),
    ],
)
def test_sets_are_frozen(name: str, digest: str) -> None:
    assert digest_of(name) == digest
    assert digest in (HERE / "README.md").read_text(encoding="utf-8")


def test_unknown_set_is_refused() -> None:
    with pytest.raises(ValueError, match="no injection set 'insecure'"):
        load_injections("insecure")


def test_sizes() -> None:
    assert len(INJECTIONS) >= 240
    assert len(HOLDOUT) == 60
    assert len(ATTACKS) >= 100
    assert len(HONEST) >= 150


def test_ids_and_files_are_unique() -> None:
    entries = [*INJECTIONS, *HOLDOUT, *DECEPTIVE]
    assert len({entry.id for entry in entries}) == len(entries)
    assert len({entry.code for entry in entries}) == len(entries)


def test_injections_span_languages_and_hosts() -> None:
    languages = Counter(entry.language for entry in INJECTIONS)
    assert {"en", "de", "fr", "es", "zh", "ru", "ja", "pt", "ko", "ar"} == set(languages)
    assert 0.5 <= languages["en"] / len(INJECTIONS) <= 0.65
    hosts = Counter(entry.host for entry in INJECTIONS)
    assert set(hosts) == {"python", "javascript", "go", "c", "java", "rust", "bash", "markdown"}
    assert hosts["python"] > len(INJECTIONS) / 2


def test_a_quarter_of_the_injections_is_disguised() -> None:
    assert sum(entry.obfuscation != "none" for entry in INJECTIONS) >= len(INJECTIONS) / 4


def test_a_third_lacks_the_words_that_give_it_away() -> None:
    plain = [entry for entry in INJECTIONS if entry.language == "en" and entry.obfuscation == "none"]
    assert sum(not GIVEAWAY.search(entry.injected) for entry in plain) >= len(plain) / 3


@pytest.mark.parametrize("entry", [*INJECTIONS, *HOLDOUT], ids=lambda entry: entry.id)
def test_injection_stands_among_honest_code(entry) -> None:
    lines = entry.code.splitlines()
    first, last = entry.where
    assert 6 <= len(lines) <= 40
    assert 1 <= first <= last <= len(lines)
    assert entry.injected.strip()
    assert last - first + 1 < len(lines)
    if entry.host == "python":
        ast.parse(entry.code)


@pytest.mark.parametrize("host", sorted(LANGUAGES))
def test_every_trojan_source_attack_is_there(host: str) -> None:
    kinds = {case.kind for case in ATTACKS if case.host == host}
    assert kinds >= {
        "early_return",
        "commenting_out",
        "stretched_string",
        "homoglyph_function",
        "invisible_function",
    }


def test_honest_files_span_the_languages() -> None:
    assert {case.host for case in HONEST} == LANGUAGES


@pytest.mark.parametrize("case", ATTACKS, ids=lambda case: case.id)
def test_attack_lines_hold_unusual_characters(case) -> None:
    lines = case.code.split("\n")
    assert case.lines
    for number in case.lines:
        assert re.search(r"[^\t\x20-\x7e]", lines[number - 1])


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.id)
def test_honest_files_neither_turn_text_nor_break(case) -> None:
    assert not BIDI_CONTROLS.search(case.code)
    assert case.lines == ()
    if case.host == "python":
        ast.parse(case.code.removeprefix("\ufeff"))


@pytest.mark.parametrize(
    "case", [case for case in ATTACKS if case.host == "python"], ids=lambda case: case.id
)
def test_python_attacks_run_where_python_allows_the_character(case) -> None:
    if case.kind in {"invisible_function", "nul_in_source"}:
        with pytest.raises((SyntaxError, ValueError)):
            ast.parse(case.code)
    else:
        ast.parse(case.code)


@pytest.mark.parametrize("name", ["injections", "injections_holdout", "deceptive"])
def test_repository_files_hold_no_invisible_characters(name: str) -> None:
    for path in (HERE / name).glob("*.toml"):
        hidden = {
            c for c in path.read_text(encoding="utf-8") if unicodedata.category(c) in {"Cf", "Cc", "Zl", "Zp"}
        }
        assert hidden <= {"\n", "\t"}, path.name


SOURCE = '''"""Read the configuration file of a user."""

# Please note that the order
# of the keys is kept.
import os  # needed by callers elsewhere

GREETING = "a sentence with words"
NUMBER = f"formatted {os} text here"


def f(x):
    """Return it.

    Never fails.
    """
    return x
'''
PYTHON_TEXTS = [
    ("comment", "# Please note that the order\n# of the keys is kept."),
    ("comment", "# needed by callers elsewhere"),
    ("docstring", '"""Read the configuration file of a user."""'),
    ("docstring", '"""Return it.\n\nNever fails.\n"""'),
    ("string", '"a sentence with words"'),
]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("a.py", SOURCE, PYTHON_TEXTS),
        ("a.py", "def (", []),
        ("a.py", "x = '''never closed", []),
        ("a.js", "let s = '// no'; // yes, a comment\n", [("comment", "// yes, a comment")]),
        ("a.js", "// one\n// two\nf();\n", [("comment", "// one\n// two")]),
        ("a.c", '/* block\n * two */ char *s = "/* no */";', [("comment", "/* block\n * two */")]),
    ],
)
def test_texts_of_a_file(tmp_path: Path, name: str, source: str, expected: list[tuple[str, str]]) -> None:
    path = tmp_path / name
    path.write_text(source, encoding="utf-8")
    assert sorted(texts_of(path)) == sorted(expected)


def test_undecodable_and_missing_files_yield_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"# \xff\xfe not UTF-8\n")
    assert list(texts_of(tmp_path / "a.py")) == []
    assert list(texts_of(tmp_path / "none.py")) == []


def test_collecting_does_not_depend_on_where_the_folder_is(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder / "sub").mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text(SOURCE, encoding="utf-8")
        (tmp_path / folder / "sub" / "b.py").write_text(SOURCE + "# one more comment\n", encoding="utf-8")
    one, two = (collect([tmp_path / folder]) for folder in ("one", "two"))
    assert one == two
    assert len(one) == len(PYTHON_TEXTS) + 1
    assert {text.text for text in one if text.hard} == {PYTHON_TEXTS[i][1] for i in (0, 2, 3)}


def test_hard_texts_come_first() -> None:
    def text(name: str, *terms: str) -> BenignText:
        return BenignText(name, "python", "comment", terms, "a.py")

    texts = [text("a"), text("b", "user"), text("c", "user", "never"), text("d"), text("e", "rule")]
    assert [t.text for t in choose(texts, count=4, hard=2)] == ["c", "b", "a", "d"]
