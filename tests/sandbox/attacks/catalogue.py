"""Every attack of every category, by name.

A category is a file of `programs/`. Each of its groups gives what its attacks have in common, and their programs
below headings `=== id: mechanism`; lines `option: value` after a heading are an attack's own. Where a group names a
form of `[around]`, `$1`, `$2` in it stand for the parts of a program between lines `---`; the last part of an attack
on state is the next check's source. A prelude comes before both.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attacks.case import Attack, Proof

FOLDER = Path(__file__).with_name("programs")
OPTION = re.compile(r"(needs|sought|stopped_by|filters_alone|residual\.\w+): (.*)")


def _preludes() -> dict[str, str]:
    texts: dict[str, str] = tomllib.loads(Path(__file__).with_name("preludes.toml").read_text("utf-8"))
    return texts | {name: texts["raw"] + texts[name] for name in ("more", "words")}


PRELUDES = _preludes()


def _attack(category: str, row: str, group: Mapping[str, Any], forms: Mapping[str, str]) -> Attack:
    heading, *lines = row.rstrip("\n").split("\n")
    name, _, mechanism = heading.partition(": ")
    options: dict[str, str] = {}
    while lines and (option := OPTION.fullmatch(lines[0])):
        options[option[1]] = option[2]
        del lines[0]
    parts = "\n".join(lines).split("\n---\n")
    if group.get("computed"):
        parts = [eval(f"({part})") for part in parts]
    proof = Proof(group["proof"])
    after = parts.pop() if proof is Proof.STATE else ""
    source = forms[group["around"]] if "around" in group else "$1\n"
    for number, part in enumerate(parts, start=1):
        source = source.replace(f"${number}", part)
    prelude = PRELUDES[group["prelude"]] + "\n" if "prelude" in group else ""
    own = {
        key.removeprefix("residual."): text for key, text in options.items() if key.startswith("residual.")
    }
    return Attack(
        f"{category}/{name}",
        mechanism,
        proof,
        prelude + source,
        tuple(options.get("stopped_by", group["stopped_by"]).split(", ")),
        sought=options.get("sought", group.get("sought", "@SECRET@")),
        after=after and f"{prelude}{after}\n",
        judge=group.get("judge", "exit"),
        needs=options.get("needs", ""),
        filters_alone=options.get("filters_alone", ""),
        residual=tuple({**group.get("residual", {}), **own}.items()),
        category=category,
    )


def _category(path: Path) -> Iterator[Attack]:
    content = tomllib.loads(path.read_text("utf-8"))
    for group in content["group"]:
        for row in ("\n" + group["attacks"]).split("\n=== ")[1:]:
            yield _attack(path.stem, row, group, content.get("around", {}))


CATEGORIES = {path.stem: tuple(_category(path)) for path in sorted(FOLDER.glob("*.toml"))}
ALL = tuple(attack for attacks in CATEGORIES.values() for attack in attacks)

# What crosses where one layer of the operating system is missing, so that only this layer stands
# before it: a residual risk. The two seccomp filters count as one layer.
FILTERS = ("seccomp", "child_filter")
SINGLE = ("namespaces", "capabilities", "landlock", "seccomp", "child_filter", "rlimits")
ONLY_LAYER: dict[tuple[str, ...], frozenset[str]] = {
    **{(name,): frozenset() for name in SINGLE},
    FILTERS: frozenset(attack.id for attack in ALL if attack.filters_alone),
}
