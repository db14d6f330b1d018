"""`codeguard signals`."""

from __future__ import annotations

import click

from codeguard.cli.options import FORMAT
from codeguard.cli.output import guarded, read_settings, say, say_json


@click.command()
@FORMAT
@click.pass_context
@guarded
def signals(context: click.Context, format_: str) -> None:
    """List the registered signals with their rules, weights and the reason of each weight."""
    from codeguard.analysis.rules import Rule
    from codeguard.audit.rules import OWN_RULES
    from codeguard.ranking.signals import load_all
    from codeguard.ranking.signals.base import Signal
    from codeguard.weights import DEFAULTS, default

    settings = read_settings(context)
    rows: list[dict[str, object]] = []
    registered = load_all()
    weights = settings.defense.weights

    def add(signal: str, moment: str, rule: Rule) -> None:
        key = f"{signal}.{rule.id}"
        rows.append(
            {
                "signal": signal,
                "enabled": settings.defense.enabled(signal),
                "moment": moment,
                "rule": rule.id,
                "summary": rule.summary,
                "weight": weights.of(key, rule.severity),
                "reason": default(key, rule.severity).reason,
            }
        )

    for signal in registered:
        moment = signal.moment.value if isinstance(signal, Signal) else "audit"
        for rule in signal.rules:
            add(signal.name, moment, rule)
    for id_, rule in OWN_RULES.items():
        if id_ in DEFAULTS:
            add(id_.partition(".")[0], "audit", rule)
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
