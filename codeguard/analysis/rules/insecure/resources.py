"""Memory and time that input controls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.python.dataflow.sinks import Sink
from codeguard.analysis.python.dataflow.values import Use
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import is_from_request
from codeguard.corpus.syntax import unqualified_name, walk
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


def _by_header(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find memory for as much as a message says: `size = unpack("!I", sock.recv(4))`, `bytearray(size)`."""
    assert isinstance(node, ast.Call)
    function, given = view.function_of(node), node.args[0] if len(node.args) == 1 else None
    if function is None or not isinstance(given, ast.Name) or not view.has("recv", "readexactly"):
        return
    parts = list(walk(function))
    read = any(
        isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call | ast.Subscript)
        and any(
            isinstance(item, ast.Name) and item.id == given.id for one in part.targets for item in walk(one)
        )
        and any(
            isinstance(call, ast.Call)
            and unqualified_name(call.func) in ("unpack", "from_bytes", "unpack_from")
            for call in walk(part.value)
        )
        for part in parts
    )
    received = any(
        isinstance(part, ast.Attribute) and part.attr in ("recv", "recv_into", "readexactly")
        for part in parts
    )
    compared = any(
        isinstance(part, ast.Compare)
        and not all(isinstance(side, ast.Constant) and side.value in (0, 1) for side in part.comparators)
        and any(isinstance(item, ast.Name) and item.id == given.id for item in walk(part))
        for part in parts
    ) or any(isinstance(part, ast.Call) and view.names.called(part) == "min" for part in parts)
    if read and received and not compared:
        yield NodeMatch(node, f"who connects says how large {given.id} is, and so how much memory is taken")


def _sized(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find pictures in the size that a request asks for: compared with nothing but what they must not be below."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    if function is None or not view.is_route(node) or not view.has("pil", "numpy", "cv2"):
        return
    sizes = [given for given in node.args if isinstance(given, ast.Tuple)]
    for part in (one for size in sizes for one in size.elts if isinstance(one, ast.Name)):
        if not is_from_request(view, part):
            continue
        above = any(
            (isinstance(test, ast.Compare) and _is_bound(view, test, part.id))
            or (
                isinstance(test, ast.Call)
                and view.names.called(test) == "min"
                and part.id in ast.unparse(test)
            )
            for test in walk(function)
        )
        if not above:
            yield NodeMatch(node, f"the request says how large {part.id} is, and so how much memory is taken")
            return


_BOUNDED_CACHE = ("maxsize", "popitem", ".clear()", "ttl", "expire", "evict", "lru", ".pop(")


def _filled(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a cache of the module with one entry for each value that somebody sends: `CACHE[q] = render(q)`."""
    assert isinstance(node, ast.Subscript)
    if (
        not isinstance(node.ctx, ast.Store)
        or not isinstance(node.value, ast.Name)
        or not isinstance(node.slice, ast.Name)
    ):
        return
    if (
        not re.search("cache|memo|result", node.value.id.lower())
        or view.has(*_BOUNDED_CACHE)
        or not view.is_route(node)
    ):
        return
    made = view.names.values_of(node.value)
    of_module = node.value.id in view.names.scopes.module.bindings and all(
        isinstance(value, ast.Dict) for value in made
    )
    if made and of_module and is_from_request(view, node.slice):
        yield NodeMatch(node, f"{node.value.id} grows by an entry for each value that somebody sends")


def _is_bound(view: View, test: ast.Compare, held: str) -> bool:
    """Return whether a comparison bounds a name from above, as `width > 2000` and `0 < width <= 2000` do."""
    sides = [test.left, *test.comparators]
    for place, operator in enumerate(test.ops):
        left, right = sides[place], sides[place + 1]
        number = view.names.constant(right if isinstance(left, ast.Name) and left.id == held else left, 1)
        if number == 0 or number == 1:
            continue
        named = any(isinstance(side, ast.Name) and side.id == held for side in (left, right))
        if named and isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.In):
            return True
    return False


def _limited(view: View, node: ast.Call) -> bool:
    function = view.function_of(node)
    if function is None:
        return False
    return any(
        (isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE))
        or (isinstance(part, ast.Call) and view.names.called(part) == "min")
        for part in walk(function)
    )


CHECKS = (
    Check(
        _RULES["unbounded-read"],
        methods=word_set("read"),
        nodes=(ast.Subscript,),
        look=lambda view, node, name: (
            _unbounded(view, node, name) if isinstance(node, ast.Call) else _filled(view, node, name)
        ),
    ),
    Check(
        _RULES["allocation-by-input"],
        calls=word_set("bytearray"),
        methods=word_set("resize thumbnail new"),
        look=lambda view, node, name: (
            _by_header(view, node, name) if name == "bytearray" else _sized(view, node, name)
        ),
        sinks=(
            Sink(
                "size",
                Use.SIZE,
                names=word_set(
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
                            for part in walk(value)
                        )
                    )
                ),
            ),
            Sink(
                "size-second",
                Use.SIZE,
                names=word_set("range django.core.paginator.Paginator"),
                arguments=(1, "per_page"),
            ),
            Sink("rows", Use.SIZE, methods=word_set("limit paginate"), arguments=(0, "per_page")),
        ),
        grades=(Severity.MEDIUM, None, None),
    ),
)
