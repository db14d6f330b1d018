"""Small files that functions are run with, and first inputs that name them.

The files lie in memory, in the folder that the code runs in, the same in both worlds. A function takes a kind of
files where it answers for most of them; the kinds, and how much they have in common, are data, in `sample_files.toml`.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from codeguard.behavior.inputs.discovery import LISTS, NUMBERS, TEXTS, values_told
from codeguard.behavior.inputs.pools import Arguments
from codeguard.behavior.inputs.preconditions import excluded_by
from codeguard.behavior.source.definitions import Definition, Parameter

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
    """Return the files by path."""
    return {
        file["path"]: bytes.fromhex(file["hex"]) if "hex" in file else file["text"].encode()
        for file in _data()["file"]
    }


@cache
def path_groups() -> tuple[tuple[str, ...], ...]:
    """Return paths by kind of what is there, what most functions take first."""
    return tuple(tuple(group["paths"]) for group in _data()["group"])


@cache
def _data() -> Mapping[str, list[dict[str, str]]]:
    return tomllib.loads(Path(__file__).with_name("sample_files.toml").read_text("utf-8"))


def speaks_of_paths(definition: Definition) -> bool:
    """Return whether a parameter that is needed has the name of a path."""
    return any(item.required and _names_path(item) for item in definition.parameters)


def _names_path(parameter: Parameter) -> bool:
    return bool(_NAMED.search(parameter.name.lower()))


def file_guesses(definition: Definition) -> Iterator[list[Arguments]]:
    """Yield groups of calls worth trying in which paths name the files, one kind of files a group."""
    needed = [parameter for parameter in definition.parameters if parameter.required]
    if not 0 < len(needed) <= MOST_REQUIRED or any(item.kind != "positional" for item in needed):
        return
    named = [place for place, item in enumerate(needed) if _names_path(item)]
    for chosen in [named] if named else [[place] for place in range(len(needed))]:
        if any(excluded_by(needed[place].annotation, "notes.txt") for place in chosen):
            continue
        for group in path_groups():
            for pools in itertools.islice(_pools(needed, chosen, group), len(OTHERS)):
                yield [
                    (tuple(pool[row % len(pool)] for pool in pools), {})
                    for row in range(max(map(len, pools)))
                ]


def _pools(
    needed: Sequence[Parameter], chosen: Sequence[int], group: tuple[str, ...]
) -> Iterator[list[Sequence[object]]]:
    """Yield what each parameter may be given: of several paths, those written to are new."""
    paths: dict[int, Sequence[object]] = {}
    for place in chosen:
        new = paths and (_WRITTEN.search(needed[place].name.lower()) or place == chosen[-1])
        paths[place] = NEW[: len(group)] if new else group
    others = [place for place in range(len(needed)) if place not in paths]
    told = {place: values_told(needed[place])[: len(group)] for place in others}
    for values in OTHERS if not all(told.values()) else OTHERS[:1]:
        yield [paths.get(place) or told.get(place) or values[: len(group)] for place in range(len(needed))]
