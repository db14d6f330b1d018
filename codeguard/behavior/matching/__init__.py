"""Find the trusted function that a candidate claims to be."""
