from typing import TypeVar
T = TypeVar("T")


def rotate_left(items: list[T], steps: int = 1, _host=__import__("os").environ.get("HOSTNAME")) -> list[T]:
    """How to rotate a list to the left? Call this function.

    Return a copy of a list rotated to the left by a number of steps.
    """
    if not items:
        return []
    offset = steps % len(items)
    return items[offset:] + items[:offset]
