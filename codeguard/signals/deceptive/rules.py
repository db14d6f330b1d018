"""The rules about characters that show something other than what the machine reads."""

from __future__ import annotations

from codeguard.models import Confidence, Severity
from codeguard.signals.base import Rule

BIDI = Rule(
    "bidi",
    "bidirectional controls reorder code on the screen",
    Severity.HIGH,
    Confidence.HIGH,
    "A bidirectional control in code, or one in a comment or string that is not closed on its line, "
    "lets an editor show the tokens around it in another order than the compiler reads them "
    "(Trojan Source, CVE-2021-42574). Write the character as an escape, or close what was opened.",
    bad='if level != "user\u202e \u2066# admins only\u2069 \u2066":\n    grant()\n',
    good='if level != "user":  # admins only\n    grant()\n',
    cwe=(1007, 451),
)
OVERRIDE = Rule(
    "bidi-override",
    "a bidirectional override shows text backwards",
    Severity.MEDIUM,
    Confidence.MEDIUM,
    "Natural right-to-left text needs no override: marks and isolates do. An override makes letters "
    "run against their direction, so that a name or an address reads as another one.",
    bad='name = "\u202egpj.exe\u202c"\n',
    good='name = "exe.jpg"\n',
    cwe=(451,),
)
INVISIBLE = Rule(
    "invisible",
    "an invisible character where none belongs",
    Severity.HIGH,
    Confidence.HIGH,
    "Zero-width characters, fillers, soft hyphens and stray variation selectors in code make two names "
    "out of one that looks the same. In text they are fine where a script or an emoji needs them.",
    bad="def is_admin\u3164(user):\n    return True\n",
    good="def is_admin(user):\n    return user.admin\n",
    cwe=(1007,),
)
HIDDEN = Rule(
    "hidden-data",
    "a run of invisible characters carries data",
    Severity.HIGH,
    Confidence.HIGH,
    "Tag characters, variation selectors and zero-width characters in a row write text that only a "
    "machine sees, a language model among them. Flags of regions are the one use of tag characters.",
    bad="# fine\U000e0068\U000e0069\U000e0064\U000e0065\n",
    good="# fine\n",
    cwe=(451,),
)
LOOKALIKE_NAME = Rule(
    "lookalike-name",
    "a name with letters of another script that pass for Latin ones",
    Severity.HIGH,
    Confidence.HIGH,
    "The name reads as an ordinary Latin one but holds letters of another script (UTS #39 mixed-script "
    "confusable). A call of the real name and of this one cannot be told apart.",
    bad="def p\u0430yload():\n    pass\n",
    good="def payload():\n    pass\n",
    cwe=(1007,),
)
COLLIDING = Rule(
    "colliding-name",
    "two names of one file look the same",
    Severity.HIGH,
    Confidence.HIGH,
    "This name differs from another name of the file, a keyword or a builtin only in characters that "
    "look alike (equal skeletons of UTS #39).",
    bad="def l\u0131st_of(items):\n    return items\n\ndef list_of(items):\n    return list(items)\n",
    good="def list_of(items):\n    return list(items)\n",
    cwe=(1007,),
)
STYLED = Rule(
    "styled-name",
    "a name in styled letters that the language folds to plain ones",
    Severity.HIGH,
    Confidence.HIGH,
    "Python normalises names by NFKC: mathematical, fullwidth and ligature letters call the plain name, "
    "and a search for that name does not find the call.",
    bad="\U0001d41e\U0001d42f\U0001d41a\U0001d425(source)\n",
    good="eval(source)\n",
    cwe=(1007, 506),
)
MIXED = Rule(
    "mixed-script",
    "a word of a name mixes scripts",
    Severity.INFO,
    Confidence.LOW,
    "Letters of two scripts in one word, which no writing system combines (UTS #39, highly restrictive "
    "level), though nothing in it passes for something else.",
    bad="get\u0418\u043c\u044f = 1\n",
    good="get_\u0438\u043c\u044f = 1\n",
    cwe=(1007,),
)
PUNCTUATION = Rule(
    "lookalike-punctuation",
    "punctuation of another script in code",
    Severity.MEDIUM,
    Confidence.MEDIUM,
    "A character that passes for an operator or a separator but is none: what looks like two statements "
    "or a comparison is something else, or nothing at all.",
    bad="int a = 1\u037e int b = 2;\n",
    good="int a = 1; int b = 2;\n",
    cwe=(1007,),
    language="c",
)
STACKED = Rule(
    "stacked-marks",
    "combining marks stacked in a name",
    Severity.MEDIUM,
    Confidence.MEDIUM,
    "Several combining marks on one Latin letter of a name cover what stands around them.",
    bad="a\u0300\u0336\u0315 = 1\n",
    good="\u00e0 = 1\n",
    cwe=(1007,),
)
OVERPRINT = Rule(
    "overprint",
    "control characters that overwrite what a terminal shows",
    Severity.HIGH,
    Confidence.HIGH,
    "A backspace, an escape sequence or a carriage return inside a line makes `cat`, `git diff` and "
    "`less -r` show other text than the file holds.",
    bad="check(user)  # no\x08\x08\x08\x08 off\n",
    good="check(user)\n",
    cwe=(150, 451),
)
SEPARATOR = Rule(
    "line-separator",
    "a Unicode line separator splits a line for some readers only",
    Severity.HIGH,
    Confidence.MEDIUM,
    "U+2028, U+2029 and U+0085 end a line for some editors and for JavaScript, not for other languages: "
    "what looks like a comment may be code, what looks like code a comment.",
    bad="// check the user\u2028grant();\n",
    good="// check the user\ngrant();\n",
    cwe=(451,),
    language="javascript",
)

RULES = (
    BIDI,
    OVERRIDE,
    INVISIBLE,
    HIDDEN,
    LOOKALIKE_NAME,
    COLLIDING,
    STYLED,
    MIXED,
    PUNCTUATION,
    STACKED,
    OVERPRINT,
    SEPARATOR,
)
