"""Sample files that functions are run with, and first inputs that name them.

The files exist in memory, in the working directory of the sandboxed code, and are the same in both
worlds. A function accepts a kind of file if it returns a result for most files of that kind. Kinds
and files are defined in `sample_files.toml`.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from codeguard.behavior.inputs.discovery import LISTS, NUMBERS, TEXTS, suggested_values
from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.source.definitions import Definition, Parameter
from codeguard.behavior.specs.contract import excluded_by

MOST_REQUIRED = 3
OTHERS = (TEXTS, NUMBERS, LISTS)  # for what stands beside a path and tells nothing of itself
NEW = ("made.txt", "docs/made.txt", "made.out", "docs/new.csv")
_NAMED = re.compile(
    r"(?:^|_)(?:path|file|files|filename|fname|filepath|dir|directory|dirname|folder|fn|infile|outfile|src|dst"
    r"|source|target|destination|dest|root|log|config|location|output|input)\d?$"
)
_WRITTEN = re.compile(r"(?:^|_)(?:out|outfile|output|dst|dest|destination|target)(?:_|\d?$)")


@cache
def sample_files() -> Mapping[str, bytes]:
    """Return the contents of the files by path."""
    return {
        file["path"]: bytes.fromhex(file["hex"]) if "hex" in file else file["text"].encode()
        for file in _data()["file"]
    }


@cache
def path_groups() -> tuple[tuple[str, ...], ...]:
    """Return the paths grouped by kind of file, in the order in which they are tried."""
    return tuple(tuple(group["paths"]) for group in _data()["group"])


@cache
def _data() -> Mapping[str, list[dict[str, str]]]:
    return tomllib.loads(Path(__file__).with_name("sample_files.toml").read_text("utf-8"))


def requires_path(definition: Definition) -> bool:
    """Return whether a required parameter is named like a path."""
    return any(item.required and _names_path(item) for item in definition.parameters)


def _names_path(parameter: Parameter) -> bool:
    return bool(_NAMED.search(parameter.name.lower()))


def file_guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls to try with paths of the sample files, one group per kind of file."""
    needed = [parameter for parameter in definition.parameters if parameter.required]
    if not 0 < len(needed) <= MOST_REQUIRED or any(item.kind != "positional" for item in needed):
        return
    named = [place for place, item in enumerate(needed) if _names_path(item)]
    for chosen in [named] if named else [[place] for place in range(len(needed))]:
        if any(excluded_by(needed[place].annotation, "notes.txt") for place in chosen):
            continue
        suggested = [() if at in chosen else suggested_values(item) for at, item in enumerate(needed)]
        others = (
            OTHERS if any(not suggested[at] for at in range(len(needed)) if at not in chosen) else OTHERS[:1]
        )
        for group, values in itertools.product(path_groups(), others):
            pools: list[Sequence[object]] = [found or values for found in suggested]
            for place in chosen:  # of several paths, those that may be written to are new
                is_new = place != chosen[0] and (
                    _WRITTEN.search(needed[place].name.lower()) or place == chosen[-1]
                )
                pools[place] = NEW if is_new else group
            yield [(tuple(pool[row % len(pool)] for pool in pools), {}) for row in range(len(group))]
