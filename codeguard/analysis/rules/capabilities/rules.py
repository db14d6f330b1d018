"""The rules of the capabilities signal, each with a bad and a good example."""

from __future__ import annotations

from codeguard.analysis.rules.base import Rule, rules_of

_RULES = rules_of(__file__)

RULES: tuple[Rule, ...] = (
    _RULES["exfiltration"],
    _RULES["sends-surroundings"],
    _RULES["download-and-run"],
    _RULES["downloads-program"],
    _RULES["decoded-exec"],
    _RULES["runs-decoded"],
    _RULES["reverse-shell"],
    _RULES["drops-and-starts"],
    _RULES["steals-logins"],
    _RULES["swaps-clipboard"],
    _RULES["spies"],
    _RULES["reports-host"],
    _RULES["sends-to-drop"],
    _RULES["time-bomb"],
    _RULES["runs-machine-code"],
    _RULES["unpickles-command"],
    _RULES["partial-check"],
    _RULES["persistence"],
    _RULES["destroys"],
    _RULES["disables-security"],
    _RULES["tampered-verification"],
    _RULES["import-effect"],
    _RULES["install-hook"],
    _RULES["ignores-arguments"],
    _RULES["beyond-twin"],
    _RULES["able"],
)
