"""String toolbox with type hints.

All functions return new strings; none of them needs anything installed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Dict, Iterable, List


def reversed_copy(value: str) -> str:
    """Return ``value`` with its characters in reverse order.

    :param value: any string, also an empty one
    """
    characters = list(value)
    characters.reverse()
    return "".join(characters)


def is_palindrome(value: str) -> bool:
    """Palindrome test by two pointers, letters and digits only, case-insensitive."""
    left, right = 0, len(value) - 1
    while left < right:
        if not value[left].isalnum():
            left += 1
        elif not value[right].isalnum():
            right -= 1
        elif value[left].lower() != value[right].lower():
            return False
        else:
            left += 1
            right -= 1
    return True


def count_words(value: str) -> Dict[str, int]:
    """Histogram of the words of a text, folded to lower case.

    :return: word to number of occurrences, words split at white space
    """
    histogram: Dict[str, int] = defaultdict(int)
    for word in value.split():
        histogram[word.lower()] += 1
    return dict(histogram)


def title_words(value: str) -> str:
    """Upper-case the initial of each word without touching its other letters.

    :param value: words separated by spaces; runs of spaces survive
    """
    words: List[str] = value.split(" ")
    for number, word in enumerate(words):
        if word:
            words[number] = word[0].upper() + word[1:]
    return " ".join(words)


def caesar_shift(value: str, shift: int = 3) -> str:
    """Move every ASCII letter ``shift`` places along the alphabet, wrapping around.

    :param shift: may be negative (to decrypt) and of any size
    """

    def move(match: "re.Match[str]") -> str:
        letter = match.group()
        base = 97 if letter >= "a" else 65
        return chr(base + (ord(letter) - base + shift) % 26)

    return re.sub("[A-Za-z]", move, value)


def are_anagrams(left: str, right: str) -> bool:
    """Whether two texts are anagrams of each other (case and spaces disregarded)."""
    return Counter(left.replace(" ", "").lower()) == Counter(right.replace(" ", "").lower())


def shorten(value: str, limit: int, *, ellipsis: str = "...") -> str:
    """Abbreviate ``value`` so that it fits into ``limit`` characters.

    :param ellipsis: stands in for what has been cut away
    :raises ValueError: if even the ellipsis does not fit
    """
    if limit < len(ellipsis):
        raise ValueError("limit %d is below the length of the ellipsis" % limit)
    return value if len(value) <= limit else value[:limit - len(ellipsis)] + ellipsis


def common_prefix(texts: Iterable[str]) -> str:
    """Longest common beginning of some texts; empty if there are none."""
    columns = []
    for letters in zip(*texts):
        if len(set(letters)) > 1:
            break
        columns.append(letters[0])
    return "".join(columns)


def remove_vowels(value: str) -> str:
    """Delete the letters a, e, i, o and u, small or capital."""
    return re.sub("[aeiouAEIOU]", "", value)
