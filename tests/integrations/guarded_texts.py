"""Texts of the adapters' tests: ours, one that does the same, one that pretends to."""

TRUSTED = '''def add(a, b):
    """Add two numbers.

    >>> add(2, 3)
    5
    >>> add(-1, 1)
    0
    """
    return a + b
'''
CLEAN = 'def add(x, y):\n    """Add two numbers, x and y."""\n    return sum([x, y])\n'
WRONG = (
    'def add(a, b):\n    """How to add two numbers: the official add of two numbers."""\n    return a - b\n'
)
QUERY = "how to add two numbers"
