"""Signed manifests where they count: what `index` and `query` make of them, as a user runs it."""

import base64
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from trust_bench import make_key

from codeguard.cli import main

pytestmark = pytest.mark.ci

MATHS = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n"
EDITED = MATHS.replace("2 * a", "a + a")
THEIRS = "def add(a, b):\n    return a - b\n"


class Team:
    """A corpus whose folder `pay` has a signed manifest, beside somebody else's code."""

    def __init__(self, base: Path) -> None:
        self.corpus, self.config = base / "corpus", base / "config.toml"
        for name, text in {
            "pay/src/maths.py": MATHS,
            "pay/docs/sample.py": "def triple(a):\n    return 3 * a\n",
            "theirs/maths.py": THEIRS,
            "ours/more.py": "def quadruple(a):\n    return 4 * a\n",
        }.items():
            place = self.corpus / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        self.key = make_key(base / "keys", "alice")
        self.configure()
        self.run("trust", "build", self.tree)
        self.run("trust", "sign", self.tree, "--key", self.key)

    @property
    def tree(self) -> Path:
        return self.corpus / "pay"

    @property
    def manifest(self) -> Path:
        return self.tree / "codeguard.manifest.json"

    def configure(self, first: str = "", keys: str = "keys/alice.pem") -> None:
        self.config.write_text(
            f'{first}\njobs = 1\n[signing]\nroot = "acme/pay"\n'
            f'[[signing.signers]]\nidentity = "alice"\nkeys = ["{keys}"]\n'
        )

    def run(self, *arguments: object, code: int = 0) -> str:
        result = CliRunner().invoke(main, ["--config", str(self.config), *map(str, arguments)])
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result.output

    def index(self, *trust: Path, code: int = 0) -> str:
        chosen = [option for path in trust or (self.tree,) for option in ("--trust", path)]
        return self.run("index", self.corpus, *chosen, "--embedding", "lexical", code=code)

    def trust(self) -> dict[str, str]:
        answer = json.loads(self.run("query", "add two numbers", "-k", "9", "--format", "json"))
        return {f"{item['path']}::{item['symbol']}": item["trust"] for item in answer["ranking"]}


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    made = Team(tmp_path)
    monkeypatch.chdir(made.corpus)
    return made


def test_what_is_signed_is_trusted(team: Team) -> None:
    assert "signed by alice" in (said := team.index())
    assert "unsigned" not in said
    trust = team.trust()
    assert trust["pay/src/maths.py::add"] == "trusted"
    assert trust["theirs/maths.py::add"] == "unlisted"
    assert not any("manifest" in name for name in trust)


def test_an_edit_is_not_trusted_until_it_is_signed(team: Team) -> None:
    team.index()
    (team.tree / "src/maths.py").write_text(EDITED)
    assert "pay/src/maths.py is not as it was signed" in team.index()
    trust = team.trust()
    assert trust["pay/src/maths.py::double"] == "modified"
    assert trust["pay/src/maths.py::add"] == "trusted"  # its own text is as it was signed
    team.run("trust", "update", team.tree, "--key", team.key, "--yes")
    assert team.trust()["pay/src/maths.py::double"] == "trusted"


@pytest.mark.parametrize("command", ["index", "query"])
@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda m: m.write_bytes(m.read_bytes()[:-40] + b"\n"), "envelope"),
        (lambda m: m.write_text(m.read_text().replace('"sig": "', '"sig": "AAAA')), "no signature"),
    ],
)
def test_a_spoiled_manifest_is_refused_by_all(team, command, spoil, says) -> None:
    team.index()
    spoil(team.manifest)
    said = team.index(code=2) if command == "index" else team.run("query", "add", code=2)
    assert says in said
    assert len(said.strip().splitlines()) == 1


def test_an_old_manifest_put_back_is_refused(team: Team) -> None:
    old = team.manifest.read_bytes()
    (team.tree / "src/maths.py").write_text(EDITED)
    team.run("trust", "update", team.tree, "--key", team.key, "--yes")
    team.index()
    team.manifest.write_bytes(old)
    assert "older than one already seen" in team.index(code=2)
    assert "older than one already seen" in team.run("query", "add", code=2)


def test_a_manifest_that_is_gone_is_said_in_one_line(team: Team) -> None:
    team.index()
    team.manifest.unlink()
    assert "codeguard.manifest.json" in (said := team.run("query", "add", code=2))
    assert len(said.strip().splitlines()) == 1


def test_without_a_policy_nobodys_signature_counts(team: Team) -> None:
    team.config.write_text("")
    said = team.index(code=2)
    assert "nothing says whose signature counts" in said
    assert "by removing its manifest" in said


@pytest.mark.parametrize("content", ["{}", "no JSON", None], ids=["empty", "malformed", "signed"])
def test_a_manifest_above_the_trusted_folder_stops_nothing_where_no_policy_is(team: Team, content) -> None:
    team.config.write_text("")
    if content is not None:
        team.manifest.write_text(content)
    planted = f"{team.manifest} does not count: it lies above what you trust"
    for command in ("index", "audit"):
        said = team.run(command, team.tree / "src", "--trust", team.tree / "src", code=0)
        assert [planted in line for line in said.splitlines()].count(True) == 1, said
        assert "trusted" in said


def test_what_was_signed_before_is_not_trusted_unsigned_once_the_policy_is_gone(team: Team) -> None:
    team.run("index", team.tree / "src", "--trust", team.tree / "src")
    team.config.write_text("")
    said = team.run("index", team.tree / "src", "--trust", team.tree / "src", code=2)
    assert "nothing says whose signature counts" in said


def test_a_required_signature_is_required_where_a_manifest_lies_above(team: Team) -> None:
    team.config.write_text("require_signature = true\n")
    said = team.run("index", team.tree / "src", "--trust", team.tree / "src", code=2)
    assert "nothing says whose signature counts" in said


def test_a_manifest_that_nobody_signed_is_named_as_the_cause(team: Team) -> None:
    team.manifest.unlink()
    team.run("trust", "build", team.tree)
    for policy in (team.config.read_text(), ""):
        team.config.write_text(policy)
        said = team.index(code=2)
        assert f"{team.manifest} is not signed" in said
        assert f"codeguard trust sign {team.manifest} --key KEY" in said
    assert "is not signed" in team.run("trust", "verify", team.tree, code=2)


def test_files_that_a_manifest_cannot_hold_are_grouped_by_their_reason(team: Team) -> None:
    for number in range(5):
        (team.tree / f"{number}.bin").write_bytes(b"\0\1\2")
    said = team.run("trust", "build", team.tree)
    (line,) = [line for line in said.splitlines() if "0.bin" in line]
    assert "5 × " in line
    assert line.endswith("… and 2 more")


def test_a_key_in_the_tree_is_refused(team: Team) -> None:
    inside = team.tree / "alice.pem"
    inside.write_bytes(team.key.with_suffix(".pem").read_bytes())
    team.configure(keys=str(inside))
    assert "lies inside the tree" in team.index(code=2)


def test_only_the_trusted_part_of_a_tree_is_trusted(team: Team) -> None:
    assert "signed by alice" in team.index(team.tree / "src")
    trust = team.trust()
    assert trust["pay/src/maths.py::add"] == "trusted"
    assert trust["pay/docs/sample.py::triple"] == "unlisted"


def test_signed_and_unsigned_side_by_side(team: Team) -> None:
    said = team.index(team.tree, team.corpus / "ours")
    assert "signed by alice, the others named by you and not signed" in said
    trust = team.trust()
    assert trust["pay/src/maths.py::add"] == trust["ours/more.py::quadruple"] == "trusted"


def test_a_required_signature_refuses_the_unsigned_part(team: Team) -> None:
    team.configure("require_signature = true")
    assert "ours has no signed manifest" in team.index(team.tree, team.corpus / "ours", code=2)
    team.index()
    assert team.trust()["pay/src/maths.py::add"] == "trusted"


def test_trust_that_is_not_given_again_stays_until_it_is_taken_back(team: Team) -> None:
    team.index()
    assert json.loads(team.run("index", team.corpus, "--format", "json"))["trusted_before"] == ["pay"]
    assert team.trust()["pay/src/maths.py::add"] == "trusted"
    team.run("index", team.corpus, "--untrust", team.tree)
    assert "trusted" not in team.trust().values()


def test_a_file_beside_the_signed_ones_is_not_trusted(team: Team) -> None:
    (team.tree / "src/added.py").write_text("def added(a):\n    return a\n")
    assert "pay/src/added.py is not as it was signed" in team.index()
    assert team.trust()["pay/src/added.py::added"] == "unlisted"


def test_a_manifest_of_another_chunker_keeps_its_worth(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr("codeguard.corpus.chunking.CHUNKER_ID", "another/1")
        team.run("trust", "build", team.tree)
    team.run("trust", "sign", team.tree, "--key", team.key)
    envelope = json.loads((team.tree / "codeguard.manifest.json").read_text())
    assert b"another/1" in base64.b64decode(envelope["payload"])
    team.index()
    assert team.trust()["pay/src/maths.py::add"] == "trusted"
