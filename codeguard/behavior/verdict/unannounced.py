"""What a function did and nothing said: effects of its calls that neither name nor description announces.

Honest code that opens a connection says so, in its name, its description or that of its class or file. A description
excuses kinds of effects, whatever they are on. The child reports effects itself and can hide them, so their absence
shows nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

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
from codeguard.syntax.capabilities import (
    ANNOUNCING,
    CHANGING,
    DOES,
    ENVIRONMENT,
    ESCAPE,
    FILES,
    NETWORK,
    OBSERVED,
    PROCESS,
)

SECRET = frozenset({"token", "secret", "key", "password", "passwd", "credential", "credentials", "auth"})
MOST_LISTED = 4  # effects that a report lists
MOST_SHOWN = 60  # characters of an effect, which is the function's own text
_DOES = {**DOES, ESCAPE: "replaces functions of other modules"}
_STEMS = {kind: frozenset(map(stem, words)) for kind, words in ANNOUNCING.items()}


def announced_words(candidate: CandidateFunction) -> frozenset[str]:
    """Return the stems of the words that say what a function does: names, and descriptions around it.

    The name of its file says nothing: whoever renames it must not change a verdict.
    """
    definition, owner = candidate.definition, candidate.definition.owner
    names = [definition.name, *(item.name for item in definition.parameters)]
    around: list[ast.Module | ast.ClassDef] = [ast.Module(list(candidate.module.statements), [])]
    if owner is not None:
        names.append(owner.name)
        around.append(owner)
    said = frozenset(stem(word) for name in names for word in name_words(name))
    texts = (definition.docstring, *(ast.get_docstring(item) or "" for item in around))
    return said.union(*map(description_stems, texts))


def has_unsaid_effect(candidate: CandidateFunction) -> bool:
    """Return whether by its source a function is certain to have an effect of a kind that nothing announces."""
    kinds = {effect.kind for effect in candidate.certain_of_class} & _STEMS.keys()
    said = announced_words(candidate) if kinds else frozenset()
    return any(said.isdisjoint(_STEMS[kind]) for kind in kinds)


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
    shown = [effect[:MOST_SHOWN] for _, effect in acts if not secrets]  # a reader is shown no planted secret
    does = _DOES[acts[0][0]] if acts else ""
    texts = {"does": does, "what": repr(next(iter(shown), "")), "secrets": secrets}
    result = replace(session.idle, effects=tuple(shown[:MOST_LISTED]))
    return replace(row_report(row, session, result, texts), claims=report.claims)


def unannounced(candidate: CandidateFunction, runner: CallRunner) -> list[tuple[str, str]]:
    """Return the effects of calls that nothing announces, each with its kind, the most serious first."""
    acts = [item for effect in sorted(runner.called) for item in _acts(effect, runner)]
    said = announced_words(candidate) if acts else frozenset()
    found = [item for item in acts if said.isdisjoint(_STEMS[item[0]])]
    return sorted(found, key=lambda item: [*_DOES].index(item[0]))


def _acts(effect: str, runner: CallRunner) -> Iterator[tuple[str, str]]:
    """Yield the effect if it is one that has to be announced.

    Whoever starts a process or asks for an address copies the whole environment. A file that an argument names is the
    caller's choice.
    """
    what, _, target = effect.partition(":")
    kind = OBSERVED.get(what, "")
    if kind == ENVIRONMENT:
        others = {OBSERVED.get(other.partition(":")[0]) for other in runner.called}
        copied = "env:*" in runner.called and not others.isdisjoint((NETWORK, PROCESS))
        if what == "setenv" or (not copied and not SECRET.isdisjoint(name_words(target))):
            yield kind, effect
    elif kind == FILES:
        given = any(f"/{target}".endswith(f"/{name}") for name in runner.given if name)
        if not given and (
            what in CHANGING or any(_is_private(target, world) for world in runner.budget.worlds)
        ):
            yield kind, effect
    elif kind in _STEMS:
        yield kind, effect


def _is_private(path: str, world: World) -> bool:
    """Return whether a path is in the user's home folder and not in the project."""
    project = world.folder.rpartition("/")[0]
    return path.startswith(world.environment.get("HOME", "") + "/") and not path.startswith(project)
