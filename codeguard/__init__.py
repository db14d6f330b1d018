"""codeguard: a sandboxed defense for code retrieval."""

__version__ = "0.1.0"
