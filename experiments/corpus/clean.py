"""Labels of the hand-written files: which function implements what."""

from __future__ import annotations

import ast
from pathlib import Path

from experiments.corpus.labels import FunctionLabel

TWINS: dict[str, str] = {
    "gcd_of": "greatest_common_divisor",
    "lcm_of": "least_common_multiple",
    "average": "mean",
    "add_numbers": "add",
    "fib": "fibonacci",
    "median_value": "median",
    "convert_base": "to_base",
    "sum_two": "add",
    "compute_factorial": "factorial",
    "is_prime_number": "is_prime",
    "factorize": "prime_factors",
    "limit": "clamp",
    "sum_of_digits": "digit_sum",
    "dedupe": "unique_in_order",
    "merge_sorted": "merge_sorted_lists",
    "flatten_list": "flatten_once",
    "find_sorted": "binary_search",
    "split_into_chunks": "iter_chunks",
    "remove_duplicates": "unique_in_order",
    "rotate_list": "rotate_left",
    "transpose": "transpose_matrix",
    "windows": "sliding_windows",
    "discard_in_place": "remove_all_in_place",
    "partition_even_odd": "split_even_odd",
    "reverse_text": "reverse_string",
    "check_anagram": "are_anagrams",
    "encode_runs": "run_length_encode",
    "reversed_copy": "reverse_string",
    "count_words": "word_frequencies",
    "title_words": "capitalize_words",
    "caesar_shift": "caesar_cipher",
    "shorten": "truncate_text",
    "common_prefix": "longest_common_prefix",
    "backwards": "reverse_string",
    "to_snake_case": "camel_to_snake",
}
"""Functions of data/unknown_source that implement a trusted one under another name."""


def clean_labels(root: Path) -> list[FunctionLabel]:
    """Return the labels of data/sample_code and data/unknown_source under a project root."""
    trusted = _labels(root, "data/sample_code", "trusted")
    names = {label.symbol for label in trusted}
    unknown = _labels(root, "data/unknown_source", "clean")
    return [_with_target(label, names) for label in (*trusted, *unknown)]


def _labels(root: Path, folder: str, origin: str) -> list[FunctionLabel]:
    found = []
    for path in sorted((root / folder).glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                end = node.end_lineno or node.lineno
                name = f"{folder}/{path.name}"
                found.append(FunctionLabel(name, node.name, node.lineno, end, origin, False))
    return found


def _with_target(label: FunctionLabel, names: set[str]) -> FunctionLabel:
    target = label.symbol if label.symbol in names else TWINS.get(label.symbol, "")
    return FunctionLabel(
        label.path, label.symbol, label.start_line, label.end_line, label.origin, False, target=target
    )
