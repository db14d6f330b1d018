"""Record, in the sandboxed child, which parts of a candidate's code had an effect.

This is the beginning of a job's source and imports nothing of codeguard. The candidate's code
follows it. That code is in the closed subset of Python (`closed.py`), where no name, attribute or
value leads to this module, so it cannot change the records.

Each part of the code that can influence the result calls one of these functions with its number.
The records are bit fields; `instrument.py` defines which bits a part needs.
"""

import itertools
import operator
from collections.abc import Callable
from typing import Any

_TRUE, _FALSE, _VARIED, _EFFECT, _REACHED, _MISSED = 1, 2, 4, 8, 16, 32
_codeguard_notes: dict[int, int] = {}
_codeguard_first: dict[int, object] = {}
_codeguard_used: dict[int, set[Any]] = {}
_codeguard_faults: list[str] = []
_SCALARS = (type(None), bool, int, float, complex, str, bytes)
_KINDS = (
    "builtins",
    "itertools",
    "collections",
    "fractions",
    "decimal",
)  # whose classes have methods to call
_ROWS = (list, tuple, set, frozenset, dict)
_MUTATING = frozenset(("discard", "remove", "difference_update", "intersection_update", "clear", "update"))
_DEFAULTING = frozenset(("get", "pop", "setdefault"))
_NAMES = "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor matmul"
_OPERATORS: dict[str, Any] = {name: getattr(operator, name) for name in _NAMES.split()}
_COMPARISONS: dict[str, Any] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "is_", "is_not")
}
_COMPARISONS["in"], _COMPARISONS["not_in"] = (
    lambda left, right: left in right,
    lambda left, right: left not in right,
)
_CONSTRUCTORS = frozenset(("from_bytes", "fromhex", "from_iterable", "fromkeys", "maketrans"))
_ENDLESS = (itertools.count, itertools.cycle)
# What the text after this sets anew: the numbers of formats that are written out, and the module's own constants.
_codeguard_formats: frozenset[int] = frozenset()
_codeguard_kept: Callable[[], list[Any]] = list


def _codeguard_plain(value: Any, depth: int = 0) -> bool:
    """Return whether a value is plain data, including everything it contains."""
    if type(value) in _SCALARS or type(value) is range:
        return True
    if type(value) not in _ROWS or depth > 40:
        return False
    items = value if type(value) is not dict else [*value, *value.values()]
    return all(_codeguard_plain(item, depth + 1) for item in items)


def _key(value: Any, depth: int = 0) -> Any:
    """Return a hashable key for the content of a value; None if it has none."""
    kind = type(value)
    if kind in _SCALARS:
        return kind, value
    if kind is range:
        return kind, value
    if kind in _ROWS and depth < 4:
        items = list(value.items()) if kind is dict else list(value)
        parts = [_key(item, depth + 1) for item in items[:12]]
        return None if None in parts else (kind, len(items), parts)
    return None


def _varied(number: int, value: Any) -> Any:
    notes = _codeguard_notes
    found = notes.get(number, 0)
    if found & _VARIED:
        return value
    key = _key(value)
    first = _codeguard_first.setdefault(number, key)
    if key is None or first != key:
        found |= _VARIED
    notes[number] = found | _REACHED
    return value


def _effect(number: int, result: Any, operands: Any) -> None:
    """Record whether a result differs from each operand that could have been passed on unchanged."""
    found = _codeguard_notes.get(number, 0)
    if found & _EFFECT:
        return
    for operand in operands:
        if _same(result, operand):
            break
    else:
        _codeguard_notes[number] = found | _EFFECT


def _same(first: Any, second: Any) -> bool:
    numbers = (int, float, bool)
    if type(first) in numbers and type(second) in numbers:
        return bool(abs(first - second) <= 1e-6 * abs(second))
    return bool(type(first) is type(second) and first == second)


def _codeguard_truth(number: int, value: Any) -> Any:
    """Record a condition."""
    _codeguard_notes[number] = _codeguard_notes.get(number, 0) | (_TRUE if value else _FALSE)
    return value


def _codeguard_reached(number: int) -> None:
    """Record that a statement, or the body of a lambda, was reached."""
    _codeguard_notes[number] = _REACHED


def _codeguard_body(number: int, value: Any) -> Any:
    _codeguard_notes[number] = _REACHED
    return value


def _codeguard_binary(number: int, name: str, left: Any, right: Any) -> Any:
    """Record an operation on two values."""
    if name == "mod" and isinstance(left, (str, bytes)):
        known = number in _codeguard_formats and _codeguard_plain(right)
        if not known:
            _codeguard_faults.append("formats by % what is not known to be plain")
    result = _OPERATORS[name](left, right)
    # a constant and a value that varies: what counts is that both matter
    _effect(number, result, (left, right))
    return _varied(number, result)


def _codeguard_item(number: int, container: Any, index: Any) -> Any:
    """Record a subscript: which entry of a table was used, or whether a slice dropped something."""
    result = container[index]
    if type(index) is slice:
        if type(container) in (str, bytes, list, tuple, range):
            _effect(number, result, (container,))
        return _varied(number, result)
    _used(number, container, index)
    _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _EFFECT
    return _varied(number, result)


def _used(number: int, container: Any, index: Any) -> None:
    if type(container) in (list, tuple, str, dict) and type(index) in _SCALARS:
        at = index % len(container) if type(container) is not dict else index
        _codeguard_used.setdefault(number, set()).add(at)
        if len(_codeguard_used[number]) >= len(container):
            _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _MISSED


def _codeguard_method(number: int, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
    """Record a call of a method of a plain value, or of a module's function."""
    kind = type(owner)
    allowed = owner.__module__ in _KINDS and name in _CONSTRUCTORS if isinstance(owner, type) else True
    if kind is type(_codeguard_plain) or not allowed:
        _codeguard_faults.append(f"an attribute of a {kind.__name__}")
        raise AttributeError(name)
    before = len(owner) if name in _MUTATING and hasattr(kind, "__len__") else None
    note = 0
    if name in _DEFAULTING and kind.__name__ in ("dict", "defaultdict", "Counter", "OrderedDict") and args:
        note = _TRUE if args[0] in owner else _FALSE
        if note == _TRUE:
            _used(number, owner, args[0])
    if name == "format" and not all(map(_codeguard_plain, [*args, *kwargs.values()])):
        _codeguard_faults.append("formats what is not plain")
    result = getattr(owner, name)(*args, **kwargs)
    if note:
        _codeguard_notes[number] = _codeguard_notes.get(number, 0) | note
    if before is not None:
        _effect(number, len(owner), (before,))
    elif kind in (str, bytes):
        nothing = owner[:0]
        passed_on = [owner, [owner], (owner, nothing, nothing), (nothing, nothing, owner)]
        _effect(number, result, passed_on)
    else:
        _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _EFFECT
    if name in ("sub", "split", "subn") and args and kind.__name__ in ("module", "Pattern", "Facade"):
        texts = [item for item in args if type(item) is str]
        if result in texts or result == texts[-1:] or result == [*texts[-1:], 0]:
            _codeguard_notes[number] &= ~_EFFECT
    return _varied(number, result)


def _codeguard_call(number: int, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Record a call of a function by name."""
    if function in (str, repr, print, format) and not all(map(_codeguard_plain, args)):
        _codeguard_faults.append("writes out what is not plain")
    if function in (min, max) and len(args) == 1:
        return _varied(number, _one_of(number, function, list(args[0]), kwargs))
    result = function(*args, **kwargs)
    if function in (any, all, bool, isinstance):
        _codeguard_truth(number, result)
    if function in (min, max):
        for place, choice in enumerate(args):
            if result is choice or result == choice:
                others = [other for at, other in enumerate(args) if at != place]
                if all(_key(other) != _key(choice) for other in others):
                    _codeguard_used.setdefault(number, set()).add(place)
        if len(_codeguard_used.get(number, ())) == len(args):
            _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _EFFECT
    elif function in (zip, map) and len(args) > (1 if function is zip else 2):
        _shortest(number, args if function is zip else args[1:])
    elif function in (round, abs, int) and args:
        _effect(number, result, (args[0],))
    else:
        _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _EFFECT
    return _varied(number, result)


def _one_of(number: int, function: Any, items: Any, kwargs: Any) -> Any:
    """Record whether `min` or `max` of a row selects from more than one place."""
    result = function(items, **kwargs)
    places = _codeguard_used.setdefault(number, set())
    places.add(next((place for place, item in enumerate(items) if item is result or item == result), -1))
    if len(places) > 1:
        _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _EFFECT
    return result


def _shortest(number: int, rows: Any) -> None:
    """Record which of several rows ends them all; one that is always longer could end longer ones."""
    sizes = [None if isinstance(row, _ENDLESS) else operator.length_hint(row, -1) for row in rows]
    known = [size for size in sizes if size is not None]
    if -1 not in known:
        used = _codeguard_used.setdefault(number, set())
        used.update(place for place, size in enumerate(sizes) if size is None or size <= min(known) + 1)
        if len(used) >= len(sizes):
            _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _EFFECT


def _codeguard_chain(numbers: Any, names: Any, left: Any, *others: Any) -> Any:
    """Record each comparison of a chain."""
    result: Any = True
    for number, name, other in zip(numbers, names, others, strict=False):
        right = other()
        result = _COMPARISONS[name](left, right)
        _codeguard_truth(number, result)
        if not result:
            break
        left = right
    return result


def _codeguard_entry(number: int, value: Any, table: Any) -> bool:
    """Record which entries of a table a value is equal to."""
    entries = list(table)
    for place, entry in enumerate(entries):
        if entry is value or entry == value:
            used = _codeguard_used.setdefault(number, set())
            used.add(place)
            if len(used) >= len(entries):
                _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _MISSED
    return value in table


def _codeguard_width(value: Any) -> Any:
    """Return a value in a format specification: a text could cut what is shown."""
    if type(value) is not int:
        _codeguard_faults.append("a format that may cut text")
    return value


def _codeguard_changing_item(number: int, name: str, container: Any, index: Any, value: Any) -> None:
    """Carry out and record an augmented assignment to an item."""
    before = _codeguard_copy(container[index])
    after = getattr(operator, name)(container[index], value)
    container[index] = after
    _effect(number, after, (before,))


def _codeguard_selection(number: int, function: Any, items: Any, kwargs: Any) -> Any:
    """Record which element `min`, `max` or `sorted` selects from a literal list."""
    result = function(items, **kwargs)
    if function is sorted:
        order = tuple(items) == tuple(result)
        _codeguard_notes[number] = _codeguard_notes.get(number, 0) | (_TRUE if order else _FALSE)
        found = _codeguard_notes[number]
        if found & _TRUE and found & _FALSE:
            _codeguard_notes[number] |= _EFFECT
        return _varied(number, result)
    for place, choice in enumerate(items):
        if result == choice and sum(other == choice for other in items) == 1:
            _codeguard_used.setdefault(number, set()).add(place)
    if len(_codeguard_used.get(number, ())) == len(items):
        _codeguard_notes[number] = _codeguard_notes.get(number, 0) | _EFFECT
    return _varied(number, result)


def _codeguard_shown(value: Any) -> Any:
    """Return the value in an f-string."""
    if not _codeguard_plain(value):
        _codeguard_faults.append("writes out what is not plain")
    return value


def _codeguard_changing(number: int, before: Any, after: Any) -> None:
    """Record an augmented assignment, given the values before and after it."""
    _effect(number, after, (before,))


def _codeguard_copy(value: Any) -> Any:
    """Return a copy that later changes do not affect."""
    return type(value)(value) if type(value) in (list, set, dict) else value


def _codeguard_state() -> str | None:
    """Return the module's state that outlives a call as text; None if it is not plain data."""
    kept = [value for value in _codeguard_kept() if type(value).__name__ != "Pattern"]
    return repr(kept) if all(map(_codeguard_plain, kept)) else None


def _codeguard_report() -> Any:
    """Return the records and the first error, as plain values."""
    return list(_codeguard_notes.items()), list(dict.fromkeys(_codeguard_faults))
