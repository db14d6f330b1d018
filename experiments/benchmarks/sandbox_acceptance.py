"""How much ordinary code the sandbox accepts: every doctested function of known libraries, in both tiers.

    python experiments/benchmarks/sandbox_acceptance.py --packages DIR [--json FILE]

DIR is a site-packages directory with more-itertools, toolz, boltons and
sortedcontainers; the standard library's pure-Python modules that compute (and
neither introspect nor touch the system) are added.
Each function is one job: its module's source (with what it imports from its
own package put in front) and all examples of its docstring. Only functions
whose examples pass outside the sandbox, in a plain interpreter, are counted.
"""

from __future__ import annotations

import argparse
import ast
import collections
import doctest
import importlib
import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

from codeguard.sandbox import Call, Job, Limits, Outcome, Sandbox, Status, Tier

LIBRARIES = ("more_itertools", "toolz", "boltons", "sortedcontainers")
STANDARD = tuple(
    " ".join(
        (
            "base64 bisect calendar collections colorsys contextlib copy dataclasses datetime _pydecimal difflib enum",
            "fnmatch fractions functools graphlib heapq html html.parser ipaddress json json.decoder json.encoder",
            "keyword numbers operator pprint quopri random reprlib shlex statistics string textwrap types",
            "urllib.parse uuid",
        )
    ).split()
)
LIMITS = Limits(wall_s=10.0, cpu_s=8.0)

MARK = "\x00"
HARNESS = f"""
def _show(value):
    if value is not None:
        print(repr(value))
def _failed(error):
    kind = type(error)
    plain = kind.__module__ in ("builtins", "__main__", "candidate")
    print("Traceback (most recent call last):")
    print(kind.__qualname__ if plain else kind.__module__ + "." + kind.__qualname__, error, sep=": ")
def _next():
    print({MARK!r}, end="")
"""


@dataclass(frozen=True)
class Subject:
    """One doctested function: its examples, and the source that defines it."""

    name: str
    library: str
    source: str
    test: doctest.DocTest


def inlined(module: ModuleType, package: str, done: set[str]) -> str:
    """Return a module's source with the modules of its own package in the place of their imports."""
    done.add(module.__name__)
    assert module.__file__ is not None
    text = Path(module.__file__).read_text(encoding="utf-8")
    lines = text.splitlines()
    imports = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and not node.col_offset
    ]
    pieces: dict[int, str] = {}
    for node in sorted(imports, key=lambda node: node.lineno):
        base = node.module or ""
        name = f"{package}.{base}".rstrip(".") if node.level else base
        if name.partition(".")[0] != package:
            continue
        renamed = [
            f"{alias.asname} = {alias.name}" for alias in node.names if alias.asname not in (None, alias.name)
        ]
        sibling = "" if name in done else inlined(importlib.import_module(name), package, done)
        end = node.end_lineno or node.lineno
        lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
        pieces[node.lineno - 1] = "\n".join([sibling, *renamed])
    for index, piece in pieces.items():
        lines[index] = piece
    return _joined(["\n".join(lines)])


def _joined(parts: list[str]) -> str:
    lines = "\n".join(parts).splitlines()
    future = [line for line in lines if line.startswith("from __future__ import")]
    return "\n".join([*sorted(set(future)), *(line for line in lines if line not in future)]) + "\n"


def subjects(names: list[str], library: str) -> Iterator[Subject]:
    """Yield the doctested functions and classes of modules."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if not (module.__file__ or "").endswith(".py"):
            continue
        source = ""
        for test in finder.find(module, name):
            if test.examples and test.name != name and ".__test__." not in test.name:
                subject = Subject(test.name, library, "", test)
                done: set[str] = set()
                extra = [
                    inlined(importlib.import_module(other), library, done)
                    for other in sorted(own_names(subject) - {name})
                    if other not in done
                ]
                if extra:
                    yield Subject(test.name, library, _joined([*extra, inlined(module, library, done)]), test)
                    continue
                source = source or inlined(module, library, set())
                yield Subject(test.name, library, source, test)


def passes_outside(subject: Subject) -> bool:
    """Whether the examples pass twice in this interpreter, without a sandbox."""
    for _ in range(2):
        runner = doctest.DocTestRunner(verbose=False)
        test = doctest.DocTest(
            subject.test.examples, dict(subject.test.globs), subject.name, None, None, subject.test.docstring
        )
        if runner.run(test, out=lambda text: None, clear_globs=False).failed:
            return False
    return True


class _Shown(ast.NodeTransformer):
    """Makes expression statements show their value, as the interactive interpreter does."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return ast.copy_location(ast.Expr(ast.Call(ast.Name("_show", ast.Load()), [node.value], [])), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def examples(subject: Subject) -> list[doctest.Example]:
    """Return the examples that doctest would run; none where one of them does not parse."""
    try:
        for example in subject.test.examples:
            ast.parse(example.source)
    except SyntaxError:
        return []
    return [example for example in subject.test.examples if not example.options.get(doctest.SKIP)]


def script(subject: Subject) -> str:
    """Return statements that run the examples one after another, each showing what it gives."""
    parts = [HARNESS]
    for example in examples(subject):
        tree = ast.parse(example.source)
        tree.body = [node for node in tree.body if not _own_import(node, subject.library)]
        body = ast.unparse(ast.fix_missing_locations(_Shown().visit(tree))) or "pass"
        parts.append(
            f"try:\n{textwrap.indent(body, '    ')}\nexcept Exception as _error:\n    _failed(_error)\n_next()"
        )
    return "\n".join(parts)


def _own_import(node: ast.stmt, library: str) -> bool:
    return isinstance(node, ast.ImportFrom) and _root(node) == library


def own_names(subject: Subject) -> set[str]:
    """Return the modules of the library whose names the examples import."""
    found = set()
    for example in examples(subject):
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.ImportFrom) and _root(node) == subject.library:
                module = importlib.import_module(node.module or "")
                for alias in node.names:
                    found.add(getattr(getattr(module, alias.name, None), "__module__", "") or "")
    return {name for name in found if name.partition(".")[0] == subject.library}


def _root(node: ast.ImportFrom) -> str:
    return (node.module or "").partition(".")[0]


def verdict(sandbox: Sandbox, subject: Subject, tier: Tier) -> tuple[str, str]:
    """Return pass, fail or why not, and a cause."""
    result = sandbox.run(Job(subject.source, (Call("None", None, setup=script(subject)),), tier, LIMITS))
    if result.status is not Status.COMPLETED:
        return str(result.status), result.detail
    (call,) = result.calls
    if call.outcome is not Outcome.RETURNED:
        return str(call.outcome), f"{call.exception[:1]} {call.message}"
    shown = call.stdout.split(MARK)
    checker = doctest.OutputChecker()
    for example, got in zip(examples(subject), shown, strict=False):
        flags = sum(flag for flag, on in example.options.items() if on)
        if example.exc_msg is not None:
            last = got.splitlines()[-1:] or [""]
            if last[0].split(":")[0].rpartition(".")[2] in example.exc_msg:
                continue
        elif checker.check_output(example.want, got, flags):
            continue
        return "fail", f"{example.source.strip()[:60]!r} gave {got[-90:]!r}"
    return ("pass", "") if len(shown) > len(examples(subject)) else ("fail", "output longer than the cap")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    sys.path.append(str(arguments.packages))
    found: list[Subject] = []
    for library in LIBRARIES:
        folder = arguments.packages / library
        names = [
            library,
            *(f"{library}.{path.stem}" for path in sorted(folder.glob("*.py")) if path.stem != "__init__"),
        ]
        found += subjects(names[1:], library)
    found += [subject for name in STANDARD for subject in subjects([name], name.partition(".")[0])]
    counted = [subject for subject in found if examples(subject) and passes_outside(subject)]
    rows = []
    with Sandbox() as sandbox:
        for subject in counted:
            restricted = verdict(sandbox, subject, Tier.RESTRICTED)
            native = verdict(sandbox, subject, Tier.NATIVE) if restricted[0] != "pass" else ("", "")
            rows.append({"name": subject.name, "restricted": restricted, "native": native})
    total = len(rows)
    refused = [row for row in rows if row["restricted"][0] in ("policy", "unsupported")]
    passed = [row for row in rows if row["restricted"][0] == "pass"]
    either = [row for row in rows if "pass" in (row["restricted"][0], row["native"][0])]
    accepted = [
        row
        for row in rows
        if row not in refused or row["native"][0] not in ("policy", "unsupported", "error")
    ]
    print(f"functions with doctests: {len(found)}, of which pass outside the sandbox: {total}")
    print(
        f"restricted tier: accepted {total - len(refused)} ({1 - len(refused) / total:.1%}), pass {len(passed)}"
    )
    print(
        f"both tiers: accepted {len(accepted)} ({len(accepted) / total:.1%}), "
        f"pass {len(either)} ({len(either) / total:.1%})"
    )
    causes = collections.Counter(
        f"{row['restricted'][0]}: {row['restricted'][1][:70]}" for row in rows if row not in passed
    )
    print("\nnot passed in the restricted tier, by cause:")
    for cause, count in causes.most_common(40):
        print(f"  {count:4} {cause}")
    print("\npassed in neither tier:")
    for row in rows:
        if row not in either:
            print(f"  {row['name']}: {row['native'][0]} {row['native'][1][:110]}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"functions": total, "rows": rows}, indent=1, default=asdict))


if __name__ == "__main__":
    main()
