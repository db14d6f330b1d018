"""`codeguard rules`, `explain` and `accept`: rules, contracts of trusted functions, what a person overrules."""

from __future__ import annotations

from pathlib import Path

import click

from codeguard.cli.output import FORMAT, read_settings, say, say_block, say_json, store_option


@click.command()
@FORMAT
def rules(format_: str) -> None:
    """List every rule of the audit."""
    from codeguard.audit.rules import all_rules

    found = all_rules()
    if format_ == "json":
        rows = [item.to_json() for item in found]
        listed = ("rule", "summary", "severity", "confidence", "cwe")
        say_json(
            {"schema": "codeguard.rules/1", "rules": [{key: row[key] for key in listed} for row in rows]}
        )
        return
    width = max(len(item.id) for item in found)
    for item in found:
        cwe = f"  [{', '.join(f'CWE-{number}' for number in item.rule.cwe)}]" if item.rule.cwe else ""
        say(f"{item.id:<{width}}  {item.rule.severity.name.lower():<8}  {item.rule.summary}{cwe}")


@click.command()
@click.argument("rule", metavar="RULE|FILE::SYMBOL")
@FORMAT
def explain(rule: str, format_: str) -> None:
    """Explain one rule (`signal.rule`), or the contract that a trusted function is taken to have (`FILE::SYMBOL`).

    Of a rule: why, a bad and a good example, CWE, severity. Of a function: what it takes, promises and leaves open.
    """
    from codeguard.audit.rules import find_rule
    from codeguard.escaping import escaped

    path, separator, symbol = rule.partition("::")
    if separator:
        from codeguard.audit.check import contract_of

        lines = contract_of(Path(path), symbol, read_settings())
        if format_ == "json":
            say_json({"schema": "codeguard.contract/1", "function": rule, "contract": lines})
            return
        say_block("\n".join(map(escaped, lines)))
        return

    found = find_rule(rule)
    known = found.rule
    if format_ == "json":
        say_json({"schema": "codeguard.rule/1", **found.to_json()})
        return
    say(f"{found.id}: {known.summary}")
    say(f"severity {known.severity.name.lower()}, confidence {known.confidence.name.lower()}")
    if known.special_of:
        say(f"a special case of {', '.join(known.special_of)}: reported once where they meet")
    for number in known.cwe:
        say(f"CWE-{number}: https://cwe.mitre.org/data/definitions/{number}.html")
    if known.explanation:
        say()
        say_block(escaped(known.explanation, keep="\n"))
    if found.signal == "behavior":
        from codeguard.behavior.verdict.table import rows_of_rule

        say()
        for line in rows_of_rule(known.id):
            say(f"row {line}")
    if known.remediation:
        say()
        say(f"fix: {known.remediation}")
    for title, example in (("bad", known.bad), ("good", known.good)):
        if example:
            say()
            say(f"{title} ({known.language}):")
            say_block("\n".join(f"    {escaped(line)}" for line in example.strip("\n").split("\n")))


@click.command()
@click.argument("digest")
@click.option("--reason", required=True, help="Why; shown wherever the text is met from now on.")
@click.option("--by", metavar="NAME", help="Who.  [default: the name of your account]")
@store_option("Folder of the index whose state keeps it.")
@FORMAT
def accept(digest: str, reason: str, by: str | None, store: str | None, format_: str) -> None:
    """Overrule the findings about a chunk's text, given its DIGEST (sha256, as audit and query show it).

    The decision is stored in the state directory with name and date, and always shown from then on. A changed
    text has another digest and is evaluated anew.
    """
    from dataclasses import asdict

    from codeguard.trust.acceptances import accept as keep

    settings = read_settings(store=store)
    entry = keep(settings.state, digest.lower(), reason, by=by)
    if format_ == "json":
        say_json({"schema": "codeguard.accept/1", **asdict(entry)})
    else:
        say(f"{entry.digest} {entry.say()}")
