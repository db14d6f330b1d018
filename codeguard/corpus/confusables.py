"""One table of look-alike and invisible characters; the former are a selection of the Unicode confusables (UTS #39).

`LOOKALIKE` contains letters that survive NFKC and look like an ASCII letter in an ordinary monospaced font,
from scripts that editors display everywhere. Fullwidth and mathematical letters are left out, since NFKC
folds them. `look` compares file names regardless of case, and covers more characters.
"""

from __future__ import annotations

import unicodedata

BIDI_CLASS = "\u202a-\u202e\u2066-\u2069"
"""The controls of the direction of writing (UAX #9), as the inside of a character class."""

INVISIBLE_CLASS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065\u206a-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
"""Other characters that show nothing, in the same form."""

_LOOKALIKES = {
    "A": "ΑАᎪꓮ", "B": "ΒВᏴꓐⲂ", "C": "СᏟⲤꓚϹ", "D": "Ꭰꓓ", "E": "ΕЕᎬꓰⴹ", "F": "Ϝꓝ", "G": "ԌᏀᏳꓖ", "H": "ΗНᎻⲎꓧ",
    "I": "ΙІӀⲒꓲ", "J": "ͿЈᎫꓙ", "K": "ΚКᏦⲔꓗ", "L": "ᏞⳐꓡ", "M": "ΜϺМᎷⲘꓟ", "N": "ΝⲚꓠ", "O": "ΟОՕⲞꓳ", "P": "ΡРᏢⲢꓑ",
    "Q": "Ԛⵕ", "R": "ƦᎡᏒꓣ", "S": "ЅՏᏕᏚꓢ", "T": "ΤТᎢⲦꓔ", "U": "Սꓴ", "V": "ѴᏙꓦⴸ", "W": "ԜᎳᏔꓪ", "X": "ΧХⲬⵝꓫ",
    "Y": "ΥУҮᎩᎽⲨꓬ", "Z": "ΖᏃꓜ",
    "a": "ɑαа", "b": "ƄЬᏏ", "c": "сᴄⲥꮯϲ", "d": "ԁɗ", "e": "еҽℯꬲ", "f": "ẝꞙꬵ", "g": "ɡցᶃ", "h": "һհᏂ",
    "i": "ıɩɪιіꭵ", "j": "ϳј", "k": "ĸκⲕ", "l": "ƖǀӏⲒ", "n": "ոռ", "o": "οσоօⲟჿᴏ", "p": "ρрⲣ", "q": "ԛգզ",
    "r": "гᴦⲅꮁ", "s": "ƽѕꜱꮪ", "t": "τƫ", "u": "ʋυսᴜ", "v": "νѵᴠꮩ", "w": "ɯѡԝաᴡꮃ", "x": "хⲭ", "y": "ɣʏγуүყỿ", "z": "ᴢꮓ",
}  # fmt: skip

# Similar enough inside a word of Latin letters, but ordinary letters elsewhere.
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


# Look like the small or the capital form of a letter or digit, for case-insensitive comparison.
_IN_NAMES = {
    "2": "ƨϩᒿꙅƧ", "3": "ȝɜзʒӡⳍƷЗӠƐꝪ", "4": "Ꮞ", "5": "ƽƼ", "6": "бᏮⳓ", "8": "ȣ৪੪ଃ", "9": "৭੧୨൭ⳋ", "a": "ᴀᗅ⍺",
    "b": "ьƅᑲβᖯᗷᏼ", "c": "ⅽ", "d": "Ꮷᑯᗞᗪ", "e": "єε℮", "f": "ƒϝᖴſ", "g": "ƍԍɢ", "h": "ᕼʜ", "i": "ӏᎥⲒ",
    "j": "ʝᒍ", "k": "кᴋ", "l": "ⅼ|ӀΙІιɩіוןاᒪⵏᛁʟ", "m": "мᴍᗰⅿ", "n": "пɴ", "o": "ᴑơ૦੦०০௦೦൦๐໐〇ဝוסەဿዐⵔ",
    "p": "ϱᴩᑭ", "r": "ꭇꭈʀᖇ", "t": "тᴛ", "u": "ꞟሀᑌ", "v": "ᐯט", "w": "шω", "x": "χᕁ×᙭ꭓ", "z": "ʐ",
}  # fmt: skip
_FOLDED = {char: letter.lower() for letter, chars in _LOOKALIKES.items() for char in chars} | {
    char: letter for letter, chars in _IN_NAMES.items() for char in chars
}
_STROKES = [char for char, letter in _FOLDED.items() if letter == "i"] + list("1Ii|")  # all look like l
_BY_LOOK = str.maketrans(_FOLDED | dict.fromkeys(_STROKES, "l") | {"0": "o"})


def look(name: str) -> str:
    """Return the look of a name: decomposed, look-alikes of every script as one ASCII letter, case folded.

    Looks are for comparing, not for showing.
    """
    # Replaced three times: before NFKC, which maps some look-alikes (ϲ) to a letter that looks different (ς);
    # after it, for compatibility forms of other look-alikes; and after folding, because some look like a
    # capital and some like a small letter.
    drawn = unicodedata.normalize("NFD", name).translate(_BY_LOOK)
    drawn = unicodedata.normalize("NFKD", drawn).translate(_BY_LOOK)
    return unicodedata.normalize("NFD", drawn.casefold()).translate(_BY_LOOK)
