"""Run the benchmark: python -m experiments.benchmark [small|large] [options]; see docs/benchmark.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.benchmark import VERSION, tiny
from experiments.benchmark.attacks import ALL
from experiments.benchmark.packages import PackageError, cache_folder, pairs
from experiments.benchmark.questions import PARTS
from experiments.benchmark.runner import LARGE, SMALL, Run
from experiments.benchmark.tables import page, write_into
from experiments.report import write_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; 0 where it ran through, 2 where a package cannot be had or an argument is wrong."""
    options = _options(arguments)
    setting = {"small": SMALL, "large": LARGE, "tiny": tiny.TINY}[options.setting]
    plan = setting.plan
    if options.instances:
        plan = replace(plan, instances=options.instances)
    setting = replace(
        setting,
        plan=plan,
        part=options.part,
        seed=options.seed,
        rounds=options.rounds or setting.rounds,
        size=options.size or setting.size,
        attacks=tuple(options.attack),
        systems=tuple(options.only),
        plugins=tuple(options.system),
        scanners=tuple(options.scanner),
        rules=options.semgrep,
        external=options.external,
        attacker=options.attacker and tuple(options.attacker),
        reader=options.reader and tuple(options.reader),
        ablations=setting.ablations and not options.no_ablations,
    )
    start = time.monotonic()

    def tell(line: str) -> None:
        print(f"{time.monotonic() - start:7.1f} s  {line}", file=sys.stderr, flush=True)

    try:
        with tempfile.TemporaryDirectory(prefix="benchmark-") as temporary:
            run = Run(setting, cache_folder(options.cache), options.work or Path(temporary), tell)
            if options.setting == "tiny":
                tiny.run(run)
                _write(run, options.out)
            else:
                chosen = [pairs()[name] for name in options.pair or pairs()]
                if options.external:
                    run.external(chosen[0], options.external)
                run.all_pairs(chosen, lambda: _write(run, options.out))
    except (PackageError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(page(run.results()))
    if options.write:
        write_into(options.write, run.results())
    print(f"\n{options.out}/benchmark.json written; version {VERSION}")
    return 0


def _write(run: Run, out: Path) -> None:
    write_json(run.results(), out / "benchmark.json")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmark", description=__doc__)
    parser.add_argument("setting", nargs="?", choices=("small", "large", "tiny"), default="small")
    parser.add_argument("--part", choices=PARTS, default="test", help="tune on dev, report test")
    parser.add_argument("--seed", type=int, default=SMALL.seed, help="first seed; another one for part fresh")
    parser.add_argument("--rounds", type=int, help="seeds, one round of attacks each")
    parser.add_argument("--instances", type=int, help="attacks a round and pair")
    parser.add_argument("--size", type=int, help="chunks a pair")
    parser.add_argument("--pair", action="append", choices=sorted(pairs()), help="one pair alone")
    attacks = ALL.values()
    known = sorted({item.name for item in attacks} | {item.family for item in attacks})
    parser.add_argument(
        "--attack",
        action="append",
        default=[],
        choices=known,
        metavar="NAME",
        help=f"an attack or a family alone: {', '.join(known)}",
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a system alone")
    parser.add_argument(
        "--system", action="append", default=[], metavar="MODULE:OBJECT", help="one more system"
    )
    parser.add_argument(
        "--scanner",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="a filter: the command reads {text} and writes {flagged, reason}, JSON, a line for each chunk",
    )
    parser.add_argument("--semgrep", type=Path, metavar="RULES", help="a folder of rules for semgrep")
    parser.add_argument(
        "--external", type=Path, metavar="FOLDER", help="items.jsonl with attacks published by others"
    )
    parser.add_argument(
        "--attacker", nargs=2, metavar=("ENDPOINT", "MODEL"), help="a model that words attacks anew"
    )
    parser.add_argument(
        "--reader", nargs=2, metavar=("ENDPOINT", "MODEL"), help="a model that writes code from results"
    )
    parser.add_argument("--write", type=Path, help="a document of Markdown that gets the tables")
    parser.add_argument("--no-ablations", action="store_true", help="no single signals")
    parser.add_argument("--cache", type=Path, help="folder for packages, vectors and proofs")
    parser.add_argument("--work", type=Path, help="folder for corpora and stores that stay for the next run")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark"), help="folder for the results")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
