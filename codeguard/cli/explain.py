"""`codeguard explain`."""

from __future__ import annotations

import click

from codeguard.cli.output import guarded, say, say_block, say_json


@click.command()
@click.argument("rule")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@guarded
def explain(rule: str, format_: str) -> None:
    """Explain one rule (`signal.rule`): why, a bad and a good example, CWE, severity."""
    from codeguard.auditing.rules import find_rule
    from codeguard.escaping import escaped

    found = find_rule(rule)
    known = found.rule
    if format_ == "json":
        say_json(
            {
                "schema": "codeguard.rule/1",
                "rule": found.id,
                "summary": known.summary,
                "severity": known.severity.name.lower(),
                "confidence": known.confidence.name.lower(),
                "cwe": list(known.cwe),
                "explanation": known.explanation,
                "language": known.language,
                "bad": known.bad,
                "good": known.good,
            }
        )
        return
    say(f"{found.id}: {known.summary}")
    say(f"severity {known.severity.name.lower()}, confidence {known.confidence.name.lower()}")
    for number in known.cwe:
        say(f"CWE-{number}: https://cwe.mitre.org/data/definitions/{number}.html")
    if known.explanation:
        say()
        say_block(escaped(known.explanation, keep="\n"))
    for title, example in (("bad", known.bad), ("good", known.good)):
        if example:
            say()
            say(f"{title} ({known.language}):")
            say_block("\n".join(f"    {escaped(line)}" for line in example.strip("\n").split("\n")))
