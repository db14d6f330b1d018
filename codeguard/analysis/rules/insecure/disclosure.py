"""What is told to people whom it does not concern, or kept after it was needed: comments, mails, files, connections."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, leaves, word_set
from codeguard.analysis.rules.insecure.handlers import joined_words
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk

_RULES = rules_of(__file__)

_HIDDEN = lazy(
    r"(?:^|_)dsn(?:$|_)|passw|secret|(?:^|_)token$|database_url|db_url|connection_string|api_?key|private_key|credential",
    2,
)
_IN_COMMENT = lazy(r"<!--((?:(?!-->).){1,400})", re.DOTALL)
_HOLE = lazy(r"\$\{?(\w+)")


def _comments(view: View) -> Iterator[NodeMatch]:
    if view.has("<!--"):
        for kind in (ast.JoinedStr, ast.Constant):
            for node in view.reading.nodes_of(kind):
                yield from _commented(view, node)


def _commented(view: View, node: ast.expr) -> Iterator[NodeMatch]:
    """Find comments of a page that hold a secret: `f"<!-- from {dsn} -->"`."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and "<!--" in node.value and "$" in node.value:
            for found in _IN_COMMENT.finditer(node.value[:20_000]):
                told = next((hole for hole in _HOLE.findall(found[1]) if _HIDDEN.search(hole)), None)
                if told is not None:
                    yield NodeMatch(node, f"{told} stands in a comment, which every visitor can read")
        return
    assert isinstance(node, ast.JoinedStr)
    inside = False
    for part in node.values:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            if "<!--" in part.value or "-->" in part.value:
                inside = part.value.rfind("<!--") > part.value.rfind("-->")
        elif inside and isinstance(part, ast.FormattedValue):
            said = [one for one in walk(part.value) if isinstance(one, ast.Name | ast.Attribute)]
            told = next((last_name(one) for one in said if _HIDDEN.search(last_name(one))), "")
            if told:
                yield NodeMatch(node, f"{told} stands in a comment, which every visitor can read")
                return


_WORD = lazy(r"^(?:\w+_)?(?:password|passwd|pwd|passphrase)$", 2)
_SAYS = lazy(r"\b(?:password|passphrase)\b", 2)
_MAILS = lazy(r"mail|smtp|MIMEText|send_sms|\bsms\b", 2)


def _mailed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a password in a message: `f"your password is {password}"` in a function that mails."""
    if not view.has("mail", "sms"):
        return
    filled: list[ast.expr] = []
    said = ""
    if isinstance(node, ast.JoinedStr):
        said = "".join(
            part.value
            for part in node.values
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
        filled = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        said, filled = (
            view.names.text(node.func.value) or "",
            [*node.args, *(item.value for item in node.keywords)],
        )
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        said = view.names.text(node.left) or ""
        filled = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    told = [
        last_name(part)
        for part in filled
        if isinstance(part, ast.Name | ast.Attribute) and _WORD.match(last_name(part))
    ]
    function = view.function_of(node)
    if not told or not _SAYS.search(said) or "://" in said or function is None:
        return
    if _MAILS.search(f"{function.name} {joined_words([function])}"):
        yield NodeMatch(node, f"{told[0]} stays readable in the mailbox: send a link to choose one")


_CLOSES = word_set("close putconn disconnect shutdown release")


def _kept(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a connection that one way out of a function leaves open."""
    assert isinstance(node, ast.Call)
    statement = view.statement(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    block = getattr(view.parent(statement), "body", [])
    if not isinstance(target, ast.Name) or not isinstance(block, list) or statement not in block:
        return
    between: list[ast.stmt] = []
    for following in block[block.index(statement) + 1 :]:
        if isinstance(following, ast.Expr) and _gives_back(following.value, target.id):
            taken = name.endswith("getconn") or (
                isinstance(node.func, ast.Attribute) and node.func.attr == "getconn"
            )
            left = any(_leaves_without(part, target.id) for part in between)
            fails = taken and any(isinstance(part, ast.Call) for one in between for part in walk(one))
            if left or fails:
                yield NodeMatch(
                    node, f"{target.id} stays open where something fails in between: take with or finally"
                )
            return
        if isinstance(following, ast.Try):
            return
        between.append(following)


def _gives_back(node: ast.expr, held: str) -> bool:
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in _CLOSES
    ):
        return False
    return any(isinstance(item, ast.Name) and item.id == held for item in (node.func.value, *node.args))


def _leaves_without(statement: ast.stmt, held: str) -> bool:
    """Return whether a test leaves the function without the connection."""
    if not isinstance(statement, ast.If) or not leaves(statement.body):
        return False
    return not any(
        isinstance(part, ast.Name) and part.id == held for one in statement.body for part in walk(one)
    )


_USES = word_set("read readline readlines write send sendall recv execute fetchone fetchall")


def _after_close(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `file.close()` before `file.read()`, and `lib.free(pointer)` before the pointer is used."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    statement = view.parent(node)
    block = getattr(view.parent(statement), "body", []) if isinstance(statement, ast.Expr) else []
    if not isinstance(block, list) or statement not in block[:-1]:
        return
    freed = node.func.attr != "close"
    if not freed and node.args:
        return  # os.close(handle)
    held = node.args[0] if freed and len(node.args) == 1 else node.func.value
    if not isinstance(held, ast.Name):
        return
    for following in block[block.index(statement) + 1 :]:
        for part in walk(following):
            if isinstance(part, ast.Name) and part.id == held.id and isinstance(part.ctx, ast.Store):
                return
        for part in walk(following):
            if not isinstance(part, ast.Call):
                continue
            function = part.func
            holder = (
                function.value if isinstance(function, ast.Attribute) and function.attr in _USES else None
            )
            if not freed and isinstance(holder, ast.Name) and holder.id == held.id:
                yield NodeMatch(part, f"{held.id} is closed already")
                return
            used = freed and any(isinstance(given, ast.Name) and given.id == held.id for given in part.args)
            if used and view.names.called(part).startswith("ctypes."):
                yield NodeMatch(part, f"the memory of {held.id} is given back already")
                return


_CLEAR = lazy(r"decrypt|private_?key|passphrase|plaintext|clear_?text|unseal", 2)


def _left(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a temporary file with what was decrypted, which stays if something fails."""
    assert isinstance(node, ast.Call)
    function, statement = view.function_of(node), view.statement(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if name.endswith("mkstemp"):
        target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    elif view.constant(node, "delete") is not False:
        return
    if not isinstance(target, ast.Name) or function is None or not _CLEAR.search(joined_words([function])):
        return
    held = target.id
    parts = list(walk(function))
    if any(
        isinstance(part, ast.Return | ast.Yield)
        and part.value is not None
        and held in ast.unparse(part.value)
        for part in parts
    ) or view.has("atexit", "exitstack"):
        return
    cleaned = [part for part in parts if isinstance(part, ast.Call) and _removes(part, held)]
    sure = [
        part
        for trying in parts
        if isinstance(trying, ast.Try)
        for one in (*trying.finalbody, *(item for handler in trying.handlers for item in handler.body))
        for part in walk(one)
    ]
    if not any(part in sure for part in cleaned):
        yield NodeMatch(node, f"{held} stays on the disk where something fails: remove it in finally")


def _removes(call: ast.Call, held: str) -> bool:
    last = last_name(call.func) if not isinstance(call.func, ast.Call) else ""
    return last in ("unlink", "remove", "rmtree", "shred", "wipe") and held in ast.unparse(call)


CHECKS = (
    Check(_RULES["temporary-left"]),  # by shapes
    Check(_RULES["machine-told"]),  # by shapes
    Check(_RULES["comment-tells"], look_at_file=_comments),
    Check(
        _RULES["password-mailed"], nodes=(ast.JoinedStr, ast.BinOp), methods=word_set("format"), look=_mailed
    ),
    Check(
        _RULES["kept-on-error"],
        calls=word_set(
            "socket.create_connection socket.socket psycopg2.connect pymysql.connect ftplib.FTP smtplib.SMTP"
        ),
        methods=word_set("getconn"),
        look=_kept,
    ),
    Check(
        _RULES["used-after-close"],
        methods=word_set("close free free_string free_name release destroy"),
        look=_after_close,
    ),
    Check(
        _RULES["clear-text-left"], calls=word_set("tempfile.mkstemp tempfile.NamedTemporaryFile"), look=_left
    ),
)
