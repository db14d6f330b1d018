"""Run untrusted code in a confined process and bring plain values back.

A `Job` comes in, a `JobResult` goes out. Imports nothing of codeguard except errors: it knows nothing about
chunks or scores.
"""

from codeguard.sandbox.inside.wire import MAX_STDOUT as MAX_STDOUT
from codeguard.sandbox.model import Call as Call
from codeguard.sandbox.model import CallResult as CallResult
from codeguard.sandbox.model import Iteration as Iteration
from codeguard.sandbox.model import Job as Job
from codeguard.sandbox.model import JobResult as JobResult
from codeguard.sandbox.model import Layer as Layer
from codeguard.sandbox.model import Level as Level
from codeguard.sandbox.model import Limits as Limits
from codeguard.sandbox.model import Opaque as Opaque
from codeguard.sandbox.model import Outcome as Outcome
from codeguard.sandbox.model import Status as Status
from codeguard.sandbox.model import Tier as Tier
from codeguard.sandbox.model import World as World
from codeguard.sandbox.pool import Sandbox as Sandbox
from codeguard.sandbox.pool import advice as advice
from codeguard.sandbox.zygotes import read_given as read_given
