"""Which encoding a file is read in, and that no file chooses what runs over it."""

from __future__ import annotations

import codecs
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.corpus.decoding import DECLARABLE, byte_offsets, read_text
from codeguard.errors import CorpusError

REFUSED = [
    *("rot13", "rot_13", "hex", "base64", "bz2", "zip", "zlib", "uu", "quopri"),  # rewrite or unpack
    *(
        "utf-7",
        "UTF7",
        "unicode_escape",
        "unicode-escape",
        "raw_unicode_escape",
        "string_escape",
        "hz",
        "iso2022_jp",
    ),
    *("idna", "punycode", "undefined", "mbcs", "oem", "charmap", "utf-16", "utf-32", "cp864"),
    *("pyxl", "future_fstrings", "os.path", "..os", "uft-8", "_"),  # someone else's, or none at all
]


@pytest.mark.parametrize(
    ("data", "name", "text", "encoding", "note"),
    [
        (b"", "a.py", "", "utf-8", ""),
        ("é = '😀'\r\n".encode(), "a.py", "é = '😀'\r\n", "utf-8", ""),
        (b"\xef\xbb\xbfx\n", "a.py", "x\n", "utf-8", ""),
        ("é\n".encode("utf-16"), "a.py", "é\n", "utf-16-le", ""),
        (codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be"), "a.js", "é\n", "utf-16-be", ""),
        ("é😀".encode("utf-32"), "a.py", "é😀", "utf-32-le", ""),
        (b"# coding: latin-1\n\xe9\n", "a.py", "# coding: latin-1\né\n", "latin_1", ""),
        (
            b"# -*- coding: iso-8859-1-unix -*-\n\xe9",
            "a.py",
            "# -*- coding: iso-8859-1-unix -*-\né",
            "latin_1",
            "",
        ),
        (b"#!/bin/python\n# vim: set fileencoding=cp1251 :\n\xe9", "a.py", None, "cp1251", ""),
        (b"# coding: utf-8\n\xc3\xa9", "a.py", "# coding: utf-8\né", "utf-8", ""),
        (b"# coding: ASCII\nx", "a.py", "# coding: ASCII\nx", "ascii", ""),
        # A coding comment counts on the first two lines of Python only.
        (b"x = 1\n# coding: rot13\n", "a.py", "x = 1\n# coding: rot13\n", "utf-8", ""),
        (b"\n\n# coding: rot13\n", "a.py", "\n\n# coding: rot13\n", "utf-8", ""),
        (b"# coding: rot13\n", "a.js", "# coding: rot13\n", "utf-8", ""),
        # Guesses say that they are.
        (b"caf\xe9\n", "a.txt", "café\n", "cp1252", "decoded as cp1252: not valid UTF-8"),
        (b"\x81\xe9", "a.txt", "\x81é", "latin-1", "decoded as latin-1: not valid UTF-8"),
        (b"# coding: ascii\n\xc3\xa9", "a.py", "# coding: ascii\né", "utf-8", ""),
        (
            b"# coding: ascii\n\xe9",
            "a.py",
            "# coding: ascii\né",
            "cp1252",
            "decoded as cp1252: not valid ascii, which it declares, nor UTF-8",
        ),
        (
            b"\xff\xfex",
            "a.py",
            "ÿþx",
            "cp1252",
            "decoded as cp1252: not valid utf-16-le despite its byte order mark",
        ),
        (b"\xed\xa0\x80", "a.py", None, "cp1252", "decoded as cp1252: not valid UTF-8"),  # a lone surrogate
    ],
)
def test_the_encoding_of_a_file(data: bytes, name: str, text: str | None, encoding: str, note: str) -> None:
    decoded = read_text(data, name)
    assert (decoded.encoding, decoded.note) == (encoding, note)
    assert text is None or decoded.text == text


@pytest.mark.parametrize(
    "codec",
    REFUSED,
)
def test_a_codec_that_is_no_plain_character_set_is_refused(codec: str) -> None:
    with pytest.raises(CorpusError, match="not a plain character set"):
        read_text(f"# coding: {codec}\nx = 1\n".encode(), "a.py")


def test_no_codec_is_looked_up_before_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def search(name: str) -> None:
        asked.append(name)

    codecs.register(search)
    try:
        with pytest.raises(CorpusError):
            read_text(b"# coding: attackers_own\n", "a.py")
    finally:
        codecs.unregister(search)
    assert asked == []
    assert "encodings.attackers_own" not in sys.modules


@pytest.mark.parametrize("codec", sorted(DECLARABLE))
def test_in_every_declarable_codec_ascii_code_reads_as_itself(codec: str) -> None:
    """Else code could stand in what reads as a comment. Codecs that trade a sign for a currency mark are known."""
    source = bytes(byte for byte in range(32, 127) if chr(byte) not in "\\~$")
    decoded = read_text(b"# coding: " + codec.encode() + b"\n" + source + b"\n", "a.py")
    assert decoded.text.splitlines()[1] == source.decode()


@given(st.binary(max_size=300), st.sampled_from(["a.py", "a.js", "a.md"]))
def test_every_file_is_text_or_refused(data: bytes, name: str) -> None:
    try:
        decoded = read_text(data, name)
    except CorpusError:
        return
    decoded.text.encode("utf-8")
    offsets = byte_offsets(data, decoded, range(len(decoded.text) + 1))
    assert offsets == sorted(offsets)
    assert offsets[0] == 0
    assert not decoded.text or offsets[-1] == len(data)


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=50),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be"]),
    st.data(),
)
def test_byte_offsets_cut_the_bytes_where_the_text_is_cut(
    text: str, encoding: str, data: st.DataObject
) -> None:
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    raw = mark + text.encode(encoding)
    decoded = read_text(raw, "a.txt")
    if decoded.text != text:  # the text itself begins with what reads as another mark
        return
    cut = data.draw(st.integers(0, len(text)))
    (at,) = byte_offsets(raw, decoded, [cut])
    head = raw[decoded.mark_bytes : max(at, decoded.mark_bytes)]
    assert head.decode(decoded.encoding) == text[:cut]


def test_byte_offsets_hold_for_encodings_of_several_bytes() -> None:
    raw = b"# coding: shift_jis\n" + "あaい\n".encode("shift_jis")
    decoded = read_text(raw, "a.py")
    assert byte_offsets(raw, decoded, [0, 20, 21, 22, 23, 24]) == [0, 20, 22, 23, 25, 26]
