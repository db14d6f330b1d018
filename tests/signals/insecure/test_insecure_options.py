"""Each row of the table of options fires, however it is written, and only for its values and its libraries."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from test_insecure_examples import found

from codeguard.analysis.rules.insecure import options
from codeguard.models import Severity

TABLE = tomllib.loads(Path(options.__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ROWS = [(rule, row) for rule, rows in TABLE.items() for row in rows]


def written(row: dict[str, list[str]], name: str, value: str, library: str) -> list[str]:
    """Return a text with an option for each way of writing it that its name allows."""
    start = f"import {library}\n" if library else ""
    start += f"# {row['near'][0]}\n" if "near" in row else ""
    value = (
        value
        if not value.isidentifier() or value in ("None", "True", "False")
        else f"{library or 'x'}.{value}"
    )
    if "." in name:
        return [f"{start}{name} = {value}\n", f"{start}options = {{{name!r}: {value}}}\n"][
            : 1 + name.islower()
        ][-1:]
    return [
        f"{start}{library or 'x'}.make({name}={value})\n",
        f"{start}x.{name} = {value}\n",
        f"{start}options = {{{name!r}: {value}}}\n",
    ]


@pytest.mark.parametrize(
    ("rule", "row"), ROWS, ids=lambda item: item if isinstance(item, str) else item["names"][0]
)
def test_an_option_is_found_in_every_way_of_writing_it(rule: str, row: dict[str, list[str]]) -> None:
    library = row.get("of", [""])[0]
    for name in row["names"]:
        for value in row["values"]:
            for text in written(row, name, value, library):
                assert rule in found(text), text


@pytest.mark.parametrize(
    ("rule", "row"), ROWS, ids=lambda item: item if isinstance(item, str) else item["names"][0]
)
def test_another_value_or_library_is_quiet(rule: str, row: dict[str, list[str]]) -> None:
    for name in row["names"]:
        for text in written(row, name, "chosen()", row.get("of", [""])[0]):
            assert rule not in found(text), text
        for text in written(row, name, row["values"][0], "another") if "of" in row else ():
            assert rule not in found(text), text


@pytest.mark.parametrize(
    ("text", "rule", "severity"),
    [
        (
            "import ldap\nldap.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_NEVER)\n",
            "tls-not-verified",
            2,
        ),
        ("import smtplib\nserver = smtplib.SMTP('h')\nserver.set_debuglevel(1)\n", "logged-secret", 1),
        (
            "import pycurl\ndef get(request, line):\n    if not request.validate_cert:\n"
            "        line.setopt(pycurl.SSL_VERIFYPEER, 0)\n",
            "tls-not-verified",
            1,
        ),
        ("import jinja2, web\nweb.show(autoescape=False)  # html\n", "autoescape-off", None),
        ("import jinja2\njinja2.Template('x', autoescape=lambda name: False)  # html\n", "autoescape-off", 2),
        ("import jinja2\njinja2.Template('x', autoescape=False)\n", "autoescape-off", 1),
        (
            "from wtforms import Form\nclass F(Form):\n    class Meta:\n        csrf = False\n",
            "csrf-protection-off",
            2,
        ),
    ],
)
def test_setters_class_bodies_and_severities(text: str, rule: str, severity: int | None) -> None:
    level = {1: Severity.LOW, 2: Severity.MEDIUM, None: None}[severity]
    assert found(text).get(rule) == level
