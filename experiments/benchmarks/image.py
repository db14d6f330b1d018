"""Carries out the Dockerfile's steps without an engine, then runs the image as Docker would by default.

    python -m experiments.benchmarks.image BASE [--keep DIR] [-- ARGUMENT…]

BASE is a folder with a root file system that stands for the image of FROM
(a Debian made by debootstrap, with that Python in /usr/local). Needs root. The
arguments go to the entry point, `doctor` by default.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from experiments.benchmarks.environments import ENVIRONMENTS, arguments

HERE = Path(__file__).resolve().parents[2]
INSTRUCTIONS = frozenset(("FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "VOLUME", "ENTRYPOINT", "CMD"))
_PIP = re.compile(
    r"(PIP_|SSL_CERT|REQUESTS_CA|https?_proxy|no_proxy)", re.IGNORECASE
)  # how this machine installs


@dataclass
class Stage:
    """One stage of a Dockerfile as it is carried out."""

    root: Path
    variables: dict[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    )
    folder: str = "/"
    user: str = "0"
    entry: list[str] = field(default_factory=list)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each instruction of a Dockerfile and what follows it, lines joined.

    Raises:
        ValueError: an instruction that this module does not know.
    """
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        name, _, rest = line.strip().partition(" ")
        if name not in INSTRUCTIONS:
            raise ValueError(f"{name!r} in the Dockerfile, expected one of {', '.join(sorted(INSTRUCTIONS))}")
        yield name, rest.strip()


def build(text: str, base: Path, work: Path) -> Stage:
    """Carry out the steps and return the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(base)
    for name, rest in instructions(text):
        print(f"{name} {rest}"[:150], file=sys.stderr)
        if name == "FROM":
            label = rest.rpartition(" AS ")[2]
            stage = stages[label] = Stage(work / f"stage{len(stages)}")
            subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(stage.root)], check=True)
        elif name == "COPY":
            _copy(rest, stage, stages)
        elif name == "RUN":
            command = f"cd {shlex.quote(stage.folder)} && {rest}"
            passed = {key: value for key, value in os.environ.items() if _PIP.match(key)}
            subprocess.run(
                ["chroot", str(stage.root), "/bin/sh", "-ec", command],
                env=passed | stage.variables,
                check=True,
            )
        elif name == "ENV":
            for pair in shlex.split(rest):
                key, _, value = pair.partition("=")
                stage.variables[key] = value.replace("$PATH", stage.variables["PATH"])
        elif name in ("WORKDIR", "VOLUME"):
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            stage.folder = rest if name == "WORKDIR" else stage.folder
        elif name == "USER":
            stage.user = rest
        elif name == "ENTRYPOINT":
            stage.entry = json.loads(rest)
    return stage


def _copy(rest: str, stage: Stage, stages: dict[str, Stage]) -> None:
    *sources, target = rest.split()
    context = HERE
    if sources[0].startswith("--from="):
        context = stages[sources.pop(0).partition("=")[2]].root
    for source in sources:
        origin = context / source.lstrip("/")
        place = stage.root / target.lstrip("/") if target.startswith("/") else _within(stage, target)
        if origin.is_dir():
            shutil.copytree(
                origin, place, symlinks=True, dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("__pycache__") if context == HERE else None,
            )  # fmt: skip
        else:
            place = place / origin.name if target.endswith("/") else place
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, place)


def _within(stage: Stage, target: str) -> Path:
    return stage.root / stage.folder.lstrip("/") / target.removeprefix("./")


def run(stage: Stage, given: list[str], environment: str = "docker-user") -> subprocess.CompletedProcess[str]:
    """Run the entry point in an environment whose user is the image's.

    Raises:
        ValueError: the environment is another user's.
    """
    user = stage.user.partition(":")[0]
    if ENVIRONMENTS[environment].user != int(user):
        raise ValueError(f"the image runs as {user}, {environment} as {ENVIRONMENTS[environment].user}")
    found = shutil.which(stage.entry[0], path=os.pathsep.join(_places(stage)))
    if found is None:
        raise ValueError(f"no {stage.entry[0]} in the image's PATH")
    command = ["/" + str(Path(found).relative_to(stage.root)), *stage.entry[1:], *given]
    return subprocess.run(
        arguments(environment, command, Path(stage.folder), stage.root),
        env=stage.variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


def _places(stage: Stage) -> list[str]:
    return [str(stage.root / place.lstrip("/")) for place in stage.variables["PATH"].split(":")]


def main() -> None:
    """Build, run, print what the entry point prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("--keep", type=Path, help="Build here and leave it.")
    parser.add_argument("arguments", nargs="*", default=["doctor"])
    given = parser.parse_args()
    work = given.keep or Path(tempfile.mkdtemp(prefix="image-", dir="/var/tmp"))
    work.mkdir(exist_ok=True)
    try:
        stage = build((HERE / "Dockerfile").read_text(), given.base, work)
        size = subprocess.run(
            ["du", "-sm", str(stage.root / "opt/codeguard")], capture_output=True, text=True, check=True
        )
        print(f"/opt/codeguard: {size.stdout.split()[0]} MB", file=sys.stderr)
        done = run(stage, given.arguments)
    finally:
        if given.keep is None:
            shutil.rmtree(work)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
