"""Untrusted text in commands, and commands that attackers can replace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, parameters_of, word_set
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, walk
from codeguard.flow.effects import python_names
from codeguard.flow.outside import SAID
from codeguard.flow.sinks import Sink, SinkHit
from codeguard.flow.tables import SETTING, STORED
from codeguard.flow.values import Origin, Reach, Use
from codeguard.models import Severity
from codeguard.syntax.names import Names

_RULES = rules_of(__file__)

_SUBPROCESS = python_names("starts")
_SHELL = python_names("shells")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "cmd", "cmd.exe", "powershell", "pwsh"})
_TOOLS = frozenset(
    {
        "git",
        "tar",
        "curl",
        "wget",
        "find",
        "ssh",
        "scp",
        "rsync",
        "zip",
        "7z",
        "sendmail",
        "awk",
        "hg",
        "grep",
        "sed",
        "perl",
        "man",
        "nmap",
        "tcpdump",
        "gpg",
        "svn",
        "pip",
        "npm",
        "docker",
        "kubectl",
        "psql",
        "mysql",
        "sort",
        "xargs",
        "env",
        "mail",
        "pandoc",
        "wkhtmltopdf",
    }
)


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((item.value for item in call.keywords if item.arg == name), None)


def _spread(names: Names, call: ast.Call, name: str) -> ast.expr | None:
    """Return an entry of a mapping that is unpacked into keywords."""
    for item in call.keywords:
        for value in [item.value, *names.values_of(item.value)] if item.arg is None else []:
            if isinstance(value, ast.Dict):
                for key, given in zip(value.keys, value.values, strict=True):
                    if key is not None and names.text(key) == name:
                        return given
    return None


def _in_shell(names: Names, call: ast.Call, name: str) -> bool:
    shell = _keyword(call, "shell") or _spread(names, call, "shell")
    if shell is not None and names.constant(shell, True):
        return True
    listed = _command(names, call)
    if listed:
        first = (names.text(listed[0]) or "").rpartition("/")[2]
        return (
            first in _SHELLS and len(listed) > 2 and names.text(listed[1]) in ("-c", "/c", "-lc", "-Command")
        )
    return False


def _hands_on(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether the caller decides all of it: `Popen(args, shell=shell)`, or a runner of whole commands."""
    assert isinstance(hit.call, ast.Call)
    if origin.reach is Reach.CALLER and origin.tag != SAID and not hit.value.built:
        return True
    shell = _keyword(hit.call, "shell")
    return isinstance(shell, ast.Name) and shell.id in parameters_of(view.function_of(hit.call))


def _without_shell(names: Names, call: ast.Call, name: str) -> bool:
    return not _in_shell(names, call, name)


def _command(names: Names, call: ast.Call) -> list[ast.expr]:
    argument = call.args[0] if call.args else _keyword(call, "args")
    if isinstance(argument, ast.Name):
        values = names.values_of(argument)
        argument = values[-1] if values else argument
    return argument.elts if isinstance(argument, ast.List | ast.Tuple) else []


def _is_list(names: Names, call: ast.Call) -> bool:
    """Return whether a command is a list of arguments, or put together from one: `command + [path]`."""
    given = call.args[0] if call.args else None
    parts = [given.left, given.right] if isinstance(given, ast.BinOp) else []
    return bool(_command(names, call)) or any(isinstance(part, ast.List | ast.Tuple) for part in parts)


def _option(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a tool with dangerous options is called without `--` before its operands."""
    listed = _command(names, call)
    if not listed or not _without_shell(names, call, name):
        return False
    tool = (names.text(listed[0]) or "").rpartition("/")[2]
    return tool in _TOOLS and not any(
        isinstance(item, ast.Constant) and item.value == "--" for item in listed
    )


# A file named `--checkpoint-action=…` is an option of tar.
_STAR = lazy(
    r"(?:^|[;&|]\s*)(?:sudo )?(?:tar|chown|chmod|rsync|zip|7z|scp)\b(?!.*(?: -- |\./\*))[^;&|]* \*(?:\s|$)"
)


def _starred(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find wildcards in commands, `os.system("tar czf all.tgz *")`, where file names may be options."""
    assert isinstance(node, ast.Call)
    text = view.names.text(node.args[0]) if node.args else None
    if name in _SUBPROCESS:
        yield from _cloned(view, node)
    if text is not None and (name in _SHELL or _in_shell(view.names, node, name)) and _STAR.search(text):
        yield NodeMatch(node, "a file whose name begins with - becomes an option: put -- or ./ before *")


_OF_GIT = frozenset({"clone", "fetch", "ls-remote", "pull", "submodule", "remote"})
_ADDRESS = lazy(r"url|uri|repo|remote|source|origin")
_LOOKED_AT = lazy(
    r"urlsplit|urlparse|startswith|fullmatch|\.match\(|\.scheme|quote|validate|check_|\bin [A-Z_]+\b"
)


def _cloned(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find `["git", "clone", repo_url, folder]`, where `--upload-pack=…` and `ext::…` run a command."""
    listed, function = _command(view.names, node), view.function_of(node)
    texts = [view.names.text(item) for item in listed]
    if function is None or len(texts) < 3 or texts[0] not in ("git", "/usr/bin/git") or "--" in texts:
        return
    given = parameters_of(function)
    if not _OF_GIT.intersection(text for text in texts[1:4] if text) or _LOOKED_AT.search(unparse(function)):
        return
    for item in listed:
        if isinstance(item, ast.Name) and item.id in given and _ADDRESS.search(item.id.lower()):
            yield NodeMatch(
                node,
                f"a {item.id} that begins with - is an option, and ext:: runs a command: put -- before it",
                Severity.MEDIUM,
            )
            return


_AS_ROOT = lazy(r"(?:geteuid|getuid)\(\) (?:!=|==|>) 0|\bgeteuid\(\):")


def _as_root(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find a program without a path that is started as root with the environment of who calls."""
    listed = _command(view.names, node)
    program = view.names.text(listed[0]) if listed else None
    if (
        program is None
        or "/" in program
        or not view.has("geteuid", "getuid")
        or not _AS_ROOT.search(view.reading.text)
    ):
        return
    environment = view.argument(node, "env")
    values = [] if environment is None else [environment, *view.names.values_of(environment)]
    own = view.has("environ['path']", 'environ["path"]', "setuid") or any(
        isinstance(value, ast.Dict)
        and any(key is not None and view.names.text(key) == "PATH" for key in value.keys)
        for value in values
    )
    if not own and "sudo" in view.lowered:
        yield NodeMatch(node, f"{program} is looked up in the PATH of who calls, and runs as root")


def _program(names: Names, call: ast.Call, name: str) -> bool:
    return not _in_shell(names, call, name) and not _command(names, call)


def _partial_path(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find programs without a path if the call takes the search path from elsewhere."""
    assert isinstance(node, ast.Call)
    environment = view.argument(node, "env")
    listed = _command(view.names, node)
    if environment is None or not listed:
        return
    program = view.names.text(listed[0])
    if program is None or "/" in program:
        return
    value = view.names.values_of(environment) if isinstance(environment, ast.Name) else [environment]
    for part in value:
        if isinstance(part, ast.Dict):
            for key, entry in zip(part.keys, part.values, strict=True):
                if key is not None and view.names.text(key) == "PATH" and view.names.text(entry) is None:
                    yield NodeMatch(
                        node, f"{program} is looked up in a PATH that is put together at run time"
                    )


_SEARCHED = word_set("PATH LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH DYLD_LIBRARY_PATH")
_OPEN_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


def _search_path(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find search paths with `.` or a world-writable folder."""
    for key, value in _entries(view, node):
        if key not in _SEARCHED:
            continue
        texts = [part.value for part in walk(value) if isinstance(part, ast.Constant)]
        folders = [folder for text in texts if isinstance(text, str) for folder in text.split(":")]
        for folder in folders:
            if folder in (".", "./", "..") or folder.startswith(_OPEN_FOLDERS):
                yield NodeMatch(node, f"{folder!r} is in the search path, where others may put programs")
                return
        first = texts[0] if texts and not isinstance(node, ast.AugAssign) else None
        if isinstance(first, str) and first.startswith(":") and _begins(value, first):
            yield NodeMatch(node, "the search path begins with the folder that the program is in")


def _begins(value: ast.expr, text: str) -> bool:
    """Return whether a value starts with a text: `":/usr/bin"`, but not `folder + ":" + path`."""
    while isinstance(value, ast.BinOp | ast.JoinedStr):
        value = value.left if isinstance(value, ast.BinOp) else value.values[0]
    return isinstance(value, ast.Constant) and value.value == text


def _entries(view: View, node: ast.AST) -> Iterator[tuple[str | None, ast.expr]]:
    """Yield names and values of environment variables that a node sets."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript):
                yield view.names.text(target.slice), node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield (None if key is None else view.names.text(key)), value
    elif isinstance(node, ast.keyword):
        if node.arg is not None:
            yield node.arg, node.value
    elif isinstance(node, ast.Call) and len(node.args) == 2:
        yield view.names.text(node.args[0]), node.args[1]


CHECKS = (
    Check(
        _RULES["command-injection"],
        sinks=(
            Sink(
                "shell",
                Use.SHELL,
                names=_SHELL,
                arguments=(0, "cmd", "command"),
                # With a list of arguments, pexpect's first argument is the program.
                accepts=lambda names, call, name: (
                    name != "pexpect.spawn" or (len(call.args) == 1 and _keyword(call, "args") is None)
                ),
            ),
            Sink(
                "shell-true",
                Use.SHELL,
                names=_SUBPROCESS - {"asyncio.create_subprocess_exec"},
                arguments=(0, "args"),
                accepts=_in_shell,
            ),
            Sink(
                "container",
                Use.SHELL,
                methods=word_set("run create"),
                arguments=(0, 1, "image", "command"),
                accepts=lambda names, call, name: (
                    ".containers." in name
                    and "docker" in name
                    and not any(isinstance(item, ast.List | ast.Tuple) for item in call.args[1:])
                ),
                least=Reach.REMOTE,
            ),
            Sink(
                "remote-shell",
                Use.SHELL,
                methods=word_set("exec_command exec_run run_cmd run_ps"),
                needs_built=True,
                accepts=lambda names, call, name: not _is_list(names, call),
            ),
            Sink(  # put together elsewhere, of what a request brings
                "remote-shell-sent",
                Use.SHELL,
                methods=word_set("exec_command"),
                accepts=lambda names, call, name: not _is_list(names, call),
                least=Reach.REMOTE,
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
        also={STORED: Severity.MEDIUM, SETTING: Severity.MEDIUM},
        is_usual=_hands_on,
    ),
    Check(
        _RULES["argument-injection"],
        calls=_SUBPROCESS | _SHELL,
        look=_starred,
        sinks=(
            Sink("argument", Use.ARGUMENT, names=_SUBPROCESS, arguments=(0, "args"), accepts=_option),
            Sink(
                "program",
                Use.ARGUMENT,
                names=_SUBPROCESS
                | word_set(
                    "pty.spawn os.execv os.execvp os.execl os.execlp os.spawnv os.spawnl os.startfile"
                ),
                arguments=(0, "args", 1),
                accepts=_program,
            ),
        ),
        grades=(Severity.HIGH, Severity.LOW, Severity.LOW),
    ),
    Check(
        _RULES["untrusted-search-path"],
        calls=_SUBPROCESS | word_set("os.putenv os.environ.setdefault"),
        nodes=(ast.Assign, ast.AugAssign, ast.Dict, ast.keyword),
        look=lambda view, node, name: (
            [*_partial_path(view, node, name), *_as_root(view, node)]
            if name in _SUBPROCESS and isinstance(node, ast.Call)
            else _search_path(view, node, name)
        ),
    ),
)
