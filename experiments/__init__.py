"""Attacks, metrics and experiments on codeguard."""
