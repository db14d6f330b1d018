"""Comments, docstrings, strings and names of a file, in every language and on broken input."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading, SegmentKind
from codeguard.models import SourceFile


def segments(text: str, language: str = "python") -> list[tuple[str, str]]:
    reading = Reading(SourceFile("f", text, "", language, ()))
    return [(s.kind.value, s.text) for s in reading.segments if s.kind is not SegmentKind.IDENTIFIER]


def names(text: str, language: str = "python") -> list[str]:
    reading = Reading(SourceFile("f", text, "", language, ()))
    return [s.text for s in reading.segments if s.kind is SegmentKind.IDENTIFIER]


PYTHON = [
    ("# one\n# two\n\n# three\n", [("comment", "one\ntwo"), ("comment", "three")]),
    ("x = 1  # one\n       # two\n", [("comment", "one\ntwo")]),
    ("x = 1  # one\ny = 2  # two\n", [("comment", "one"), ("comment", "two")]),
    ('"""Module."""\ndef f():\n    r"""Doc."""\n    "x"\n', [
        ("docstring", "Module."), ("docstring", "Doc."), ("string", "x"),
    ]),
    ("class A:\n    async def f(self):\n        'Doc'\n", [("docstring", "Doc")]),
    ("x = rb'a\\'b' f\"{y}\" ''", [("string", "a\\'b"), ("string", "{y}")]),
    ("x = '''a\n'b' # c'''  # d", [("string", "a\n'b' # c"), ("comment", "d")]),
    ("def f(:\n    'Doc'\n    '''open", [("docstring", "Doc"), ("string", "open")]),
    ("x = 'open\n# next\n", [("string", "open"), ("comment", "next")]),
    ("x = 'a\\\nb'", [("string", "a\\\nb")]),
    ("x = 0xFF\r\n# a\r\n# b\r\n", [("comment", "a\nb")]),
    ("é = 'ü'\ndef f():\n    'ö'\n", [("string", "ü"), ("docstring", "ö")]),
]  # fmt: skip

OTHERS = [
    ("c", "int a; // x \"y\n/* b\n * c */ char *s = \"/* no */\";", [
        ("comment", 'x "y\nb\nc'), ("string", "/* no */"),
    ]),
    ("c", "// a \\\nint b = 1'000; char c = '\"'; // d", [("comment", "a \\"), ("string", '"'), ("comment", "d")]),
    ("cpp", 'auto s = R"x(a)" // b\n)x"; auto n = 1\'000\'000; // c', [
        ("string", 'x(a)" // b\n)x'), ("comment", "c"),
    ]),
    ("java", 'String s = """\n  a "b" // c\n  """; // d', [("string", '\n  a "b" // c\n  '), ("comment", "d")]),
    ("csharp", 'var s = @"a\\"; var t = $"b{c}"; var u = """x"y"""; // d', [
        ("string", "a\\"), ("string", "b{c}"), ("string", 'x"y'), ("comment", "d"),
    ]),
    ("go", "s := `a // b\nc` // d", [("string", "a // b\nc"), ("comment", "d")]),
    ("rust", '/* a /* b */ c */ fn f<\'a>(x: &\'a str) { r#"d"e"#; \'"\'; } /// f', [
        ("comment", "a /* b */ c"), ("string", 'd"e'), ("string", '"'), ("comment", "f"),
    ]),
    ("javascript", "const r = /['\"`]/g; x = a / b; // c\nlet t = `d\n${e}`;", [
        ("string", "['\"`]/g"), ("comment", "c"), ("string", "d\n${e}"),
    ]),
    ("javascript", "// a\u2028b('c')", [("comment", "a"), ("string", "c")]),
    ("typescript", "/** Doc.\n * @param x y\n */\nfunction f(x: string) {}", [("comment", "Doc.\n@param x y\n")]),
    ("tsx", "<a href='b'>Don't</a> // c", [("string", "b"), ("string", "t</a> // c")]),
    ("php", "<p>Don't\n</p><?php # a\n// b ?>\n<i>c</i><?= 'd' ?>", [
        ("prose", "<p>Don't\n</p>"), ("comment", "a\nb "), ("prose", "<i>c</i>"), ("string", "d"),
    ]),
    ("php", "<?php $a = <<<'EOT'\nb 'c\nEOT . 'd';", [("string", "b 'c\n"), ("string", "d")]),
    ("ruby", "a = <<~EOS + 'x'\n  b # 'c\nEOS\n# d\n=begin\ne\n=end\n", [
        ("string", "x"), ("string", "  b # 'c\n"), ("comment", "d\n\ne\n"),
    ]),
    ("ruby", "x = %w[a b]; y = \"#{z} # c\"; q = s =~ /'/", [("string", "#{z} # c"), ("string", "'")]),
    ("bash", "#!/bin/sh\necho $# ${a#b} 'it' \"x # y\" # z\ncat <<EOF | grep 'q'\n# it's\nEOF\n# w", [
        ("comment", "/bin/sh"), ("string", "it"), ("string", "x # y"), ("comment", "z"),
        ("string", "q"), ("string", "# it's\n"), ("comment", "w"),
    ]),
    ("markdown", "# Title\n\nOne\ntwo\n \nthree", [("prose", "# Title"), ("prose", "One\ntwo"), ("prose", "three")]),
    ("text", "a: 1 # b\n", [("prose", "a: 1 # b")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PYTHON)
def test_python(text: str, expected: list[tuple[str, str]]) -> None:
    assert segments(text) == expected


@pytest.mark.parametrize(("language", "text", "expected"), OTHERS)
def test_other_languages(language: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert segments(text, language) == expected


def test_names_are_given_once_where_they_first_stand() -> None:
    text = "b = a + b  # c\nd1 = 'e'\n"
    assert names(text) == ["b", "a", "d1"]
    reading = Reading(SourceFile("f", text, "", "python", ()))
    for segment in reading.segments:
        assert segment.text in text[segment.start : segment.end]


def test_offsets_hold_the_delimiters() -> None:
    text = "x = 'é'  # a\n# b\n"
    reading = Reading(SourceFile("f", text, "", "python", ()))
    assert [text[s.start : s.end] for s in reading.segments] == ["x", "'é'", "# a\n# b"]


HOSTILE = [
    "'",
    '"',
    '"""',
    "#",
    "/*",
    "*/",
    "/",
    "`",
    "<<A\n",
    "<<A",
    'R"x(',
    'r#"',
    "\\",
    "?>",
    "<?",
    "=begin\n",
    "a\n",
]


@pytest.mark.ci
@pytest.mark.parametrize(
    "language", ["python", "cpp", "csharp", "rust", "tsx", "php", "ruby", "bash", "markdown"]
)
@pytest.mark.parametrize("piece", HOSTILE)
def test_repeated_openings_are_read_once(language: str, piece: str) -> None:
    text = piece * (100_000 // len(piece))
    found = Reading(SourceFile("f", text, "", language, ())).segments
    assert sum(segment.end - segment.start for segment in found) <= len(text)
