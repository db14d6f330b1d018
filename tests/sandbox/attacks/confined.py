"""Runs an attack inside the sandbox and lists every effect that it had."""

from __future__ import annotations

import json
import os
import time
from types import TracebackType

from attacks.arena import SECRET_NAME, Arena, become_subreaper, descendants
from attacks.case import ADD_VALUES, Attack, Proof
from codeguard.sandbox import Call, Job, JobResult, Level, Limits, Outcome, Sandbox, Status, Tier
from codeguard.sandbox.model import Importable, ModuleText
from codeguard.sandbox.zygotes import SPARE, Zygote

LIMITS = Limits(wall_s=0.2)
BRIEF = Limits(wall_s=0.1)  # for what only has to be cut: there are five hundred of them
CALM = Limits(wall_s=20.0)  # for what has to be right, not to be cut, however busy the machine is
OVERTIME_S = 0.5
NEXT = Job("def twice(x):\n    return [x, x + x]\n", (Call("twice", (21,)),), limits=CALM)
NEXT_WIDE = Job("import os\n", (), Tier.NATIVE, CALM)
NEXT_VALUE = [21, 42]


def job_of(source: str, calls: tuple[Call, ...], tier: Tier, limits: Limits = Limits()) -> Job:  # noqa: B008
    """Return a job of a source; in the tier of imported modules it is one of its own."""
    if tier is not Tier.IMPORTED:
        return Job(source, calls, tier, limits)
    return Job("", calls, tier, limits, importing=Importable("attacked", {"attacked": ModuleText(source)}))


class Range:
    """A sandbox with an arena around it; attacks run one after another."""

    def __init__(
        self,
        without: frozenset[str] = frozenset(),
        limits: Limits = LIMITS,
        timed: bool = False,
        files: bool = False,
    ) -> None:
        # files in memory would take most attacks in before they meet what is to stop them
        self.without = without if files else without | {"files"}
        self.timed = timed  # also look at the clock, which a busy machine disturbs
        self.limits = limits
        become_subreaper()
        self.arena = Arena()
        os.environ[SECRET_NAME] = self.arena.secret
        # one zygote: what an attack leaves in it, the next check meets
        self.sandbox = Sandbox(level_required=Level.L0 if without else Level.L2, without=self.without)
        self.others = descendants(os.getpid())  # processes that other tests have started here
        self.probes: dict[tuple[str, Tier], object] = {}
        # Both kinds of zygote run before anything hostile does: starting one takes time.
        for job in (NEXT, NEXT_WIDE):
            self.sandbox.run(job)

    def __enter__(self) -> Range:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sandbox.close()
        self.arena.close()
        os.environ.pop(SECRET_NAME, None)

    def effects(self, attack: Attack, tier: Tier) -> list[str]:
        """Run one attack and return the effects that it must not have had; none is what one hopes for."""
        if self.arena.changed() or self.arena.victim_change() or self.arena.waiter.woken():
            self._renew()
        own = {worker.pid for worker in self.sandbox.idle() if isinstance(worker, Zygote)}
        self.others = descendants(os.getpid(), without=own)
        clean = self._probe(attack, tier) if attack.proof is Proof.STATE else None
        results = [self._attack(attack, tier)]
        if attack.proof is Proof.FLAP:
            results.append(self._fresh_attack(attack, tier))
        found = [effect for result in results for effect in self._seen(attack, result)]
        if attack.proof is Proof.STATE and repr(self._probe(attack, tier, again=True)) != repr(clean):
            found.append(
                f"the next check gives {self._probe(attack, tier, again=True)!r} instead of {clean!r}"
            )
        if attack.proof is Proof.FLAP and repr(results[0].calls) != repr(results[1].calls):
            found.append("two runs differ")
        if self.timed and attack.proof is Proof.CUT and (late := self._overtime(attack, tier, results[0])):
            found.append(late)
        return found + self._outside()

    def _overtime(self, attack: Attack, tier: Tier, result: JobResult) -> str:
        """Say how late the attack was cut; tried again where another process may be why."""
        walls = [result.wall_s]
        while min(walls) > self.limits.wall_s + OVERTIME_S and len(walls) < 4:
            walls.append(self._attack(attack, tier).wall_s)
        late = min(walls) > self.limits.wall_s + OVERTIME_S
        return f"cut after {min(walls):.2f} s at best" if late else ""

    def run(self, attack: Attack, tier: Tier) -> JobResult:
        """Run the attack's job alone and return what the host sees."""
        return self._attack(attack, tier)

    def _job(self, attack: Attack, source: str, calls: tuple[str, ...], tier: Tier) -> Job:
        made = tuple(Call(call, args=None) for call in calls)
        limits = {Proof.STATE: CALM, Proof.FLAP: CALM, Proof.CUT: BRIEF}.get(attack.proof, self.limits)
        return job_of(self.arena.fill(source), made, tier, limits)

    def _attack(self, attack: Attack, tier: Tier) -> JobResult:
        return self.sandbox.run(self._job(attack, attack.source, attack.calls, tier))

    def _fresh_attack(self, attack: Attack, tier: Tier) -> JobResult:
        with Sandbox(level_required=self.sandbox.level_required, without=self.without) as other:
            other.run(NEXT)  # starting takes time that is not the attack's
            return other.run(self._job(attack, attack.source, attack.calls, tier))

    def _probe(self, attack: Attack, tier: Tier, again: bool = False) -> object:
        key = (attack.id, tier)
        if again or key not in self.probes:
            result = self.sandbox.run(self._job(attack, attack.after, ("probe()",), tier))
            shown = [(call.outcome.value, call.value, call.exception) for call in result.calls]
            self.probes[key] = (result.status.value, shown)
        return self.probes[key]

    def _seen(self, attack: Attack, result: JobResult) -> list[str]:
        found = []
        text = repr([(call.value, call.stdout, call.message) for call in result.calls]) + result.detail
        if self.arena.secret in text:
            found.append("the secret came out")
        elif attack.proof is Proof.LEAK and _came_out(self.arena.fill(attack.sought), result):
            found.append(f"came out: {self.arena.fill(attack.sought)}")
        values = tuple(call.value for call in result.calls if call.outcome is Outcome.RETURNED)
        right = values == ADD_VALUES and all(type(value) is int for value in values)
        if attack.proof is Proof.SPOOF and result.status is Status.COMPLETED and right:
            found.append("a wrong function passes")
        if attack.proof is Proof.DETECT and result.status is Status.COMPLETED and right:
            found.append("behaves where it is tested")
        if attack.proof is Proof.CRASH and result.status is Status.COMPLETED and _returned(result):
            found.append("completed")
        if result.status is Status.UNSUPPORTED and "not engaged" in result.detail:
            found.append("was not tested: " + result.detail)
        return found

    def _outside(self) -> list[str]:
        found = [f"changed: {name}" for name in self.arena.changed()]
        if self.arena.heard():
            found.append("a listener was contacted")
        if change := self.arena.victim_change():
            found.append(f"victim: {change}")
        if not self._next_is_right():
            found.append("the next check is harmed")
        if extra := self._survivors():
            found.append(f"{extra} processes survive")
        return found

    def _next_is_right(self) -> bool:
        result = self.sandbox.run(NEXT)
        return result.status is Status.COMPLETED and result.calls[0].value == NEXT_VALUE

    def _survivors(self) -> int:
        """Count processes beyond the started interpreter, its pid 1 and who waits, after a moment to be buried."""
        for _ in range(50):
            extra = len(descendants(os.getpid()) - self.others) - self._expected()
            if extra <= 0:
                return 0
            time.sleep(0.01)
        return extra

    def _expected(self) -> int:
        engaged = {layer.name for layer in self.sandbox.layers() if layer.engaged}
        return len(self.sandbox.idle()) * ((2 if "namespaces" in engaged else 1) + SPARE)

    def _renew(self) -> None:
        """Start again after an attack got through, so that its traces are not counted twice."""
        self.sandbox.close()
        self.arena.close()
        self.__init__(self.without, self.limits, self.timed)  # type: ignore[misc]


def _returned(result: JobResult) -> bool:
    return all(call.outcome is Outcome.RETURNED for call in result.calls)


def _came_out(sought: str, result: JobResult) -> bool:
    try:
        value = json.dumps([call.value for call in result.calls])
    except TypeError:
        value = repr([call.value for call in result.calls])
    shown = value + "".join(call.stdout for call in result.calls)
    return sought in shown
