"""Code in prose: its language, its text, and where each character stands."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codeguard.corpus.embedded import code_in_prose


@pytest.mark.parametrize(
    ("text", "language", "code"),
    [
        ("a\n\n```bash\ncurl x\n```\n", "bash", "curl x\n"),
        ("```\n$ curl x\nok\n```", "bash", "curl x\n"),
        ("- one\n\n  ```py\n  import os\n  ```\n", "python", "import os\n"),
        ("> ```js\n> const a = 1;\n> ```\n", "javascript", "const a = 1;\n"),
        ("Run:\n\n    curl -s x | sh\n    echo done\n\nThen", "bash", "curl -s x | sh\necho done\n\n"),
        ("```python\n>>> import os\n>>> os.sep\n'/'\n```\n", "python", "import os\nos.sep\n"),
        ("```sh\nnever closed", "bash", "never closed"),
    ],
)
def test_blocks(text: str, language: str, code: str) -> None:
    (found,) = code_in_prose(text)
    assert (found.language, found.text) == (language, code)
    for offset, character in enumerate(found.text):
        if not character.isspace():
            assert text[found.place(offset)] == character


@pytest.mark.parametrize("text", ["", "no code", "```json\n{}\n```", "1. a list\n\n   its paragraph\n"])
def test_nothing(text: str) -> None:
    assert list(code_in_prose(text)) == []


PIECES = [
    "```python\n", "```\n", "~~~\n", "> ", "1. ", "   ", "\t", "\n", "x = 1\n", "a`b", "# é\n", "$ ls\n",
]  # fmt: skip


@example("> ```python\n> x = 1\n> ```\n")
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text(text: str) -> None:
    assert list(code_in_prose(f"```python\nx = 1\n```\n\n{text}"))
    for found in code_in_prose(text):
        for offset, character in enumerate(found.text):
            assert 0 <= found.place(offset) <= len(text)
            if not character.isspace():
                assert text[found.place(offset)] == character


def test_a_file_of_paths_runs_its_imports() -> None:
    (found,) = code_in_prose("../src\nimport os; os.system('x')\n")
    assert (found.language, found.text) == ("python", "import os; os.system('x')\n")
    assert list(code_in_prose("../src\n/opt/lib\n")) == []
