"""The version of codeguard."""

__version__ = "0.1.0"
