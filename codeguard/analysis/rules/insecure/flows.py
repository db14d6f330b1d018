"""Data flow as rows: what a rule's table lists under `flow`, and which of the values that arrive there it reports.

A row has
- `to`, patterns of what is harmful with an untrusted `$SINK`: calls `$F($SINK, key=$SINK)`, where each `$SINK` is an
  argument that counts, `*$SINK` all of them and `$SINK.read()` the object; `return $SINK` of a function that answers
  requests; `$X.headers[$_] = $SINK`. What else a pattern of a call holds has to be there too. `text` instead makes
  every composed text of a language a sink: how such texts begin, and what they hold, with `\\0` for an inserted value;
- `where`, what the metavariables are: of `$F` and of methods their names as one text, where `@shells` are the calls of
  a use of `codeguard.flow.effects`; of others, with `$SINK` among them, conditions as in `patterns`;
- `use`, what a value has to be cleaned for (`codeguard.flow.values.Use`); with `built`, a parameter counts only as part
  of a text that is put together here;
- `from`, which origins count and how severe they are, if it is not the rule's `from`: `remote`, `local`, `caller`,
  `plain` for a parameter that is handed on as it is, or the tag of an origin, such as `answer`;
- `but`, patterns of the same call that are harmless, and `low` those that are usual unless the value is remote;
  `unless`, patterns that make it harmless anywhere in the function; `of`, libraries of which the file imports one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from codeguard.analysis.rules.base import DIRECT, Match, Rule
from codeguard.analysis.rules.insecure.base import Check, View
from codeguard.analysis.rules.insecure.patterns import (
    Matcher,
    Pattern,
    dotted,
    pattern_of,
    patterns_of,
    variable,
)
from codeguard.corpus.patterns import lazy
from codeguard.flow.effects import ANSWER, python_names
from codeguard.flow.sinks import LanguagePattern, Sink, SinkHit, SinkIndex, StoredValue
from codeguard.flow.values import Origin, Reach, Use
from codeguard.models import Confidence, Severity

_SINK = "SINK"
_REACHES = {Reach.REMOTE: "remote", Reach.LOCAL: "local", Reach.CALLER: "caller"}
_UNTAGGED = frozenset({*_REACHES.values(), "plain"})
_SURE = {"remote": Confidence.HIGH, "local": Confidence.MEDIUM}
_OWN_USER = lazy(r"argparse\.|optparse\.")
_CONTROLS = {
    Reach.REMOTE: "an untrusted value",
    Reach.LOCAL: "a value from outside the program",
    Reach.CALLER: "the parameter",
}


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One row of the flow of a rule."""

    grades: Mapping[str, Severity]
    use: Use
    to: tuple[tuple[Sink | None, Pattern], ...]  # no sink: a statement that returns or stores
    argument: Any = None
    but: tuple[Pattern, ...] = ()
    low: tuple[Pattern, ...] = ()
    unless: tuple[Pattern, ...] = ()
    of: frozenset[str] = frozenset()
    built: bool = False

    @classmethod
    def read(cls, key: str, table: Mapping[str, Any], grades: Mapping[str, str]) -> FlowRow:
        """Return the row of a table; `key` tells its sinks apart, `grades` are the rule's `from`.

        Raises:
            KeyError, SyntaxError, ValueError: the table does not describe a row.
        """
        unknown = table.keys() - {"to", "text", "where", "use", "built", "from", "but", "low", "unless", "of"}
        if unknown:
            raise KeyError(f"a row of flow has no {', '.join(sorted(unknown))}")
        given = {name: Severity[text.upper()] for name, text in table.get("from", grades).items()}
        where = table.get("where", {})
        called = {name: _names(text) for name, text in where.items() if isinstance(text, str)}
        others = {name: text for name, text in where.items() if not isinstance(text, str)}
        use, built = Use(table["use"]), bool(table.get("built"))
        to = [
            _target(f"{key}.{place}", text, called, others, use, built)
            for place, text in enumerate(table.get("to", ()))
        ]
        if "text" in table:
            wording = LanguagePattern(*(lazy(text, re.DOTALL) for text in table["text"]))
            sink = Sink(f"{key}.text", use, arguments=(), wording=wording)
            to.append((sink, pattern_of("$_", {})))
        compiled = patterns_of("$SINK", others)[0].where if _SINK in others else {}
        return cls(
            given,
            use,
            tuple(to),
            compiled.get(_SINK),
            patterns_of(table.get("but", ()), others),
            patterns_of(table.get("low", ()), others),
            patterns_of(table.get("unless", ()), others),
            frozenset(table.get("of", ())),
            built,
        )

    def judge(
        self, matcher: Matcher, rule: Rule, pattern: Pattern, arrival: SinkHit | StoredValue
    ) -> Match | None:
        """Return the match for a value that arrived at one of the row's targets, if the row reports it."""
        view, value = matcher.view, arrival.value
        if isinstance(arrival, SinkHit):
            node: ast.AST = arrival.call
            argument: ast.expr | None = arrival.argument
        else:
            node, argument = arrival.node, getattr(arrival.node, "value", None)
        if (self.of and not view.modules & self.of) or matcher.matches(pattern, node) is None:
            return None
        if self.argument is not None and (argument is None or not matcher.allows(self.argument, argument)):
            return None
        if any(matcher.matches(each, node) is not None for each in self.but):
            return None
        tagged = self.grades.keys() - _UNTAGGED
        tags = frozenset(tagged if len(tagged) == len(self.grades) else {*tagged, "input"})
        origin = view.flow.source(value, self.use, tags=tags)
        severity = self._severity(origin, value.built)
        if origin is None or severity is None:
            return None
        if matcher.occurs(self.unless, view.names.function_of(node) or view.reading.tree, {}):
            return None
        confidence = _SURE.get(
            self._key(origin, value.built),
            Confidence.MEDIUM if severity >= Severity.MEDIUM else Confidence.LOW,
        )
        usual = origin.reach is not Reach.REMOTE and any(
            matcher.matches(each, node) is not None for each in self.low
        )
        if usual or (origin.reach is Reach.LOCAL and _OWN_USER.match(origin.what)):
            severity, confidence = min(severity, Severity.LOW), Confidence.LOW
        given = "the answer of" if origin.tag == ANSWER else _CONTROLS.get(origin.reach, "a value")
        reason = f"{given} {origin.what} {_where(view, node)}"
        sure = view.flow.source(value, self.use, believing=True, tags=tags)
        if sure is None or sure.reach < origin.reach:
            severity, confidence = self._severity(sure, value.built) or Severity.LOW, Confidence.LOW
            reason += ", by way of a function of another file whose name says that it checks or cleans"
        found = view.match(rule, node, reason, severity, confidence)
        bare = self.use is Use.SQL and not value.built  # an object, or a whole statement
        certain = origin.reach is Reach.REMOTE and self.use not in _LIMITED and not bare
        direct = certain and _is_direct(view, argument, origin)
        return replace(found, measurements={DIRECT: True}) if direct else found

    def _key(self, origin: Origin, built: bool) -> str:
        if origin.tag in self.grades:
            return origin.tag
        plain = origin.reach is Reach.CALLER and not built and "plain" in self.grades
        return "plain" if plain else _REACHES.get(origin.reach, "")

    def _severity(self, origin: Origin | None, built: bool) -> Severity | None:
        return None if origin is None else self.grades.get(self._key(origin, built))


# Calls that hand on what they are given, alone or as part of a text.
_HANDING_ON = frozenset(
    {"str", "os.path.join", "posixpath.join", "pathlib.Path", "pathlib.PurePath", "Path", "dict"}
)
_TEXT_METHODS = frozenset({"format", "join", "strip", "encode", "decode", "replace"})
# Servers refuse line breaks in headers, and a name is mostly one of those that the route allows.
_LIMITED = frozenset({Use.HEADER, Use.NAME, Use.LOG})
_MOST_PARTS = 60  # expressions that a value is looked for in


def _is_direct(view: View, node: ast.expr | None, origin: Origin) -> bool:
    """Return whether the value of an origin is in an expression as it came, or as part of a text that is put together.

    What other calls return may have been checked or made harmless in them, or be something else altogether.
    """
    source = re.split(r"[\[(]", origin.what, maxsplit=1)[0]
    function = origin.function
    if origin.tag != "input" or (function and ("." in source or not getattr(function, "decorator_list", ()))):
        return (
            False  # what is registered somewhere gets texts of a request as parameters; others may be objects
        )
    waiting, seen = [node] if node is not None else [], set[ast.AST]()
    for at in waiting:
        if at in seen or len(seen) > _MOST_PARTS:
            continue
        seen.add(at)
        values = view.names.values_of(at) if isinstance(at, ast.Name) else []
        name = "" if values else f".{_named(view, _read_from(at)).lstrip(':')}"
        if source and name.endswith(f".{source}"):
            return True
        waiting += values
        if isinstance(at, ast.Call):
            method = at.func.attr if isinstance(at.func, ast.Attribute) else ""
            if view.names.called(at) in _HANDING_ON or method in _TEXT_METHODS:
                given = at.args[1:] if method == "replace" else at.args
                waiting += [*given, *(item.value for item in at.keywords)]
                waiting += [at.func.value] if isinstance(at.func, ast.Attribute) else []
            else:
                waiting += view.made_of(at)
        elif not isinstance(at, ast.Attribute | ast.Compare | ast.Lambda):
            waiting += [part for part in ast.iter_child_nodes(at) if isinstance(part, ast.expr)]
    return False


def _read_from(node: ast.expr) -> ast.expr:
    """Return what an expression reads a part of: `request.args` of `request.args["a"]` and `request.args.get("a")`."""
    while True:
        if isinstance(node, ast.Subscript | ast.Await):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute) and node.attr in _READERS:
            node = node.value
        else:
            return node


def _named(view: View, node: ast.expr) -> str:
    return view.names.resolve(node) or (node.id if isinstance(node, ast.Name) else "")


_READERS = frozenset({"get", "getlist", "get_list", "getfirst", "pop", "split", "strip"})


def _names(text: str) -> frozenset[str]:
    words = text.split()
    used = python_names(*(word[1:] for word in words if word.startswith("@")))
    return used.union(word for word in words if not word.startswith("@"))


def _target(
    key: str,
    text: str,
    called: Mapping[str, frozenset[str]],
    where: Mapping[str, Any],
    use: Use,
    built: bool,
) -> tuple[Sink | None, Pattern]:
    """Return the sink of a pattern, and what else of the pattern a call at the sink has to be."""
    pattern = pattern_of(text, where)
    call = pattern.node
    if not isinstance(call, ast.Call):
        return None, pattern
    arguments: list[int | str] = [
        index if isinstance(given, ast.Name) else "*"
        for index, given in enumerate(call.args)
        if variable(getattr(given, "value", given)) == _SINK
    ]
    arguments += [item.arg or "" for item in call.keywords if variable(item.value) == _SINK]
    names, methods, receiver, function = frozenset[str](), frozenset[str](), False, "$_"
    if not isinstance(call.func, ast.Attribute) or dotted(call.func):
        names = called[variable(call.func)] if variable(call.func) else frozenset({dotted(call.func)})
    else:
        name = variable(ast.Name(call.func.attr))
        methods = called[name] if name else frozenset({call.func.attr})
        receiver = variable(call.func.value) == _SINK
        if not variable(call.func.value):  # `$X.str.match($SINK)`
            function = text.partition("(")[0]
    others = [
        f"{item.arg}={f'${name}' if (name := variable(item.value)) else ast.unparse(item.value)}"
        for item in call.keywords
        if variable(item.value) != _SINK
    ]
    rest = pattern_of(f"{function}({', '.join(['...', *others])})", where)
    return Sink(key, use, names, methods, tuple(arguments), receiver, built), rest


def _where(view: View, node: ast.AST) -> str:
    if isinstance(node, ast.Return):
        return "is sent to the client"
    if not isinstance(node, ast.Call):
        return "is written into a header" if isinstance(node, ast.stmt) else "is put into a text of this kind"
    return f"reaches {view.names.called(node).lstrip(':') or 'a call'}"


class FlowIndex:
    """The rows of flow of all rules, by their sinks."""

    def __init__(self, rows: Iterable[tuple[Check, FlowRow]]) -> None:
        self._at: dict[str, tuple[Check, FlowRow, Pattern]] = {}
        self._statements: list[tuple[Check, FlowRow, Pattern]] = []
        listed: list[Sink] = []
        for check, row in rows:
            for sink, pattern in row.to:
                if sink is None:
                    self._statements.append((check, row, pattern))
                else:
                    self._at[sink.key] = check, row, pattern
                    listed.append(sink)
        self.sinks = SinkIndex(listed)

    def __len__(self) -> int:
        return len(self._at) + len(self._statements)

    def found(self, view: View) -> Iterator[Match]:
        """Yield what arrived somewhere in a file; an exception costs one rule at one place."""
        matcher = Matcher(view)
        for check, row, pattern, arrival in self._arrivals(view):
            try:
                match = row.judge(matcher, check.rule, pattern, arrival)
            except Exception as error:  # hostile text meets code that did not expect it
                view.reading.unread.fail(check.rule.id, error)
                continue
            if match is not None:
                yield match

    def _arrivals(self, view: View) -> Iterator[tuple[Check, FlowRow, Pattern, SinkHit | StoredValue]]:
        for hit in view.flow.hits:
            yield *self._at[hit.sink.key], hit
        answers = [item for item in view.flow.returns if view.flow.entry(item.function) is Reach.REMOTE]
        for check, row, pattern in self._statements:
            for arrival in answers if isinstance(pattern.node, ast.Return) else view.flow.stores:
                if arrival.value.built or not row.built:
                    yield check, row, pattern, arrival
