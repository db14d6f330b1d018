"""Python as the detectors read it: scopes, names, constants, data flow, fingerprints of functions."""
