"""Reference implementations of functions on text."""

from __future__ import annotations

from collections.abc import Sequence


def reverse_string(text: str) -> str:
    """Reverse a string: the last character comes first.

    >>> reverse_string("abc")
    'cba'
    >>> reverse_string("")
    ''
    >>> reverse_string("x")
    'x'
    >>> reverse_string("Hello, world")
    'dlrow ,olleH'
    """
    return text[::-1]


def is_palindrome(text: str) -> bool:
    """Tell whether a text reads the same in both directions.

    Only letters and digits count, and upper and lower case are the same.

    >>> is_palindrome("A man, a plan, a canal: Panama")
    True
    >>> is_palindrome("palindrome")
    False
    >>> is_palindrome("")
    True
    >>> is_palindrome("No lemon, no melon")
    True
    >>> is_palindrome("ab")
    False
    """
    letters = [character.lower() for character in text if character.isalnum()]
    return letters == letters[::-1]


def count_vowels(text: str) -> int:
    """Count the vowels a, e, i, o and u in a text, in upper and lower case.

    >>> count_vowels("hello")
    2
    >>> count_vowels("RHYTHM")
    0
    >>> count_vowels("")
    0
    >>> count_vowels("Queue AEIOU")
    9
    """
    return sum(1 for character in text if character in "aeiouAEIOU")


def word_frequencies(text: str) -> dict[str, int]:
    """Count how often each word occurs in a text, in lower case.

    Words are separated by white space.

    >>> word_frequencies("one two two")
    {'one': 1, 'two': 2}
    >>> word_frequencies("")
    {}
    >>> word_frequencies("Go go GO stop")
    {'go': 3, 'stop': 1}
    >>> word_frequencies("  spaced   out ")
    {'spaced': 1, 'out': 1}
    """
    counts: dict[str, int] = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def capitalize_words(text: str) -> str:
    """Put the first letter of every word in upper case and leave the rest as it is.

    Words are separated by single spaces, which are kept.

    >>> capitalize_words("hello big world")
    'Hello Big World'
    >>> capitalize_words("")
    ''
    >>> capitalize_words("nasa launches")
    'Nasa Launches'
    >>> capitalize_words("iPhone  and iPad")
    'IPhone  And IPad'
    """
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def caesar_cipher(text: str, shift: int = 3) -> str:
    """Encrypt a text with the Caesar cipher: shift each letter a to z and A to Z.

    The alphabet goes round; other characters stay. A negative shift goes
    back, so that it decrypts.

    >>> caesar_cipher("abc")
    'def'
    >>> caesar_cipher("xyz, XYZ!", shift=2)
    'zab, ZAB!'
    >>> caesar_cipher("def", -3)
    'abc'
    >>> caesar_cipher("Hello", 0)
    'Hello'
    >>> caesar_cipher("Hello", 26)
    'Hello'
    """
    shifted = []
    for character in text:
        if "a" <= character <= "z":
            shifted.append(chr((ord(character) - ord("a") + shift) % 26 + ord("a")))
        elif "A" <= character <= "Z":
            shifted.append(chr((ord(character) - ord("A") + shift) % 26 + ord("A")))
        else:
            shifted.append(character)
    return "".join(shifted)


def are_anagrams(first: str, second: str) -> bool:
    """Tell whether two texts use the same letters equally often.

    Spaces do not count, and upper and lower case are the same.

    >>> are_anagrams("listen", "silent")
    True
    >>> are_anagrams("Dormitory", "dirty room")
    True
    >>> are_anagrams("aab", "abb")
    False
    >>> are_anagrams("", "")
    True
    >>> are_anagrams("abc", "abcd")
    False
    """
    return sorted(first.replace(" ", "").lower()) == sorted(second.replace(" ", "").lower())


def run_length_encode(text: str) -> list[tuple[str, int]]:
    """Encode runs of equal characters as pairs of a character and its count.

    >>> run_length_encode("aaabcc")
    [('a', 3), ('b', 1), ('c', 2)]
    >>> run_length_encode("")
    []
    >>> run_length_encode("abc")
    [('a', 1), ('b', 1), ('c', 1)]
    >>> run_length_encode("zzzz")
    [('z', 4)]
    """
    runs: list[tuple[str, int]] = []
    for character in text:
        if runs and runs[-1][0] == character:
            runs[-1] = (character, runs[-1][1] + 1)
        else:
            runs.append((character, 1))
    return runs


def truncate_text(text: str, limit: int, *, ellipsis: str = "...") -> str:
    """Shorten a text to at most `limit` characters, with an ellipsis where something is cut.

    Raises ValueError where the ellipsis alone is longer than the limit.

    >>> truncate_text("The quick brown fox", 10)
    'The qui...'
    >>> truncate_text("short", 10)
    'short'
    >>> truncate_text("abcdef", 4, ellipsis="~")
    'abc~'
    >>> truncate_text("abcdef", 6)
    'abcdef'
    >>> truncate_text("abcdef", 2)
    Traceback (most recent call last):
        ...
    ValueError: the ellipsis is longer than the limit
    """
    if len(ellipsis) > limit:
        raise ValueError("the ellipsis is longer than the limit")
    if len(text) <= limit:
        return text
    return text[: limit - len(ellipsis)] + ellipsis


def longest_common_prefix(words: Sequence[str]) -> str:
    """Return the longest string that every word begins with.

    >>> longest_common_prefix(["flower", "flow", "flight"])
    'fl'
    >>> longest_common_prefix(["dog", "car"])
    ''
    >>> longest_common_prefix([])
    ''
    >>> longest_common_prefix(["same", "same"])
    'same'
    >>> longest_common_prefix(["inter", "in", "interval"])
    'in'
    """
    if not words:
        return ""
    shortest = min(words, key=len)
    for index, character in enumerate(shortest):
        if any(word[index] != character for word in words):
            return shortest[:index]
    return shortest


def camel_to_snake(name: str) -> str:
    """Convert a camelCase name to snake_case.

    An underscore goes in front of each upper-case letter but the first
    character, and all letters become lower case.

    >>> camel_to_snake("camelCase")
    'camel_case'
    >>> camel_to_snake("HttpServer")
    'http_server'
    >>> camel_to_snake("plain")
    'plain'
    >>> camel_to_snake("")
    ''
    >>> camel_to_snake("parseXMLTree")
    'parse_x_m_l_tree'
    """
    parts = []
    for index, character in enumerate(name):
        if character.isupper() and index > 0:
            parts.append("_")
        parts.append(character.lower())
    return "".join(parts)
