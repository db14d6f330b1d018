"""Several manifests as one, in the names of a corpus; one manifest in the digests of another chunker."""

import pytest
from trust_bench import FILES, LABEL, NOW

from codeguard.errors import ManifestError
from codeguard.models import Trust, text_digest
from codeguard.trust.manifest import build_manifest
from codeguard.trust.verified import combined_manifest, rechunked, verify_unsigned, within

ADD = FILES["src/maths.py"][1]


def unsigned(tmp_path, name="a.py", text="x = 1\n", label="extra"):
    files = [(name, text.encode(), [text_digest(text)])]
    return verify_unsigned(build_manifest(tmp_path, files, label=label, created=NOW))


def test_a_tree_keeps_its_trust_under_the_name_of_its_folder(bench):
    verified = combined_manifest([("team/pay", bench.verify(bench.sign(bench.manifest())))])
    assert verified.trust_of("team/pay/src/maths.py", text_digest(ADD)) is Trust.TRUSTED
    assert verified.trust_of("src/maths.py", text_digest(ADD)) is Trust.COPY
    assert verified.signed_by == ("alice",)
    assert not verified.unsigned
    assert verified.root == LABEL
    assert verified.manifest.scope == ("team/pay",)


def test_one_unsigned_part_makes_the_whole_unsigned(bench, tmp_path):
    signed = bench.verify(bench.sign(bench.manifest()))
    verified = combined_manifest([(".", signed), ("extra", unsigned(tmp_path))])
    assert verified.unsigned
    assert verified.trust_of("extra/a.py", text_digest("x = 1\n")) is Trust.TRUSTED
    assert verified.trust_of("src/maths.py", text_digest(ADD)) is Trust.TRUSTED


def test_a_path_is_only_in_one_of_them(tmp_path):
    with pytest.raises(ManifestError, match=r"two manifests list one path, got 'lib/a\.py' again"):
        combined_manifest([("lib", unsigned(tmp_path)), (".", unsigned(tmp_path, "lib/a.py", "x = 2\n"))])
    with pytest.raises(ManifestError, match="pass for one another"):
        combined_manifest([("lib", unsigned(tmp_path)), ("LIB", unsigned(tmp_path))])


def test_a_manifest_is_limited_to_parts_of_its_tree(bench):
    verified = bench.verify(bench.sign(bench.manifest()))
    assert within(verified, (".",)) is verified
    limited = within(verified, ("src/maths.py",))
    assert (set(limited.files), limited.manifest.scope) == ({"src/maths.py"}, ("src/maths.py",))
    assert limited.signed_by == verified.signed_by
    assert len(verified.files) > 1


def test_another_chunker_changes_the_digests_and_not_the_trust(bench):
    """What was signed is the file: the chunks of exactly these bytes are trusted, however they are cut."""
    verified = bench.verify(bench.sign(bench.manifest()))
    whole = "".join(FILES["src/maths.py"])
    cut = [("src/maths.py", whole.encode(), [text_digest(whole)]), ("new.py", b"x", [text_digest("x")])]
    again = rechunked(verified, cut, "python/2")
    assert again.manifest.chunker == "python/2"
    assert again.trust_of("src/maths.py", text_digest(whole)) is Trust.TRUSTED
    assert again.trust_of("src/maths.py", text_digest(ADD)) is Trust.MODIFIED
    assert again.trust_of("new.py", text_digest("x")) is Trust.UNLISTED
    assert again.signed_by == ("alice",)


def test_bytes_that_were_not_signed_bring_no_digests_in(bench):
    verified = bench.verify(bench.sign(bench.manifest()))
    poison = "def add(a, b):\n    return a - b\n"
    again = rechunked(verified, [("src/maths.py", poison.encode(), [text_digest(poison)])], "python/2")
    assert again.trust_of("src/maths.py", text_digest(poison)) is Trust.MODIFIED
