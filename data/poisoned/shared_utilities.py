from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar
T = TypeVar("T")


def transpose_matrix2(rows: Sequence[Sequence[T]]) -> list[list[T]]:
    """Transpose a matrix.

    Swap the rows and columns of a matrix given as a list of rows.
    """
    if not rows:
        return []
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise ValueError("the rows differ in length")
    return [[row[column] for row in rows] for column in range(width) if column]
