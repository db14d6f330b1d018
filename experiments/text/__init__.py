"""Experiments on the text-domain defenses; each module has `run(...) -> dict` and a small main."""
