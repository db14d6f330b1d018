"""What counts as written by others: by the names and descriptions of parameters, by libraries, and part by part."""

from __future__ import annotations

import ast

import pytest
from test_insecure_pairs import serious

from codeguard.flow.outside import from_outside
from codeguard.flow.values import Origin, Reach

PARAMETERS = [
    ("def f(user_input, limit): ...", {"user_input"}),
    ("def f(upload_name): ...", {"upload_name"}),
    ("def f(name, base_dir):\n    'Return a file; name is asked for by the visitor.'", {"name"}),
    ("def f(tree, db):\n    'Show the replies that a subscriber submitted.'", {"tree"}),
    ("def save_upload(name, data): ...", {"name", "data"}),
    ("def f(name, value):\n    'Return the value under a name.'", set()),
    ("def f(user_agent, client, regex): ...", set()),
    ("def f(self, request_id): ...", set()),
]


@pytest.mark.parametrize(("text", "expected"), PARAMETERS)
def test_parameters_that_are_said_to_hold_what_others_write(text: str, expected: set[str]) -> None:
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert from_outside(function) == expected


OPENAI = "from openai import OpenAI\nclient = OpenAI()\n"
PAIRS = {
    "the answer of a language model": (
        OPENAI
        + "def f(text):\n    answer = client.responses.create(model='m', input=text)\n    exec(answer.output_text)\n",
        OPENAI
        + "def f(text):\n    answer = client.responses.create(model='m', input=text)\n    return answer.output_text\n",
    ),
    "a client that is given": (
        "def f(llm, text, db):\n    db.execute(llm.invoke(text).content)\n",
        "def f(llm, text, db):\n    db.execute('SELECT ?', (llm.invoke(text).content,))\n",
    ),
    "messages of a socket": (
        "import websockets\nasync def f(ws):\n    async for line in ws:\n        open('/srv/' + line)\n",
        "import websockets\nasync def f(names):\n    for line in names:\n        open('/srv/' + line)\n",
    ),
    "a callback of a queue": (
        "import json\ndef f(channel, method, properties, body):\n    open('/srv/' + json.loads(body)['n'])\n",
        "import json\ndef f(channel, method, settings, text):\n    open('/srv/' + json.loads(text)['n'])\n",
    ),
    "a column of text": (
        "from django.db import models\nfrom django.utils.safestring import mark_safe\n"
        "class Note(models.Model):\n"
        "    text = models.TextField()\n    def show(self):\n        return mark_safe(f'<p>{self.text}</p>')\n",
        "from django.db import models\nfrom django.utils.safestring import mark_safe\n"
        "class Note(models.Model):\n"
        "    text = models.IntegerField()\n    def show(self):\n"
        "        return mark_safe(f'<p>{self.text}</p>')\n",
    ),
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
