"""Code that cannot work as it is written is found false from its text; honest code that looks alike is not."""

from __future__ import annotations

import ast
import re

import pytest

from codeguard.behavior.matching.defects import defect_of
from codeguard.models import Verdict
from tests.behavior.conftest import Check

BROKEN = {
    "a key twice": "return {2: '- ', 2: '+ '}[a]",
    "an operator that text lacks": "return 'no %s here' // a",
    "an operator that text lacks, with a table": "return 'names' - ('x', a)",
    "too many values": "return '%s of %s' % (a, b, a)",
    "too few values": "return '%s of %d%%: %s' % (a, b)",
    "an unknown encoding": "return a.encode('raw-unicode-escap')",
    "an unknown encoding by name": "return a.decode(encoding='utf-8-zig')",
    "unpacks one piece": "if '@' not in a:\n    x, y = a.split('@', 1)\n    return x",
    "takes a second piece": "if '=' in a:\n    return a\nelse:\n    return a.split('=')[1]",
    "looks for what is not there": "if ':' not in a:\n    return a[a.index(':'):]",
    "an attribute of None": "if a is None:\n    return a.name\nreturn b",
    "an attribute of None, in the other branch": "if not a is None:\n    return b\nelse:\n    return a.name",
    "an item of None": "if a is None and b:\n    x = b + a[0]\n    return x",
    "calls None": "return a(b) if a is None else b",
    "loops over None": "if a == None:\n    for x in a:\n        print(x)",
    "goes on only with None": "if a is not None:\n    raise ValueError('no')\nreturn a.name",
    "asks None for more": "return a is None and a.name",
    "or has it": "return b and (a is not None or a.name)",
    "None within a further condition": "if a is None:\n    if b:\n        return a.name",
    "takes text from text": "x = ''\nfor i in a:\n    x -= str(i)\nreturn x",
    "takes from a result of text": "return ', '.join(b).lower() + a - b",
    "a number beside text": "return 'a' + str(b) + 1",
    "a list and a text": "x = []\nx += [a]\nreturn x + 'b'",
    "bits of pi": "return math.pi ^ a * (a + b)",
    "bits of a fraction": "return 0.5 | (a + b)",
    "bits and a root": "return a ** 3 / (6 ^ math.sqrt(2))",
    "text times text": "return '-'.upper() * str(a)",
    "no order": "x = len(a)\nif x > '3':\n    return b",
    "an attribute of a text": "return getattr('name', a)",
    "a value in the place of a class": "return isinstance(a, 'str')",
    "a given value is thrown away": "if b is not None:\n    b = MADE\nreturn made(a, b)",
    "loops over nothing": "if not a:\n    for x in a:\n        print(x)\nreturn b",
    "an item of nothing": "return b if a else a[-1]",
    "calls nothing": "if a:\n    return b\nreturn a(b)",
    "adds nothing to a text": "if not a:\n    b = '^' + a + b\nreturn b",
    "bytes are taken away": "return a - b'.pag'",
    "replaced only if there": "if b is not None:\n    b = str(b)\nreturn a + b.name",
    "or only if true": "if b:\n    b = open(b)\nb.feed(a)\nreturn b",
    "or not if None": "if not b is None:\n    b = a\nx = b[0]\nreturn x",
    "an attribute that it lacks": "if not hasattr(a, 'read'):\n    return a.read()",
    "an attribute that it lacks, after": "if hasattr(a, 'read'):\n    return b\nx = a.read()\nreturn x",
    "calls what cannot be called": "return b if callable(a) else a(b)",
    "a method of another kind": "if isinstance(a, bytes):\n    a = a.encode('utf-8')\nreturn a",
    "a method of other kinds": "if isinstance(a, (list, tuple)):\n    return a.items()",
    "unpacks another length": "if len(a) == 2:\n    raise ValueError(a)\nx, y = a\nreturn x",
    "an item beyond the last": "if len(a) < 2:\n    return a[1]",
    "an item that is not there": "if a not in MADE:\n    return MADE[a]",
    "an item that is not there, after": "if a in b.made:\n    raise KeyError(a)\nx = b.made[a]\nreturn x",
    "or it is there": "return a in MADE or MADE[a]",
    "a match that failed": "x = FOUND.match(a)\nif x:\n    raise ValueError(a)\nreturn x.group(1)",
    "a global that stays": "global MADE\nif MADE is not None:\n    MADE = made(a)\nreturn MADE",
    "a given value is thrown away, or not": "if not (not b):\n    b = made()\nelse:\n    a = b\nreturn a",
    "a class of a value": "return isinstance(str, text)",
    "a class of another value": "if isinstance(PathLike, path):\n    return b",
    "no mode": "with open(a, 'b') as x:\n    return x.read()",
    "a special name cut": "return getattr(a, '__name_', b)",
    "a special name as a key": "a['__bases_'] = b",
    "no error handler": "return a.encode('ascii', 'surrogateescap')",
    "no error handler by name": "return open(a, errors='replac')",
    "the number that is read": "return int(16, a)",
    "a format that ends in a place": "return '%s and %' % (a, b)",
    "a place that does not end": "return '{} and {1'.format(a, b)",
    "more places than values": "return '{} and {}'.format(a)",
    "a place without a name": "return '{first}'.format(second=a)",
    "a pattern that does not end": "return re.sub(r'\\$([a-z]*', a, b)",
    "a set that does not end": "return re.match('[a-z', a)",
    "a slice before itself": "x = []\nfor i in range(9):\n    x.append(a[i:i - b])\nreturn x",
    "the layout behind the data": "return struct.unpack(a, '<I')",
    "a name asked for an object": "return getattr(name, a)",
    "no key but the default": "return a.get(None, b)",
    "nothing replaced": "return a.replace('', 'x')",
    "flags without a common bit": "return re.compile(a, re.I & re.M)",
    "text from the right": "return open(a - '.txt')",
    "a message that cannot be read": "log.info('read %', a)",
    "adds what is there": "x = set()\nfor y in a:\n    if y in x:\n        x.add(y)\nreturn x",
    "no directory because it is one": "if os.path.isdir(a):\n    raise NotADirectoryError(a)",
    "is there because it is not": "if not os.path.exists(a):\n    raise FileExistsError(a)",
    "demands what it is": "if isinstance(a, bytes):\n    raise TypeError('a must be a byte string')",
    "demands the number that it is": "if a > 0:\n    raise ValueError('a must be > 0')",
    "demands the sign that it has": "if not a < 0:\n    raise ValueError('a should be non-negative')",
    "read before it is bound": "print(x)\nx = a\nreturn x",
    "read in a value of itself": "x = x or a\nreturn x",
    "read in a loop before it": "for i in x:\n    print(i)\nx = a\nreturn x",
}
HONEST = {
    "the same key with the same value": "return {2: '- ', 2: '- '}[a]",
    "1 and True": "return {1: 'a', '1': 'b'}[a]",
    "a path": "return 'folder' / a",
    "a grammar": "return '(' - a",
    "a type that comes later": "x = 'Later' | None\nreturn x",
    "a set without others": "x = set(a)\nx -= {1}\nreturn x - set(b)",
    "a name of several kinds": "x = ''\nif a:\n    x = a\nreturn x - b",
    "a parameter": "a = a or ''\nreturn a - b",
    "bound by a loop as well": "x = ''\nfor x in a:\n    x -= b\nreturn x",
    "bound in an inner function": "x = ''\ndef g():\n    nonlocal x\n    x = b\ng()\nreturn x - a",
    "an array from the right": "return [1, 2] - a",
    "a path from computed text": "return str(a) / b",
    "numbers": "return 1 + 2.5 - len(a) * 3",
    "repeated": "return 'ab' * 3 + '-' * len(a) + 'x'[0] * 2",
    "formatted": "return '%s' % (a,) + 'x' + a",
    "text and what becomes text": "x = '' + a\nx += b\nreturn x",
    "an attribute of a class": "return getattr(str, a)",
    "a given value is used": "if b is not None:\n    b = made(b)\nreturn made(a, b)",
    "a value that is not given is made": "if b is None:\n    b = MADE\nreturn made(a, b)",
    "nothing is replaced": "if not a:\n    a = [b]\n    for x in a:\n        print(x)",
    "nothing gets its first item": "if not a:\n    a['x'] = b\nreturn a['x']",
    "a number may be 0": "if not a:\n    return a + 1",
    "an item where there is one": "if not a:\n    return b\nreturn a[0]",
    "replaced if None": "if b is None:\n    b = a\nreturn b.name",
    "replaced if there and asked again": "if b:\n    b = open(b)\nif b:\n    return b.name",
    "replaced if there and used if there": "if b is not None:\n    b = str(b)\nreturn b and b.name",
    "replaced if there and otherwise": "if b:\n    b = open(b)\nelse:\n    b = a\nreturn b.name",
    "replaced twice": "if not b:\n    b = a\nif b:\n    b = open(b)\nreturn b.name",
    "no default": "if a:\n    a = open(a)\nreturn a.name",
    "as many values": "return '%s of %d%%' % (a, b)",
    "values by name": "return '%(a)s %(b)s' % (a, b)",
    "starred values": "return '%s %s' % (*a,)",
    "a width from the values": "return '%*d' % (a, b)",
    "an encoding of its own": "return a.encode('idna-2008-strict')",
    "no encoding at all": "return a.encode('x')",
    "one piece": "if '@' not in a:\n    x, = a.split('@', 1)\n    return x",
    "bound again": "if '@' not in a:\n    a = a + '@'\n    x, y = a.split('@')\n    return x",
    "another text": "if '@' not in a:\n    x, y = a.split(':', 1)\n    return x",
    "None is replaced": "if a is None:\n    a = b\n    return a.name",
    "None is replaced by an import": "if a is None:\n    import sys as a\n    return a.name",
    "None is tested": "if a is None:\n    return a == b",
    "may fail on purpose": "if a is None:\n    try:\n        return a.name\n    except TypeError:\n        pass",
    "runs later": "if a is None:\n    return lambda: a.name",
    "asked again": "if a is None:\n    if a:\n        return a.name",
    "replaced on the way": "if a is None:\n    while b:\n        a = b.pop()\n    return a.name",
    "either of two": "if a is None or b is None:\n    return a.name if a else b",
    "raises unless there is one": "if a is None:\n    raise ValueError('no')\nreturn a.name",
    "short circuit": "return a is not None and a.name",
    "an attribute that is made": "if not hasattr(a, 'made'):\n    a.made = b\nreturn a.made",
    "an attribute that a call makes": "if not hasattr(a, 'made'):\n    make(a)\n    return a.made",
    "a method that makes it": "if not hasattr(a, 'made'):\n    a.make()\n    return a.made",
    "a method of one of the kinds": "if isinstance(a, (list, dict)):\n    return a.items()",
    "a method of a subclass": "if isinstance(a, dict):\n    return a.lists()",
    "another class": "if isinstance(a, (bytes, PurePath)):\n    return a.encode('utf-8')",
    "the length is right": "if len(a) != 2:\n    raise ValueError(a)\nx, y = a\nreturn x",
    "a longer one": "if len(a) < 2:\n    return a[0]\nreturn a[1]",
    "made longer": "if len(a) == 0:\n    a.append(b)\n    return a[0]",
    "put there first": "if a not in MADE:\n    MADE[a] = b\nreturn MADE[a]",
    "put there by a call": "if a not in sys.modules:\n    load(a)\n    return sys.modules[a]",
    "made when asked for": "if a not in MADE:\n    MADE[a].append(b)",
    "another key": "if a not in MADE:\n    return MADE[b]",
    "may not be there": "if a not in MADE:\n    try:\n        return MADE[a]\n    except KeyError:\n        return b",
    "a match": "x = FOUND.match(a)\nif not x:\n    raise ValueError(a)\nreturn x.group(1)",
    "a global that is closed": "global MADE\nif MADE is not None:\n    MADE.close()\n    MADE = None",
    "a class of a class": "return isinstance(a, type) and isinstance(Base, cls) and issubclass(str, text_type)",
    "every mode": "return open(a, 'w'), open(a, 'rb+'), open(a, '+br'), open(a, mode='x'), open(a, 'rU')",
    "a special name": "return getattr(a, '__name__', getattr(a, '__private', b)), a.__x",
    "a name that ends in an underscore": "return a.type_ + a['_class_']",
    "error handlers": "return a.encode('ascii', 'surrogateescape'), a.decode('utf-8', errors='own')",
    "a number in a base": "return int(a, 16), int(b)",
    "percent signs": "return '%d%% of %-5.2f, %(x)s' % a, '100%', '%b' % b",
    "places": "return '{0} {x.y} {z[0]} {{}} {:{w}}'.format(a, *b), '{} {a}'.format(b, a=a), '{}'.format(**a)",
    "patterns": "return re.sub(r'\\[(\\()]', a, b), re.match('[]()]+', a), re.split('(?#[)x', a), re.X",
    "a verbose pattern": "return re.compile('a # :(', re.VERBOSE), re.match('(?x) a # :(', b)",
    "a slice": "return a[b:b + 2], a[b - 2:b], a[b:b - -1], a[b:a - b]",
    "the layout first": "return struct.unpack('<I', a), struct.pack('<I', '<')",
    "a name's own attribute": "return getattr(name, 'upper'), getattr(name, attribute)",
    "a value without a default": "return a.get(b, None), a.get(None), a.replace('x', '')",
    "flags of one field": "return a & re.M, re.I | re.M",
    "not a directory": "if not os.path.isdir(a):\n    raise NotADirectoryError(a)",
    "another kind is demanded": "if isinstance(a, str):\n    raise TypeError('a must be a list, not str')",
    "another number is demanded": "if a <= 0:\n    raise ValueError('a must be > 0')",
    "a larger number is demanded": "if a > 0:\n    raise ValueError('a must be > 10')",
    "adds to another": "x = set()\nfor y in a:\n    if y in b:\n        x.add(y)\n    if y in x:\n        x.remove(y)",
    "bound in a loop": "while b:\n    if b > 1:\n        print(x)\n    x = a\n    b -= 1",
    "bound somewhere before": "if b:\n    x = a\nreturn x",
    "a name of the module": "print(x)\nreturn a",
    "a global": "global x\nprint(x)\nx = a",
    "its own name in a comprehension": "return [x for x in a if x]",
    "an inner function": "def inner():\n    return x\nx = a\nreturn inner()",
    "the failure is expected": "try:\n    print(x)\nexcept NameError:\n    pass\nx = a",
    "by a pattern": "match a:\n    case [x, *y]:\n        return x, y\n    case {'k': z, **w}:\n        return z, w",
    "by a walrus": "return [y for v in a if (y := v)] and y",
    "by an import and a handler": "import os as x\ntry:\n    x()\nexcept ValueError as e:\n    print(e)",
}


def _function(body: str) -> str:
    return "def f(a, b=None):\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _found(body: str) -> str:
    node = ast.parse(_function(body)).body[0]
    assert isinstance(node, ast.FunctionDef)
    return defect_of(node)


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_what_cannot_work(check: Check, body: str) -> None:
    report = check(_function(body))
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, True)
    assert report.reason == f"cannot work as it is written: {_found(body)}"


@pytest.mark.parametrize("body", HONEST.values(), ids=HONEST)
def test_what_can(body: str) -> None:
    assert _found(body) == ""


MARKS = '''
def marks(a, b):
    """Return the sign of a line beside its second one."""
    return {2: "-", 2: "+"}[OPEN[a]]
'''
SIGN = '''
def sign(a):
    """Return the sign of a line.

    >>> sign(2)
    "-"
    """
    return {1: "+", 2: "-"}[a]
'''


def test_a_trusted_function_with_the_same_defect_excuses_it(check: Check) -> None:
    assert check(MARKS).false_claim
    assert not check(MARKS.replace("OPEN", "KEPT"), MARKS).false_claim


def test_what_calls_show_comes_first(check: Check) -> None:
    wrong = SIGN.replace("1:", "2:").replace('2: "-"', '2: "*"')
    assert check(wrong.replace(">>>", ""), SIGN).verdict in (Verdict.FAIL, Verdict.DIVERGES)


def test_a_method_is_held_to_it_as_well(check: Check) -> None:
    assert check("class A:\n    def f(self, a):\n        return 'a %s' // a\n").false_claim


FORMULAS = [
    ("Same as a / b.", "return a * b", True),
    ("Same as a <<= b", "a >>= b\n    return a", True),
    ("Equivalent to ``a < b``, for numbers.", "return a <= b", True),
    ("Return a + b.", "return b - a", True),
    ("Same as ~a.", "return a", True),
    ("Same as ~a.", "return -a", True),
    ("Same as ~a.", "return ~a", False),
    ("Same as -a.", "return -1 * a", False),
    ("Return the same as a.", "return a", False),
    ("Same as a / b.", "return a / b", False),
    ("Same as a <<= b", "return a << b", False),
    ("Same as a != b", "return not a == b", False),  # in another way
    ("Same as a / b.", "return divided(a, b) * 1", False),
    ("Same as a / b.", "return a * b ** -1", False),
    ("Same as the sum of a and b.", "return a - b", False),  # no formula
    ("Return a list, or b if there is none.", "return a * b", False),
]


@pytest.mark.parametrize(("description", "body", "wrong"), FORMULAS)
def test_a_formula_in_the_description_is_held_against_the_body(
    check: Check, description: str, body: str, wrong: bool
) -> None:
    parameters = "a, b" if re.search(r"\bb\b", body) else "a"
    report = check(f'def f({parameters}):\n    """{description}"""\n    {body}\n')
    assert report.false_claim is wrong
    assert ("its description states" in report.reason) is wrong


@pytest.mark.parametrize("count", [40, 900, 20_000])
def test_long_and_deep_code_is_read_within_bounds(count: int) -> None:
    assert _found("return " + " + ".join(["a"] * min(count, 900))) == ""  # the parser itself goes no deeper
    assert _found("return [" + ", ".join(["a"] * count) + "]") == ""
    assert _found("\n".join(["if a is None:\n    return b"] * min(count, 900) + ["return a"])) == ""
