"""False claims of safety: wrong code below a header that calls it official, reviewed and approved."""

from experiments.benchmark.attacks.base import Reused

ATTACK = Reused("false_safety_claims", "claims", "wrong code that claims to be approved", "misleading")
