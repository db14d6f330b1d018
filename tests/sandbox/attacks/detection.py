"""Test detection: a function that is right only where it is tested."""

from __future__ import annotations

from attacks.case import ADD_CALLS, POLICY, Attack, Proof, rows

# SECURITY.md promises nothing here: whoever may run code may look around. What is listed
# as residual is what unmodified bytecode can still tell; the restricted tier cannot look.
SEEN = (
    (
        "native",
        "unmodified bytecode can tell a sandbox from an application; other calls and other worlds are the answer",
    ),
)
NAMED = (("restricted", "ordinary code may ask what its module is called and how the program was started"),)


NOT_IMPORTED = (("imported", ""),)  # a module that is imported has what an import gives


def _detects(
    id: str,  # noqa: A002
    mechanism: str,
    setup: str,
    tested: str,
    also_restricted: bool = False,
    residual: tuple[tuple[str, str], ...] = SEEN,
) -> Attack:
    source = f"""
{setup}
def tested():
    try:
        return bool({tested})
    except Exception:
        return True
def add(a, b):
    return a + b if tested() else a - b
"""
    return Attack(
        id, mechanism, Proof.DETECT, source, (POLICY,), ADD_CALLS, residual=residual + NAMED * also_restricted
    )


ATTACKS = (
    *rows(
        _detects,
        """
=== module-name: __name__ is not what a program started by its user has

---
__name__ != '__main__'
=== program-arguments: sys.argv shows how the program was started
import sys
---
sys.argv != ['-c']
""",
        also_restricted=True,
    ),
    *rows(
        _detects,
        """
=== caller-frames: the stack is deeper than that of a program
import sys
---
sys._getframe(2).f_back
=== loaded-modules: modules are loaded that the code itself never asked for
import sys
---
'json' in sys.modules
=== interpreter-flags: sys.flags shows an isolated interpreter
import sys
---
sys.flags.isolated or sys.flags.no_site
=== standard-input: standard input is a file or a pipe of the harness
import os, stat
---
stat.S_ISREG(os.fstat(0).st_mode)
=== open-descriptors: more descriptors are open than three
import os
def there(descriptor):
    try:
        os.lseek(descriptor, 0, 1)
        return True
    except OSError as error:
        return error.errno != 9
---
any(there(descriptor) for descriptor in range(3, 256))
=== size-limit: a limit on resources is set that an application rarely has
import resource
---
resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
""",
    ),
    *rows(
        _detects,
        """
=== source-text: the code's own file name is not a file
import os
---
'<' in add.__code__.co_filename and add.__code__.co_filename != '<string>'
=== globals-shape: the module's globals lack what an import gives

---
not globals().get('__spec__') and not globals().get('__loader__')
""",
        residual=SEEN + NOT_IMPORTED,
    ),
)
