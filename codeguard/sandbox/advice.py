"""What to change on a machine, or in a container's options, to gain a sandbox level: the rows of `advice.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from codeguard.sandbox.model import Layer, Level


def advice(level: Level, layers: Sequence[Layer]) -> tuple[str, ...]:
    """Return a line for each missing layer that a higher level needs: that level, why it is missing, what gives it."""
    remedies = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    missing = {layer.name: layer.detail for layer in layers if not layer.engaged}
    lines = []
    for key, row in remedies.items():
        needed, name = Level[row["level"]], next(filter(missing.__contains__, row.get("layers", (key,))), "")
        if name and level < needed:
            either = name in ("landlock", "namespaces") and level < Level.L2
            wanted = "L2 (one of Landlock and namespaces)" if either else needed.name
            lines.append(f"{wanted}: {name} is missing ({missing[name]}); it takes {row['remedy']}")
    return tuple(lines)
