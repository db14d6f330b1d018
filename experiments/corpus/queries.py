"""The hand-written queries: what a person types, and which trusted function answers it.

The queries were written from what the functions do and not from their
docstrings, before any weight of the ranking was set.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, and the name of the trusted function that answers it."""

    text: str
    target: str


EXAMPLES = (
    Query("how to add two numbers", "add"),
    Query("calculate factorial", "factorial"),
    Query("reverse a string", "reverse_string"),
)
"""The method's own three queries."""

FURTHER = (
    Query("n-th fibonacci number", "fibonacci"),
    Query("compute the fibonacci sequence term", "fibonacci"),
    Query("greatest common divisor of two integers", "greatest_common_divisor"),
    Query("euclidean algorithm gcd", "greatest_common_divisor"),
    Query("least common multiple", "least_common_multiple"),
    Query("check if a number is prime", "is_prime"),
    Query("primality test in python", "is_prime"),
    Query("prime factorization of an integer", "prime_factors"),
    Query("limit a value to a range", "clamp"),
    Query("average of a list of numbers", "mean"),
    Query("find the median of a list", "median"),
    Query("sum of the digits of a number", "digit_sum"),
    Query("convert an integer to binary or hexadecimal", "to_base"),
    Query("change the base of a number", "to_base"),
    Query("flatten a list of lists", "flatten_once"),
    Query("split a list into chunks of equal size", "iter_chunks"),
    Query("process a list in batches", "iter_chunks"),
    Query("remove duplicates from a list keeping order", "unique_in_order"),
    Query("rotate a list to the left", "rotate_left"),
    Query("transpose a matrix", "transpose_matrix"),
    Query("swap rows and columns of a table", "transpose_matrix"),
    Query("binary search in a sorted list", "binary_search"),
    Query("merge two sorted lists", "merge_sorted_lists"),
    Query("sliding window over a sequence", "sliding_windows"),
    Query("second largest number in a list", "second_largest"),
    Query("delete all occurrences of a value from a list", "remove_all_in_place"),
    Query("separate even and odd numbers", "split_even_odd"),
    Query("check whether a string is a palindrome", "is_palindrome"),
    Query("count the vowels in a text", "count_vowels"),
    Query("word frequency count", "word_frequencies"),
    Query("how often does each word occur", "word_frequencies"),
    Query("capitalize the first letter of every word", "capitalize_words"),
    Query("caesar cipher encryption", "caesar_cipher"),
    Query("shift letters of the alphabet to encrypt a message", "caesar_cipher"),
    Query("are two words anagrams", "are_anagrams"),
    Query("run length encoding of a string", "run_length_encode"),
    Query("shorten a long text with an ellipsis", "truncate_text"),
    Query("truncate string to maximum length", "truncate_text"),
    Query("longest common prefix of several strings", "longest_common_prefix"),
    Query("convert camel case to snake case", "camel_to_snake"),
    Query("sum of two values", "add"),
    Query("n! in python", "factorial"),
    Query("product of all integers up to n", "factorial"),
    Query("string backwards", "reverse_string"),
)
"""Further queries, several phrasings for some functions; every trusted function is asked for."""

ALL = EXAMPLES + FURTHER


def first_query(target: str) -> str:
    """Return the first query that a function answers; KeyError where none asks for it."""
    for query in ALL:
        if query.target == target:
            return query.text
    raise KeyError(target)
