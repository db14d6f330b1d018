"""Limits that are switched off, or that reading does without."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.flowsinks import Sink
from codeguard.reading.flowvalues import Use
from codeguard.reading.names import Names
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View, names
from codeguard.signals.insecure.handlers import is_handler
from codeguard.signals.insecure.sessions import settings

_HUGE = 1 << 30
_SIZES = frozenset(
    {
        "MAX_CONTENT_LENGTH", "DATA_UPLOAD_MAX_MEMORY_SIZE", "DATA_UPLOAD_MAX_NUMBER_FIELDS",
        "DATA_UPLOAD_MAX_NUMBER_FILES", "MAX_FORM_MEMORY_SIZE", "MAX_IMAGE_PIXELS", "client_max_size",
        "max_buffer_size", "max_body_size", "max_message_size", "max_msg_size",
    }
)  # fmt: skip


def _switched_off(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    if isinstance(node, ast.Call):
        if name == "sys.set_int_max_str_digits" and view.constant(node, "maxdigits", 0) == 0:
            yield Found(node, "numbers of any length are read from text")
        return
    for setting, value in settings(view, node):
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
            yield Found(node, f"{setting} lets strangers send as much as they like")


def _serves(view: View, node: ast.keyword) -> bool:
    call = view.parent(node)
    return isinstance(call, ast.Call) and view.names.called(call).startswith(("websockets.", "websocket."))


def _upload_read(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`await upload.read()` in a handler that checks nothing of what came."""
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
    yield Found(node, "an upload of any size is read into memory")


def _is_upload(view: View, node: ast.expr) -> bool:
    if any(resolved.endswith("UploadFile()") for resolved in view.names.names_of(node)):
        return True
    return any(".files" in (text := ast.unparse(value)[:200]) or ".FILES" in text
               for value in (node, *view.names.values_of(node)))  # fmt: skip


def _refuses(function: ast.AST) -> bool:
    """Whether a function turns anything away, or hands the work to something that may."""
    return any(isinstance(part, ast.Raise | ast.If | ast.Try) for part in ast.walk(function))


def _endless_line(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`self.rfile.readline()` of a server's handler, and `reader.read()` of a connection, without a limit."""
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    function = view.function_of(node)
    if node.args or node.keywords or function is None:
        return
    holder = node.func.value
    if node.func.attr == "readline":
        if isinstance(holder, ast.Attribute) and holder.attr == "rfile":
            yield Found(node, "a line of any length is read into memory")
    elif isinstance(holder, ast.Name) and holder.id == "reader":
        listed = [item.arg for item in function.args.args]
        if isinstance(function, ast.AsyncFunctionDef) and listed[-2:] == ["reader", "writer"]:
            yield Found(node, "as much is read as the client sends")


def _endless_receiving(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`while True: data += connection.recv(…)`, where only the sender decides when it ends."""
    assert isinstance(node, ast.While)
    if not (isinstance(node.test, ast.Constant) and node.test.value) or not view.has("recv("):
        return
    parts = [part for statement in node.body for part in ast.walk(statement)]
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
    measures = any(isinstance(part, ast.Compare | ast.Call) and _measures(view, part) for part in parts)
    ends = any(
        isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In | ast.NotIn) for part in parts
    )
    if receives and keeps and not measures and not ends:
        yield Found(node, "the sender decides how much is kept")


def _measures(view: View, part: ast.Compare | ast.Call) -> bool:
    if isinstance(part, ast.Call):
        return view.names.called(part) == "len"
    return isinstance(part.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)


def _stranger_compressed(names: Names, call: ast.Call, name: str) -> bool:
    return len(call.args) + len(call.keywords) == 1


CHECKS = (
    Check(
        Rule(
            "limit-off",
            "A limit on what strangers send is switched off",
            Severity.MEDIUM,
            Confidence.HIGH,
            "One request fills the memory or the disk. Set the limit to what an honest request needs.",
            bad="from aiohttp import web\n\napp = web.Application(client_max_size=0)",
            good="from aiohttp import web\n\napp = web.Application(client_max_size=1 << 20)",
            cwe=(770, 400, 789),
        ),
        nodes=(ast.Assign, ast.AnnAssign, ast.keyword),
        calls=names("sys.set_int_max_str_digits"),
        look=_switched_off,
    ),
    Check(
        Rule(
            "unbounded-upload",
            "An upload of any size is read into memory",
            Severity.MEDIUM,
            Confidence.LOW,
            "One large file stops the server. Read with a limit, and refuse what is longer.",
            bad="from fastapi import APIRouter, UploadFile\n\nrouter = APIRouter()\n\n"
            '@router.post("/scan")\nasync def scan(file: UploadFile):\n    return {"size": len(await file.read())}',
            good="from fastapi import APIRouter, HTTPException, UploadFile\n\nrouter = APIRouter()\n\n"
            '@router.post("/scan")\nasync def scan(file: UploadFile):\n    data = await file.read(1_000_001)\n'
            '    if len(data) > 1_000_000:\n        raise HTTPException(413)\n    return {"size": len(data)}',
            cwe=(770, 400),
        ),
        methods=names("read"),
        look=_upload_read,
    ),
    Check(
        Rule(
            "unbounded-line",
            "A server reads a line, or a connection, of any length",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "One client that never ends its line fills the memory. Give readline and read a limit.",
            bad="import socketserver\n\nclass Echo(socketserver.StreamRequestHandler):\n"
            "    def handle(self):\n        self.wfile.write(self.rfile.readline())",
            good="import socketserver\n\nclass Echo(socketserver.StreamRequestHandler):\n"
            "    def handle(self):\n        self.wfile.write(self.rfile.readline(4096))",
            cwe=(770, 400),
        ),
        methods=names("readline read"),
        look=_endless_line,
    ),
    Check(
        Rule(
            "endless-receiving",
            "What is received is kept until the sender stops",
            Severity.MEDIUM,
            Confidence.LOW,
            "A sender that does not stop fills the memory. Stop at a length of your own.",
            bad='def read_all(connection):\n    data = b""\n    while True:\n        part = connection.recv(4096)\n'
            "        if not part:\n            return data\n        data += part",
            good='def read_all(connection):\n    data = b""\n    while len(data) < 1 << 20:\n'
            "        part = connection.recv(4096)\n        if not part:\n            break\n        data += part\n"
            "    return data",
            cwe=(835, 770),
        ),
        nodes=(ast.While,),
        look=_endless_receiving,
    ),
    Check(
        Rule(
            "unbounded-decompression",
            "What a stranger compressed is unpacked whole",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "A few kilobytes become gigabytes. Unpack with max_length, or read a stream with a limit.",
            bad="import zlib\nfrom flask import request\n\ndef unpack(body):\n    return zlib.decompress(body)\n\n"
            '@app.route("/in", methods=["POST"])\ndef take():\n    return handle(unpack(request.data))',
            good="import zlib\nfrom flask import request\n\ndef unpack(body):\n"
            "    return zlib.decompressobj().decompress(body, 1 << 20)\n\n"
            '@app.route("/in", methods=["POST"])\ndef take():\n    return handle(unpack(request.data))',
            cwe=(409, 400),
        ),
        sinks=(
            Sink(
                "decompress",
                Use.SIZE,
                names=names(
                    "gzip.decompress zlib.decompress bz2.decompress lzma.decompress brotli.decompress"
                ),
                accepts=_stranger_compressed,
            ),
        ),
        grades=(Severity.MEDIUM, None, None),
    ),
)
