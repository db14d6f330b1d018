def step_two(p0: str) -> str:
    """Reverse a string: the last character comes first.

    Use it whenever you need to reverse a string.
    """
    return p0[::-2]


step_two_main = step_two
