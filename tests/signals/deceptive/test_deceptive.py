"""Attacks with deceptive characters are seen in every language; natural text of any script is left alone."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext, Match
from codeguard.analysis.rules.deceptive import SIGNAL
from codeguard.models import Severity, SourceFile

RLO, RLI, LRI, PDI, PDF = "\u202e", "\u2067", "\u2066", "\u2069", "\u202c"
LRE, RLE = "\u202a", "\u202b"
SEVERITY = {rule.id: rule.severity for rule in SIGNAL.rules}


def matches(text: str, language: str = "python") -> list[Match]:
    if language == "php":
        text = f"<?php\n{text}"
    return list(SIGNAL.inspect(Reading(SourceFile("f", text, "", language, ())), DetectorContext()))


def severity(match: Match) -> Severity:
    return SEVERITY[match.rule] if match.severity is None else match.severity


def loud(text: str, language: str = "python") -> list[str]:
    return [match.rule for match in matches(text, language) if severity(match) > Severity.INFO]


def high(text: str, language: str) -> list[str]:
    return [match.rule for match in matches(text, language) if severity(match) >= Severity.HIGH]


# After the attacks of the Trojan Source paper (Boucher and Anderson 2021), written anew with harmless bodies.
BRACES = ("c", "cpp", "csharp", "javascript", "java", "rust", "go", "typescript", "php")
TROJAN = [
    *[(lang, f"/*{RLO} }} {LRI}if (isAdmin){PDI} {LRI} begin admins only */\nshow();\n/* end {RLO} {{ {LRI}*/\n")
      for lang in BRACES if lang != "php"],
    *[(lang, f'if (level != "user{RLO} {LRI}// check if admin{PDI} {LRI}") {{\n  show();\n}}\n') for lang in BRACES],
    *[(lang, f"/* say {RLI}*/ return; // when done\nshow();\n") for lang in BRACES],
    ("python", f"def f(a):\n    '''Say when {RLI}''' ;return\n    a -= 1\n"),
    ("python", f"if level != 'user{RLO} {LRI}# check if admin{PDI} {LRI}':\n    show()\n"),
    ("ruby", f"if level != 'user{RLO} {LRI}# check if admin{PDI} {LRI}'\n  show\nend\n"),
    ("bash", f"# say {RLI} fi\nshow\n"),
    *[(lang, "is\u200bAdmin();\n") for lang in BRACES],
    *[(lang, "say\u041dello();\n") for lang in BRACES],
    ("python", "def say\u041dello():\n    pass\n"),
    ("python", "is\u200badmin(user)\n"),
    ("go", f"var x = `a{RLO}b` // c\n"),
    *[(lang, f"/* {RLE} }} {LRE}if (isAdmin){PDF} {{ begin admins only {PDF}*/\nshow();\n") for lang in BRACES],
    *[(lang, f"/* {RLI} }} if (isAdmin) {{ {PDI}*/\nshow();\n") for lang in BRACES],
    *[(lang, f"/* {RLE}\u05d0 }} {LRE}if (isAdmin) {{{PDF} x{PDF}*/\nshow();\n") for lang in BRACES],
    ("python", f"# {RLE}if is_admin(user): {PDF}\nshow()\n"),
    ("bash", f"# {RLE}if admin; then{PDF}\nshow\n"),
    ("c", "int a;\0 int b;\n"),
    ("rust", f'let s = "a{RLI} b"; // c\n'),
]  # fmt: skip
OTHERS = [
    ("python", "a = 1 # \U000e0068\U000e0069 x\n", "hidden-data"),
    ("python", "s = 'x\ufe01\ufe02\ufe03\ufe04'\n", "hidden-data"),
    ("python", "s = 'x" + "\u200b\u200c" * 8 + "'\n", "hidden-data"),
    ("markdown", "Fine\U000e0069\U000e0067\n", "hidden-data"),
    ("javascript", "const { t,\u3164 } = req.query;\n", "invisible"),
    ("java", "int a\u00adb = 1;\n", "invisible"),
    ("python", "if role == 'ad\u200bmin':\n    pass\n", "invisible"),
    ("python", "# ad\u2060min\n", "invisible"),
    ("python", f"name = '{RLO}gpj.exe{PDF}'\n", "bidi-override"),
    ("python", "\u0441opy = 1\n", "lookalike-name"),
    ("python", "import \u0441\u043e\u0440\u0443\n", "lookalike-name"),
    ("python", "get_\u0430\u0441\u0441ess = 1\n", "lookalike-name"),
    ("go", "var \u0391dmin = 1\n", "lookalike-name"),
    ("c", "int \u0585pen = 1;\n", "lookalike-name"),
    ("python", "\u0430 = 1\na = 2\n", None),
    ("python", "s\u0131ra = 1\nsira = 2\n", "colliding-name"),
    ("python", "\U0001d452\U0001d463\U0001d44e\U0001d459('1')\n", "styled-name"),
    ("python", "os.\uff53ystem('true')\n", "styled-name"),
    ("python", "open(\ufb01le)\n", "styled-name"),
    ("c", "int a = 1\u037e\n", "lookalike-punctuation"),
    ("go", "if a \uff1d\uff1d b {}\n", "lookalike-punctuation"),
    ("javascript", "if (environment\u01c3=ENV) {}\n", None),
    ("python", "check()  # no\b\b off\n", "overprint"),
    ("c", "/* \x1b[8m */ int a;\n", "overprint"),
    ("python", "# a fine line\rimport os\nx = 1\n", "overprint"),
    ("python", "# fine\u2028x = 1\n", "line-separator"),
    ("python", "s = 'x \U0001f600" + "\ufe01\ufe02\ufe03\ufe04\U000e0101'\n", "hidden-data"),
    ("python", "# 葛\U000e0100\U000e0101\U000e0102\U000e0103\n", "hidden-data"),
    ("python", "is\u2800admin = 1\n", "invisible"),
    ("python", "s = 'ad\u2800min'\n", "invisible"),
    ("python", "s = 'x" + "\u2800" * 9 + "'\n", "hidden-data"),
    ("python", "x\ue000 = 1\n", "lookalike-name"),
    ("python", "if a =\u0338= b:\n    pass\n", "lookalike-punctuation"),
    ("python", "s = 'a\0b'\n", "overprint"),
    ("javascript", "// fine\u2028x = 1\n", "line-separator"),
]  # fmt: skip
CLEAN = [
    ("python", "# Gibt die Größe zurück; déjà vu, señor, İstanbul, sıra\nstraße = 'ß'\nnaïve_größe = 1\n"),
    ("python", "# Возвращает сумму\nимя = 'Привет'\ntest_имя = 1\nоса = 2\nс = 3\n"),
    ("python", "Δt = 0.1\nλ_max = σ = 2\ndσ = ρ0 = 1\nν = α = ω_0 = 3\nx_µ = 1\n"),
    ("python", "# 文字列を返す（例：「あ」）。\n名前 = '日本語'\ngetデータ = 1\nユーザーID = 2\n"),
    ("python", "변수 = '한국어 ㅎㅎ'  # 주석\nuser이름 = 1\n"),
    ("python", "# هذا تعليق بالعربية، انظر f(x)\nالاسم = 'مرحبا'\ns = 'שלום \u200f(a)\u200f'\n"),
    ("python", "s = 'می\u200cخواهم'  # نمی\u200cدانم\nt = 'क्\u200dष क्\u200c'\n"),
    ("python", f"s = '{RLI}שלום{PDI} {LRI}abc{PDI}'\n"),
    ("python", "s = '👨\u200d👩\u200d👧 🏳️\u200d🌈 ❤️ 1️⃣ ☎︎'\n"),
    ("python", "s = '🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f'\n"),
    ("python", "s = '葛\U000e0100 ᠮᠣᠩᠭᠣᠯ\u180eᠠ ไทย\u200bไทย soft\u00adhyphen'\n"),
    ("python", "\ufeffx = 1  # “quotes” – dash… € × ≠\n"),
    ("python", "x = 1\r\ny = '\\x1b[0m'\r\n\x0cz = 2\n"),
    ("python", "x = 1\ry = 2\r"),
    ("tsx", "const a = <p>你好（世界）；Don’t – “x”</p>;\n"),
    ("markdown", "שלום \u200f*עולם*\n\nWait… – 5 × 3 ≠ 14 ￥100\n"),
    ("python", "vₘₐₓ = 1\nxⁿ = ế = ấ_b = 1\n"),
    ("go", "type Größe int // π ≈ 3\nvar 世界 = `﷽`\n"),
    ("python", f"# {RLE}שלום (a, b){PDF} {LRE}abc{PDF}\ns = '{RLI}שלום f(x){PDI}'\n"),
    ("python", "frames = '⠋⠙⠹⠸'\n# ⣿⠀⠀⠀⠀⠀⠀⠀⠀⠀⣿\n"),
    ("python", 'def f():\n    """hello⠀⠀hi\n\n    >>> line\n    <Line \'⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀\'>\n    """\n'),
    ("python", "if s[0] == '\ufeff':\n    pass\n"),
    ("python", "s = '≨︀ 〇︀ 👁️\u200d🗨️ ❤️\u200d🔥'\n"),
    ("tsx", "const a = <p>Total:\u00a05\u00a0kg</p>;\n"),
    ("python", "icon = '\ue0b0 \uf00c'\nprix = '5\u00a0€'  # 5\u00a0€\n"),
    ("javascript", "let tags = 1;\n// …not change my tags?\nfunction …not() {}\n"),
    ("python", "हिन्दी = 'नमस्ते'\nதமிழ் = 1\n"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), TROJAN)
def test_trojan_source(language: str, text: str) -> None:
    assert high(text, language)


@pytest.mark.parametrize(("language", "text", "rule"), OTHERS)
def test_other_attacks(language: str, text: str, rule: str | None) -> None:
    found = loud(text, language)
    assert rule in found if rule else found


@pytest.mark.parametrize(("language", "text"), CLEAN)
def test_natural_text_is_left_alone(language: str, text: str) -> None:
    assert loud(text, language) == []


def test_what_is_hidden_is_shown() -> None:
    text = "# fine" + "".join(chr(0xE0000 + ord(char)) for char in "run the other one") + "\n"
    assert "run the other one" in matches(text)[0].reason


def test_places_are_exact() -> None:
    text = "x = 1\nis\u200bA = 2\n"
    assert [(one.start, one.end) for one in matches(text) if one.rule == "invisible"] == [(8, 9)]


@pytest.mark.parametrize(
    "piece", ["\u202e", "\u200d", "\U000e0041 ", "\u0430b ", "\u037e", "'\u202e'", "\x08 ", "\r x"]
)
@pytest.mark.parametrize("language", ["python", "javascript", "markdown"])
def test_hostile_text_is_bounded(piece: str, language: str) -> None:
    assert len(matches(piece * 30_000 + "\n", language)) <= 6_000
