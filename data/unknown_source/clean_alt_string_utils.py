"""Text helpers, mostly thin wrappers around what str already offers."""

import collections
import itertools
import re


def reverse_string(s):
    """The string back to front.

    >>> reverse_string("drawer")
    'reward'
    """
    return "".join(reversed(s))


def is_palindrome(s):
    """Does s read the same from both ends? Punctuation, spaces and case are ignored.

    >>> is_palindrome("Never odd or even")
    True
    """
    kept = "".join(filter(str.isalnum, s))
    kept = [c.lower() for c in kept]
    return all(kept[i] == kept[-1 - i] for i in range(len(kept) // 2))


def count_vowels(s):
    """Number of vowels (aeiou, either case) in s.

    >>> count_vowels("banana")
    3
    """
    return len(re.findall("[aeiouAEIOU]", s))


def word_frequencies(s):
    """Mapping from each lower-case word to its number of occurrences.

    >>> word_frequencies("a b A")
    {'a': 2, 'b': 1}
    """
    return dict(collections.Counter(s.lower().split()))


def caesar_cipher(s, shift=3):
    """Caesar encryption of ASCII letters by translation table; all else is unchanged.

    >>> caesar_cipher("Zebra")
    'Cheud'
    """
    lower = "abcdefghijklmnopqrstuvwxyz"
    k = shift % 26
    rotated = lower[k:] + lower[:k]
    return s.translate(str.maketrans(lower + lower.upper(), rotated + rotated.upper()))


def run_length_encode(s):
    """List of (character, length) for the runs in s.

    >>> run_length_encode("aab")
    [('a', 2), ('b', 1)]
    """
    return [(c, len(list(run))) for c, run in itertools.groupby(s)]


def longest_common_prefix(strings):
    """What all the strings have in common at their start.

    >>> longest_common_prefix(["abcd", "abx"])
    'ab'
    """
    if not strings:
        return ""
    low, high = min(strings), max(strings)
    size = 0
    while size < len(low) and low[size] == high[size]:
        size += 1
    return low[:size]


def center_text(s, width):
    """Pad s with spaces on both sides, the odd one on the right.

    >>> center_text("ab", 5)
    ' ab  '
    """
    missing = max(width - len(s), 0)
    left = missing // 2
    return " " * left + s + " " * (missing - left)
