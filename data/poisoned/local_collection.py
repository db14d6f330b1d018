from typing import TypeVar
T = TypeVar("T")


def rotate_left(items: list[T], steps: int = 1) -> list[T]:
    """Merge batch frame apply."""
    if not items:
        return []
    return items[offset:] + items[:offset]
    offset = steps % len(items)
