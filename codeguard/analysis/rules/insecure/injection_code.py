"""Untrusted text that is executed, rendered as a template, or used as a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.python.dataflow.sinks import Sink, SinkHit
from codeguard.analysis.python.dataflow.tables import ANSWER, FILE_READS, STORED
from codeguard.analysis.python.dataflow.values import Origin, Reach, Use
from codeguard.analysis.python.literal_text import HOLE
from codeguard.analysis.python.names import Names
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, parameters_of, word_set
from codeguard.analysis.rules.insecure.surroundings import of_own_folder
from codeguard.analysis.rules.insecure.words import last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)


_ENGINES = lazy(r"template|environment|engine|env$|jinja")


def _template_method(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a `from_string` belongs to a template engine, not to another class."""
    assert isinstance(call.func, ast.Attribute)
    owner = last_name(call.func.value)
    other = owner[:1].isupper() and not mentions(owner, _ENGINES)
    return not name.startswith("string.") and not other and "Sandboxed" not in name


def _own_format(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether the format text itself, not only its arguments, may be untrusted."""
    assert isinstance(call.func, ast.Attribute)
    return not isinstance(call.func.value, ast.Constant) and bool(call.args or call.keywords)


def _empty_globals(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `eval(x, {"__builtins__": {}})`, which is not a sandbox."""
    assert isinstance(node, ast.Call)
    given = view.argument(node, "globals", 1)
    if (
        isinstance(given, ast.Dict)
        and any(key is not None and view.names.text(key) == "__builtins__" for key in given.keys)
        and not isinstance(node.args[0], ast.Constant)
    ):
        yield NodeMatch(node, f"{name} without builtins is no sandbox: objects lead back to all classes")


def _runs_file(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a file is executed by its path, as `import` does: `exec(compile(f.read(), path, "exec"))`."""
    given = hit.argument
    if origin.what.removesuffix("()") not in FILE_READS:
        return False
    if _reads_beside_itself(view, given):
        return True
    return (
        isinstance(given, ast.Call)
        and view.names.called(given) == "compile"
        and len(given.args) > 1
        and view.names.text(given.args[1]) is None
    )


def _reads_beside_itself(view: View, node: ast.expr) -> bool:
    """Return whether what is read comes with the module: its path is built from `__file__`, or written in full."""
    waiting: list[ast.expr] = [node]
    for part in walk(node):
        if isinstance(part, ast.Name):
            waiting += view.names.values_of(part)
    opened = [
        part
        for item in waiting
        for part in walk(item)
        if isinstance(part, ast.Call)
        and view.names.called(part) in ("open", "io.open", "codecs.open")
        and part.args
    ]
    return bool(opened) and all(
        of_own_folder(view, part.args[0]) or _is_own_module(view.names.text(part.args[0])) for part in opened
    )


def _is_own_module(path: str | None) -> bool:
    """Return whether a written path names a Python file relative to the working directory: `../pkg/version.py`."""
    return (
        path is not None
        and path.endswith(".py")
        and not path.startswith(("/", "~", "\\"))
        and ":" not in path
    )


def _runs_elsewhere(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether the caller provides the code and both namespaces, or they belong to a frame.

    `exec(code, globals, locals)` is then part of a debugger or a profiler, which runs code like
    `exec` itself. The same holds for `eval(text, self.namespace)` and subclasses of an interpreter.
    """
    assert isinstance(hit.call, ast.Call)
    spaces = hit.call.args[1:3]
    if origin.reach is not Reach.REMOTE and spaces and isinstance(spaces[0], ast.Attribute):
        return True
    if origin.reach is Reach.CALLER and _of_super(hit.call):
        return True
    given = parameters_of(view.function_of(hit.call))
    handed = all(isinstance(space, ast.Name) and space.id in given for space in spaces)
    of_frame = any(
        isinstance(value, ast.Attribute) and value.attr == "f_globals"
        for value in (spaces[:1] and [spaces[0], *view.names.values_of(spaces[0])])
    )
    return origin.reach is not Reach.REMOTE and len(spaces) == 2 and (handed or of_frame)


def _of_super(call: ast.Call) -> bool:
    """Return whether a call delegates to the same method of the base class."""
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(holder, ast.Call) and isinstance(holder.func, ast.Name) and holder.func.id == "super"


def _makes_function(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether `exec(source, space)` creates a function that is read from `space`, as decorators do."""
    call = hit.call
    if origin.reach is not Reach.CALLER or not isinstance(call, ast.Call) or len(call.args) < 2:
        return False
    space, function = call.args[-1], view.function_of(call)
    if view.names.called(call) != "exec" or not isinstance(space, ast.Name) or function is None:
        return False
    return space.id not in parameters_of(function) and any(
        isinstance(part, ast.Subscript)
        and isinstance(part.ctx, ast.Load)
        and isinstance(part.value, ast.Name)
        and part.value.id == space.id
        and part.lineno > call.lineno
        for part in walk(function)
    )


def _model(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a call creates or updates a model object from a mapping unpacked into keywords."""
    spread = [item.value for item in call.keywords if item.arg is None]
    if all(isinstance(value, ast.Dict) and None not in value.keys for value in spread):
        return False  # a mapping with literal keys
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return False  # the called object is a function returned by another call
    last = name.rpartition(".")[2]
    if (
        name.endswith("()")
        or last.endswith(
            ("Response", "Payload", "Request", "Schema", "Input", "Params", "Query", "Body", "DTO")
        )
        or any(isinstance(item, ast.Starred) for item in call.args)
    ):
        return False  # what is sent or answered has no columns; `*args, **kwargs` are passed on by decorators
    written = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
    return (
        last[:1].isupper()
        or written[:1].isupper()
        or ".objects." in name
        or written in ("create", "update")
        or (written == "values" and name.startswith("sqlalchemy."))
    )


def _row(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a mapping's keys name columns: `query.filter(…).update(data)`."""
    assert isinstance(call.func, ast.Attribute)
    holder = call.func.value
    if call.func.attr != "update":
        return True
    if isinstance(holder, ast.Attribute):
        return holder.attr in ("__dict__", "environ", "config")
    return (
        isinstance(holder, ast.Call)
        and isinstance(holder.func, ast.Attribute)
        and holder.func.attr in ("filter", "filter_by", "where")
    ) or (isinstance(holder, ast.Call) and names.called(holder) in ("globals", "vars", "locals"))


def _begins_fixed(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a name has a fixed prefix, as in `getattr(self, "do_" + command)`."""
    return hit.sink.key == "reflection" and len(view.writer.text(hit.argument).partition(HOLE)[0]) > 2


_SENT_FIELDS = lazy(
    r"^(?:data|payload|fields|values|changes|updates|form|body|json|params|patch|attrs|attributes|input)$"
)
_UPDATES = lazy(r"update|edit|apply|patch|save|change|modify|set_profile")


def _sets_fields(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a loop sets a row's fields: `for key, value in data.items(): setattr(user, key, value)`."""
    function = view.function_of(hit.call)
    called = hit.call.args[0] if isinstance(hit.call, ast.Call) and hit.call.args else None
    if (
        hit.sink.key != "setattr"
        or not isinstance(called, ast.Name)
        or called.id in ("self", "cls")
        or function is None
    ):
        return False
    return (
        _SENT_FIELDS.match(origin.parameter) is not None
        and _UPDATES.search(function.name.lower()) is not None
        and any(
            isinstance(part, ast.Attribute) and part.attr in ("save", "commit", "flush", "put", "refresh")
            for part in walk(function)
        )
    )


_PATTERN = lazy(r"pattern|template|fmt|format|layout|greeting|caption|text")


def _of_object(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `pattern.format(photo=photo)`, where a pattern reads all attributes of an object of the file."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    holder = node.func.value if isinstance(node.func, ast.Attribute) else None
    if function is None or not isinstance(holder, ast.Name) or not _PATTERN.search(holder.id.lower()):
        return
    if "str()" not in view.names.names_of(holder) or holder.id not in parameters_of(function):
        return
    for given in (*node.args, *(item.value for item in node.keywords)):
        kind = view.names.resolve(given) if isinstance(given, ast.Name) else ""
        if kind.startswith(":") and kind.endswith("()") and view.names.definition(kind) is not None:
            yield NodeMatch(node, f"{holder.id} may read what hangs on {given.id}: {{{given.id}.__class__…}}")  # type: ignore[attr-defined]
            return


def _named_by_message(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a module whose name a message brings: `import_module(json.loads(raw)["job"].rpartition(".")[0])`."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    given = node.args[0] if node.args else None
    if function is None or not isinstance(given, ast.Name) or not view.has("loads(", "unpackb("):
        return
    reached = {given.id}
    parts = [part for part in walk(function) if isinstance(part, ast.Assign)]
    for _ in range(3):
        for part in parts:
            bound = {
                item.id for target in part.targets for item in walk(target) if isinstance(item, ast.Name)
            }
            if bound & reached:
                reached |= {item.id for item in walk(part.value) if isinstance(item, ast.Name)}
    tested = any(
        isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In | ast.NotIn)
        for part in walk(function)
    )
    for part in parts:
        target = part.targets[0]
        read = isinstance(part.value, ast.Call) and unqualified_name(part.value.func) in ("loads", "unpackb")
        if read and isinstance(target, ast.Name) and target.id in reached and not tested:
            yield NodeMatch(node, f"who sends {target.id} decides which module is imported", Severity.MEDIUM)
            return


_CHECKED_NAME = lazy(
    r"startswith\(['\"]_|\bvars\(|__dict__|__slots__|dataclasses|fields\(|isidentifier|allowed|ALLOWED|__annotations__"
)


def _merged(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find attributes that are followed and set by names of data: `merge(value, getattr(target, key))`.

    The names may lead through `__class__` and `__init__` to the globals of the program.
    """
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not view.has("setattr(") or not view.has("getattr("):
        return
    parts = list(walk(node))
    sets = [part for part in parts if isinstance(part, ast.Call) and _reflects(part, "setattr", 3)]
    if len(sets) != 1 or isinstance(sets[0].args[1], ast.Constant):
        return
    follows = False
    for part in parts:
        if not isinstance(part, ast.Call) or not _reflects(part, "getattr", 2):
            continue
        if isinstance(part.args[1], ast.Constant):
            continue
        around = view.parent(part)
        target = around.targets[0] if isinstance(around, ast.Assign) else None
        again = isinstance(around, ast.Call) and unqualified_name(around.func) == node.name
        down = (
            isinstance(target, ast.Name)
            and isinstance(part.args[0], ast.Name)
            and target.id == part.args[0].id
        )
        follows = follows or again or (down and _in_loop(view, part))
    if follows and not _CHECKED_NAME.search(ast.unparse(node)) and _brings(node):
        yield NodeMatch(
            sets[0],
            "names like __class__ lead out of the object: set what the object has, by a list",
            Severity.MEDIUM,
        )


def _reflects(call: ast.Call, name: str, count: int) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name and len(call.args) == count


def _in_loop(view: View, node: ast.AST) -> bool:
    at: ast.AST | None = node
    while at is not None and not isinstance(at, ast.FunctionDef | ast.AsyncFunctionDef):
        at = view.parent(at)
        if isinstance(at, ast.For | ast.While):
            return True
    return False


_SENT = lazy(
    r"^(?:changes|payload|data|source|src|update|updates|patch|overrides|params|body|incoming|values|new)$"
)


def _brings(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a parameter of a function is a mapping that somebody sends."""
    return any(_SENT.match(item.arg) and "items()" in ast.unparse(node) for item in node.args.args)


CHECKS = (
    Check(
        _RULES["code-injection"],
        sinks=(
            Sink(
                "code",
                Use.CODE,
                names=word_set(
                    "eval exec execfile code.InteractiveInterpreter.runsource code.InteractiveConsole.push "
                    "numexpr.evaluate runpy.run_path pandas.eval sympy.sympify "
                    "sympy.parse_expr sympy.parsing.sympy_parser.parse_expr code.InteractiveInterpreter.runcode "
                    "js2py.eval_js execjs.eval lupa.LuaRuntime.execute lupa.LuaRuntime.eval "
                    "IPython.get_ipython.run_cell jinja2.Environment.compile_expression"
                ),
                arguments=(0,),
            ),
            Sink(
                "timed",
                Use.CODE,
                names=word_set("timeit.timeit timeit.repeat"),
                # A bare name may refer to a function, which is called instead of compiled.
                accepts=lambda names, call, name: (
                    bool(call.args)
                    and not (isinstance(call.args[0], ast.Name) and not names.values_of(call.args[0]))
                ),
            ),
            Sink(
                "code-method",
                Use.CODE,
                methods=word_set("eval query"),
                arguments=(0, "expr"),
                accepts=lambda names, call, name: name.startswith("pandas."),
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
        is_usual=lambda view, hit, origin: (
            _runs_file(view, hit, origin)
            or _runs_elsewhere(view, hit, origin)
            or _makes_function(view, hit, origin)
        ),
        also={STORED: Severity.MEDIUM},
    ),
    Check(
        _RULES["eval-sandbox"],
        calls=word_set("eval exec"),
        look=_empty_globals,
    ),
    Check(
        _RULES["template-injection"],
        sinks=(
            Sink(
                "template",
                Use.TEMPLATE,
                names=word_set(
                    "jinja2.Template jinja2.Environment.from_string "
                    "mako.template.Template "
                    "jinja2.environment.Template django.template.Template tornado.template.Template "
                    "bottle.template bottle.SimpleTemplate "
                    "chameleon.PageTemplate genshi.template.MarkupTemplate tornado.template.Template "
                    "Cheetah.Template.Template web.template.Template mako.lookup.TemplateLookup.put_string "
                    "django.template.engines.from_string"
                ),
                arguments=(0, "source", "template", "text"),
            ),
            Sink(  # its other keywords are values for the template
                "template-string",
                Use.TEMPLATE,
                names=word_set(
                    "flask.render_template_string quart.render_template_string render_template_string"
                ),
                arguments=(0, "source"),
            ),
            Sink("template-method", Use.TEMPLATE, methods=word_set("from_string"), accepts=_template_method),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.LOW),
        also={STORED: Severity.MEDIUM},
        # Templates are read from files of the program.
        is_usual=lambda view, hit, origin: origin.reach is Reach.LOCAL and "read" in origin.what,
    ),
    Check(
        _RULES["format-injection"],
        sinks=(
            Sink(
                "format",
                Use.FORMAT,
                methods=word_set("format format_map"),
                arguments=(),
                receiver=True,
                accepts=_own_format,
            ),
        ),
        methods=word_set("format"),
        look=_of_object,
        grades=(Severity.MEDIUM, None, None),
    ),
    Check(
        _RULES["unsafe-reflection"],
        sinks=(
            Sink("reflection", Use.NAME, names=word_set("getattr"), arguments=(1,)),
            Sink(
                "namespace",
                Use.NAME,
                names=word_set("globals()[] locals()[] vars()[] globals.get locals.get vars.get"),
            ),
            Sink(
                "library",
                Use.NAME,
                names=word_set(
                    "ctypes.CDLL ctypes.WinDLL ctypes.cdll.LoadLibrary ctypes.PyDLL cffi.FFI.dlopen "
                    "sqlite3.connect.load_extension"
                ),
            ),
            Sink(
                "import",
                Use.NAME,
                names=word_set(
                    "importlib.import_module __import__ django.utils.module_loading.import_string "
                    "werkzeug.utils.import_string pydoc.locate"
                ),
            ),
            Sink(
                "module-file",
                Use.NAME,
                names=word_set(
                    "importlib.util.spec_from_file_location importlib.machinery.SourceFileLoader imp.load_source "
                    "importlib.machinery.ExtensionFileLoader importlib.machinery.SourcelessFileLoader"
                ),
                arguments=(1, "location", "path"),
            ),
        ),
        grades=(Severity.HIGH, Severity.LOW, None),
        tags=frozenset({"input", ANSWER}),
        calls=word_set("importlib.import_module"),
        look=_named_by_message,
        is_usual=_begins_fixed,
    ),
    Check(
        _RULES["mass-assignment"],
        sinks=(
            Sink("setattr", Use.NAME, names=word_set("setattr object.__setattr__"), arguments=(1,)),
            Sink("attributes", Use.KEYS, methods=word_set("update insert_one"), arguments=(0,), accepts=_row),
            Sink("model", Use.KEYS, arguments=("**",), accepts=_model, any_call=True),
        ),
        grades=(Severity.HIGH, None, Severity.MEDIUM),
        tags=frozenset({"input"}),
        nodes=FUNCTIONS,
        look=_merged,
        counts=_sets_fields,
    ),
)
