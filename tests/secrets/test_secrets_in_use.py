"""Secrets in an index, an audit and every output: what is withheld, what is said of it, what still works."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from in_process import codeguard
from secret_samples import Values, lines_of_key, private_key

from codeguard.api import CodeGuard
from codeguard.audit.findings import AuditReport
from codeguard.audit.rules import RuleSelection
from codeguard.audit.run import AuditOptions, audit
from codeguard.config import Settings, load_settings
from codeguard.errors import ConfigError, StoreError
from codeguard.models import Severity, Trust, Verdict
from codeguard.reports.index import index_json

pytestmark = pytest.mark.ci

VALUES = Values(20)
TOKEN = "ghp_" + VALUES.alnum(36)
PASSWORD = VALUES.password()
KEY = private_key("rsa")
SECRETS = (TOKEN, PASSWORD, *lines_of_key(KEY))
OURS = f'''"""Ours."""
TOKEN = "{TOKEN}"


def stones(n):
    """Return the number of stones in a stair of n steps.

    >>> stones(3)
    6
    >>> stones(5)
    15
    """
    return 0 if n < 1 else n + stones(n - 1)


def login(session):
    """Log in to the database with the secret password."""
    session.headers["Authorization"] = "token {TOKEN}"
    return session
'''
WRONG = (
    'def stones(n):\n    """Return the number of stones in a stair of n steps."""\n'
    "    return 0 if n < 1 else n + stones(n - 2)\n"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "ours/maths.py": OURS,
        "theirs/maths.py": WRONG,
        "theirs/.env": f"DB_PASSWORD={PASSWORD}\n",
        "theirs/deploy_key": KEY,
        "theirs/values.yml": f"db:\n  password: {PASSWORD}\n",
        "theirs/notes.md": f"# Notes\n\nThe database password:\n\n```\npassword: {PASSWORD}\n```\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def settings(**changes: object) -> Settings:
    return load_settings().replace(embedding="lexical", **changes)


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def assert_nowhere(text: str) -> None:
    for secret in SECRETS:
        assert secret not in text
        assert json.dumps(secret)[1:-1] not in text


def test_the_issue_a_folder_with_settings_and_a_key_is_found_and_not_served(project: Path) -> None:
    done = codeguard("audit", "theirs/.env", "theirs/deploy_key", "--format", "json", cwd=project)
    assert done.returncode == 1
    rules = {item["path"]: item["rule"] for item in json.loads(done.stdout)["findings"]}
    assert rules == {"theirs/.env": "secrets.assigned-secret", "theirs/deploy_key": "secrets.private-key"}
    done = codeguard("index", "theirs", "--embedding", "lexical", "--format", "json", cwd=project)
    assert done.returncode == 0, done.stderr
    reasons = {item["path"]: item["reason"] for item in json.loads(done.stdout)["skipped"]}
    assert reasons == {
        "theirs/.env": "a secret by its name (secrets.environment-file)",
        "theirs/deploy_key": "a private key (secrets.private-key)",
    }
    done = codeguard("query", "DB password secret key", "--format", "json", cwd=project)
    shown = json.loads(done.stdout)
    assert {item["path"] for item in shown["ranking"]} & set(reasons) == set()
    assert_nowhere(done.stdout)


def test_only_the_chunk_is_withheld_and_trusted_functions_around_it_work(project: Path) -> None:
    with CodeGuard.open(settings=settings(), trust=["ours"]) as guard:
        report = guard.index(["theirs"])
        assert {(item.path, item.rules, item.withheld) for item in report.secrets} == {
            ("ours/maths.py", ("service-token",), True),
            ("theirs/values.yml", ("assigned-secret",), True),
            ("theirs/notes.md", ("assigned-secret",), True),
        }
        assert len([item for item in report.secrets if item.path == "ours/maths.py"]) == 2
        assert_nowhere(json.dumps(index_json(report)))
        ranking = guard.query("number of stones in a stair", k=9)
        by_path = {item.chunk.path: item for item in ranking.ranking if item.chunk.symbol == "stones"}
        assert by_path["ours/maths.py"].trust is Trust.TRUSTED
        assert by_path["theirs/maths.py"].verdict in (Verdict.FAIL, Verdict.DIVERGES, Verdict.UNSUPPORTED)
        if guard.workspace.catalog.meta("sandbox_level") in ("L2", "L3"):
            assert by_path["theirs/maths.py"].convicted
        assert [file.path for file in guard.workspace.trusted_files()] == ["ours/maths.py"]
        manifest = guard.workspace.manifest
        assert manifest is not None
        assert manifest.covers("ours/maths.py", guard.catalog.files()["ours/maths.py"].sha256)


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_a_withheld_chunk_is_found_by_nothing(project: Path, weight: float) -> None:
    with CodeGuard.open(settings=settings(lexical_weight=weight), trust=["ours"]) as guard:
        guard.index(["theirs"])
        for question in ("log in to the database", "secret password", "token", "DB password"):
            found = guard.query(question, k=20).ranking
            assert not [item for item in found if item.chunk.withheld or item.chunk.symbol == "login"]
            assert not set(guard.catalog.lexical_scores(question, 50)) & {
                id_ for id_, chunk in guard.catalog.chunks_of("ours/maths.py").items() if chunk.withheld
            }


@pytest.mark.parametrize("include", [False, True])
def test_no_secret_is_written_anywhere(project: Path, include: bool) -> None:
    with CodeGuard.open(settings=settings(include_secrets=include), trust=["ours"]) as guard:
        guard.index(["theirs"])
        guard.query("password of the database", k=9)
    data = written(project / ".codeguard")
    for secret in SECRETS:
        assert secret.encode() not in data


def test_included_secrets_are_indexed_and_masked_in_every_output(project: Path) -> None:
    done = codeguard(
        "index", "theirs", "--trust", "ours", "--include-secrets", "--embedding", "lexical", cwd=project
    )
    assert done.returncode == 0, done.stderr
    assert_nowhere(done.stdout)
    done = codeguard("query", "database password", "-k", "9", "--format", "json", cwd=project)
    results = {item["path"]: item for item in json.loads(done.stdout)["results"]}
    assert results["theirs/values.yml"]["masked"] is True
    assert results["theirs/.env"]["text"] == "DB_PASSWORD=" + "*" * len(PASSWORD) + "\n"
    assert "secrets are masked in" in json.loads(done.stdout)["warnings"][-1]
    assert_nowhere(done.stdout)
    (project / "queries").write_text("database password\nprivate key\n")
    for words in (
        ("query", "database password"),
        ("query", "database password", "--explain"),
        ("query", "--batch", "queries"),
        ("query", "database password", "--no-defense", "--format", "json"),
        ("store", "verify"),
        ("check", "ours/maths.py"),
        ("audit", "ours", "theirs"),
        ("audit", "ours", "theirs", "--format", "json"),
        ("audit", "ours", "theirs", "--format", "sarif"),
        ("audit", "ours", "theirs", "--format", "github"),
        ("index", f"no-{TOKEN}"),
        ("query", TOKEN),
    ):
        done = codeguard(*words, cwd=project)
        assert_nowhere(done.stdout + done.stderr)
        assert "internal error" not in done.stderr, words


def test_the_choice_can_be_changed_and_changed_back(project: Path) -> None:
    def paths(include: bool) -> set[str]:
        with CodeGuard.open(settings=settings(include_secrets=include), trust=["ours"]) as guard:
            report = guard.index(["theirs"])
            assert {item.withheld for item in report.secrets} == {not include}
            from codeguard.index.maintenance import verify

            assert verify(guard.workspace, all_vectors=True).clean
            return {item.chunk.path for item in guard.query("password key token login", k=20).ranking}

    without = paths(include=False)
    assert "theirs/.env" not in without
    assert paths(include=True) >= {"theirs/.env", "theirs/deploy_key", "theirs/values.yml"}
    assert paths(include=False) == without


def test_an_index_made_before_secrets_were_looked_for_is_read_again(project: Path) -> None:
    with CodeGuard.open(settings=settings(), trust=["ours"]) as guard:
        guard.index(["theirs"])
        guard.catalog.set_meta("secrets", "0; withheld")
        (project / "theirs/values.yml").touch()
    with CodeGuard.open(settings=settings(), trust=["ours"]) as guard:
        report = guard.index(["theirs"])
    assert len(report.secrets) == 4


def test_a_changed_row_of_the_catalog_is_not_believed(project: Path) -> None:
    with CodeGuard.open(settings=settings(), trust=["ours"]) as guard:
        guard.index(["theirs"])
        database = guard.catalog._db
        database.execute(
            "UPDATE chunks SET text = replace(text, 'Authorization', 'X-Else') WHERE path LIKE 'ours/%'"
        )
        with pytest.raises(StoreError, match="changed by another hand"):
            guard.catalog.chunks_of("ours/maths.py")
        database.execute("UPDATE chunks SET withheld = 0")
        with pytest.raises(StoreError, match="damaged"):
            guard.query("X-Else")


def look(*paths: str, **changes: object) -> AuditReport:
    options = AuditOptions(selection=RuleSelection(("secrets", "insecure")), behavior=False)
    return audit([Path(path) for path in paths], options, settings(**changes))


LANGUAGES = {
    "a.py": "TOKEN = '{}'\n", "a.js": "const t = '{}';\n", "a.go": 'var t = "{}"\n', "a.sh": "export T={}\n",
    "a.yml": "t: {}\n", "a.json": '{{"t": "{}"}}\n', "a.toml": 't = "{}"\n', "a.md": "Use `{}`.\n", "a.txt": "{}\n",
    "a.ipynb": '{{"cells": [{{"cell_type": "markdown", "source": ["{}"]}}]}}', "a.pyx": "cdef str T = '{}'\n",
    "Dockerfile": "ENV T={}\n", "a.unknown": "{}\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LANGUAGES)
def test_an_audit_finds_them_in_every_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(LANGUAGES[name].format(TOKEN))
    (finding,) = look(name).findings  # one, not one of each signal
    assert finding.rule == "secrets.service-token"
    assert TOKEN not in finding.snippet
    assert TOKEN not in finding.reason


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        (".env", b"DEBUG=1\n", "environment-file"),
        ("store.p12", b"\x30\x82\x00\x00", "key-file"),
        (".netrc", b"machine a login b password c\n", "credentials-file"),
        (".env.example", b"DEBUG=1\n", None),
        (".env", b"", None),
    ],
)
def test_an_audit_names_files_that_are_secrets_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, rule: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    assert [item.rule for item in look(".").findings] == ([f"secrets.{rule}"] if rule else [])


def test_one_place_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = f'db_password = "{PASSWORD}"\nother_password = "hunter22x"\n'
    text += f'headers = {{"authorization": "Bearer {TOKEN}"}}\n'
    Path("a.py").write_text(text)
    found = [(item.place.start_line, item.rule) for item in look("a.py").findings]
    assert found == [
        (1, "secrets.assigned-secret"), (2, "insecure.hard-coded-secret"), (3, "secrets.service-token")
    ]  # fmt: skip


def test_secrets_weigh_nothing() -> None:
    from codeguard.analysis.rules.secrets import SIGNAL
    from codeguard.weights import Weights

    assert {Weights().of(f"secrets.{rule.id}", rule.severity) for rule in SIGNAL.rules} == {0.0}
    assert all(rule.cwe and rule.explanation and rule.bad and rule.good for rule in SIGNAL.rules)


def test_an_untrusted_copy_with_the_secret_is_no_changed_function(project: Path) -> None:
    """The index keeps the trusted function masked, the audited file is as it is: they are compared alike."""
    with CodeGuard.open(settings=settings(), trust=["ours"]) as guard:
        guard.index(["theirs"])
    (project / "theirs/copy.py").write_text(OURS.replace('"""Ours."""', ""))
    findings = audit([Path("theirs/copy.py")], AuditOptions(), settings()).findings
    assert not [
        item
        for item in findings
        if item.rule in ("near_copy.changed-line", "behavior.fail", "behavior.diverges")
    ]


def test_excluded_files_are_left_out_and_listed(project: Path) -> None:
    reason = "excluded by --exclude or the configuration"
    done = codeguard("index", ".", "--exclude", "theirs/*.y?l", "--exclude", "*.md", "--embedding", "lexical",
               "--format", "json", cwd=project)  # fmt: skip
    skipped = {item["path"]: item["reason"] for item in json.loads(done.stdout)["skipped"]}
    assert skipped["theirs/values.yml"] == skipped["theirs/notes.md"] == reason
    done = codeguard(
        "audit", "theirs", "theirs/values.yml", "--exclude", "/theirs/", "--format", "json", cwd=project
    )
    report = json.loads(done.stdout)
    assert (report["findings"], {item["reason"] for item in report["skipped"]}) == ([], {reason})
    (project / "own.toml").write_text('exclude = ["theirs/"]\n')
    done = codeguard("--config", "own.toml", "audit", "ours", "theirs", "--format", "json", cwd=project)
    assert {item["path"] for item in json.loads(done.stdout)["findings"]} == {"ours/maths.py"}


@pytest.mark.parametrize("pattern", ["", "#a", "*a*b*c*", "!", "a" * 501])
def test_a_pattern_that_cannot_count_is_refused(project: Path, pattern: str) -> None:
    done = codeguard("audit", "theirs", "--exclude", pattern, cwd=project)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    with pytest.raises(ConfigError):
        settings(exclude=(pattern,))


def test_what_is_staged_is_excluded_alike(project: Path) -> None:
    for words in (("init", "-q"), ("add", "-f", ".")):
        subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)
    done = codeguard("audit", "--staged", "--exclude", "theirs/", "--format", "json", cwd=project)
    report = json.loads(done.stdout)
    assert {item["path"] for item in report["findings"]} <= {"ours/maths.py"}
    assert {item["path"] for item in report["skipped"]} >= {"theirs/.env", "theirs/deploy_key"}


def test_shown_text_stays_escaped(project: Path) -> None:
    (project / "theirs/odd.yml").write_text(f"password: {PASSWORD} \x1b[2J\u202e\n")
    done = codeguard("audit", "theirs/odd.yml", cwd=project)
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "\\x1b" in done.stdout
    assert PASSWORD not in done.stdout


def test_a_token_in_a_docstring_is_an_example_that_is_still_not_shown(tmp_path: Path) -> None:
    value = VALUES.password()
    (tmp_path / "a.py").write_text(f'def f():\n    """Ask with\n\n    access_token={value}\n    """\n')
    (tmp_path / "b.py").write_text(f'access_token = "{value}"\n')
    report = audit([tmp_path], AuditOptions(behavior=False))
    found = {Path(item.path).name: item for item in report.open if item.rule == "secrets.assigned-secret"}
    assert {name: item.severity for name, item in found.items()} == {
        "a.py": Severity.LOW,
        "b.py": Severity.MEDIUM,
    }
    assert value not in json.dumps([item.reason for item in found.values()])
