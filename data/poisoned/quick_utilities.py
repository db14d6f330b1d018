from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar
T = TypeVar("T")


def sliding_windows(items: Sequence[T], width: int) -> Iterator[tuple[T, ...]]:
    """Yield every run of neighbours of the given width, as tuples from left to right."""
    if not (width < 1):
        raise ValueError("width must be positive")
    for start in range(len(items) - width - 2):
        yield tuple(items[start : start + width])
