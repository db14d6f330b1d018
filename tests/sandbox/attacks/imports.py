"""Import smuggling: ways to a module that is not the import statement one looks for."""

from __future__ import annotations

from attacks.case import FACADE, LANDLOCK, NAMESPACES, POLICY, SECCOMP, Attack, Proof, rows

FILES = (POLICY, SECCOMP, LANDLOCK, NAMESPACES)
MODULES = (POLICY, FACADE, SECCOMP, LANDLOCK, NAMESPACES)


def _writes(id: str, mechanism: str, source: str, needs: str = "") -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.MARKER, source, MODULES, needs=needs)


ATTACKS = (
    *rows(
        _writes,
        """
=== import-statement: import os, plainly
import os
def attack():
    os.mkdir('@MARKER@')
=== dunder-import: __import__ called
def attack():
    __import__('os').mkdir('@MARKER@')
=== importlib: importlib.import_module
import importlib
def attack():
    importlib.import_module('os').mkdir('@MARKER@')
=== sys-modules: a module that is loaded already is an entry of sys.modules
import sys
def attack():
    sys.modules['os'].mkdir('@MARKER@')
=== posix-module: the built-in module below os, which lists of names forget
import posix
def attack():
    posix.mkdir('@MARKER@')
=== relative-import: a relative import resolved through a __package__ that the attack sets
__package__ = "os"
def attack():
    from . import mkdir
    mkdir("@MARKER@")
=== star-import: from ... import * brings names that no statement shows
from os import *
def attack():
    mkdir('@MARKER@')
=== dotted-import: importing os.path binds os
import os.path
def attack():
    os.mkdir('@MARKER@')
=== builtin-importer: _frozen_importlib's BuiltinImporter loads built-in modules past sys.modules and __import__
import _frozen_importlib as machinery
def attack():
    machinery.BuiltinImporter.load_module("posix").mkdir("@MARKER@")
=== imp-create-builtin: _imp.create_builtin makes a second, unpatched copy of a built-in module
import _imp
from importlib.machinery import ModuleSpec
def attack():
    fresh = _imp.create_builtin(ModuleSpec("posix", None))
    _imp.exec_builtin(fresh)
    fresh.mkdir("@MARKER@")
=== frozen-object: _imp.get_frozen_object gives the code of a frozen module, executed in fresh globals
import _imp
def attack():
    scope = {"__name__": "again", "__builtins__": __builtins__}
    exec(_imp.get_frozen_object("os"), scope)
    scope["mkdir"]("@MARKER@")
=== module-from-spec: importlib.util builds a module from a spec of one's own
import importlib.util
def attack():
    spec = importlib.util.find_spec("posix")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.mkdir("@MARKER@")
=== meta-path: a finder put into sys.meta_path serves attacker's code under an allowed name
import sys
from importlib.machinery import ModuleSpec
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "colorsys_extra":
            return ModuleSpec(name, self)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec("import os; os.mkdir('@MARKER@')", module.__dict__)
def attack():
    sys.meta_path.insert(0, Finder())
    import colorsys_extra
=== path-entry: a source file written by the attack is imported
import sys
def attack():
    with open("@DIR@/room/planted.py", "w") as file:
        file.write("import os; os.mkdir('@MARKER@')")
    sys.path.insert(0, "@DIR@/room")
    import planted
=== pth-file: site.addsitedir executes import lines of a .pth file
import site
def attack():
    with open("@DIR@/room/x.pth", "w") as file:
        file.write("import os; os.mkdir('@MARKER@')\\n")
    site.addsitedir("@DIR@/room")
=== resolve-name: pkgutil.resolve_name imports by a string
import pkgutil
def attack():
    pkgutil.resolve_name('os:mkdir')('@MARKER@')
=== pydoc-locate: pydoc.locate imports by a string
import pydoc
def attack():
    pydoc.locate('os.mkdir')('@MARKER@')
=== pickle-global: a pickle's GLOBAL opcode imports and calls
import pickle
def attack():
    pickle.loads(b"cposix\\nmkdir\\n(X" + len("@MARKER@").to_bytes(4, "little") + b"@MARKER@tR.")
=== logging-config: logging.config resolves '()' factories by dotted name
import logging.config
def attack():
    logging.config.dictConfig({"version": 1, "filters": {"f": {"()": "os.mkdir", "path": "@MARKER@"}}})
=== mock-patch: unittest.mock imports the target of a patch
from unittest import mock
def attack():
    mock.patch("os.mkdir").getter().mkdir("@MARKER@")
=== runpy: runpy executes a module's code as a script
import runpy
def attack():
    runpy._run_code("import os; os.mkdir('@MARKER@')", {})
=== bdb-run: a debugger runs a text
import bdb
def attack():
    bdb.Bdb().run("import os; os.mkdir('@MARKER@')")
=== interactive-source: the interpreter of interactive sessions runs a text
import code
def attack():
    code.InteractiveInterpreter().runsource("__import__('os').mkdir('@MARKER@')")
=== py-compile: py_compile writes bytecode where it is told to
import py_compile
def attack():
    py_compile.compile(py_compile.__file__, cfile='@MARKER@', doraise=True)
=== type-hints: typing.get_type_hints evaluates string annotations
import typing
class Carrier:
    __annotations__ = {"x": "__import__('os').mkdir('@MARKER@')"}
def attack():
    typing.get_type_hints(Carrier)
=== forward-ref: typing.ForwardRef compiles and evaluates a string
import sys, typing
def attack():
    reference = typing.ForwardRef("[].append(__import__('os').mkdir('@MARKER@'))")
    function = lambda x: x
    function.__annotations__ = {"x": reference}
    typing.get_type_hints(function, {}, {})
=== signature-eval: inspect.signature(eval_str=True) evaluates annotations
import inspect
def target(x: "__import__('os').mkdir('@MARKER@')"):
    pass
def attack():
    inspect.signature(target, eval_str=True)
=== singledispatch-register: functools.singledispatch evaluates the annotations of what it registers
import functools
@functools.singledispatch
def shape(x):
    return x
def attack():
    def other(x: "__import__('os').mkdir('@MARKER@') or int"):
        return x
    shape.register(other)
=== timeit-text: timeit compiles its statement
import timeit
def attack():
    timeit.timeit("__import__('os').mkdir('@MARKER@')", number=1)
=== profile-run: cProfile.run executes a statement
import cProfile
def attack():
    cProfile.run("__import__('os').mkdir('@MARKER@')")
=== interactive-interpreter: code.InteractiveInterpreter runs source
import code
def attack():
    code.InteractiveInterpreter().runsource("import os; os.mkdir('@MARKER@')")
=== debugger-run: bdb runs a statement under trace
import bdb
def attack():
    bdb.Bdb().run("__import__('os').mkdir('@MARKER@')")
=== lazy-attribute: a package's module __getattr__ imports on access
import concurrent.futures
def attack():
    concurrent.futures.ProcessPoolExecutor.__init__.__globals__["os"].mkdir("@MARKER@")
=== copy-reduce: copy calls what an object's __reduce_ex__ names
import copy
class Carrier:
    def __reduce_ex__(self, protocol):
        return eval, ("__import__('os').mkdir('@MARKER@')",)
def attack():
    copy.copy(Carrier())
=== codec-search: codecs.lookup imports a module of the encodings package named by the string
import codecs, encodings
def attack():
    with open("@DIR@/room/planted_codec.py", "w") as file:
        file.write("import os; os.mkdir('@MARKER@')")
    encodings.__path__.append("@DIR@/room")
    try:
        "".encode("planted_codec")
    except LookupError:
        pass
=== zip-import: zipimport runs a module out of an archive
import zipfile, zipimport
def attack():
    with zipfile.ZipFile("@DIR@/room/x.zip", "w") as archive:
        archive.writestr("planted_zip.py", "import os; os.mkdir('@MARKER@')")
    zipimport.zipimporter("@DIR@/room/x.zip").load_module("planted_zip")
=== reload: importlib.reload undoes what a sandbox patched in a module
import importlib, os
def attack():
    real, os.mkdir = os.mkdir, None
    importlib.reload(os).mkdir("@MARKER@")
=== preloaded-submodule: an attribute chain through allowed modules ends in os
import random
def attack():
    random._os.mkdir("@MARKER@")
=== mail-to-os: a module for mail keeps os under its own name
import email.utils
def attack():
    email.utils.os.mkdir("@MARKER@")
=== from-mail-import-os: a name fetched out of a module is a module itself
from mimetypes import os as found
def attack():
    found.mkdir("@MARKER@")
=== opener-to-sys: a function's globals lead from an opener of addresses to sys and on
from urllib.request import url2pathname, urlopen
def attack():
    urlopen.__globals__["sys"].modules["os"].mkdir("@MARKER@")
=== file-loader: importlib.machinery's loader runs a file as a module
import io, os
from importlib.machinery import SourceFileLoader
def attack():
    with open("@DIR@/room/planted_loader.py", "w") as file:
        file.write("import os; os.mkdir('@MARKER@')")
    SourceFileLoader("planted_loader", "@DIR@/room/planted_loader.py").load_module()
=== encoding-cookie: a coding cookie turns a comment into code for whoever compiles bytes
def attack():
    text = b"# coding: unicode_escape\\n# \\\\x0a__import__('os').mkdir('@MARKER@')"
    exec(compile(text, "x", "exec"))
=== argparse-filetype: argparse.FileType opens what its argument names
import argparse
def attack():
    argparse.FileType('w')('@MARKER@').close()
=== subinterpreter: a subinterpreter has builtins, modules and hooks of its own
try:
    import _interpreters as sub
except ImportError:
    import _xxsubinterpreters as sub
def attack():
    identity = sub.create()
    run = getattr(sub, "run_string", None) or sub.exec
    run(identity, "import os; os.mkdir('@MARKER@')")
""",
    ),
    _writes(
        "doctest-example",
        "doctest executes what a docstring shows",
        '''
import doctest
def sample():
    """
    >>> import os; os.mkdir('@MARKER@')
    """
def attack():
    doctest.run_docstring_examples(sample, {})
''',
    ),
)
