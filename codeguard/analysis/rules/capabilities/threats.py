"""Threats that show without data flow: forms of calls, assignments and definitions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from codeguard.analysis import Reading
from codeguard.analysis.python.imports import missing_in
from codeguard.analysis.rules.base import Match
from codeguard.analysis.rules.capabilities.shells import shell_threats
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import RUNNING_CODE, RUNNING_COMMANDS, SENDING
from codeguard.models import Severity
from codeguard.syntax.capabilities import NETWORK, PROCESS, STARTUP_PLACE, effect_of_name

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_GUARDED_MODULES = frozenset(
    {"ssl", "hmac", "hashlib", "secrets", "certifi", "jwt", "builtins", "bcrypt", "requests", "urllib3"}
)
_ALWAYS_WRONG = frozenset(
    """
    ssl._create_default_https_context ssl.create_default_context ssl.match_hostname hmac.compare_digest
    secrets.compare_digest secrets.token_bytes secrets.token_hex jwt.decode builtins.open builtins.exec builtins.eval
    builtins.__import__ builtins.input getpass.getpass requests.get requests.post requests.Session.request
    requests.Session.send requests.api.request hashlib.sha256 hashlib.new bcrypt.checkpw os.urandom random.SystemRandom
    """.split()  # noqa: SIM905 - words read better as words
)
_HOOKS = lazy(r"setuptools\.command\.(?:install|develop|egg_info|build_py)\.|distutils\.command\.install\.")
_COPYING = frozenset(
    {"shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move", "os.rename", "os.symlink"}
)
_DEEPEST_PATH = 4  # depth of aliases


def threats(reading: Reading) -> Iterator[Match]:
    """Yield threats that the syntax shows."""
    sockets: dict[ast.AST | None, set[str]] = {}
    at_import = None  # one place is enough to see that the file is a script
    for node in reading.nodes:
        kind = type(node)
        if kind is ast.Call:
            for found in _call(reading, node, sockets):  # type: ignore[arg-type]
                if found.rule == "import-effect":
                    severity = Severity.LOW if at_import or _is_script(reading) else None
                    at_import = found = replace(found, severity=severity)
                yield found
        elif kind is ast.Assign:
            yield from _assigned(reading, node)  # type: ignore[arg-type]
        elif kind is ast.ClassDef:
            yield from _install_hook(reading, node)  # type: ignore[arg-type]


def _call(reading: Reading, node: ast.Call, sockets: dict[ast.AST | None, set[str]]) -> Iterator[Match]:
    name = reading.names.called(node)
    if not name or name.startswith(":"):
        return
    start, end = reading.place(node)
    if name in RUNNING_COMMANDS:
        for rule, what in shell_threats(_words(reading, node)):
            yield Match(rule, start, end, f"runs a command that {what}")
    if name in _COPYING and len(node.args) > 1 and STARTUP_PLACE.search(_path(reading, node.args[1])):
        yield Match("persistence", start, end, "copies a file to where it is run at the next start or login")
    if name == "setattr" and len(node.args) == 3:
        target = f"{reading.names.resolve(node.args[0])}.{reading.names.text(node.args[1])}"
        yield from _patched(reading, node, target, node.args[2])
    yield from _reverse_shell(reading, node, name, sockets)
    yield from _at_import(reading, node, name)


def _path(reading: Reading, node: ast.expr, depth: int = 0) -> str:
    """Return the literal parts of a path, joined."""
    text = reading.names.text(node)
    if text is not None or depth > _DEEPEST_PATH:
        return text or ""
    parts = []
    for item in walk(node):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            parts.append(item.value)
        elif isinstance(item, ast.Name):
            values = reading.names.values_of(item)
            if len(values) == 1 and values[0] is not item:
                parts.append(_path(reading, values[0], depth + 1))
    return "/".join(filter(None, parts))


def _words(reading: Reading, node: ast.Call) -> str:
    if not node.args:
        return ""
    first = node.args[0]
    if isinstance(first, ast.List | ast.Tuple):
        parts = [reading.names.text(item) for item in first.elts]
        return " ".join(part if part is not None else "…" for part in parts)
    found = reading.names.text(first)
    if found is None and isinstance(first, ast.JoinedStr):
        return " ".join(str(part.value) for part in first.values if isinstance(part, ast.Constant))
    return found or ""


def _reverse_shell(
    reading: Reading, node: ast.Call, name: str, sockets: dict[ast.AST | None, set[str]]
) -> Iterator[Match]:
    """Yield a call that connects a socket with a shell in one function."""
    function = reading.names.function_of(node)
    parts = sockets.setdefault(function, set())
    if name.startswith("socket.") and name.endswith(("connect", "create_connection")):
        parts.add("connects")
    joins = name == "os.dup2" or (
        name.startswith("subprocess.")
        and any(
            keyword.arg in ("stdin", "stdout") and reading.names.resolve(keyword.value).startswith("socket.")
            for keyword in node.keywords
        )
    )
    if joins:
        parts.add("joins")
    if name in ("pty.spawn", *RUNNING_COMMANDS):
        parts.add("runs")
    if parts >= {"connects", "joins", "runs"}:
        parts.clear()
        start, end = reading.place(node)
        yield Match("reverse-shell", start, end, f"{name} with the streams of a connection")


def _at_import(reading: Reading, node: ast.Call, name: str) -> Iterator[Match]:
    """Yield calls that use the network or start processes when the module is imported."""
    if name not in SENDING and name not in RUNNING_COMMANDS:
        return
    if _runs_at_import(reading, node):
        kind = "network" if name in SENDING else "process"
        start, end = reading.place(node)
        yield Match("import-effect", start, end, f"{name} runs as soon as the file is imported ({kind})")


_OF_SCRIPTS = frozenset({"input", "sys.exit", "argparse.ArgumentParser.parse_args", "getpass.getpass"})


def _is_script(reading: Reading) -> bool:
    """Return whether a file asks, reads arguments or ends the process outside of functions: nobody imports it."""
    return any(
        reading.names.called(node) in _OF_SCRIPTS and _runs_at_import(reading, node)
        for node in reading.nodes_of(ast.Call)
    )


def _runs_at_import(reading: Reading, node: ast.AST) -> bool:
    """Return whether a node runs on import, outside of functions and of the main guard."""
    child, at = node, reading.parents.get(node)
    while at is not None:
        if isinstance(at, ast.Lambda) and child is at.body:
            return False
        if isinstance(at, _FUNCTIONS) and any(child is item for item in at.body):
            return False
        if isinstance(at, ast.If) and any(child is item for item in at.body) and _is_main_test(at.test):
            return False
        child, at = at, reading.parents.get(at)
    return True


def _is_main_test(test: ast.expr) -> bool:
    """Return whether a test is `__name__ == "__main__"` and nothing else, which is false when a file is imported."""
    match test:
        case ast.Compare(
            left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
        ):
            return True
    return False


def _assigned(reading: Reading, node: ast.Assign) -> Iterator[Match]:
    for target in node.targets:
        if isinstance(target, ast.Attribute) and not (
            isinstance(target.value, ast.Name) and target.value.id in ("self", "cls")
        ):
            yield from _patched(reading, node, reading.names.resolve(target), node.value)
        elif isinstance(target, ast.Subscript) and reading.names.resolve(target.value) == "sys.modules":
            module = reading.names.text(target.slice) or ""
            if isinstance(node.value, ast.Constant) and node.value.value is None:
                continue  # makes `import` of it fail; it is not replaced
            if module.partition(".")[0] in _GUARDED_MODULES:
                start, end = reading.place(node)
                reason = f"puts something else in place of {module}"
                # A missing module may be replaced, for example under its Python 2 name.
                severity = Severity.LOW if module == missing_in(reading, node) else None
                yield Match("tampered-verification", start, end, reason, severity)


def _patched(reading: Reading, node: ast.AST, target: str, value: ast.expr) -> Iterator[Match]:
    if target not in _ALWAYS_WRONG:
        return
    if target in reading.names.names_of(value):
        return
    start, end = reading.place(node)
    yield Match("tampered-verification", start, end, f"replaces {target} for the whole process")


def _install_hook(reading: Reading, node: ast.ClassDef) -> Iterator[Match]:
    if not any(_HOOKS.match(f"{base}.") or _HOOKS.match(base) for base in reading.names.bases(node)):
        return
    for call in (item for item in walk(node) if isinstance(item, ast.Call)):
        name = reading.names.called(call)
        kind = effect_of_name(name)
        if kind in (NETWORK, PROCESS) or name in RUNNING_CODE - {"compile"}:
            start, end = reading.place(call)
            severity = Severity.MEDIUM if kind == PROCESS else None
            yield Match("install-hook", start, end, f"{name} while a package is installed", severity)
            return
