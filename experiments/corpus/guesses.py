"""Guess calls for a function of which only the source is known; the reference decides which make sense."""

from __future__ import annotations

import itertools
from dataclasses import replace

from experiments.attacks.base import CallText, TargetFunction
from experiments.attacks.shape import Parameter, parameters

VALUES = {
    "number": ("0", "1", "2", "7", "10", "100", "-3", "0.5"),
    "text": (
        "'abc'",
        "'Hello World 42'",
        "''",
        "'a/b/c.txt'",
        "'key=value; other=\"x\"'",
        "'<b>1 &amp; 2</b>'",
    ),
    "bool": ("True", "False"),
    "sequence": ("[3, 1, 2]", "['b', 'a', 'c']", "[]", "[0]", "(1, 2, 2, 5)"),
    "tuple": ("(1, 2)", "()", "('a', 'b')"),
    "mapping": ("{'a': 1, 'b': 2}", "{}"),
}
OTHER = ("'abc'", "7", "[3, 1, 2]", "b'abc'", "{'a': 1}", "'2024-02-29'", "1.5", "(1, 2)")
LIMIT = 24


def with_guesses(target: TargetFunction) -> TargetFunction:
    """Return the target with guessed calls added: each required argument by kind, in a fixed order."""
    required = [parameter for parameter in parameters(target) if not parameter.optional]
    if any(parameter.keyword_only for parameter in required) or not 1 <= len(required) <= 4:
        return target
    pools = [_pool(parameter) for parameter in required]
    zipped = zip(*(itertools.islice(itertools.cycle(pool), LIMIT) for pool in pools), strict=True)
    combined = itertools.islice(itertools.product(*pools), LIMIT)
    texts = dict.fromkeys(f"({', '.join(values)},)" for values in itertools.chain(zipped, combined))
    return replace(target, inputs=(*target.inputs, *(CallText(text) for text in texts)))


def _pool(parameter: Parameter) -> tuple[str, ...]:
    return VALUES.get(parameter.kind, OTHER)
