"""Every promise and every entry: what is run there, and why a promise does not apply where it does not.

`python tests/invariants/entries.py` writes the table of SECURITY.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hostile_tree import FAILED, HONEST, LOOPING, QUERY, REBOUND, TRUSTED, UNREAD_PART

PROMISES = {
    "imports": "Nothing of the tree is imported",
    "unread": "Nothing unread passes",
    "ends": "Every command ends within its budget",
    "shown": "What is shown is escaped and masked",
    "failed": "A detector that failed demotes, or fails an audit",
    "rebound": "What an importer gets is what is examined",
    "stale": "A stale answer is stated and never trusted",
}
SECURITY = Path(__file__).parents[2] / "SECURITY.md"
BEGIN, END = "<!-- promises: begin -->\n", "<!-- promises: end -->\n"

NOTHING_READ = "reads nothing of the tree"
NO_JUDGMENT = "judges no code"
NO_DETECTORS = "runs functions, no detectors"
NOT_RUN = "is not given what the sandbox found"
FROM_FILES = "answers from the files, not from an index"
FROM_TEXT = "is asked about a text, not about a file"
RENEWS = "brings the index up to date"
GIVEN = "hands on what its caller gives"
SAME_ANSWER = "shows the ranking of CodeGuard.query"
IS_AUDIT = "is `codeguard audit`"
INSTALLS = "runs for minutes: tests/packaging does it"
ANY_START = "starts every command that is tested"

SERVES = "until its first line"  # the last word of a command that runs until it is interrupted
JUDGED = ("unread", "failed", "rebound")
NONE: Mapping[str, str] = {}
FILES_ONLY = {"stale": FROM_FILES}
LISTS = dict.fromkeys(JUDGED, NO_JUDGMENT)
NO_ANSWER = LISTS | {"stale": NO_JUDGMENT}
FIXED = dict.fromkeys((*JUDGED, "stale"), NOTHING_READ)
PASSED_ON = dict.fromkeys(PROMISES, GIVEN)
CHECKER = dict.fromkeys(("unread", "failed"), NO_DETECTORS)


@dataclass(frozen=True)
class Entry:
    """One way in: the commands that are run there, or the family of `library_entries.py` that runs it.

    Args:
        runs: arguments of `codeguard`; several commands show together.
        family: of entries that are reached from Python.
        reads: how the output is read (see `reading.py`), "" if only its text counts.
        codes: the exit codes that are right.
        leaves_out: promises that do not apply, with the reason.
        changes: it changes the tree or its index.
        stdin: what its commands read.
    """

    name: str
    group: str
    runs: tuple[tuple[str, ...], ...] = ()
    family: str = ""
    reads: str = ""
    codes: tuple[int, ...] = (0,)
    leaves_out: Mapping[str, str] = field(default_factory=dict)
    changes: bool = False
    stdin: str = ""


def _command(words: str, *runs: str, **more: object) -> Entry:
    made = tuple(tuple(run.split("|")) for run in runs)
    return Entry(f"codeguard {words}", "command", made, **more)  # type: ignore[arg-type]


def _each(*names: str, group: str, family: str = "", leaves_out: Mapping[str, str] = NONE) -> list[Entry]:
    return [Entry(name, group, family=family, leaves_out=leaves_out) for name in names]


_INDEX = "index|ours|theirs|--trust|ours|--format|json"
_ASKED = f"query|{QUERY}|-k|20|--format|json"
_CHECKED = tuple(
    f"check|{path}|--against|{TRUSTED}|--format|json"
    for path in (HONEST, REBOUND, LOOPING, UNREAD_PART, FAILED)
)
_MANIFEST = "trust|build|ours"
_DIGEST = "0" * 64

ENTRIES = [
    _command("query", _ASKED, reads="ranking"),
    _command(
        "audit", "audit|theirs|--trust|ours|--all|--format|json", reads="audit", codes=(1,), leaves_out=FILES_ONLY
    ),
    _command("check", *_CHECKED, reads="check", codes=(0, 1, 3), leaves_out=FILES_ONLY | CHECKER),
    _command("status", "status|--format|json", reads="since", leaves_out=LISTS),
    _command("diff", "diff|--format|json", reads="since", leaves_out=LISTS),
    _command("ls", "ls|--format|json", "ls", reads="ls", leaves_out=LISTS),
    _command("store verify", "store|verify", leaves_out=NO_ANSWER),
    _command("doctor", "doctor", leaves_out=FIXED),
    _command("rules", "rules", leaves_out=FIXED),
    _command("explain", "explain|insecure.command-injection", leaves_out=FIXED),
    _command("config show", "config|show", leaves_out=FIXED),
    _command("hook", "hook", codes=(2,), stdin=json.dumps({"tool_input": {"file_path": FAILED}}),
             leaves_out=dict.fromkeys(JUDGED, IS_AUDIT) | FILES_ONLY),
    _command("mcp", "mcp|--root|.", leaves_out=NO_ANSWER | {"shown": "answers a client: tested at the tools of MCP"}),
    _command("serve", f"serve|--port|0|{SERVES}", codes=(0, 130), leaves_out=NO_ANSWER),
    _command("text consensus", f"text|consensus|texts.jsonl|--query|{QUERY}", codes=(0, 1), leaves_out=NO_ANSWER),
    _command(
        "text filter",
        f"text|filter|texts.jsonl|--query|{QUERY}|--threshold|0.2",
        codes=(0, 1),
        leaves_out=NO_ANSWER,
    ),
    _command(
        "text label-flip", "text|label-flip|texts.jsonl|--base|texts.jsonl", codes=(0, 1, 2), leaves_out=NO_ANSWER
    ),
    Entry("the script `codeguard`", "start", (tuple(_ASKED.split("|")),), reads="ranking"),
    Entry("`python -I -m codeguard`", "start", leaves_out=dict.fromkeys(PROMISES, ANY_START)),
    Entry("hook codeguard-audit", "hook", reads="audit text", codes=(1,), leaves_out=FILES_ONLY),
    Entry("hook codeguard-trust-verify", "hook", codes=(2,), leaves_out=NO_ANSWER),
    Entry("Action: Audit", "Action", reads="sarif", codes=(1,), leaves_out=FILES_ONLY),
    Entry("Action: Install", "Action", leaves_out=dict.fromkeys(PROMISES, INSTALLS)),
    *_each("search_code", "read", group="MCP", family="mcp"),
    *_each("audit_path", group="MCP", family="mcp", leaves_out=FILES_ONLY),
    *_each("check_code", group="MCP", family="mcp", leaves_out={"stale": FROM_TEXT}),
    *_each("explain", group="MCP", family="mcp", leaves_out=FIXED),
    *_each("/file", group="serve", family="web"),
    *_each("/findings", group="serve", family="web", leaves_out={"stale": "calls nothing trusted"}),
    *_each("/search", group="serve", family="web", leaves_out=dict.fromkeys(JUDGED, SAME_ANSWER)),
    *_each("/", group="serve", family="web", leaves_out=LISTS | {"stale": "counts files"}),
    *_each("/style.css", group="serve", family="web", leaves_out=NO_ANSWER),
    *_each("CodeGuard.query", "CodeGuard.query_many", group="Python", family="api"),
    *_each("DefenseEvaluator.fetch", group="Python", family="api"),
    *_each("CodeGuard.audit", group="Python", family="api", leaves_out=FILES_ONLY),
    *_each("BehaviorChecker.check", "BehaviorChecker.check_many", "BehaviorChecker.check_code", group="Python",
           family="api",
           leaves_out=CHECKER | {"stale": GIVEN}),
    *_each("DefenseManager.apply", "DefenseManager.evidence", group="Python", family="api",
           leaves_out={"stale": GIVEN, "shown": GIVEN}),
    *_each("DefenseManager.trust_of", group="Python", family="api",
           leaves_out=dict.fromkeys(("unread", "failed"), NO_DETECTORS) | {"stale": GIVEN}),
    *_each("CodeGuard.index", group="Python", leaves_out=dict.fromkeys(PROMISES, "is `codeguard index`")),
    *_each("CodeGuard.open", "CodeGuard.settings", "CodeGuard.catalog", "CodeGuard.workspace", "CodeGuard.close",
           "CodeGuard.folder", "DefenseManager.reconsidered",
           "BehaviorChecker.asked_by", "BehaviorChecker.lacks_answers", "BehaviorChecker.met",
           "BehaviorChecker.probe_trusted", "BehaviorChecker.take_answers",
           "DefenseManager.known_only", "DefenseManager.lists",
           "DefenseManager.level", "DefenseManager.close",
           "DefenseEvaluator.evaluate", "DefenseEvaluator.is_poisoned", "DefenseEvaluator.reduction",
           group="Python", leaves_out=dict.fromkeys(PROMISES, NO_JUDGMENT)),
    *_each("GuardedClient.create_collection", "GuardedClient.get_collection",
           "GuardedClient.get_or_create_collection", "GuardedCollection.query", "GuardedCollection.get",
           "GuardedCollection.peek", "DocumentJudge.judge", "Retrieval.ask", group="Chroma", family="chroma"),
    *_each("GuardedCollection.unguarded", "GuardedCollection.name", "GuardedCollection.count",
           "GuardedCollection.fork", "GuardedCollection.search", "DocumentJudge.wait_s",
           group="Chroma", leaves_out=PASSED_ON),
    *_each("langchain.CodeGuardRetriever", group="frameworks", family="langchain"),
    *_each("llamaindex.CodeGuardRetriever", "llamaindex.CodeGuardPostprocessor", group="frameworks",
           family="llamaindex"),
    # From here on the tree or its index changes.
    _command("index", _INDEX, reads="index", leaves_out={"stale": RENEWS}, changes=True),
    _command("rm", f"rm|{LOOPING}", leaves_out=NO_ANSWER, changes=True),
    _command("init", "init|ours", codes=(2,), leaves_out=NO_ANSWER, changes=True),
    _command("setup", "setup|cursor|--yes", leaves_out=NO_ANSWER, changes=True),
    _command("accept", f"accept|{_DIGEST}|--reason|x", leaves_out=NO_ANSWER, changes=True),
    _command("trust build", _MANIFEST, leaves_out=NO_ANSWER, changes=True),
    _command("trust show", "trust|show", leaves_out=NO_ANSWER),
    _command("trust sign", _MANIFEST, "trust|sign|ours/codeguard.manifest.json|--key|none", codes=(0, 2),
             leaves_out=NO_ANSWER, changes=True),
    _command("trust verify", "trust|verify|theirs", codes=(2,), leaves_out=NO_ANSWER, changes=True),
    _command("trust update", "trust|update|theirs|--key|none", codes=(2,), leaves_out=NO_ANSWER, changes=True),
]  # fmt: skip


def table() -> str:
    """Return the table of SECURITY.md: each promise, where it is tested, and where it does not apply."""
    groups = list(dict.fromkeys(entry.group for entry in ENTRIES))
    lines = ["| promise | tested at | not where the entry | test |", "|---|---|---|---|"]
    for promise, text in PROMISES.items():
        tested, left = [], dict[str, list[str]]()
        for group in groups:
            of_group = [entry for entry in ENTRIES if entry.group == group]
            names = [entry.name for entry in of_group if promise not in entry.leaves_out]
            if names:
                tested.append(f"{group} ({len(names)} of {len(of_group)})")
        for entry in ENTRIES:
            if promise in entry.leaves_out:
                left.setdefault(entry.leaves_out[promise], []).append(entry.name)
        reasons = "; ".join(f"{reason} ({len(names)})" for reason, names in left.items())
        lines.append(f"| {text} | {', '.join(tested)} | {reasons} | `test_promises.py::test_{promise}` |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    before, _, rest = SECURITY.read_text().partition(BEGIN)
    SECURITY.write_text(f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}")
