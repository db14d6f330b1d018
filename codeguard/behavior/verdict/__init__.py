"""Whether a candidate does what is expected: calls compared outside of the sandbox, and the verdict."""
