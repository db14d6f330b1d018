"""Runs untrusted code in a confined process and brings plain values back."""

from codeguard.sandbox.model import (
    Call,
    CallResult,
    Iteration,
    Job,
    JobResult,
    Layer,
    Level,
    Limits,
    LineCoverage,
    Opaque,
    Outcome,
    Status,
    Tier,
    World,
)
from codeguard.sandbox.pool import Sandbox

__all__ = [
    "Call",
    "CallResult",
    "Iteration",
    "Job",
    "JobResult",
    "Layer",
    "Level",
    "Limits",
    "LineCoverage",
    "Opaque",
    "Outcome",
    "Sandbox",
    "Status",
    "Tier",
    "World",
]
