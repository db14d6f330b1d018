"""The formats of an audit: the modules of this package named `audit_…` that have `render`."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codeguard import reports

if TYPE_CHECKING:
    from codeguard.audit.findings import AuditReport
    from codeguard.models import Severity

PREFIX = "audit_"
FIRST = ("text", "json")  # in the list that `--help` shows


@dataclass(frozen=True, slots=True)
class AuditView:
    """The input of a format: the report, the severity that fails the audit, the required sandbox level.

    `first_run` says that a baseline could be created from this audit, `in_full` that the user asked for
    everything. `command` and `made` are the command line and the time, to be shown on a page.
    """

    report: AuditReport
    fail_on: Severity
    required_level: str
    first_run: bool = False
    in_full: bool = False
    command: str = ""
    made: str = ""


def format_names() -> tuple[str, ...]:
    """Return the names of the formats, without importing any."""
    modules = {item.name for item in pkgutil.iter_modules(reports.__path__) if item.name.startswith(PREFIX)}
    names = sorted(name.removeprefix(PREFIX) for name in modules - {__name__.rpartition(".")[2]})
    return (*FIRST, *(name for name in names if name not in FIRST))


def rendered(name: str, view: AuditView) -> str | dict[str, Any]:
    """Return a report in a format of `format_names`: text, a `FinishedPage`, or a JSON value."""
    module = importlib.import_module(f"{reports.__name__}.{PREFIX}{name}")
    shown: str | dict[str, Any] = module.render(view)
    return shown
