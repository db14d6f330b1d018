"""A manifest: what it lists, how it is written, and what trust follows from it."""

import copy
import dataclasses
import hashlib
import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest

from codeguard.errors import ManifestError
from codeguard.models import Trust, text_digest
from codeguard.trust.manifest import build_manifest, manifest_from_json, manifest_to_json, unlistable
from codeguard.trust.verified import VerifiedManifest, verify_unsigned

ADD = "def add(a, b):\n    return a + b\n"
DOUBLE = "def double(a):\n    return 2 * a\n"
HEAD = "import math\n"
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def file_of(name: str, *chunks: str) -> tuple[str, bytes, list[str]]:
    return name, "".join(chunks).encode(), [text_digest(chunk) for chunk in chunks]


@pytest.fixture
def manifest():
    files = [file_of("lib/maths.py", HEAD, ADD, DOUBLE), file_of("lib/other.py", HEAD)]
    return build_manifest(Path("tree"), files, created=NOW, chunker="python/1", version=3)


@pytest.mark.parametrize(
    ("path", "text", "trust"),
    [
        ("lib/maths.py", ADD, Trust.TRUSTED),
        ("lib/maths.py", DOUBLE, Trust.TRUSTED),
        ("lib/maths.py", HEAD, Trust.TRUSTED),
        ("lib/other.py", HEAD, Trust.TRUSTED),
        ("elsewhere.py", ADD, Trust.COPY),
        ("elsewhere.py", HEAD, Trust.COPY),
        ("lib/other.py", ADD, Trust.COPY),
        ("lib/maths.py", ADD.replace("+", "-"), Trust.MODIFIED),
        ("lib/maths.py", ADD.replace("\n", "\r\n"), Trust.MODIFIED),
        ("lib/maths.py", "", Trust.MODIFIED),
        ("elsewhere.py", ADD.replace("+", "-"), Trust.UNLISTED),
        ("lib/Maths.py", ADD.replace("+", "-"), Trust.UNLISTED),
        ("./lib/maths.py", ADD, Trust.COPY),
    ],
)
def test_trust_follows_from_path_and_text_alone(manifest, path, text, trust):
    assert verify_unsigned(manifest).trust_of(path, text_digest(text)) is trust


def test_every_chunk_of_a_file_with_many_chunks_is_trusted(manifest):
    """The method's prototype compared chunk digests with file digests: only one-chunk files ever matched."""
    verified = verify_unsigned(manifest)
    whole = text_digest(HEAD + ADD + DOUBLE)
    assert verified.files["lib/maths.py"].sha256 == whole
    assert [verified.trust_of("lib/maths.py", text_digest(text)) for text in (HEAD, ADD, DOUBLE)] == [
        Trust.TRUSTED
    ] * 3
    assert verified.trust_of("lib/maths.py", whole) is Trust.MODIFIED


def test_covers_means_exactly_these_bytes(manifest):
    verified = verify_unsigned(manifest)
    digest = hashlib.sha256((HEAD + ADD + DOUBLE).encode()).hexdigest()
    assert verified.covers("lib/maths.py", digest)
    assert not verified.covers("lib/other.py", digest)
    assert not verified.covers("lib/maths.py", text_digest(ADD))


def test_unsigned_is_marked_and_refused_where_a_signature_is_required(manifest):
    verified = verify_unsigned(manifest)
    assert verified.unsigned
    assert verified.signed_by == ()
    with pytest.raises(ManifestError, match="got no signature, expected a signature"):
        verify_unsigned(manifest, require_signature=True)


def test_only_verification_makes_a_verified_manifest(manifest):
    verified = verify_unsigned(manifest)
    with pytest.raises(TypeError):
        VerifiedManifest()
    with pytest.raises(AttributeError):
        verified.unsigned = False
    with pytest.raises(TypeError):
        verified.files["new.py"] = verified.files["lib/maths.py"]
    for escape in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            escape(verified)


def test_statement_round_trip_is_exact(manifest):
    full = dataclasses.replace(
        manifest,
        expires=datetime(2027, 1, 1, tzinfo=UTC),
        scope=("lib",),
    )
    data = manifest_to_json(full)
    assert manifest_from_json(data) == full
    assert manifest_to_json(manifest_from_json(data)) == data


@pytest.mark.parametrize("name", ["created", "expires"])
@pytest.mark.parametrize("moment", [datetime(2027, 1, 1), datetime(2027, 1, 1, microsecond=1, tzinfo=UTC)])
def test_a_moment_that_the_statement_would_not_give_back_is_refused(manifest, name, moment):
    with pytest.raises(ManifestError, match=f"{name} of the manifest is inexact"):
        dataclasses.replace(manifest, **{name: moment})


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        (["a.py", "b.py"], set()),
        (["l.py", "1.py", "O.py", "0.py"], set()),
        (["grün.py", "grun.py"], set()),
        (["gr\u00fcn.py", "gru\u0308n.py"], {"gr\u00fcn.py", "gru\u0308n.py"}),
        (["../a.py", "b.py"], {"../a.py"}),
        (["A.py", "a.py", "b.py"], {"A.py", "a.py"}),
        (["а.py", "a.py"], {"а.py", "a.py"}),
        (["straße.py", "STRASSE.py"], {"straße.py", "STRASSE.py"}),
    ],
)
def test_unlistable_names_are_told_beforehand(names, refused):
    assert set(unlistable(names)) == refused
