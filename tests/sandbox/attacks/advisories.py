"""Published weaknesses of RestrictedPython and of its peers."""

from __future__ import annotations

from attacks.case import LANDLOCK, NAMESPACES, POLICY, SECCOMP, WORLD, Attack, Proof, rows

FILES = (POLICY, SECCOMP, LANDLOCK, NAMESPACES)
READS = (POLICY, WORLD)


def _writes(id: str, mechanism: str, source: str, needs: str = "") -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.MARKER, source, FILES, needs=needs)


def _leaks(id: str, mechanism: str, source: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.LEAK, source, READS)


ATTACKS = (
    *rows(
        _leaks,
        """
=== CVE-2023-41039-format: str.format traverses attributes by text
import random
def attack():
    return "{0._os.environ[@SECRET_NAME@]}".format(random)
=== CVE-2023-41039-format-map: str.format_map, taken from the class, traverses just as well
import random
def attack():
    return str.format_map("{x._os.environ[@SECRET_NAME@]}", {"x": random})
=== CVE-2024-47532-attribute-error: AttributeError.obj of string.Formatter.get_field hands out the object
import string, random
def attack():
    try:
        string.Formatter().get_field("x._os.no_such_name", (), {"x": random})
    except AttributeError as error:
        return error.obj.environ["@SECRET_NAME@"]
=== CVE-2026-76825-formatter: string.Formatter.get_field returns live objects
import string, random
def attack():
    found, _ = string.Formatter().get_field("x._os", (), {"x": random})
    return found.environ["@SECRET_NAME@"]
=== logging-style: logging.Formatter(style='{') calls str.format on a text of the attack
import logging, random
def attack():
    record = logging.makeLogRecord({"x": random})
    return logging.Formatter("{x._os.environ[@SECRET_NAME@]}", style="{").format(record)
=== CVE-2025-24359-asteval: an attribute error raised inside a format field carries its object
import random
def attack():
    try:
        random.__getattribute__("_os").no_such_name
    except AttributeError as error:
        return error.obj.environ["@SECRET_NAME@"]
""",
    ),
    *rows(
        _writes,
        """
=== CVE-2025-22153-except-star: except* matches with a type that lies, past the guards on exceptions
class Group(ExceptionGroup):
    def derive(self, excs):
        return Group("", excs)
    def split(self, condition):
        raise_from = ().__class__.__base__
        return None, self
class Caught(Exception):
    pass
def attack():
    try:
        raise Group("", [Caught()])
    except* Caught as group:
        group.__traceback__.tb_frame.f_builtins["open"]("@MARKER@", "w").close()
    except* Exception as group:
        group.__traceback__.tb_frame.f_builtins["open"]("@MARKER@", "w").close()
=== CVE-2026-55830-positional-only: a positional-only parameter shadows the guard's name inside a function
def attack(_getattr_=getattr, /):
    return reach(getattr)
def reach(_getattr_, /):
    there = _getattr_(attack, "__builtins__")
    there["open"]("@MARKER@", "w").close()
=== CVE-2023-37271-stack: a generator's frame reaches the stack of whoever runs it
def attack():
    def inner():
        yield made[0].gi_frame.f_back.f_back
    made = []
    made.append(inner())
    frame = next(made[0])
    frame.f_builtins["open"]("@MARKER@", "w").close()
=== lazy-import: an import alias binds a guarded builtin (the class of PEP 810's lazy imports)
def attack():
    from builtins import open as reach
    reach("@MARKER@", "w").close()
=== unguarded-iteration: builtins that iterate in C call the attack's __next__ outside the guards (removed in 9.0)
class Items:
    def __iter__(self):
        return self
    def __next__(self, run=eval):
        run("open('@MARKER@', 'w').close()")
        raise StopIteration
def attack():
    return sorted(Items())
=== starred-assignment: unpacking calls __iter__ without a call node
class Items:
    __iter__ = lambda self: iter([open("@MARKER@", "w").close()])
def attack():
    first, *rest = Items()
=== print-collector: the print collector's own attributes lead to its globals
def attack():
    print.__self__.__dict__["open"]("@MARKER@", "w").close()
=== simpleeval-module-walk: an allowed object's attributes end in a module (CVE of simpleeval)
import statistics
def attack():
    loaded = getattr(statistics, "sys", None) or statistics.random._os.sys
    loaded.modules["os"].mkdir("@MARKER@")
=== numexpr-string-filter: a filter that looks for text is passed by a name put together (CVE-2023-39631)
def attack():
    name = "".join(map(chr, [111, 112, 101, 110]))
    vars(__import__(bytes.fromhex("6275696c74696e73").decode()))[name]("@MARKER@", "w").close()
""",
    ),
)
