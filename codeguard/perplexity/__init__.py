"""Perplexity: how surprising a text is to a language model of the trusted code."""

from codeguard.perplexity.ngram import NgramModel

__all__ = ["NgramModel"]
