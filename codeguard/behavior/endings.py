"""What it says of a function that its child ended in some other way than by answering."""

from __future__ import annotations

from codeguard.models import Verdict
from codeguard.sandbox.model import Status

ENDINGS = {
    Status.ERROR: Verdict.ERROR,
    Status.TIMEOUT: Verdict.TIMEOUT,
    Status.MEMORY: Verdict.MEMORY,
    Status.VIOLATION: Verdict.VIOLATION,
    Status.POLICY: Verdict.POLICY,
    Status.CRASH: Verdict.CRASH,
    Status.MALFORMED: Verdict.MALFORMED,
    Status.NO_SIGNAL: Verdict.NO_SIGNAL,
    Status.UNSUPPORTED: Verdict.UNSUPPORTED,
}
