"""What looks like a test, an example or a script is as severe as anything else; what only tests use is milder."""

from __future__ import annotations

import pytest

from codeguard.analysis.rules import DetectorContext, load_file_signals
from codeguard.audit.findings import Finding
from codeguard.audit.inspection import own_modules
from codeguard.models import Severity
from experiments.benchmarks.audit_common import Inspector

INSPECTOR = Inspector(load_file_signals(), DetectorContext())
LOADS = "def load(request):\n    return pickle.loads(request.data)\n"
FLAW = f"import pickle\n\n\n{LOADS}"
TEST = "\n\ndef test_nothing():\n    assert True\n"


def seen(text: str, name: str = "m.py") -> tuple[Finding, ...]:
    return INSPECTOR.inspect(name, text.encode()).findings


def severity(text: str, rule: str = "insecure.unsafe-deserialisation", name: str = "m.py") -> Severity:
    return max((item.severity for item in seen(text, name) if item.rule == rule), default=Severity.INFO)


ASKED = FLAW.replace("load(request):", "test_load(request):\n    assert request")
FIXTURE = "import pytest\n" + FLAW.replace("def load", "@pytest.fixture\ndef load")
CASE = "import unittest\nimport pickle\n\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        {}\n\n    "
METHOD = "def load(self, request):\n        return pickle.loads(request.data)\n"
CALLED = "\n\ndef test_it():\n    assert load(None)\n"
COSTUMES = {
    "an import and a test": f"import pytest\n{FLAW}{TEST}",
    "many tests": f"import pytest\n{FLAW}" + "".join(TEST.replace("nothing", f"n{n}") for n in range(40)),
    "a case": FLAW + CASE.format("self.assertTrue(1)") + "pass\n",
    "a method of a case": CASE.format("self.assertTrue(1)") + METHOD,
    "the name of a test without an assertion": FLAW.replace("load(request)", "test_load(request)"),
    "a test that is a route": "from flask import Flask\n"
    + ASKED.replace("def test", "app = Flask(__name__)\n\n\n@app.route('/')\ndef test"),
    "a test that is called": f"{ASKED}\n\ndef serve(request):\n    return test_load(request)\n",
    "a test that is registered by its name": f"{ASKED}\n\nROUTES = {{'/': 'test_load'}}\n",
    "a fixture that no test asks for": f"{FIXTURE}{TEST}",
    "used by a test and by other code": f"{FLAW}{CALLED}\n\ndef serve(request):\n    return load(request)\n",
    "a main guard": f"{FLAW}\n\nif __name__ == '__main__':\n    load(None)\n",
    "words of examples": '"""An example for a demo, in documentation and fixtures."""\n'
    + FLAW.replace("def load", "def example"),
}
IN_TESTS = {
    "a test": ASKED,
    "a helper of tests": f"{FLAW}{CALLED}",
    "a helper of a helper": f"{FLAW}\n\ndef helper(request):\n    return load(request)\n"
    + CALLED.replace("load", "helper"),
    "a method of a case, called by its tests": CASE.format("self.assertTrue(self.load(1))") + METHOD,
    "a fixture that a test asks for": f"{FIXTURE}\n\ndef test_it(load):\n    assert load\n",
    "a function in a test": "import pickle\n\n\ndef test_it():\n    def load(request):\n"
    "        return pickle.loads(request.data)\n    assert load\n",
}


@pytest.mark.parametrize("text", COSTUMES.values(), ids=COSTUMES)
def test_a_costume_makes_nothing_milder(text: str) -> None:
    assert severity(text) >= Severity.MEDIUM


@pytest.mark.parametrize("text", IN_TESTS.values(), ids=IN_TESTS)
def test_what_only_tests_use_is_milder(text: str) -> None:
    assert severity(text) == Severity.LOW


@pytest.mark.parametrize(
    "name",
    ["tests/m.py", "testing/m.py", "examples/m.py", "docs/m.py", "test_m.py", "m.pyi", "demo/fixtures/m.py"],
)
def test_the_name_of_a_file_or_folder_decides_nothing(name: str) -> None:
    key = (
        "-----BEGIN PRIVATE KEY-----\n"
        + "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDF6YJcfxtffo7f\n" * 6
    )
    text = f'{FLAW}\nKEY = """{key}-----END PRIVATE KEY-----\n"""\n'
    plain = {(item.rule, item.severity, item.confidence) for item in seen(text)}
    assert {(item.rule, item.severity, item.confidence) for item in seen(text, name)} == plain


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("import os\nos.system('true')\n", True),
        ("import os\nif __name__ == '__main__':\n    os.system('true')\n", False),
        ("import os\nif __name__:\n    os.system('true')\n", True),
        ("import os\nif __name__ != '__main__':\n    os.system('true')\n", True),
        ("import os\nif __name__ == '__main__':\n    pass\nelse:\n    os.system('true')\n", True),
        ("import os\nif __name__ == '__main__' or True:\n    os.system('true')\n", True),
        ("import os, sys\nos.system('true')\nif False:\n    sys.exit()\n", True),
    ],
)
def test_only_the_main_guard_keeps_code_from_running_at_import(text: str, runs: bool) -> None:
    assert any(item.rule == "capabilities.import-effect" for item in seen(text)) is runs


PATCH = (
    "import ssl\n\n\nclass C:\n    def {}(self):\n        self._saved = ssl._create_default_https_context\n"
    "        ssl._create_default_https_context = {}\n"
)
BACK = "\n    def {}(self):\n        ssl._create_default_https_context = self._saved\n"


@pytest.mark.parametrize(
    ("text", "least"),
    [
        (PATCH.format("run", "ssl._create_unverified_context"), Severity.MEDIUM),
        (PATCH.format("run", "mine") + BACK.format("__exit__"), Severity.MEDIUM),
        (PATCH.format("run", "_original"), Severity.MEDIUM),  # a name says nothing of what it is bound to
    ],
)
def test_a_replaced_check_is_milder_where_its_context_puts_it_back(text: str, least: Severity) -> None:
    found = severity(text, "capabilities.tampered-verification")
    assert found == least if least is Severity.LOW else found >= least


def test_a_module_of_that_name_elsewhere_in_the_tree_is_another_one() -> None:
    (found,) = [item for item in seen("import reqeusts\n", "a/m.py") if item.rule == "imports.lookalike"]
    assert found.severity >= Severity.MEDIUM
    for names, milder in (
        (["a/reqeusts.py"], True),
        (["reqeusts/__init__.py"], True),
        (["src/reqeusts/__init__.py"], True),
        (["b/reqeusts.py"], False),
        (["a/vendor/reqeusts.py"], False),
    ):
        (after,) = own_modules([found], names)
        assert (after.severity is Severity.LOW) is milder
