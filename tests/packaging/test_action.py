"""The GitHub Action does on this machine what it would do there: its steps are run as they stand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
CLEAN = "def add(a, b):\n    return a + b\n"
INSECURE = "import os\n\n\ndef run(request):\n    os.system('ls ' + request.args['x'])\n"
GIT = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b.c",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b.c",
}

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not shutil.which("bash") or not shutil.which("git"), reason="needs bash and git"),
]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **GIT}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "m.py").write_text(CLEAN)
    (folder / "old.py").write_text(INSECURE)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder, git(folder, "rev-parse", "HEAD")


def step(name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step's script as the runner does, started in the checkout."""
    (found,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
    return subprocess.run(
        [shutil.which("bash") or "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", found["run"]],
        cwd=folder,
        env={
            **os.environ,
            "GITHUB_WORKSPACE": str(folder),
            **dict.fromkeys(found.get("env", ()), ""),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def audit(repository: Path, runner: Path, **variables: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Run the step `Audit`; return its exit code, its outputs and the SARIF log."""
    output = runner / "output"
    environment = {"RUNNER_TEMP": str(runner), "GITHUB_OUTPUT": str(output)}
    chosen = {"FAIL_ON": ACTION["inputs"]["fail-on"]["default"], **variables}
    done = step("Audit", repository, **environment, **chosen)
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines()) if output.exists() else {}
    log = Path(outputs.get("sarif", os.devnull))
    assert outputs.get("exit-code", "2") == str(done.returncode), done.stderr
    text = log.read_text() if log.exists() else ""
    return done.returncode, outputs, json.loads(text) if text else {}


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """Return a runner's temporary folder, where the environment of these tests stands for the installed one."""
    folder = tmp_path / "runner"
    (folder / "codeguard").mkdir(parents=True)
    (folder / "codeguard" / "venv").symlink_to(sys.prefix)
    return folder


def found(log: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (result["ruleId"], result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for result in log["runs"][0]["results"]
        if result["level"] in ("warning", "error")
    }


@pytest.mark.slow
def test_a_pull_request_is_audited_in_what_it_changes(repository: tuple[Path, str], runner: Path) -> None:
    folder, base = repository
    (folder / "new $(touch hacked).py").write_text(INSECURE)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "two")
    code, outputs, log = audit(folder, runner, BASE=base)
    assert code == 1
    assert outputs["written"] == "true"
    assert found(log) == {("insecure.command-injection", "new%20%24%28touch%20hacked%29.py")}
    assert not (folder / "hacked").exists()


@pytest.mark.slow
def test_trust_is_that_of_before_the_pull_request(repository: tuple[Path, str], runner: Path) -> None:
    folder, base = repository
    (folder / "src" / "m.py").write_text(CLEAN.replace("a + b", "a - b") + INSECURE)
    git(folder, "commit", "-qam", "a change of trusted code")
    summary = runner / "summary.md"
    code, _, log = audit(folder, runner, BASE=base, TRUST="src\n", GITHUB_STEP_SUMMARY=str(summary))
    assert code == 1
    assert found(log) == {("insecure.command-injection", "src/m.py")}
    notes = {result["ruleId"] for result in log["runs"][0]["results"] if result["level"] == "note"}
    assert "change.behavior" in notes
    assert "### Changed behavior of trusted code" in summary.read_text()


@pytest.mark.slow
def test_nothing_changed_is_fine(repository: tuple[Path, str], runner: Path) -> None:
    folder, base = repository
    code, _, log = audit(folder, runner, BASE=base)
    assert (code, log["runs"][0]["results"]) == (0, [])


@pytest.mark.slow
def test_a_policy_is_that_of_before_the_pull_request(repository: tuple[Path, str], runner: Path) -> None:
    folder, _ = repository
    (folder / "policy.toml").write_text("")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "policy")
    base = git(folder, "rev-parse", "HEAD")
    (folder / "policy.toml").write_text('[levels]\n"insecure" = "off"\n')
    (folder / "new.py").write_text(INSECURE)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "switched off")
    code, _, log = audit(folder, runner, BASE=base, POLICY="policy.toml")
    assert (code, found(log)) == (1, {("insecure.command-injection", "new.py")})


@pytest.mark.slow
def test_named_paths_are_audited_on_any_event(repository: tuple[Path, str], runner: Path) -> None:
    code, _, log = audit(repository[0], runner, PATHS="src\nold.py\n")
    assert code == 1
    assert found(log) == {("insecure.command-injection", "old.py")}


@pytest.mark.slow
def test_an_error_of_the_audit_fails_the_job(repository: tuple[Path, str], runner: Path) -> None:
    code, outputs, _ = audit(repository[0], runner, PATHS="src", FAIL_ON="whatever")
    assert code == 2
    assert "written" not in outputs


def test_no_input_is_text_of_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("name", ["release.yml", "checks.yml"])
def test_workflows_have_no_more_rights_than_they_need(name: str) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())
    assert set(workflow["permissions"].values() if workflow["permissions"] else ()) <= {"read"}
    for job in workflow["jobs"].values():
        assert set(job.get("permissions", {})) <= {"contents", "id-token", "attestations"}
        assert job.get("permissions", {}).get("contents", "read") == "read"


def test_actions_in_the_documentation_are_those_of_the_workflows() -> None:
    pinned = re.compile(r"uses: (\S+@[0-9a-f]{40} # \S+)")
    workflows = "".join(path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    page = (ROOT / "docs" / "how-to" / "ci.md").read_text()
    assert re.findall(r"uses: (\S+)", page)[1:] == ["OWNER/codeguard@COMMIT"]
    assert len(pinned.findall(page)) == 1
    assert set(pinned.findall(page)) <= set(pinned.findall(workflows))


def test_the_list_of_components_is_the_lock(tmp_path: Path) -> None:
    (command,) = re.findall(r"^\t\$\(BIN\)/(cyclonedx-py .*)$", (ROOT / "Makefile").read_text(), re.M)
    made = tmp_path / "sbom.json"
    program, *words = command.replace("build/sbom.cdx.json", str(made)).split()
    subprocess.run(
        [Path(sys.executable).with_name(program), *words], cwd=ROOT, check=True, capture_output=True
    )
    listed = json.loads(made.read_text())
    lock = re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements-action.lock").read_text(), re.M)
    assert listed["metadata"]["component"]["name"] == "codeguard-rag"
    assert [(item["name"], item["version"]) for item in listed["components"]] == lock
    assert all(item["externalReferences"][0]["hashes"] for item in listed["components"])
