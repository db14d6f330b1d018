"""Characters that look like others: a selection of the Unicode confusables (UTS #39) that matter in source code.

It holds letters that survive NFKC and pass for an ASCII letter in an
ordinary monospaced font, of the scripts that editors display everywhere.
Fullwidth and mathematical letters are left out, since NFKC folds them.
"""

from __future__ import annotations

import unicodedata

_LOOKALIKES = {
    "A": "ΑАᎪꓮ", "B": "ΒВᏴꓐⲂ", "C": "СᏟⲤꓚϹ", "D": "Ꭰꓓ", "E": "ΕЕᎬꓰⴹ", "F": "Ϝꓝ", "G": "ԌᏀᏳꓖ", "H": "ΗНᎻⲎꓧ",
    "I": "ΙІӀⲒꓲ", "J": "ͿЈᎫꓙ", "K": "ΚКᏦⲔꓗ", "L": "ᏞⳐꓡ", "M": "ΜϺМᎷⲘꓟ", "N": "ΝⲚꓠ", "O": "ΟОՕⲞꓳ", "P": "ΡРᏢⲢꓑ",
    "Q": "Ԛⵕ", "R": "ƦᎡᏒꓣ", "S": "ЅՏᏕᏚꓢ", "T": "ΤТᎢⲦꓔ", "U": "Սꓴ", "V": "ѴᏙꓦⴸ", "W": "ԜᎳᏔꓪ", "X": "ΧХⲬⵝꓫ",
    "Y": "ΥУҮᎩᎽⲨꓬ", "Z": "ΖᏃꓜ",
    "a": "ɑαа", "b": "ƄЬᏏ", "c": "сᴄⲥꮯϲ", "d": "ԁɗ", "e": "еҽℯꬲ", "f": "ẝꞙꬵ", "g": "ɡցᶃ", "h": "һհᏂ",
    "i": "ıɩɪιіꭵ", "j": "ϳј", "k": "ĸκⲕ", "l": "ƖǀӏⲒ", "n": "ոռ", "o": "οσоօⲟჿᴏ", "p": "ρрⲣ", "q": "ԛգզ",
    "r": "гᴦⲅꮁ", "s": "ƽѕꜱꮪ", "t": "τƫ", "u": "ʋυսᴜ", "v": "νѵᴠꮩ", "w": "ɯѡԝաᴡꮃ", "x": "хⲭ", "y": "ɣʏγуүყỿ", "z": "ᴢꮓ",
}  # fmt: skip

# Near enough inside a word of Latin letters, and ordinary letters elsewhere.
_NEAR = {
    "a": "Λ∆λ", "b": "βв", "e": "εєэ€ɛ", "h": "н", "k": "к", "m": "м", "n": "ηпи", "r": "я", "t": "т", "w": "ωшщ",
    "x": "χ", "i": "ї", "u": "µμц", "c": "ç¢", "o": "øθ", "s": "§ʂ", "d": "đð", "l": "ł",
}  # fmt: skip

LOOKALIKE = {ord(char): ascii_ for ascii_, chars in _LOOKALIKES.items() for char in chars}
"""Code point to the ASCII letter it passes for."""

NEAR_LOOKALIKE = {ord(char): ascii_ for ascii_, chars in _NEAR.items() for char in chars} | LOOKALIKE
"""The same, with letters that pass for another one only among Latin letters."""

LOOKALIKE_PUNCTUATION = {
    ord(char): ascii_
    for ascii_, chars in {
        "!": "ǃⵑ", "'": "ʹˈ՚׳ꞌ‛′", '"': "˝ʺ״″", "(": "❨❲﴾", ")": "❩❳﴿", "*": "∗⁎٭", "+": "᛭➕",
        ",": "‚ꓹ؍٫", "-": "˗‐‑⁃−➖", ".": "ꓸ꘎۔․", "/": "⁄∕⧸⟋᜵", ":": "ː˸։׃܃᛬⁚∶ꓽ꞉", ";": ";", "<": "˂ᐸ‹❮",
        "=": "᐀⹀゠꓿", ">": "˃ᐳ›❯", "\\": "∖⧵⧹", "^": "˄ˆ", "_": "ߺ", "`": "ˋ՝", "{": "❴", "|": "∣ǀ⏐│", "}": "❵",
        "~": "˜∼⁓", "&": "ꝸ", "[": "❲", "]": "❳", "#": "♯",
    }.items()
    for char in chars
}  # fmt: skip
"""Code point to the ASCII punctuation it passes for; fullwidth forms are found by NFKC."""


def skeleton(text: str) -> str:
    """Return what a text looks like: NFKC, then every lookalike as its ASCII letter.

    Two names with equal skeletons can be taken for each other (UTS #39,
    section 4, on the characters that this module knows).
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).translate(LOOKALIKE)
