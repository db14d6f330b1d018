"""Cut a comment into stretches of about the length of an instruction."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.reading.patterns import lazy

WORDS = 30
_ALONE = 6  # words of a sentence that is looked at on its own, too
PIECE = 16_000  # characters that are unmasked and cut at a time
_OVERLAP = 400

_SENTENCE = lazy(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n\s*\n")
_WORD = lazy(r"\S+")
_WIDE = lazy("[\u2e80-\u9fff\uac00-\ud7ff]")
_WIDE_LENGTH = 90  # characters of text that has no spaces


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces short enough to be unmasked whole; neighbours share a few words."""
    if len(text) <= PIECE:
        yield text
        return
    for start in range(0, len(text), PIECE - _OVERLAP):
        yield text[start : start + PIECE]


def windows(text: str) -> Iterator[str]:
    """Yield a short text itself and its sentences; of a long one its sentences and the pairs of short neighbours."""
    short = text.count(" ") + text.count("\n") < WORDS and not (
        len(text) > _WIDE_LENGTH and _WIDE.search(text)
    )
    sentences = _SENTENCE.split(text)
    if short:
        yield text
        if len(sentences) > 1:
            yield from (
                sentence for sentence in sentences if sentence.count(" ") >= _ALONE or _WIDE.search(sentence)
            )
        return
    parts = [part for sentence in sentences for part in _short(sentence)]
    lengths = [part.count(" ") for part in parts]
    for index, part in enumerate(parts):
        paired = index + 1 < len(parts) and lengths[index] + lengths[index + 1] < WORDS
        if paired:
            yield f"{part} {parts[index + 1]}"
        if not paired or lengths[index] >= _ALONE:
            yield part


def _short(sentence: str) -> Iterator[str]:
    """Yield a sentence, in halves that overlap where it is long."""
    words = _WORD.findall(sentence)
    for start in range(0, max(1, len(words) - WORDS // 4), WORDS // 2):
        part = " ".join(words[start : start + WORDS])
        for at in range(0, max(1, len(part)), 600):  # words without spaces
            if part[at : at + 600].strip():
                yield part[at : at + 600]
