"""Race conditions, and files that attackers can create first."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, leaves, word_set
from codeguard.analysis.rules.insecure.handlers import joined_words
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_COUNTED = lazy(
    r"balance|stock|quantity|credits?$|seats|inventory|points|coins|remaining|uses_left|available|tickets_left|funds|quota"
)
_TOGETHER = lazy(
    r"select_for_update|with_for_update|\bF\b|atomic|lock|acquire|mutex|semaphore|transaction|serializable|begin_nested",
    re.IGNORECASE,
)
# With the default isolation level, a transaction alone does not prevent this.
_LOCKED = lazy(
    r"select_for_update|with_for_update|\bF\b|lock|acquire|mutex|semaphore|serializable", re.IGNORECASE
)
_FETCHED = lazy(
    r"\.(?:get|first|one|get_or_404|first_or_404|get_object_or_404|scalar_one|find_one)$|^get_object_or_404$"
)
_SHARED = ("/tmp", "/var/tmp", "/dev/shm")


def _between(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `if wallet.balance >= amount: wallet.balance -= amount` without a lock."""
    assert isinstance(node, ast.AugAssign)
    yield from _counted(view, node)
    target = node.target
    if not isinstance(target, ast.Attribute) or not _COUNTED.search(target.attr.lower()):
        return
    function = view.function_of(node)
    if function is None or not isinstance(node.op, ast.Sub | ast.Add):
        return
    tested = any(
        isinstance(part, ast.If)
        and ast.dump(target.value) in ast.dump(part.test)
        and target.attr in joined_words([part.test])
        for part in walk(function)
    )
    kept_out = _TOGETHER if "sqlalchemy" in view.modules else _LOCKED
    if tested and _is_shared(view, target.value, function) and not kept_out.search(joined_words([function])):
        yield NodeMatch(node, f"two requests at once both pass the test of {target.attr}, and both change it")


_MARKS = lazy(r"^(?:is_)?(?:used|redeemed|claimed|consumed|spent|paid|taken|booked|reserved)(?:_at)?$")


def _marked(view: View, node: ast.Assign) -> Iterator[NodeMatch]:
    """Find `if voucher.used: raise`, then `voucher.used = True`, of a row that is not locked."""
    target, function = node.targets[0], view.function_of(node)
    if not isinstance(target, ast.Attribute) or not _MARKS.match(target.attr) or function is None:
        return
    if not isinstance(target.value, ast.Name) or not view.modules & {
        "sqlalchemy",
        "django",
        "flask_sqlalchemy",
    }:
        return
    tested = any(
        isinstance(part, ast.If)
        and ast.unparse(target) in ast.unparse(part.test)
        and part.lineno < node.lineno
        for part in walk(function)
    )
    read = [ast.unparse(value) for value in view.names.values_of(target.value)]
    if (
        tested
        and read
        and any(_READ.search(one) for one in read)
        and not any("for_update" in one for one in read)
    ) and not _ALONE.search(joined_words([function])):
        yield NodeMatch(node, f"two requests at once both pass the test of {target.attr}, and both go on")


_READ = lazy(
    r"\.(?:get|first|one|one_or_none|scalar|scalar_one|scalar_one_or_none|get_or_404|first_or_404)\("
)
_ALONE = lazy(r"\b(?:lock|acquire|mutex|semaphore|F|serializable|update)\b", re.IGNORECASE)


def _set_back(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find `left = store.get(key)`, then `store.set(key, left - 1)`, which loses what others set in between."""
    function = view.function_of(node)
    if function is None or len(node.args) < 2 or not view.has("redis", "memcache", "cache"):
        return
    assert isinstance(node.func, ast.Attribute)
    holder, key, given = ast.unparse(node.func.value), ast.dump(node.args[0]), node.args[1]
    if (
        not isinstance(given, ast.BinOp)
        or not isinstance(given.op, ast.Add | ast.Sub)
        or _ATOMIC.search(joined_words([function]))
    ):
        return
    names_of = {part.id for part in walk(given) if isinstance(part, ast.Name)}
    for part in walk(function):
        if (
            isinstance(part, ast.Assign)
            and isinstance(part.targets[0], ast.Name)
            and part.targets[0].id in names_of
        ):
            for call in walk(part.value):
                if (
                    isinstance(call, ast.Call)
                    and unqualified_name(call.func) == "get"
                    and call.args
                    and ast.dump(call.args[0]) == key
                    and isinstance(call.func, ast.Attribute)
                    and ast.unparse(call.func.value) == holder
                ):
                    yield NodeMatch(
                        node, "what others set in between is lost: take incr, decr, or watch the key"
                    )
                    return


_ATOMIC = lazy(r"\b(?:lock|watch|pipeline|transaction|acquire|eval|register_script|cas|gets)\b")
_FEW = 6  # statements of a method that hands out numbers


def _next_number(view: View, node: ast.FunctionDef) -> Iterator[NodeMatch]:
    """Find a number that threads read, add to and write back, without a lock: in an attribute, or in a file."""
    if not view.has("threading", "threadpool"):
        return
    owner = view.names.class_of(node)
    if owner is None or node.name == "__init__" or len(node.body) > _FEW:
        return
    of_server = any(re.search(r"Threading\w*(?:Server|MixIn)$", base) for base in view.names.bases(owner))
    added: dict[str, str] = {}
    for part in node.body:
        target = part.targets[0] if isinstance(part, ast.Assign) else None
        value = part.value if isinstance(part, ast.Assign) else None
        if isinstance(target, ast.Name) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            added[target.id] = ast.unparse(value.left)
        elif isinstance(target, ast.Attribute) and isinstance(value, ast.Name) and of_server:
            if added.get(value.id) == ast.unparse(target):
                yield from _unlocked(node, part)
                return
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            written = ast.unparse(part.value)
            for held, read in added.items():
                file = read.partition(".read_text()")[0].rpartition("(")[2]
                if ".read_text()" in read and f"{file}.write_text(" in written and held in written and file:
                    yield from _unlocked(node, part)
                    return


def _unlocked(function: ast.FunctionDef, node: ast.AST) -> Iterator[NodeMatch]:
    if not _LOCKING.search(ast.unparse(function)):
        yield NodeMatch(node, "two threads read the same number, and one of both additions is lost")


_LOCKING = lazy(r"lock|acquire|mutex|flock|semaphore", re.IGNORECASE)


def _is_shared(view: View, node: ast.expr, function: FunctionNode) -> bool:
    """Return whether an object is from a database, or of a class in a file with threads."""
    if isinstance(node, ast.Name) and node.id == "self":
        return bool(view.modules & {"threading", "concurrent"})
    for value in view.names.values_of(node):
        called = view.names.called(value) if isinstance(value, ast.Call) else ""
        saved = re.search(r"\b(?:save|commit|update|flush)\b", joined_words(function.body))
        if _FETCHED.search(called) and saved:
            return True
    return False


_READS = lazy(
    r"^(?:is_|has_|get|fetch|find|load|exists|count|select|read|taken|available|lookup|scalar)", re.IGNORECASE
)
_WRITES = lazy(
    r"^(?:insert|create|book|reserve|redeem|add_|debit|withdraw|transfer|claim|use_|mark_|save_|set_|update|decrement|charge|"
    r"register|assign|take|store_|put_)",
    re.IGNORECASE,
)
_SCARCE = lazy(
    r"seat|book|stock|balance|coupon|voucher|ticket|slot|quota|credit|redeem|reserv|claim|invite|wallet|limit|inventory|username"
    r"|room|vote|license|lease|withdraw|transfer",
    re.IGNORECASE,
)


def _awaited(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a check and a change with an `await` in between, during which other tasks run."""
    assert isinstance(node, ast.AsyncFunctionDef)
    said = joined_words([node])
    if (
        not _SCARCE.search(f"{node.name} {joined_words([node.args])}")
        or _TOGETHER.search(said)
        or _ONCE.search(said)
    ):
        return
    read: set[str] = set()
    tested = False
    for statement in node.body:
        waited = [
            part.value
            for part in walk(statement)
            if isinstance(part, ast.Await) and isinstance(part.value, ast.Call)
        ]
        called = [(part, unqualified_name(part.func)) for part in waited]
        for part, last in called:
            if tested and _WRITES.match(last):
                yield NodeMatch(
                    part,
                    "another task can pass the same test before this is written: lock it, or write and test at once",
                )
                return
        if isinstance(statement, ast.Assign) and any(_READS.match(last) for _, last in called):
            read.update(
                part.id for target in statement.targets for part in walk(target) if isinstance(part, ast.Name)
            )
        elif isinstance(statement, ast.If) and leaves(statement.body):
            asked = any(isinstance(part, ast.Name) and part.id in read for part in walk(statement.test))
            tested = tested or asked or any(_READS.match(last) for _, last in called)


_ONCE = lazy(
    r"unique|conflict|integrityerror|setnx|\bnx\b|idempot|compare_and|if_not_exists|upsert|duplicate",
    re.IGNORECASE,
)


_WITH_THREADS = frozenset({"threading", "concurrent"})


def _counted(view: View, node: ast.AugAssign) -> Iterator[NodeMatch]:
    """Find `global total; total += 1` in a function that threads run, in a file without a lock."""
    if not isinstance(node.target, ast.Name) or not view.modules & _WITH_THREADS:
        return
    function = view.function_of(node)
    if function is None or _TOGETHER.search(view.reading.text):
        return
    shared = any(isinstance(part, ast.Global) and node.target.id in part.names for part in walk(function))
    if shared and f":{view.names.symbol(function)}" in _run_by_threads(view):
        yield NodeMatch(node, f"threads that change {node.target.id} at once lose what one of them has added")


def _run_by_threads(view: View) -> set[str]:
    """Return the functions of the file that are passed to threads."""
    found: set[str] = set()
    for call in view.reading.nodes_of(ast.Call) if view.modules & _WITH_THREADS else ():
        if view.names.called(call) == "threading.Thread":
            given = view.argument(call, "target", 1)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in ("submit", "map"):
            given = call.args[0] if call.args else None
        else:
            continue
        found.update(view.names.names_of(given) if given is not None else ())
    return found


def _first(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find world-writable folders at the front of the module path, and files there opened without a check."""
    assert isinstance(node, ast.Call)
    if name == "os.open":
        path, flags = view.names.text(node.args[0] if node.args else None), view.argument(node, "flags", 1)
        named = joined_words([flags]) if flags is not None else ""
        if path is not None and path.startswith(_SHARED) and "O_CREAT" in named and "O_EXCL" not in named:
            yield NodeMatch(
                node, f"{path!r} may be a link that another user put there: add O_EXCL or O_NOFOLLOW"
            )
        return
    if name.startswith("importlib."):
        yield from _uploaded(view, node)
        return
    given = node.args[-1] if node.args else None
    text = view.names.text(given)
    if text is not None and (text.startswith(_SHARED) or (text == "." and name.endswith("insert"))):
        yield NodeMatch(node, f"modules are looked for in {text!r} first, where others may put them")
    elif (
        given is not None
        and name.endswith("insert")
        and any(
            isinstance(part, ast.Call) and view.names.called(part) in ("os.getcwd", "pathlib.Path.cwd")
            for value in (given, *view.names.values_of(given))
            for part in walk(value)
        )
    ):
        whole = isinstance(given, ast.Call) and view.names.called(given) == "os.getcwd"
        yield NodeMatch(
            node,
            "modules are looked for first where the program happens to be started",
            Severity.LOW if whole else None,  # as a command line tool does that runs a project's modules
        )
    elif name.startswith("ctypes.") and text is not None and text.startswith("./"):
        yield NodeMatch(
            node, f"{text!r} is looked for in the folder that the program happens to be started in"
        )


_FILLED = lazy(r"(?:^|/)(?:uploads?|incoming|public|shared|tmp|inbox)(?:/|$)", re.IGNORECASE)


def _uploaded(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find modules that are loaded from where uploads are kept."""
    texts = [
        part.value
        for value in view.reading.nodes_of(ast.Assign)
        for part in walk(value.value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.startswith("/")
    ]
    path = next((text for text in texts if _FILLED.search(text)), None)
    if path is not None and not view.has("st_uid", "st_mode", "sha256", "verify"):
        yield NodeMatch(node, f"whoever may write to {path!r} decides what runs here")


_UPDATE = lazy(r"\s*update\s.{1,200}\sset\s", re.IGNORECASE | re.DOTALL)


def _written_back(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find `execute("UPDATE … SET balance = ?", (row["balance"] - amount,))` after a test of the row."""
    function = view.function_of(node)
    if function is None or not node.args or not _UPDATE.match(view.names.text(node.args[0]) or ""):
        return
    computed = [
        part.left
        for given in node.args[1:]
        for part in walk(given)
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub)
    ]
    for left in computed:
        if not isinstance(left, ast.Subscript | ast.Attribute) or not isinstance(left.value, ast.Name):
            continue
        tested = any(
            isinstance(part, ast.If) and ast.dump(left) in ast.dump(part.test) for part in walk(function)
        )
        if (
            tested
            and not _TOGETHER.search(joined_words([function]))
            and "for update" not in ast.unparse(function).lower()
        ):
            yield NodeMatch(
                node, f"two requests at once both pass the test of {ast.unparse(left)[:40]}, and both write"
            )
            return


def _changed(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.AsyncFunctionDef):
        yield from _awaited(view, node, name)
    elif isinstance(node, ast.FunctionDef):
        yield from _next_number(view, node)
    elif isinstance(node, ast.Call):
        yield from (
            _set_back(view, node) if unqualified_name(node.func) == "set" else _written_back(view, node)
        )
    elif isinstance(node, ast.Assign):
        yield from _marked(view, node)
    else:
        yield from _between(view, node, name)


CHECKS = (
    Check(
        _RULES["change-in-between"],
        methods=word_set("execute set"),
        nodes=(ast.AugAssign, ast.AsyncFunctionDef, ast.FunctionDef, ast.Assign),
        look=_changed,
    ),
    Check(
        _RULES["foreign-folder-first"],
        calls=word_set(
            "sys.path.insert sys.path.append os.open ctypes.CDLL ctypes.cdll.LoadLibrary "
            "importlib.util.spec_from_file_location"
        ),
        look=_first,
    ),
)
