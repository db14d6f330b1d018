"""The version of what the checks do, apart from them: whether evidence still holds is asked without loading them."""

POLICY_VERSION = "behavior/22"
