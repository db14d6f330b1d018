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
    from codeguard.models import Severity
    from codeguard.signals import CorpusSignal, Signal, load_all
    from codeguard.weights import default

    settings = read_settings(context)
    rows = []
    for signal in load_all():
        moment = signal.moment.value if isinstance(signal, Signal) else "audit"
        for rule in signal.rules:
            key = f"{signal.name}.{rule.id}"
            ranks = not isinstance(signal, CorpusSignal)
            severity = rule.severity if ranks and not isinstance(signal, Signal) else Severity.INFO
            rows.append(
                {
                    "signal": signal.name,
                    "enabled": settings.defense.enabled(signal.name),
                    "moment": moment,
                    "rule": rule.id,
                    "summary": rule.summary,
                    "weight": settings.defense.weights.of(key, severity),
                    "reason": default(key, severity).reason,
                }
            )
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
