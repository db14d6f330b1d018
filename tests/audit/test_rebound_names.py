"""A right function whose name means something else to who imports its file passes at no entry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rebinding_forms import HONEST, POSSIBLE, REBOUND, RIGHT, honest, rebound

from codeguard.api import CodeGuard
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.cli import main
from codeguard.corpus.chunking import chunk_file
from codeguard.models import CheckReport, SourceFile, Trust, Verdict
from codeguard.ranking.defense import Candidate, DefenseManager
from codeguard.sandbox import Level, Sandbox
from codeguard.trust.manifest import build_manifest
from codeguard.trust.verified import VerifiedManifest, verify_unsigned

TRUSTED = chunk_file("ours/maths.py", RIGHT.encode())


@pytest.fixture(scope="module")
def checker() -> BehaviorChecker:
    sandbox = Sandbox(Level.L0, workers=1)
    if sandbox.level < Level.L2:
        pytest.skip(f"the sandbox reaches only {sandbox.level.name} here")
    return BehaviorChecker(SpecLibrary.load(shipped=False).with_trusted([TRUSTED], []), sandbox, seed=b"test")


@pytest.fixture
def manifest(tmp_path: Path) -> VerifiedManifest:
    chunks = [chunk.sha256 for chunk in TRUSTED.chunks]
    return verify_unsigned(build_manifest(tmp_path, [(TRUSTED.path, RIGHT.encode(), chunks)]))


def report_of(checker: BehaviorChecker, file: SourceFile) -> CheckReport:
    chunk = next(
        chunk for chunk in file.chunks if chunk.symbol == "factorial" and "result *= i" in chunk.text
    )
    return checker.check(chunk, file)


def trust_of(manifest: VerifiedManifest, path: str, text: str) -> tuple[Trust, float]:
    file = chunk_file(path, text.encode())
    chunk = next(chunk for chunk in file.chunks if chunk.symbol == "factorial")
    (judged,) = DefenseManager(manifest=manifest).apply([Candidate("one", chunk, file, 0.1)]).retained
    return judged.trust, judged.penalty


@pytest.mark.parametrize("form", REBOUND)
def test_no_report_passes_it(form: str, checker: BehaviorChecker) -> None:
    report = report_of(checker, chunk_file("theirs/maths.py", rebound(REBOUND[form]).encode()))
    assert report.verdict is not Verdict.PASS, report.reason
    if form in POSSIBLE:
        assert not report.false_claim
        assert not report.replaced


@pytest.mark.parametrize("form", [*HONEST.values(), "<right>\n\ndef other():\n    return 1\n"])
def test_an_honest_form_passes(form: str, checker: BehaviorChecker) -> None:
    report = report_of(checker, chunk_file("theirs/maths.py", honest(form).encode()))
    assert report.verdict is Verdict.PASS, report.reason


@pytest.mark.parametrize("form", REBOUND)
def test_it_earns_no_trust_under_any_path(form: str, manifest: VerifiedManifest) -> None:
    text = rebound(REBOUND[form])
    trust, penalty = trust_of(manifest, "theirs/maths.py", text)
    assert trust is Trust.UNLISTED  # no copy
    assert penalty > 0
    expected = Trust.UNLISTED if form in POSSIBLE else Trust.MODIFIED
    assert trust_of(manifest, TRUSTED.path, text)[0] is expected


@pytest.mark.parametrize(
    ("path", "text", "trust"),
    [
        (TRUSTED.path, RIGHT, Trust.TRUSTED),
        (TRUSTED.path, f"{RIGHT}\n\ndef other():\n    return 1\n", Trust.TRUSTED),
        ("theirs/maths.py", RIGHT, Trust.COPY),
        ("theirs/maths.py", f"import math\n\n\n{RIGHT}\n\nLIMIT = math.inf\n", Trust.COPY),
    ],
)
def test_the_text_that_an_importer_gets_keeps_its_trust(
    path: str, text: str, trust: Trust, manifest: VerifiedManifest
) -> None:
    assert trust_of(manifest, path, text)[0] is trust


@pytest.mark.parametrize(
    ("form", "certain"),
    [("assignment", True), ("module attribute", True), ("a decorator that changes it", False)],
)
def test_commands_and_the_api_do_not_pass_it(
    form: str, certain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    for name, text in (("ours", RIGHT), ("theirs", rebound(REBOUND[form]))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "maths.py").write_text(text)
    checked = CliRunner().invoke(main, ["check", "theirs/maths.py::factorial", "--against", "ours"])
    assert checked.exit_code == (1 if certain else 3), checked.output  # 3: nothing could be tested
    assert "verified" not in checked.output
    audited = CliRunner().invoke(main, ["audit", "theirs", "--trust", "ours", "--format", "json"])
    assert audited.exit_code == (1 if certain else 0), audited.output
    found = json.loads(audited.stdout)["findings"]
    assert any(item["rule"] == "behavior.replaced" for item in found) is certain
    with CodeGuard.open(tmp_path / ".codeguard", trust=["ours"]) as guard:
        guard.index(["ours", "theirs"])
        ranking = guard.query("factorial of n", k=3).ranking
        (one,) = (
            item
            for item in ranking
            if item.chunk.path == "theirs/maths.py" and item.chunk.symbol == "factorial"
        )
        assert one.trust is Trust.UNLISTED
        assert one.penalty > 0
        assert one.demoted is certain
