"""Every language: found by its file names, cut by its grammar, and never silently by lines."""

from __future__ import annotations

import dataclasses

import pytest

from codeguard.corpus.chunking import chunk_file, grammars, languages
from codeguard.corpus.chunking.base import Grammar
from codeguard.models import SourceFile

# Suffix, source, and the chunks with something in them: kind and symbol.
SOURCES: dict[str, tuple[str, str, str]] = {
    "python": (
        ".py",
        "class A:\n    def m(self): pass\n",
        "class A; method A.m",
    ),
    "javascript": (
        ".js",
        "import a from 'b';\n"
        "// of f\n"
        "function f() {}\n"
        "export const g = async () => {};\n"
        "class K { static { } #p() {} s = () => 1; }\n"
        "module.exports = { h() {}, i: function () {} };\n"
        "(function () { function inner() {} })();\n"
        "A.prototype.m = function () {};\n",
        "module; function f; function g; class K; method K.#p; method K.s; class K; "
        "module; function h; module; function i; module; function inner; module; function A.prototype.m",
    ),
    "typescript": (
        ".ts",
        "export interface I { x(): number }\n"
        "namespace N.M {\n"
        "export function g(): void {}\n"
        "}\n"
        "export abstract class A<T> {\n"
        "  abstract q(): void;\n"
        "  @deco()\n"
        "  async m<U>(a: U): Promise<U> { return a }\n"
        "}\n",
        "class I; module; function N.M.g; module; class A; method A.m; class A",
    ),
    "tsx": (
        ".tsx",
        "function F() { return <b>x</b>; }\n",
        "function F",
    ),
    "go": (
        ".go",
        "package main\ntype S struct { a int }\n// of M\nfunc (s *S[T]) M() {}\nfunc F[T any](a T) {}\n",
        "module; class S; method S.M; function F",
    ),
    "java": (
        ".java",
        "import a.b;\nclass A {\n  A() { }\n  @Override\n  int m() { return 1; }\n  abstract int q();\n}\n",
        "module; class A; method A.A; method A.m; class A",
    ),
    "rust": (
        ".rs",
        "use a::b;\n"
        "#[derive(Debug)]\n"
        "struct S<T> { a: T }\n"
        "impl<T> X for S<T> {\n"
        "  #[inline]\n"
        "  fn m(&self) {}\n"
        "}\n"
        "mod t {\n"
        "#[test]\n"
        "fn f() {}\n"
        "}\n",
        "module; class S; class S; method S.m; class S; module; function t.f; module",
    ),
    "c": (
        ".c",
        "#include <a.h>\n"
        "#ifdef X\n"
        "static int *f(int a) { return 0; }\n"
        "#else\n"
        "int g(void);\n"
        "#endif\n"
        "int (*fp(int a))(int) { return 0; }\n",
        "module; function f; module; function fp",
    ),
    "cpp": (
        ".cpp",
        "namespace a::b {\n"
        "template<class T> class C {\n"
        "  int m() const { return 1; }\n"
        "  operator int() { return 1; }\n"
        "};\n"
        "}\n"
        "int C<int>::n() { return 1; }\n"
        "template <typename T> T add(T a) { return a; }\n",
        "module; class a.b.C; method a.b.C.m; method a.b.C.operator int; class a.b.C; module; method C.n; function add",
    ),
    "csharp": (
        ".cs",
        "using System;\n"
        "namespace N {\n"
        "[A]\n"
        "class K {\n"
        "  [X]\n"
        "  int M(int z) => z;\n"
        "  public static K operator +(K a, K b) { return a; }\n"
        "}\n"
        "}\n",
        "module; class N.K; method N.K.M; method N.K.operator +; class N.K; module",
    ),
    "ruby": (
        ".rb",
        "require 'x'\n"
        "module A\n"
        "  class C < D\n"
        "    def m; 1; end\n"
        "    private def p1(x) = x\n"
        "  end\n"
        "end\n"
        "def top\n"
        "end\n",
        "module; class A; class A.C; method A.C.m; method A.C.p1; class A.C; class A; function top",
    ),
    "php": (
        ".php",
        "<b>x</b>\n"
        "<?php\n"
        "use X;\n"
        "function f() { }\n"
        "abstract class C {\n"
        "  #[A]\n"
        "  function m() { }\n"
        "  abstract function q();\n"
        "}\n",
        "module; function f; class C; method C.m; class C",
    ),
    "bash": (
        ".sh",
        "#!/bin/bash\n. a.sh\n# of f\nf() {\n  echo 1\n}\nif true; then\n  g() { :; }\nfi\n",
        "module; function f; module; function g; module",
    ),
}


def shape(file: SourceFile) -> str:
    return "; ".join(
        f"{chunk.kind.value} {chunk.symbol}".strip() for chunk in file.chunks if chunk.text.strip()
    )


def need(name: str) -> Grammar:
    grammar = grammars.by_name(name)
    assert grammar is not None
    if not grammar.installed:
        pytest.skip(f"{grammar.wheel} is not installed")
    return grammar


@pytest.mark.parametrize("language", sorted(SOURCES))
def test_a_language_is_cut_by_its_grammar(language: str) -> None:
    need(language)
    suffix, source, expected = SOURCES[language]
    for data in (source.encode(), source.replace("\n", "\r\n").encode()):
        file = chunk_file(f"a{suffix}", data)
        assert (file.language, file.parsed, file.syntax_errors, file.notes) == (language, True, False, ())
        assert shape(file) == expected
        assert b"".join(data[chunk.span.start_byte : chunk.span.end_byte] for chunk in file.chunks) == data


def test_every_language_has_a_case_here() -> None:
    assert [grammar.name for grammar in languages()] == sorted(SOURCES)


def test_no_two_languages_claim_a_file() -> None:
    for claims in (
        [suffix for grammar in languages() for suffix in grammar.extensions],
        [word for grammar in languages() for word in (*grammar.interpreters, *grammar.filenames)],
    ):
        assert len(claims) == len(set(claims))


def test_every_node_type_that_a_grammar_names_exists() -> None:
    unknown: dict[str, set[str]] = {}
    for grammar in languages():
        language = grammars.load_grammar(grammar)
        if language is None:
            continue
        known = {language.node_kind_for_id(number) for number in range(language.node_kind_count)}
        named = grammar.roles.keys() | grammar.bodiless | grammar.leading
        if named - known:
            unknown[grammar.name] = named - known
    assert unknown == {}


def test_what_a_user_is_told_about_languages() -> None:
    told = {language.name: language for language in languages()}
    assert told["python"].installed
    assert (told["python"].wheel, told["python"].extra) == ("tree-sitter-python", "")
    assert told["javascript"].extra == ""
    assert {language.extra for language in told.values()} == {"", "languages"}


@pytest.mark.parametrize(
    ("name", "data", "language"),
    [
        ("a.py", b"", "python"),
        ("a.PY", b"", "python"),
        ("a/b.c/run", b"#!/usr/bin/env python3\n", "python"),
        ("run", b"#!/usr/bin/python3.11 -I\n", "python"),
        ("run", b"#!/usr/bin/env -S FOO=1 python3\n", "python"),
        ("run", b"#!/bin/sh\n", "bash"),
        ("run", b"#! /usr/local/bin/node\n", "javascript"),
        ("run.txt", b"#!/bin/sh\n", "text"),
        ("wscript", b"", "python"),
        ("Rakefile", b"", "ruby"),
        ("README", b"", "text"),
        (".py", b"", "text"),
        ("a.unknown", b"", "text"),
        ("a.md", b"", "markdown"),
    ],
)
def test_the_language_of_a_file(name: str, data: bytes, language: str) -> None:
    assert chunk_file(name, data).language == language


def test_a_missing_grammar_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = dataclasses.replace(
        need("python"), name="lost", extensions=(".lost",), wheel="no-such-wheel", extra="languages"
    )
    monkeypatch.setattr(grammars, "languages", lambda: (lost,))
    file = chunk_file("a.lost", b"def f(): pass\n")
    assert (file.language, file.parsed) == ("lost", False)
    assert file.notes == (
        "chunked by lines: the lost grammar (no-such-wheel) is not installed; "
        "pip install 'codeguard-rag[languages]'",
    )
    assert [chunk.kind.value for chunk in file.chunks] == ["lines"]
    assert not lost.installed


def test_an_unknown_language_says_that_it_was_cut_by_lines() -> None:
    file = chunk_file("a.xyz", b"a\n" * 5000)
    assert (file.language, file.parsed) == ("text", False)
    assert file.notes == ("chunked by lines: unknown language (.xyz)",)
    assert {chunk.kind.value for chunk in file.chunks} == {"lines"}
    assert len(file.chunks) == 3
