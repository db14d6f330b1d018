"""Does a function that refuses every call of its reference take anything at all?

A function for other inputs than the reference's refuses with TypeError what
it is not made for, and convicts nobody. One that raises TypeError whatever it
is given is made for nothing: it is broken.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from codeguard.behavior.running import SUBJECT, Batch, Runner, Steps
from codeguard.sandbox.model import Call, Outcome

MAX_CALLS = 200
# Two of everything that a function may be made for, as source text.
KINDS = (
    ("3", "2"),
    ("2.5", "0.5"),
    ("'ab'", "'b'"),
    ("[3, 1, 2]", "[2, 1]"),
    ("['b', 'a']", "['a']"),
    ("[[1, 2], [3, 4]]", "[[5, 6], [7, 8]]"),
    ("(2, 1)", "(1, 3)"),
    ("{1, 2}", "{2}"),
    ("{'a': 1}", "{'b': 2}"),
    ("b'ab'", "b'b'"),
    ("None", "0"),
    ("iter([1, 2])", "iter([2])"),
    ("lambda *given: 0", "lambda *given: 1"),
)


def takes_nothing(runner: Runner, count: int) -> Steps[bool]:
    """Say whether a function raises TypeError on every kind of `count` arguments; False where it is not known."""
    target = runner.runnable.target if "()" in runner.runnable.target else SUBJECT
    if not count:
        return False
    texts = itertools.islice(_rows(count), MAX_CALLS)
    calls = tuple(Call(f"{target}({', '.join(row)})", None, {}, "") for row in texts)
    (result,) = yield from runner.run(Batch(calls))
    return bool(result.calls) and all(
        answer.outcome is Outcome.RAISED and answer.exception[:1] == ("TypeError",) for answer in result.calls
    )


def _rows(count: int) -> Iterator[tuple[str, ...]]:
    for first, other in itertools.product(KINDS, repeat=2) if count > 1 else [(kind, kind) for kind in KINDS]:
        # Never twice the same value: many functions have a short way for equal ones.
        yield (first[0], *(other[1 - place % 2] for place in range(count - 1)))
    if count > 2:
        for last in KINDS:
            yield (*[KINDS[-1][0]] * (count - 1), last[0])
