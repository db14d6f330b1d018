"""Untrusted text that is executed, rendered as a template, or used as a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, parameters_of, word_set
from codeguard.analysis.rules.insecure.surroundings import of_own_folder
from codeguard.analysis.rules.insecure.words import last_name, mentions
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, walk
from codeguard.flow.sinks import Sink, SinkHit
from codeguard.flow.tables import ANSWER, FILE_READS, STORED
from codeguard.flow.values import Origin, Reach, Use
from codeguard.models import Severity
from codeguard.syntax.literal_text import HOLE
from codeguard.syntax.names import Names

_RULES = rules_of(__file__)


_ENGINES = lazy(r"template|environment|engine|env$|jinja")


def _template_method(names: Names, call: ast.Call, name: str) -> bool:
    """Return whether a `from_string` belongs to a template engine, not to another class."""
    assert isinstance(call.func, ast.Attribute)
    owner = last_name(call.func.value)
    other = owner[:1].isupper() and not mentions(owner, _ENGINES)
    return not name.startswith("string.") and not other and "Sandboxed" not in name


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


def _begins_fixed(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether a name has a fixed prefix, as in `getattr(self, "do_" + command)`."""
    return hit.sink.key == "reflection" and len(view.writer.text(hit.argument).partition(HOLE)[0]) > 2


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
)
