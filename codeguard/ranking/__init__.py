"""From a query to a ranking: candidates, the evidence about each, and their order.

A query and an index come in, a `Ranking` goes out. May import `index`, `behavior`, `analysis` and `trust`.
"""
