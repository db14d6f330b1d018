"""Untrusted text in queries: SQL, document stores, LDAP, XPath."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.words import last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.flow.sinks import LanguagePattern, Sink, SinkHit
from codeguard.flow.tables import ANSWER, SETTING, STORED
from codeguard.flow.values import Origin, Reach, Use
from codeguard.models import Severity
from codeguard.syntax.names import Names

_RULES = rules_of(__file__)

_NAME = r"[\w.\0\"`\[\]]{1,200}"
_COLUMN = rf"(?:{_NAME}|\*|\w{{1,40}}\([\w.\0*, ]{{0,100}}\))(?:\s+(?:as\s+)?\w{{1,60}})?"
_SHOUTED = (
    r"SELECT\s[^;]{1,1500}?\sFROM\s|INSERT\s+(?:OR\s+\w{1,20}\s+)?INTO\s|REPLACE\s+INTO\s|DELETE\s+FROM\s|"
    r"UPDATE\s[^;]{1,300}?\sSET\s|MERGE\s+INTO\s|WITH\s+(?:RECURSIVE\s+)?[^;]{1,200}?\sAS\s*\(|COPY\s*\(\s*SELECT\s"
)
_SPOKEN = (
    rf"select\s+(?:distinct\s+)?{_COLUMN}(?:\s*,\s*{_COLUMN}){{0,60}}\s+from\s+{_NAME}"
    r"(?:\s+(?:\w{1,60}\s+)?(?:where|order\s+by|group\s+by|limit|join|inner|left)\s|\s*;?\s*$)|"
    rf"insert\s+(?:or\s+\w{{1,20}}\s+)?into\s+{_NAME}\s*(?:\(|values|select)|"
    rf"update\s+{_NAME}\s+set\s+{_NAME}\s*=|delete\s+from\s+{_NAME}(?:\s+where\s|\s*;?\s*$)"
)
STATEMENTS = LanguagePattern(
    begins=lazy(
        r"[\s(]{0,200}(?:SELECT|INSERT|REPLACE|DELETE|UPDATE|MERGE|WITH|COPY|select|insert|update|delete|"
        r"Select|Insert|Update|Delete)(?:\s|$)"
    ),
    holds=lazy(
        rf"[\s(]{{0,200}}(?:{_SHOUTED}|{_SPOKEN}|Select\s+\*\s+[Ff]rom\s|Insert\s+[Ii]nto\s+{_NAME}\s+[Vv]alues|"
        rf"Update\s+{_NAME}\s+[Ss]et\s+{_NAME}\s*=|Delete\s+[Ff]rom\s+{_NAME}\s+[Ww]here\s)",
        re.DOTALL,
    ),
)


_CYPHER = LanguagePattern(
    begins=lazy(r"\s{0,200}(?:OPTIONAL\s+MATCH|MATCH|MERGE|CREATE|UNWIND)\s"),
    holds=lazy(
        r"\s{0,200}(?:(?:OPTIONAL\s+)?(?:MATCH|MERGE|CREATE)\s{1,20}(?:\w{1,40}\s?=\s?)?\(\w{0,40}\s{0,5}(?::|\)|\{)|"
        r"UNWIND\s.{1,200}\sAS\s\w{1,40}\s+(?:MATCH|MERGE|CREATE)\b)"
    ),
)
_NO_DATABASE = ("subprocess", "concurrent", "multiprocessing", "asyncio", "threading", "celery", "redis")


_CONNECTION = lazy(r"conn|pool|db|database|session|cursor|cur$|transaction|statement|stmt|pg")
_RUNNER = lazy(r"hook|(?<![a-z])env$|runner|executor|task|command|action|plugin")


def _database(names: Names, call: ast.Call, name: str) -> bool:
    if name.partition(".")[0] in _NO_DATABASE or not (call.args or call.keywords):
        return False
    if not isinstance(call.func, ast.Attribute):
        return True
    method, owner = call.func.attr, last_name(call.func.value)
    if method == "fetch":  # also used for URLs and repositories
        return mentions(owner, _CONNECTION) or name.startswith(("asyncpg.", "databases."))
    # `super().execute(…)` is judged by the name of the base class.
    owner = owner or name.rpartition(".")[0].rpartition(".")[2]
    return method != "execute" or not mentions(owner, _RUNNER)


_ANY_STATEMENT = lazy(
    r"\s*(?:SELECT|INSERT|REPLACE|DELETE|UPDATE|MERGE|WITH|COPY|CALL|EXEC)\b", re.IGNORECASE
)
# Clauses that take names and keywords, which cannot be bound as parameters.
_OF_NAMES = lazy(
    r"\s*(?:CREATE|ALTER|DROP|TRUNCATE|RENAME|GRANT|REVOKE|SET\s+(?:SESSION|LOCAL|TRANSACTION|NAMES|CHARACTER|ISOLATION)|USE|SHOW|DESCRIBE|PRAGMA|PURGE|VACUUM|ANALYZE|REINDEX"
    r"|COMMENT|LOCK|SAVEPOINT|RELEASE|ROLLBACK|DECLARE|FETCH|CLOSE|KILL|LISTEN|NOTIFY|ATTACH|DETACH|REFRESH|CLUSTER)\b",
    re.IGNORECASE,
)
# Parameters without untrusted text, such as text quoted by the connection.
_HANDLES = word_set("connection conn cursor cur dbapi_connection db database session engine compiler")
_SHARED_METHODS = ("fetch", "raw")  # also methods of clients other than databases


def _names_things(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether an inserted part is the name of a table or the like, or no statement is visible.

    Names cannot be bound as parameters, so code that manages schemas has no alternative.
    """
    if origin.tag == ANSWER and not hit.value.built:
        return True  # the argument of `execute` is not composed here
    if origin.reach is not Reach.CALLER and origin.tag != SETTING:
        return False
    if origin.parameter in _HANDLES:
        return True
    text = view.writer.text(hit.argument if hit.sink.wording is None else hit.call)
    if _OF_NAMES.match(text):
        return "'\0" not in text
    if _ANY_STATEMENT.match(text):
        configured = getattr(origin.function, "name", "") == "__init__" or hit.sink.wording is not None
        return origin.reach is Reach.CALLER and configured and _in_place_of_names(text, origin.what)
    function = hit.call.func if isinstance(hit.call, ast.Call) else None
    shared = isinstance(function, ast.Attribute) and function.attr in _SHARED_METHODS
    return shared and not any(
        isinstance(node.value, str) and STATEMENTS.begins.match(node.value)
        for node in view.reading.nodes_of(ast.Constant)
    )


_COMPARED = lazy(r"(?:[=<>~|]|\b(?:LIKE|IN|BETWEEN|VALUES)\b)[\s(%]*(?:\0[\s,]*){1,40}$", re.IGNORECASE)
_CONDITION = lazy(r"\b(?:WHERE|AND|OR|NOT|HAVING)\b[\s(]*\0$", re.IGNORECASE)
_THINGS = lazy(
    r"table|schema|column|collection|catalog|database|dialect|strategy|dimension|keyspace|quote|_key\b"
)


def _in_place_of_names(text: str, what: str) -> bool:
    """Return whether all inserted parts are in the place of table and column names.

    These cannot be bound, and the program chooses them. A part in quotes or in a comparison is a
    value. A whole condition is a value as well, unless the parameter is called a name.
    """
    at = text.find("\0")
    while at >= 0:
        before = text[max(0, at - 200) : at + 1]
        if text.count("'", 0, at) % 2 or _COMPARED.search(before):
            return False
        if _CONDITION.search(before) and not mentions(what, _THINGS):
            return False
        at = text.find("\0", at + 1)
    return "\0" in text or mentions(what, _THINGS)


def _find(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a `find` is a document store's: its filter is a mapping, not a text."""
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
    """Return whether a filter contains script: `collection.find({"$where": f"this.total > {minimum}"})`."""
    given = call.args[0] if call.args else None
    return isinstance(given, ast.Dict) and any(
        key is not None and names.text(key) in ("$where", "$function", "$accumulator") for key in given.keys
    )


def _built_script(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find script for the database that is put together: `{"$where": "this.name == '" + name + "'"}`."""
    assert isinstance(node, ast.Dict)
    for key, value in zip(node.keys, node.values, strict=True) if view.has('"$where"', "'$where'") else ():
        if key is None or view.names.text(key) != "$where":
            continue
        built = isinstance(value, ast.JoinedStr | ast.BinOp) or (
            isinstance(value, ast.Call) and unqualified_name(value.func) == "format"
        )
        if built and view.names.text(value) is None:
            yield NodeMatch(value, "what is put into the script runs in the database", Severity.MEDIUM)


_OF_DIRECTORIES = ("ldap", "dc=", "(uid=", "(cn=", "objectclass")  # otherwise `search` has another meaning


def _searches_directory(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a `search` is a directory's, with a base and a filter, not a regular expression's."""
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
        _RULES["sql-injection"],
        sinks=(
            Sink(
                "sql",
                Use.SQL,
                methods=word_set(
                    "execute executemany executescript execute_sql raw fetch fetchrow fetchval fetch_all fetch_one "
                    "read_sql read_sql_query extra callproc mogrify exec_driver_sql execute_async run_query"
                ),
                names=word_set("pandas.read_sql pandas.read_sql_query"),
                arguments=(0, "sql", "query", "statement", "where"),
                needs_built=True,
                accepts=_database,
            ),
            Sink(
                "sql-text",
                Use.SQL,
                names=word_set(
                    "sqlalchemy.text sqlalchemy.sql.text sqlalchemy.literal_column sqlalchemy.sql.expression.text "
                    "django.db.models.expressions.RawSQL django.db.models.RawSQL psycopg2.sql.SQL psycopg.sql.SQL"
                ),
                needs_built=True,
            ),
            Sink(
                "sql-extra",
                Use.SQL,
                methods=word_set("extra"),
                arguments=("select", "tables", "order_by"),
                needs_built=True,
            ),
            Sink("sql-statement", Use.SQL, arguments=(), wording=STATEMENTS),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
        also={STORED: Severity.MEDIUM, SETTING: Severity.MEDIUM},
        is_usual=_names_things,
    ),
    Check(
        _RULES["nosql-injection"],
        sinks=(
            Sink(
                "nosql",
                Use.NOSQL,
                methods=word_set(
                    "find find_one delete_many delete_one update_one update_many count_documents aggregate "
                    "find_one_and_update find_one_and_delete map_reduce replace_one find_one_and_replace distinct"
                ),
                arguments=(0, "filter"),
                accepts=_find,
            ),
            Sink(
                "raw-filter",
                Use.NOSQL,
                methods=word_set("objects filter get"),
                arguments=("__raw__",),
                accepts=lambda names, call, name: any(item.arg == "__raw__" for item in call.keywords),
            ),
            Sink(
                "lua",
                Use.CODE,
                names=word_set("redis.Redis.eval redis.Redis.register_script"),
                needs_built=True,
            ),
            Sink("cypher", Use.CODE, arguments=(), wording=_CYPHER),
            Sink(
                "nosql-code",
                Use.CODE,
                methods=word_set("find find_one count_documents aggregate"),
                arguments=(0, "filter"),
                needs_built=True,
                accepts=_runs_script,
            ),
        ),
        grades=(Severity.HIGH, None, None),
        nodes=(ast.Dict,),
        look=_built_script,
    ),
    Check(
        _RULES["ldap-injection"],
        sinks=(
            Sink(
                "ldap",
                Use.LDAP,
                methods=word_set(
                    "search_s search_st search_ext search_ext_s search simple_bind_s paged_search"
                ),
                arguments=(0, 1, 2, "search_filter", "filterstr", "search_base", "base"),
                needs_built=True,
                accepts=_searches_directory,
            ),
        ),
        # An account of the program's own is a setting of whoever runs it.
        is_usual=lambda view, hit, origin: (
            not view.has(*_OF_DIRECTORIES) or origin.what.startswith(("os.environ", "os.getenv"))
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
    ),
    Check(
        _RULES["xpath-injection"],
        sinks=(
            Sink(
                "xpath",
                Use.XPATH,
                names=word_set("lxml.etree.XPath lxml.etree.ETXPath"),
                methods=word_set("xpath iterfind"),
                needs_built=True,
            ),
            Sink(
                "xpath-find",
                Use.XPATH,
                methods=word_set("find findall findtext"),
                needs_built=True,
                accepts=lambda names, call, name: "etree" in name.lower() or _is_expression(names, call),
            ),
        ),
        # The name of an element, given by the caller.
        is_usual=lambda view, hit, origin: (
            hit.sink.key == "xpath-find"
            and origin.reach is Reach.CALLER
            and isinstance(hit.call, ast.Call)
            and not _is_expression(view.names, hit.call)
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
    texts = [node.value for node in walk(argument) if isinstance(node, ast.Constant)]
    return any(isinstance(text, str) and ("[@" in text or ("//" in text and "[" in text)) for text in texts)
