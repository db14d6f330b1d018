"""Coroutines are run to their end, on a loop whose clock goes on when all wait."""

from __future__ import annotations

import pytest
from attacks.confined import job_of

from codeguard.sandbox import Call, Iteration, JobResult, Level, Outcome, Sandbox, Status, Tier

PLAIN = """
async def doubled(x):
    return x * 2
async def total(x):
    return sum([await doubled(item) async for item in upto(x)])
async def upto(x):
    for item in range(x):
        yield item
"""
LOOP = """
import asyncio
async def both(x):
    first, second = await asyncio.gather(later(x, 30), later(2 * x, 60))
    return [first, second, asyncio.get_running_loop().time()]
async def later(x, seconds):
    await asyncio.sleep(seconds)
    return x
async def too_late():
    await asyncio.wait_for(later(1, 60), 30)
async def never():
    await asyncio.get_running_loop().create_future()
def run(x):
    return asyncio.run(both(x))
"""


def _run(source: str, tier: Tier, *targets: str) -> JobResult:
    with Sandbox(Level.L2, workers=1) as sandbox:
        return sandbox.run(job_of(source, tuple(Call(target, None) for target in targets), tier))


@pytest.mark.parametrize("tier", list(Tier))
def test_a_coroutine_gives_what_it_returns_and_an_asynchronous_generator_what_it_yields(tier: Tier) -> None:
    result = _run(PLAIN, tier, "total(4)", "upto(3)")
    assert result.status is Status.COMPLETED
    assert result.calls[0].value == 12
    assert result.calls[1].value == Iteration("generator", (0, 1, 2), exhausted=True)


def test_what_waits_for_time_does_not_wait_and_nothing_is_asked_of_the_system() -> None:
    result = _run(LOOP, Tier.NATIVE, "both(2)", "run(3)")
    assert [call.value for call in result.calls] == [[2, 4, 60.0], [3, 6, 60.0]]
    assert result.effects == ("import:asyncio",)


def test_what_waits_for_ever_is_refused() -> None:
    result = _run(LOOP, Tier.NATIVE, "never()", "too_late()")
    assert [call.outcome for call in result.calls] == [Outcome.RAISED] * 2
    assert [call.exception[0] for call in result.calls] == ["RuntimeError", "TimeoutError"]
