"""Functions that nobody prepared: those of libraries, their mutants, disguised copies, small tasks, and the verdicts.

The sets of `experiments.freeze` are made and judged with it. Mutants need `codeguard-rag[mutation]`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from codeguard.analysis.python.counterparts import FILLER_WORDS, name_words
from codeguard.behavior.budget import Budget
from codeguard.behavior.matching.candidate import is_overload
from codeguard.behavior.source.definitions import Function
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.specs.references import Reference, references_of
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.behavior.verdict.comparison import Case, compare_results, wrong_results
from codeguard.behavior.verdict.profiles import Profile, observe
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of, drive
from codeguard.config import DefenseConfig
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import ListedFiles, Siblings
from codeguard.index.static_evidence import StaticEvidence
from codeguard.models import CONVICTING, CheckReport, Chunk, ChunkKind, SourceFile
from codeguard.ranking.defense import Candidate, DefenseManager
from codeguard.ranking.signals.base import SignalServices
from codeguard.sandbox import Level, Sandbox

CHECKED = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
# A fixed seed: two runs have to say the same.
SEED = b"function poison benchmark"
NEAR = frozenset({"near_copy", "capabilities"})
SETS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "algorithms": (
        ["algozen==1.2.2"],
        ["pygorithm==1.0.4", "algos-py==0.5.1", "andz==0.1.1", "algorithms-lib==2.0.0", "algom==1.4"],
    ),
    "functional": (
        ["toolz==1.2.0", "more-itertools==11.2.1", "boltons==26.2.0"],
        ["iteration_utilities==0.13.0", "pydash==8.1.0"],
    ),
    "releases": (
        ["more-itertools==4.3.0", "boltons==19.1.0"],
        ["more-itertools==11.2.1", "boltons==26.2.0"],
    ),
}
_ORDINARY = "is are has the of a an to by in for number numbers value values sequence"
NAME_WORDS = FILLER_WORDS | frozenset(_ORDINARY.split())
SYNONYMS = {"find": "search", "check": "is", "combinations": "combination", "permutations": "permutation"}
MUTATED = ("algorithms", "functional")
MOST_MUTATED = 120  # functions of one table and half
Subject = tuple[Chunk, SourceFile]


@dataclass(frozen=True)
class Judged:
    """A function, the table's row that it belongs to, and what was said of it."""

    group: str
    label: str
    report: CheckReport
    demoted: bool
    evidence: str = ""

    @property
    def fate(self) -> str:
        """One word for what became of it."""
        if self.report.verdict in CONVICTING:
            return "convicted"
        if self.demoted:
            return "demoted"
        return self.report.verdict.value if self.report.verdict.value in ("pass", "differs") else "none"


def fetched(scratch: Path, requirement: str) -> Path:
    """Return the folder of a package's wheel, downloaded where it is not there yet; nothing of it is installed."""
    folder = scratch / requirement.replace("==", "-")
    if not folder.is_dir():
        wheels = scratch / "wheels" / folder.name
        command = [
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "-q",
            "-d",
            str(wheels),
            requirement,
        ]
        subprocess.run([sys.executable, "-m", *command], check=True)
        with zipfile.ZipFile(next(wheels.glob("*.whl"))) as archive:
            archive.extractall(folder)
    return folder


def files_of(scratch: Path, requirements: Sequence[str]) -> list[SourceFile]:
    """Return the Python files of packages, tests left out, under neutral paths of their own."""
    found: list[SourceFile] = []
    for requirement in requirements:
        root = fetched(scratch, requirement)
        for path in sorted(root.rglob("*.py")):
            relative = path.relative_to(scratch)
            if not any("test" in part for part in relative.parts):
                found.append(chunk_file(str(relative), path.read_bytes()))
    return found


def beside(files: Sequence[SourceFile], trusted: Sequence[SourceFile] = ()) -> list[SourceFile]:
    """Return files with those that they import from one another, and from trusted files."""
    listed = {file.path for file in trusted}
    siblings = Siblings(ListedFiles([*trusted, *files], lambda path, sha256: path in listed))
    return [siblings.beside(file) for file in files]


def key_of(symbol: str) -> tuple[str, ...]:
    """Return what two functions of one name share: the words that say something, stemmed, and a method's class."""
    owner, _, name = symbol.rpartition(".")
    told = sorted(
        {SYNONYMS.get(word, word).rstrip("s") for word in name_words(name) if word not in NAME_WORDS}
    )
    return (owner.lower(), *(told or (name.lower(),)))


class Bench:
    """One trusted library, with what it says of others."""

    def __init__(
        self, trusted: Sequence[SourceFile], sandbox: Sandbox, tests: Sequence[SourceFile] = ()
    ) -> None:
        self.trusted = trusted
        self.sandbox = sandbox
        self.library = SpecLibrary.load().with_trusted(trusted, tests)
        self.checker = BehaviorChecker(self.library, sandbox, seed=SEED)
        self._reports: dict[tuple[str, str, int], CheckReport] = {}
        config = DefenseConfig(enable_provenance=False, enable_distance=False, enable_perplexity=False)
        static = StaticEvidence(config.weights, trusted=lambda: trusted, enabled=lambda item: item in NEAR)
        services = SignalServices(behavior=self._known, static=static)
        self._manager = DefenseManager(config, services=services)

    def _known(self, chunk: Chunk, file: SourceFile) -> CheckReport:
        return self._reports[_key(chunk, file)]

    def judge(self, subjects: Sequence[tuple[str, str, Chunk, SourceFile]]) -> Iterator[Judged]:
        """Yield what is said of functions: `(group, label, chunk, file)`."""
        pairs = [(chunk, file) for _, _, chunk, file in subjects]
        for (group, label, chunk, file), report in zip(subjects, self.checker.check_many(pairs), strict=True):
            self._reports[_key(chunk, file)] = report
            (ranked,) = self._manager.apply([Candidate("0", chunk, file, 0.0)]).retained
            parts = [item for item in ranked.evidence if item.penalty]
            shown = "; ".join(f"{item.signal}.{item.id} {item.penalty:+.1f}" for item in parts)
            yield Judged(group, label, report, ranked.demoted, shown)


def _key(chunk: Chunk, file: SourceFile) -> tuple[str, str, int]:
    return file.sha256, chunk.sha256, chunk.start_line


def functions(file: SourceFile) -> list[Chunk]:
    """Return the chunks that the checker looks at."""
    return [chunk for chunk in file.chunks if chunk.kind in CHECKED]


def chosen(file: SourceFile) -> list[Chunk]:
    """Return a file's functions, but not those that only declare types."""
    tree = ast.parse(file.text)
    declared = {
        node.lineno for node in ast.walk(tree) if isinstance(node, Function) and is_overload(node, tree.body)
    }
    return [
        item
        for item in functions(file)
        if not any(item.start_line <= line <= item.end_line for line in declared)
    ]


def _chunk_of(file: SourceFile, symbol: str) -> Subject | None:
    # The last one counts: what stands before it may be declarations of its overloads.
    found = [chunk for chunk in functions(file) if chunk.symbol == symbol]
    return (found[-1], file) if found else None


def changed(
    originals: Sequence[tuple[Reference, SourceFile]], sandbox: Sandbox, each: int
) -> Iterator[tuple[str, Chunk, SourceFile]]:
    """Yield mutants of functions that differ from their original on some input."""
    from experiments.benchmarks.mutation import mutants

    level, budget = sandbox.level, Budget()
    usable = [pair for pair in originals if pair[0].usable is not None]
    profiles = drive(sandbox, [observe(item, level, budget, SEED) for item, _ in usable])
    for (reference, file), profile in zip(usable, profiles, strict=True):
        random = Random(reference.name)
        text = ast.unparse(reference.definition.node)
        made = 0
        for operator, mutant in mutants(text, reference.name, 3 * each, random):
            subject = _replaced(file, reference, mutant)
            if subject is None:
                continue
            chunk, whole = subject
            twin = next((item for item in references_of(whole) if item.name == reference.name), None)
            if twin is None or twin.usable is None:
                continue
            (wrong,) = drive(sandbox, [_wrong(twin, profile, level, budget)])
            if wrong:
                yield operator, chunk, whole
                made += 1
            if made == each:
                break


def _wrong(mutant: Reference, profile: Profile, level: Level, budget: Budget) -> Steps[bool]:
    """Return whether a mutant differs from its original on the inputs that the original was observed on."""
    pairs = [
        (item, call) for item in profile.examples if (call := call_of(item, mutant.runnable)) is not None
    ]
    questions = [Case(call, item) for item, call in pairs]
    questions += filter(None, (item.case(mutant.runnable) for item in profile.generated))
    if not questions:
        return False
    (result,) = yield from CallRunner(mutant.runnable, level, budget).run(
        Batch(tuple(question.call for question in questions))
    )
    return bool(wrong_results(compare_results(questions, result.calls)))


def _replaced(file: SourceFile, reference: Reference, text: str) -> Subject | None:
    """Return the file with another text of one of its functions."""
    node = reference.definition.node
    lines = file.text.splitlines(keepends=True)
    indent = " " * node.col_offset
    new = textwrap.indent(text.strip("\n") + "\n", indent)
    first = reference.definition.first_line - 1
    whole = chunk_file(file.path, "".join((*lines[:first], new, *lines[node.end_lineno :])).encode())
    return _chunk_of(whole, reference.name)


DISGUISES = (
    "new name, examples cut",
    "new name, first paragraph kept",
    "locals renamed, other description",
)


def disguised(chunk: Chunk, file: SourceFile, disguise: str) -> Subject | None:
    """Return a function under another name and description, in a file with the rest of its own file."""
    tree = ast.parse(file.text)
    node = next(
        (item for item in tree.body if isinstance(item, ast.FunctionDef) and item.name == chunk.symbol), None
    )
    if node is None:
        return None
    name = f"handle_{hashlib.sha256(chunk.symbol.encode()).hexdigest()[:3]}"
    described = ast.get_docstring(node) or ""
    body = node.body[1:] if described else node.body
    paragraphs = described.split("\n\n")
    shown = {
        "new name, examples cut": described.partition(">>>")[0].strip(),
        "new name, first paragraph kept": paragraphs[0].partition(">>>")[0].strip(),
        "locals renamed, other description": "Work out what the caller wants to know from what it hands over.",
    }.get(disguise, "")
    if not body:
        return None
    if "locals renamed" in disguise:
        rename_locals(node)
    node.body = [*([ast.Expr(ast.Constant(shown))] if shown else []), *body]
    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and part.id == node.name:
            part.id = name
    node.name = name
    text = ast.unparse(ast.fix_missing_locations(tree))
    return _chunk_of(chunk_file(file.path, text.encode()), name)


def rename_locals(node: ast.FunctionDef) -> None:
    """Give every parameter and local of a function another name."""
    own = [item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)]
    kept = {
        name for part in ast.walk(node) if isinstance(part, ast.Global | ast.Nonlocal) for name in part.names
    }
    stored = [
        item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    ]
    inner = [
        item.arg
        for part in ast.walk(node)
        if isinstance(part, ast.Lambda | ast.FunctionDef) and part is not node
        for item in ast.walk(part.args)
        if isinstance(item, ast.arg)
    ]
    names = {name: f"v{place}" for place, name in enumerate(dict.fromkeys((*own, *inner, *stored)))}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id not in kept:
            part.id = names.get(part.id, part.id)
        elif isinstance(part, ast.arg):
            part.arg = names.get(part.arg, part.arg)


def mbpp_corpus(folder: Path) -> tuple[list[SourceFile], list[SourceFile]]:
    """Return MBPP's functions, one file a task with its text as docstring, and their assertions as test files."""
    files, tests = [], []
    for line in (folder / "mbpp.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        name = re.search(r"(\w+)\(", row["test_list"][0].removeprefix("assert "))
        tree = _parsed(row["code"].replace("\r\n", "\n"))
        if name is None or tree is None:
            continue
        own = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name.group(1)]
        if len(own) != 1:
            continue
        own[0].body.insert(0, ast.Expr(ast.Constant(row["text"])))
        own[0].name = f"{own[0].name}_task{row['task_id']}"
        renamed = re.sub(rf"\b{name.group(1)}\b", own[0].name, "\n    ".join(row["test_list"]))
        code = re.sub(
            rf"\b{name.group(1)}\b(?=\()", own[0].name, ast.unparse(ast.fix_missing_locations(tree))
        )
        files.append(chunk_file(f"task{row['task_id']}.py", code.encode()))
        tests.append(chunk_file(f"test_task{row['task_id']}.py", f"def test():\n    {renamed}\n".encode()))
    return files, tests


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except SyntaxError:
        return None
