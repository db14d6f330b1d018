"""Permissions of files and processes that are too wide."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.words import SECRET, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, walk
from codeguard.models import Confidence, Severity
from codeguard.syntax.scopes import FunctionNode

_RULES = rules_of(__file__)


def _as_root(view: View) -> Iterator[NodeMatch]:
    """Find a server that has to be started as root, and stays root after it has its port."""
    if not view.has("geteuid", "getuid") or view.has(
        "setuid", "setresuid", "setgroups", "setreuid", "drop_priv"
    ):
        return
    asked = next(
        (
            test
            for test in view.reading.nodes_of(ast.If)
            if _OF_ROOT.search(unparse(test.test))
            and isinstance(test.body[-1], ast.Raise | ast.Expr)
            and re.search("exit|Exit|raise|error", unparse(test.body[-1]))
        ),
        None,
    )
    for call in view.reading.nodes_of(ast.Call) if asked is not None else ():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "serve_forever":
            yield NodeMatch(
                call, "every request is answered with root's rights: give them up once the port is open"
            )
            return


_OF_ROOT = lazy(r"gete?uid\(\) (?:!=|>) 0|^os\.gete?uid\(\)$")
_SYSTEM = (
    "/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/cron", "/etc/ld.so", "/etc/hosts", "/etc/profile",
    "/etc/ssh", "/etc/pam.d", "/etc/systemd", "/etc/init", "/root/.ssh", "/boot/",
)  # fmt: skip


def _wide(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    by_method = (
        isinstance(node.func, ast.Attribute) and node.func.attr == "chmod" and not name.startswith("os.")
    )
    mode = _mode(
        view,
        view.argument(
            node, "mode", 0 if (by_method and name.startswith("pathlib")) or len(node.args) == 1 else 1
        ),
    )
    if mode is None:
        return
    if mode & 0o002 and not mode & 0o1000:
        yield NodeMatch(node, f"mode {mode:o} lets everybody write")
    elif mode & 0o6000 and mode & 0o011:
        yield NodeMatch(node, f"mode {mode:o} runs with the owner's rights, no matter who starts it")
    elif mode & 0o044 and (
        _of_secret(view, _changed(node, by_method=by_method)) or _makes_key(view.function_of(node))
    ):
        yield NodeMatch(node, f"mode {mode:o} lets others read a secret")


def _makes_key(function: FunctionNode | None) -> bool:
    """Return whether a function writes a private key."""
    return function is not None and any(
        isinstance(part, ast.Attribute)
        and part.attr in ("private_bytes", "export_key", "NoEncryption", "save_pkcs1")
        for part in walk(function)
    )


def _changed(node: ast.Call, *, by_method: bool) -> ast.expr | None:
    if by_method and isinstance(node.func, ast.Attribute):
        return node.func.value
    return node.args[0] if node.args else None


def _of_secret(view: View, node: ast.expr | None) -> bool:
    """Return whether a path, or the value of its name, belongs to a key or a secret."""
    if node is None:
        return False
    text = " ".join(unparse(value)[:200] for value in (node, *view.names.values_of(node)))
    return mentions(text, SECRET) or _KEY_FILE.search(text) is not None


_KEY_FILE = lazy(r"\.(?:key|pem|p12|pfx|env|htpasswd|netrc|pgpass)\b|id_(?:rsa|ed25519|ecdsa)\b")


def _mode(view: View, node: ast.expr | None) -> int | None:
    value = view.names.constant(node)
    if isinstance(value, int):
        return value
    if node is None:
        return None
    if isinstance(node, ast.Name):
        listed = [mode for mode in _of_loop(view, node) if mode & 0o002]
        if listed:
            return listed[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        added = view.names.constant(node.right)  # os.stat(path).st_mode | 0o022
        if isinstance(added, int):
            return added
    bits = 0
    for part in walk(node):
        if isinstance(part, ast.Attribute):
            bits |= _BITS.get(part.attr, 0)
    return bits or None


def _of_loop(view: View, node: ast.Name) -> Iterator[int]:
    """Yield the numbers that a loop over a table gives to a name: `for name, mode in (("a", 0o777), …):`."""
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef):
        at = view.parent(at)
        if not isinstance(at, ast.For) or not isinstance(at.target, ast.Tuple):
            continue
        places = [
            place
            for place, part in enumerate(at.target.elts)
            if isinstance(part, ast.Name) and part.id == node.id
        ]
        for value in (at.iter, *view.names.values_of(at.iter)) if places else ():
            for row in value.elts if isinstance(value, ast.Tuple | ast.List) else ():
                given = view.names.constant(row)
                if isinstance(given, tuple) and places[0] < len(given) and type(given[places[0]]) is int:
                    yield given[places[0]]


_BITS = {
    "S_IRWXO": 0o007, "S_IWOTH": 0o002, "S_IROTH": 0o004, "S_IXOTH": 0o001, "S_IRWXG": 0o070, "S_IWGRP": 0o020,
    "S_IRGRP": 0o040, "S_IRWXU": 0o700, "S_IRUSR": 0o400, "S_IWUSR": 0o200, "S_ISUID": 0o4000, "S_ISGID": 0o2000,
    "S_ISVTX": 0o1000, "S_IXUSR": 0o100, "S_IXGRP": 0o010,
}  # fmt: skip


def _umask(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    value = view.constant(node, "mask", 0)
    if not isinstance(value, int) or isinstance(value, bool) or value & 0o002:
        return
    # `old = os.umask(0)` followed by `os.umask(old)` reads the mask.
    statement = view.statement(node)
    severity = Severity.LOW if isinstance(statement, ast.Assign) else Severity.MEDIUM
    yield NodeMatch(node, f"umask {value:o} lets everybody write to new files", severity)


def _made_wide(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    given = view.argument(
        node, "mode", {"os.mkdir": 1, "os.makedirs": 1, "os.open": 2, "os.mkfifo": 1}.get(name)
    )
    mode = _mode(view, given)
    if (
        name == "os.open"
        and mode is not None
        and mode & 0o044
        and not mode & 0o002
        and _writes_secret(view, node)
    ):
        yield NodeMatch(node, f"mode {mode:o} lets others read a secret")
        return
    if mode is not None and mode & 0o002 and not mode & 0o1000:
        # `open` uses 0o666 as well and relies on the umask, which the code may set.
        around = getattr(view.function_of(node), "name", "")
        secret = mentions(f"{around} {unparse(node)}", SECRET) or _makes_key(view.function_of(node))
        usual = view.has("umask") or (mode == 0o666 and not secret)
        yield NodeMatch(node, f"mode {mode:o} lets everybody write", Severity.LOW if usual else None)


_KEPT_SECRET = lazy(r"private_?key|secret|passw|passphrase|(?:^|_)token$|credential|seed_?phrase")


def _writes_secret(view: View, node: ast.Call) -> bool:
    """Return whether a function writes a secret that it is given."""
    function = view.function_of(node)
    if function is None or view.has("umask"):
        return False
    given = {item.arg for item in function.args.args if _KEPT_SECRET.search(item.arg.lower())}
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("write", "dump", "write_text", "writelines")
        and any(isinstance(item, ast.Name) and item.id in given for item in walk(part))
        for part in walk(function)
    )


def _order(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `setuid` before `setgid`, which keeps root's group, and dropped privileges that keep groups."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    holder: ast.AST | None = function or view.reading.tree
    if holder is None:
        return
    calls = [(part.lineno, view.names.called(part)) for part in walk(holder) if isinstance(part, ast.Call)]
    later = [
        called
        for line, called in calls
        if line > node.lineno and called in ("os.setgid", "os.setgroups", "os.initgroups")
    ]
    before = [called for line, called in calls if line < node.lineno]
    if view.names.constant(node.args[0] if node.args else None) == 0:
        yield NodeMatch(node, "the program takes root's rights", Severity.MEDIUM, Confidence.LOW)
    elif later:
        yield NodeMatch(node, f"after setuid {later[0]} fails: the group's rights stay")
    elif not any(called in ("os.setgid", "os.setregid", "os.setresgid", "os.setegid") for called in before):
        yield NodeMatch(
            node,
            "the rights of root's group stay: setgid and setgroups come first",
            Severity.LOW,
            Confidence.LOW,
        )
    elif not any(called in ("os.setgroups", "os.initgroups") for called in before):
        yield NodeMatch(node, "root's other groups stay: setgroups or initgroups comes first", Severity.LOW)


def _late(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find secrets written with `open(path, "w")` before `os.chmod(path, 0o600)`."""
    assert isinstance(node, ast.Call)
    mode, function = _mode(view, view.argument(node, "mode", 1)), view.function_of(node)
    if mode is None or mode & 0o077 or function is None or not node.args or view.has("umask", "opener"):
        return
    path = ast.dump(node.args[0])
    for part in walk(function):
        if isinstance(part, ast.Call) and part.lineno < node.lineno and view.names.called(part) == "open":
            written = str(view.constant(part, "mode", 1, "r"))[:1] in ("w", "x")
            if written and part.args and ast.dump(part.args[0]) == path and _secretive(view, function, node):
                yield NodeMatch(
                    node, "until now everybody could read it: open it with these rights (os.open)"
                )
                return


def _secretive(view: View, function: FunctionNode, node: ast.Call) -> bool:
    return mentions(function.name, SECRET) or _of_secret(view, node.args[0]) or "key" in function.name


CHECKS = (
    Check(
        _RULES["world-writable"],
        calls=word_set("os.chmod os.fchmod os.lchmod pathlib.Path.chmod"),
        methods=word_set("chmod"),
        look=lambda view, node, name: [
            *_wide(view, node, name),
            *(_late(view, node, name) if name == "os.chmod" else ()),
        ],
    ),
    Check(
        _RULES["wide-umask"],
        calls=word_set("os.umask"),
        look=_umask,
    ),
    Check(
        _RULES["made-world-writable"],
        calls=word_set("os.open os.mkdir os.makedirs os.mkfifo pathlib.Path.mkdir pathlib.Path.touch"),
        look=_made_wide,
    ),
    Check(
        _RULES["privileges-not-dropped"],
        calls=word_set("os.setuid os.seteuid os.setreuid"),
        look=_order,
        look_at_file=_as_root,
    ),
)
