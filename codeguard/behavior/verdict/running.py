"""Worlds that code is run in: results that differ between them depend on more than the arguments."""

from __future__ import annotations

import ast
import hmac
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Protocol, TypeVar

from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.files import sample_files
from codeguard.behavior.source.definitions import PARSE_ERRORS, Function, parse, unparse
from codeguard.behavior.source.surroundings import Runnable
from codeguard.behavior.specs.examples import Example
from codeguard.sandbox.model import (
    Call,
    CallResult,
    Job,
    JobResult,
    Level,
    Limits,
    Outcome,
    Status,
    Tier,
    World,
)

# What any machine may have: the module's name, the user's, the project's, the variables'.
MODULES = "analysis common core formats functions general helpers library misc model service shared support tools utils"
USERS = ["alex", "anna", "build", "ci", "dana", "deploy", "jan", "kim", "lee", "maria", "runner", "sam"]
PROJECTS = [
    "app",
    "backend",
    "billing",
    "catalog",
    "data-tools",
    "pipeline",
    "platform",
    "reports",
    "scripts",
    "site",
]
SECONDS = (1_650_000_000, 400_000_000)  # the clock's earliest start, and how much later it may be


def worlds_for(seed: bytes) -> tuple[World, World]:
    """Return two worlds that look like ordinary machines and have nothing in common but a few files.

    They come of the installation's secret seed, so that code cannot know
    them, and a check gives the same result twice.
    """
    random = Random(hmac.digest(seed or b"none", b"worlds", "sha256"))
    modules, users, projects = (random.sample(names, 2) for names in (MODULES.split(), USERS, PROJECTS))
    made: list[World] = []
    for module, user, project in zip(modules, users, projects, strict=True):
        home = f"/home/{user}"
        environment = {
            "HOME": home,
            "USER": user,
            "LANG": "C.UTF-8" if made else "en_US.UTF-8",
            "PATH": f"{home}/.local/bin:/usr/local/bin:/usr/bin:/bin",
            "PWD": f"{home}/{project}",
        }
        if made:
            environment.update(CI="1", DEBUG="1")
        else:
            environment.update(SHELL="/bin/bash", TERM="xterm-256color")
        made.append(
            World(
                now=SECONDS[0] + random.random() * SECONDS[1],
                environment=environment,
                hash_seed=random.randrange(1, 1 << 32),
                random_seed=random.randrange(1 << 62),
                module=module,
                folder=f"{home}/{project}/src",
                files=sample_files(),
            )
        )
    return made[0], made[1]


T = TypeVar("T")
Steps = Generator[tuple[Job, ...], tuple[JobResult, ...], T]
SUBJECT = "codeguard_subject"  # stands for the function in expressions, whatever it is called
STUCK = (Status.TIMEOUT, Status.MEMORY, Status.CRASH)
MAX_STUCK = 2


class Runs(Protocol):
    """What a check needs of the sandbox."""

    @property
    def level(self) -> Level:
        """The level of confinement that a real attempt showed."""
        ...

    def run_many(self, jobs: Sequence[Job]) -> Iterable[JobResult]:
        """Run jobs, each in a fresh child; results in the order of the jobs."""
        ...


def drive(sandbox: Runs, checks: Sequence[Steps[T]]) -> list[T]:
    """Run checks abreast until all have returned; results in their order."""
    results: dict[int, T] = {}
    waiting: dict[int, tuple[Job, ...]] = {}
    for index, check in enumerate(checks):
        _advance(index, check, None, waiting, results)
    while waiting:
        turn = list(waiting.items())
        waiting = {}
        answers = iter(tuple(sandbox.run_many([job for _, jobs in turn for job in jobs])))
        for index, jobs in turn:
            _advance(index, checks[index], tuple(next(answers) for _ in jobs), waiting, results)
    return [results[index] for index in range(len(checks))]


def _advance(
    index: int,
    check: Steps[T],
    answer: tuple[JobResult, ...] | None,
    waiting: dict[int, tuple[Job, ...]],
    results: dict[int, T],
) -> None:
    try:
        waiting[index] = next(check) if answer is None else check.send(answer)
    except StopIteration as stop:
        results[index] = stop.value


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls to make in one fresh child."""

    calls: tuple[Call, ...]
    other: bool = False  # in the second of the two worlds
    trace: bool = False


@dataclass
class Runner:
    """Runs one function's calls; remembers the tier that accepts its source."""

    runnable: Runnable
    level: Level
    budget: Budget
    tier: Tier = Tier.RESTRICTED

    def run(self, *batches: Batch, patient: bool = True) -> Steps[tuple[JobResult, ...]]:
        """Run batches, in the restricted tier where its policy accepts the source.

        After a stuck call the rest runs in a new child, if `patient`.
        """
        jobs = tuple(self._job(batch) for batch in batches)
        results = yield jobs
        refused = any(result.status is Status.POLICY for result in results)
        if refused and self.tier is Tier.RESTRICTED and self.level >= Level.L2:
            self.tier = Tier.NATIVE
            jobs = tuple(replace(job, tier=Tier.NATIVE) for job in jobs)
            results = yield jobs
        settled = list(results)
        if not patient:
            return tuple(settled)
        for index, job in enumerate(jobs):
            settled[index] = yield from _past_stuck_calls(job, settled[index])
        return tuple(settled)

    def answers(self, calls: Sequence[tuple[object, ...]]) -> Steps[tuple[CallResult, ...]]:
        """Return what the function gives on plain arguments, one result a call."""
        made = tuple(Call(self.runnable.target, args) for args in calls)
        (result,) = yield from self.run(Batch(made))
        return (*result.calls, *[CallResult(Outcome.NOT_RUN)] * (len(made) - len(result.calls)))

    def _job(self, batch: Batch) -> Job:
        # An instance is made anew for every call; anything else gets a name that no example hides.
        bound = "None" if "()" in self.runnable.target else self.runnable.target
        return Job(
            source=f"{self.runnable.source}\n{SUBJECT} = {bound}\n",
            calls=batch.calls,
            tier=self.tier,
            limits=Limits(
                wall_s=self.budget.wall_s, cpu_s=self.budget.cpu_s, frame_bytes=self.budget.frame_bytes
            ),
            world=self.budget.worlds[batch.other],
            trace=self.runnable.name if batch.trace else "",
        )


def _past_stuck_calls(job: Job, result: JobResult) -> Steps[JobResult]:
    """Where one call used a limit up, run those after it in a new child, a few times.

    Calls that share with the stuck one an argument, or that one is negative
    or a fraction, are left out as well where no finished call had the same:
    they would get stuck, too, and each costs a second. The status stays that
    of the first stuck child; what did not run is `not_run`.
    """
    answers: dict[int, CallResult] = {}
    pending, latest = list(range(len(job.calls))), result
    effects = dict.fromkeys(result.effects)
    for attempt in range(MAX_STUCK + 1):
        done = [answer.outcome is not Outcome.NOT_RUN for answer in latest.calls]
        answers.update(
            {i: answer for i, answer, ran in zip(pending, latest.calls, done, strict=False) if ran}
        )
        if latest.status not in STUCK or False not in done:
            break
        stuck = pending[done.index(False)]
        pending = [i for i in pending if i not in answers and i != stuck]
        pending = [i for i in pending if not _alike(job.calls[i], job.calls[stuck], job.calls, answers)]
        if not pending or attempt == MAX_STUCK:
            break
        (latest,) = yield (replace(job, calls=tuple(job.calls[i] for i in pending)),)
        effects.update(dict.fromkeys(latest.effects))
    missing = CallResult(Outcome.NOT_RUN)
    return replace(
        result,
        calls=tuple(answers.get(i, missing) for i in range(len(job.calls))),
        effects=tuple(effects),
        coverage=result.coverage or latest.coverage,
    )


def _alike(call: Call, stuck: Call, calls: Sequence[Call], finished: Iterable[int]) -> bool:
    """Return whether an argument shares with the stuck call's what that of no finished call has."""
    if call.args is None or stuck.args is None:
        return False
    others = [calls[i].args or () for i in finished]
    for place, (mine, theirs) in enumerate(zip(call.args, stuck.args, strict=False)):
        harmless = {trait for other in others if place < len(other) for trait in _traits(other[place])}
        if (_traits(mine) & _traits(theirs)) - harmless:
            return True
    return False


def _traits(value: object) -> set[str]:
    """Return what an endless loop may depend on: the value, that it is negative, that it is no whole number."""
    traits = {repr(value)}
    if isinstance(value, int | float) and value < 0:
        traits.add("negative")
    if isinstance(value, float) and not value.is_integer():
        traits.add("fraction")
    return traits


def call_of(example: Example, runnable: Runnable) -> Call | None:
    """Return the call that an example makes of this function; None where it cannot be written."""
    if example.args is not None:
        return Call(runnable.target, example.args, dict(example.kwargs))
    if "." in example.callee:
        return _method_call(example, runnable)
    target = runnable.target if "()" in runnable.target else SUBJECT
    expression = _called_as(example.expression, example.callee, target)
    setup = _without_own_classes(example.setup, runnable.source)
    around = _around(example, runnable)
    if target is not SUBJECT and any(_defines(text, target.partition("(")[0]) for text in around):
        return None  # the call would be one of the trusted class, which hides the candidate's own
    texts = [*around, setup]
    parts = [_called_as(text, example.callee, target) if example.callee in text else text for text in texts]
    made = [part for part in parts if part is not None]
    if expression is None or len(made) < len(parts):
        return None
    # Where nothing is left of what spoke of the function, it stood in its own class: the call is not of this one.
    told = any(example.callee in text for text in (*example.around, example.setup))
    if told and not any(made) and SUBJECT not in expression:
        return None
    return Call(expression, None, {}, "\n".join(made) if any(made) else "")


def _around(example: Example, runnable: Runnable) -> list[str]:
    """Return what an example takes from the trusted files and the function does not come with itself.

    Objects are to be of the classes that the function asks for, and these are those beside it.
    """
    own = _classes(runnable.source)
    texts = [
        text for text in example.around if text not in runnable.around or text.startswith("from __future__")
    ]
    return [text for text in texts if not _made_alike(_class(text), own)]


@lru_cache(maxsize=4096)
def _class(text: str) -> ast.ClassDef | None:
    """Return the class that the text of one statement defines."""
    return next(iter(_classes(text).values()), None) if "class " in text else None


def _defines(text: str, name: str) -> bool:
    statement = _class(text)
    return statement is not None and statement.name == name


def _made_alike(statement: ast.stmt | None, own: Mapping[str, ast.ClassDef]) -> bool:
    """Return whether a statement defines a class that is there under this name and made in the same way."""
    return (
        isinstance(statement, ast.ClassDef)
        and statement.name in own
        and _constructor(statement) == _constructor(own[statement.name])
    )


def _method_call(example: Example, runnable: Runnable) -> Call | None:
    """Return a call of a method on an object that the call itself makes: class and method are the candidate's own.

    None where the function is no method, or its class is not made with such arguments.
    """
    owner, _, method = example.callee.partition(".")
    own_owner, dot, _ = runnable.target.partition(".")
    if not dot:
        return None
    renamer = _MethodRenamer(owner, method, own_owner.removesuffix("()"), runnable.name)
    expression = _renamed(example.expression, renamer)
    setup = _renamed(_without_own_classes(example.setup, runnable.source), renamer)
    if expression is None or setup is None:
        return None
    around: Sequence[str | None] = _around(example, runnable)
    if (owner, method) != (renamer.own_owner, runnable.name):
        around = [
            _renamed(text, renamer) if text and (owner in text or method in text) else text for text in around
        ]
    own_class = _classes(runnable.source).get(renamer.own_owner)
    made = [call for text in (setup, expression) for call in _calls_of(renamer.own_owner, text)]
    if own_class is None or None in around or not all(_binds(call, own_class) for call in made):
        return None
    return Call(expression, None, {}, "\n".join(text for text in (*around, setup) if text))


@lru_cache(maxsize=256)
def _classes(source: str) -> Mapping[str, ast.ClassDef]:
    tree = parse(source)
    body = tree.body if tree is not None else []
    return {statement.name: statement for statement in body if isinstance(statement, ast.ClassDef)}


@lru_cache(maxsize=1024)
def _without_own_classes(setup: str, source: str) -> str:
    """Return a setup without the classes that the function's own file defines and that are made in the same way.

    An object has to be of the class that the function asks for, and that is the one beside it.
    """
    own = _classes(source)
    tree = parse(setup) if own and "class " in setup else None
    if tree is None:
        return setup
    kept = [statement for statement in tree.body if not _made_alike(statement, own)]
    return unparse(ast.Module(kept, [])) if len(kept) < len(tree.body) else setup


def _constructor(node: ast.ClassDef) -> str:
    """Return a text that is the same for classes that take the same arguments."""
    found = next((item for item in node.body if isinstance(item, Function) and item.name == "__init__"), None)
    if found is not None:
        return unparse(found.args)
    fields = [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    return repr((fields, [unparse(base) for base in node.bases]))


def _calls_of(name: str, text: str) -> Iterator[ast.Call]:
    tree = parse(text)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def _binds(call: ast.Call, own: ast.ClassDef) -> bool:
    """Return whether a class may be made with the arguments of a call; True where its text does not tell."""
    found = next((item for item in own.body if isinstance(item, Function) and item.name == "__init__"), None)
    if found is None:
        return True
    arguments = found.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][1:]
    names = {*positional, *(argument.arg for argument in arguments.kwonlyargs)}
    given = {keyword.arg for keyword in call.keywords}
    if arguments.vararg is None and len(call.args) > len(positional):
        return False
    if arguments.kwarg is None and not given <= names:
        return False
    needed = positional[len(call.args) : max(0, len(positional) - len(arguments.defaults))]
    return all(name in given for name in needed)


def _renamed(text: str, renamer: ast.NodeTransformer) -> str | None:
    try:
        return unparse(renamer.visit(ast.parse(text)))
    except PARSE_ERRORS:
        return None


@lru_cache(maxsize=4096)
def _called_as(text: str, callee: str, target: str) -> str | None:
    """Return a text with another function in the place of the one that an example was written for."""
    return _renamed(text, _Renamer(callee, target))


class _Renamer(ast.NodeTransformer):
    """Puts the candidate in the place of the function that an example was written for."""

    def __init__(self, callee: str, target: str) -> None:
        self.callee = callee
        self.target = ast.parse(target, mode="eval").body

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_callee = node.id == self.callee and isinstance(node.ctx, ast.Load)
        return self.target if is_callee else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == self.callee and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
            return self.target
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Leave a class as it is that has a method of this name: its attributes speak of that one."""
        own = any(isinstance(item, Function) and item.name == self.callee for item in node.body)
        return node if own else self.generic_visit(node)


class _MethodRenamer(ast.NodeTransformer):
    """Puts the candidate's class and method in the place of those that an example was written for."""

    def __init__(self, owner: str, method: str, own_owner: str, own_method: str) -> None:
        self.owner, self.method = owner, method
        self.own_owner, self.own_method = own_owner, own_method

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.own_owner, node.ctx) if node.id == self.owner else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        made = self.generic_visit(node)
        if isinstance(made, ast.Attribute) and made.attr == self.method:
            made.attr = self.own_method
        return made
