"""Expected behavior: hand-written specs, and examples in trusted docstrings and tests."""
