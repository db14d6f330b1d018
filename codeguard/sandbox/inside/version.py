"""The version of what the compiler accepts, for caches of compiled code."""

POLICY_VERSION = 3
