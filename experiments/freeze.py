"""Freeze what the audit and the behavior checker find on fixed sets, and compare two versions of the code.

    python -m experiments.freeze prepare SETS --data DATA --wheels WHEELS --requirements FILE
    python -m experiments.freeze run SETS --json FILE [--only SET ...]
    python -m experiments.freeze compare BEFORE.json AFTER.json [--lines]
    python -m experiments.freeze rows FILE.json
    python -m experiments.freeze figures FILE.json

`prepare` writes the sets as files, once, so that every version measured later reads the same bytes. `run` measures the
codeguard of the interpreter that runs it: the findings of `codeguard audit` by file, and for sets with trusted code the
verdicts and the place in the ranking. CPU seconds count this process and its children. `compare` prints a table of
sets, and with --lines what differs; a file that the older version could not read counts apart. `rows` writes into the
table of verdicts how often each row decided, `figures` into `docs/figures.json` what was found.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.figures import record

STANDARD_EVERY = 4
PACKAGE_FILES = 900
WILD_EVERY = 3  # of the honest functions of wild libraries, which cost most
FLAGGED = ("medium", "high", "critical")
Row = dict[str, Any]


def share_of(name: str, every: int) -> bool:
    """Return whether a name belongs to the sample of every n-th, by its digest."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % every == 0


class SetWriter:
    """Writes one set: files to judge under `files/`, trusted code and its tests beside them, and labels."""

    def __init__(self, root: Path, name: str) -> None:
        self.folder = root / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self._labels: list[Row] = []

    def add(self, path: str, text: str | bytes, label: str, group: str = "", symbol: str = "") -> None:
        """Write a file with its label, `good` or `bad`; a symbol restricts the label to one function."""
        self.support(f"files/{path}", text)
        self._labels.append({"path": path, "label": label, "group": group, "symbol": symbol})

    def support(self, path: str, text: str | bytes) -> None:
        """Write a file without a label."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))

    def close(self) -> None:
        """Write the labels."""
        rows = "".join(json.dumps(row) + "\n" for row in self._labels)
        (self.folder / "labels.jsonl").write_text(rows, "utf-8")


def prepare(root: Path, data: Path, wheels: Path, requirements: Path) -> None:
    """Write every set; those of wild libraries need `codeguard[mutation]`."""
    for name, make in {
        "data": _example,
        "owasp": _owasp,
        "published": _published,
        "skills": _skills,
        "functions": _functions,
        "mbpp": _mbpp,
        "standard_library": _standard_library,
    }.items():
        writer = SetWriter(root, name)
        make(writer, data)
        writer.close()
    writer = SetWriter(root, "packages")
    _packages(writer, wheels, requirements)
    writer.close()
    _wild(root, wheels, data)


def _lines(path: Path) -> Iterator[Row]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from (json.loads(line) for line in data.decode("utf-8").split("\n") if line)


def _example(writer: SetWriter, data: Path) -> None:
    from experiments.corpus.labels import read_labels

    poisoned = {label.path for label in read_labels().functions if label.poisoned}
    root = Path(__file__).parents[1] / "data"
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith("sample_code/"):
            writer.support(f"trusted/{name}", path.read_bytes())
        else:
            writer.add(name, path.read_bytes(), "bad" if f"data/{name}" in poisoned else "good")


def _owasp(writer: SetWriter, data: Path) -> None:
    for row in _lines(data / "owasp_python_dev/cases.jsonl.gz"):
        writer.add(f"{row['name']}.py", row["text"], "bad" if row["vulnerable"] else "good", row["category"])


def _published(writer: SetWriter, data: Path) -> None:
    for row in _lines(data / "published_poison_dev/items.jsonl"):
        for kind, label in (("poison", "bad"), ("honest", "good")):
            if row[kind]:
                writer.add(f"{row['id']}_{label[0]}.py", row[kind], label, f"{row['set']} {row['class']}")


def _skills(writer: SetWriter, data: Path) -> None:
    for row in _lines(data / "skills_dev/files.jsonl"):
        honest = any(word in row["path"].rpartition("/")[0] for word in ("clean", "safe"))
        writer.add(row["path"], row["text"], "good" if honest else "bad")


def _functions(writer: SetWriter, data: Path) -> None:
    for row in _lines(data / "function_poison_dev/files.jsonl"):
        if row["role"] == "trusted":
            writer.support(f"trusted/{row['path']}", row["source"])
        else:
            label = "good" if row["role"] == "clean" else "bad"
            writer.add(row["path"], row["source"], label, row.get("class") or "clean")


def _mbpp(writer: SetWriter, data: Path) -> None:
    for row in _lines(data / "mbpp/mbpp.jsonl"):
        writer.add(f"task_{row['task_id']:04}.py", row["code"], "good")


def _standard_library(writer: SetWriter, data: Path) -> None:
    from experiments.benchmarks.standard_library import standard_files

    root = Path(os.__file__).parent
    for path in standard_files():
        name = path.relative_to(root).as_posix()
        if share_of(name, STANDARD_EVERY):
            writer.add(name, path.read_bytes(), "good")


def _packages(writer: SetWriter, wheels: Path, requirements: Path) -> None:
    """Write the files of packages that no experiment names, the first by digest."""
    found: dict[str, bytes] = {}
    for line in requirements.read_text("utf-8").split():
        with zipfile.ZipFile(_wheel(wheels, line)) as archive:
            for name in archive.namelist():
                if name.endswith(".py") and "test" not in name and archive.getinfo(name).file_size > 500:
                    found[name] = archive.read(name)
    order = sorted(found, key=lambda name: hashlib.sha256(name.encode()).digest())
    for name in order[:PACKAGE_FILES]:
        writer.add(name, found[name], "good", name.partition("/")[0])


def _wheel(wheels: Path, requirement: str) -> Path:
    folder = wheels / requirement.replace("==", "-")
    if not folder.is_dir():
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "-q"]
        subprocess.run([*command, "-d", str(folder), requirement], check=True)
    return next(folder.glob("*.whl"))


def _wild(root: Path, scratch: Path, data: Path) -> None:
    """Write honest functions of wild libraries, mutants of them and copies of trusted functions, and small tasks."""
    from codeguard.behavior.specs.references import references_of
    from codeguard.sandbox import Level, Sandbox
    from experiments.benchmarks import behavior_wild as benchmark

    tasks, tests = benchmark.mbpp_corpus(data / "mbpp")
    with Sandbox(Level.L0, workers=2) as sandbox:
        for name, (ours, theirs) in benchmark.SETS.items():
            writer = SetWriter(root, f"wild_{name}")
            trusted = benchmark.files_of(scratch, ours)
            for file in trusted:
                writer.support(f"trusted/{file.path}", file.text)
            others = benchmark.files_of(scratch, theirs)
            for file in others:
                writer.support(f"files/{file.path}", file.text)
                for symbol in dict.fromkeys(chunk.symbol for chunk in benchmark.chosen(file)):
                    if share_of(f"{file.path}::{symbol}", WILD_EVERY):
                        writer.add(file.path, file.text, "good", "honest", symbol)
            if name in benchmark.MUTATED:
                names = frozenset(
                    benchmark.key_of(chunk.symbol) for file in trusted for chunk in benchmark.functions(file)
                )
                for kind, files in (("mutant", others), ("copy", trusted)):
                    pairs = [
                        (item, file)
                        for file in files
                        for item in references_of(file)
                        if item.definition.owner is None and benchmark.key_of(item.name) in names
                    ]
                    _write_mutants(writer, kind, pairs, sandbox)
            writer.close()
        writer = SetWriter(root, "tasks")
        for file, test in zip(tasks, tests, strict=True):
            writer.support(f"trusted/{file.path}", file.text)
            writer.support(f"trusted_tests/{test.path}", test.text)
        pairs = [
            (item, file)
            for file in tasks
            for item in references_of(file)
            if "_task" in item.name and share_of(file.path, 6)
        ]
        _write_mutants(writer, "task", pairs, sandbox)
        writer.close()


def _write_mutants(writer: SetWriter, kind: str, pairs: list[Any], sandbox: Any) -> None:
    """Write one mutant of each function under the name and the description that its kind has, and clean copies."""
    from experiments.benchmarks import behavior_wild as benchmark

    pairs.sort(key=lambda pair: hashlib.sha256(pair[0].origin.encode()).digest())
    pairs = pairs[: benchmark.MOST_MUTATED]
    made = [("bad", chunk, file) for _, chunk, file in benchmark.changed(pairs, sandbox, 1)]
    if kind != "mutant":
        clean = [(file, benchmark._chunk_of(file, item.name)) for item, file in pairs]
        made += [("good", found[0], file) for file, found in clean if found is not None]
    for place, (label, chunk, file) in enumerate(made):
        if kind == "task":
            subject = benchmark.disguised(chunk, file, "bare, locals renamed")
        elif kind == "copy":
            subject = benchmark.disguised(chunk, file, benchmark.DISGUISES[place % len(benchmark.DISGUISES)])
        else:
            subject = chunk, file
        if subject is not None:
            path = f"{kind}_{place:03}.py"
            writer.add(path, subject[1].text, label, f"{kind} {label}", subject[0].symbol)


def run(root: Path, only: Sequence[str]) -> Row:
    """Return findings, verdicts and CPU seconds of every set."""
    sets: Row = {}
    for folder in sorted(item for item in root.iterdir() if (item / "labels.jsonl").is_file()):
        if only and folder.name not in only:
            continue
        labels = list(_lines(folder / "labels.jsonl"))
        made: Row = {"files": len({row["path"] for row in labels})}
        sets[folder.name] = made
        if not folder.name.startswith("wild_"):
            before = _cpu()
            made["audit"] = _audited(folder, labels)
            made["audit_cpu"] = round(_cpu() - before, 2)
        if (folder / "trusted").is_dir():
            before = _cpu()
            made["behavior"] = _checked(folder, labels)
            made["behavior_cpu"] = round(_cpu() - before, 2)
        print(folder.name, {key: value for key, value in made.items() if key.endswith("cpu")}, flush=True)
    return sets


def _cpu() -> float:
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def _audited(folder: Path, labels: Iterable[Row]) -> Row:
    """Return by file its label and findings: line, rule, severity, confidence."""
    command = (sys.executable, "-m", "codeguard", "audit", "files", "--no-behavior", "--all", "--jobs", "1")
    with tempfile.TemporaryDirectory() as state:
        own = {"XDG_CONFIG_HOME": f"{state}/config", "XDG_STATE_HOME": f"{state}/state"}
        done = subprocess.run(
            (*command, "--format", "json"),
            cwd=folder,
            env=os.environ | own,
            capture_output=True,
            check=False,
        )
    if done.returncode not in (0, 1):
        raise RuntimeError(
            f"{folder.name}: the audit ended with {done.returncode}: {done.stderr.decode()[-500:]}"
        )
    files: Row = {
        row["path"]: {"label": row["label"], "group": row["group"], "findings": []} for row in labels
    }
    report = json.loads(done.stdout)
    for item in report["findings"]:
        entry = files.get(item["path"].removeprefix("files/"))
        if entry is not None:
            finding = [item["start_line"], item["rule"], item["severity"], item["confidence"]]
            if item["kind"] == "unread":
                entry["unread"] = True
            else:
                entry["findings"].append(finding)
    for entry in files.values():
        entry["findings"].sort()
    return files


def _checked(folder: Path, labels: Iterable[Row]) -> Row:
    """Return by function what became of it, in the words of the benchmark of wild libraries, and its verdict."""
    from codeguard.corpus.chunking import chunk_file
    from codeguard.sandbox import Level, Sandbox
    from experiments.benchmarks.behavior_wild import Bench, beside, chosen

    def files_under(name: str) -> dict[str, Any]:
        root = folder / name
        paths = sorted(root.rglob("*.py")) if root.is_dir() else []
        named = [(path.relative_to(root).as_posix(), path) for path in paths]
        return {name: chunk_file(name, path.read_bytes()) for name, path in named}

    files = files_under("files")
    complete = dict(zip(files, beside(list(files.values())), strict=True))
    subjects = []
    for row in labels:
        if row["path"] not in complete or not _parses(files[row["path"]].text):
            continue
        file = complete[row["path"]]
        for chunk in chosen(files[row["path"]]):
            if row["symbol"] in ("", chunk.symbol):
                label = f"{row['path']}::{chunk.symbol}:{chunk.start_line}"
                subjects.append((f"{row['label']} {row['group']}", label, chunk, file))
    found: Row = {}
    with Sandbox(Level.L0, workers=2) as sandbox:
        bench = Bench(
            list(files_under("trusted").values()), sandbox, list(files_under("trusted_tests").values())
        )
        for item in bench.judge(subjects):
            label, _, group = item.group.partition(" ")
            found[item.label] = {
                "label": label,
                "group": group,
                "fate": item.fate,
                "verdict": item.report.verdict.value,
                "row": item.report.decided_by,
            }
    return found


def _parses(text: str) -> bool:
    try:
        compile(text, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def flagged(entry: Mapping[str, Any]) -> bool:
    """Return whether a file has a finding of medium severity or above, or a function is convicted or demoted."""
    if "fate" in entry:
        return entry["fate"] in ("convicted", "demoted")
    return any(severity in FLAGGED for _, _, severity, _ in entry["findings"])


def fails(entry: Mapping[str, Any]) -> bool:
    """Return whether a file has a finding that fails an audit by default."""
    return any(
        severity in FLAGGED and confidence in FLAGGED for _, _, severity, confidence in entry["findings"]
    )


def compare(before: Mapping[str, Any], after: Mapping[str, Any], lines: bool) -> None:
    """Print by set what was and is found in bad and in good files, CPU, and what differs."""
    print(
        f"{'set':26} {'bad':>5} {'found':>11} {'lost':>5} {'new':>5} {'good':>6} {'false':>11} {'new':>5} {'CPU':>16}"
    )
    for name in sorted(before.keys() & after.keys()):
        for kind in ("audit", "behavior"):
            if kind not in before[name] or kind not in after[name]:
                continue
            old, new = before[name][kind], after[name][kind]
            unread = {path for path, entry in old.items() if entry.get("unread")}
            for title, paths in (("", sorted(old.keys() - unread)), (" unread", sorted(unread))):
                if paths:
                    spent = " → ".join(f"{part[name][f'{kind}_cpu']:.1f}" for part in (before, after))
                    _print_row(f"{name} {kind}{title}", paths, old, new, "" if title else spent)
            if lines:
                for path in sorted(old):
                    _print_difference(path, old[path], new.get(path))


def _print_row(name: str, paths: Sequence[str], old: Row, new: Row, seconds: str) -> None:
    was = {path for path in paths if flagged(old[path])}
    now = {path for path in paths if path in new and flagged(new[path])}
    bad = {path for path in paths if old[path]["label"] == "bad"}
    good = set(paths) - bad
    found, false = f"{len(was & bad)} → {len(now & bad)}", f"{len(was & good)} → {len(now & good)}"
    print(
        f"{name:26} {len(bad):5} {found:>11} {len((was - now) & bad):5} {len((now - was) & bad):5} "
        f"{len(good):6} {false:>11} {len((now - was) & good):5} {seconds:>16}"
    )


def _print_difference(path: str, old: Mapping[str, Any], new: Mapping[str, Any] | None) -> None:
    if new is None:
        print(f"  ? {old['label']:4} {path}: not measured")
    elif "fate" in old:
        if (old["fate"], old["verdict"]) != (new["fate"], new["verdict"]):
            print(
                f"  ~ {old['label']:4} {path}: {old['fate']} ({old['verdict']}) → {new['fate']} ({new['verdict']})"
            )
    else:
        gone = [item for item in old["findings"] if item not in new["findings"]]
        come = [item for item in new["findings"] if item not in old["findings"]]
        for sign, items in (("-", gone), ("+", come)):
            for line, rule, severity, confidence in items:
                print(f"  {sign} {old['label']:4} {path}:{line} {rule} {severity} {confidence}")


def figures(measured: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, list[int]]]]:
    """Yield by set how many of the bad and of the good were found, and how many of them fail an audit."""
    for name, made in measured.items():
        # A set of functions is there for the checks of behavior, even where the audit read it as well.
        entries = list((made.get("behavior") or made["audit"]).values())
        counted = {}
        for word, label in (("found", "bad"), ("false", "good")):
            chosen = [entry for entry in entries if entry["label"] == label]
            counted[word] = [sum(map(flagged, chosen)), len(chosen)]
            if "behavior" not in made:
                counted["fails" if label == "bad" else "false_fails"] = [sum(map(fails, chosen)), len(chosen)]
        yield name, counted


def count_rows(measured: Mapping[str, Any]) -> None:
    """Write into the table of verdicts how many bad and good functions of the sets each row decided."""
    from codeguard.behavior.verdict.table import TABLE

    found: Counter[tuple[str, str]] = Counter(
        (entry["row"], entry["label"])
        for made in measured.values()
        for entry in made.get("behavior", {}).values()
    )
    lines, row = [], ""
    for line in TABLE.read_text("utf-8").splitlines():
        row = line.partition('"')[2].rstrip('"') if line.startswith("id = ") else row
        if not line.startswith("decided = "):
            lines.append(line)
        if line.startswith("why = "):
            lines.append(f"decided = {{ bad = {found[row, 'bad']}, good = {found[row, 'good']} }}")
    TABLE.write_text("\n".join(lines) + "\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare, measure or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare", help="write the sets")
    first.add_argument("sets", type=Path)
    first.add_argument("--data", type=Path, required=True, help="folder of published evaluation sets")
    first.add_argument("--wheels", type=Path, required=True, help="folder for what is downloaded")
    first.add_argument("--requirements", type=Path, required=True, help="pinned packages that count as clean")
    second = commands.add_parser("run", help="measure this version")
    second.add_argument("sets", type=Path)
    second.add_argument("--json", type=Path, required=True)
    second.add_argument("--only", nargs="*", default=())
    third = commands.add_parser("compare", help="compare two versions")
    third.add_argument("before", type=Path)
    third.add_argument("after", type=Path)
    third.add_argument("--lines", action="store_true", help="list what differs")
    fourth = commands.add_parser("rows", help="count the decisions of each row of the table of verdicts")
    fourth.add_argument("measured", type=Path)
    fifth = commands.add_parser("figures", help="write what was found into the figures of the documentation")
    fifth.add_argument("measured", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "prepare":
        prepare(options.sets, options.data, options.wheels, options.requirements)
    elif options.command == "run":
        measured = run(options.sets.resolve(), options.only)
        options.json.write_text(json.dumps(measured, indent=0, sort_keys=True) + "\n", "utf-8")
    elif options.command == "rows":
        count_rows(json.loads(options.measured.read_text("utf-8")))
    elif options.command == "figures":
        for name, counted in figures(json.loads(options.measured.read_text("utf-8"))):
            record(name, counted)
    else:
        before, after = (json.loads(path.read_text("utf-8")) for path in (options.before, options.after))
        compare(before, after, options.lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
