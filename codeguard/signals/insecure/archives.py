"""Archives that are unpacked: where their members go, and how large they become."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.flowsinks import Sink
from codeguard.reading.flowvalues import Use
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View, names

_WRITES = names("open io.open os.open os.makedirs os.mkdir shutil.copyfileobj os.symlink")


def _extracts(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    opened = view.names.resolve(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if "tar" not in opened.lower() and not name.startswith("tarfile."):
        return
    if (
        view.constant(node, "filter", default="") in ("data", "tar")
        or view.argument(node, "members") is not None
    ):
        return
    if view.argument(node, "filter") is not None and view.constant(node, "filter") is None:
        return
    if _members_checked(view, node):
        return
    yield Found(node, "members named .. or / are written outside the folder")


def _members_checked(view: View, node: ast.Call) -> bool:
    """Whether the function looks at the members' names and stops before it extracts."""
    function: ast.AST | None = view.function_of(node) or view.reading.tree
    if function is None:
        return False
    before = [item for item in ast.walk(function) if getattr(item, "lineno", 1 << 30) < node.lineno]
    looks = any(
        (
            isinstance(item, ast.Attribute)
            and item.attr in ("name", "filename", "issym", "isfile", "isdir", "isreg")
        )
        or (isinstance(item, ast.Call) and view.names.called(item).endswith(("namelist", "getnames")))
        for item in before
    )
    return looks and any(isinstance(item, ast.Raise | ast.Continue | ast.Return) for item in before)


def _zip_bomb(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    if view.is_route(node) and not _sizes_checked(view, node):
        yield Found(node, f"{name} unpacks what a stranger sent, however large it becomes")


def _sizes_checked(view: View, node: ast.Call) -> bool:
    function = view.function_of(node)
    return function is not None and any(
        (isinstance(item, ast.Attribute) and item.attr in ("file_size", "size", "content_length"))
        or (isinstance(item, ast.keyword) and item.arg == "max_length")
        for item in ast.walk(function)
    )


CHECKS = (
    Check(
        Rule(
            "archive-traversal",
            "An archive is unpacked without a look at its members' names",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "A member named ../../x, or a link, is written elsewhere. Use extractall(filter='data'), or "
            "check each name.",
            bad="import tarfile\n\ndef unpack(path):\n    with tarfile.open(path) as archive:\n"
            '        archive.extractall("/srv/x")',
            good="import tarfile\n\ndef unpack(path):\n    with tarfile.open(path) as archive:\n"
            '        archive.extractall("/srv/x", filter="data")',
            cwe=(22, 29),
        ),
        methods=names("extractall extract"),
        look=_extracts,
        sinks=(
            Sink(
                "archive",
                Use.ARCHIVE,
                names=names("shutil.unpack_archive"),
            ),
        ),
        grades=(Severity.MEDIUM, None, Severity.LOW),
    ),
    Check(
        Rule(
            "archive-member-path",
            "A file is written to a path that an archive's member names",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "A member named ../../x is written elsewhere. Resolve the path and compare it with the folder.",
            bad="import os, zipfile\n\ndef unpack(path, folder):\n    archive = zipfile.ZipFile(path)\n"
            "    for name in archive.namelist():\n"
            '        open(os.path.join(folder, name), "wb").write(archive.read(name))',
            good="import os, zipfile\n\ndef unpack(path, folder):\n    archive = zipfile.ZipFile(path)\n"
            "    for name in archive.namelist():\n"
            '        open(os.path.join(folder, os.path.basename(name)), "wb").write(archive.read(name))',
            cwe=(22, 29),
        ),
        sinks=(
            Sink("member", Use.ARCHIVE, names=_WRITES, arguments=(0, "file", "path")),
            Sink(
                "member-path",
                Use.ARCHIVE,
                methods=names("write_bytes write_text"),
                arguments=(),
                receiver=True,
            ),
        ),
        tags=frozenset({"archive"}),
    ),
    Check(
        Rule(
            "decompression-bomb",
            "What a stranger sent is unpacked without a limit",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "A few kilobytes become gigabytes. Look at the sizes first, or unpack with max_length.",
            bad='import gzip\nfrom flask import request\n\n@app.route("/in", methods=["POST"])\ndef take():\n'
            "    return handle(gzip.decompress(request.data))",
            good='import zlib\nfrom flask import request\n\n@app.route("/in", methods=["POST"])\ndef take():\n'
            "    return handle(zlib.decompressobj().decompress(request.data, max_length=1 << 20))",
            cwe=(409,),
        ),
        calls=names(
            "gzip.decompress zlib.decompress bz2.decompress lzma.decompress zipfile.ZipFile.extractall "
            "zipfile.ZipFile.read brotli.decompress"
        ),
        look=_zip_bomb,
    ),
)
