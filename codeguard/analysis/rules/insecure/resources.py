"""Memory and time that input controls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.python.dataflow.sinks import Sink
from codeguard.analysis.python.dataflow.values import Use
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, names
from codeguard.corpus.syntax import unqualified_name
from codeguard.models import Severity

_RULES = rules_of(__file__)


def _unbounded(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find reads without a limit in a handler: `rfile.read(int(headers["Content-Length"]))`."""
    assert isinstance(node, ast.Call)
    if not isinstance(node.func, ast.Attribute) or view.function_of(node) is None:
        return
    if _of_stream(view, node):
        yield NodeMatch(node, "as much is read as the client sends")
        return
    holder = ast.unparse(node.func.value)[:200]
    if not holder.endswith(
        ("request.stream", "rfile", "request.file", ".content", "environ['wsgi.input']", "upload", "request")
    ):
        return
    if holder.endswith((".content", "upload", "request")) and not view.is_route(node):
        return  # clients have request objects as well
    if holder.endswith("request") and view.modules & {"django", "aiohttp"}:
        return  # bounded by default
    length = node.args[0] if node.args else None
    if length is not None and (view.names.constant(length) is not None or not _from_header(view, length)):
        return
    if _limited(view, node):
        return
    yield NodeMatch(node, "as much is read as the client sends")


def _of_stream(view: View, node: ast.Call) -> bool:
    """Return whether a call reads all that a client sends to a server of asyncio: `await reader.read()`."""
    function = view.function_of(node)
    if function is None or not view.has("start_server", "start_unix_server"):
        return False
    assert isinstance(node.func, ast.Attribute)
    listed = [item.arg for item in function.args.args if item.arg != "self"]
    whole = not node.args or view.names.constant(node.args[0]) == -1
    if not whole or not listed or ast.unparse(node.func.value) != listed[0]:
        return False
    return any(
        view.names.called(call) in ("asyncio.start_server", "asyncio.start_unix_server")
        and bool(call.args)
        and unqualified_name(call.args[0]) == getattr(function, "name", None)
        for call in view.reading.nodes_of(ast.Call)
    )


def _from_header(view: View, node: ast.expr) -> bool:
    return any(
        "content-length" in ast.unparse(value).lower() or "content_length" in ast.unparse(value).lower()
        for value in [node, *view.names.values_of(node)]
    )


def _limited(view: View, node: ast.Call) -> bool:
    function = view.function_of(node)
    if function is None:
        return False
    return any(
        (isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE))
        or (isinstance(part, ast.Call) and view.names.called(part) == "min")
        for part in ast.walk(function)
    )


CHECKS = (
    Check(
        _RULES["unbounded-read"],
        methods=names("read"),
        look=_unbounded,
    ),
    Check(
        _RULES["allocation-by-input"],
        sinks=(
            Sink(
                "size",
                Use.SIZE,
                names=names(
                    "bytearray bytes range os.urandom numpy.zeros numpy.ones numpy.empty itertools.repeat "
                    "secrets.token_bytes secrets.token_hex itertools.permutations itertools.product time.sleep "
                    "asyncio.sleep math.factorial"
                ),
                accepts=lambda names, call, name: (
                    not (
                        name in ("bytes", "bytearray")
                        and not any(
                            isinstance(part, ast.Call) and names.called(part) in ("int",)
                            for argument in call.args
                            for value in [argument, *names.values_of(argument)]
                            for part in ast.walk(value)
                        )
                    )
                ),
            ),
            Sink(
                "size-second",
                Use.SIZE,
                names=names("range django.core.paginator.Paginator"),
                arguments=(1, "per_page"),
            ),
            Sink("rows", Use.SIZE, methods=names("limit paginate"), arguments=(0, "per_page")),
        ),
        grades=(Severity.MEDIUM, None, None),
    ),
)
