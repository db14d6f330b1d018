"""Strangers' text that is run, rendered as a template, or used as a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.flowsinks import Hit, Sink
from codeguard.reading.flowtables import FILE_READS, STORED
from codeguard.reading.flowvalues import Origin, Reach, Use
from codeguard.reading.names import Names
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View, names, parameters_of


def _template_method(names: Names, call: ast.Call, name: str) -> bool:
    return not name.startswith("string.")


def _own_format(names: Names, call: ast.Call, name: str) -> bool:
    """Whether the text that is formatted, not what is put in, may be a stranger's."""
    assert isinstance(call.func, ast.Attribute)
    return not isinstance(call.func.value, ast.Constant) and bool(call.args or call.keywords)


def _empty_globals(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`eval(x, {"__builtins__": {}})`: no sandbox, however it looks."""
    assert isinstance(node, ast.Call)
    given = view.argument(node, "globals", 1)
    if (
        isinstance(given, ast.Dict)
        and any(key is not None and view.names.text(key) == "__builtins__" for key in given.keys)
        and not isinstance(node.args[0], ast.Constant)
    ):
        yield Found(node, f"{name} without builtins is no sandbox: objects lead back to all classes")


def _runs_file(view: View, hit: Hit, origin: Origin) -> bool:
    """`exec(compile(f.read(), path, "exec"))`: a file is run by its path, as `import` does."""
    given = hit.argument
    if origin.what.removesuffix("()") not in FILE_READS or not isinstance(given, ast.Call):
        return False
    return (
        view.names.called(given) == "compile"
        and len(given.args) > 1
        and view.names.text(given.args[1]) is None
    )


def _runs_elsewhere(view: View, hit: Hit, origin: Origin) -> bool:
    """Whether whoever gives the code gives both of its namespaces as well, or they are those of a frame.

    `exec(code, globals, locals)` in a function of these is a debugger, a profiler or the like: it runs code
    as `exec` itself does.
    """
    assert isinstance(hit.call, ast.Call)
    spaces = hit.call.args[1:3]
    given = parameters_of(view.function_of(hit.call))
    handed = all(isinstance(space, ast.Name) and space.id in given for space in spaces)
    of_frame = any(
        isinstance(value, ast.Attribute) and value.attr == "f_globals"
        for value in (spaces[:1] and [spaces[0], *view.names.values_of(spaces[0])])
    )
    return origin.reach is not Reach.REMOTE and len(spaces) == 2 and (handed or of_frame)


def _model(names: Names, call: ast.Call, name: str) -> bool:
    """Whether a call makes or updates an object of a model with a mapping spread into its keywords."""
    if not any(item.arg is None for item in call.keywords):
        return False
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return False  # what another call returned is a function
    last = name.rpartition(".")[2]
    written = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
    return (
        last[:1].isupper() or written[:1].isupper() or ".objects." in name or written in ("create", "update")
    )


def _row(names: Names, call: ast.Call, name: str) -> bool:
    """`query.filter(…).update(data)`, `collection.insert_one(data)`, where the mapping's keys name columns."""
    assert isinstance(call.func, ast.Attribute)
    holder = call.func.value
    if call.func.attr != "update":
        return True
    if isinstance(holder, ast.Attribute):
        return holder.attr == "__dict__"
    return (
        isinstance(holder, ast.Call)
        and isinstance(holder.func, ast.Attribute)
        and holder.func.attr in ("filter", "filter_by", "where")
    )


CHECKS = (
    Check(
        Rule(
            "code-injection",
            "A value that others choose is run as Python",
            Severity.HIGH,
            Confidence.HIGH,
            "eval and exec do whatever the text says. For data use ast.literal_eval or json, for choices a mapping.",
            bad="def calculate(formula):\n    return eval(formula)",
            good="import ast\n\ndef calculate(formula):\n    return ast.literal_eval(formula)",
            cwe=(95, 94),
        ),
        sinks=(
            Sink(
                "code",
                Use.CODE,
                names=names(
                    "eval exec execfile code.InteractiveInterpreter.runsource code.InteractiveConsole.push "
                    "numexpr.evaluate runpy.run_path pandas.eval sympy.sympify timeit.timeit timeit.repeat"
                ),
                arguments=(0,),
            ),
            Sink(
                "code-method",
                Use.CODE,
                methods=names("eval"),
                arguments=(0,),
                accepts=lambda n, c, name: "pandas" in name,
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
        is_usual=lambda view, hit, origin: (
            _runs_file(view, hit, origin) or _runs_elsewhere(view, hit, origin)
        ),
        also={STORED: Severity.MEDIUM},
    ),
    Check(
        Rule(
            "eval-sandbox",
            "eval without builtins is taken for a sandbox",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "From any object attributes lead to every class of the interpreter, builtins or not.",
            bad='def calculate(formula):\n    return eval(formula, {"__builtins__": {}})',
            good="import ast\n\ndef calculate(formula):\n    return ast.literal_eval(formula)",
            cwe=(693, 95),
        ),
        calls=names("eval exec"),
        look=_empty_globals,
    ),
    Check(
        Rule(
            "template-injection",
            "A value that others choose becomes part of a template",
            Severity.HIGH,
            Confidence.HIGH,
            "Templates can call Python. The template's text must be fixed; the value goes in as a variable.",
            bad='from flask import request, render_template_string\n\n@app.route("/hello")\ndef hello():\n'
            '    return render_template_string("<h1>" + request.args["name"] + "</h1>")',
            good='from flask import request, render_template_string\n\n@app.route("/hello")\ndef hello():\n'
            '    return render_template_string("<h1>{{ name }}</h1>", name=request.args["name"])',
            cwe=(1336, 94),
        ),
        sinks=(
            Sink(
                "template",
                Use.TEMPLATE,
                names=names(
                    "flask.render_template_string jinja2.Template jinja2.Environment.from_string "
                    "mako.template.Template "
                    "jinja2.environment.Template django.template.Template tornado.template.Template "
                    "render_template_string quart.render_template_string bottle.template"
                ),
                arguments=(0, "source", "template", "text"),
            ),
            Sink("template-method", Use.TEMPLATE, methods=names("from_string"), accepts=_template_method),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.LOW),
        also={STORED: Severity.MEDIUM},
    ),
    Check(
        Rule(
            "format-injection",
            "A value that others choose is used as a format",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "{0.__class__.__init__.__globals__} in a format reads the program's secrets. Fix the format, pass values.",
            bad='from flask import request\n\n@app.route("/greet")\ndef greet(user):\n'
            '    template = request.args["template"]\n    return template.format(user=user)',
            good='from flask import request\n\n@app.route("/greet")\ndef greet(user):\n'
            '    return "Hello {user}".format(user=request.args["name"])',
            cwe=(134,),
        ),
        sinks=(
            Sink(
                "format",
                Use.FORMAT,
                methods=names("format format_map"),
                arguments=(),
                receiver=True,
                accepts=_own_format,
            ),
        ),
        grades=(Severity.MEDIUM, None, None),
    ),
    Check(
        Rule(
            "unsafe-reflection",
            "A value that others choose names what is imported, read or called",
            Severity.HIGH,
            Confidence.MEDIUM,
            "The caller reaches every attribute or module, private and dangerous ones among them. Choose "
            "from a mapping.",
            bad='import importlib\nfrom flask import request\n\n@app.route("/run")\ndef run():\n'
            '    module = importlib.import_module(request.args["module"])\n    return module.main()',
            good='import reports\nfrom flask import request\n\n@app.route("/run")\ndef run():\n'
            '    job = {"report": reports.main}.get(request.args["job"])\n    return job() if job else "unknown"',
            cwe=(470,),
        ),
        sinks=(
            Sink("reflection", Use.NAME, names=names("getattr"), arguments=(1,)),
            Sink(
                "import",
                Use.NAME,
                names=names(
                    "importlib.import_module __import__ django.utils.module_loading.import_string "
                    "werkzeug.utils.import_string pydoc.locate"
                ),
            ),
        ),
        grades=(Severity.HIGH, Severity.LOW, None),
    ),
    Check(
        Rule(
            "mass-assignment",
            "Attributes are set by names that others choose",
            Severity.HIGH,
            Confidence.MEDIUM,
            "The request can set is_admin as well as name. Copy the fields of a fixed list.",
            bad='from flask import request\n\n@app.route("/profile", methods=["POST"])\ndef update(user):\n'
            "    for key, value in request.json.items():\n        setattr(user, key, value)",
            good='from flask import request\n\n@app.route("/profile", methods=["POST"])\ndef update(user):\n'
            '    for key in ("name", "email"):\n        setattr(user, key, request.json[key])',
            cwe=(915,),
        ),
        sinks=(
            Sink("setattr", Use.NAME, names=names("setattr object.__setattr__"), arguments=(1,)),
            Sink("attributes", Use.KEYS, methods=names("update insert_one"), arguments=(0,), accepts=_row),
            Sink("model", Use.KEYS, arguments=("**",), accepts=_model, any_call=True),
        ),
        grades=(Severity.HIGH, None, None),
    ),
)
