"""What a function did and nothing said: effects of its calls that neither name nor description announces.

Honest code that opens a connection says so, in its name, its description or that of its class or file. A description
excuses kinds of effects, whatever they are on. The child reports effects itself and can hide them, so their absence
shows nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from codeguard.analysis.python.counterparts import name_words
from codeguard.behavior.matching.candidate import CandidateFunction
from codeguard.behavior.matching.claims import description_stems, stem
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.planted import SEVERAL, sent
from codeguard.behavior.verdict.reports import row_report
from codeguard.behavior.verdict.running import CallRunner
from codeguard.behavior.verdict.table import UNANNOUNCED, named
from codeguard.models import CheckReport, Verdict
from codeguard.sandbox.model import World
from codeguard.syntax.capabilities import ANNOUNCING, CHANGING, ENVIRONMENT, FILES, NETWORK, OBSERVED, PROCESS

SECRET = frozenset({"token", "secret", "key", "password", "passwd", "credential", "credentials", "auth"})
MOST_SHOWN = 60  # characters of an effect, which is the function's own text
# The most serious first.
DOES = {
    NETWORK: "opens a connection",
    PROCESS: "starts a process",
    FILES: "uses files of its own choice",
    ENVIRONMENT: "takes secrets from the environment, or changes it",
    "native code": "calls native code",
    "interpreter internals": "replaces functions of other modules",
}
_STEMS = {kind: frozenset(map(stem, words)) for kind, words in ANNOUNCING.items()}


@dataclass(frozen=True, slots=True)
class Act:
    """One effect of a call, `kind:what` as the sandbox reports it, and what kind of effect it is."""

    kind: str
    effect: str


def announced_words(candidate: CandidateFunction) -> frozenset[str]:
    """Return the stems of the words that say what a function does: names, and descriptions around it.

    The name of its file says nothing: whoever renames it must not change a verdict.
    """
    definition = candidate.definition
    names = [definition.name, *(item.name for item in definition.parameters)]
    texts = [definition.docstring, _docstring(candidate.module.statements)]
    if definition.owner is not None:
        names.append(definition.owner.name)
        texts.append(_docstring(definition.owner.body))
    said = {stem(word) for name in names for word in name_words(name)}
    return frozenset(said).union(*map(description_stems, texts))


def _docstring(body: Collection[ast.stmt]) -> str:
    first = next(iter(body), None)
    value = first.value if isinstance(first, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def judged_by_effects(session: CandidateSession, report: CheckReport) -> CheckReport:
    """Return the report of a function of which no comparison showed anything, with what its calls did."""
    if report.verdict is not Verdict.NO_SIGNAL or report.refuted:
        return report
    runner = session.runner
    secrets = sent(session.seed, runner.leaving)
    acts = unannounced(session.candidate, runner)
    if not secrets and not acts:
        return report
    row = named(UNANNOUNCED if not secrets else "sends-secrets" if secrets >= SEVERAL else "sends-secret")
    shown = [item.effect[:MOST_SHOWN] for item in acts if not secrets]  # a reader is shown no planted secret
    texts = {
        "does": DOES[acts[0].kind] if acts else "",
        "what": repr(next(iter(shown), "")),
        "secrets": secrets,
    }
    result = replace(session.idle, effects=tuple(shown))
    return replace(row_report(row, session, result, texts), claims=report.claims)


def unannounced(candidate: CandidateFunction, runner: CallRunner) -> list[Act]:
    """Return the effects of the calls of a runner that nothing announces, the most serious kind first."""
    acts = [item for effect in sorted(runner.called) for item in _acts(effect, runner)]
    if not acts:
        return []
    said = announced_words(candidate)
    order = list(DOES)
    found = [item for item in acts if said.isdisjoint(_STEMS[item.kind])]
    return sorted(found, key=lambda item: order.index(item.kind))


def _acts(effect: str, runner: CallRunner) -> Iterator[Act]:
    """Yield the effect if it is one that has to be announced.

    Whoever starts a process or asks for an address copies the whole environment. A file that an argument names is the
    caller's choice.
    """
    what, _, target = effect.partition(":")
    kind = OBSERVED.get(what, "")
    if kind == ENVIRONMENT:
        copied = "env:*" in runner.called and any(
            OBSERVED.get(other.partition(":")[0]) in (NETWORK, PROCESS) for other in runner.called
        )
        if what == "setenv" or (not copied and not SECRET.isdisjoint(name_words(target))):
            yield Act(kind, effect)
    elif kind == FILES:
        own = target not in runner.given and not any(
            target.endswith(f"/{name}") for name in runner.given if name
        )
        if own and (what in CHANGING or any(_is_private(target, world) for world in runner.budget.worlds)):
            yield Act(kind, effect)
    elif kind in _STEMS:
        yield Act(kind, effect)


def _is_private(path: str, world: World) -> bool:
    """Return whether a path is in the user's home folder and not in the project."""
    project = world.folder.rpartition("/")[0]
    return path.startswith(world.environment.get("HOME", "") + "/") and not path.startswith(project)
