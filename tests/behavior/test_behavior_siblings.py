"""A function whose helper is in another untrusted file is judged together with it, as Python would run it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.audit.check import check_file
from codeguard.audit.run import AuditOptions, audit
from codeguard.behavior.matching.candidate import CandidateFunction, read_candidate
from codeguard.behavior.source.import_paths import MOST_MODULES, file_of, imports_in
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict import checker
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.corpus.chunking import chunk_file
from codeguard.index import behavior_reports
from codeguard.index.behavior_reports import ListedFiles, Siblings, checkable
from codeguard.index.workspace import Workspace
from codeguard.models import CheckReport, Coverage, SourceFile, Verdict
from codeguard.sandbox import Sandbox

TRUSTED = '''
def compare(a, b):
    """Compare two numbers."""
    return (a > b) - (a < b)


def smaller(a: int, b: int) -> int:
    """Return the smaller number.

    >>> smaller(3, 5)
    3
    >>> smaller(7, 2)
    2
    """
    return a if compare(a, b) < 0 else b
'''
IMPORTING = f"from .order import compare\n\n\n{TRUSTED[TRUSTED.index('def smaller') :]}"
RIGHT = "def compare(a, b):\n    return (a > b) - (a < b)\n"
WRONG = "def compare(a, b):\n    return (a < b) - (a > b)\n"
HELPER = "HELPER"  # stands for the right or the wrong helper
SHAPES: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "relative": ("from ._util import compare", "compare", {"p/_util.py": HELPER}),
    "absolute": ("from p._util import compare", "compare", {"p/__init__.py": "", "p/_util.py": HELPER}),
    "of a namespace": ("from p._util import compare", "compare", {"p/_util.py": HELPER}),
    "beside a script": ("from _util import compare", "compare", {"p/_util.py": HELPER}),
    "under another name": ("from ._util import compare as c", "c", {"p/_util.py": HELPER}),
    "in parentheses": (
        "from ._util import (  # (see there)\n    compare,\n)",
        "compare",
        {"p/_util.py": HELPER},
    ),
    "on two lines": ("from ._util \\\n    import compare", "compare", {"p/_util.py": HELPER}),
    "a module": ("from . import _util", "_util.compare", {"p/__init__.py": "", "p/_util.py": HELPER}),
    "a module by its dotted name": (
        "import p._util",
        "p._util.compare",
        {"p/__init__.py": "", "p/_util.py": HELPER},
    ),
    "a module under a name": (
        "import p._util as u",
        "u.compare",
        {"p/__init__.py": "", "p/_util.py": HELPER},
    ),
    "everything": ("from ._util import *", "compare", {"p/_util.py": HELPER}),
    "handed on by a package": (
        "from .sub import compare",
        "compare",
        {"p/sub/__init__.py": "from ._u import compare\n", "p/sub/_u.py": HELPER},
    ),
    "handed on with everything": (
        "from .sub import compare",
        "compare",
        {"p/sub/__init__.py": "from ._u import *\n", "p/sub/_u.py": HELPER},
    ),
    "of the package above": ("from ..q import compare", "compare", {"q.py": HELPER}),
    "a package before a file of its name": (
        "from ._util import compare",
        "compare",
        {"p/_util/__init__.py": HELPER, "p/_util.py": RIGHT},
    ),
    "a method of a class": (
        "from ._util import Order",
        "Order().compare",
        {"p/_util.py": f"class Order:\n    @staticmethod\n    {HELPER}"},
    ),
    "a file that imports the candidate's": (
        "from ._util import compare",
        "compare",
        {"p/_util.py": f"from . import a\n{HELPER}"},
    ),
    "two helpers of one name": (
        "from ._util import compare\nfrom ._other import noise\n\nnoise(1)",
        "compare",
        {
            "p/_util.py": "from ._c import _inner\n\ndef compare(a, b):\n    return _inner(a, b)\n",
            "p/_c.py": HELPER.replace("HELPER", "HELPER_INNER"),
            "p/_other.py": RIGHT.replace("compare", "_inner") + "\ndef noise(a):\n    return _inner(a, a)\n",
        },
    ),
    "a helper named as a builtin that the candidate uses": (
        "from ._util import compare",
        "compare",
        {"p/_util.py": f"def int(value):\n    return 0\n\n{HELPER}"},
    ),
    "a name made when it is imported": (
        "from ._util import order",
        "order",
        {"p/_util.py": f"{HELPER}\nglobals()['or' + 'der'] = compare\ndel compare\n"},
    ),
    "in a circle": (
        "from . import _util",
        "_util.compare",
        {"p/__init__.py": "from .a import smaller\n", "p/_util.py": f"import p.a\n{HELPER}"},
    ),
    "a class derived from one": (
        "from ._util import Order\n\n\nclass Own(Order):\n    pass",
        "Own().compare",
        {"p/_util.py": f"class Order:\n    @staticmethod\n    {HELPER}"},
    ),
    "beside a package that is not to be had": (
        "from ._util import compare",
        "compare",
        {
            "p/_util.py": f"import absent\nfrom absent.part import Base\n\nclass A(Base):\n    pass\n\n{HELPER}"
        },
    ),
    "imported in the function": (
        "",
        "compare",
        {"p/_util.py": HELPER},
    ),
}


def candidate(imports: str, call: str) -> str:
    inside = "" if imports else "    from ._util import compare\n"
    text = f'def smaller(a: int, b: int) -> int:\n    """Return the smaller number."""\n{inside}'
    return f"{imports}\n\n\n{text}    return a if {call}(a, int(b)) < 0 else b\n"


def completed(text: str, helper: str) -> str:
    indented = helper.replace("\n    ", "\n        ")
    text = text.replace("HELPER_INNER", helper.replace("compare", "_inner"))
    return text.replace(f"    {HELPER}", f"    {indented}").replace(HELPER, helper)


def chunked(files: Mapping[str, str]) -> dict[str, SourceFile]:
    return {path: chunk_file(path, text.encode()) for path, text in files.items()}


def with_siblings(files: Mapping[str, str], trusted: Mapping[str, str] | None = None) -> SourceFile:
    given = chunked(trusted or {})
    made = {**given, **chunked(files)}
    listed = ListedFiles(made.values(), lambda path, _: made[path] is given.get(path))
    return Siblings(listed).beside(made["p/a.py"])


@pytest.fixture
def judge(sandbox: Sandbox) -> Callable[..., CheckReport]:
    def run(
        files: Mapping[str, str], trusted: str = TRUSTED, *, listed: Mapping[str, str] | None = None
    ) -> CheckReport:
        given = listed or {"lib/numbers.py": trusted}
        library = SpecLibrary.load(shipped=False).with_trusted(chunked(given).values())
        file = with_siblings(files, listed)
        chunk = next(item for item in file.chunks if item.symbol == "smaller")
        return BehaviorChecker(library, sandbox, seed=b"test").check(chunk, file)

    return run


@pytest.mark.parametrize("shape", SHAPES)
def test_a_poisoned_helper_in_another_file_convicts_and_a_right_one_earns_no_bonus(
    judge: Callable[..., CheckReport], shape: str
) -> None:
    imports, call, others = SHAPES[shape]

    def files(helper: str) -> dict[str, str]:
        made = {path: completed(text, helper) for path, text in others.items()}
        return {**made, "p/a.py": candidate(imports, call)}

    wrong, right = judge(files(WRONG)), judge(files(RIGHT))
    assert wrong.verdict is Verdict.FAIL, wrong
    assert (right.verdict, right.coverage) == (Verdict.PASS, Coverage.PARTIAL), right


def test_a_constant_of_another_file_counts(judge: Callable[..., CheckReport]) -> None:
    code = candidate("from ._limits import SIGN", "SIGN * (lambda a, b: (a > b) - (a < b))")
    code = code.replace("SIGN * (lambda a, b: (a > b) - (a < b))(a, int(b))", "SIGN * ((a > b) - (a < b))")
    assert judge({"p/a.py": code, "p/_limits.py": "SIGN = -1\n"}).verdict is Verdict.FAIL
    assert judge({"p/a.py": code, "p/_limits.py": "SIGN = 1\n"}).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("does", "verdict"),
    [
        ("if a == 'module':\n        return importlib.import_module(b)\n    ", Verdict.PASS),
        ("try:\n        open('/etc/passwd')\n    except OSError:\n        pass\n    ", Verdict.VIOLATION),
    ],
    ids=["may", "does"],
)
def test_what_another_file_may_do_convicts_only_where_a_run_shows_it(
    judge: Callable[..., CheckReport], does: str, verdict: Verdict
) -> None:
    helper = f"import importlib\n{RIGHT.replace('return', f'{does}return')}"
    code = candidate("from ._util import compare", "compare")
    report = judge({"p/a.py": code, "p/_util.py": helper})
    assert (report.verdict, report.coverage) == (verdict, Coverage.PARTIAL), report


def test_a_trusted_file_of_the_candidates_own_package_is_the_one_at_its_place(
    judge: Callable[..., CheckReport],
) -> None:
    code = {"p/a.py": candidate("from ._util import compare", "compare")}
    listed = {"lib/numbers.py": TRUSTED, "p/_util.py": WRONG, "q/_util.py": RIGHT}
    assert judge(code, listed=listed).verdict is Verdict.FAIL


def test_the_own_package_shadows_a_trusted_one_of_its_name(judge: Callable[..., CheckReport]) -> None:
    code = {"p/a.py": candidate("from numbers_lib.order import compare", "compare")}
    listed = {"lib/numbers_lib/order.py": RIGHT, "lib/numbers.py": TRUSTED}
    beside = {"p/numbers_lib/__init__.py": "", "p/numbers_lib/order.py": WRONG}
    assert judge(code, listed=listed).verdict is Verdict.PASS
    assert judge({**code, **beside}, listed=listed).verdict is Verdict.FAIL


def test_what_two_folders_offer_is_taken_from_neither(judge: Callable[..., CheckReport]) -> None:
    files = {
        "p/a.py": candidate("from util.order import compare", "compare"),
        "p/util/order.py": RIGHT,
        "util/order.py": WRONG,
    }
    assert judge(files).verdict is Verdict.NO_SIGNAL


def test_a_package_does_not_shadow_the_standard_library(judge: Callable[..., CheckReport]) -> None:
    order = "from functools import reduce\n\n\ndef compare(a, b):\n    return reduce(lambda x, y: x - y, [a, b])\n"
    files = {
        "p/__init__.py": "",
        "p/functools.py": "def reduce(function, items):\n    return -1\n",
        "p/_util.py": order,
        "p/a.py": candidate("from ._util import compare", "compare"),
    }
    assert judge(files).verdict is Verdict.PASS
    del files["p/__init__.py"]
    assert judge(files).verdict is Verdict.PASS


def test_no_trusted_function_takes_anything_from_an_untrusted_file(judge: Callable[..., CheckReport]) -> None:
    trusted = TRUSTED.replace(
        'def compare(a, b):\n    """Compare two numbers."""\n    return (a > b) - (a < b)\n',
        "from ._util import compare\n",
    )
    files = {"p/a.py": candidate("from ._util import compare", "compare"), "p/_util.py": WRONG}
    for helper in ({"p/_util.py": RIGHT}, {}):
        assert judge(files, listed={"p/numbers.py": trusted, **helper}).verdict is Verdict.FAIL


@pytest.mark.parametrize(("helper", "passes"), [(RIGHT, True), (WRONG, False)])
def test_the_text_of_a_trusted_function_passes_only_with_what_that_imports(
    judge: Callable[..., CheckReport], helper: str, passes: bool
) -> None:
    listed = {"lib/a.py": IMPORTING, "lib/order.py": RIGHT}
    report = judge({"p/a.py": IMPORTING, "p/order.py": helper}, listed=listed)
    assert (report.verdict is Verdict.PASS) is passes, report


def test_what_a_candidate_does_to_modules_changes_nothing_for_the_trusted_function(
    judge: Callable[..., CheckReport],
) -> None:
    act = "import sys\nfrom . import order\norder.compare = lambda a, b: 0\nsys.meta_path.clear()\n"
    wrong = IMPORTING.replace("def smaller", f"{act}\ndef smaller").replace("a, b) < 0", "a, b) <= -1")
    listed = {"lib/p/a.py": IMPORTING, "lib/p/order.py": RIGHT}
    report = judge({"p/a.py": wrong, "p/order.py": WRONG}, listed=listed)
    assert report.verdict in (Verdict.DIVERGES, Verdict.FAIL), report
    assert report.tier == "imported"


def test_a_right_alternative_where_the_import_fails_earns_no_bonus(
    judge: Callable[..., CheckReport],
) -> None:
    alternative = RIGHT.replace("\n", "\n    ")
    guarded = f"try:\n    from ._util import compare\nexcept ImportError:\n    {alternative}"
    files = {"p/a.py": candidate(guarded, "compare"), "p/_util.py": WRONG}
    assert judge(files).coverage is Coverage.PARTIAL


@pytest.mark.parametrize(
    "sibling",
    ["def broken(:\n", "compare = [" + "[" * 5_000, "", "def other():\n    pass\n", "x = 1\n" * 200_000],
    ids=["broken", "nested", "empty", "without the name", "huge"],
)
def test_where_the_other_file_gives_nothing_all_stays_as_it_was(
    judge: Callable[..., CheckReport], sibling: str
) -> None:
    files = {"p/a.py": candidate("from ._util import compare", "compare")}
    alone, beside = judge(files), judge({**files, "p/_util.py": sibling})
    assert (alone.verdict, beside.verdict) == (Verdict.NO_SIGNAL, Verdict.NO_SIGNAL)


def test_many_and_long_files_are_imported(judge: Callable[..., CheckReport]) -> None:
    chain = {f"p/_m{at}.py": f"from ._m{at + 1} import compare\n" for at in range(60)}
    files = {"p/a.py": candidate("from ._m0 import compare", "compare"), **chain}
    for helper, verdict in ((WRONG, Verdict.FAIL), (RIGHT, Verdict.PASS)):
        assert judge({**files, "p/_m60.py": helper + "#" * 300_000}).verdict is verdict


def test_what_is_only_read_when_a_package_is_imported_convicts_no_function(
    judge: Callable[..., CheckReport],
) -> None:
    files = {"p/a.py": candidate("from ._util import compare", "compare"), "p/_util.py": RIGHT}
    reading = "import os\n\nMODE = os.environ.get('MODE')\n"
    assert judge({**files, "p/__init__.py": reading}).verdict is Verdict.PASS
    called = RIGHT.replace("    return", "    os.environ.get('MODE')\n    return")
    assert judge({**files, "p/_util.py": f"import os\n\n\n{called}"}).verdict is Verdict.VIOLATION


def test_many_hostile_files_cost_a_bounded_amount() -> None:
    count = 10_000
    everything = "".join(f"from ._m{number} import *\n" for number in range(count))
    files = {f"p/_m{number}.py": f"from ._m{(number * 7 + 1) % count} import *\n" for number in range(count)}
    files["p/_m1.py"] = everything
    made = chunked({"p/a.py": candidate(everything, "compare")})
    made |= {path: SourceFile(path, text, path, "python", ()) for path, text in files.items()}
    begun = time.process_time()
    file = Siblings(ListedFiles(made.values())).beside(made["p/a.py"])
    found = read_candidate(next(item for item in file.chunks if item.symbol == "smaller"), file)
    assert isinstance(found, CandidateFunction)
    assert found.usable is None or "compare" not in found.usable.borrowed
    assert len(file.siblings) <= MOST_MODULES
    assert time.process_time() - begun < 5


def test_a_file_whose_imports_take_too_long_is_judged_without_them(
    judge: Callable[..., CheckReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"p/a.py": candidate("from ._util import compare", "compare"), "p/_util.py": WRONG}
    assert judge(files).verdict is Verdict.FAIL
    monkeypatch.setattr(checker, "BESIDE_S", -1.0)
    assert judge(files).verdict is Verdict.NO_SIGNAL


def test_deep_folders_and_long_names_cost_few_lookups() -> None:
    asked: list[str] = []

    def has(path: str) -> bool:
        asked.append(path)
        return False

    for folders, parts in ((16, 12), (60, 12), (60, 100), (1_000, 12)):
        asked.clear()
        assert file_of(["a"] * parts, 0, "d/" * folders + "x.py", has) == ""
        assert len(asked) < 500, (folders, parts)


@pytest.mark.parametrize("names", ["(" + "#a" * 5_000, "(" + "a, " * 5_000, "(#\n" * 5_000, "(" * 5_000])
def test_brackets_that_nothing_closes_are_read_once(names: str) -> None:
    begun = time.process_time()
    assert len(list(imports_in(f"from a import {names}\nimport b\n"))) == 2
    assert time.process_time() - begun < 2


def test_the_same_text_at_another_place_takes_what_is_there(sandbox: Sandbox) -> None:
    code = candidate("from ._util import compare", "compare")
    library = SpecLibrary.load(shipped=False).with_trusted(chunked({"lib/numbers.py": TRUSTED}).values())
    made = BehaviorChecker(library, sandbox, seed=b"test")
    verdicts = []
    for helper in (RIGHT, WRONG, RIGHT):
        file = with_siblings({"p/a.py": code, "p/_util.py": helper})
        verdicts.append(made.check(file.chunks[-1], file).verdict)
    assert verdicts == [Verdict.PASS, Verdict.FAIL, Verdict.PASS]


def reports_of(workspace: Workspace) -> dict[str, Verdict]:
    reports = workspace.reports(known_only=True)  # the kept ones alone
    file = workspace.catalog.file("theirs/p/a.py")
    assert file is not None
    return {chunk.symbol: reports(chunk, file).verdict for chunk in filter(checkable, file.chunks)}


def test_index_query_audit_and_check_agree_and_judge_again_when_the_other_file_changes(
    tmp_path: Path,
) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "ours").mkdir(parents=True)
    (corpus / "theirs/p").mkdir(parents=True)
    (corpus / "ours/numbers.py").write_text(TRUSTED)
    (corpus / "theirs/p/a.py").write_text(candidate("from ._util import compare", "compare"))
    settings = lexical_settings(corpus, tmp_path / "state")
    for helper, verdict in ((RIGHT, Verdict.PASS), (WRONG, Verdict.FAIL), (RIGHT, Verdict.PASS)):
        (corpus / "theirs/p/_util.py").write_text(helper)
        with CodeGuard.open(settings=settings, trust=[corpus / "ours"]) as guard:
            report = guard.index([corpus])
            ranking = guard.query("smaller number", k=3).ranking
        with CodeGuard.open(settings=settings) as guard:  # what the index trusts
            findings = guard.audit([corpus / "theirs"], AuditOptions(behavior=True)).findings
            alone = guard.audit([corpus / "theirs/p/a.py"], AuditOptions(behavior=True)).findings
        convicted = {item.symbol for item in report.convicted}
        assert convicted == ({"smaller", "compare"} if verdict is Verdict.FAIL else set())
        assert {item.verdict for item in ranking if item.chunk.symbol == "smaller"} >= {verdict}
        for found in (findings, alone):
            assert any(item.rule.startswith("behavior.fail") for item in found) == bool(convicted)
        with closing(Workspace(settings)) as workspace:
            assert reports_of(workspace) == {"smaller": verdict}
        (checked,) = check_file(corpus / "theirs/p/a.py", against=[corpus / "ours"], settings=settings)
        assert checked.report.verdict is verdict


def test_a_change_of_an_imported_file_leaves_what_does_not_depend_on_it(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/a.py").write_text(
        "from ._util import compare\n\ndef same(a, b):\n    return not compare(a, b)\n"
    )
    checked = []
    for helper in (RIGHT, RIGHT, RIGHT + "# a comment\n", WRONG):
        (tmp_path / "p/_util.py").write_text(helper)
        with CodeGuard.open(settings=lexical_settings(tmp_path, tmp_path / "state")) as guard:
            checked.append(guard.index([tmp_path / "p"]).checked)
    assert checked == [
        2,
        0,
        1,
        1,
    ]  # nothing is trusted, so no function is compared, or run with what it imports


def test_a_file_that_was_too_large_counts_once_it_is_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 5_000
    monkeypatch.setattr(behavior_reports, "MOST_CHARACTERS", most)
    corpus = tmp_path / "corpus"
    (corpus / "ours").mkdir(parents=True)
    (corpus / "theirs/p").mkdir(parents=True)
    (corpus / "ours/numbers.py").write_text(TRUSTED)
    (corpus / "ours/_util.py").write_text(RIGHT)  # never taken for the one that is too large
    (corpus / "theirs/p/a.py").write_text(candidate("from ._util import compare", "compare"))
    settings = lexical_settings(corpus, tmp_path / "state")
    for size, verdict in ((most, Verdict.NO_SIGNAL), (0, Verdict.FAIL), (most, Verdict.NO_SIGNAL)):
        (corpus / "theirs/p/_util.py").write_text(WRONG + "#" * size)
        with CodeGuard.open(settings=settings, trust=[corpus / "ours"]) as guard:
            guard.index([corpus])
        with closing(Workspace(settings)) as workspace:
            assert reports_of(workspace) == {"smaller": verdict}


def test_check_reads_only_regular_files_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/_util.py").write_text(WRONG)
    (tmp_path / "_util.py").write_text(WRONG)
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (tmp_path / "trusted.py").write_text(TRUSTED)
    settings = lexical_settings(tmp_path, tmp_path / "state")

    def checked(imports: str, path: Path) -> Verdict:
        (package / "a.py").write_text(candidate(imports, "compare"))
        (found,) = check_file(path, against=[tmp_path / "trusted.py"], settings=settings)
        return found.report.verdict

    monkeypatch.chdir(tmp_path / "elsewhere")  # what lies here means nothing to a file elsewhere
    assert checked("from _util import compare", package / "a.py") is Verdict.FAIL  # beside the package
    (tmp_path / "_util.py").unlink()
    assert checked("from _util import compare", package / "a.py") is Verdict.NO_SIGNAL
    (package / "_util.py").symlink_to(tmp_path / "elsewhere/_util.py")
    assert checked("from ._util import compare", package / "a.py") is Verdict.NO_SIGNAL
    (package / "_util.py").unlink()
    (package / "_util.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    assert checked("from ._util import compare", Path("p/a.py")) is Verdict.FAIL


@pytest.mark.parametrize("indexed", [True, False])
def test_an_audit_of_one_file_takes_what_it_imports_from_the_disk(tmp_path: Path, indexed: bool) -> None:
    """Hooks name only the changed files, and an index may be older than the files."""
    corpus = tmp_path / "corpus"
    (corpus / "ours").mkdir(parents=True)
    (corpus / "theirs/p").mkdir(parents=True)
    (corpus / "ours/numbers.py").write_text(TRUSTED)
    (corpus / "theirs/p/a.py").write_text(candidate("from ._util import compare", "compare"))
    helper = corpus / "theirs/p/_util.py"
    settings = lexical_settings(corpus, tmp_path / "state")
    if indexed:
        helper.write_text(RIGHT)
        with CodeGuard.open(settings=settings, trust=[corpus / "ours"]) as guard:
            guard.index([corpus])

    def convicts() -> bool:
        options = AuditOptions(trust=() if indexed else (corpus / "ours",))
        found = audit([corpus / "theirs/p/a.py"], options, settings).findings
        return any(item.rule == "behavior.fail" for item in found)

    helper.write_text(WRONG)
    assert convicts()
    helper.write_text(RIGHT)
    assert not convicts()
    helper.unlink()
    helper.symlink_to(tmp_path / "wrong.py")
    (tmp_path / "wrong.py").write_text(WRONG)
    assert not convicts()
