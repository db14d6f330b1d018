"""Looks of names: two names that a reader takes for the same word get the same look (UTS #39, section 4)."""

from __future__ import annotations

import unicodedata

# Letters of other scripts (Greek, Cyrillic, Armenian, Cherokee, Coptic, Lisu, Canadian, Indic, phonetic) that
# common fonts draw like the small or the capital form of a letter of ASCII. Written for file names, so it holds
# what words are made of and not every symbol of Unicode's own table.
_LOOKALIKES = {
    "2": "ƨϩᒿꙅƧ",
    "3": "ȝɜзʒӡⳍƷЗӠƐꝪ",
    "4": "Ꮞ",
    "5": "ƽƼ",
    "6": "бᏮⳓ",
    "8": "ȣ৪੪ଃ",
    "9": "৭੧୨൭ⳋ",
    "a": "аαɑᴀАΑᎪᗅꓮ⍺",
    "b": "ьƅᏏᑲβᖯВΒᏴᗷꓐᏼ",
    "c": "сϲᴄⲥСϹᏟⲤꓚⅽ",
    "d": "ԁɗᏧᑯᎠᗞᗪꓓ",
    "e": "еҽєεℯ℮ЕΕᎬⴹꓰ",
    "f": "ƒꞙẝϝϜᖴꓝſ",
    "g": "ɡցᶃƍԍᏀᏳꓖɢ",
    "h": "һհᏂНΗᎻᕼⲎꓧʜ",
    "i": "іıɩιɪӏІΙӀꭵᎥⲒ",
    "j": "јϳʝЈͿᎫᒍꓙ",
    "k": "кκᴋКΚᏦⲔꓗ",
    "l": "ⅼǀ|ӏӀΙІιɩіוןاᏞᒪⳐꓡⵏᛁʟ",
    "m": "мᴍМΜϺᎷᗰⲘꓟⅿ",
    "n": "ոռпɴΝⲚꓠ",
    "o": "оοօσᴏᴑơОΟՕⲞꓳ૦੦०০௦೦൦๐໐〇ဝוסօەဿዐⵔ",
    "p": "рρϱᴩРΡᏢᑭⲢꓑ",
    "q": "ԛզգԚⵕ",
    "r": "гᴦⲅꭇꭈʀᎡᏒᖇꓣ",
    "s": "ѕꜱЅՏᏕᏚꓢ",
    "t": "тτᴛТΤᎢⲦꓔ",
    "u": "υսᴜʋꞟՍሀᑌꓴ",
    "v": "νѵᴠѴᏙᐯꓦⴸט",
    "w": "ԝѡաᴡɯшωԜᎳᏔꓪ",
    "x": "хχᕁ×ХΧ᙭Ⲭꓫⵝꭓⲭ",
    "y": "уγүʏɣყỿУΥҮᎩⲨꓬ",
    "z": "ᴢᏃΖꓜʐ",
}
_STROKES = _LOOKALIKES["i"] + "1Ii|"  # i, l, 1 and | are one look: a thin stroke
_TABLE = str.maketrans(
    {twin: letter for letter, twins in _LOOKALIKES.items() for twin in twins}
    | dict.fromkeys(_STROKES, "l")
    | {"0": "o"}
)


def look(name: str) -> str:
    """Return what a name looks like: decomposed, look-alikes of every script as one ASCII letter, case folded.

    Looks are for comparing, not for showing.
    """
    # Before NFKC, which takes some look-alikes (ϲ) for a letter that looks different (ς); after it, for those
    # that are forms of another look-alike; and after folding, as some pass for a capital and some for a small one.
    drawn = unicodedata.normalize("NFD", name).translate(_TABLE)
    drawn = unicodedata.normalize("NFKD", drawn).translate(_TABLE)
    return unicodedata.normalize("NFD", drawn.casefold()).translate(_TABLE)
