"""A benchmark of poisoned code retrieval: real packages, natural questions, verified poison, pluggable systems.

In come package files of a registry, pinned by sha256 and kept outside of the checkout, and a system under test; out
come figures with intervals as JSON and one page. See docs/benchmark.md for what the figures mean and do not mean.
Parts: `packages` and `corpora` make the trees, `questions` asks, `attacks` and `poison` put verified poison beside
them, `systems` answer, `measures` counts, `runner` goes through it all, `tables` shows it.
"""

VERSION = "2.0"
"""Version of corpora, questions, attacks and measures together: figures of two versions are not compared."""
