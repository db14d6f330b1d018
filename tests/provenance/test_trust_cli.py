"""`codeguard trust` as a user runs it: the whole way, exit codes, one line an error."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from trust_bench import make_key, openssl

from codeguard.cli import main

MATHS = "import math\n\n\ndef add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n"


class Desk:
    """A user with a tree, keys and a configuration file outside the tree."""

    def __init__(self, base):
        self.base, self.tree = base, base / "pay"
        (self.tree / "src").mkdir(parents=True)
        (self.tree / "src" / "maths.py").write_text(MATHS)
        for name in ("alice", "bob"):
            make_key(base / "keys", name)
        self.config = base / "config.toml"
        self.write_policy()

    def write_policy(self, threshold=1, extra=""):
        signers = "".join(
            f'[[signing.signers]]\nidentity = "{name}"\nkeys = ["keys/{name}.pem"]\n'
            for name in ("alice", "bob")
        )
        self.config.write_text(f'[signing]\nroot = "acme/pay"\nthreshold = {threshold}\n{extra}\n{signers}')

    def run(self, *arguments, code=0, **kwargs):
        command = ["--config", str(self.config), "trust", *map(str, arguments)]
        state = {"XDG_STATE_HOME": str(self.base / "state")}
        result = CliRunner().invoke(main, command, env={**state, **kwargs.pop("env", {})}, **kwargs)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    def verify(self, *more, **kwargs):
        return self.run("verify", self.tree, *more, **kwargs)

    def update(self, *more, **kwargs):
        key = self.base / "keys" / "alice.key"
        return self.run("update", self.tree, "--key", key, *more, **kwargs)

    def signed(self, *names):
        self.run("build", self.tree)
        for name in names or ("alice",):
            self.run("sign", self.tree, "--key", self.base / "keys" / f"{name}.key")


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_build_sign_verify(desk):
    desk.signed()
    assert "verified, signed by alice" in desk.verify().stdout


def test_verification_as_json(desk):
    desk.signed("alice", "bob")
    desk.write_policy(threshold=2)
    good = json.loads(desk.verify("--format", "json").stdout)
    assert good["verified"] is True
    assert good["signed_by"] == ["alice", "bob"]
    (desk.tree / "src" / "maths.py").write_text(MATHS.replace("+", "-"))
    bad = json.loads(desk.verify("--format", "json", code=1).stdout)
    (refusal,) = bad["refusals"]
    assert refusal["what"] == "changed: 'src/maths.py'"
    assert refusal["got"].startswith("sha256 ")
    assert refusal["expected"].startswith("sha256 ")


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (lambda tree: (tree / "src" / "maths.py").write_text("evil = 1\n"), "changed: 'src/maths.py'"),
        (lambda tree: (tree / "src" / "maths.py").unlink(), "missing: 'src/maths.py'"),
        (lambda tree: (tree / "src" / "helper.py").write_text("x = 1\n"), "added: 'src/helper.py'"),
        (lambda tree: (tree / "src" / "mаths.py").write_text("x = 1\n"), "lookalike: 'src/mаths.py'"),
        (lambda tree: (tree / "codeguard.manifest.json").unlink(), "cannot read"),
        (lambda tree: (tree / "codeguard.manifest.json").write_text("{}"), "lacks a member"),
    ],
)
def test_what_does_not_hold_is_refused_with_exit_code_1(desk, tamper, message):
    desk.signed()
    desk.verify()
    tamper(desk.tree)
    output = desk.verify(code=1).stdout
    assert message in output
    assert "got " in output
    assert "expected " in output


def test_a_daily_edit_is_signed_on_and_the_old_manifest_does_not_come_back(desk):
    desk.signed()
    old = (desk.tree / "codeguard.manifest.json").read_bytes()
    desk.verify()
    (desk.tree / "src" / "maths.py").write_text(MATHS + "\n\nZERO = 0\n")
    output = desk.update("--yes").stderr
    assert "changed: src/maths.py" in output
    assert "version: 2" in desk.verify().stdout
    (desk.tree / "codeguard.manifest.json").write_bytes(old)
    assert "got version 1, expected version 2 or later" in desk.verify(code=1).stdout


def test_update_asks_before_it_signs_and_signs_nothing_that_it_refuses(desk):
    desk.signed()
    before = (desk.tree / "codeguard.manifest.json").read_bytes()
    desk.update(input="n\n", code=2)
    (desk.tree / "codeguard.manifest.json").write_text("{}")
    desk.update("--yes", code=2)
    assert (desk.tree / "codeguard.manifest.json").read_text() == "{}"
    (desk.tree / "codeguard.manifest.json").write_bytes(before)
    desk.update(input="y\n")


def test_update_without_an_answer_or_with_a_key_of_nobody_keeps_the_manifest_that_counts(desk):
    desk.signed()
    before = (desk.tree / "codeguard.manifest.json").read_bytes()
    unanswered = desk.update(input="", code=2)
    assert unanswered.stderr.endswith("\ncodeguard: no answer to the question, so nothing was written\n")
    make_key(desk.base / "keys", "mallory")
    stranger = desk.base / "keys" / "mallory.key"
    done = desk.run("update", desk.tree, "--key", stranger, "--yes", code=2)
    assert "which is not in the signing policy" in done.stderr
    assert (desk.tree / "codeguard.manifest.json").read_bytes() == before


def test_an_expired_manifest_is_refused_and_can_be_renewed(desk):
    desk.signed()
    payload = desk.base / "old.json"
    desk.run("build", desk.tree, "--expires-days", 0, "--output", payload)
    statement = json.loads(payload.read_text())
    statement["predicate"]["version"] = 3
    statement["predicate"]["created"] = "2020-01-01T00:00:00Z"
    statement["predicate"]["expires"] = "2020-02-01T00:00:00Z"
    payload.write_text(json.dumps(statement))
    desk.run("sign", payload, "--key", desk.base / "keys" / "alice.key")
    (desk.tree / "codeguard.manifest.json").write_bytes(payload.read_bytes())
    assert "manifest has expired" in desk.verify(code=1).stdout
    desk.update("--yes")
    assert "version: 4" in desk.verify().stdout


def test_a_threshold_needs_the_others_after_an_update(desk):
    desk.write_policy(threshold=2)
    desk.signed("alice", "bob")
    desk.verify()
    desk.update("--yes")
    assert "got 1 ('alice'), expected 2 of 'alice', 'bob'" in desk.verify(code=1).stdout
    desk.run("sign", desk.tree, "--key", desk.base / "keys" / "bob.key")
    desk.verify()


def test_a_policy_or_key_in_the_tree_is_a_mistake_of_use(desk):
    desk.signed()
    inside = desk.tree / "config.toml"
    inside.write_text(desk.config.read_text())
    desk.config = inside
    output = desk.verify(code=2).stderr
    assert "configuration lies inside the tree that it is to judge" in output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["verify", "nowhere"], 2, "no such folder"),
        (["build", "nowhere"], 2, "no such folder"),
        (["sign", "nowhere", "--key", "x"], 2, "no such file"),
        (["sign", "{tree}", "--key", "{base}/keys/none.key"], 2, "cannot read"),
        (["sign", "{tree}"], 2, "expected --key FILE"),
        (["verify", "{tree}", "--label", "acme/shop"], 2, "no signing policy for this tree"),
        (["build", "{tree}", "--scope", "../.."], 2, "unsafe path"),
    ],
)
def test_bad_use_is_one_line_and_its_exit_code(desk, arguments, code, message):
    desk.signed()
    filled = [text.format(tree=desk.tree, base=desk.base) for text in arguments]
    result = desk.run(*filled, code=code)
    assert message in result.stderr


def test_text_of_a_manifest_cannot_act_on_the_terminal(desk):
    output = desk.run("build", desk.tree, "--label", "x/\x1b]0;evil\x07\u202e").stdout
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert "\\x1b" in output


def test_an_encrypted_key_asks_for_its_passphrase(desk):
    locked = desk.base / "keys" / "locked.key"
    openssl("pkcs8", "-topk8", "-in", desk.base / "keys" / "alice.key", "-out", locked, "-passout", "pass:s")
    desk.run("build", desk.tree)
    desk.run("sign", desk.tree, "--key", locked, env={"CODEGUARD_KEY_PASSPHRASE": "wrong"}, code=2)
    desk.run("sign", desk.tree, "--key", locked, env={"CODEGUARD_KEY_PASSPHRASE": "s"})
    desk.verify()


def test_unsigned_work_and_help_load_no_cryptography_and_no_vectors():
    script = (
        "import sys, codeguard.trust, codeguard.cli.trust\n"
        "heavy = {'cryptography', 'securesystemslib', 'chromadb', 'onnxruntime'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
