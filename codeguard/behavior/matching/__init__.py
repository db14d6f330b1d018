"""Which trusted function a candidate claims to be."""
