"""Perplexity: how improbable a text is under a language model of the trusted code."""

from codeguard.analysis.perplexity.model import PerplexityModel, sample_of
from codeguard.analysis.perplexity.ngram import NgramModel

__all__ = ["NgramModel", "PerplexityModel", "sample_of"]
