"""State that one check leaves to the next."""

from __future__ import annotations

import random

from attacks.case import FACADE, FRESH, LANDLOCK, NAMESPACES, POLICY, SECCOMP, Attack, Proof, rows
from attacks.raw import RAW

GENERATOR = random.Random(7)
GENERATOR.random()
AFTER_SEED = GENERATOR.getrandbits(32)
ONCE = (POLICY, FRESH)
ATTACK = "\ndef attack():\n    pass\n"


def _stays(id: str, mechanism: str, source: str, after: str, stopped_by: tuple[str, ...] = ONCE) -> Attack:  # noqa: A002
    if "def attack" not in source:
        source += ATTACK
    return Attack(id, mechanism, Proof.STATE, source, stopped_by, after=after)


ATTACKS = (
    *rows(
        _stays,
        """
=== patched-builtin: a builtin function is replaced
import builtins
builtins.len = lambda x: 0
---
def probe():
    return len('abc')
=== patched-numpy: a function of numpy, which is loaded once for many checks, is replaced
import numpy
numpy.sum = lambda values: 0
---
import numpy
def probe():
    return int(numpy.sum([1, 2]))
=== written-numpy: memory that numpy shares with every child is written to
import numpy
numpy.core.numerictypes.sctypeDict.clear()
numpy.set_printoptions(precision=1)
---
import numpy
def probe():
    return repr(numpy.array([1.23456]))
=== patched-table: a table of the standard library that every caller shares gets another entry
import mimetypes
mimetypes.add_type('text/x-planted', '.html')
---
import mimetypes
def probe():
    return mimetypes.guess_type('a.html')[0]
=== patched-mail: a class that other modules of its package subclass is changed
import email.message
email.message.Message.get = lambda self, name, failobj=None: 'planted'
---
from email.message import EmailMessage
def probe():
    return EmailMessage().get("To")
=== patched-class: a method of a shared class is replaced
import fractions
fractions.Fraction.__add__ = lambda a, b: 0
---
import fractions
def probe():
    return str(fractions.Fraction(1, 2) + fractions.Fraction(1, 2))
=== patched-function-code: the code of a library function is replaced through __code__
import textwrap
textwrap.dedent.__code__ = (lambda text: 'poisoned').__code__
---
import textwrap
def probe():
    return textwrap.dedent(' a')
=== changed-defaults: a library function's defaults are changed through __defaults__
import bisect, textwrap
textwrap.shorten.__defaults__ = None
textwrap.indent.__defaults__ = (lambda l: False,)
---
import textwrap
def probe():
    return textwrap.indent('a', '>')
=== regex-cache: the cache of compiled patterns is poisoned
import re
re.compile('a+')
for key in list(re._cache):
    re._cache[key] = re.compile('zzz')
---
import re
def probe():
    return bool(re.match('a+', 'aaa'))
=== decimal-context: the decimal context's precision is changed
import decimal
decimal.getcontext().prec = 2
decimal.DefaultContext.prec = 2
---
import decimal
def probe():
    return str(decimal.Decimal(1) / decimal.Decimal(3))
=== recursion-limit: the recursion limit is lowered
import sys
sys.setrecursionlimit(60)
---
def down(n):
    return 0 if n == 0 else 1 + down(n - 1)
def probe():
    try:
        return down(300)
    except RecursionError:
        return 'short'
=== environment: an environment variable is set
import os
os.environ['ATTACKED'] = '1'
---
import os
def probe():
    return os.environ.get('ATTACKED')
=== meta-path-finder: an import hook stays
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "no_such_module_here":
            import types
            sys.modules[name] = types.ModuleType(name)
            return None
sys.meta_path.insert(0, Finder())
---
import sys
def probe():
    return any(type(f).__module__ == 'candidate' for f in sys.meta_path)
=== collector-off: the garbage collector is switched off
import gc
gc.disable()
gc.set_threshold(0)
---
import gc
def probe():
    return gc.get_threshold() == (0, 0, 0) or gc.get_threshold()[0] == 0
=== codec-error-handler: the handler for text that cannot be encoded is replaced
import codecs
codecs.register_error('namereplace', lambda e: ('evil', e.end))
---
def probe():
    return 'ä'.encode('ascii', 'namereplace').decode()
=== codec-search-function: a codec search function stays
import codecs
codecs.register(lambda name: codecs.lookup('utf-8') if name == 'attacked' else None)
---
def probe():
    try:
        return 'x'.encode('attacked').decode()
    except LookupError:
        return 'unknown'
=== signal-handler: a signal handler stays
import signal
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
---
import signal
def probe():
    return int(signal.getsignal(signal.SIGUSR1))
=== trace-function: a profile function stays and sees the next check's frames
import sys
sys.setprofile(lambda *_: None)
---
import sys
def probe():
    return sys.getprofile() is None
=== audit-hook: an audit hook cannot be removed and refuses what the next check does
import sys
def hook(event, arguments):
    if event == "object.__getattr__" or event == "compile":
        raise RuntimeError("attacked")
sys.addaudithook(hook)
---
def probe():
    try:
        return eval('1+1')
    except RuntimeError:
        return 'attacked'
=== warning-filter: warnings become errors
import warnings
warnings.simplefilter('error')
---
import warnings
def probe():
    try:
        warnings.warn('x')
        return 'warned'
    except UserWarning:
        return 'raised'
=== copyreg-table: copyreg's table changes how a type is copied
import copyreg
copyreg.pickle(complex, lambda c: (complex, (0, 0)))
import copy
copy._copy_dispatch.pop(complex, 0)
copy._deepcopy_dispatch.pop(complex, 0)
---
import copy
def probe():
    return str(copy.deepcopy(1 + 2j))
=== abstract-registry: a type is registered with an abstract class
import collections.abc
collections.abc.Mapping.register(int)
---
import collections.abc
def probe():
    return isinstance(1, collections.abc.Mapping)
=== digit-limit: the limit on the digits of an integer's text is lowered
import sys
sys.set_int_max_str_digits(640)
---
def probe():
    try:
        return len(str(10 ** 2000))
    except ValueError:
        return 'refused'
=== open-descriptor: descriptors stay open and are inherited by the next check
import os
r, w = os.pipe()
os.write(w, b'attacked')
os.dup2(r, 60)
---
import os
def probe():
    try:
        return os.read(60, 8).decode()
    except OSError:
        return 'closed'
=== lowered-limit: resource limits are lowered for good
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))
---
import resource
def probe():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1] == 9
=== function-globals: a private helper is replaced through a function's __globals__
import fnmatch
fnmatch.translate.__globals__['_compile_pattern'] = lambda p: (lambda s: None)
---
import fnmatch
def probe():
    return fnmatch.fnmatchcase('abc', 'a*')
=== switch-interval: the interval between thread switches is changed
import sys
sys.setswitchinterval(100)
---
import sys
def probe():
    return sys.getswitchinterval()
=== module-path: the path that modules are found by is emptied
import sys
sys.path[:] = ['/attacked']
---
import sys
def probe():
    return '/attacked' in sys.path
=== display-hook: sys.stdout is replaced by an object of the attack
import sys
class Out:
    def write(self, text):
        return 0
    def flush(self):
        pass
sys.stdout = Out()
---
import sys
def probe():
    return type(sys.stdout).__name__ == 'Out'
=== shared-constant: the interpreter's one object for a small integer is changed through ctypes
import ctypes
ctypes.memmove(id(201) + 24, (9).to_bytes(4, 'little'), 4)
---
def probe():
    return str(sum([100, 101]))
""",
    ),
    *rows(
        _stays,
        """
=== poisoned-module: an entry of sys.modules is replaced
import sys, types
fake = types.ModuleType('math')
fake.sqrt = lambda x: 0.0
sys.modules['math'] = fake
---
import math
def probe():
    return math.sqrt(4.0)
=== patched-module: an attribute of a shared module is replaced
import math
math.sqrt = lambda x: 0.0
---
import math
def probe():
    return math.sqrt(4.0)
""",
        (POLICY, FACADE, FRESH),
    ),
    _stays(
        "random-state",
        "the shared random generator is seeded",
        "import random\nrandom.seed(7)\nrandom.random()",
        f"import random\ndef probe():\n    return random.getrandbits(32) == {AFTER_SEED}\n",
    ),
    _stays(
        "working-directory",
        "the working directory is changed",
        "import os\nos.chdir('/usr')",
        "import os\ndef probe():\n    return os.getcwd() == '/usr'\n",
        (POLICY, FRESH, SECCOMP, LANDLOCK),
    ),
    _stays(
        "file-mask",
        "the file mode mask is changed",
        "import os\nos.umask(0o777)",
        "import os\ndef probe():\n    return os.umask(0) == 0o777\n",
        (POLICY, FRESH, SECCOMP),
    ),
    _stays(
        "disk-note",
        "a file in a temporary directory passes a note to the next check",
        """
import tempfile, os
with open(tempfile.gettempdir() + '/attack-note', 'w') as f:
    f.write('note')""",
        """
import os, tempfile
def probe():
    path = tempfile.gettempdir() + '/attack-note'
"""
        """    try:
        text = open(path).read()
        os.unlink(path)
        return text
    except OSError:
        return 'nothing'
""",
        (POLICY, SECCOMP, LANDLOCK, NAMESPACES),
    ),
    _stays(
        "earlier-memory",
        "what an earlier check returned lies in freed memory that the next one inherits or shares",
        """
import os
kept = []
def attack():
    kept.append("-".join(["needle", "@TOKEN@"]))
    return kept[0]
""",
        RAW
        + """
import re
def readable(page):
    # a signal mask at a bad address is EFAULT, at a good one EINVAL for the odd request
    return syscall(SIGPROCMASK, 99, page, 0, 8) == -22
SIGPROCMASK = 14 if os.uname().machine == "x86_64" else 135
def probe():
    found = set()
    for start in (id(object()), id(bytes(5000)), id(C), id([0] * 1000)):
        start &= ~0xfff
        for page in range(start - (12 << 20), start + (12 << 20), 4096):
            if readable(page):
                found |= set(re.findall(rb"needl[e]-[0-9a-f]{16}", C.string_at(page, 4096)))
    return len(found)
""",
        (POLICY, FRESH),
    ),
)
