"""Write the table of allowed system calls in docs/sandbox.md from the filters: `python docs/system_calls.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from codeguard.sandbox.inside import syscalls

PLACE = Path(__file__).with_name("sandbox.md")
_BEGIN, _END = "<!-- python docs/system_calls.py -->\n", "<!-- end -->"


def page() -> str:
    """Return the page with the table that the filters' rows make."""
    before, _, rest = PLACE.read_text(encoding="utf-8").partition(_BEGIN)
    return before + _BEGIN + _table() + _END + rest.partition(_END)[2]


def _table() -> str:
    lines = [
        "| process | call | allowed arguments | kernel object | shared with | needed for |",
        "|---|---|---|---|---|---|",
        *_rows("child", syscalls.CHILD),
        *_rows("zygote, beside these", syscalls.ZYGOTE),
    ]
    return "".join(f"{line}\n" for line in lines)


def _rows(process: str, allowed: Mapping[str, syscalls.Allowed]) -> list[str]:
    return [
        f"| {process} | `{name}` | {_arguments(call)} | {call.object} | {call.shared} | {call.need} |"
        for name, call in allowed.items()
    ]


def _arguments(call: syscalls.Allowed) -> str:
    return (
        "; ".join(
            f"{argument.name} {', '.join(f'{name} ({value})' for name, value in argument.values.items())}"
            for argument in call.arguments
        ).replace("|", "\\|")
        or "any"
    )


if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
