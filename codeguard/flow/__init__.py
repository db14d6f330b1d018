"""One data-flow engine: which values from sources reach which sinks, and what cleaned them on the way.

In: names resolved by `syntax`, and nodes of Python's `ast`. Out: hits at sinks, results and stored values with their
origins. Imports `syntax`, `corpus` and below.
"""
