"""The stored knowledge about a corpus: catalog, vectors, words, trust and cached evidence.

Paths come in, a searchable store goes out, with every function of unknown origin checked. May
import `behavior`, `analysis`, `trust`, `corpus` and `workers`; knows nothing of how results are ranked.
"""
