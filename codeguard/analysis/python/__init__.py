"""Analysis of Python: scopes, names, constants, data flow, fingerprints of functions."""
