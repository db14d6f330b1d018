"""Strangers' text in queries: SQL, NoSQL, LDAP, XPath."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.flowsinks import Sink
from codeguard.reading.flowtables import SETTING, STORED
from codeguard.reading.flowvalues import Use
from codeguard.reading.names import Names
from codeguard.reading.pieces import UnknownParts
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View, names, unsaid
from codeguard.signals.insecure.statements import STATEMENTS

_NO_DATABASE = ("subprocess", "concurrent", "multiprocessing", "asyncio", "threading", "celery", "redis")


def _database(names: Names, call: ast.Call, name: str) -> bool:
    return name.partition(".")[0] not in _NO_DATABASE and bool(call.args or call.keywords)


def _find(names: Names, call: ast.Call, name: str) -> bool:
    """Whether a `find` is one of a document store: with a mapping for its filter, not a piece of text."""
    if not call.args or name.startswith(("str.", "re.", "xml.", "lxml.", "bs4.", "pathlib.", "bytes.")):
        return False
    given = call.args[0]
    if isinstance(given, ast.Name):
        values = names.values_of(given)
        given = values[0] if len(values) == 1 else given
    if not isinstance(given, ast.Dict | ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        return False
    return "mongo" in name.lower() or _is_mongo(call) or (isinstance(given, ast.Dict) and bool(given.keys))


def _runs_script(names: Names, call: ast.Call, name: str) -> bool:
    """`collection.find({"$where": f"this.total > {minimum}"})`."""
    given = call.args[0] if call.args else None
    return isinstance(given, ast.Dict) and any(
        key is not None and names.text(key) in ("$where", "$function", "$accumulator") for key in given.keys
    )


def _unsaid(view: View) -> Iterator[Found]:
    """A statement with a part of which the file does not say where it comes from, where data flow found none."""
    if not any(isinstance(node.value, str) and STATEMENTS.begins.match(node.value)
               for node in view.reading.nodes_of(ast.Constant)):  # fmt: skip
        return
    told = {hit.function for hit in view.flow.hits if hit.sink.use is Use.SQL}
    parts = UnknownParts(view.names, view.reading.parents, Use.SQL)
    for kind in (ast.JoinedStr, ast.BinOp, ast.Call):
        for node in view.reading.nodes_of(kind):
            around = view.parent(node)
            if isinstance(around, ast.BinOp) or view.function_of(node) in told:
                continue
            if not STATEMENTS.holds.match(view.writer.text(node)):
                continue
            yield from unsaid(node, parts.of(node))


def _searches_directory(names: Names, call: ast.Call, name: str) -> bool:
    """Whether a `search` is one of a directory, of a base and a filter, and no pattern's of one text."""
    if name.startswith(("re.", "str.", "imaplib.")):
        return False
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr != "search" or len(call.args) + len(call.keywords) > 1


def _is_mongo(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr in (
        "find_one",
        "delete_many",
        "update_one",
        "update_many",
        "delete_one",
        "count_documents",
    )


CHECKS = (
    Check(
        Rule(
            "sql-injection",
            "SQL is put together from a value that others choose",
            Severity.HIGH,
            Confidence.HIGH,
            "Text that is formatted into a statement can end the value and go on as SQL. "
            "Hand values over as parameters; choose names of columns and tables from a fixed list.",
            bad='def user(cursor, name):\n    cursor.execute("SELECT * FROM users WHERE name = \'" + name + "\'")',
            good='def user(cursor, name):\n    cursor.execute("SELECT * FROM users WHERE name = ?", (name,))',
            cwe=(89,),
        ),
        sinks=(
            Sink(
                "sql",
                Use.SQL,
                methods=names(
                    "execute executemany executescript execute_sql raw fetch fetchrow fetchval fetch_all fetch_one "
                    "read_sql read_sql_query extra callproc mogrify exec_driver_sql execute_async run_query"
                ),
                names=names("pandas.read_sql pandas.read_sql_query"),
                arguments=(0, "sql", "query", "statement", "where"),
                needs_built=True,
                accepts=_database,
            ),
            Sink(
                "sql-text",
                Use.SQL,
                names=names(
                    "sqlalchemy.text sqlalchemy.sql.text sqlalchemy.literal_column sqlalchemy.sql.expression.text "
                    "django.db.models.expressions.RawSQL django.db.models.RawSQL psycopg2.sql.SQL psycopg.sql.SQL"
                ),
                needs_built=True,
            ),
            Sink(
                "sql-extra",
                Use.SQL,
                methods=names("extra"),
                arguments=("select", "tables", "order_by"),
                needs_built=True,
            ),
            Sink("sql-statement", Use.SQL, arguments=(), wording=STATEMENTS),
        ),
        look_at_file=_unsaid,
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
        also={STORED: Severity.MEDIUM, SETTING: Severity.MEDIUM},
    ),
    Check(
        Rule(
            "nosql-injection",
            "A document query takes an unchecked value",
            Severity.HIGH,
            Confidence.MEDIUM,
            "Where a string is expected, a request can hold a mapping such as {'$ne': ''}, and $where runs code. "
            "Make the value a string first, or check its type.",
            bad='def login(db):\n    user = db.users.find_one({"name": request.json["name"]})\n    return user',
            good='def login(db):\n    user = db.users.find_one({"name": str(request.json["name"])})\n    return user',
            cwe=(943,),
        ),
        sinks=(
            Sink(
                "nosql",
                Use.NOSQL,
                methods=names(
                    "find find_one delete_many delete_one update_one update_many count_documents aggregate "
                    "find_one_and_update find_one_and_delete map_reduce"
                ),
                arguments=(0, "filter"),
                accepts=_find,
            ),
            Sink(
                "nosql-code",
                Use.CODE,
                methods=names("find find_one count_documents aggregate"),
                arguments=(0, "filter"),
                needs_built=True,
                accepts=_runs_script,
            ),
        ),
        grades=(Severity.HIGH, None, None),
    ),
    Check(
        Rule(
            "ldap-injection",
            "An LDAP filter is put together from a value that others choose",
            Severity.HIGH,
            Confidence.MEDIUM,
            "Brackets and stars in the value change the filter. Escape it with the library's escape_filter_chars.",
            bad='def find(conn, user):\n    return conn.search_s("dc=x", 2, "(uid=%s)" % user)',
            good="from ldap.filter import escape_filter_chars\n\ndef find(conn, user):\n"
            '    return conn.search_s("dc=x", 2, "(uid=%s)" % escape_filter_chars(user))',
            cwe=(90,),
        ),
        sinks=(
            Sink(
                "ldap",
                Use.LDAP,
                methods=names("search_s search_st search_ext search_ext_s search simple_bind_s paged_search"),
                arguments=(0, 1, 2, "search_filter", "filterstr", "search_base", "base"),
                needs_built=True,
                accepts=_searches_directory,
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
    ),
    Check(
        Rule(
            "xpath-injection",
            "An XPath expression is put together from a value that others choose",
            Severity.HIGH,
            Confidence.MEDIUM,
            "A quote in the value changes the expression. Pass the value as an XPath variable.",
            bad="from lxml import etree\n\ndef find(tree: etree._ElementTree, name):\n"
            '    return tree.xpath("//user[@name=\'" + name + "\']")',
            good="from lxml import etree\n\ndef find(tree: etree._ElementTree, name):\n"
            '    return tree.xpath("//user[@name=$name]", name=name)',
            cwe=(643,),
        ),
        sinks=(
            Sink(
                "xpath",
                Use.XPATH,
                names=names("lxml.etree.XPath lxml.etree.ETXPath"),
                methods=names("xpath iterfind"),
                needs_built=True,
            ),
            Sink(
                "xpath-find",
                Use.XPATH,
                methods=names("find findall findtext"),
                needs_built=True,
                accepts=lambda names, call, name: "etree" in name.lower() or _is_expression(names, call),
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
    ),
)


def _is_expression(names: Names, call: ast.Call) -> bool:
    argument = call.args[0] if call.args else None
    if isinstance(argument, ast.Name):
        values = names.values_of(argument)
        argument = values[0] if len(values) == 1 else argument
    if argument is None:
        return False
    texts = [node.value for node in ast.walk(argument) if isinstance(node, ast.Constant)]
    return any(isinstance(text, str) and ("[@" in text or ("//" in text and "[" in text)) for text in texts)
