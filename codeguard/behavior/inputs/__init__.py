"""Inputs to compare functions on: learned from examples, varied, and made for a candidate's own branches."""
