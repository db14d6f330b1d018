"""What runs in the team's own interpreter while it is recorded: standard library alone, no import of codeguard.

The folder is put in front of PYTHONPATH, so `sitecustomize` is found there by every Python that the
command starts.
"""
