"""What the audit finds in agent skills, good and bad, each skill audited as a folder of its own.

    python -m experiments.benchmarks.audit_skills FILES.jsonl [--good FOLDER…] [--misses] [--json FILE]

FILES.jsonl has a file a line: path and text. A skill is what lies in one folder with its SKILL.md; the folder's name
says what is wrong with it, and `clean` or `safe` in it that nothing is. The audit sees neutral names. `--good` adds the
skills of unpacked packages, which count as honest. A skill is caught, or flagged, by a finding of medium severity or
above. Its account is the first part of its path; each account counts as much as the share of its skills.

One half was looked at while rules were fixed, the other one was not; which is which follows from the digest of the
skill's name, but for the two that were read before the halves were made.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from codeguard.audit.findings import Finding
from codeguard.audit.run import AuditOptions, audit
from codeguard.models import Severity
from experiments.audit_sets.halves import is_frozen
from experiments.benchmarks.audit_common import finish, parser_of, rate

READ_BEFORE = frozenset({"malicious_skill", "mcp_clean_skill"})
_GOOD = re.compile(r"(?:^|[_/-])(?:clean|safe)(?:$|[_/-])")
MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: its files by their names in it."""

    name: str
    bad: bool
    files: dict[str, str]

    @property
    def account(self) -> str:
        """Who it is from, as far as its path says."""
        return self.name.partition("/")[0]

    @property
    def half(self) -> str:
        """Which half it belongs to."""
        return "frozen" if self.name not in READ_BEFORE and is_frozen(self.name) else "development"


def main() -> None:
    """Audit every skill, print and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("files", type=Path, help="a file a line, as JSON")
    parser.add_argument("--good", type=Path, nargs="*", default=[], help="folders with honest skills in them")
    parser.add_argument(
        "--misses", action="store_true", help="name what is missed or flagged in the half to develop on"
    )
    arguments = parser.parse_args()
    rows: dict[str, list[tuple[Skill, bool]]] = defaultdict(list)
    for skill in (*labelled(arguments.files), *honest(arguments.good)):
        found = findings(skill)
        rows[f"{skill.half} {'bad' if skill.bad else 'good'}"].append((skill, bool(found)))
        if arguments.misses and skill.half == "development" and bool(found) != skill.bad:
            print(skill.name, "missed" if skill.bad else sorted({(item.rule, item.reason) for item in found}))
    finish({key: _figures(value) for key, value in sorted(rows.items())}, arguments.json)


def labelled(file: Path) -> Iterator[Skill]:
    """Yield the skills of a file of labelled ones."""
    texts = {row["path"]: row["text"] for row in map(json.loads, file.read_text("utf-8").splitlines())}
    for home in sorted(str(PurePosixPath(path).parent) for path in texts if path.endswith("/SKILL.md")):
        inside = {
            path.removeprefix(f"{home}/"): text for path, text in texts.items() if path.startswith(f"{home}/")
        }
        yield Skill(home, _GOOD.search(home) is None, inside)


def honest(folders: Iterable[Path]) -> Iterator[Skill]:
    """Yield the skills under some folders, named after the folder that they lie in."""
    for folder in folders:
        for main_file in sorted(folder.rglob("SKILL.md")):
            home = main_file.parent
            files = [
                path
                for path in sorted(home.rglob("*"))
                if path.is_file() and path.stat().st_size < MOST_BYTES
            ]
            inside = {path.relative_to(home).as_posix(): path.read_text("utf-8", "replace") for path in files}
            yield Skill(home.relative_to(folder).as_posix(), bad=False, files=inside)


def findings(skill: Skill) -> list[Finding]:
    """Return what an audit of the skill's files finds, of medium severity and above."""
    with tempfile.TemporaryDirectory() as made:
        home = Path(made) / "skill"
        for name, text in skill.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text, encoding="utf-8", errors="surrogatepass")
        report = audit([home], AuditOptions(behavior=False, jobs=1))
    return [item for item in report.open if item.severity >= Severity.MEDIUM]


def _figures(rows: list[tuple[Skill, bool]]) -> dict[str, Any]:
    by_account: dict[str, list[bool]] = defaultdict(list)
    for skill, hit in rows:
        by_account[skill.account].append(hit)
    shares = [sum(hits) / len(hits) for hits in by_account.values()]
    return {
        "skills": rate(sum(hit for _, hit in rows), len(rows)),
        "accounts": len(shares),
        "mean_share_of_accounts": round(sum(shares) / len(shares), 4),
    }


if __name__ == "__main__":
    main()
