"""The interfaces of detectors: rules, matches, and signals that inspect a file or the whole corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codeguard.analysis import Reading
from codeguard.corpus.patterns import stored
from codeguard.models import Confidence, Severity, SourceFile

if TYPE_CHECKING:
    from codeguard.analysis.python.counterparts import Sketched, TrustedFunctions


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of evidence that a signal reports; its texts are in a TOML file next to the signal's
    code.

    `remediation` is one line on what to do; without it, the explanation says so. `bad` and `good` are
    short examples of code that the rule reports and of the same thing done right. `tested` means that tests contain
    what the rule reports to show that something refuses it; an audit rates it as low there.
    `outright` means that the rule is about a check that is off, which a branch around it makes somebody's choice.
    `special_of` names rules (`signal.rule`) that say less of the same thing: an audit tells one of them where
    both report one place.
    """

    id: str
    summary: str
    severity: Severity
    confidence: Confidence
    explanation: str = ""
    bad: str = ""
    good: str = ""
    cwe: tuple[int, ...] = ()
    language: str = "python"  # language of the examples
    remediation: str = ""
    tested: bool = False
    outright: bool = False
    special_of: tuple[str, ...] = ()

    @property
    def advice(self) -> str:
        """What to do about a finding, in one line."""
        return self.remediation or " ".join(self.explanation.split())


def rules_of(module: str) -> Mapping[str, Rule]:
    """Return the rules in the TOML file next to a module, by id, in the order of the file.

    Args:
        module: the module's `__file__`; a package's rules are in `rules.toml`.

    Raises:
        OSError, ValueError, KeyError: the file is missing or does not describe rules.
    """
    place = Path(module)
    place = place.with_name("rules.toml") if place.stem == "__init__" else place.with_suffix(".toml")
    return {id_: rule_of(id_, table) for id_, table in stored(place).items()}


def rule_of(id_: str, table: Mapping[str, Any]) -> Rule:
    """Return the rule that a table describes, without the rows that say where it applies; confidence is medium if the
    table has none.

    Raises:
        TypeError, KeyError: the table does not describe a rule.
    """
    graded = {
        "severity": Severity[table["severity"].upper()],
        "confidence": Confidence[table.get("confidence", "medium").upper()],
        "cwe": tuple(table.get("cwe", ())),
        "special_of": tuple(table.get("special_of", ())),
    }
    described = {key: value for key, value in table.items() if key not in _ROWS}
    return Rule(id_, **{**described, **graded})


_ROWS = frozenset({"match", "flow", "from", "shell", "script"})


@dataclass(frozen=True, slots=True)
class DetectorContext:
    """What detectors compare a file with; None if nothing is trusted."""

    trusted_functions: TrustedFunctions | None = None

    @classmethod
    def made_for(
        cls,
        signals: Iterable[FileSignal],
        trusted: Callable[[], Iterable[SourceFile]] | None,
        sketched: Mapping[str, Sketched] | None = None,
    ) -> DetectorContext:
        """Return what these signals compare with; `trusted` reads the trusted files if one of them does.

        `sketched` is what is known of their functions, by path; see `counterparts.sketches_of`.
        """
        if trusted is None or not any(signal.compares for signal in signals):
            return cls()
        from codeguard.analysis.python.counterparts import TrustedFunctions

        return cls(TrustedFunctions.from_files(trusted(), sketched))


IMPORTED = "imported"  # measurement: the name that is imported; an audit knows which modules lie beside
IN_TEST = "in_test"  # measurement: the place is in a test function or in what only those use: low in an audit
MISSING_LINES = "missing_lines"  # measurement: how many ranges of lines are not in the syntax tree
DIRECT = "direct"  # measurement: an untrusted value is used as it came, or as part of a text
OUTRIGHT = "outright"  # measurement: a check is off whatever anybody chooses
# Measurement: the rule is mostly wrong at a place of this kind, so that an audit lists the finding with low confidence.
LESS_SURE = "less_sure"


@dataclass(frozen=True, slots=True)
class Match:
    """A match of a rule, in character offsets of the file's text.

    `severity` and `confidence` default to the rule's. `reason` is one line for people; untrusted
    text in it is escaped where it is shown.
    """

    rule: str
    start: int
    end: int
    reason: str
    severity: Severity | None = None
    confidence: Confidence | None = None
    measurements: Mapping[str, float | int | str | bool] = field(default_factory=dict)


@dataclass(eq=False)
class FileSignal:
    """A static signal that inspects one whole file, for findings of the audit and penalties of the ranking.

    `inspect` yields the matches in a file. It uses only the text and the context, never the file's name or folder,
    so renaming a file changes no finding. `intent` is true if it tells of what an attacker would plant rather than of
    mistakes; reports list the two apart. `compares` is true if it uses the trusted functions. Its penalty for a rule
    is the weight `name.rule`, charged once per chunk.
    """

    name: str
    summary: str
    rules: tuple[Rule, ...]
    inspect: Callable[[Reading, DetectorContext], Iterable[Match]]
    intent: bool = False
    compares: bool = False


def signal_of(
    module: str,
    summary: str,
    inspect: Callable[[Reading, DetectorContext], Iterable[Match]],
    *,
    intent: bool = False,
    compares: bool = False,
) -> FileSignal:
    """Return the signal that a module or package is, by its name, with the rules of its file (see `rules_of`)."""
    place = Path(module)
    name = place.parent.name if place.stem == "__init__" else place.stem
    return FileSignal(name, summary, tuple(rules_of(module).values()), inspect, intent, compares)
