"""The version of the checks, in a module of its own so that cached evidence is judged without them."""

POLICY_VERSION = "behavior/55"
