"""What counts as written by others: by libraries, and part by part."""

from __future__ import annotations

import pytest
from test_insecure_pairs import serious

from codeguard.flow.values import Origin, Reach

PAIRS = {
    "one part is checked, another is used": (
        "def f(sock):\n    verb, name = sock.recv(99).decode().split(' ')\n    if verb == 'GET':\n"
        "        open('/srv/' + name)\n",
        "def f(sock):\n    verb, name = sock.recv(99).decode().split(' ')\n    if name == 'index':\n"
        "        open('/srv/' + name)\n",
    ),
    "the common path of two parameters": (
        "import os, zipfile\ndef f(path, to):\n    for item in zipfile.ZipFile(path).infolist():\n"
        "        open(os.path.join(to, item.filename), 'wb')\n",
        "import os, zipfile\ndef f(path, to):\n    root = os.path.realpath(to)\n"
        "    for item in zipfile.ZipFile(path).infolist():\n"
        "        name = os.path.realpath(os.path.join(root, item.filename))\n"
        "        if os.path.commonpath([root, name]) != root:\n            raise ValueError\n"
        "        open(name, 'wb')\n",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_others_write_is_followed_and_what_the_code_says_is_not(name: str) -> None:
    followed, own = PAIRS[name]
    assert serious(followed)
    assert not serious(own)


def test_a_numbered_part_is_not_divided_again() -> None:
    """Rows that a loop builds of rows had parts of parts: 36 seconds of the processor for `difflib`."""
    rows = Origin(Reach.CALLER, "rows")
    assert rows.part(0).what == "rows[0]"
    assert rows.part(0).part(1) == rows.part(0)
    assert rows.part("name").part(1).what == "rows['name'][1]"


def test_a_check_of_a_type_without_the_type_stops_nothing() -> None:
    code = "import os\ndef f(name):\n    if isinstance(name):\n        os.system('ls ' + name)\n"
    assert serious(code)
