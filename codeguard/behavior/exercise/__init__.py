"""What a candidate's own text does on calls that agreed: whether every part of it mattered.

Comes in: a candidate's source, and calls on which it agreed with the trusted
function. Goes out: what of the text was not exercised, or why nothing can be
said. Nothing here believes what a child says of its coverage. A text that
earns is written in a closed part of Python, which `closed.py` decides from
the text alone; in it nothing reaches the clock, the environment, frames, the
interpreter or anything that outlives a call, and so neither tests from uses
nor the recorder can be told apart or changed. May import `behavior.source`,
`behavior.verdict.running`, `comparison` and the sandbox.
"""
