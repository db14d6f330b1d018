"""What the output of a command says of each file, read as a user or a program would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from hostile_tree import FILES
from library_entries import MAIN, Shown, shown

SEVERE = ("medium", "high", "critical")
LINE = re.compile(r"^\s*(theirs/\S+?):\d+:\d+: (?:medium|high|critical)", re.MULTILINE)


def objects(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def against(text: str, failing: Iterable[str]) -> Shown:
    return shown(text, cleared=FILES.keys() - {*failing})


def audit(text: str) -> Shown:
    (log,) = objects(text)
    return against(text, (item["path"] for item in log["findings"] if item["severity"] in SEVERE))


def sarif(text: str) -> Shown:
    (run,) = json.loads(text[text.index("{\n") if "{\n" in text else text.index("{") :])["runs"]
    return against(
        text,
        (
            item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for item in run["results"]
            if item["level"] in ("warning", "error")
        ),
    )


def ranked(text: str, items: Iterable[Any]) -> Shown:
    about = [item for item in items if item["symbol"] in MAIN]
    fine = [item for item in about if not item["demoted"] and not item["convicted"]]
    return shown(
        text,
        cleared=(item["path"] for item in fine),
        trusted=(item["path"] for item in about if item["trust"] == "trusted"),
        stale=(item["path"] for item in about if item["on_disk"] in ("changed", "gone")),
    )


def index(text: str) -> Shown:
    (report,) = objects(text)
    named = [item["path"] for item in (*report["demoted"], *report["convicted"], *report["skipped"])]
    named += [note.partition(": ")[0] for note in report["notes"]]
    return against(text, (*named, *report["budget"]["files"]))


def since(text: str) -> Shown:
    (report,) = objects(text)
    return shown(text, stale=report.get("since", report)["changed"])


def listed(text: str) -> Shown:
    (report,) = objects(text)
    files = report["files"]
    return shown(
        text,
        trusted=(item["path"] for item in files if item["trusted"]),
        stale=(item["path"] for item in files if item["changed"]),
    )


def checked(text: str) -> Shown:
    found = [item for report in objects(text) for item in report["functions"]]
    return shown(text, vouched=(item["path"] for item in found if item["verdict"] == "pass"))


READERS: dict[str, Callable[[str], Shown]] = {
    "": shown,
    "audit": audit,
    "audit text": lambda text: against(text, LINE.findall(text)),
    "check": checked,
    "export": lambda text: ranked(text, objects(text)),
    "index": index,
    "ls": listed,
    "ranking": lambda text: ranked(text, objects(text)[-1]["ranking"]),
    "sarif": sarif,
    "since": since,
}
