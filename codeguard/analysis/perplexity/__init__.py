"""Perplexity: how improbable a text is under a language model of the trusted code."""

from codeguard.analysis.perplexity.calibration import Calibration, calibrate
from codeguard.analysis.perplexity.model import PerplexityModel, PerplexityScore
from codeguard.analysis.perplexity.ngram import NgramModel

__all__ = ["Calibration", "NgramModel", "PerplexityModel", "PerplexityScore", "calibrate"]
