"""Memory and time that input controls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.python.dataflow.sinks import Sink
from codeguard.analysis.python.dataflow.values import Use
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, names
from codeguard.models import Severity

_RULES = rules_of(__file__)


def _unbounded(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find reads without a limit in a handler: `rfile.read(int(headers["Content-Length"]))`."""
    assert isinstance(node, ast.Call)
    if not isinstance(node.func, ast.Attribute) or view.function_of(node) is None:
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
