"""Each pattern of a row finds what it says, and the language of patterns is what it claims to be."""

from __future__ import annotations

import ast

import pytest
from test_insecure_examples import found

from codeguard.analysis import Reading
from codeguard.analysis.rules.insecure import _ENGINE
from codeguard.analysis.rules.insecure.base import View
from codeguard.analysis.rules.insecure.patterns import Pattern, patterns_of
from codeguard.analysis.rules.insecure.rows import Row, RowIndex
from codeguard.flow.sinks import SinkIndex
from codeguard.models import Severity, SourceFile, text_digest


def values(pattern: Pattern) -> list[str]:
    """Return what the value of a setting may be, as it is written."""
    assert isinstance(pattern.node, ast.Assign)
    name = getattr(pattern.node.value, "id", "")
    variable = name.startswith("_any_")
    alternatives = [each.node for each in pattern.where[name[5:]]] if variable else [pattern.node.value]
    return [ast.unparse(node) for node in alternatives]


def settings() -> list[tuple[str, Row, str, str]]:
    return [
        (check.rule.id, row, str(name), value)
        for check in _ENGINE.checks
        for row in check.rows
        for pattern in row.patterns
        if pattern.is_setting
        and not (row.needed or row.purpose or isinstance(pattern.where.get("NAME"), dict))
        for _, name in pattern.keys
        for value in values(pattern)
    ]


def written(row: Row, name: str, value: str, library: str) -> list[str]:
    """Return a text with a setting for each way of writing it that its name allows."""
    start = f"import {library}\n" if library else ""
    if value.isidentifier() and value not in ("None", "True", "False"):
        value = f"{library or 'x'}.{value}"
    if "." in name:
        return [
            f"{start}options = {{{name!r}: {value}}}\n" if name.islower() else f"{start}{name} = {value}\n"
        ]
    return [
        f"{start}{library or 'x'}.make({name}={value})\n",
        f"{start}x.{name} = {value}\n",
        f"{start}options = {{{name!r}: {value}}}\n",
    ]


@pytest.mark.parametrize(
    ("rule", "row", "name", "value"), settings(), ids=lambda item: item if isinstance(item, str) else "row"
)
def test_a_setting_is_found_in_every_way_of_writing_it_and_only_with_its_value_and_library(
    rule: str, row: Row, name: str, value: str
) -> None:
    library = min(row.of, default="")
    for text in written(row, name, value, library):
        assert rule in found(text), text
    for text in written(row, name, "chosen()", library):
        assert rule not in found(text), text
    for text in written(row, name, value, "another") if row.of else ():
        assert rule not in found(text), text


def calls() -> list[tuple[str, str]]:
    """Return the patterns of calls without conditions, as code that imports what they name."""
    made: list[tuple[str, str]] = []
    for check in _ENGINE.checks:
        for row in check.rows:
            for pattern in row.patterns:
                if (
                    isinstance(pattern.node, ast.Call)
                    and not pattern.where
                    and not (row.needed or row.purpose)
                ):
                    node = Concrete().visit(ast.parse(ast.unparse(pattern.node)))
                    modules = sorted(row.of | ({str(pattern.keys[0][1]).rpartition(".")[0]} - {""}))
                    start = "".join(f"import {module}\n" for module in modules)
                    made.append((check.rule.id, f"{start}def f(x, y):\n    {ast.unparse(node)}\n"))
    return made


class Concrete(ast.NodeTransformer):
    """Writes code of a pattern: a name for each metavariable, nothing for a gap."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [item for item in node.args if not (isinstance(item, ast.Constant) and item.value is ...)]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("y", ast.Load()) if node.id.startswith("_any_") else node


@pytest.mark.parametrize(("rule", "text"), calls(), ids=lambda item: item.splitlines()[-1])
def test_a_call_is_found_as_its_pattern_writes_it(rule: str, text: str) -> None:
    assert rule in found(text), text


@pytest.mark.parametrize(
    ("pattern", "where", "hits", "misses"),
    [
        (
            "jwt.decode(...)",
            {},
            ["import jwt as j\nj.decode(x)", "from jwt import decode\ndecode()"],
            ["decode(x)"],
        ),
        ("f($X, $X)", {}, ["f(a, a)"], ["f(a, b)"]),
        ("f(..., 2)", {}, ["f(2)", "f(1, 2)", "N = 2\nf(0, N)"], ["f(2, 1)", "f()"]),
        ("f(..., a=1, b=2)", {}, ["f(b=2, a=1, c=3)", "f(x, **{'a': 1, 'b': 2})"], ["f(a=1)"]),
        ("f(..., a=...)", {}, ["f(a=g())", "f(**given)"], ["f(b=1)"]),
        ('f({"a": False})', {}, ["f({'b': 1, 'a': False})", "d = {'a': False}\nf(d)"], ["f({'a': True})"]),
        ("f($N)", {"N": {"above": 3, "below": 9}}, ["f(4)", "f(2 * 4)"], ["f(9)", "f(x)", "f(True)"]),
        ("f($N)", {"N": {"bits": 2, "no_bits": 512}}, ["f(0o777)"], ["f(0o1777)", "f(0o700)"]),
        ("f($N)", {"N": {"not": {"kind": "constant"}}}, ["f(x)"], ["f('a')"]),
        ("f($N)", {"N": {"kind": "parameter"}}, ["def g(a):\n    f(a)"], ["def g(a):\n    f(b)"]),
        ("f($N)", {"N": {"kind": "text"}}, ["f('a' + 'b')"], ["f('')", "f(1)"]),
        ("f($N)", {"N": {"like": "^http://"}}, ["f(f'http://{x}')"], ["f(f'https://{x}')"]),
        (
            "f($N)",
            {"N": {"any": [{"like": "(?i)secure"}, {"kind": "number"}]}},
            ["f('a; Secure')", "f(3)"],
            ["f('a')"],
        ),
        ("f($N)", {"N": {"named": "password"}}, ["f(user.password)", "f(d['password'])"], ["f(user.name)"]),
        ("f($N)", {"N": {"like": "^a.c$"}}, ["f('a' + x + 'c')"], ["f('ac')"]),
        (
            "f($N)",
            {"N": {"shows": "password"}},
            ["f(password)", "f(f'{user.password}')", "f('%s' % password)"],
            ["f(len(password))", "f(name)"],
        ),
        ("$NAME = $N", {"NAME": {"like": "^p.*d$"}, "N": {"kind": "text"}}, ["passwd = 'a'"], ["p = 'a'"]),
        ("f($N)", {"N": ["@code"]}, ["f(eval)"], ["f(g)"]),
        ("f($N)", {"N": {"has": "g(...)"}}, ["x = [g(1)]\nf(x)"], ["f(h(1))"]),
        ("f($N)", {"N": ["None", "a.B"]}, ["f(None)", "import a\nf(a.B())"], ["import a\nf(a.C)"]),
        ("$M.f(...)", {"M": ["a", "b.c"]}, ["import b.c\nb.c.f(1)"], ["import d\nd.f(1)"]),
        ("$X.f(...)", {}, ["a.b.f()"], ["f()"]),
        ("a.B", {}, ["import a\nx = a.B", "from a import B\nx = B"], ["B = 1\nx = B"]),
        ("@exempt", {}, ["@exempt\ndef f(): pass", "@a.exempt\ndef f(): pass"], ["exempt(f)"]),
        (
            "try:\n    ...\nexcept:\n    pass",
            {},
            ["try:\n    a()\n    b()\nexcept:\n    pass"],
            ["try:\n    a()\nexcept E:\n    pass"],
        ),
        ("def f(): pass", {}, ["class A:\n    def f(self, a):\n        pass"], ["def f(): return 1"]),
    ],
    ids=str,
)
def test_the_language_of_patterns(
    pattern: str, where: dict[str, object], hits: list[str], misses: list[str]
) -> None:
    for text in hits:
        assert places(pattern, where, text), text
    for text in misses:
        assert not places(pattern, where, text), text


def places(pattern: str, where: dict[str, object], text: str) -> bool:
    return found_by(Row(patterns_of(pattern, where), ""), text)


def found_by(row: Row, text: str) -> bool:
    view = View(Reading(SourceFile("sample", text, text_digest(text), "python", ())), SinkIndex(()))
    return bool(list(RowIndex([(_ENGINE.checks[0], row)]).found(view)))


@pytest.mark.parametrize(
    ("keys", "hit", "miss"),
    [
        ({"in": "checking"}, "def verify():\n    f()", "def load():\n    f()"),
        (
            {"beside": [["g()"], ["$T"]], "where": {"T": {"like": "^b"}}},
            "f()\ng('b', g())",
            "f()\ng('c', g())",
        ),
        ({"beside": [["$T"]], "where": {"T": {"like": "^b"}}}, "f()\nx = 'b'", "'b'\nf()"),
    ],
)
def test_what_else_a_row_asks(keys: dict[str, object], hit: str, miss: str) -> None:
    row = Row.read({"find": "f()", "says": "", **keys})
    assert found_by(row, hit)
    assert not found_by(row, miss)


@pytest.mark.parametrize(
    ("text", "rule", "severity"),
    [
        (
            "import ldap\nldap.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_NEVER)\n",
            "tls-not-verified",
            Severity.MEDIUM,
        ),
        (
            "import smtplib\nserver = smtplib.SMTP('h')\nserver.set_debuglevel(1)\n",
            "logged-secret",
            Severity.LOW,
        ),
        (
            "import pycurl\ndef get(request, line):\n    if not request.validate_cert:\n"
            "        line.setopt(pycurl.SSL_VERIFYPEER, 0)\n",
            "tls-not-verified",
            Severity.LOW,
        ),
        ("import jinja2, web\nweb.show(autoescape=False)\n", "autoescape-off", None),
        (
            "import jinja2\njinja2.Template('x', autoescape=lambda name: False)\n",
            "autoescape-off",
            Severity.MEDIUM,
        ),
        (
            "from wtforms import Form\nclass F(Form):\n    class Meta:\n        csrf = False\n",
            "csrf-protection-off",
            Severity.MEDIUM,
        ),
    ],
)
def test_setters_class_bodies_and_severities(text: str, rule: str, severity: Severity | None) -> None:
    assert found(text).get(rule) == severity
