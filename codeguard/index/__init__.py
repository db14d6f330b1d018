"""What is known of a corpus, kept: catalog, vectors, words, trust and cached evidence.

Paths come in; out comes a store that can be searched, with every function of unknown origin checked. May
import `behavior`, `analysis`, `trust`, `corpus` and `workers`; knows nothing of how results are ranked.
"""
