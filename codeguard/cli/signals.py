"""`codeguard signals`."""

from __future__ import annotations

import click

from codeguard.cli.output import guarded, read_settings, say, say_json


@click.command()
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
@guarded
def signals(context: click.Context, format_: str) -> None:
    """List the registered signals with their rules, weights and the reason of each weight."""
    from codeguard.auditing.rules import AUDIT, AUDIT_RULES
    from codeguard.models import Severity
    from codeguard.signals import CorpusSignal, Rule, Signal, load_all
    from codeguard.weights import default

    settings = read_settings(context)
    rows: list[dict[str, object]] = []

    def add(signal: str, moment: str, rule: Rule, severity: Severity) -> None:
        key = f"{signal}.{rule.id}"
        rows.append(
            {
                "signal": signal,
                "enabled": settings.defense.enabled(signal),
                "moment": moment,
                "rule": rule.id,
                "summary": rule.summary,
                "weight": settings.defense.weights.of(key, severity),
                "reason": default(key, severity).reason,
            }
        )

    for signal in load_all():
        moment = signal.moment.value if isinstance(signal, Signal) else "audit"
        by_severity = not isinstance(signal, CorpusSignal | Signal)
        for rule in signal.rules:
            add(signal.name, moment, rule, rule.severity if by_severity else Severity.INFO)
    for rule in AUDIT_RULES:
        if default(f"{AUDIT}.{rule.id}", Severity.INFO).value:
            add(AUDIT, "audit", rule, Severity.INFO)
    if format_ == "json":
        say_json({"schema": "codeguard.signals/1", "signals": rows})
        return
    last = ""
    for row in rows:
        if row["signal"] != last:
            last = str(row["signal"])
            say(f"{last}  ({'on' if row['enabled'] else 'off'}, at {row['moment']} time)")
        reason = f"  [{row['reason']}]" if row["reason"] else ""
        say(f"  {row['weight']:+5.1f}  {row['rule']:<16} {row['summary']}{reason}")
