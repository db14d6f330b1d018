"""`codeguard rules`."""

from __future__ import annotations

import click

from codeguard.cli.output import guarded, say, say_json


@click.command()
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@guarded
def rules(format_: str) -> None:
    """List every rule that an audit may name."""
    from codeguard.auditing.rules import all_rules

    found = all_rules()
    if format_ == "json":
        rows = [
            {
                "rule": item.id,
                "summary": item.rule.summary,
                "severity": item.rule.severity.name.lower(),
                "confidence": item.rule.confidence.name.lower(),
                "cwe": list(item.rule.cwe),
            }
            for item in found
        ]
        say_json({"schema": "codeguard.rules/1", "rules": rows})
        return
    width = max(len(item.id) for item in found)
    for item in found:
        cwe = f"  [{', '.join(f'CWE-{number}' for number in item.rule.cwe)}]" if item.rule.cwe else ""
        say(f"{item.id:<{width}}  {item.rule.severity.name.lower():<8}  {item.rule.summary}{cwe}")
