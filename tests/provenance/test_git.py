"""Signed commits as evidence, in real repositories with real ssh keys; and what git does to line endings."""

import pytest
from git_repository import Repository
from trust_bench import FILES, LABEL

from codeguard.errors import ManifestError
from codeguard.models import text_digest
from codeguard.trust import FileChange, build_manifest, check_tree, verify_unsigned
from codeguard.trust.git import head_commit, verify_commit, vouch


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "tree", tmp_path / "user")


def digest(data: bytes) -> str:
    return text_digest(data.decode())


def test_a_signed_commit_names_its_signer(repository):
    commit = repository.commit({"a.py": b"x = 1\n"})
    evidence = verify_commit(repository.root, commit, repository.allowed)
    assert (evidence.commit, evidence.signer) == (commit, "alice@example.org")
    assert evidence.key.startswith("SHA256:")


@pytest.mark.parametrize("signer", [None, "mallory"])
def test_a_commit_of_nobody_who_may_is_refused(repository, signer):
    commit = repository.commit({"a.py": b"x = 1\n"}, signer)
    with pytest.raises(
        ManifestError, match=r"not signed by an allowed signer, got .*, expected a signature of"
    ):
        verify_commit(repository.root, commit, repository.allowed)


@pytest.mark.parametrize(
    "commit", ["", "HEAD", "--help", "--output=planted", "a" * 39, "a" * 41, "A" * 40, "a" * 40 + "\n"]
)
def test_a_commit_is_named_by_its_digest_alone(repository, commit):
    with pytest.raises(ManifestError, match=r"^not the id of a commit"):
        verify_commit(repository.root, commit, repository.allowed)


def test_signed_edits_since_the_manifest_are_vouched_for(repository):
    base = repository.commit({"a.py": b"x = 1\n", "b.py": b"y = 1\n"})
    first = repository.commit({"a.py": b"x = 2\n"})
    second = repository.commit({"b.py": None, "c.py": b"z = 1\n"})
    edited = {"a.py": digest(b"x = 2\n"), "b.py": None, "c.py": digest(b"z = 1\n")}
    found = vouch(repository.root, edited, base, repository.allowed)
    assert [item.commit for item in found] == [second, first]


def unsigned_between(repository, base):
    repository.commit({"a.py": b"x = 2\n"}, signer=None)
    repository.commit({"b.py": b"y = 2\n"})
    return {"a.py": digest(b"x = 2\n")}


def stranger_on_top(repository, base):
    repository.commit({"a.py": b"x = 2\n"}, signer="mallory")
    return {"a.py": digest(b"x = 2\n")}


def not_committed(repository, base):
    repository.commit({"a.py": b"x = 2\n"})
    return {"a.py": digest(b"x = 3\n")}


def deleted_but_committed(repository, base):
    repository.commit({"a.py": b"x = 2\n"})
    return {"a.py": None}


def link_in_the_commit(repository, base):
    (repository.root / "l.py").symlink_to("a.py")
    repository.commit({})
    return {"l.py": digest(b"x = 1\n")}


def merged_from_an_unsigned_side(repository, base):
    repository.git("checkout", "-q", "-b", "side")
    repository.commit({"a.py": b"x = 2\n"}, signer=None)
    repository.git("checkout", "-q", "main")
    repository.commit({"b.py": b"y = 2\n"})
    key = repository.outside / "alice"
    repository.git("-c", f"user.signingkey={key}", "merge", "-q", "-S", "-m", "merge", "side")
    return {"a.py": digest(b"x = 2\n")}


def replaced_object(repository, base):
    """refs/replace makes git show the signed commit in place of the unsigned one."""
    signed = repository.commit({"a.py": b"x = 1\n"})
    unsigned = repository.commit({"a.py": b"x = 2\n"}, signer=None)
    repository.git("replace", unsigned, signed)
    return {"a.py": digest(b"x = 2\n")}


def program_of_the_repository(repository, base):
    """The repository's own configuration names a program that calls every signature good."""
    liar = repository.outside / "liar"
    liar.write_text(
        "#!/bin/sh\necho 'Good \"git\" signature for alice@example.org with ED25519 key SHA256:x'\n"
    )
    liar.chmod(0o755)
    commit = {"a.py": b"x = 2\n"}
    repository.commit(commit, signer="mallory")
    for name in ("gpg.ssh.program", "gpg.program", "core.fsmonitor"):
        repository.git("config", name, liar)
    repository.git("config", "gpg.ssh.allowedSignersFile", repository.outside / "mallory.pub")
    return {"a.py": digest(b"x = 2\n")}


NOT_SIGNED = "is not signed by an allowed signer"


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (unsigned_between, NOT_SIGNED),
        (stranger_on_top, NOT_SIGNED),
        (not_committed, "does not hold 'a.py' as it is"),
        (deleted_but_committed, "does not hold 'a.py' as it is"),
        (link_in_the_commit, "does not hold 'l.py' as it is"),
        (merged_from_an_unsigned_side, NOT_SIGNED),
        (replaced_object, NOT_SIGNED),
        (program_of_the_repository, NOT_SIGNED),
    ],
)
def test_edits_without_a_signature_for_each_are_refused(repository, tamper, message):
    base = repository.commit({"a.py": b"x = 1\n", "b.py": b"y = 1\n"})
    edited = tamper(repository, base)
    with pytest.raises(ManifestError, match=message) as refused:
        vouch(repository.root, edited, base, repository.allowed)
    assert refused.value.got is not None
    assert refused.value.expected is not None


def test_the_repository_cannot_make_git_run_a_program(repository):
    commit = repository.commit({"a.py": b"x = 1\n"})
    trap, mark = repository.outside / "trap", repository.outside / "ran"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\n")
    trap.chmod(0o755)
    for name in ("gpg.ssh.program", "gpg.program", "core.fsmonitor", "core.pager", "core.sshCommand"):
        repository.git("config", name, trap)
    vouch(repository.root, {"a.py": digest(b"x = 1\n")}, commit, repository.allowed)
    assert not mark.exists()


def test_a_manifest_of_another_history_is_refused(repository):
    repository.commit({"a.py": b"x = 1\n"})
    with pytest.raises(ManifestError, match=r"no ancestor of the one checked out, got .*, expected"):
        vouch(repository.root, {"a.py": digest(b"x = 1\n")}, "0" * 40, repository.allowed)


def test_the_tree_may_be_a_folder_of_the_repository(repository):
    base = repository.commit({"lib/a.py": b"x = 1\n"})
    repository.commit({"lib/a.py": b"x = 2\n"})
    assert vouch(repository.root / "lib", {"a.py": digest(b"x = 2\n")}, base, repository.allowed)


def test_where_there_is_no_repository_there_is_no_commit(tmp_path):
    assert head_commit(tmp_path) == ""
    with pytest.raises(ManifestError, match="got no git commit, expected a signed commit"):
        vouch(tmp_path, {}, "", tmp_path / "allowed")


@pytest.mark.parametrize(
    ("attributes", "held"),
    [(None, False), ("* -text\n", True), ("* text=auto eol=lf\n", True)],
)
def test_autocrlf_changes_bytes_and_gitattributes_keep_them(repository, tmp_path, attributes, held):
    """The rule: a digest is over the bytes as they are. Another checkout has other bytes unless told otherwise."""
    files = {name: "".join(chunks).encode() for name, chunks in FILES.items()}
    repository.commit({**files, **({".gitattributes": attributes.encode()} if attributes else {})})
    listed = [(name, data, [text_digest(c) for c in FILES[name]]) for name, data in files.items()]
    verified = verify_unsigned(build_manifest(repository.root, listed, label=LABEL))
    clone = tmp_path / "clone"
    repository.git("clone", "-q", "-c", "core.autocrlf=true", repository.root, clone)
    found = check_tree(verified, clone, list(files))
    if held:
        assert found == ()
    else:
        assert {item.change for item in found} == {FileChange.LINE_ENDINGS}
        assert ".gitattributes" in found[0].hint
