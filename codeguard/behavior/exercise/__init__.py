"""Decide whether the calls on which a candidate agreed exercised every part of its code.

In: a candidate's source, and calls on which it agreed with the trusted function. Out: the parts
that these calls did not exercise, or the reason why this is unknown. The coverage that a child
reports is not trusted here. Only code in a restricted subset of Python can get a full pass;
`closed.py` decides that from the source alone. Code in the subset cannot reach the clock, the
environment, frames, the interpreter or anything that outlives a call, so it can neither distinguish
tests from real use nor tamper with the recorder. May import `behavior.source`,
`behavior.verdict.running`, `behavior.verdict.comparison` and the sandbox.
"""
