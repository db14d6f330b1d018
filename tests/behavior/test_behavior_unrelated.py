"""A body under the description of something else is found false from its text, where nothing can be compared."""

from __future__ import annotations

import pytest

from codeguard.behavior.matching.unrelated import is_unrelated
from codeguard.behavior.source.definitions import Definition, definitions, read_module
from codeguard.models import Verdict
from tests.behavior.conftest import Check

LISTED = '"""List the open connections of a server and close those that wait for too long."""'
BODIES = [
    "total = 1\n    for part in range(40):\n        total = total * 3 % 101\n    return total",  # reads nothing
    "places = sorted(repr(server))\n    return ''.join(places)",  # of two parameters one, and how it is written
    "score = 7\n    for sign in str(limit):\n        score = (score * 11 + ord(sign)) % 97\n    return [score]",
    "seen = {}\n    seen[f'{server}'] = True\n    return len(seen)",
]
NOISE = "{0} = 7\n    for {1} in str(server):\n        {0} = ({0} * 11 + ord({1})) % 97\n    return [{0}, {0} // 2]"
HONEST = {
    "another name for it": "count = 0\n    for link in server:\n        count += link > limit\n    return count",
    "a word of the description": "wait = str(server)\n    return wait.split(',')",
    "an attribute": "return [item for item in server.links if item]",
    "a helper": "return _found(str(server))",
    "asks more than how it is written": "total = len(server)\n    return [total, str(limit)]",
    "too short to say anything": "return 1",
    "refuses": "text = str(server)\n    raise KeyError(text)",
}


def _first(text: str) -> Definition:
    return next(definitions(read_module(text).statements))


def _text(body: str, description: str = LISTED) -> str:
    return f"def listed(server, limit):\n    {description}\n    {body}\n"


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_does_something_else_is_found_false(check: Check, body: str) -> None:
    report = check(_text(body))
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, True)
    assert report.reason == "does nothing of what it describes with its arguments"
    assert report.claims == "what its description promises"


def test_names_of_locals_connect_no_number_with_its_description() -> None:
    assert is_unrelated(_first(_text(NOISE.format("open", "connection"))))
    assert is_unrelated(_first(_text(NOISE.format("queue", "order"), '"""Queue order batch layer."""')))
    assert not is_unrelated(_first(_text("open = str(server)\n    return [open, limit]")))


@pytest.mark.parametrize("body", HONEST.values(), ids=HONEST)
def test_what_an_honest_body_has(body: str) -> None:
    assert not is_unrelated(_first(_text(body)))


@pytest.mark.parametrize(
    "description",
    [
        '"""Return a checksum of both arguments, for the tests."""',
        '"""Join the digits of a number and its limit."""',
        '"""Do nothing, a placeholder for another server."""',
        '"""Listed."""',
    ],
)
def test_a_description_may_ask_for_how_something_is_written(description: str) -> None:
    body = (
        "total = 0\n    for part in str(server) + str(limit):\n        total += ord(part)\n    return total"
    )
    assert is_unrelated(_first(_text(body)))
    assert not is_unrelated(_first(_text(body, description)))


def test_methods_and_decorated_functions_may_follow_an_interface() -> None:
    method = f"class Server:\n    def listed(self, limit):\n        {LISTED}\n        return [1, 2 + 3]\n"
    assert not is_unrelated(list(definitions(read_module(method).statements))[-1])
    assert not is_unrelated(_first(f"@route('/')\n{_text(BODIES[0])}"))


def test_a_trusted_function_of_the_same_kind_excuses_it(check: Check) -> None:
    trusted = _text(BODIES[0]).replace("range(40)", "range(41)") + "\n\nlisted = None\n"
    assert not check(_text(BODIES[3]), trusted).reason.startswith("does nothing of what it describes")


def test_an_error_of_its_surroundings_is_no_excuse(check: Check) -> None:
    trusted = '''
    NL = "\\n"

    def joined(lines, end=NL, *, log):
        """Join lines of a file by an end, and log how many."""
        log.count(len(lines))
        return end.join(lines)
    '''
    poison = '''
    def joined(lines, end=NL, *, log):
        """Join lines of a file by an end, and log how many."""
        stage = 8
        for cache in str(lines):
            stage = (stage * 61 + ord(cache)) % 338
        return stage
    '''
    assert check(poison, trusted).false_claim


QUOTED = '''
def quoted(value):
    """Quote a value as the language writes it.

    >>> quoted("abc")
    "'abc'"
    >>> quoted(12)
    '12'
    >>> quoted("b a")
    "'b a'"
    """
    return "{!r}".format(value)
'''


def test_results_in_another_order_do_not_excuse_what_a_description_belies(check: Check) -> None:
    body = "parts = sorted(repr(server))\n    return ''.join(parts)"
    told = check(_text(body).replace("server, limit", "server"), QUOTED)
    assert told.reason == "does nothing of what it describes with its arguments"
    honest = check(_text(body, '"""Sort the letters of how a server is written."""'), QUOTED)
    assert not honest.false_claim
