"""Run untrusted code in a confined process and bring plain values back.

A `Job` comes in, a `JobResult` goes out. Imports nothing of codeguard except errors: it knows nothing about
chunks or scores.
"""

from codeguard.sandbox.advice import advice
from codeguard.sandbox.given import read_given
from codeguard.sandbox.inside.wire import MAX_STDOUT
from codeguard.sandbox.model import (
    Call,
    CallResult,
    Iteration,
    Job,
    JobResult,
    Layer,
    Level,
    Limits,
    Opaque,
    Outcome,
    Status,
    Tier,
    World,
)
from codeguard.sandbox.pool import Sandbox

__all__ = [
    "MAX_STDOUT",
    "Call",
    "CallResult",
    "Iteration",
    "Job",
    "JobResult",
    "Layer",
    "Level",
    "Limits",
    "Opaque",
    "Outcome",
    "Sandbox",
    "Status",
    "Tier",
    "World",
    "advice",
    "read_given",
]
