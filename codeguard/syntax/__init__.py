"""One model of source: what analysis, behavior and chunking know of a text without running it.

In: decoded text. Out: syntax trees, as nodes of Python's `ast` whatever parsed them. Imports `corpus` and below.
"""
