"""From bytes to text: which encoding a source file is in, without running anything it asks for."""

from __future__ import annotations

import codecs
import encodings.aliases
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from encodings import normalize_encoding
from itertools import accumulate
from pathlib import Path

from codeguard.corpus.patterns import stored
from codeguard.errors import CorpusError

# Tried in this order: the mark of UTF-32 LE begins with that of UTF-16 LE.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# PEP 263: the comment has to stand on line 1 or 2, and on line 2 only below a comment or a blank line.
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")
_BLANK_OR_COMMENT = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_SHEBANG = re.compile(rb"#![^\r\n]*(?:python|pypy)", re.IGNORECASE)
PYTHON_SUFFIXES = (".py", ".pyw", ".pyi", ".pyx", ".pxd")

_FORMS = stored(Path(__file__).with_suffix(".toml"))
DECLARABLE = frozenset(_FORMS["declarable"].split())


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file as text, with the information needed to map it back to bytes.

    `text` lacks the byte order mark, whose length is `mark_bytes`; line endings are unchanged. `note` is one
    line if the encoding was guessed, else empty.
    """

    text: str
    encoding: str
    mark_bytes: int = 0
    note: str = ""


def read_text(data: bytes, name: str) -> DecodedText:
    """Decode a file: by its byte order mark, a Python file's coding comment, as UTF-8, else as cp1252 or latin-1.

    A coding comment (PEP 263) counts only in Python files, recognized by `name` or by their `#!` line.

    Raises:
        CorpusError: the coding comment names a codec that is not a plain character set.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            decoded = _decode(data, encoding, len(mark))
            return decoded or _guess(data, f"not valid {encoding} despite its byte order mark")
    is_python = name.lower().endswith(PYTHON_SUFFIXES) or _SHEBANG.match(data) is not None
    declared = _declared(data) if is_python else ""
    if declared:
        codec = _canonical(declared)
        if codec not in DECLARABLE:
            raise CorpusError(
                f"{name} declares the encoding {declared!r}, which is not a plain character set",
                hint="save the file as UTF-8",
            )
        if codec not in ("utf_8", "utf_8_sig"):
            decoded = _decode(data, codec, 0)
            if decoded is not None:
                return decoded
            return _utf8(data) or _guess(data, f"not valid {declared}, which it declares, nor UTF-8")
    return _utf8(data) or _guess(data, "not valid UTF-8")


PROGRAM, ARCHIVE, BYTECODE = "a program", "an archive", "bytecode"
OFFICE, OBJECTS = "an office document", "pickled objects"
MEDIA, DATA = "an image, a font, sound or video", "data of a known kind"
_SIGNATURES = {kind: "|".join(parts).encode("ascii") for kind, parts in _FORMS["signatures"].items()}


def kind_of_bytes(head: bytes) -> str:
    """Return the type of a binary file by its first bytes, or "" if unknown."""
    return next((kind for kind, signature in _SIGNATURES.items() if re.match(signature, head)), "")


SCRIPT, PADDED_TEXT = "a script by its first line", "text with NUL bytes in it"
_INTERPRETED = re.compile(rb"(?:\xef\xbb\xbf)?#![ \t]*/?\w")
_PICKLED = (".pkl", ".pickle", ".joblib")


def kind_of_content(head: bytes) -> str:
    """Return what a file that begins with `head` is to a program that is given it, or "" if unknown."""
    if _INTERPRETED.match(head):
        return SCRIPT
    kind = kind_of_bytes(head)
    if kind or b"\0" not in head:
        return kind
    try:  # shells skip NUL bytes
        text = codecs.getincrementaldecoder("utf-8")("strict").decode(head.replace(b"\0", b""))
    except UnicodeDecodeError:
        return ""
    controls = sum(character < " " and character not in "\t\n\r\f\x1b" for character in text)
    return PADDED_TEXT if text and controls * 50 <= len(text) else ""


def too_large_reason(size: int, most: int, head: bytes) -> str:
    """Return why a file is not read that has more than `most` bytes and begins with `head`."""
    kind = kind_of_content(head)
    return f"too large: {size} bytes, the limit is {most}" + (f": {kind}" if kind else "")


def unreadable_reason(head: bytes, name: str) -> str:
    """Return why a file that begins with `head` cannot be read as text, or ""."""
    if name.lower().endswith(_PICKLED) or kind_of_bytes(head) == OBJECTS:
        return f"binary: {OBJECTS}"
    marked = next((encoding for mark, encoding in _MARKS[1:] if head.startswith(mark)), None)
    if marked is not None:
        try:
            codecs.getincrementaldecoder(marked)("strict").decode(head)
        except UnicodeDecodeError:
            marked = None
    if marked is None and b"\0" in head:
        kind = kind_of_content(head)
        return f"binary: {kind}" if kind else "binary (a NUL byte near its start)"
    try:
        read_text(head, name)
    except CorpusError as error:
        return error.what.removeprefix(f"{name} ")
    return ""


def byte_offsets(data: bytes, decoded: DecodedText, characters: Sequence[int]) -> list[int]:
    """Return the byte offset in `data` of each of the given ascending character offsets of the text.

    Offset 0 is the start of the data: a byte order mark belongs to the first character.
    """
    text = decoded.text
    if len(text) + decoded.mark_bytes == len(data):
        return [at + decoded.mark_bytes if at else 0 for at in characters]
    found: list[int] = []
    if decoded.encoding == "utf-8":
        at, before = decoded.mark_bytes, 0
        for character in characters:
            at += len(text[before:character].encode())
            before = character
            found.append(at if character else 0)
        return found
    # Byte by byte, because other encodings do not always round-trip.
    decoder = codecs.getincrementaldecoder(decoded.encoding)("strict")
    start = decoded.mark_bytes
    seen = list(accumulate(len(decoder.decode(bytes([byte]))) for byte in data[start:]))
    return [min(start + bisect_left(seen, at) + 1, len(data)) if at else 0 for at in characters]


def _decode(data: bytes, encoding: str, mark_bytes: int) -> DecodedText | None:
    try:
        text = data[mark_bytes:].decode(encoding)
        if encoding != "utf-8":
            text.encode("utf-8")  # some codecs accept lone surrogates, which are invalid text
    except (UnicodeDecodeError, UnicodeEncodeError):
        return None
    return DecodedText(text, encoding, mark_bytes)


def _utf8(data: bytes) -> DecodedText | None:
    return _decode(data, "utf-8", 0)


def _guess(data: bytes, why: str) -> DecodedText:
    for encoding in ("cp1252", "latin-1"):
        decoded = _decode(data, encoding, 0)
        if decoded is not None:
            return DecodedText(decoded.text, encoding, 0, f"decoded as {encoding}: {why}")
    raise AssertionError("latin-1 decodes every byte")


def _declared(data: bytes) -> str:
    start = 0
    for _ in range(2):
        ended = _LINE_END.search(data, start)
        line = data[start : len(data) if ended is None else ended.start()]
        match = _COOKIE.match(line)
        if match:
            return match.group(1).decode("ascii")
        if ended is None or not _BLANK_OR_COMMENT.match(line):
            return ""
        start = ended.end()
    return ""


def _canonical(declared: str) -> str:
    """Return the codec's module name as the `encodings` package would, without importing anything."""
    name = normalize_encoding(declared).lower()
    if name == "utf_8" or name.startswith("utf_8_"):
        return "utf_8"
    if name in ("latin_1", "iso_8859_1", "iso_latin_1") or name.startswith(
        ("latin_1_", "iso_8859_1_", "iso_latin_1_")
    ):
        return "latin_1"
    return (
        encodings.aliases.aliases.get(name) or encodings.aliases.aliases.get(name.replace(".", "_")) or name
    )
