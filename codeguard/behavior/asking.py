"""Putting questions to a candidate, and to the reference beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from codeguard.behavior.budget import Budget
from codeguard.behavior.candidate import Candidate
from codeguard.behavior.matching import TELLING_DOC_WORDS, Similarity
from codeguard.behavior.pools import Arguments
from codeguard.behavior.profiles import Profile, answers
from codeguard.behavior.refusal import takes_nothing
from codeguard.behavior.running import Batch, Runner, Steps
from codeguard.behavior.shrink import size, smaller
from codeguard.behavior.ties import arbitrary
from codeguard.behavior.trial import Answered, Question, compare, different, known, not_taken, of_observed
from codeguard.behavior.worlds import OTHER_WORLD
from codeguard.sandbox.model import JobResult, Level, Tier

MAX_ROUNDS = 3
MAX_SETTLED = 24
SHRINK_WIDTH = 24


@dataclass
class Asking:
    """A candidate and what may be spent on it; `runner` remembers the tier that takes it."""

    candidate: Candidate
    level: Level
    budget: Budget
    seed: bytes
    runner: Runner = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        self.runner = Runner(self.candidate.runnable, self.level, self.budget)

    def ask(self, questions: Sequence[Question], twice: bool = False) -> Steps[tuple[JobResult, ...]]:
        """Put questions to the candidate; with `twice` in the ordinary world and, the other way round, in another."""
        calls = tuple(question.call for question in questions)
        self.calls += len(calls)
        # Watching lines is slow: where there are two runs, the one that decides goes without.
        batches = (
            (Batch(calls), Batch(calls[::-1], OTHER_WORLD, trace=True))
            if twice
            else (Batch(calls, trace=True),)
        )
        return (yield from self.runner.run(*batches))

    def both(
        self, profile: Profile, inputs: Sequence[Arguments]
    ) -> Steps[tuple[list[Answered], JobResult | None]]:
        """Run reference and candidate on the same inputs, each in a child of its own."""
        runner = Runner(profile.reference.runnable, self.level, self.budget.for_reference())
        seen, _ = yield from answers(
            runner, profile.reference, inputs, profile.examples, twice=not profile.steady
        )
        asked = [of_observed(item, self.candidate.runnable, profile.silence_free) for item in seen]
        questions = [question for question in asked if question is not None]
        if not questions:
            return [], None
        (result,) = yield from self.ask(questions)
        return compare(questions, result.calls), result

    def refused(self, answered: Sequence[Answered], likeness: Similarity) -> Steps[bool]:
        """Say whether the candidate takes other inputs than these, and so is another function."""
        telling = likeness.name == 1.0 or likeness.doc_words >= TELLING_DOC_WORDS
        described = likeness.described and telling
        if not not_taken(answered):
            return False
        if described:
            return (yield from self._turned_round(answered))
        broken = likeness.sure and (yield from takes_nothing(self.runner, self.candidate.features.least_args))
        return not broken

    def _turned_round(self, answered: Sequence[Answered]) -> Steps[bool]:
        """Say whether the candidate is right where it gets its two arguments the other way round."""
        questions = [
            replace(item.question, call=replace(item.question.call, args=item.question.call.args[::-1]))
            for item in known(answered)
            if item.question.call.args is not None and len(item.question.call.args) == 2
        ]
        if not questions:
            return False
        (result,) = yield from self.ask(questions)
        compared = known(compare(questions, result.calls))
        return bool(compared) and not different(compared)

    def holds_natively(self, wrong: Sequence[Answered]) -> Steps[bool]:
        """Say whether wrong answers stay wrong where no policy stands between the code and Python."""
        if self.runner.tier is not Tier.RESTRICTED or self.level < Level.L2:
            return True
        native = Runner(self.candidate.runnable, self.level, self.budget, Tier.NATIVE)
        questions = [item.question for item in wrong[:MAX_SETTLED]]
        (result,) = yield from native.run(Batch(tuple(question.call for question in questions)))
        return len(different(compare(questions, result.calls))) == len(questions)

    def settled(self, profile: Profile, wrong: Sequence[Answered]) -> Steps[list[Answered]]:
        """Leave out the inputs on which the reference's own answer is arbitrary."""
        runner = Runner(profile.reference.runnable, self.level, self.budget.for_reference())
        inputs = [(item.question.call.args or (), item.question.call.kwargs) for item in wrong[:MAX_SETTLED]]
        ties = yield from arbitrary(profile, runner, inputs)
        return [item for item, tie in zip(wrong, ties, strict=False) if not tie]

    def shrunk(self, profile: Profile, found: Answered) -> Steps[Answered]:
        """Return a smaller call inside the domain on which the candidate still differs."""
        best = found
        left = self.budget.shrinking
        for _ in range(MAX_ROUNDS):
            if profile.domain is None or best.question.call.args is None or left <= 0:
                break
            current: Arguments = (best.question.call.args, best.question.call.kwargs)
            steps = [call for call in smaller(current) if profile.domain.admits(*call)]
            steps = sorted(steps, key=size)[: min(SHRINK_WIDTH, left)]
            left -= len(steps)
            answered, _ = yield from self.both(profile, steps)
            wrong = yield from self.settled(profile, different(answered))
            if not wrong or wrong[0].size >= best.size:
                break
            best = wrong[0]
        return best
