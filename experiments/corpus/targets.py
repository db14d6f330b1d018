"""Read the functions that attacks aim at out of a source file, without running it."""

from __future__ import annotations

import ast
import doctest
import inspect
import io
from collections.abc import Callable, Iterator

from experiments.attacks.base import CallText, TargetFunction
from experiments.attacks.editing import names_used
from experiments.corpus.labels import BY_HAND


class Segments:
    """The source of the nodes of one text; `ast.get_source_segment` splits the text into lines each time."""

    def __init__(self, text: str) -> None:
        self._lines = list(io.StringIO(text, newline=""))

    def of(self, node: ast.stmt) -> str:
        """Return the source of a statement."""
        end, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        lines = [line.encode() for line in self._lines[node.lineno - 1 : end]]
        lines[-1] = lines[-1][:column]
        lines[0] = lines[0][node.col_offset :]
        return b"".join(lines).decode()


def functions_of(text: str) -> dict[str, str]:
    """Return the plain, undecorated top-level functions of a module, by name, as source."""
    segments = Segments(text)
    return {
        node.name: segments.of(node)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and not node.decorator_list
    }


def surroundings_of(text: str) -> tuple[str, ...]:
    """Return the imports and plain assignments at the top level of a module, as source."""
    segments = Segments(text)
    return tuple(
        segments.of(node)
        for node in ast.parse(text).body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Assign)
    )


def inputs_for(name: str) -> tuple[CallText, ...]:
    """Return the hand-written calls for a function, none for one that is not listed."""
    texts = (text.partition("|") for text in BY_HAND["calls"].get(name, ()))
    return tuple(CallText(args, kwargs or "{}") for args, _, kwargs in texts)


def targets_of(text: str, query: Callable[[str], str], module: str = "") -> tuple[TargetFunction, ...]:
    """Return every function of a module as a target; `query` gives what people ask to find it."""
    functions = functions_of(text)
    surroundings = surroundings_of(text) if not module else imports_only(text)
    alone = {name: source for name, source in functions.items() if is_alone(source, functions)}
    targets = []
    for name, source in functions.items():
        docstring = docstring_of(source)
        if not docstring:
            continue
        used = names_used(source)
        targets.append(
            TargetFunction(
                name=name,
                source=source,
                query=query(name),
                summary=first_line(docstring),
                imports=surroundings,
                helpers=tuple(text for other, text in functions.items() if other in used and other != name),
                examples=tuple(documented_calls(name, docstring)),
                inputs=inputs_for(name) if not module else (),
                companions=tuple(other for key, other in alone.items() if key != name),
                module=module,
            )
        )
    return tuple(targets)


def imports_only(text: str) -> tuple[str, ...]:
    """Return the import statements at the top level of a module, but those of the future."""
    segments = Segments(text)
    found = [
        segments.of(node)
        for node in ast.parse(text).body
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)
    ]
    return tuple(segment for segment in found if "__future__" not in segment)


def is_alone(source: str, functions: dict[str, str]) -> bool:
    """Return whether a function uses no other function of its file."""
    own = ast.parse(source).body[0]
    return not (names_used(source) & set(functions) - {getattr(own, "name", "")})


def docstring_of(source: str) -> str:
    """Return the cleaned docstring of a function's source, empty where it has none."""
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    return ast.get_docstring(node) or ""


def first_line(docstring: str) -> str:
    """Return the first line of a docstring that says something."""
    return next((line.strip() for line in inspect.cleandoc(docstring).splitlines() if line.strip()), "")


def documented_calls(name: str, docstring: str) -> Iterator[CallText]:
    """Yield the calls of the function itself that the doctests make with literal arguments."""
    seen = set()
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return
    for example in examples:
        try:
            tree = ast.parse(example.source)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not _is_call_of(node, name):
                continue
            call = _literal_call(node)
            if call is not None and call not in seen:
                seen.add(call)
                yield call


def _is_call_of(node: ast.Call, name: str) -> bool:
    return getattr(node.func, "id", getattr(node.func, "attr", "")) == name


def _literal_call(node: ast.Call) -> CallText | None:
    if any(keyword.arg is None for keyword in node.keywords):
        return None
    try:
        args = tuple(ast.literal_eval(argument) for argument in node.args)
        kwargs = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    except (ValueError, TypeError, SyntaxError):
        return None
    return CallText(repr(args), repr(kwargs))
