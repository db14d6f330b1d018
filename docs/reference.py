"""Write docs/reference.md and docs/rules.md from the code: `python docs/reference.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import click

from codeguard.analysis.rules.base import Rule
from codeguard.audit.rules import NamedRule, all_rules
from codeguard.behavior.verdict.observations import meaning
from codeguard.behavior.verdict.table import ALWAYS, NOT, Row, rows
from codeguard.cli import COMMANDS, main
from codeguard.cli.config import KEYS, as_toml, settings_table
from codeguard.config import Settings
from codeguard.reports.audit_formats import examples_of
from codeguard.sandbox.inside import syscalls
from codeguard.weights import DEFAULTS

PLACE = Path(__file__).with_name("reference.md")
RULES_PLACE = Path(__file__).with_name("rules.md")
ENDED = "as the child ended"
TITLE = """# Rules

Made from the code by `python docs/reference.py`. A rule's id is stable: baselines, policies, `--select` and SARIF name
it, and each has its anchor here (`rules.md#signal.rule`). `codeguard explain signal.rule` prints the same text.
"""
_SCHEMA = re.compile(r'"schema": "(codeguard\.[\w.-]+/\d+)"')


def reference() -> str:
    """Return the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Reference"
    yield ""
    yield "Made from the code by `python docs/reference.py`; a test holds it to the code."
    yield from ("", "## Commands", "")
    yield "Exit codes: 0 fine, 1 findings, 2 usage or error, 3 nothing to do under the given paths."
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        yield from _command(f"codeguard {name}", command)
    yield from ("", "## Configuration", "")
    yield "`config.toml` in your configuration directory, or `--config FILE`; `codeguard config show` says what is"
    yield "in force."
    yield from ("", "| key | default | meaning |", "|---|---|---|")
    for key, value in settings_table(Settings()).items():
        yield f"| `{key}` | `{as_toml(value)}` | {KEYS[key]} |"
    yield from ("", "## Rules", "", "`codeguard explain RULE` shows each with a bad and a good example.", "")
    yield from ("| rule | severity | confidence | CWE | what it finds |", "|---|---|---|---|---|")
    for item in sorted(all_rules(), key=lambda rule: rule.id):
        yield _rule(item.id, item.rule)
    yield from ("", "## Weights", "")
    yield "A penalty is in units of the ranking's standardised distance. A rule without a row weighs by its severity;"
    yield "`[defense.weights]` overrides it."
    yield from ("", "| key | weight | reason |", "|---|---|---|")
    for key, weight in DEFAULTS.items():
        yield f"| `{key}` | {weight.value:+g} | {_cell(weight.reason)} |"
    yield from (
        "",
        "## JSON",
        "",
        "Every object names its schema; fields are added, not renamed, within a version.",
        "",
    )
    yield from ("| schema | made in |", "|---|---|")
    for schema, place in sorted(_schemas().items()):
        yield f"| `{schema}` | `{place}` |"
    yield from ("", "## Verdicts", "")
    yield "The rows that decide about a function; the first of a stage that fits does ([behavior](behavior.md))."
    yield "The last column counts the functions of the frozen sets that each decided."
    yield from ("", verdict_table(), "")
    yield from ("", "## System calls", "")
    yield "What the two filters of the [sandbox](sandbox.md) allow; each other call fails, or ends the process."
    yield from ("", "| process | call | allowed arguments | kernel object | shared with | needed for |")
    yield "|---|---|---|---|---|---|"
    yield from _calls("child", syscalls.CHILD)
    yield from _calls("zygote, in addition", syscalls.ZYGOTE)


def _calls(process: str, allowed: Mapping[str, syscalls.Allowed]) -> Iterator[str]:
    for name, call in allowed.items():
        arguments = "; ".join(
            f"{argument.name} {', '.join(f'{value} ({number})' for value, number in argument.values.items())}"
            for argument in call.arguments
        )
        row = (process, f"`{name}`", arguments or "any", call.object, call.shared, call.need)
        yield f"| {' | '.join(map(_cell, row))} |"


def _schemas() -> dict[str, str]:
    """Return the schemas of what commands print, with the module that makes each."""
    found = {}
    for path in sorted((PLACE.parents[1] / "codeguard").rglob("*.py")):
        for schema in _SCHEMA.findall(path.read_text(encoding="utf-8")):
            found[schema] = path.relative_to(PLACE.parents[1]).as_posix()
    return found


def _command(name: str, command: click.Command) -> Iterator[str]:
    yield from ("", f"### {name}", "")
    for paragraph in (command.help or "").split("\n\n"):
        yield from (" ".join(paragraph.split()), "")
    if isinstance(command, click.Group):
        for child in command.commands:
            yield from _command(f"{name} {child}", command.commands[child])
        return
    rows = []
    for parameter in command.params:
        shown = " ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
        kind = parameter.make_metavar(click.Context(command)) if isinstance(parameter, click.Argument) else ""
        text = parameter.help or "" if isinstance(parameter, click.Option) else ""
        choices = (
            f" ({', '.join(map(str, parameter.type.choices))})"
            if isinstance(parameter.type, click.Choice)
            else ""
        )
        rows.append(f"| {f'`{kind}`' if kind else shown} | {_cell(' '.join(text.split()))}{choices} |")
    if rows:
        yield from ("| argument | meaning |", "|---|---|", *rows)


def _rule(id_: str, rule: Rule) -> str:
    cwe = ", ".join(f"CWE-{number}" for number in rule.cwe)
    grades = f"{rule.severity.name.lower()} | {rule.confidence.name.lower()}"
    return f"| `{id_}` | {grades} | {cwe} | {_cell(rule.summary)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def rules_page(rules: Sequence[NamedRule]) -> str:
    """Return the page: one section per signal, with the text and examples of each rule."""
    parts = [TITLE]
    for signal, group in groupby(rules, key=lambda item: item.signal):
        parts.append(f"\n## {signal}\n")
        parts += [_section(item) for item in group]
    return "".join(parts).rstrip("\n") + "\n"


def _section(named: NamedRule) -> str:
    rule = named.rule
    grades = f"{rule.severity.name.lower()} severity, {rule.confidence.name.lower()} confidence"
    cwe = "".join(f", [CWE-{n}](https://cwe.mitre.org/data/definitions/{n}.html)" for n in rule.cwe)
    lines = [f'\n<a id="{named.id}"></a>', f"### `{named.id}`", "", f"{rule.summary} ({grades}{cwe})."]
    if rule.explanation:
        lines += ["", rule.explanation.strip()]
    if rule.remediation:
        lines += ["", f"Fix: {rule.remediation}"]
    if rule.special_of:
        lines += ["", f"A special case of {', '.join(f'`{id_}`' for id_ in rule.special_of)}."]
    for title, block in examples_of(rule):
        lines += ["", f"{title}:", "", block]
    return "\n".join(lines) + "\n"


def verdict_table() -> str:
    """Return the rows and what their observations mean, as Markdown."""
    lines = ["| row | after | when | verdict | why | decided, bad and good |", "|---|---|---|---|---|---|"]
    lines += [_line(row) for row in rows()]
    lines += ["", "| observation | |", "|---|---|"]
    named = {name.removeprefix(NOT) for row in rows() for name in (*row.when, row.claims)} - {ALWAYS}
    for name in sorted(named):
        if text := meaning(name):
            lines.append(f"| `{name}` | {text.removeprefix('Whether ')} |")
    return "\n".join(lines)


def _line(row: Row) -> str:
    conditions = ", ".join(f"`{name}`" for name in row.when)
    verdict = ENDED if row.verdict is None else row.verdict.value
    if row.claims:
        verdict += ", false claim" + ("" if row.claims == ALWAYS else f" if `{row.claims}`")
    counts = f"{row.decided.get('bad', 0)}, {row.decided.get('good', 0)}" if row.decided else ""
    return f"| `{row.id}` | {row.after} | {conditions} | {verdict} | {row.why} | {counts} |"


if __name__ == "__main__":
    PLACE.write_text(reference(), encoding="utf-8")
    RULES_PLACE.write_text(rules_page(all_rules()), encoding="utf-8")
