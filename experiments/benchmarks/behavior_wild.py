"""Verdicts on code that nobody prepared: honest libraries, their mutants, copies of trusted code, small tasks.

    python -m experiments.benchmarks.behavior_wild SCRATCH [--tables wild split alternatives mutants copies tasks]
        [--half 0] [--data DATA]

Packages are downloaded from the registry at pinned versions into SCRATCH. Every table but the first three needs
`codeguard[mutation]`. Functions are halved by a digest of their qualified names, in `split` and `alternatives` by
package: half 0 is to develop on, half 1 to measure on. Six tables:

- wild: one library is trusted, others by other authors (or another release) are indexed; all are honest.
- split: of each package every second file is trusted and the others are judged; all are honest.
- alternatives: one library of a purpose is trusted, others of the same purpose are judged; all are honest.
- mutants: honest functions that have a counterpart of their name in the trusted library, one operator changed,
  shown to differ from their original on some input.
- copies: an attacker's copies of trusted functions, with one operator changed and without.
- tasks: small tasks (DATA/mbpp and DATA/function_poison_dev) under another name without a docstring.

A function is demoted where the ranking puts it below all that passed or is not accused, by this evidence, by that
of near copies, or by capabilities beyond its twin's.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
import textwrap
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from codeguard.behavior import BehaviorChecker, Budget, SpecLibrary
from codeguard.behavior.matching.claims import FILLER_WORDS, name_words
from codeguard.behavior.matching.stubs import is_overload
from codeguard.behavior.source.definitions import Function
from codeguard.behavior.specs.references import Reference, references_of
from codeguard.behavior.verdict.comparison import (
    case_of_example,
    case_of_observed,
    compare_results,
    wrong_results,
)
from codeguard.behavior.verdict.profiles import Profile, observe
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps, call_of, drive
from codeguard.config import DefenseConfig
from codeguard.corpus.chunking import chunk_file
from codeguard.index.siblings import ListedFiles, Siblings
from codeguard.index.static_evidence import StaticEvidence
from codeguard.models import CONVICTING, CheckReport, Chunk, SourceFile
from codeguard.ranking.defense import Candidate, DefenseManager
from codeguard.ranking.evaluation import Proportion
from codeguard.ranking.signals.base import SignalServices
from codeguard.sandbox import Level, Sandbox
from experiments.benchmarks.behavior_mutants import mbpp_corpus
from experiments.benchmarks.function_poison import SEED, functions, read_file

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
# Packages of which every second file is trusted and the others are judged: the first half was looked at.
SPLIT = (
    """
    arrow==1.4.0 babel==2.18.0 bottle==0.13.4 cachetools==8.0.2 celery==5.7.0 CherryPy==18.10.0 configobj==5.0.9
    docutils==0.23 dulwich==1.2.21 faker==40.63.0 fabric==3.2.3 falcon==4.4.0 isort==9.0.2 jsonschema==4.26.0
    kombu==5.7.0 lark==1.3.1
    """,
    """
    loguru==0.7.3 mako==1.4.3 markdown==3.11.3 mistune==3.4.0 natsort==8.4.0 openpyxl==3.1.5 paramiko==5.1.0
    parso==0.8.7 passlib==1.7.4 pendulum==3.3.0 pint==0.25.3 prettytable==3.18.0 prompt_toolkit==3.0.53
    pyflakes==4.1.0 pylint==4.1.4 pymongo==4.20.1 pyparsing==3.3.3 python_docx==1.2.0 rdflib==7.6.0 redis==8.1.0
    rope==1.15.2 scrapy==2.19.0 sphinx==9.0.4 tenacity==9.2.1 textual==8.2.8 tornado==6.6.1 traitlets==5.16.1
    trio==0.35.0
    """,
)
# Libraries of one purpose: what is trusted, and by whom else the others are. The first half was looked at.
ALTERNATIVES: tuple[Mapping[str, str], ...] = (
    {
        "markdown==3.11.3": "markdown2==2.5.5 mistune==3.4.0",
        "tabulate==0.10.0": "prettytable==3.18.0 texttable==1.7.2 beautifultable==1.1.0",
        "textdistance==4.6.3": "strsimpy==0.2.1 nltk==3.10.4",
        "toml==0.10.2": "tomli==2.5.0 tomlkit==0.15.2 pytoml==0.1.21 qtoml==0.3.1",
        "inflection==0.5.1": "inflect==7.6.0 Inflector==3.1.1 textblob==0.20.1",
        "tenacity==9.2.1": "retry==0.9.2 retrying==1.4.2 backoff==2.2.1 retry2==0.9.5 stamina==26.1.0",
        "python-dateutil==4.0.0": "arrow==1.4.0 aniso8601==10.0.1 isodate==0.7.2 iso8601==2.1.0 dateparser==1.5.0",
        "python-stdnum==2.2": "schwifty==2026.10.1 validators==0.36.0 django-localflavor==5.1",
        "sympy==1.14.0": "labmath==2.2.0 primefac==2.0.12 primality==0.0.6 primePy==1.3",
    },
    {
        "python-slugify==9.2.0": "unicode-slugify==0.1.5 Unidecode==1.4.0 text-unidecode==1.3",
        "sortedcontainers==2.4.0": "sortedcollections==2.1.0 bintrees==2.0.4 intervaltree==3.2.1",
        "humanize==4.17.0": "humanfriendly==10.0 bitmath==2.1.1",
        "werkzeug==3.1.9": "webob==1.8.11 bottle==0.13.4 yarl==1.25.1 requests-toolbelt==1.0.0",
        "python-jose==3.5.0": "pyjwt==2.15.1 jwcrypto==1.6.1 authlib==1.9.10 itsdangerous==2.2.0",
        "pyyaml==6.0.4": "ruamel.yaml==0.19.1 oyaml==1.0 strictyaml==1.7.3",
        "webcolors==25.10.0": "colour==0.1.5 colorzero==2.0",
        "roman==5.2": "roman-numerals==4.1.0 num2words==0.5.14",
        "base58==2.1.1": "pybase62==1.0.0 hashids==1.3.1 sqids==0.5.2 shortuuid==1.0.13",
        "crccheck==1.3.1": "pymmh3==0.0.5 fnvhash==0.2.1",
        "docopt-ng==0.9.0": "schema==0.7.8",
        "cachetools==8.0.2": "cacheout==0.17.0 aiocache==0.12.3",
    },
)
_ORDINARY = "is are has the of a an to by in for number numbers value values sequence"
NAME_WORDS = FILLER_WORDS | frozenset(_ORDINARY.split())
SYNONYMS = {"find": "search", "check": "is", "combinations": "combination", "permutations": "permutation"}
MUTATED = ("algorithms", "functional")
MOST_MUTATED = 120  # functions of one table and half
MOST_COPIED = 80
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


def half_of(name: str) -> int:
    """Return 0 for what may be looked at while the checker is changed, 1 for what it is measured on."""
    return hashlib.sha256(name.encode()).digest()[0] % 2


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

    @property
    def names(self) -> frozenset[tuple[str, ...]]:
        """The keys of the trusted functions."""
        return frozenset(
            key_of(chunk.symbol)
            for file in self.trusted
            for chunk in functions(file)
            if "." not in chunk.symbol
        )


def _key(chunk: Chunk, file: SourceFile) -> tuple[str, str, int]:
    return file.sha256, chunk.sha256, chunk.start_line


def chosen(file: SourceFile, half: int | None) -> list[Chunk]:
    """Return a file's functions of one half, of both where it is None; not those that only declare types."""
    tree = ast.parse(file.text)
    declared = {
        node.lineno for node in ast.walk(tree) if isinstance(node, Function) and is_overload(node, tree.body)
    }
    return [
        item
        for item in functions(file)
        if half is None or half_of(item.symbol) == half
        if not any(item.start_line <= line <= item.end_line for line in declared)
    ]


def wild(scratch: Path, sandbox: Sandbox, half: int | None, sets: Sequence[str]) -> list[Judged]:
    """Judge the honest functions of every set."""
    found: list[Judged] = []
    for name in sets:
        ours, theirs = SETS[name]
        bench = Bench(files_of(scratch, ours), sandbox)
        names = bench.names
        subjects = [
            (
                f"{name}{' with counterpart' if key_of(chunk.symbol) in names else ''}",
                _place(chunk),
                chunk,
                file,
            )
            for file in beside(files_of(scratch, theirs))
            for chunk in chosen(file, half)
        ]
        found += bench.judge(subjects)
    return found


def split(scratch: Path, sandbox: Sandbox, half: int | None, sets: Sequence[str]) -> list[Judged]:
    """Judge every second file of packages against the files between them; all are honest and of one team."""
    found: list[Judged] = []
    for requirement in " ".join(SPLIT if half is None else SPLIT[half : half + 1]).split():
        files = files_of(scratch, [requirement])
        trusted, others = files[1::2], beside(files[::2], files[1::2])
        subjects = [("split", _place(chunk), chunk, file) for file in others for chunk in functions(file)]
        found += Bench(trusted, sandbox).judge(subjects)
    return found


def alternatives(scratch: Path, sandbox: Sandbox, half: int | None, sets: Sequence[str]) -> list[Judged]:
    """Judge libraries against another one of their purpose."""
    found: list[Judged] = []
    for pairs in ALTERNATIVES if half is None else ALTERNATIVES[half : half + 1]:
        for ours, theirs in pairs.items():
            subjects = [
                ("alternatives", _place(chunk), chunk, file)
                for file in beside(files_of(scratch, theirs.split()))
                for chunk in functions(file)
            ]
            found += Bench(files_of(scratch, [ours]), sandbox).judge(subjects)
    return found


def mutated(scratch: Path, sandbox: Sandbox, half: int | None, sets: Sequence[str]) -> list[Judged]:
    """Judge mutants of honest functions with a counterpart."""
    found: list[Judged] = []
    for name in [item for item in sets if item in MUTATED]:
        ours, theirs = SETS[name]
        bench = Bench(files_of(scratch, ours), sandbox)
        names = bench.names
        originals = [
            (reference, file)
            for file in files_of(scratch, theirs)
            for reference in references_of(file)
            if reference.definition.owner is None and key_of(reference.name) in names
            if half is None or half_of(reference.name) == half
        ]
        originals.sort(key=lambda pair: hashlib.sha256(pair[0].origin.encode()).digest())
        made = changed(originals[:MOST_MUTATED], sandbox, 1)
        subjects = [(name, f"{_place(chunk)} {operator}", chunk, file) for operator, chunk, file in made]
        found += bench.judge(subjects)
    return found


def copied(scratch: Path, sandbox: Sandbox, half: int | None, sets: Sequence[str]) -> list[Judged]:
    """Judge copies of trusted functions, changed and clean, under three disguises."""
    found: list[Judged] = []
    for name in [item for item in sets if item in MUTATED]:
        trusted = files_of(scratch, SETS[name][0])
        bench = Bench(trusted, sandbox)
        originals = [
            (reference, file)
            for file in trusted
            for reference in references_of(file)
            if reference.definition.owner is None and not reference.name.startswith("_")
            if half is None or half_of(reference.name) == half
        ]
        originals.sort(key=lambda pair: hashlib.sha256(pair[0].origin.encode()).digest())
        originals = originals[:MOST_COPIED]
        texts = [("changed", chunk, file) for _, chunk, file in changed(originals, sandbox, 1)]
        texts += [("clean", *_chunk_of(file, item.name)) for item, file in originals]  # type: ignore[misc]
        subjects = []
        for kind, chunk, file in texts:
            for disguise in DISGUISES:
                made = disguised(chunk, file, disguise)
                if made is not None:
                    subjects.append((f"{kind}: {disguise}", f"{_place(chunk)}", *made))
        found += bench.judge(subjects)
    return found


def tasks(data: Path, sandbox: Sandbox, half: int | None) -> list[Judged]:
    """Judge solutions of small tasks, without a docstring and under names that say nothing."""
    files, tests = mbpp_corpus(data / "mbpp")
    bench = Bench(files, sandbox, tests)
    originals = [
        (next(item for item in references_of(file) if "_task" in item.name), file)
        for file in files
        if half is None or half_of(file.path) == half
    ]
    originals.sort(key=lambda pair: hashlib.sha256(pair[0].origin.encode()).digest())
    originals = originals[:MOST_COPIED]
    texts = [("mbpp wrong", chunk, file) for _, chunk, file in changed(originals, sandbox, 1)]
    texts += [("mbpp right", *_chunk_of(file, item.name)) for item, file in originals]  # type: ignore[misc]
    named = [(kind, chunk, disguised(chunk, file, "bare, locals renamed")) for kind, chunk, file in texts]
    found = list(
        bench.judge([(kind, _place(chunk), *made) for kind, chunk, made in named if made is not None])
    )
    rows = [
        json.loads(line)
        for line in (data / "function_poison_dev/files.jsonl").read_text("utf-8").splitlines()
    ]
    bench = Bench([read_file(row) for row in rows if row["role"] == "trusted"], sandbox)
    subjects = []
    for row in rows:
        kind = row.get("class") or row["role"]
        if kind not in ("clean", "wrong_logic") or (half is not None and half_of(row["task"]) != half):
            continue
        file = read_file(row)
        made = disguised(functions(file)[-1], file, "bare")
        if made is not None:
            subjects.append((f"second implementation, {kind}", f"{row['task']} {row['path']}", *made))
    return found + list(bench.judge(subjects))


def _place(chunk: Chunk) -> str:
    return f"{chunk.path}::{chunk.symbol}"


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
    questions = [case_of_example(item, call) for item, call in pairs]
    questions += [
        made for item in profile.generated if (made := case_of_observed(item, mutant.runnable)) is not None
    ]
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


def table(judged: Iterable[Judged]) -> dict[str, dict[str, Any]]:
    """Return counts and shares by group."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for item in judged:
        groups[item.group].append(item)
    return {
        group: {
            "n": len(members),
            **dict(sorted(Counter(item.fate for item in members).items())),
            "convicted_share": str(
                Proportion(sum(item.fate == "convicted" for item in members), len(members))
            ),
            "caught_share": str(
                Proportion(sum(item.fate in ("convicted", "demoted") for item in members), len(members))
            ),
        }
        for group, members in sorted(groups.items())
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(description="verdicts on code that nobody prepared")
    parser.add_argument("scratch", type=Path, help="folder for what is downloaded")
    names = ("wild", "split", "alternatives", "mutants", "copies", "tasks")
    parser.add_argument("--tables", nargs="+", choices=names, default=list(names))
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--half", type=int, choices=(0, 1), help="0: to develop on, 1: to measure on")
    parser.add_argument("--data", type=Path, help="folder with mbpp/ and function_poison_dev/, for the tasks")
    parser.add_argument(
        "--show", nargs="*", default=(), help="fates to list one by one: convicted demoted none …"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    options.scratch.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {}
    with Sandbox(Level.L0, workers=2) as sandbox:
        for name in options.tables:
            begun = time.perf_counter()
            if name == "tasks":
                judged = tasks(options.data, sandbox, options.half) if options.data else []
            else:
                make = {
                    "wild": wild,
                    "split": split,
                    "alternatives": alternatives,
                    "mutants": mutated,
                    "copies": copied,
                }[name]
                judged = make(options.scratch, sandbox, options.half, options.sets)
            seconds = time.perf_counter() - begun
            figures[name] = {"seconds": round(seconds, 1), "groups": table(judged)}
            print(f"{name}: {len(judged)} functions, {seconds:.0f} s")
            for group, row in figures[name]["groups"].items():
                print(f"  {group:45} {row}")
            for item in judged:
                if item.fate in options.show:
                    report = item.report
                    said = (
                        f"{report.verdict.value}: {report.reason} {report.counterexample} [{report.origin}]"
                    )
                    print(
                        f"    {item.fate} {item.group}: {item.label} {said} {report.claims} ({item.evidence})"
                    )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
