"""Further calls inside the documented domain of each function of data/sample_code, by hand.

They verify that poison is poison and that other implementations are right.
Each entry is the source text of the arguments, keyword arguments after a `|`.
"""

from __future__ import annotations

from experiments.attacks.base import CallText

_INPUTS: dict[str, tuple[str, ...]] = {
    "add": ("(7, 0)", "(0, 7)", "(-4, -9)", "(123456, 654321)", "(0.5, 0.25)", "(10**15, 1)"),
    "factorial": ("(2,)", "(3,)", "(4,)", "(7,)", "(13,)", "(20,)", "(25,)"),
    "fibonacci": ("(3,)", "(4,)", "(7,)", "(20,)", "(31,)", "(90,)"),
    "greatest_common_divisor": ("(0, 0)", "(5, 0)", "(48, 180)", "(17, 17)", "(-6, -9)", "(1, 99)"),
    "least_common_multiple": ("(1, 1)", "(5, 0)", "(12, 18)", "(9, 9)", "(-3, -5)", "(8, 2)"),
    "is_prime": ("(0,)", "(3,)", "(4,)", "(9,)", "(15,)", "(49,)", "(101,)", "(121,)", "(7919,)"),
    "prime_factors": ("(2,)", "(4,)", "(30,)", "(49,)", "(64,)", "(77,)", "(1001,)"),
    "clamp": ("(0, 0, 10)", "(10, 0, 10)", "(7, 7, 7)", "(-5, -4, -2)", "(2.5, 1, 2)", "(3, 1, 8)"),
    "mean": ("([0, 0],)", "([1.5, 2.5, 8.0],)", "([3, 4],)", "([100, 1, 1],)", "((7, 8, 9),)"),
    "median": (
        "([2, 1],)",
        "([9, 8, 7, 6, 5],)",
        "([1, 1, 1, 9],)",
        "([0.5, 2.5, 1.5],)",
        "([6, 2, 4, 8, 10, 12],)",
    ),
    "digit_sum": ("(5,)", "(10,)", "(99,)", "(-1,)", "(123456789,)", "(1000,)"),
    "to_base": ("(1,)", "(2,)", "(81, 3)", "(100, 16)", "(1295, 36)", "(64, 8)", "(7,)|{'base': 2}"),
    "flatten_once": (
        "([[0], [1, 0]],)",
        "([[], []],)",
        "([[5, 6, 7]],)",
        "([[1, 2], [3, 4], [5]],)",
        "([['', 'a']],)",
    ),
    "iter_chunks": ("([1, 2, 3, 4], 2)", "('abcdefg', 3)", "([9], 1)", "([0, 0, 0], 2)", "((1, 2, 3), 1)"),
    "unique_in_order": (
        "([1, 2, 3],)",
        "([2, 1, 2, 1],)",
        "(['b', 'a', 'b'],)",
        "([0, 0, 1, 0],)",
        "('hello',)",
    ),
    "rotate_left": (
        "([1, 2, 3, 4, 5], 0)",
        "([1, 2, 3, 4, 5], 3)",
        "([7], 1)",
        "(['a', 'b'], 1)",
        "([1, 2, 3, 4], -6)",
    ),
    "transpose_matrix": (
        "([[1, 2], [3, 4]],)",
        "([[1, 2, 3]],)",
        "([[0, 1], [2, 3], [4, 5]],)",
        "([['a', 'b']],)",
    ),
    "binary_search": (
        "([1, 3, 5, 7, 9], 3)",
        "([1, 3, 5, 7, 9], 9)",
        "([1, 3, 5, 7, 9], 0)",
        "([1, 3, 5, 7, 9], 10)",
        "([4], 4)",
        "([4], 5)",
        "([1, 2, 3, 4, 5, 6, 7, 8], 2)",
        "([-5, -3, 0, 2], -3)",
    ),
    "merge_sorted_lists": (
        "([1, 2, 3], [4, 5])",
        "([4, 5], [1, 2, 3])",
        "([1, 3, 5], [2, 4, 6])",
        "([0], [0])",
        "([], [])",
    ),
    "sliding_windows": ("([1, 2, 3, 4, 5], 3)", "('abcd', 2)", "([1, 2, 3], 3)", "([], 2)", "((0, 1, 0), 2)"),
    "second_largest": (
        "([1, 2],)",
        "([3, 3, 2, 2, 1],)",
        "([0, -5, 8, 3],)",
        "([100, 99, 98],)",
        "((2, 7, 5),)",
    ),
    "remove_all_in_place": (
        "([1, 2, 3], 2)",
        "([7, 7, 7], 7)",
        "([0, 1, 0], 0)",
        "(['a', 'b', 'a'], 'a')",
        "([3, 4], 3)",
    ),
    "split_even_odd": (
        "([2, 4, 6],)",
        "([1, 3, 5],)",
        "([0, 9, 4, 7],)",
        "([-1, -4],)",
        "([10, 11, 12, 13],)",
    ),
    "reverse_string": (
        "('ab',)",
        "('level',)",
        "('a b c',)",
        "('racecars',)",
        "('12345',)",
        "('  x',)",
        "('Python',)",
    ),
    "is_palindrome": (
        "('level',)",
        "('Level',)",
        "('abca',)",
        "('1221',)",
        "('12a',)",
        "('a1b1a',)",
        "('x y',)",
    ),
    "count_vowels": ("('aeiou',)", "('xyz',)", "('Apple pie',)", "('AAA',)", "('Education',)", "('sky u',)"),
    "word_frequencies": (
        "('a',)",
        "('a b a b c',)",
        "('Red red BLUE',)",
        "('x y z',)",
        "('tab\\tand\\nline and',)",
    ),
    "capitalize_words": ("('a b c',)", "('already Done',)", "('x',)", "('two  spaces',)", "('mIxEd cAsE',)"),
    "caesar_cipher": (
        "('Hello, World!', 5)",
        "('abcxyz', 1)",
        "('ABCXYZ', -1)",
        "('z', 1)",
        "('Aa Zz', 13)",
        "('a', 27)",
    ),
    "are_anagrams": (
        "('abc', 'cba')",
        "('a', 'b')",
        "('Tea', 'eat')",
        "('aabb', 'bbaa')",
        "('a b', 'ab')",
        "('abc', 'ab')",
    ),
    "run_length_encode": ("('a',)", "('aab',)", "('abba',)", "('111223',)", "('  x',)", "('aAa',)"),
    "truncate_text": (
        "('hello world', 8)",
        "('hello', 5)",
        "('hello', 4)",
        "('', 3)",
        "('abc', 3)",
        "('abcdefgh', 5)|{'ellipsis': '..'}",
        "('abcdefgh', 3)|{'ellipsis': ''}",
    ),
    "longest_common_prefix": (
        "(['abc'],)",
        "(['abc', 'abd', 'abx'],)",
        "(['', 'a'],)",
        "(['prefix', 'pre', 'present'],)",
        "(['a', 'a', 'b'],)",
    ),
    "camel_to_snake": (
        "('someVariableName',)",
        "('X',)",
        "('aB',)",
        "('already_snake',)",
        "('ABC',)",
        "('item2Count',)",
    ),
}


def inputs_for(name: str) -> tuple[CallText, ...]:
    """Return the hand-written calls for a function, none for one that is not listed."""
    calls = []
    for text in _INPUTS.get(name, ()):
        args, _, kwargs = text.partition("|")
        calls.append(CallText(args, kwargs or "{}"))
    return tuple(calls)
