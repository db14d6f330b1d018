"""From a job to the bytes of a request, and from an answer's bytes to a result."""

from __future__ import annotations

import marshal
from collections import deque
from dataclasses import dataclass
from typing import Any

from codeguard.sandbox import decoding
from codeguard.sandbox.codes import CodeCache, code_key
from codeguard.sandbox.inside import wire
from codeguard.sandbox.lines import Answer, End, ZygoteDiedError
from codeguard.sandbox.model import CallResult, Job, JobResult, Level, LineCoverage, Outcome, Status, Tier

_SIGKILL, _SIGSYS = 9, 31  # by number: Windows has neither name
# of the limit, from which on a killed child counts as out of time: on a busy machine the kernel
# limits by ticks and reports less
_CPU_SHARE = 0.5
_FRAME_EXTRA = 4096  # extra bytes per call: brackets, exception names, messages
_SAID = {
    "completed": Status.COMPLETED,
    "error": Status.ERROR,
    "memory": Status.MEMORY,
    "policy": Status.POLICY,
    "unsupported": Status.UNSUPPORTED,
}


@dataclass(frozen=True, slots=True)
class Request:
    """The request to a zygote: the payload for its child, and how many extra bytes may be returned."""

    key: bytes
    payload: bytes
    extra_bytes: int


def refusal(job: Job) -> str:
    """Return why a job cannot be sent, or ""."""
    if len(job.source) > wire.SOURCE_BYTES:
        return f"source of {len(job.source)} characters, at most {wire.SOURCE_BYTES}"
    if not 0 <= job.world.hash_seed < 1 << 32:
        return f"hash seed {job.world.hash_seed}, expected 0 to 2**32 - 1"
    if not job.world.module.isidentifier():
        return f"module name {job.world.module!r}, expected a name"
    for call in job.calls:
        if not decoding.allowed_as_argument((call.args, dict(call.kwargs))):
            return f"an argument of {call.target[:40]!r} is not a plain value"
    return ""


def request(job: Job, codes: CodeCache, policy: bool) -> Request:
    """Serialize a job, with its compiled code if known."""
    restricted = job.tier is Tier.RESTRICTED and policy
    key = code_key(job.source, Tier.RESTRICTED if restricted else Tier.NATIVE)
    code = codes.get(key)
    calls = [
        (call.setup, call.target, None if call.args is None else _packed((call.args, dict(call.kwargs))))
        for call in job.calls
    ]
    seen = job.world
    world = (seen.now, dict(seen.environment), seen.random_seed, seen.module, seen.folder, dict(seen.files))
    fields = (
        job.source if code is None else "",
        code,
        restricted,
        calls,
        world,
        job.trace,
        job.limits.frame_bytes,
        code is None,
    )
    extra = _FRAME_EXTRA * (len(calls) + 1) + (wire.CODE_BYTES if code is None else 0)
    return Request(key, _packed(fields), extra)


def _packed(value: Any) -> bytes:
    """Serialize plain values for a child; two calls' arguments share no objects."""
    return marshal.dumps(value)


def result(
    job: Job, level: Level, sent: Request, answer: Answer, codes: CodeCache, wall_s: float
) -> JobResult:
    """Return the result in an answer, as far as the bytes follow the protocol.

    Raises ZygoteDiedError if it is unknown how the child ended, or if that was not the job's doing.
    """
    bodies = deque(decoding.complete_frames(answer.output))
    spent = wall_s, answer.how()[1] + answer.idle_s
    if sent.extra_bytes > wire.CODE_BYTES and bodies and bodies[0].startswith(wire.CODE):
        # the child wrote it before running any of the source
        codes.put(sent.key, bodies.popleft()[len(wire.CODE) :])
    try:
        if sum(map(len, bodies)) > job.limits.frame_bytes + _FRAME_EXTRA * (len(job.calls) + 1):
            raise decoding.MalformedError("more than the frame may hold")
        calls, end = decoding.calls_and_end(bodies, [call.args for call in job.calls])
        if end is not None:
            return _finished(job, level, calls, end, spent)
    except decoding.MalformedError as error:
        return JobResult(Status.MALFORMED, level, job.tier, (), (), None, str(error), *spent)
    status, detail = _ended(answer, job)
    return JobResult(status, level, job.tier, _filled(calls, job), (), None, detail, *spent)


def _finished(
    job: Job,
    level: Level,
    calls: list[CallResult],
    end: tuple[str, str, tuple[str, ...], LineCoverage | None],
    spent: tuple[float, float],
) -> JobResult:
    said, detail, effects, coverage = end
    status = _SAID.get(said)
    if status is None or (status is Status.COMPLETED and len(calls) != len(job.calls)):
        raise decoding.MalformedError("an end that does not fit")
    if status is Status.COMPLETED and any(_out_of_memory(call) for call in calls):
        status = Status.MEMORY
    return JobResult(status, level, job.tier, _filled(calls, job), effects, coverage, detail, *spent)


def _filled(calls: list[CallResult], job: Job) -> tuple[CallResult, ...]:
    return (*calls, *[CallResult(Outcome.NOT_RUN)] * (len(job.calls) - len(calls)))


def _out_of_memory(call: CallResult) -> bool:
    return call.outcome is Outcome.RAISED and call.exception[:1] == ("MemoryError",)


def _ended(answer: Answer, job: Job) -> tuple[Status, str]:
    """Return the status of a child with incomplete frames, by what the zygote and the kernel saw."""
    status, cpu_s = answer.how()
    if answer.end is End.DEADLINE and cpu_s >= job.limits.cpu_s:
        return Status.TIMEOUT, f"more than {job.limits.cpu_s:.3g} s of CPU time"
    if answer.end is End.DEADLINE:
        return Status.TIMEOUT, f"longer than {job.limits.wall_s} s"
    if answer.end is End.FLOOD:
        return Status.MALFORMED, "more output than the frame may hold"
    number = status & 0x7F
    if number == _SIGKILL and cpu_s >= _CPU_SHARE * job.limits.cpu_s:
        return Status.TIMEOUT, f"more than {job.limits.cpu_s} s of CPU time"
    if number == _SIGSYS:
        return Status.VIOLATION, "killed for a forbidden system call"
    if number == _SIGKILL and not answer.output:
        # no child can send this signal, and this one may not even have read its job
        raise ZygoteDiedError("the child was killed from outside")
    if number == _SIGKILL:
        return Status.NO_SIGNAL, "ended without a whole frame"
    if number:
        return Status.CRASH, f"signal {number}"
    return Status.NO_SIGNAL, f"ended with {status >> 8} and without a whole frame"
