"""Disabled or missing limits, and loops that input can keep running."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.python.dataflow.outside import from_outside
from codeguard.analysis.python.dataflow.sinks import Sink
from codeguard.analysis.python.dataflow.values import Use
from codeguard.analysis.python.names import Names
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import is_handler
from codeguard.analysis.rules.insecure.sessions import framework_settings
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

_HUGE = 1 << 30
_SIZES = frozenset(
    {
        "MAX_CONTENT_LENGTH", "DATA_UPLOAD_MAX_MEMORY_SIZE", "DATA_UPLOAD_MAX_NUMBER_FIELDS",
        "DATA_UPLOAD_MAX_NUMBER_FILES", "MAX_FORM_MEMORY_SIZE", "MAX_IMAGE_PIXELS", "client_max_size",
        "max_buffer_size", "max_body_size", "max_message_size", "max_msg_size",
    }
)  # fmt: skip


def _switched_off(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if isinstance(node, ast.Call):
        if name == "sys.set_int_max_str_digits" and view.constant(node, "maxdigits", 0) == 0:
            yield NodeMatch(node, "numbers of any length are read from text")
        return
    if isinstance(node, ast.AnnAssign) and isinstance(view.parent(node), ast.ClassDef):
        return  # a field that is not set yet, so None is not a limit
    for setting, value in framework_settings(view, node):
        if setting not in _SIZES and setting != "max_size":
            continue
        given = view.names.constant(value, "")
        if setting == "max_size" and not (
            isinstance(node, ast.keyword) and _serves(view, node) and given is None
        ):
            continue
        zero = setting == "client_max_size" and given in (0, None)
        if (
            given is None
            or zero
            or (isinstance(given, int) and not isinstance(given, bool) and given > _HUGE)
        ):
            yield NodeMatch(node, f"{setting} lets anyone send as much as they like")


def _serves(view: View, node: ast.keyword) -> bool:
    call = view.parent(node)
    return isinstance(call, ast.Call) and view.names.called(call).startswith(("websockets.", "websocket."))


def _upload_read(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `await upload.read()` in a handler without a check of the upload."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    if node.args or node.keywords:
        return
    function = view.function_of(node)
    if function is None or not is_handler(view, function) or not _is_upload(view, node.func.value):
        return
    if view.has("max_content_length", "content_length", "content-length") or _refuses(function):
        return
    kept = view.parent(node)
    kept = view.parent(kept) if isinstance(kept, ast.Await) else kept
    if not isinstance(kept, ast.Assign) and not (
        isinstance(kept, ast.Call) and view.names.called(kept) == "len"
    ):
        return
    yield NodeMatch(node, "an upload of any size is read into memory")


def _is_upload(view: View, node: ast.expr) -> bool:
    if any(resolved.endswith("UploadFile()") for resolved in view.names.names_of(node)):
        return True
    return any(".files" in (text := ast.unparse(value)[:200]) or ".FILES" in text
               for value in (node, *view.names.values_of(node)))  # fmt: skip


def _refuses(function: ast.AST) -> bool:
    """Return whether a function rejects anything, or delegates to code that may."""
    return any(isinstance(part, ast.Raise | ast.If | ast.Try) for part in walk(function))


def _endless_line(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find reads without a limit, `self.rfile.readline()` and `reader.read()` of connections."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    function = view.function_of(node)
    if node.args or node.keywords or function is None:
        return
    holder = node.func.value
    if node.func.attr == "readline":
        if isinstance(holder, ast.Attribute) and holder.attr == "rfile":
            yield NodeMatch(node, "a line of any length is read into memory")
    elif isinstance(holder, ast.Name) and holder.id == "reader":
        listed = [item.arg for item in function.args.args]
        if isinstance(function, ast.AsyncFunctionDef) and listed[-2:] == ["reader", "writer"]:
            yield NodeMatch(node, "as much is read as the client sends")


def _endless_receiving(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `while True: data += connection.recv(…)`, which only the sender can end."""
    assert isinstance(node, ast.While)
    yield from _until_the_end(view, node)
    if not (isinstance(node.test, ast.Constant) and node.test.value) or not view.has("recv("):
        return
    parts = [part for statement in node.body for part in walk(statement)]
    receives = any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "recv"
        for part in parts
    )
    keeps = any(isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Add) for part in parts) or any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("append", "extend")
        for part in parts
    )
    # A comparison of a length, or a call that does one, is the missing limit.
    measures = any(isinstance(part, ast.Compare | ast.Call) and _measures(view, part) for part in parts)
    # `b"\\r\\n" in data` ends at a delimiter of the protocol, as usual for reading lines.
    ends = any(
        isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In | ast.NotIn) for part in parts
    )
    # A non-blocking socket eventually raises when it is empty.
    empties = any(
        isinstance(part, ast.ExceptHandler)
        and part.type is not None
        and re.search(r"Want|Block|Again", ast.unparse(part.type)) is not None
        for part in parts
    )
    if receives and keeps and not measures and not ends and not empties:
        yield NodeMatch(node, "the sender decides how much is kept")


def _until_the_end(view: View, node: ast.While) -> Iterator[NodeMatch]:
    """Find `while not chunks[-1].endswith(b"\\n"): chunks.append(await reader.read(4096))` of a server."""
    if not view.has("start_server", "start_unix_server") or "endswith" not in ast.unparse(node.test):
        return
    kept = [
        part
        for statement in node.body
        for part in walk(statement)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("append", "extend")
        and any(isinstance(item, ast.Attribute) and item.attr in ("read", "recv") for item in walk(part))
    ]
    measured = any(isinstance(part, ast.Call) and view.names.called(part) == "len" for part in walk(node))
    if kept and not measured:
        yield NodeMatch(node, "the sender decides how much is kept")


_CHUNKS = word_set(
    "aiter_bytes iter_content iter_bytes aiter_raw iter_raw iter_chunked iter_any aiter_text iter_text stream"
)


def _collected(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find bodies collected without a limit: `async for part in request.stream(): body += part`."""
    assert isinstance(node, ast.For | ast.AsyncFor)
    made, function = node.iter, view.function_of(node)
    if not (
        isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in _CHUNKS
    ):
        return
    parts = [part for statement in node.body for part in walk(statement)]
    keeps = any(isinstance(part, ast.AugAssign) and isinstance(part.op, ast.Add) for part in parts) or any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("append", "extend")
        for part in parts
    )
    asked = function is not None and (view.is_route(node) or bool(from_outside(function)))
    if (
        keeps
        and asked
        and not any(isinstance(part, ast.Compare | ast.Call) and _measures(view, part) for part in parts)
    ):
        yield NodeMatch(node, "the other side decides how much is kept")


def _measures(view: View, part: ast.Compare | ast.Call) -> bool:
    if isinstance(part, ast.Call):
        return view.names.called(part) == "len"
    return isinstance(part.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)


def _stranger_compressed(names: Names, call: ast.Call, name: str) -> bool:
    return len(call.args) + len(call.keywords) == 1


_READ = word_set("struct.unpack struct.unpack_from int int.from_bytes ord")


def _stands_still(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find loops that a size of zero in the data keeps running: `while pos < len(data): …; pos += size`."""
    assert isinstance(node, ast.While)
    asked = {part.id for part in walk(node.test) if isinstance(part, ast.Name)}
    parts = [part for statement in node.body for part in walk(statement)]
    moves = [
        part
        for part in parts
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name) and part.target.id in asked
    ]
    if len(moves) != 1 or not isinstance(moves[0].op, ast.Add):
        return
    if not isinstance(moves[0].value, ast.Name):
        yield from _goes_back(view, moves[0], parts)
        return
    step = moves[0].value.id
    # A test that the whole fits, `pos + size > len(data)`, says nothing of a size of zero.
    compared = any(
        isinstance(part, ast.Name) and part.id == step
        for test in parts
        if isinstance(test, ast.Compare | ast.If | ast.IfExp) and not _fits(test, moves[0])
        for part in walk(test if isinstance(test, ast.Compare) else test.test)
    )
    read = any(
        isinstance(part, ast.Assign)
        and any(
            isinstance(item, ast.Name) and item.id == step for target in part.targets for item in walk(target)
        )
        and any(
            _is_read(view, one)
            for one in (part.value.elts if isinstance(part.value, ast.Tuple) else [part.value])
        )
        for part in parts
    )
    if read and not compared:
        yield NodeMatch(moves[0], f"where {step} is zero the loop never ends, and the data says what it is")


def _fits(test: ast.AST, move: ast.AugAssign) -> bool:
    """Return whether a test is whether a step stays within the data: `pos + size > len(data)`."""
    inner = test if isinstance(test, ast.Compare) else getattr(test, "test", None)
    if not isinstance(inner, ast.Compare) or not isinstance(inner.ops[0], ast.Gt | ast.LtE):
        return False
    return (
        isinstance(inner.left, ast.BinOp)
        and ast.unparse(inner.left) == f"{ast.unparse(move.target)} + {ast.unparse(move.value)}"
    )


_SIGNED = lazy(r"^[<>=!@]?[\w?]{0,20}[hilq][\w?]{0,20}$")


def _goes_back(view: View, move: ast.AugAssign, parts: list[ast.AST]) -> Iterator[NodeMatch]:
    """Find `pos += 8 + size` with a signed size of the data, which may go back for ever."""
    named = {part.id for part in walk(move.value) if isinstance(part, ast.Name)}
    for part in parts:
        value = part.value if isinstance(part, ast.Assign) else None
        if not isinstance(value, ast.Call) or not view.names.called(value).startswith("struct.unpack"):
            continue
        assert isinstance(part, ast.Assign)
        made = {item.id for target in part.targets for item in walk(target) if isinstance(item, ast.Name)}
        form = view.names.text(value.args[0]) if value.args else None
        compared = {item.id for test in parts if isinstance(test, ast.Compare) for item in walk(test)
                    if isinstance(item, ast.Name)}  # fmt: skip
        if form is not None and _SIGNED.match(form) and (steps := named & made) and not steps & compared:
            yield NodeMatch(
                move, f"where {min(steps)} is below zero the loop goes back, and the data says what it is"
            )
            return


def _is_read(view: View, node: ast.expr) -> bool:
    """Return whether a number is read from data: `data[pos]`, `struct.unpack(">H", …)[0]`."""
    while isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        node = node.value
    if isinstance(node, ast.Call):
        return view.names.called(node) in _READ or getattr(node.func, "attr", "") == "from_bytes"
    return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Constant)


def _thread_each(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a thread or process that each request starts, however many there are."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    if (
        function is not None
        and is_handler(view, function)
        and not view.has("semaphore", "max_workers", "active_count")
    ):
        yield NodeMatch(
            node, "each request starts one more: a queue with a fixed number of workers has an end"
        )


CHECKS = (
    Check(
        _RULES["thread-for-each-request"],
        calls=word_set("threading.Thread multiprocessing.Process threading.Timer"),
        look=_thread_each,
    ),
    Check(
        _RULES["limit-off"],
        nodes=(ast.Assign, ast.AnnAssign, ast.keyword),
        calls=word_set("sys.set_int_max_str_digits"),
        look=_switched_off,
    ),
    Check(
        _RULES["unbounded-upload"],
        methods=word_set("read"),
        look=_upload_read,
    ),
    Check(
        _RULES["unbounded-line"],
        methods=word_set("readline read"),
        look=_endless_line,
    ),
    Check(
        _RULES["endless-receiving"],
        nodes=(ast.While, ast.For, ast.AsyncFor),
        look=lambda view, node, name: (
            _endless_receiving(view, node, name)
            if isinstance(node, ast.While)
            else _collected(view, node, name)
        ),
    ),
    Check(
        _RULES["unbounded-decompression"],
        sinks=(
            Sink(
                "decompress",
                Use.SIZE,
                names=word_set(
                    "gzip.decompress zlib.decompress bz2.decompress lzma.decompress brotli.decompress"
                ),
                accepts=_stranger_compressed,
            ),
        ),
        grades=(Severity.MEDIUM, None, None),
    ),
    Check(_RULES["loop-stands-still"], nodes=(ast.While,), look=_stands_still),
)
