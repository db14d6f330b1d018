"""Code that runs in the team's own interpreter during a recording; uses the standard library only.

The folder comes first in PYTHONPATH, so every Python that the command starts imports its
`sitecustomize`.
"""
