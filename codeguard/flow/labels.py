"""Labels of values inside a file of any language: what is secret, fetched, decoded, and the calls that it arrives at.

The analysis is insensitive to order and to who calls: a variable that is ever assigned something has its labels
everywhere, and a parameter those of what any call in the file gives it. The result is a lower bound, computed in a
limited number of rounds, each linear in the size of the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.corpus.patterns import lazy, stored
from codeguard.corpus.syntax import chained, children, walk
from codeguard.flow.effects import FILLERS, HARMLESS, WRITING, Effects
from codeguard.syntax.names import Names
from codeguard.syntax.scopes import FUNCTIONS, BindingKind, defaults_of, written_arguments

ENVIRONMENT, VARIABLE, SECRET, FILE = "environment", "variable", "secret", "file"
FETCHED, BLOB, DECODED, ENCODED = "fetched", "blob", "decoded", "encoded"
DROPPED, WATCHED = "dropped", "watched"
PART = "part"  # one entry of a file of secrets, by its name
SPELLED = "spelled"  # data of this machine in the letters of a host name
CONNECTION, PROCESS = "connection", "process"
HOST, CREDENTIAL = "host ", "credential "  # followed by its details, such as `host user`, or by its source
SECRET_NAME, TOKEN_NAME, STARTUP_NAME = "secret name", "token name", "startup name"
DEEPEST = 60
ROUNDS = 24
_TOO_DEEP = f"taint was not tracked into more than {DEEPEST} levels of expressions"
_TOO_LONG = f"taint was not tracked for more than {ROUNDS} rounds"
_PLACES = {name: lazy("|".join(forms)) for name, forms in stored(Path(__file__).with_suffix(".toml")).items()}
_STEPS = frozenset(
    {ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem,
     ast.Return, ast.Call, *FUNCTIONS}
)  # fmt: skip
_HOST_VARIABLES = {
    "USER": "user", "USERNAME": "user", "LOGNAME": "user", "COMPUTERNAME": "name", "HOSTNAME": "name",
}  # fmt: skip
_CREDENTIAL = lazy(r"^([A-Z0-9]+)_\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)")
_ENCODED = lazy(r"[A-Za-z0-9+/=_\-!#$%&()*;<>?@^`{|}~]{24,}\Z")
_READING_METHODS = frozenset({"read_text", "read_bytes"})
_STREAMING = frozenset({"write", "writelines", "send", "sendall", "sendto", "sendmsg"})
_CREDENTIALS = frozenset(
    {"headers", "auth", "cert", "verify", "proxies", "timeout", "cookies", "url", "context"}
)
_COLLECTING = FILLERS | WRITING
_FOR_PROCESSES = frozenset({"env", "environ", "environment"})  # what the processes get that a function starts
_SHORTEST_PLACE = 4  # characters
_LONGEST_PLACE = 400
_PARTS_OF_STARTUP = ("hooks", "Startup", "LaunchAgents", "autostart", "cron.d")  # of composed paths
_WHOLE = ("/", "~", "/*", "~/", "C:\\", "/home", "/etc", "/usr", "/var")  # places with everything in them
_MOST_ALIASES = 16
_LOCAL_NAME = lazy(r"\.(?:local|localdomain|localhost|home\.arpa)\.?\Z")  # such names leave no network
_NAMED = {"secret": SECRET_NAME, "token": TOKEN_NAME, "startup": STARTUP_NAME, "foreign_script": BLOB}
# Uses of `effects` whose result has a label, whatever it is given, and those that add one.
_SOURCES = (("secrets", SECRET), ("watches", WATCHED))
_STREAMS = (("connects", CONNECTION), ("processes", PROCESS))
Labels = frozenset[str]
Key = tuple[object, str]  # of a variable: its scope and name; of a result: the function and ""
_NOTHING: Labels = frozenset()
_FOREIGN: Labels = frozenset({FETCHED, BLOB})  # data that did not originate in this file
_ENDS: Labels = frozenset({CONNECTION, PROCESS})
_OF_MACHINE: Labels = frozenset({VARIABLE, ENVIRONMENT, FILE, SECRET})


def labels_of_kind(labels: Labels, kind: str) -> list[str]:
    """Return the labels of a kind (`HOST`, `CREDENTIAL`) without the kind, sorted."""
    return sorted(label.removeprefix(kind) for label in labels if label.startswith(kind))


@dataclass(frozen=True, slots=True)
class Arrival:
    """Labelled data at a call that sends, runs or writes it, or at an assignment that does.

    `text` is the literal part of a command. `hidden` means, in other languages than Python, that the called name is
    composed at run time.
    """

    call: ast.AST
    name: str
    what: str  # "send", "look-up", "code", "command", "load", "write", "joins" or "destroy"
    labels: Labels
    text: str = ""
    hidden: bool = False


class TaintFlow:
    """The arrivals of one file."""

    def __init__(self, names: Names, nodes: Sequence[ast.AST], effects: Effects) -> None:
        self._names, self._scopes, self._effects = names, names.scopes, effects
        self._held: dict[Key, Labels] = {}
        self._opened: dict[Key, ast.expr] = {}  # variables of files to their paths
        self._dropped: set[str] = set()  # names of files that were written here with data from elsewhere
        self._arrivals: dict[tuple[ast.AST, str], Arrival] = {}
        self._memo: dict[ast.AST, Labels] = {}
        self._changed = self._acts(nodes)
        steps = [node for node in nodes if type(node) in _STEPS] if self._changed else []
        for _ in range(ROUNDS):
            if not self._changed:
                return
            self._changed = False
            self._memo.clear()
            for node in steps:
                self._step(node)
        names.unread.note(_TOO_LONG)

    @property
    def arrivals(self) -> Iterator[Arrival]:
        """The arrivals in the order of the text."""
        return iter(sorted(self._arrivals.values(), key=lambda item: (_line(item.call), item.what)))

    def _acts(self, nodes: Iterable[ast.AST]) -> bool:
        """Return whether the file sends, runs or writes anything relevant, which few files do."""
        effects, writes, places = self._effects, False, False
        for node in nodes:
            if isinstance(node, ast.Call):
                name, method = self._called(node), getattr(node.func, "attr", "")
                if effects.acts(name):
                    return True
                writes = writes or method in WRITING
                # A call in another language may be more than a source.
                if not effects.exact and (writes or method == "pipe" or self._is_composed(node.func)):
                    return True
            elif isinstance(node, ast.Constant):
                places = (
                    places or STARTUP_NAME in _labels_of_text(node.value) or node.value in _PARTS_OF_STARTUP
                )
        return writes and places

    def _called(self, node: ast.Call) -> str:
        """Return the dotted name of the called function, or `.method` of an object that is not known."""
        name = self._names.called(node)
        return name or (f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else "")

    def _step(self, node: ast.AST) -> None:
        """Carry the labels of what a node gives to what gets it."""
        match node:
            case ast.Call():
                self._call(node)
            case ast.Assign():
                labels = self._labels(node.value)
                for target in node.targets:
                    self._give(target, labels, node.value)
                    if isinstance(target, ast.Attribute):
                        self._set(node, target, labels)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._give(node.target, self._labels(node.iter))
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._give(target, self._labels(value), value)
            case ast.Return(value=ast.expr() as value):
                self._add((self._names.function_of(node), ""), self._labels(value))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for name, value in defaults_of(node.args).items():
                    self._add((node, name), self._labels(value))
            case (
                ast.AnnAssign(value=ast.expr() as value)
                | ast.AugAssign(value=value)
                | ast.NamedExpr(value=value)
            ):
                self._give(node.target, self._labels(value), value)

    def _add(self, key: Key, labels: Labels) -> None:
        known = self._held.get(key, _NOTHING)
        if not labels <= known:
            self._held[key] = known | labels
            self._changed = True

    def _give(self, target: ast.expr, labels: Labels, value: ast.expr | None = None) -> None:
        """Add labels to what is assigned to; a variable of a file that is opened for writing leads to its path."""
        opened = self._path_of(value) if value is not None and isinstance(target, ast.Name) else None
        if opened is not None:
            self._opened[self._key(target)] = opened
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._give(part, labels)
            return
        while isinstance(target, ast.Subscript | ast.Starred) or (
            isinstance(target, ast.Attribute) and not self._effects.exact
        ):
            target = target.value
        if labels and isinstance(target, ast.Name | ast.Attribute):
            self._add(self._key(target), labels)

    def _key(self, node: ast.expr) -> Key:
        """Return the key of a variable or an attribute; one of an object's own is that of its class."""
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            around = self._names.class_of(node) if owner in ("self", "cls") else None
            return (
                (around, node.attr)
                if around is not None
                else (self._key(node.value)[0], f"{owner}.{node.attr}")
            )
        name = node.id if isinstance(node, ast.Name) else ""
        found = self._scopes.find(name, self._scopes.scope_of(node))
        return (self._scopes.module.node if found is None else found[0].node, name)

    # Calls

    def _call(self, node: ast.Call) -> None:
        name, effects = self._called(node), self._effects
        holder = node.func.value if isinstance(node.func, ast.Attribute) else None
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        base = _NOTHING if holder is None else self._labels(holder)
        given = self._arguments(node)
        if holder is not None and method in _COLLECTING and CONNECTION not in base:
            self._give(holder, given - {STARTUP_NAME} if method in WRITING else given)
        if method in WRITING:  # the text that is written may name any place
            self._arrive(node, name, "write", base | (given - {STARTUP_NAME}))
        if method == "save" and node.args:
            self._give(node.args[0], base & {WATCHED})
        if holder is not None and effects.has("fills", name):
            self._give(holder, self._content(given, node))
        sinks = effects.sinks(name)
        for what in sinks:
            self._arrive(node, name, what, self._sent(node, what))
        if not sinks and method in _STREAMING and CONNECTION in base:
            self._arrive(node, name, "send", given - {PART})  # how a protocol's client says who its user is
        if method == "pipe" and base | given >= _ENDS:
            self._arrive(node, name, "joins", base | given)
        self._writes(node, name, holder, base | given)
        self._destroys(node, name)
        self._calls_back(node, name, base, given)
        known = self._names.definition(name)
        if isinstance(known, FUNCTIONS):
            for parameter, argument in written_arguments(known, node):
                self._add((known, parameter), self._labels(argument))

    def _arguments(self, node: ast.Call, depth: int = 0) -> Labels:
        labels: Labels = _NOTHING
        for argument in node.args:
            labels |= self._labels(argument, depth)
        for keyword in node.keywords:
            found = self._labels(keyword.value, depth)
            labels |= found - {ENVIRONMENT} if keyword.arg in _FOR_PROCESSES else found
        return labels

    def _calls_back(self, node: ast.Call, name: str, base: Labels, given: Labels) -> None:
        """Give what a call gets to the parameters of the functions that it is given."""
        labels = base - _ENDS
        if self._effects.has("fetched", name) or CONNECTION in base:
            labels |= {FETCHED}
        if self._effects.has("reads", name):
            labels |= {SECRET if SECRET_NAME in given else FILE}
        for item in node.args if labels else ():
            known = self._names.definition(self._names.resolve(item))
            for argument in known.args.args if isinstance(known, FUNCTIONS) else ():
                self._add((known, argument.arg), labels)

    def _place(self, use: str, node: ast.Call, name: str) -> ast.expr | None:
        """Return the path that a call is about, if it has some use: an argument by its number, or its object."""
        number = self._effects.of(use, name)
        if number == "":
            return node.func.value if isinstance(node.func, ast.Attribute) else None
        return None if number is None else next(iter(node.args[int(number) :]), None)

    def _writes(self, node: ast.Call, name: str, holder: ast.expr | None, labels: Labels) -> None:
        """Note a file that is written to where it is run later, and the files that get data from elsewhere."""
        stored = [self._place(use, node, name) for use in ("store", "copies", "retrieves")]
        opened = self._path_of(node) if self._effects.has("open", name) else None
        for place in (opened, *stored):
            if place is not None and (
                STARTUP_NAME in self._labels(place) or _PLACES["startup"].search(self.written_parts(place))
            ):
                self._arrive(node, name, "write", frozenset({STARTUP_NAME}))
        dropped: list[ast.expr | None] = [stored[-1]]
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method == "extractall" and (labels & {*_FOREIGN, DROPPED} or self._is_dropped(node)):
            dropped += [*node.args[:1], *(keyword.value for keyword in node.keywords)]
        elif labels & _FOREIGN:
            files = [item for item in (holder, *node.args) if item is not None]
            paths = [self._path_behind(item) for item in files]
            dropped += [path for path, item in zip(paths, files, strict=True) if path is not item]
            dropped += [*stored, paths[0] if holder is not None and method in WRITING else None]
        for place in dropped:
            if place is not None:
                self._drop(place)

    def _destroys(self, node: ast.Call, name: str) -> None:
        """Note a call that deletes everything below the home folder, or the root."""
        place = self._place("destroys", node, name)
        if place is not None and (f"{HOST}home" in self._labels(place) or self._names.text(place) in _WHOLE):
            self._arrive(node, name, "destroy", frozenset({FILE}))

    def _set(self, node: ast.Assign, target: ast.Attribute, labels: Labels) -> None:
        """Handle an assignment that sends what it assigns, or joins a process with a connection."""
        name = self._names.resolve(target)
        if self._effects.has("sends", name):
            self._arrive(node, name, "send", labels)
        if CONNECTION in labels and PROCESS in self._labels(target.value):
            self._arrive(node, name, "joins", labels)

    # Files

    def _path_of(self, node: ast.expr | None) -> ast.expr | None:
        """Return the path of a file that an expression opens for writing."""
        while isinstance(node, ast.Call | ast.Await):
            if isinstance(node, ast.Call) and self._effects.has("open", name := self._names.called(node)):
                writes = not self._effects.exact or self._is_for_writing(node)
                return self._place("open", node, name) if writes else None
            inner = node.func if isinstance(node, ast.Call) else node
            node = inner.value if isinstance(inner, ast.Attribute | ast.Await) else None
        return None

    def _is_for_writing(self, node: ast.Call) -> bool:
        modes = [*node.args[1:2], *(item.value for item in node.keywords if item.arg == "mode")]
        return bool(modes) and bool(set("wax+") & set(self._names.text(modes[0]) or ""))

    def _path_behind(self, node: ast.expr) -> ast.expr:
        """Return the path of the file that is written to, or the node itself."""
        opened = self._path_of(node)
        if opened is None and isinstance(node, ast.Name):
            opened = self._opened.get(self._key(node))
        return node if opened is None else opened

    def _drop(self, place: ast.expr) -> None:
        text = self._names.text(place)
        if text is not None and len(text) >= _SHORTEST_PLACE and text not in self._dropped:
            self._dropped.add(text)
            self._changed = True
        if isinstance(place, ast.Name | ast.Attribute):
            self._give(place, frozenset({DROPPED}))

    def _is_dropped(self, node: ast.expr) -> bool:
        """Return whether an expression contains the name of a file that was written with foreign data."""
        if not self._dropped:
            return False
        texts = [self._names.text(item) for item in walk(node) if isinstance(item, ast.expr)]
        return any(place in text for text in texts if text for place in self._dropped)

    def _content(self, place: Labels, node: ast.Call) -> Labels:
        """Return the labels of what a file contains, by those of its place: not its name, but where that is from."""
        content = place & {FETCHED, STARTUP_NAME}
        if DROPPED in place or self._is_dropped(node):
            content |= {FETCHED}
        return content | {SECRET if SECRET_NAME in place else PART if TOKEN_NAME in place else FILE}

    def written_parts(self, place: ast.expr, between: str = "/", depth: int = 0) -> str:
        """Return the literal parts of a path or a command, joined."""
        text = self._names.text(place)
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

    # Arrivals

    def _sent(self, node: ast.Call, what: str) -> Labels:
        """Return the labels that reach a sink, without a single environment variable as credential or address."""
        labels = frozenset({DROPPED} if what in ("command", "load") and self._is_dropped(node) else ())
        given = [("", item) for item in node.args]
        for name, value in (*given, *((item.arg, item.value) for item in node.keywords)):
            found = self._labels(value)
            if name in _FOR_PROCESSES:
                found -= {ENVIRONMENT}
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
        """Return whether a looked-up name ends with a literal domain, or is the variable of such an expression.

        A parameter may have any domain.
        """
        values = [node.args[0], *self._names.values_of(node.args[0])] if node.args else []
        if any(
            isinstance(item, ast.Name) and self._is_parameter(item)
            for value in values
            for item in walk(value)
        ):
            return True
        texts = [item.value for value in values for item in walk(value) if isinstance(item, ast.Constant)]
        return any(
            isinstance(text, str) and "." in text and len(text) > 3 and not _LOCAL_NAME.search(text)
            for text in texts
        )

    def _is_parameter(self, node: ast.Name) -> bool:
        scopes = self._names.scopes
        found = scopes.find(node.id, scopes.scope_of(node))
        return found is not None and any(item.kind is BindingKind.PARAMETER for item in found[1])

    def _arrive(self, node: ast.AST, name: str, what: str, labels: Labels) -> None:
        text, hidden = "", False
        if isinstance(node, ast.Call) and what in ("code", "command"):
            parts = [self.written_parts(item, " ") for item in node.args] if what == "command" else []
            text = " ".join(filter(None, parts))
            hidden = not self._effects.exact and self._is_composed(node.func)
        if labels or text or hidden:
            known = self._arrivals.get((node, what))
            labels |= _NOTHING if known is None else known.labels
            self._arrivals[node, what] = Arrival(node, name, what, labels, text, hidden)

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

    # Expressions

    def _labels(self, node: ast.AST, depth: int = 0) -> Labels:
        known = self._memo.get(node)
        if known is None:
            if depth > DEEPEST:
                self._names.unread.note(_TOO_DEEP, getattr(node, "lineno", 0))
                return _NOTHING
            known = self._memo[node] = self._evaluated(node, depth + 1)
        return known

    def _evaluated(self, node: ast.AST, depth: int) -> Labels:
        match node:
            case ast.Constant(value=value):
                return _labels_of_text(value)
            case ast.Call():
                return self._result(node, depth)
            case ast.Name() | ast.Attribute():
                return self._named(node, depth)
            case ast.Subscript():
                if self._is_environment(node.value):
                    return self._variable(node.slice, depth)
                return _part(self._labels(node.value, depth), node.slice)
            case ast.Compare() | ast.Lambda():
                return _NOTHING
        parts = chained(node) if isinstance(node, ast.BinOp) else children(node)
        return self._below(_NOTHING.union(*(self._labels(part, depth) for part in parts)), parts)

    def _named(self, node: ast.Name | ast.Attribute, depth: int) -> Labels:
        name, effects = self._names.resolve(node), self._effects
        labels = self._held.get(self._key(node), _NOTHING)
        if isinstance(node, ast.Attribute):
            if self._is_environment(node.value) and not effects.exact:
                return _labels_of_variable(node.attr)
            labels |= self._labels(node.value, depth)
        # What a name means by itself: PHP's arrays of what was requested, `document.cookie`.
        if not effects.exact:
            host, constant = effects.of("host", name), effects.of("constants", name)
            own = {f"{HOST}{host}" if host else "", constant or ""} - {""}
            labels |= own | ({FETCHED} if name.startswith("_") and effects.has("fetched", name) else set())
        return labels or (frozenset({ENVIRONMENT}) if self._is_environment(node) else _NOTHING)

    def _is_environment(self, node: ast.expr) -> bool:
        named = isinstance(node, ast.Attribute | ast.Name)
        return named and self._effects.has("environment", self._names.resolve(node))

    def _variable(self, key: ast.expr, depth: int) -> Labels:
        """Return the labels of one variable, or of all if its name comes from the environment itself."""
        if ENVIRONMENT in self._labels(key, depth):
            return frozenset({ENVIRONMENT})
        return _labels_of_variable(self._names.text(key) or "")

    def _below(self, labels: Labels, parts: Iterable[ast.AST]) -> Labels:
        """Return the labels of a path that is put together: a fixed part leads to a folder below the home folder."""
        home = f"{HOST}home"
        fixed = home in labels and any(isinstance(part, ast.expr) and self._is_step(part) for part in parts)
        return labels - {home} if fixed else labels

    def _is_step(self, node: ast.expr) -> bool:
        """Return whether a part of a path is fixed, and leads to another folder."""
        return any(map(str.isalnum, self._names.text(node) or ""))

    def _result(self, node: ast.Call, depth: int) -> Labels:
        name, effects = self._called(node), self._effects
        first = node.args[0] if node.args else None
        host = effects.of("host", name.removesuffix("()"))
        if name in HARMLESS:
            return _NOTHING
        if effects.has("environment", name) or (first is None and effects.has("environment", f"{name}()")):
            return frozenset({ENVIRONMENT})
        if effects.has("variable", name):
            return frozenset({VARIABLE}) if first is None else self._variable(first, depth)
        if host and not (first is not None and self._is_step(first)):
            return frozenset({f"{HOST}{host}"})
        sources = [label for use, label in _SOURCES if effects.has(use, name)]
        if sources:
            return frozenset(sources)
        given = self._arguments(node, depth)
        if effects.has("fetched", name):
            place = self._names.text(first)
            address = {f"{HOST}address"} if place and _PLACES["lookup"].search(place) else set()
            streams = {CONNECTION} if effects.has("connects", name) or CONNECTION in given else set()
            return frozenset({FETCHED, *address, *streams})
        ways = effects.of("decodes", name)
        if ways is not None:
            other = ways and (len(node.args) < 2 or self._names.text(node.args[1]) not in ways.split(","))
            value = self._names.constant(first)
            written = isinstance(value, str | bytes) and len(value) >= 8
            return given if other or first is None else given | {BLOB if written else DECODED}
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        base = self._labels(node.func.value, depth) if isinstance(node.func, ast.Attribute) else _NOTHING
        if effects.has("reads", name) or (effects.exact and method in _READING_METHODS):
            return self._content(given | base, node)
        if effects.has("encodes", name) and (given | base) & _OF_MACHINE:
            return given | base | {SPELLED}
        known = self._names.definition(name)
        if isinstance(known, FUNCTIONS):
            labels = base | self._held.get((known, ""), _NOTHING)
            return labels | {BLOB} if {ENCODED, DECODED} <= labels else labels
        labels = self._below(given | base, node.args)
        if method == "get" and first is not None:
            labels = _part(labels, first)
        return labels | {label for use, label in _STREAMS if effects.has(use, name)}


def _labels_of_variable(name: str) -> Labels:
    """Return the labels of an environment variable, by its name."""
    labels = {VARIABLE}
    if name in _HOST_VARIABLES:
        labels.add(f"{HOST}{_HOST_VARIABLES[name]}")
    credential = _CREDENTIAL.match(name)
    if credential:
        labels.add(f"{CREDENTIAL}{credential[1].lower()}")
    return frozenset(labels)


def _labels_of_text(value: object) -> Labels:
    """Return the labels of a constant: places that it names, and encoded data, by its first characters."""
    found = _NOTHING
    if isinstance(value, str) and len(value) <= _LONGEST_PLACE:
        found = frozenset(label for name, label in _NAMED.items() if _PLACES[name].search(value))
    begin = value[:200] if isinstance(value, str | bytes) else ""
    begin = begin.decode("latin-1") if isinstance(begin, bytes) else begin
    return found | {ENCODED} if _ENCODED.match(begin) and not begin.isalpha() else found


def _part(labels: Labels, key: ast.expr) -> Labels:
    """Return the labels of an entry of what has some labels."""
    named = SECRET in labels and isinstance(key, ast.Constant) and isinstance(key.value, str | int)
    return labels - {SECRET} | {PART} if named else labels


def _line(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
