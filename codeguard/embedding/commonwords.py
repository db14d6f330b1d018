"""Words that say little about what code is for: Python's own, and English function words."""

from __future__ import annotations

import keyword

_PYTHON = """
    args bool bytes dict float getattr hasattr int isinstance kwargs len list name obj object print
    range self cls set str super tuple type value
"""

_ENGLISH = """
    a all also an and any are as at be been but by can could did do does done each else for from
    given had has have he her his how if in into is it its just like make may me more must my need
    no nor not of on one only or other our same shall she should so some such than that the their
    them then there these they this those to too two up us use used uses using very was way we were
    what when where whether which while who why will with would you your
"""

_OTHER_LANGUAGES = (
    "case catch const default do end func function let new null static switch then this var void"
)

COMMON_WORDS = frozenset(
    word.lower() for word in [*keyword.kwlist, *_PYTHON.split(), *_ENGLISH.split(), *_OTHER_LANGUAGES.split()]
)
