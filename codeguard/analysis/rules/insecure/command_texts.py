"""Literal commands that open files, hosts or containers to everyone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.words import PASSWORD, last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk

_RULES = rules_of(__file__)

_RUNS = word_set(
    "os.system os.popen subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen "
    "subprocess.getoutput asyncio.create_subprocess_exec asyncio.create_subprocess_shell fabric.Connection.run"
)
_LONGEST = 4000
_WEAK_COMMANDS = (
    (lazy(r"\bchmod\b(?: -\w{1,3})? (?:-R )?(?:a\+\w*w|o\+\w*w|0?777|0?666)\b"), "everybody may write to it"),
    (lazy(r"StrictHostKeyChecking[= ]no|UserKnownHostsFile[= ]/dev/null"), "any server is accepted"),
    (lazy(r"\bcurl\b[^|;&]{0,200} (?:-k|--insecure)\b|\bwget\b[^|;&]{0,200} --no-check-certificate"),
     "any certificate is accepted"),
    (lazy(r"\b(?:docker|podman)\b[^|;&]{0,200}(?:--privileged|docker\.sock|--pid[= ]host|--cap-add[= ]ALL)"),
     "the container has the rights of the machine"),
    (lazy(r"\bgit\b[^|;&]{0,100}http\.sslVerify[= ]false"), "any certificate is accepted"),
    (lazy(r"\bopenssl\b[^|;&]{0,200} -(?:des|rc4|md5)\b|\bssh-keygen\b[^|;&]{0,200} -b (?:512|768|1024)\b|"
          r"\bopenssl\b[^|;&]{0,200}(?: genrsa\b[^|;&]{0,200} | rsa:|_bits:|dsaparam )(?:512|768|1024)\b"),
     "the cipher or key is broken"),
)  # fmt: skip
_WORDS = (
    "chmod",
    "stricthost",
    "knownhosts",
    "curl",
    "wget",
    "docker",
    "podman",
    "sslverify",
    "openssl",
    "ssh-keygen",
)
_PASSED = lazy(
    r"(?:^|\s)(?:-p|--password[= ]|--pass[= ]|-P|--token[= ]|PGPASSWORD=|-u\s?\w{0,20}:)$|:$", re.IGNORECASE
)


def _opens(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if not node.args or not view.has(*_WORDS):
        return
    text = _text(view, node)
    for pattern, effect in _WEAK_COMMANDS:
        if pattern.search(text):
            yield NodeMatch(node, effect)
            return


def _text(view: View, node: ast.Call) -> str:
    """Return the words of a command, with a blank for parts that are not literal."""
    given = list(node.args) if "create_subprocess_exec" in view.names.called(node) else node.args[:1]
    parts: list[str] = []
    for argument in given:
        values = view.names.values_of(argument) if isinstance(argument, ast.Name) else []
        for value in values or [argument]:
            elements = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
            parts += [_written(view, element) for element in elements]
    return " ".join(parts)[:_LONGEST]


def _written(view: View, node: ast.expr) -> str:
    text = view.names.text(node)
    if text is not None:
        return text
    return " ".join(
        part.value for part in walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def _everything_by_sudo(view: View) -> Iterator[NodeMatch]:
    for node in view.reading.nodes_of(ast.Constant) if view.has("nopasswd:") else ():
        text = node.value if isinstance(node.value, str) else ""
        parent = view.parent(node)
        if isinstance(parent, ast.JoinedStr):
            text = _written(view, parent)
        if _SUDO.search(text[:_LONGEST]):
            yield NodeMatch(node, "the user may do everything as root, without a password")


_SUDO = lazy(r"ALL=\(?\S{0,40}\)? ?NOPASSWD: ?ALL")


def _shown(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find passwords in the arguments of a program, which every local user can list."""
    assert isinstance(node, ast.Call)
    if not node.args or not view.has("passw", "pwd", "token", "secret"):
        return
    for argument in node.args:
        values = view.names.values_of(argument) if isinstance(argument, ast.Name) else []
        for value in values or [argument]:
            elements = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
            for index, element in enumerate(elements):
                word = _passed(view, element, elements[index - 1] if index else None)
                if word:
                    yield NodeMatch(node, f"{word} stands on the command line, which every user can list")
                    return


def _passed(view: View, node: ast.expr, before: ast.expr | None) -> str:
    """Return the name of a password that is part of an argument, or that follows `--password`."""
    if isinstance(node, ast.Name | ast.Attribute):
        flag = view.names.text(before) if before is not None else None
        is_flag = flag is not None and re.fullmatch(r"-p|--pass(?:word|wd)?|--token|--secret", flag)
        return last_name(node) if is_flag and mentions(last_name(node), PASSWORD) else ""
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    for index, part in enumerate(parts[1:]):
        text = view.names.text(parts[index])
        if text is not None and _PASSED.search(text) and mentions(last_name(part), PASSWORD):
            return last_name(part)
    return ""


CHECKS = (
    Check(
        _RULES["command-opens"],
        calls=_RUNS,
        look=_opens,
    ),
    Check(
        _RULES["sudo-without-password"],
        look_at_file=_everything_by_sudo,
    ),
    Check(
        _RULES["password-on-command-line"],
        calls=_RUNS,
        look=_shown,
    ),
)
