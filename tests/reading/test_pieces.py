"""Which part of a text that is put together comes from where the file does not say."""

from __future__ import annotations

import ast

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.python.interpolation import UnknownParts
from codeguard.flow.values import Use
from codeguard.models import SourceFile, text_digest

_HEAD = """
import datetime, forms, json
from tables import TABLE, user
NAMES = {"a": "x", "b": "y"}
LIST = ("a", "b")

class Rows:
    kind = "k"
    def __init__(self, name):
        self.name = name
    def helper(self):
        return 1
    def make(self, given, key):
"""


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        ("return 'a' + given", None),  # data flow follows parameters
        ("return f'a {TABLE} {forms.TABLE} {self.kind} {self.name} {self.inherited}'", None),
        ("return 'a %s' % NAMES[key]", None),
        ("return 'a %s' % NAMES.get(key, 'z')", None),
        ("return ', '.join('?' * len(given))", None),
        ("return ', '.join('?' for _ in fetch())", None),
        ("return f'{fetch():d} {int(fetch())} {datetime.date.today()}'", None),
        ("return 'a %d %s' % (fetch(), given)", None),
        ("return 'a' + self.helper()", None),
        ("return 'a' + forms.model._meta.table", None),
        ("x = fetch()\n        if x not in LIST: raise ValueError\n        return 'a' + x", None),
        ("x = fetch()\n        if not x.isidentifier(): raise ValueError\n        return 'a' + x", None),
        ("return 'a' + quote_name(fetch())", None),
        ("return 'a' + fetch().replace('\"', '\"\"')", None),
        ("return 'a' + fetch().replace('x', 'y')", "fetch()"),
        ("for x in LIST: yield 'a' + x", None),
        ("return 'a' + user.name", "user.name"),
        ("return 'a' + forms.name", None),
        ("return 'a' + fetch()", "fetch()"),
        ("return 'a %s' % fetch()['n']", "fetch()['n']"),
        ("return f'a {fetch().name.strip()}'", "fetch().name"),
        ("x = fetch()\n        if x == 'y': raise ValueError\n        return 'a' + x", "fetch()"),
        ("for x in fetch(): yield 'a' + x", "fetch()"),
        ("for x, y in fetch().items(): yield 'a' + y", "fetch().items()"),
        ("return ', '.join(x for x in fetch())", "fetch()"),
        ("return 'a {}'.format(unbound)", "unbound"),
        ("return 'a' + json.loads(fetch())", "fetch()"),
        ("return 'a' + (fetch() if key else 'b')", "fetch()"),
        ("x = y = unknown\n        return 'a' + x", "unknown"),
    ],
)
def test_a_part_of_which_the_file_says_nothing_is_named(lines: str, part: str | None) -> None:
    text = f"{_HEAD}        {lines}\n"
    reading = Reading(SourceFile("x.py", text, text_digest(text), "python", ()))
    (node,) = (
        item.value for item in reading.nodes if isinstance(item, ast.Return | ast.Yield) and item.lineno > 13
    )
    assert node is not None
    found = UnknownParts(reading.names, reading.parents, Use.SQL).of(node)
    assert (None if found is None else ast.unparse(found)) == part
