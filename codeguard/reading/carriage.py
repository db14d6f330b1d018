"""What is carried from where to where inside a file: taint of variables, a function at a time.

Flow-insensitive: a variable that is ever given something tainted is tainted
in its whole function. Functions of the same file are followed through what
they return and which of their parameters they send or run. A lower bound, in
a bounded number of rounds, each linear in the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from codeguard.reading.powers import (
    DECODING,
    FETCHING,
    RUNNING_CODE,
    RUNNING_COMMANDS,
    SECRET_PLACE,
    SENDING,
    STARTUP_PLACE,
    WRITING,
)
from codeguard.reading.reading import Reading, children

ENVIRONMENT, VARIABLE, SECRET, FILE, HOST = "environment", "variable", "secret", "file", "host"
FETCHED, BLOB, DECODED = "fetched", "blob", "decoded"
SECRET_NAME, STARTUP_NAME = "secret name", "startup name"
DEEPEST = 40
ROUNDS = 24
_TOO_DEEP = f"what code carries was not followed into more than {DEEPEST} levels of expressions"
_TOO_LONG = f"what code carries was not followed through more than {ROUNDS} rounds"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_HARMLESS = frozenset(
    """
    len int float bool hash isinstance issubclass type id callable hasattr range os.path.exists os.path.isfile
    os.path.isdir os.path.getsize hashlib.md5 hashlib.sha1 hashlib.sha256 hashlib.sha512 print
    """.split()  # noqa: SIM905 - words read better as words
)
_HOSTS = frozenset(
    {"platform.node", "getpass.getuser", "socket.gethostname", "os.getlogin", "os.uname", "uuid.getnode"}
)
_READING = frozenset(
    {
        "open",
        "io.open",
        "codecs.open",
        "pathlib.Path.read_text",
        "pathlib.Path.read_bytes",
        "pathlib.Path.open",
    }
)
_READING_METHODS = frozenset({"read_text", "read_bytes"})
_COLLECTING = frozenset({"append", "extend", "add", "update", "insert", "setdefault"} | WRITING)
_CREDENTIALS = frozenset(
    {"headers", "auth", "cert", "verify", "proxies", "timeout", "cookies", "url", "context"}
)
Labels = frozenset[str]
_NOTHING: Labels = frozenset()


@dataclass(frozen=True, slots=True)
class Arrival:
    """Labelled data at a call that sends, runs or writes it."""

    call: ast.Call
    name: str
    what: str  # "send", "code", "command" or "write"
    labels: Labels


@dataclass(slots=True, eq=False)
class _Function:
    """What is known of one function: its variables, what it returns, and where its parameters go."""

    node: ast.AST
    outer: _Function | None
    nodes: list[ast.AST] = field(default_factory=list)
    variables: dict[str, Labels] = field(default_factory=dict)
    returned: Labels = _NOTHING
    parameters: dict[str, str] = field(default_factory=dict)
    sinks: dict[str, str] = field(default_factory=dict)  # label of a parameter -> what is done with it


class Carriage:
    """The arrivals of one file."""

    def __init__(self, reading: Reading) -> None:
        self._names = reading.names
        self._unread = reading.unread
        self._module = _Function(reading.tree or ast.Module([], []), None)
        self._functions: dict[ast.AST, _Function] = {}
        self._arrivals: dict[tuple[ast.AST, str], Arrival] = {}
        if not self._has_sink(reading):
            return
        self._divide(reading)
        scopes = [self._module, *self._functions.values()]
        for _ in range(ROUNDS):
            before = self._known_so_far(scopes)
            for function in scopes:
                self._round(function)
            if self._known_so_far(scopes) == before:
                return
        self._unread.note(_TOO_LONG)

    def _known_so_far(self, scopes: Sequence[_Function]) -> int:
        """Return a number that grows with every label that a round adds."""
        return sum(
            sum(map(len, item.variables.values())) + len(item.returned) + len(item.sinks) for item in scopes
        )

    @property
    def arrivals(self) -> Iterator[Arrival]:
        """The arrivals in the order of the text."""
        return iter(
            sorted(self._arrivals.values(), key=lambda item: (item.call.lineno, item.call.col_offset))
        )

    def _has_sink(self, reading: Reading) -> bool:
        """Whether anything of the file sends, runs or writes what is worth following; in most files nothing does."""
        writes = False
        for node in reading.nodes_of(ast.Call):
            if _sink(self._names.called(node)):
                return True
            writes = writes or (isinstance(node.func, ast.Attribute) and node.func.attr in WRITING)
        return writes and any(
            STARTUP_NAME in _named_place(item.value) for item in reading.nodes_of(ast.Constant)
        )

    def _divide(self, reading: Reading) -> None:
        owner: dict[ast.AST, _Function] = {}
        for node in reading.nodes:
            around = owner.get(reading.parents.get(node, node), self._module)
            kind = type(node)
            if kind in _OPENING:
                assert isinstance(node, _FUNCTIONS)
                made = _Function(node, around)
                listed = node.args
                for index, arg in enumerate([*listed.posonlyargs, *listed.args, *listed.kwonlyargs]):
                    made.parameters[arg.arg] = f"parameter {index}"
                    made.variables[arg.arg] = frozenset({f"parameter {index}"})
                self._functions[node] = made
                owner[node] = made
                if isinstance(node, ast.Lambda):
                    made.nodes.append(ast.copy_location(ast.Return(node.body), node))
            else:
                owner[node] = around
                if kind in _KEPT:
                    around.nodes.append(node)

    def _round(self, function: _Function) -> None:
        for node in function.nodes:
            if isinstance(node, ast.Call):
                self._call(node, function)
            elif isinstance(node, ast.Assign):
                labels = self._labels(node.value, function)
                for target in node.targets:
                    _give(target, labels, function)
            elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
                if node.value is not None:
                    _give(node.target, self._labels(node.value, function), function)
            elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                _give(node.target, self._labels(node.iter, function), function)
            elif isinstance(node, ast.withitem):
                if node.optional_vars is not None:
                    _give(node.optional_vars, self._labels(node.context_expr, function), function)
            elif isinstance(node, ast.Return) and node.value is not None:
                function.returned |= self._labels(node.value, function)

    def _call(self, node: ast.Call, function: _Function) -> None:
        name = self._names.called(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _COLLECTING:
            gained = self._arguments(node, function)
            _give(node.func.value, gained, function)
            if node.func.attr in WRITING:
                self._arrive(node, name, "write", gained | self._labels(node.func.value, function), function)
        what = _sink(name)
        if what:
            self._arrive(node, name, what, self._sent(node, what, function), function)
        known = self._known(name)
        if known is not None:
            for label, done in tuple(known.sinks.items()):
                self._arrive(node, name, done, self._argument(node, known, label, function), function)

    def _sent(self, node: ast.Call, what: str, function: _Function) -> Labels:
        """Return the labels of what a sink gets; one environment variable as a credential or address is usual."""
        labels: Labels = _NOTHING
        for number, argument in enumerate(node.args):
            found = self._labels(argument, function)
            labels |= found - {VARIABLE} if what == "send" and number == 0 and len(node.args) == 1 else found
        for keyword in node.keywords:
            found = self._labels(keyword.value, function)
            usual = what == "send" and keyword.arg in _CREDENTIALS
            labels |= found - {VARIABLE, FILE} if usual else found
        return labels

    def _arrive(self, node: ast.Call, name: str, what: str, labels: Labels, function: _Function) -> None:
        for label in labels:
            if label.startswith("parameter") and label in function.parameters.values():
                function.sinks.setdefault(label, what)
        own = frozenset(label for label in labels if not label.startswith("parameter"))
        if own:
            before = self._arrivals.get((node, what))
            together = own if before is None else own | before.labels
            self._arrivals[(node, what)] = Arrival(node, name, what, together)

    def _arguments(self, node: ast.Call, function: _Function, depth: int = 0) -> Labels:
        labels: Labels = _NOTHING
        for argument in node.args:
            labels |= self._labels(argument, function, depth)
        for keyword in node.keywords:
            labels |= self._labels(keyword.value, function, depth)
        return labels

    def _known(self, name: str) -> _Function | None:
        definition = self._names.definition(name) if name.startswith(":") else None
        return None if definition is None else self._functions.get(definition)

    def _argument(
        self, node: ast.Call, known: _Function, label: str, function: _Function, depth: int = 0
    ) -> Labels:
        at = int(label.rpartition(" ")[2])
        names = list(known.parameters)
        if names[:1] in (["self"], ["cls"]) and isinstance(node.func, ast.Attribute):
            at -= 1
        if 0 <= at < len(node.args):
            return self._labels(node.args[at], function, depth)
        wanted = next((name for name, other in known.parameters.items() if other == label), "")
        for keyword in node.keywords:
            if keyword.arg == wanted:
                return self._labels(keyword.value, function, depth)
        return _NOTHING

    def _labels(self, node: ast.AST, function: _Function, depth: int = 0) -> Labels:
        if depth > DEEPEST:
            self._unread.note(_TOO_DEEP, getattr(node, "lineno", 0))
            return _NOTHING
        if isinstance(node, ast.Name):
            return self._variable(node, function)
        if isinstance(node, ast.Constant):
            return _named_place(node.value)
        if isinstance(node, ast.Call):
            return self._result(node, function, depth + 1)
        if isinstance(node, ast.Attribute):
            if self._is_environment(node):
                return frozenset({ENVIRONMENT})
            key = _dotted(node)
            return function.variables.get(key, _NOTHING) | self._labels(node.value, function, depth + 1)
        if isinstance(node, ast.Subscript):
            if self._is_environment(node.value):
                return frozenset({VARIABLE})
            return self._labels(node.value, function, depth + 1)
        if isinstance(node, ast.Compare | ast.Lambda):
            return _NOTHING
        labels: Labels = _NOTHING
        for child in children(node):
            labels |= self._labels(child, function, depth + 1)
        return labels

    def _variable(self, node: ast.Name, function: _Function) -> Labels:
        at: _Function | None = function
        while at is not None:
            if node.id in at.variables:
                return at.variables[node.id]
            at = at.outer
        return frozenset({ENVIRONMENT}) if self._is_environment(node) else _NOTHING

    def _is_environment(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute) and node.attr not in ("environ", "environb", "__dict__"):
            return False
        if not isinstance(node, ast.Attribute | ast.Name):
            return False
        return self._names.resolve(node) in ("os.environ", "os.environb")

    def _result(self, node: ast.Call, function: _Function, depth: int) -> Labels:
        name = self._names.called(node)
        if name in _HARMLESS:
            return _NOTHING
        if name in (
            "os.getenv",
            "os.environ.get",
            "os.environb.get",
            "os.environ.pop",
            "os.environ.setdefault",
        ):
            return frozenset({VARIABLE})
        if name in _HOSTS:
            return frozenset({HOST})
        given = self._arguments(node, function, depth)
        if name in FETCHING:
            return frozenset({FETCHED})
        if name in DECODING:
            return self._decoded(node, given)
        base = (
            self._labels(node.func.value, function, depth)
            if isinstance(node.func, ast.Attribute)
            else _NOTHING
        )
        if name in _READING or (isinstance(node.func, ast.Attribute) and node.func.attr in _READING_METHODS):
            around = given | base
            return frozenset({SECRET if SECRET_NAME in around else FILE}) | (around & {FETCHED, STARTUP_NAME})
        known = self._known(name)
        if known is None:
            return given | base
        labels = base | frozenset(item for item in known.returned if not item.startswith("parameter"))
        for label in known.returned:
            if label.startswith("parameter"):
                labels |= self._argument(node, known, label, function, depth)
        return labels

    def _decoded(self, node: ast.Call, given: Labels) -> Labels:
        first = node.args[0] if node.args else None
        if first is None:
            return given
        value = self._names.constant(first)
        written = isinstance(value, str | bytes) and len(value) >= 8
        return given | {BLOB if written else DECODED}


_OPENING = frozenset(_FUNCTIONS)
_KEPT = frozenset(
    {
        ast.Assign,
        ast.AnnAssign,
        ast.AugAssign,
        ast.NamedExpr,
        ast.For,
        ast.AsyncFor,
        ast.comprehension,
        ast.withitem,
        ast.Return,
        ast.Call,
    }
)


def _sink(name: str) -> str:
    if name in RUNNING_CODE:
        return "code"
    if name in RUNNING_COMMANDS:
        return "command"
    return "send" if name in SENDING else ""


def _named_place(value: object) -> Labels:
    if not isinstance(value, str) or len(value) > 400:
        return _NOTHING
    found: set[str] = set()
    if SECRET_PLACE.search(value):
        found.add(SECRET_NAME)
    if STARTUP_PLACE.search(value):
        found.add(STARTUP_NAME)
    return frozenset(found)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _give(target: ast.AST, labels: Labels, function: _Function) -> None:
    if not labels:
        return
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            _give(part, labels, function)
        return
    while isinstance(target, ast.Subscript | ast.Starred):
        target = target.value
    key = (
        target.id
        if isinstance(target, ast.Name)
        else _dotted(target)
        if isinstance(target, ast.Attribute)
        else ""
    )
    if key:
        function.variables[key] = function.variables.get(key, _NOTHING) | labels
