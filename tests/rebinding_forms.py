"""Ways in which a module gives an importer something else than the text of its right `factorial`, and honest ones."""

from __future__ import annotations

RIGHT = '''def factorial(n):
    """Return n! for an integer n of at least 0.

    >>> factorial(5)
    120
    >>> factorial(0)
    1
    """
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result
'''
WRONG = "def _wrong(n):\n    return 0\n"
_SELF = "import sys\nmodule = sys.modules[__name__]\n"

# What stands below the right function and the wrong one.
REBOUND = {
    "assignment": "factorial = _wrong",
    "annotated assignment": "factorial: object = _wrong",
    "tuple": "factorial, other = _wrong, 1",
    "starred": "first, *factorial = 1, _wrong",
    "chained": "other = factorial = _wrong",
    "augmented": "factorial += 1",
    "for": "for factorial in [_wrong]:\n    pass",
    "for else": "for _ in []:\n    pass\nelse:\n    factorial = _wrong",
    "with": "import contextlib\nwith contextlib.nullcontext(_wrong) as factorial:\n    pass",
    "walrus": "(factorial := _wrong)",
    "walrus in a comprehension": "[factorial := _wrong for _ in [1]]",
    "walrus in a default": "def other(a=(factorial := _wrong)):\n    pass",
    "walrus in a decorator": "@(factorial := lambda item: item)\ndef other():\n    pass",
    "import as": "from math import gamma as factorial",
    "import": "import factorial",
    "from import": "from math import factorial",
    "import in try": "try:\n    from other import factorial\nexcept ImportError:\n    pass",
    "except as": "try:\n    raise ValueError\nexcept ValueError as factorial:\n    pass",
    "del": "del factorial",
    "class": "class factorial:\n    pass",
    "function": "def factorial(n):\n    return 0",
    "async function": "async def factorial(n):\n    return 0",
    "if of what is not known": "import os\nif 'A' in os.environ:\n    del factorial",
    "if": "if True:\n    factorial = _wrong",
    "if of a version": "import sys\nif sys.version_info >= (3, 0):\n    factorial = _wrong",
    "not the program": "if __name__ != '__main__':\n    factorial = _wrong",
    "else of the main guard": "if __name__ == '__main__':\n    pass\nelse:\n    factorial = _wrong",
    "try": "try:\n    factorial = _wrong\nfinally:\n    pass",
    "while": "while True:\n    factorial = _wrong\n    break",
    "match": "match _wrong:\n    case factorial:\n        pass",
    "match as": "match _wrong:\n    case object() as factorial:\n        pass",
    "match star": "match [_wrong]:\n    case [*factorial]:\n        pass",
    "match rest": "match {}:\n    case {**factorial}:\n        pass",
    "global of a function": "def other():\n    global factorial\n    factorial = _wrong\n\n\nother()",
    "global of a function not called": "def other():\n    global factorial\n    factorial = _wrong",
    "global of a class": "class Other:\n    global factorial\n    factorial = _wrong",
    "global of a method": "class Other:\n    def __init__(self):\n        global factorial\n        factorial = _wrong",
    "globals": "globals()['factorial'] = _wrong",
    "globals under a computed name": "globals()['fact' + 'orial'] = _wrong",
    "globals under another name": "names = globals\nnames()['fact' + 'orial'] = _wrong",
    "globals updated": "globals().update(factorial=_wrong)",
    "globals updated from a mapping": "globals().update({'factorial': _wrong})",
    "globals merged": "names = globals()\nnames |= {'factorial': _wrong}",
    "globals handed on": "def other(names):\n    names['factorial'] = _wrong\n\n\nother(globals())",
    "globals of a comprehension": "[globals().__setitem__('factorial', _wrong) for _ in [1]]",
    "globals through dict": "dict.update(globals(), factorial=_wrong)",
    "globals through operator": "import operator\noperator.setitem(globals(), 'factorial', _wrong)",
    "globals popped": "globals().pop('factorial')",
    "globals deleted": "del globals()['factorial']",
    "globals in a lambda": "(lambda: globals().update(factorial=_wrong))()",
    "globals in a class": "class Other:\n    globals()['factorial'] = _wrong",
    "vars": "vars()['factorial'] = _wrong",
    "locals": "locals()['factorial'] = _wrong",
    "vars of the module": f"{_SELF}vars(module)['factorial'] = _wrong",
    "vars of another": "import other\nvars(other)['factorial'] = _wrong",
    "module attribute": f"{_SELF}module.factorial = _wrong",
    "module attribute in one": "import sys\nsys.modules[__name__].factorial = _wrong",
    "module attribute through get": "import sys\nsys.modules.get(__name__).factorial = _wrong",
    "module attribute of an import": "import importlib\nimportlib.import_module(__name__).factorial = _wrong",
    "module attribute of __import__": "__import__(__name__).factorial = _wrong",
    "module attribute in a loop": (
        "import sys\nfor name, item in list(sys.modules.items()):\n    if name == __name__:\n"
        "        item.factorial = _wrong"
    ),
    "module's dict": f"{_SELF}module.__dict__['factorial'] = _wrong",
    "module's dict updated": f"{_SELF}module.__dict__.update(factorial=_wrong)",
    "module's class": f"import types\n{_SELF}module.__class__ = type('Other', (types.ModuleType,), {{}})",
    "module replaced": "import sys\nsys.modules[__name__] = object()",
    "modules under another name": "from sys import modules as known\nknown[__name__].factorial = _wrong",
    "setattr": f"{_SELF}setattr(module, 'factorial', _wrong)",
    "setattr in one": "import sys\nsetattr(sys.modules[__name__], 'factorial', _wrong)",
    "setattr under a computed name": f"{_SELF}setattr(module, 'fact' + 'orial', _wrong)",
    "setattr under another name": f"{_SELF}change = setattr\nchange(module, 'factorial', _wrong)",
    "setattr of object": f"{_SELF}object.__setattr__(module, 'factorial', _wrong)",
    "delattr": f"{_SELF}delattr(module, 'factorial')",
    "code": "factorial.__code__ = _wrong.__code__",
    "code by setattr": "setattr(factorial, '__code__', _wrong.__code__)",
    "code by setattr under a computed name": "setattr(factorial, '__co' + 'de__', _wrong.__code__)",
    "defaults": "factorial.__defaults__ = (1,)",
    "keyword defaults": "factorial.__kwdefaults__ = {'n': 1}",
    "function's globals": "factorial.__globals__['range'] = lambda *args: ()",
    "function's dict of globals": "factorial.__globals__.update(range=lambda *args: ())",
    "exec": "exec('factorial = _wrong')",
    "exec in a function": "def other():\n    exec('factorial = _wrong', globals())\n\n\nother()",
    "exec under another name": "run = exec\nrun('factorial = _wrong')",
    "exec as an argument": "list(map(exec, ['factorial = _wrong']))",
    "exec of builtins": "import builtins\nbuiltins.exec('factorial = _wrong')",
    "exec under a computed name": "import builtins\ngetattr(builtins, 'ex' + 'ec')('factorial = _wrong')",
    "exec in a property": (
        "class Other:\n    @property\n    def name(self):\n        exec('factorial = _wrong', globals())\n\n\n"
        "Other().name"
    ),
    "exec in a constructor": (
        "class Other:\n    def __init__(self):\n        exec('factorial = _wrong', globals())\n\n\nOther()"
    ),
    "exec in a subclass hook": (
        "class Base:\n    def __init_subclass__(cls):\n        exec('factorial = _wrong', globals())\n\n\n"
        "class Other(Base):\n    pass"
    ),
    "exec in an annotation": "def other(a: exec('factorial = _wrong')):\n    pass",
    "exec in a default": "def other(a=exec('factorial = _wrong')):\n    pass",
    "exec in a base": "class Other(exec('factorial = _wrong') or object):\n    pass",
    "eval": "eval('globals().update(factorial=_wrong)')",
    "a decorator called": "def other(function):\n    return _wrong\n\n\nfactorial = other(factorial)",
    "a decorator that changes it": (
        "def other(function):\n    function.__code__ = _wrong.__code__\n    return function\n\n\nother(factorial)"
    ),
    "a decorator of another": (
        "def other(function):\n    globals()[function.__name__[1:]] = _wrong\n    return function\n\n\n"
        "@other\ndef _factorial():\n    pass"
    ),
    "handed to another module": "from other import change\nchange(factorial)",
    "star import": "from other import *",
    "star import in try": "try:\n    from math import *\nexcept ImportError:\n    pass",
    "builtins": "import builtins\nbuiltins.range = lambda *args: ()",
    "builtins by setattr": "import builtins\nsetattr(builtins, 'range', lambda *args: ())",
    "builtins' dict": "import builtins\nbuiltins.__dict__['range'] = lambda *args: ()",
    "__builtins__": "__builtins__['range'] = lambda *args: ()",
    "a frame": "import sys\nsys._getframe().f_globals['factorial'] = _wrong",
    "a frame, step by step": (
        "import sys\nframe = sys._getframe()\nnames = frame.f_globals\nnames['factorial'] = _wrong"
    ),
    "a frame under a computed name": "import sys\ngetattr(sys._getframe(), 'f_glo' + 'bals')['factorial'] = _wrong",
    "a frame under an unknown name": "import sys\ngetattr(sys._getframe(), input())['factorial'] = _wrong",
    "memory": "import ctypes\nctypes.pythonapi.PyDict_SetItem(1, 2, 3)",
    "referents": "import gc\ngc.get_referents(factorial)[0]['factorial'] = _wrong",
    "sys under another name": "import sys\ns = sys\ns.modules[__name__].factorial = _wrong",
    "sys of two meanings": (
        "def one():\n    import sys as s\n    s.modules[__name__].__dict__['fact' + 'orial'] = _wrong\n\n\n"
        "def two():\n    import os as s\n    return s\n\n\none()"
    ),
    "sys handed on": "import sys\n[sys][0].modules[__name__].__dict__.update({'factorial': _wrong})",
    "sys' modules by getattr": "import sys\ntable = getattr(sys, 'modules')\ntable[__name__].factorial = _wrong",
    "sys' modules under a computed name": (
        "import sys\ntable = getattr(sys, 'modu' + 'les')\nvars(table[__name__])['fact' + 'orial'] = _wrong"
    ),
    "TYPE_CHECKING assigned": (
        "from typing import TYPE_CHECKING\nTYPE_CHECKING = True\nif TYPE_CHECKING:\n    factorial = _wrong"
    ),
    "TYPE_CHECKING of another": "from other import TYPE_CHECKING\nif TYPE_CHECKING:\n    factorial = _wrong",
    "sys assigned": "import sys\nsys = 1\nif sys.platform == 'beos':\n    factorial = _wrong",
    "a carriage return": "# honest\rfactorial = _wrong",
    "another width": "\uff46actorial = _wrong",
    "a line feed in a comment": "# honest\x0cfactorial = _wrong\nfactorial = _wrong",
    "what does not parse": "def broken(:\n    pass",
}

# Those of them that reach a namespace, or what a function does, and need not write this very name.
POSSIBLE = frozenset(
    """if of what is not known|TYPE_CHECKING assigned|TYPE_CHECKING of another|sys assigned|import in try
    |a frame under an unknown name|global of a function not called
    |global of a method|globals updated from a mapping|globals merged
    |globals handed on|globals through dict|globals through operator
    |vars of another|module attribute in a loop|module's class|module replaced|code|code by setattr
    |code by setattr under a computed name|defaults|keyword defaults|function's globals|function's dict of globals
    |exec|exec in a function|exec under another name|exec as an argument|exec of builtins|exec under a computed name
    |exec in a property|exec in a constructor|exec in a subclass hook|exec in an annotation|exec in a default
    |exec in a base|eval|a decorator that changes it|a decorator of another|handed to another module|star import
    |star import in try|builtins|builtins by setattr|builtins' dict|__builtins__|a frame|a frame, step by step
    |a frame under a computed name|memory|referents|sys handed on|what does not parse""".replace(
        "\n    ", ""
    ).split("|")
)

# Modules in which the right function, at `{}`, is what an importer gets.
HONEST = {
    "nothing else": "{}",
    "a constant": "LIMIT = 5\n\n\n{}",
    "a logger": (
        "import logging\n\nlogger = logging.getLogger(__name__)\nlogger.addHandler(logging.NullHandler())\n\n\n{}"
    ),
    "__all__": "__all__ = ['factorial']\n__all__ += ['other']\n__all__.append('more')\n\n\n{}",
    "a docstring assigned": "{}\n\nfactorial.__doc__ = 'Return n!.'\nfactorial.author = 'Ada'\n",
    "an unrelated redefinition": "{}\n\ndef other():\n    return 1\n\n\ndef other():\n    return 2\n",
    "a loop variable deleted": "for item in [1]:\n    pass\ndel item\n\n\n{}",
    "another name": "{}\n\nfac = factorial\n",
    "a table": "{}\n\nTABLE = {{'factorial': factorial}}\n",
    "a main guard": "{}\n\nif __name__ == '__main__':\n    factorial = print\n",
    "types only": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from other import factorial\n\n\n{}",
    "a declared type": "factorial: object\n\n\n{}",
    "overloads": (
        "from typing import overload\n\n\n@overload\ndef factorial(n: int) -> int: ...\n@overload\n"
        "def factorial(n: bool) -> int: ...\n{}"
    ),
    "a version": "import sys\n\nif sys.version_info < (3, 0):\n    factorial = None\nelse:\n{:indent}",
    "a platform": "import sys\n\nif sys.platform == 'beos':\n    def factorial(n):\n        return 1\nelse:\n{:indent}",
    "an import that may fail": "try:\n    from _math import factorial\nexcept ImportError:\n{:indent}",
    "an import of another that may fail": "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n\n\n{}",
    "a star import before": "from math import *\n\n\n{}",
    "a cache": "import functools\n\n\n@functools.lru_cache(maxsize=None)\n{}",
    "reading globals": "{}\n\nNAMES = sorted(globals())\nOTHER = globals().get('factorial')\nHERE = 'x' in vars()\n",
    "reading modules": "import sys\n\nHAS = 'numpy' in sys.modules\nDOC = sys.modules[__name__].__doc__\n\n\n{}",
    "exec that no import runs": "def run(text):\n    exec(text, {{}})\n\n\n{}",
    "setattr of an object": (
        "class Item:\n    def __init__(self, **values):\n        for name, value in values.items():\n"
        "            setattr(self, name, value)\n        self.__dict__.update(values)\n\n\nITEM = Item(a=1)\n\n\n{}"
    ),
    "a method of the name": "class Item:\n    def factorial(self):\n        return 1\n\n\n{}",
    "a parameter of the name": "def other(factorial):\n    factorial = 1\n    return factorial\n\n\n{}",
    "a comprehension of the name": "SIZES = [factorial for factorial in (1, 2)]\n\n\n{}",
    "handed to the standard library": "import atexit\n\n\n{}\n\natexit.register(factorial, 1)\n",
    "a placeholder before": "factorial = None\n\n\n{}",
    "an attribute of an object": "class Item:\n    pass\n\n\nITEM = Item()\nITEM.factorial = 1\n\n\n{}",
    "used": (
        "{}\n\nFIRST = [factorial(i) for i in range(5)]\nassert factorial(3) == 6\n"
        "print(max(map(factorial, FIRST)))\n"
    ),
    "a state of its own": (
        "{}\n\n_state = None\n\n\ndef state():\n    global _state\n    _state = _state or {{}}\n"
        "    return _state\n"
    ),
}


def honest(form: str) -> str:
    """Return the module of an honest form."""
    indented = "".join(f"    {line}\n" if line else "\n" for line in HONEST_LINES)
    if "{:indent}" in form:
        return form.replace("{:indent}", indented)
    return (
        form.replace("{{", "\0")
        .replace("}}", "\1")
        .replace("{}", RIGHT)
        .replace("\0", "{")
        .replace("\1", "}")
    )


HONEST_LINES = RIGHT.splitlines()


def rebound(form: str) -> str:
    """Return the module of a form that rebinds."""
    return f"{RIGHT}\n\n{WRONG}\n\n{form}\n"
