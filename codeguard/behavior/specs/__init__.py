"""What functions should do: hand-written specs, and examples in trusted docstrings and tests."""
