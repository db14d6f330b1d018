"""Threats that show without data flow: forms of calls, assignments and definitions, and orders of statements that no
row of a rule describes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import TrustedFunction, TrustedFunctions
from codeguard.analysis.python.imports import missing_in
from codeguard.analysis.rules.base import Match
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import RUNNING_CODE, RUNNING_COMMANDS, SENDING
from codeguard.models import Chunk, ChunkKind, Severity
from codeguard.syntax import capabilities as effects
from codeguard.syntax.capabilities import effect_of_name

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


def threats(reading: Reading) -> Iterator[Match]:
    """Yield threats that the syntax shows."""
    at_import = False  # one place is enough to see that the file is a script
    for call in reading.nodes_of(ast.Call):
        for found in _call(reading, call):
            if found.rule == "import-effect":
                found = replace(found, severity=Severity.LOW if at_import or _is_script(reading) else None)
                at_import = True
            yield found
    for assignment in reading.nodes_of(ast.Assign):
        yield from _assigned(reading, assignment)
    for definition in reading.nodes_of(ast.ClassDef):
        yield from _install_hook(reading, definition)


def _call(reading: Reading, node: ast.Call) -> Iterator[Match]:
    name = reading.names.called(node)
    if not name or name.startswith(":"):
        return
    if name == "setattr" and len(node.args) == 3:
        target = f"{reading.names.resolve(node.args[0])}.{reading.names.text(node.args[1])}"
        yield from _patched(reading, node, target, node.args[2])
    yield from _at_import(reading, node, name)


def _at_import(reading: Reading, node: ast.Call, name: str) -> Iterator[Match]:
    if name not in SENDING and name not in RUNNING_COMMANDS:
        return
    if _runs_at_import(reading, node):
        kind = "network" if name in SENDING else "process"
        reason = f"{name} runs as soon as the file is imported ({kind})"
        yield Match("import-effect", *reading.place(node), reason)


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
                reason = f"puts something else in place of {module}"
                # A missing module may be replaced, for example under its Python 2 name.
                severity = Severity.LOW if module == missing_in(reading, node) else None
                yield Match("tampered-verification", *reading.place(node), reason, severity)


def _patched(reading: Reading, node: ast.AST, target: str, value: ast.expr) -> Iterator[Match]:
    if target in _ALWAYS_WRONG and target not in reading.names.names_of(value):
        reason = f"replaces {target} for the whole process"
        yield Match("tampered-verification", *reading.place(node), reason)


def _install_hook(reading: Reading, node: ast.ClassDef) -> Iterator[Match]:
    if not any(_HOOKS.match(f"{base}.") or _HOOKS.match(base) for base in reading.names.bases(node)):
        return
    for call in _calls(node):
        name = reading.names.called(call)
        kind = effect_of_name(name)
        if kind in (effects.NETWORK, effects.PROCESS) or name in RUNNING_CODE - {"compile"}:
            severity = Severity.MEDIUM if kind == effects.PROCESS else None
            reason = f"{name} while a package is installed"
            yield Match("install-hook", *reading.place(call), reason, severity)
            return


_REMOVING = frozenset({"os.remove", "os.unlink", "os.rename", "os.replace", "shutil.rmtree"})
_CLOCKS = frozenset(
    """
    datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow datetime.date.today time.time time.localtime
    time.gmtime
    """.split()  # noqa: SIM905 - words read better as words
)
_HOST_READERS = frozenset(
    {"socket.gethostname", "platform.node", "getpass.getuser", "os.getlogin", "uuid.getnode"}
)
_DATES = frozenset(
    {
        "datetime.datetime",
        "datetime.date",
        "datetime.datetime.fromisoformat",
        "datetime.date.fromisoformat",
        "datetime.datetime.strptime",
        "time.mktime",
    }
)
_SERIOUS = RUNNING_COMMANDS | RUNNING_CODE | SENDING | {"shutil.rmtree", "os.remove", "os.unlink", "os.kill"}


def time_bombs(reading: Reading) -> Iterator[Match]:
    """Yield what waits for a date, a machine or a user."""
    waited_for = _CLOCKS | _HOST_READERS
    if not any(
        reading.names.called(call).removesuffix("()") in waited_for for call in reading.nodes_of(ast.Call)
    ):
        return
    for node in reading.nodes_of(ast.If):
        trigger = _trigger(reading, node.test)
        if not trigger:
            continue
        called = (reading.names.called(call) for statement in node.body for call in _calls(statement))
        serious = next((name for name in called if name in _SERIOUS), "")
        if serious:
            yield Match("time-bomb", *reading.place(node.test), f"{serious} waits for {trigger}")


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (item for item in walk(node) if isinstance(item, ast.Call))


def _trigger(reading: Reading, test: ast.expr) -> str:
    """Return the condition that a test waits for: a literal date, or the name of a machine or user."""
    for compare in (item for item in walk(test) if isinstance(item, ast.Compare)):
        sides = [compare.left, *compare.comparators]
        clock = [_reads(reading, side, _CLOCKS) for side in sides]
        dated = [_is_date(reading, side) for side in sides]
        if any(clock) and any(was and not now for was, now in zip(dated, clock, strict=True)):
            return "a date"
        if not isinstance(compare.ops[0], ast.Eq | ast.In):
            continue
        host = [_reads(reading, side, _HOST_READERS) for side in sides]
        if any(host) and any(isinstance(reading.names.constant(side), str | tuple) for side in sides):
            return "the name of a machine or user"
    for call in _calls(test):
        begins = isinstance(call.func, ast.Attribute) and call.func.attr in ("startswith", "endswith")
        if begins and _reads(reading, call.func, _HOST_READERS):
            return "the name of a machine or user"
    return ""


def _reads(reading: Reading, node: ast.expr, names: frozenset[str], depth: int = 0) -> bool:
    """Return whether an expression, or the only value of a variable in it, calls one of these functions."""
    for item in walk(node):
        if isinstance(item, ast.Call) and reading.names.called(item).removesuffix("()") in names:
            return True
        if isinstance(item, ast.Name) and depth < 2:
            values = reading.names.values_of(item)
            if len(values) == 1 and values[0] is not node and _reads(reading, values[0], names, depth + 1):
                return True
    return False


def _is_date(reading: Reading, node: ast.expr, depth: int = 0) -> bool:
    """Return whether an expression is a literal date, or a literal number of seconds since 1970."""
    value = reading.names.constant(node)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 1_000_000_000:
        return True
    if isinstance(node, ast.Call) and reading.names.called(node) in _DATES and node.args:
        return all(reading.names.constant(argument) is not None for argument in node.args)
    if isinstance(node, ast.Name) and depth < 2:
        values = reading.names.values_of(node)
        return len(values) == 1 and _is_date(reading, values[0], depth + 1)
    return False


def encrypting(reading: Reading) -> Iterator[Match]:
    """Yield loops over a folder that write encrypted files and remove the originals."""
    for node in reading.nodes_of(ast.For):
        walked = reading.names.called(node.iter) if isinstance(node.iter, ast.Call) else ""
        if walked not in ("os.walk", "glob.glob", "glob.iglob") and not walked.endswith(".rglob"):
            continue
        calls = list(_calls(node))
        methods = {item.func.attr for item in calls if isinstance(item.func, ast.Attribute)}
        removes = any(reading.names.called(item) in _REMOVING for item in calls) or "unlink" in methods
        if "encrypt" in methods and removes and methods & {"write", "write_bytes"}:
            reason = "writes files of a folder encrypted and removes them"
            yield Match("destroys", *reading.place(node.iter), reason)


_HARMLESS = frozenset({effects.HOST, effects.FRAMES})


def _able(reading: Reading) -> dict[ast.AST | None, dict[str, str]]:
    """Return the capabilities of the file's functions and of its module level (None), with the names that show them."""
    found: dict[ast.AST | None, dict[str, str]] = {}
    for node in reading.nodes:
        of = type(node)
        if of is ast.Call:
            name = reading.names.called(node)  # type: ignore[arg-type]
        elif of is ast.Attribute and node.attr == "environ":  # type: ignore[attr-defined]
            name = reading.names.resolve(node)  # type: ignore[arg-type]
        else:
            continue
        kind = effect_of_name(name) if name and name[0] != ":" else ""
        if kind:
            found.setdefault(reading.names.function_of(node), {}).setdefault(kind, name)
    return found


def beyond_counterparts(reading: Reading, trusted: TrustedFunctions) -> Iterator[Match]:
    """Yield the capabilities that a function has and no trusted function of its name and class has."""
    chunks = {
        chunk.symbol: chunk
        for chunk in reading.file.chunks
        if chunk.kind in (ChunkKind.FUNCTION, ChunkKind.METHOD)
    }
    for owner, kinds in _able(reading).items():
        risky = {kind: name for kind, name in kinds.items() if kind not in _HARMLESS}
        chunk = None if owner is None else chunks.get(reading.names.symbol(owner))
        counterparts = _counterparts(chunk, trusted) if risky and chunk is not None else []
        if not counterparts or owner is None:
            continue
        allowed = frozenset[str]().union(*map(_kinds_of, counterparts))
        extra = [f"{kind} ({name})" for kind, name in sorted(risky.items()) if kind not in allowed]
        if extra:
            twin = counterparts[0]
            reason = f"reaches {', '.join(extra)}; its trusted twin {twin.symbol} ({twin.origin}) does not"
            start, end = reading.place(owner)
            line_end = reading.text.find("\n", start)
            shown = end if line_end < 0 else min(end, line_end)
            yield Match("beyond-twin", start, shown, reason, Severity.MEDIUM)


def _counterparts(chunk: Chunk, trusted: TrustedFunctions) -> list[TrustedFunction]:
    """Return the trusted functions that a reader would take for this one, by name and parameters or code."""
    wanted = _parameters(chunk.text)
    return [
        counterpart.function
        for counterpart in trusted.counterparts(chunk)
        if counterpart.named
        and (counterpart.likeness >= 0.3 or (wanted and wanted == _parameters(counterpart.function.text)))
    ]


def _parameters(text: str) -> int:
    header = text[text.find("(") + 1 :].partition(")")[0]
    return header.count(",") + 1 if header.strip() else 0


def _kinds_of(function: TrustedFunction) -> frozenset[str]:
    return _kinds(function.text, function.imports) if function.language == "python" else frozenset()


@lru_cache(maxsize=4_096)
def _kinds(text: str, imports: tuple[str, ...]) -> frozenset[str]:
    source = "\n".join((*imports, *(("if True:",) if text[:1].isspace() else ()), text))
    reading = Reading(chunk_file("twin.py", source.encode("utf-8", "surrogatepass")))
    return frozenset(kind for kinds in _able(reading).values() for kind in kinds)
