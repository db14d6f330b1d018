"""Untrusted paths, uploads, temporary files."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, leaves, word_set
from codeguard.analysis.rules.insecure.surroundings import of_own_folder
from codeguard.analysis.rules.insecure.words import last_name
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unparse, walk
from codeguard.flow.outside import SAID
from codeguard.flow.sinks import Sink, SinkHit
from codeguard.flow.tables import ANSWER
from codeguard.flow.values import RESOLVED, Origin, Use
from codeguard.models import Confidence, Severity
from codeguard.syntax.names import Names

_RULES = rules_of(__file__)

_TEMPORARY = lazy(r"^(?:/tmp/|/var/tmp/|/dev/shm/)[\w…]")


def _is_path(names: Names, call: ast.Call, name: str) -> bool:
    return not name.startswith(("gzip.GzipFile", ":"))


def _path_itself(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a method belongs to a path, since `open` has many other meanings."""
    return not name.endswith("open") or name.startswith("pathlib.")


def _is_composed(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether an argument that may be an open file is a path: it is put together from parts."""
    given = call.args[0] if call.args else None
    values = [] if given is None else [given, *names.values_of(given)]
    return any(
        isinstance(value, ast.JoinedStr | ast.BinOp)
        or (
            isinstance(value, ast.Call)
            and names.called(value).endswith(("path.join", "Path", "joinpath", "safe_join"))
        )
        for value in values
    )


_LOOKS_INTO = ("magic", "imghdr", "filetype", "image.open", "sniff", "what(", "signature", "puremagic")


def _by_claimed_type(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find uploads checked by the claimed type: `if upload.content_type == "image/png": upload.save(…)`."""
    assert isinstance(node, ast.Compare)
    if not isinstance(node.left, ast.Attribute) or node.left.attr not in ("content_type", "mimetype"):
        return
    function = view.function_of(node)
    if (
        function is None
        or not view.is_route(node)
        or view.has(*_LOOKS_INTO)
        or view.has("splitext", "suffix")
    ):
        return
    holder = node.left.value
    kept = any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("save", "read", "chunks")
        and ast.dump(part.func.value) == ast.dump(holder)
        for part in walk(function)
    )
    if kept:
        yield NodeMatch(node, "the sender says what the file is: look into it")


_BY_FORMS = lazy(r"^clean_|^validate_")


def _claimed_in_form(view: View, node: ast.Compare | ast.Call) -> Iterator[NodeMatch]:
    """Find a form that asks an upload's sender alone what it is: `picture.content_type.startswith("image/")`."""
    holder = node.left if isinstance(node, ast.Compare) else getattr(node.func, "value", None)
    function, statement = view.function_of(node), view.statement(node)
    if not isinstance(holder, ast.Attribute) or holder.attr != "content_type" or function is None:
        return
    if not _BY_FORMS.search(function.name) or not isinstance(statement, ast.If):
        return
    refuses = isinstance(statement.body[-1], ast.Raise)
    if refuses and not view.has(*_LOOKS_INTO, "splitext", "suffix", "extension", "image.open", "imagefield"):
        yield NodeMatch(node, "the sender says what the file is: look into it")


def _fixed_temporary(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    argument = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and name.startswith("pathlib.Path."):
        made = node.func.value
        if isinstance(made, ast.Name):
            values = view.names.values_of(made)
            made = values[0] if len(values) == 1 else made
        argument = made.args[0] if isinstance(made, ast.Call) and made.args else None
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "urlretrieve":
        argument = node.args[1] if len(node.args) > 1 else None
    mode = view.constant(node, "mode", 1, "r") if name in ("open", "io.open") else "w"
    if name == "pathlib.Path.mkdir":
        kept = view.constant(node, "exist_ok") is True and view.constant(node, "mode", default=0o777) != 0o700
        if not kept:
            return
    if argument is None or not any(letter in str(mode) for letter in "wax+"):
        return
    text = view.names.text(argument) or _beginning(view.names, argument)
    if not text and _in_temporary_folder(view, argument):
        text = "/tmp/…"
    if text and _TEMPORARY.match(text) and "x" not in str(mode):
        yield NodeMatch(node, f"{text!r} can be foreseen: another user may have made it, or a link")


def _in_temporary_folder(view: View, node: ast.expr) -> bool:
    """Return whether a path has a fixed name: `os.path.join(tempfile.gettempdir(), "name")`."""
    for value in [node, *view.names.values_of(node)]:
        parts: list[ast.expr] = []
        if isinstance(value, ast.Call) and view.names.called(value) == "os.path.join":
            parts = value.args
        elif isinstance(value, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in value.values]
        elif isinstance(value, ast.BinOp):
            parts = [value.left, value.right]
        if (
            len(parts) == 2
            and view.names.resolve(parts[0]) == "tempfile.gettempdir()"
            and (view.names.text(parts[1]) or _beginning(view.names, parts[1]))
        ):
            return True
    return False


def _beginning(names: Names, node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        values = names.values_of(node)
        node = values[0] if len(values) == 1 else node
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
        return str(node.values[0].value) + "x"
    if isinstance(node, ast.BinOp):
        return names.text(node.left) or _beginning(names, node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return (names.text(node.func.value) or "").partition("{")[0] + "x"
    return ""


def _looks_at_file(test: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Attribute)
        and part.attr in ("exists", "isfile", "access", "islink", "is_symlink")
        for part in walk(test)
    )


def _check_then_use(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `if os.path.exists(p): … open(p)`, where the file may be replaced in between."""
    assert isinstance(node, ast.If)
    if view.has("st_uid", "s_isreg", "s_islnk"):
        yield from _owner_then_use(view, node)
    if not view.has("exist", "isfile", "access", "link") or not _looks_at_file(node.test):
        return
    yield from _lock_by_name(view, node)
    tested = [
        ast.dump(call.args[0])
        for call in walk(node.test)
        if isinstance(call, ast.Call)
        and call.args
        and view.names.called(call) in ("os.path.exists", "os.path.isfile", "os.access", "os.path.islink")
    ]
    tested += [
        ast.dump(call.func.value)
        for call in walk(node.test)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("exists", "is_symlink")
        and not call.args
    ]
    if not tested:
        return
    access = any(
        isinstance(call, ast.Call) and view.names.called(call) == "os.access" for call in walk(node.test)
    )
    body = [item for statement in (*node.body, *_after(view, node)) for item in walk(statement)]
    for call in body:
        if not isinstance(call, ast.Call):
            continue
        used = view.names.called(call)
        path = call.args[0] if call.args else None
        if isinstance(call.func, ast.Attribute) and call.func.attr in (
            "write_text",
            "write_bytes",
            "unlink",
            "open",
            "chmod",
        ):
            path = call.func.value
        elif used not in (
            "open",
            "os.remove",
            "os.unlink",
            "os.chmod",
            "os.chown",
            "os.rename",
            "shutil.move",
        ):
            continue
        if path is not None and ast.dump(path) in tested:
            changes = used not in ("open",) or any(
                c in str(view.constant(call, "mode", 1, "r")) for c in "wa+"
            )
            strong = access or (changes and used in ("os.chmod", "os.chown", "open"))
            link = any(
                isinstance(part, ast.Attribute) and part.attr in ("islink", "is_symlink")
                for part in walk(node.test)
            )
            access = access or (link and used in ("os.chmod", "os.chown", "open"))
            yield NodeMatch(call, "the file can be swapped after it was looked at", Severity.MEDIUM if access else
                        Severity.LOW, Confidence.MEDIUM if strong else Confidence.LOW)  # fmt: skip
            return


_OWNED = lazy(r"\bst_uid\b|S_ISREG|S_ISLNK|\bst_gid\b")


def _owner_then_use(view: View, node: ast.If) -> Iterator[NodeMatch]:
    """Find `info = os.lstat(path)`, a refusal by its owner, and `open(path)` after it."""
    if not leaves(node.body) or not _OWNED.search(unparse(node.test)):
        return
    held = {part.id for part in walk(node.test) if isinstance(part, ast.Name)}
    asked = [
        ast.dump(value.args[0])
        for part in walk(node.test)
        if isinstance(part, ast.Name) and part.id in held
        for value in view.names.values_of(part)
        if isinstance(value, ast.Call) and view.names.called(value) in ("os.lstat", "os.stat") and value.args
    ]
    for statement in _after(view, node):
        for call in walk(statement):
            if not isinstance(call, ast.Call) or view.names.called(call) != "open" or not call.args:
                continue
            if ast.dump(call.args[0]) in asked and view.argument(call, "opener") is None:
                reason = "the file can be swapped after it was looked at: open it, then fstat"
                yield NodeMatch(call, reason, Severity.MEDIUM)
                return


_LOCK_FILE = lazy(r"lock|(?:^|_|\.)pid(?:$|_|file)", 2)


def _lock_by_name(view: View, node: ast.If) -> Iterator[NodeMatch]:
    """Find a lock that is a file which is looked for, and then written: `if exists(LOCK): exit`, `open(LOCK, "w")`."""
    test = node.test
    if not isinstance(test, ast.Call) or view.names.called(test) not in (
        "os.path.exists",
        "pathlib.Path.exists",
    ):
        return
    path = test.args[0] if test.args else getattr(test.func, "value", None)
    if path is None or not _LOCK_FILE.search(f"{unparse(path)} {view.names.text(path) or ''}"):
        return
    holder = view.parent(node)
    body = getattr(holder, "body", [])
    for statement in body[body.index(node) + 1 :] if node in body else []:
        for call in walk(statement):
            if not isinstance(call, ast.Call) or view.names.called(call) != "open" or not call.args:
                continue
            same = ast.dump(call.args[0]) == ast.dump(path)
            if same and str(view.constant(call, "mode", 1, "r"))[:1] == "w":
                yield NodeMatch(
                    call, "two that start at once both find no lock: open it with x", Severity.MEDIUM
                )
                return


def _after(view: View, node: ast.If) -> list[ast.stmt]:
    """Return the statements after an `if` that leaves the function if the test holds."""
    if not isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue):
        return []
    holder = view.parent(node)
    body = getattr(holder, "body", [])
    return body[body.index(node) + 1 :] if node in body else []


def _whole_path(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a parameter is a complete path that the caller wants to open."""
    if origin.tag != SAID:
        return False
    listed = [hit.argument, *view.names.values_of(hit.argument)]
    return any(
        isinstance(item, ast.Name) and item.id == origin.parameter for item in map(_path_inside, listed)
    )


_PIECE = lazy(
    r"(?:^|_)(?:file|doc|document|report|image|avatar|page|slug|attachment|template|user|customer|tenant|project|key|upload|photo"
    r"|theme|lang|language|locale|log|invoice|export|backup|sel|selector|member|plugin|module)_?(?:name|id|path|key)?$"
    r"|^(?:f|s)?name$|_name$"
)


def _below_folder(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a name from the caller is appended to a fixed folder."""
    if not _PIECE.search(origin.what.lower()):
        return False
    firsts = list(_first_parts(view, hit.argument))
    # `normpath(root + "/" + name)` without a comparison of the two
    resolved = RESOLVED in hit.value.clean
    return any(
        _fixed_folder(view, first)
        or (
            resolved
            and _FOLDER.search(last_name(first).lower()) is not None
            and not of_own_folder(view, first)
        )
        for first in firsts
    )


_FOLDER = lazy(r"root|base|public|www|upload|media|static|docs?$|files$|store|folder|dir(?:ectory)?$")


def _first_parts(view: View, node: ast.expr) -> Iterator[ast.expr]:
    """Yield the first part of each path that a value is joined from."""
    for value in (node, *view.names.values_of(node)):
        inner = _path_inside(value)
        for item in (inner, *view.names.values_of(inner)):
            if isinstance(item, ast.Call) and len(item.args) > 1:
                if view.names.called(item) in ("os.path.join", "pathlib.Path"):
                    yield item.args[0]
            elif isinstance(item, ast.BinOp) and isinstance(item.op, ast.Div | ast.Add):
                left = item.left
                while isinstance(left, ast.BinOp):
                    left = left.left
                yield left
            elif isinstance(item, ast.JoinedStr) and len(item.values) > 1:
                yield item.values[0]


def _fixed_folder(view: View, node: ast.expr) -> bool:
    """Return whether a value is a fixed folder, but not the module's own: `"/srv/files/"`, `UPLOADS`."""
    if isinstance(node, ast.FormattedValue):
        node = node.value
    text = view.names.text(node)
    if text is not None:
        return "/" in text or isinstance(node, ast.Name)
    if not (isinstance(node, ast.Name) and node.id.isupper()):
        return False
    return not of_own_folder(view, node)


def _path_inside(node: ast.expr) -> ast.expr:
    """Return the argument of conversions such as `Path(name)` or `path.resolve()`."""
    while isinstance(node, ast.Call):
        if len(node.args) == 1 and not node.keywords:
            node = node.args[0]
        elif not node.args and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            break
    return node


CHECKS = (
    Check(
        _RULES["path-traversal"],
        sinks=(
            Sink(
                "path",
                Use.PATH,
                names=word_set(
                    "open io.open codecs.open os.open os.remove os.unlink os.rmdir shutil.rmtree os.listdir os.scandir "
                    "flask.send_file django.http.FileResponse fastapi.responses.FileResponse aiofiles.open "
                    "starlette.responses.FileResponse FileResponse send_file os.makedirs os.mkdir "
                    "pathlib.Path.read_text pathlib.Path.read_bytes pathlib.Path.write_text pathlib.Path.write_bytes "
                    "pathlib.Path.open pathlib.Path.unlink aiohttp.web.FileResponse zipfile.ZipFile tarfile.open "
                    "os.walk os.chdir os.chmod os.truncate glob.glob linecache.getline shutil.make_archive "
                    "quart.send_file "
                    "sanic.response.file sanic.response.file_stream aiofiles.os.remove aiofiles.os.unlink "
                    "flask.send_from_directory sqlite3.connect logging.FileHandler dbm.open"
                ),
                arguments=(0, "file", "path", "filename"),
                accepts=_is_path,
            ),
            Sink(
                "path-second",
                Use.PATH,
                names=word_set(
                    "shutil.copy shutil.copyfile shutil.copy2 shutil.move os.rename os.replace shutil.copytree"
                ),
                arguments=(0, 1),
            ),
            Sink(
                "path-or-file",
                Use.PATH,
                names=word_set(
                    "gzip.open bz2.open lzma.open PIL.Image.open numpy.loadtxt numpy.genfromtxt numpy.fromfile "
                    "numpy.load pandas.read_csv pandas.read_json pandas.read_excel pandas.read_parquet "
                    "openpyxl.load_workbook docx.Document wave.open h5py.File pypdf.PdfReader PyPDF2.PdfReader "
                    "fitz.open soundfile.read rasterio.open xlrd.open_workbook"
                ),
                arguments=(0, "file", "path", "filename"),
                accepts=_is_composed,
            ),
            Sink(
                "path-receiver",
                Use.PATH,
                methods=word_set("read_text read_bytes write_text write_bytes unlink open iterdir"),
                arguments=(),
                receiver=True,
                accepts=_path_itself,
            ),
        ),
        grades=(Severity.HIGH, None, Severity.LOW),
        tags=frozenset({"input", SAID}),
        also={ANSWER: Severity.MEDIUM},
        is_usual=_whole_path,
        counts=_below_folder,
    ),
    Check(
        _RULES["file-upload"],
        nodes=(ast.Compare,),
        methods=word_set("startswith"),
        look=lambda view, node, name: [
            *(_by_claimed_type(view, node, name) if isinstance(node, ast.Compare) else ()),
            *(_claimed_in_form(view, node) if isinstance(node, ast.Compare | ast.Call) else ()),
        ],
        sinks=(
            Sink(
                "upload",
                Use.PATH,
                methods=word_set("save"),
                arguments=(0, "dst"),
                accepts=lambda names, call, name: bool(call.args),
            ),
            Sink("upload-kind", Use.FILE_NAME, methods=word_set("save"), arguments=(0, "dst")),
        ),
        grades=(Severity.HIGH, None, None),
    ),
    Check(
        _RULES["predictable-temporary-file"],
        calls=word_set(
            "open io.open pathlib.Path.write_text pathlib.Path.write_bytes os.mkdir os.makedirs "
            "pathlib.Path.mkdir"
        ),
        methods=word_set(
            "to_parquet to_csv to_pickle to_json to_excel to_feather to_hdf savefig tofile write_parquet write_csv "
            "write_image save_pretrained urlretrieve"
        ),
        look=_fixed_temporary,
    ),
    Check(
        _RULES["check-then-use"],
        nodes=(ast.If,),
        look=_check_then_use,
    ),
)
