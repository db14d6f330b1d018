"""Downloaded code that is run without an integrity check."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.python.dataflow.tables import CLEANERS
from codeguard.analysis.python.dataflow.values import TEXT_USES
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk

_RULES = rules_of(__file__)

_RUNS = word_set("eval exec os.system os.popen subprocess.run subprocess.call subprocess.check_call "
              "subprocess.check_output "
              "subprocess.Popen compile os.execv os.startfile runpy.run_path "
              "importlib.util.spec_from_file_location")  # fmt: skip
_DOWNLOADS = word_set(
    "urllib.request.urlretrieve urllib.request.urlopen requests.get requests.Session.get httpx.get wget.download"
)
_CHECKS = lazy(r"hash|digest|sha\d|verif|signature|checksum|gpg|compare_digest")
_PIPED = lazy(
    r"(?:curl|wget)\b[^|;&\n]{0,300}\|\s{0,5}(?:sudo\s{1,5})?(?:ba|z|da)?sh\b|(?:curl|wget)\b[^|;&\n]{0,300}\|\s{0,5}python"
    r"(?![\d.]{0,5}\s{1,4}-m\s{1,4}json\.tool\b)"  # which prints what it is given
)
_INSTALLS = lazy(
    r"^(?:flash|write_?firmware|flash_\w+|apply_(?:update|firmware|patch)|install_(?:plugin|update|package|firmware)|upgrade)$"
)
_INDEX = lazy(r"--index-url[= ]http://|--extra-index-url|--trusted-host|-i http://")


def _downloaded(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find functions, or module-level code, that download and run something without a check in between."""
    if not view.modules & {"urllib", "requests", "httpx", "wget"}:
        return
    body = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    calls = [part for statement in body for part in walk(statement) if isinstance(part, ast.Call)]
    named = [(part, view.names.called(part)) for part in calls]
    fetched = [part for part, called in named if called in _DOWNLOADS]
    if not fetched:
        return
    if any(_CHECKS.search(called.lower()) for _, called in named):
        return
    kept = _holders(view, fetched)
    for part, called in named:
        if called in _RUNS and part.lineno >= fetched[0].lineno and _uses(part, kept):
            yield NodeMatch(part, f"{called} runs what was downloaded, whatever it is")
            return
    for part, _ in named:
        if (
            _INSTALLS.search(getattr(part.func, "attr", ""))
            and part.lineno > fetched[0].lineno
            and _uses(part, kept)
        ):
            yield NodeMatch(part, "what was downloaded is installed, whatever it is")
            return
    replaces = [
        part
        for part, called in named
        if called in ("os.replace", "os.rename", "shutil.move", "shutil.copyfile")
    ]
    itself = any(
        isinstance(part, ast.Attribute) and view.names.resolve(part) in ("sys.argv", "sys.executable")
        for statement in body
        for part in walk(statement)
    )
    runnable = any(called in ("os.chmod", "pathlib.Path.chmod") for _, called in named)
    if replaces and itself and runnable:
        yield NodeMatch(replaces[0], "the program is replaced by what was downloaded, whatever it is")


def _holders(view: View, fetched: list[ast.Call]) -> set[str]:
    """Return the names that hold downloaded data, and the paths it was written to."""
    names: set[str] = set()
    for call in fetched:
        names.update(
            part.id for argument in call.args[1:] for part in walk(argument) if isinstance(part, ast.Name)
        )
        names.update(
            str(part.value) for argument in call.args[1:] for part in walk(argument)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )  # fmt: skip
        statement = view.statement(call)
        if isinstance(statement, ast.Assign) and _is_converted(view, statement.value):
            continue
        if isinstance(statement, ast.Assign | ast.With):
            targets = statement.targets if isinstance(statement, ast.Assign) else [
                item.optional_vars for item in statement.items if item.optional_vars is not None]  # fmt: skip
            names.update(part.id for target in targets for part in walk(target) if isinstance(part, ast.Name))
        function = view.function_of(call)
        for part in walk(function) if function is not None else ():
            if isinstance(part, ast.Assign) and _holds(view, part.value, names):
                names.update(target.id for target in part.targets if isinstance(target, ast.Name))
            elif _writes(part):
                assert isinstance(part, ast.Call)
                assert isinstance(part.func, ast.Attribute)
                inside = [item for argument in part.args for item in walk(argument)]
                if any(
                    item in fetched or (isinstance(item, ast.Name) and item.id in names) for item in inside
                ):
                    names.update(_written(view, part.func.value))
    return names


def _holds(view: View, node: ast.expr, names: set[str]) -> bool:
    """Return whether an expression may hold the value of a name."""
    named = any(isinstance(item, ast.Name) and item.id in names for item in walk(node))
    return named and not _is_converted(view, node)


def _is_converted(view: View, node: ast.expr) -> bool:
    """Return whether an expression is a number, a version or the like."""
    return isinstance(node, ast.Call) and CLEANERS.get(view.names.called(node), frozenset()) >= TEXT_USES


def _writes(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("write", "write_bytes", "write_text")
    )


def _written(view: View, node: ast.expr) -> set[str]:
    found = {node.id} if isinstance(node, ast.Name) else set()
    for value in [node, *view.names.values_of(node)]:
        for part in walk(value):
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) > 3:
                found.add(part.value)
    return found


def _uses(call: ast.Call, kept: set[str]) -> bool:
    paths = {text.removeprefix("./") for text in kept}
    return any(
        (isinstance(part, ast.Name) and part.id in kept)
        or (
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and part.value.removeprefix("./") in paths
        )
        for argument in (*call.args, *(item.value for item in call.keywords))
        for part in walk(argument)
    )


def _piped(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _downloaded(view, node, name)
        return
    assert isinstance(node, ast.Call)
    if not node.args or not view.has("curl", "wget"):
        return
    text = _command(view, node.args[0])
    if _PIPED.search(text[:4000]):
        yield NodeMatch(node, "a script from the network is run as it comes")


def _command(view: View, node: ast.expr) -> str:
    """Return a command as text, from a literal, a list of words, or a composed text."""
    value = view.names.constant(node)
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else _parts(node)


def _parts(node: ast.expr) -> str:
    return " ".join(str(part.value) for part in walk(node) if isinstance(part, ast.Constant))


def _package_source(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if not node.args:
        return
    text = _command(view, node.args[0])
    if "pip" in text and "install" in text and _INDEX.search(text[:4000]):
        yield NodeMatch(
            node, "packages come from a server that is not verified, or from one that others may fill"
        )


CHECKS = (
    Check(
        _RULES["download-and-run"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        calls=word_set(
            "os.system os.popen subprocess.run subprocess.call subprocess.check_call subprocess.check_output "
            "subprocess.Popen"
        ),
        look=_piped,
    ),
    Check(
        _RULES["package-source"],
        calls=word_set(
            "os.system subprocess.run subprocess.call subprocess.check_call subprocess.check_output "
            "subprocess.Popen pip.main"
        ),
        look=_package_source,
    ),
)
