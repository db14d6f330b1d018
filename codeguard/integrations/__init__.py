"""Placeholder until its room is built."""
