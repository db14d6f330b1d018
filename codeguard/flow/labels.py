"""Labels of variables inside a file of any language, one function at a time: what is secret, fetched, decoded.

The analysis is flow-insensitive: a variable that is ever assigned something tainted is tainted in
its whole function. Functions of the file are followed through their results and the parameters that
they send or run. The result is a lower bound, computed in a limited number of rounds, each linear
in the size of the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import children, walk
from codeguard.flow.effects import Effects
from codeguard.syntax.capabilities import FOREIGN_SCRIPT, LOOKUP_PLACE, SECRET_PLACE, STARTUP_PLACE, WRITING
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import defaults_of

ENVIRONMENT, VARIABLE, SECRET, FILE = "environment", "variable", "secret", "file"
FETCHED, BLOB, DECODED, ENCODED = "fetched", "blob", "decoded", "encoded"
DROPPED, WATCHED = "dropped", "watched"
PART = "part"  # one entry of a file of secrets, by its name
SPELLED = "spelled"  # data of this machine in the letters of a host name
CONNECTION, PROCESS = "connection", "process"
HOST, CREDENTIAL = "host ", "credential "  # followed by its details, such as `host user`, or by its source
SECRET_NAME, STARTUP_NAME = "secret name", "startup name"
DEEPEST = 60
ROUNDS = 24
ROUNDS_ELSEWHERE = 8  # in other languages than Python
_TOO_DEEP = f"taint was not tracked into more than {DEEPEST} levels of expressions"
_TOO_LONG = "taint was not tracked for more than {} rounds"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_HARMLESS = frozenset(
    """
    len int float bool hash isinstance issubclass type id callable hasattr range os.path.exists os.path.isfile
    os.path.isdir os.path.getsize hashlib.md5 hashlib.sha1 hashlib.sha256 hashlib.sha512 print
    """.split()  # noqa: SIM905 - words read better as words
)
_HOST_VARIABLES = {
    "USER": "user", "USERNAME": "user", "LOGNAME": "user", "COMPUTERNAME": "name", "HOSTNAME": "name",
}  # fmt: skip
_CREDENTIAL = lazy(r"^([A-Z0-9]+)_\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)")
_ENCODED = lazy(r"[A-Za-z0-9+/=_\-!#$%&()*;<>?@^`{|}~]{24,}\Z")
_READING_METHODS = frozenset({"read_text", "read_bytes"})
_MOVING = frozenset({"urlretrieve", "download", "extractall", "save"})
_SHORTEST_PLACE = 4  # characters
_LONGEST_PLACE = 400
_PARTS_OF_STARTUP = ("hooks", "Startup", "LaunchAgents", "autostart", "cron.d")  # of composed paths
_COLLECTING = frozenset({"append", "extend", "add", "update", "insert", "setdefault"} | WRITING)
_CREDENTIALS = frozenset(
    {"headers", "auth", "cert", "verify", "proxies", "timeout", "cookies", "url", "context"}
)
Labels = frozenset[str]
_NOTHING: Labels = frozenset()
_FOREIGN: Labels = frozenset({FETCHED, BLOB})  # data that did not originate in this file


def labels_of_variable(name: str) -> Labels:
    """Return the labels of an environment variable, by its name."""
    labels = {VARIABLE}
    if name in _HOST_VARIABLES:
        labels.add(f"{HOST}{_HOST_VARIABLES[name]}")
    credential = _CREDENTIAL.match(name)
    if credential:
        labels.add(f"{CREDENTIAL}{credential[1].lower()}")
    return frozenset(labels)


def labels_of_kind(labels: Labels, kind: str) -> list[str]:
    """Return the labels of a kind (`HOST`, `CREDENTIAL`) without the kind, sorted."""
    return sorted(label.removeprefix(kind) for label in labels if label.startswith(kind))


@dataclass(frozen=True, slots=True)
class Arrival:
    """Labelled data at a call that sends, runs or writes it, or at an assignment that does.

    In other languages than Python `text` is the literal part of a command, and `hidden` means that the called
    name is composed at run time.
    """

    call: ast.AST
    name: str
    what: str  # "send", "look-up", "code", "command", "load", "write", "joins" or "destroy"
    labels: Labels
    text: str = ""
    hidden: bool = False


@dataclass(slots=True, eq=False)
class _Function:
    """What is known of a function: its variables, its result, and the uses of its parameters."""

    node: ast.AST
    outer: _Function | None
    nodes: list[ast.AST] = field(default_factory=list)
    variables: dict[str, Labels] = field(default_factory=dict)
    returned: Labels = _NOTHING
    parameters: dict[str, str] = field(default_factory=dict)
    sinks: dict[str, str] = field(default_factory=dict)  # label of a parameter to its use
    opened: dict[str, ast.expr] = field(default_factory=dict)  # file variable to its path
    defaults: dict[str, ast.expr] = field(default_factory=dict)


class TaintFlow:
    """The arrivals of one file."""

    def __init__(
        self, names: Names, nodes: Sequence[ast.AST], parents: Mapping[ast.AST, ast.AST], effects: Effects
    ) -> None:
        self._names = names
        self._effects = effects
        self._unread = names.unread
        self._module = _Function(names.scopes.module.node, None)
        self._functions: dict[ast.AST, _Function] = {}
        self._arrivals: dict[tuple[ast.AST, str], Arrival] = {}
        self._dropped: set[str] = set()  # names of files that were written here with data from elsewhere
        if not self._has_sink(nodes):
            return
        self._divide(nodes, parents)
        scopes = [self._module, *self._functions.values()]
        for scope in scopes:
            opened = names.scopes.of(scope.node)
            for name in () if opened is None else opened.bindings:
                scope.variables.setdefault(name, _NOTHING)  # hides the name of a scope around it
        rounds = ROUNDS if effects.exact else ROUNDS_ELSEWHERE
        for _ in range(rounds):
            before = [_size(scope) for scope in scopes]
            for function in scopes:
                self._round(function)
            if before == [_size(scope) for scope in scopes]:
                return
        self._unread.note(_TOO_LONG.format(rounds))

    @property
    def arrivals(self) -> Iterator[Arrival]:
        """The arrivals in the order of the text."""
        return iter(sorted(self._arrivals.values(), key=lambda item: (_line(item.call), item.what)))

    def _has_sink(self, nodes: Iterable[ast.AST]) -> bool:
        """Return whether the file sends, runs or writes anything relevant, which few files do."""
        effects, writes, texts = self._effects, False, []
        for node in nodes:
            if isinstance(node, ast.Call):
                name, method = self._called(node), getattr(node.func, "attr", "")
                if effects.acts(name) or (effects.exact and effects.has("connects", name)):
                    return True
                writes = writes or method in WRITING
                # A call in another language may be more than a source.
                if not effects.exact and (writes or method == "pipe" or self._is_composed(node.func)):
                    return True
            elif isinstance(node, ast.Constant):
                texts.append(node.value)
        return writes and any(
            STARTUP_NAME in _named_place(text) or text in _PARTS_OF_STARTUP for text in texts
        )

    def _called(self, node: ast.Call) -> str:
        """Return the dotted name of the called function, or `.method` of an object that is not known."""
        name = self._names.called(node)
        return name or (f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else "")

    def _receiver(self, node: ast.Call, function: _Function, depth: int = 0) -> Labels:
        return (
            self._labels(node.func.value, function, depth)
            if isinstance(node.func, ast.Attribute)
            else _NOTHING
        )

    def _divide(self, nodes: Iterable[ast.AST], parents: Mapping[ast.AST, ast.AST]) -> None:
        owner: dict[ast.AST, _Function] = {}
        for node in nodes:
            around = owner.get(parents.get(node, node), self._module)
            kind = type(node)
            if kind in _OPENING:
                assert isinstance(node, _FUNCTIONS)
                listed = node.args
                made = _Function(node, around, defaults=defaults_of(listed))
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
        for name, value in function.defaults.items():
            function.variables[name] |= self._labels(value, function.outer or function)
        for node in function.nodes:
            match node:
                case ast.Call():
                    self._call(node, function)
                case ast.Assign():
                    labels = self._labels(node.value, function)
                    for target in node.targets:
                        self._give(target, labels, function, node.value)
                        if isinstance(target, ast.Attribute) and not self._effects.exact:
                            self._set(node, target, labels, function)
                case ast.For() | ast.AsyncFor() | ast.comprehension():
                    self._give(node.target, self._labels(node.iter, function), function)
                case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                    self._give(target, self._labels(value, function), function, value)
                case ast.Return(value=ast.expr() as value):
                    function.returned |= self._labels(value, function)
                case (
                    ast.AnnAssign(value=ast.expr() as value)
                    | ast.AugAssign(value=value)
                    | ast.NamedExpr(value=value)
                ):
                    self._give(node.target, self._labels(value, function), function)

    def _call(self, node: ast.Call, function: _Function) -> None:
        name = self._called(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _COLLECTING:
            gained = self._arguments(node, function)
            if node.func.attr in WRITING:
                gained -= {STARTUP_NAME}  # the text that is written may name any place
                self._arrive(node, name, "write", self._receiver(node, function) | gained, function)
                if gained & _FOREIGN:
                    self._drop(self._place_of(node.func.value, function), function)
            self._give(node.func.value, gained, function)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _MOVING:
            self._moved(node, node.func, name, function)
        opened = self._opened(node)
        if opened is not None:
            startup = self._labels(opened, function) & {STARTUP_NAME}
            if STARTUP_PLACE.search(self.written_parts(opened)):
                startup |= {STARTUP_NAME}
            self._arrive(node, name, "write", startup, function)
        sinks = self._effects.sinks(name)
        if self._effects.exact and isinstance(node.func, ast.Attribute):
            if not sinks and node.func.attr in _STREAMING and CONNECTION in self._receiver(node, function):
                sinks = ["send"]
            if self._effects.has("fills", name):
                self._give(node.func.value, self._read(self._arguments(node, function), node), function)
        for what in sinks:
            self._arrive(node, name, what, self._sent(node, what, function), function)
        self._destroys(node, name, function)
        if not self._effects.exact:
            self._elsewhere(node, name, function)
        known = self._known(name)
        if known is not None:
            for label, done in tuple(known.sinks.items()):
                self._arrive(node, name, done, self._argument(node, known, label, function), function)

    def _elsewhere(self, node: ast.Call, name: str, function: _Function) -> None:
        """Handle what calls of other languages do with streams, files and the functions that they are given."""
        receiver, given = self._receiver(node, function), self._arguments(node, function)
        if name.endswith(".pipe") and {CONNECTION, PROCESS} <= receiver | given:
            self._arrive(node, name, "joins", receiver | given, function)
        for use in ("store", "copies"):
            number = self._effects.of(use, name)
            if number is None or len(node.args) <= int(number or 0):
                continue
            place = node.args[int(number or 0)]
            where = self.written_parts(place)
            if STARTUP_NAME in self._labels(place, function) or STARTUP_PLACE.search(where):
                self._arrive(node, name, "write", frozenset({STARTUP_NAME}), function)
            if given & _FOREIGN:
                self._drop(place, function)
        if (given | receiver) & _FOREIGN:
            holder = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            for item in (*node.args, *holder):
                opened = self._place_of(item, function)
                if opened is not item:
                    self._drop(opened, function)
        # Functions that are passed as arguments are called with these values.
        labels = _without_parameters(receiver - {CONNECTION, PROCESS})
        if self._effects.has("fetched", name) or CONNECTION in receiver:
            labels |= {FETCHED}
        if self._effects.has("reads", name):
            labels |= {SECRET if SECRET_NAME in given else FILE}
        for item in node.args if labels else ():
            known = self._known(self._names.resolve(item))
            if known is not None:
                known.variables.update({name: known.variables[name] | labels for name in known.parameters})

    def _destroys(self, node: ast.Call, name: str, function: _Function) -> None:
        """Note a call that deletes everything below the home folder, or the root."""
        number = self._effects.of("destroys", name)
        places = node.args[int(number) :][:1] if number else []
        if number == "" and isinstance(node.func, ast.Attribute):
            places = [node.func.value]
        for place in places:
            whole = self._names.text(place) if self._effects.exact else self.written_parts(place)
            if f"{HOST}home" in self._labels(place, function) or whole in _WHOLE:
                self._arrive(node, name, "destroy", frozenset({FILE}), function)

    def _set(self, node: ast.Assign, target: ast.Attribute, labels: Labels, function: _Function) -> None:
        """Handle an assignment that sends what it assigns, or joins a process with a connection."""
        name = self._names.resolve(target)
        if self._effects.has("sends", name):
            self._arrive(node, name, "send", labels, function)
        if CONNECTION in labels and PROCESS in self._labels(target.value, function):
            self._arrive(node, name, "joins", labels, function)

    def _opened(self, node: ast.expr) -> ast.expr | None:
        """Return the path of a file that an expression opens for writing."""
        while isinstance(node, ast.Call | ast.Await):
            if isinstance(node, ast.Await):
                node = node.value
                continue
            number = self._effects.of("open", self._names.called(node))
            if number is not None:
                writes = len(node.args) > int(number) and (not self._effects.exact or self._writes(node))
                return node.args[int(number)] if writes else None
            if self._effects.exact or not isinstance(node.func, ast.Attribute):
                return None
            node = node.func.value
        return None

    def _give(
        self, target: ast.AST, labels: Labels, function: _Function, value: ast.expr | None = None
    ) -> None:
        """Add labels to what is assigned to, in the function that its name belongs to.

        A variable that is bound to a file opened for writing stands for its path.
        """
        opened = self._opened(value) if value is not None and isinstance(target, ast.Name) else None
        if isinstance(target, ast.Name) and opened is not None:
            function.opened[target.id] = opened
        if not labels:
            return
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._give(part, labels, function)
            return
        while isinstance(target, ast.Subscript | ast.Starred) or (
            isinstance(target, ast.Attribute) and not self._effects.exact
        ):
            target = target.value
        key = self._attribute(target) if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if not key:
            return
        at = _holding(key, self._module if key.startswith(":") else function)
        if at is None:
            at = function if self._effects.exact and not key.startswith(":") else self._module
        at.variables[key] = at.variables.get(key, _NOTHING) | labels

    def written_parts(self, place: ast.expr, between: str = "/", depth: int = 0) -> str:
        """Return the literal parts of a path or a command, joined."""
        text = None if self._effects.exact else self._names.text(place)
        if text is not None:
            return text[:_LONGEST_PLACE]
        parts = []
        for item in walk(place):
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                parts.append(item.value)
            elif isinstance(item, ast.Name) and depth == 0:
                values = self._names.values_of(item)
                parts += [self.written_parts(values[0], between, 1)] if len(values) == 1 else []
        return between.join(parts)[:_LONGEST_PLACE]

    def _writes(self, node: ast.Call) -> bool:
        modes = [*node.args[1:2], *(item.value for item in node.keywords if item.arg == "mode")]
        return bool(modes) and bool(set("wax+") & set(self._names.text(modes[0]) or ""))

    def _place_of(self, node: ast.expr, function: _Function) -> ast.expr:
        """Return the path of the file that is written to, or the node itself."""
        opened = self._opened(node)
        at: _Function | None = function
        while at is not None and opened is None and isinstance(node, ast.Name):
            opened, at = at.opened.get(node.id), at.outer
        return node if opened is None else opened

    def _drop(self, place: ast.expr, function: _Function) -> None:
        text = self._names.text(place)
        if text is not None and len(text) >= _SHORTEST_PLACE:
            self._dropped.add(text)
        if isinstance(place, ast.Name | ast.Attribute):
            self._give(place, frozenset({DROPPED}), function)

    def _moved(self, node: ast.Call, called: ast.Attribute, name: str, function: _Function) -> None:
        """Handle a call that downloads to a file, unpacks an archive or saves its object."""
        base = self._labels(called.value, function)
        if self._effects.has("retrieves", name) and len(node.args) > 1:
            self._drop(node.args[1], function)
        elif called.attr == "extractall" and (base & (_FOREIGN | {DROPPED}) or self._is_dropped(node)):
            for place in (*node.args[:1], *(keyword.value for keyword in node.keywords)):
                self._drop(place, function)
        elif called.attr == "save" and node.args:
            self._give(node.args[0], base & {WATCHED}, function)

    def _is_dropped(self, node: ast.expr) -> bool:
        """Return whether an expression contains the name of a file that was written with foreign data."""
        if not self._dropped:
            return False
        texts = [self._names.text(item) for item in walk(node) if isinstance(item, ast.expr)]
        return any(place in text for text in texts if text for place in self._dropped)

    def _sent(self, node: ast.Call, what: str, function: _Function) -> Labels:
        """Return the labels that reach a sink, without a single environment variable as credential or address."""
        labels = frozenset({DROPPED} if what == "command" and self._is_dropped(node) else ())
        if not self._effects.exact and what != "look-up":
            return self._arguments(node, function) | labels
        for name, value in [("", item) for item in node.args] + [
            (item.arg, item.value) for item in node.keywords
        ]:
            found = self._labels(value, function)
            if what == "send" and name in _CREDENTIALS:
                usual = frozenset(item for item in found if item.startswith(CREDENTIAL))
                found -= usual | {VARIABLE, FILE, PART}
            elif what == "send" and name == "" and len(node.args) == 1:
                found -= {VARIABLE}
            labels |= found
        if what == "look-up" and not self._has_domain(node):
            labels = frozenset(label for label in labels if not label.startswith(HOST))
        return labels

    def _has_domain(self, node: ast.Call) -> bool:
        """Return whether a looked-up name ends with a literal domain, or stands for such an expression."""
        values = [node.args[0]] if node.args else []
        if values and isinstance(values[0], ast.Name):
            values += self._names.values_of(values[0])
        texts = [item.value for value in values for item in walk(value) if isinstance(item, ast.Constant)]
        return any(
            isinstance(text, str) and "." in text and len(text) > 3 and not _LOCAL_NAME.search(text)
            for text in texts
        )

    def _arrive(self, node: ast.AST, name: str, what: str, labels: Labels, function: _Function) -> None:
        for label in labels:
            if label.startswith("parameter") and label in function.parameters.values():
                function.sinks.setdefault(label, what)
        own = _without_parameters(labels)
        text, hidden = "", False
        if isinstance(node, ast.Call) and not self._effects.exact and what in ("code", "command"):
            parts = [self.written_parts(item, " ") for item in node.args] if what == "command" else []
            text, hidden = " ".join(filter(None, parts)), self._is_composed(node.func)
        if own or text or hidden:
            if (node, what) in self._arrivals:
                own |= self._arrivals[node, what].labels
            self._arrivals[node, what] = Arrival(node, name, what, own, text, hidden)

    def _is_composed(self, node: ast.expr) -> bool:
        """Return whether a part of a called name is a text that is put together, not written as such."""
        waiting = [node]
        seen = {node}
        for at in waiting:
            for part in walk(at):
                if isinstance(part, ast.Call) and self._names.called(part) in ("getattr", "__import__"):
                    written = isinstance(part.args[-1], ast.Constant)
                    if not written and self._names.text(part.args[-1]) is not None:
                        return True
                elif isinstance(part, ast.Name) and len(waiting) < _MOST_ALIASES:
                    new = [value for value in self._names.values_of(part) if value not in seen]
                    waiting += new
                    seen.update(new)
        return False

    def _arguments(self, node: ast.Call, function: _Function, depth: int = 0) -> Labels:
        labels: Labels = _NOTHING
        for argument in node.args:
            labels |= self._labels(argument, function, depth)
        for keyword in node.keywords:
            found = self._labels(keyword.value, function, depth)
            # An `env` argument is for the processes that the function starts.
            labels |= found - {ENVIRONMENT} if keyword.arg in ("env", "environ", "environment") else found
        return labels

    def _known(self, name: str) -> _Function | None:
        definition = self._names.definition(name) if name.startswith(":") else None
        return None if definition is None else self._functions.get(definition)

    def _argument(
        self, node: ast.Call, known: _Function, label: str, function: _Function, depth: int = 0
    ) -> Labels:
        names = list(known.parameters)
        at = int(label.rpartition(" ")[2])
        wanted = "".join(names[at : at + 1])
        at -= names[:1] in (["self"], ["cls"]) and isinstance(node.func, ast.Attribute)
        if 0 <= at < len(node.args):
            return self._labels(node.args[at], function, depth)
        given = next((keyword.value for keyword in node.keywords if keyword.arg == wanted), None)
        return _NOTHING if given is None else self._labels(given, function, depth)

    def _labels(self, node: ast.AST, function: _Function, depth: int = 0) -> Labels:
        if depth > DEEPEST:
            self._unread.note(_TOO_DEEP, getattr(node, "lineno", 0))
            return _NOTHING
        if isinstance(node, ast.Name):
            return self._variable(node, function)
        if isinstance(node, ast.Constant):
            found = _named_place(node.value)
            return found | {ENCODED} if _is_encoded(node.value) else found
        if isinstance(node, ast.Call):
            return self._result(node, function, depth + 1)
        if isinstance(node, ast.Attribute):
            if self._is_environment(node):
                return frozenset({ENVIRONMENT})
            if not self._effects.exact:
                found = self._by_name(self._names.resolve(node))
                if found or self._is_environment(node.value):
                    return found or labels_of_variable(node.attr)
            key = self._attribute(node)
            holder = self._module if key.startswith(":") else function
            return holder.variables.get(key, _NOTHING) | self._labels(node.value, function, depth + 1)
        if isinstance(node, ast.Subscript):
            if self._is_environment(node.value):
                return self._environment_variable(node.slice, function, depth)
            return _part(self._labels(node.value, function, depth + 1), node.slice)
        if isinstance(node, ast.Compare | ast.Lambda):
            return _NOTHING
        labels: Labels = _NOTHING
        for child in children(node):
            labels |= self._labels(child, function, depth + 1)
        return self._below(labels, list(children(node)))

    def _attribute(self, node: ast.Attribute) -> str:
        """Return the key of an attribute: one of an object's own is that of its class, in all its methods."""
        if not isinstance(node.value, ast.Name):
            return ""
        around = self._names.class_of(node) if node.value.id in ("self", "cls") else None
        return f":{around.name}.{node.attr}" if around is not None else f"{node.value.id}.{node.attr}"

    def _below(self, labels: Labels, parts: Sequence[ast.AST]) -> Labels:
        """Return the labels of a path that is put together: a fixed part leads to a folder below the home folder."""
        home = f"{HOST}home"
        fixed = home in labels and any(isinstance(part, ast.expr) and self._is_step(part) for part in parts)
        return labels - {home} if fixed else labels

    def _environment_variable(self, key: ast.expr, function: _Function, depth: int) -> Labels:
        """Return the labels of one variable, or of all if its name comes from the environment itself."""
        if ENVIRONMENT in self._labels(key, function, depth + 1):
            return frozenset({ENVIRONMENT})
        return labels_of_variable(self._names.text(key) or "")

    def _variable(self, node: ast.Name, function: _Function) -> Labels:
        own = self._by_name(self._names.resolve(node)) if not self._effects.exact else _NOTHING
        at = _holding(node.id, function)
        own |= _NOTHING if at is None else at.variables[node.id]
        return own or (frozenset({ENVIRONMENT}) if self._is_environment(node) else _NOTHING)

    def _by_name(self, name: str) -> Labels:
        """Return the labels that a name of another language than Python has by itself."""
        if name.startswith("_") and self._effects.has("fetched", name):
            return frozenset({FETCHED})  # PHP's arrays of what was requested
        constant = self._effects.of("constants", name)
        host = self._effects.of("host", name)
        return frozenset(filter(None, (constant, f"{HOST}{host}" if host else None)))

    def _is_environment(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Attribute | ast.Name):
            return False
        if self._effects.exact and isinstance(node, ast.Attribute) and node.attr not in _OF_ENVIRONMENT:
            return False
        return self._effects.has("environment", self._names.resolve(node))

    def _result(self, node: ast.Call, function: _Function, depth: int) -> Labels:
        name = self._called(node)
        if name in _HARMLESS:
            return _NOTHING
        effects = self._effects
        if effects.has("environment", name) or (not node.args and effects.has("environment", f"{name}()")):
            return frozenset({ENVIRONMENT})
        if effects.has("variable", name):
            one = frozenset({VARIABLE})
            return self._environment_variable(node.args[0], function, depth) if node.args else one
        host = effects.of("host", name.removesuffix("()"))
        if host and not (node.args and self._is_step(node.args[0])):
            return frozenset({f"{HOST}{host}"})
        for use, label in (("secrets", SECRET), ("watches", WATCHED)):
            if effects.has(use, name):
                return frozenset({label})
        given = self._arguments(node, function, depth)
        if effects.has("fetched", name):
            place = self._names.text(node.args[0]) if node.args else None
            address = {f"{HOST}address"} if place and LOOKUP_PLACE.search(place) else set()
            streams = {CONNECTION} if effects.has("connects", name) or CONNECTION in given else set()
            return frozenset({FETCHED, *address, *streams})
        ways = effects.of("decodes", name)
        if ways is not None:
            other = ways and (len(node.args) < 2 or self._names.text(node.args[1]) not in ways.split(","))
            value = self._names.constant(node.args[0]) if node.args else None
            written = isinstance(value, str | bytes) and len(value) >= 8
            return given if other or not node.args else given | {BLOB if written else DECODED}
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        base = self._receiver(node, function, depth)
        if effects.has("reads", name) or (effects.exact and method in _READING_METHODS):
            return self._read(given | base, node)
        if effects.has("encodes", name) and (given | base) & {VARIABLE, ENVIRONMENT, FILE, SECRET}:
            return given | base | {SPELLED}
        known = self._known(name)
        if known is None:
            labels = self._below(given | base, node.args)
            if name.endswith(".get") and node.args:
                labels = _part(labels, node.args[0])
            return labels | {label for use, label in _STREAMS if effects.has(use, name)}
        own = _without_parameters(known.returned)
        labels = base | own
        for label in known.returned - own:
            labels |= self._argument(node, known, label, function, depth)
        return labels | {BLOB} if {ENCODED, DECODED} <= labels else labels

    def _read(self, place: Labels, node: ast.Call) -> Labels:
        """Return the labels of what a file contains, by those of its place: not its name, but where that is from."""
        content = place & {FETCHED, STARTUP_NAME}
        if DROPPED in place or self._is_dropped(node):
            content |= {FETCHED}
        return content | {SECRET if SECRET_NAME in place else FILE}

    def _is_step(self, node: ast.expr) -> bool:
        """Return whether a part of a path is fixed, and leads to another folder."""
        return any(map(str.isalnum, self._names.text(node) or ""))


_STREAMS = (("connects", CONNECTION), ("processes", PROCESS))
_STREAMING = frozenset({"write", "writelines", "send", "sendall", "sendto", "sendmsg"})
_WHOLE = ("/", "~", "/*", "~/", "C:\\", "/home", "/etc", "/usr", "/var")  # places with everything in them
_OF_ENVIRONMENT = frozenset({"environ", "environb", "__dict__"})
_MOST_ALIASES = 16
_OPENING = frozenset(_FUNCTIONS)
_KEPT = frozenset(
    {ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem,
     ast.Return, ast.Call}
)  # fmt: skip
_LOCAL_NAME = lazy(r"\.(?:local|localdomain|localhost|home\.arpa)\.?\Z")  # such names leave no network
_NAMED = ((SECRET_PLACE, SECRET_NAME), (STARTUP_PLACE, STARTUP_NAME), (FOREIGN_SCRIPT, BLOB))


def _named_place(value: object) -> Labels:
    if not isinstance(value, str) or len(value) > _LONGEST_PLACE:
        return _NOTHING
    return frozenset(label for pattern, label in _NAMED if pattern.search(value))


def _part(labels: Labels, key: ast.expr) -> Labels:
    """Return the labels of an entry of what has some labels."""
    named = SECRET in labels and isinstance(key, ast.Constant) and isinstance(key.value, str)
    return labels - {SECRET} | {PART} if named else labels


def _is_encoded(value: object) -> bool:
    """Return whether a constant is encoded data, judged by its first characters."""
    if isinstance(value, bytes):
        value = value[:200].decode("latin-1")
    return isinstance(value, str) and _ENCODED.match(value[:200]) is not None and not value[:200].isalpha()


def _without_parameters(labels: Labels) -> Labels:
    return frozenset(label for label in labels if not label.startswith("parameter"))


def _holding(name: str, function: _Function) -> _Function | None:
    """Return the innermost function that has a variable."""
    at: _Function | None = function
    while at is not None and name not in at.variables:
        at = at.outer
    return at


def _size(function: _Function) -> int:
    """Return a number that grows with every label that a round adds."""
    return sum(map(len, function.variables.values())) + len(function.returned) + len(function.sinks)


def _line(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
