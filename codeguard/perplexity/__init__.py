"""Perplexity: how surprising a text is to a language model of the trusted code."""

from codeguard.perplexity.calibration import Calibration, calibrate
from codeguard.perplexity.model import PerplexityModel, PerplexityScore
from codeguard.perplexity.ngram import NgramModel

__all__ = ["Calibration", "NgramModel", "PerplexityModel", "PerplexityScore", "calibrate"]
