"""The rules of the obfuscation signal, each with a bad and a good example."""

from __future__ import annotations

from codeguard.models import Confidence, Severity
from codeguard.signals.base import Rule

_SPACES = " " * 120

RULES: tuple[Rule, ...] = (
    Rule(
        "runs-built-text",
        "exec or eval of a text made of character codes, encoded data or backward text",
        Severity.HIGH,
        Confidence.HIGH,
        "Whoever wants to run code writes it; whoever wants to hide it puts it together.",
        bad="exec(''.join(map(chr, [112, 114, 105, 110, 116, 40, 49, 41])))\n",
        good="exec('x = 1')\n",
        cwe=(506, 94),
    ),
    Rule(
        "hidden-call",
        "a dangerous function called by a name that is put together",
        Severity.HIGH,
        Confidence.HIGH,
        "`getattr(os, 'sys' + 'tem')` has no use but to escape a search for `os.system`.",
        bad="import os\n\ngetattr(os, 'sys' + 'tem')('true')\n",
        good="import os\n\nos.system('true')\n",
        cwe=(506,),
    ),
    Rule(
        "hidden-text",
        "encoded text that comes to code or to the name of a dangerous function",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        "Decoded here, without being run, it is one step from it. Encoded pictures, certificates and tables are fine.",
        bad="import base64\n\nstep = base64.b64decode('aW1wb3J0IG9zOyBwcmludCgxKQ==')\n",
        good="import base64\n\nname = base64.b64decode('R3LDvMOfZSBhdXMgQmVybGlu')\n",
        cwe=(506,),
    ),
    Rule(
        "encoded-blob",
        "a long stretch of encoded data",
        Severity.INFO,
        Confidence.LOW,
        "Test vectors and pictures look like this. Medium in a file that decodes data and runs text that is not "
        "written in it.",
        bad="DATA = '"
        + "QWxhZGRpbjpvcGVuIHNlc2FtZTEyMzQ1Njc4OTBhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eg" * 4
        + "'\n",
        good="DATA = 'open sesame'\n",
        cwe=(506,),
    ),
    Rule(
        "escaped-text",
        "letters written as escapes",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        "Text that could be typed is spelled in escapes so that nobody finds it. Low where it names nothing dangerous.",
        bad="name = '\\x73\\x75\\x62\\x70\\x72\\x6f\\x63\\x65\\x73\\x73'\n",
        good="magic = b'\\x89PNG\\x0d\\x0a\\x1a\\x0a'\n",
        cwe=(506,),
    ),
    Rule(
        "far-right",
        "code behind a long stretch of spaces",
        Severity.HIGH,
        Confidence.MEDIUM,
        "Editors and reviews show the beginning of a line.",
        bad=f"x = 1;{_SPACES}import os\n",
        good="x = 1\nimport os\n",
        cwe=(506, 1007),
    ),
    Rule(
        "identifier-soup",
        "names of nothing but l, I, 1, O and 0, or of hexadecimal numbers",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        "Tools that make code unreadable name variables like this.",
        bad="lIlIlI = 1\nIlIlIl = lIlIlI + 1\nlllIII = IlIlIl + lIlIlI\n",
        good="low = 1\nhigh = low + 1\ntotal = high + low\n",
        cwe=(506, 1007),
    ),
    Rule(
        "nested-lambdas",
        "lambdas within lambdas within lambdas",
        Severity.MEDIUM,
        Confidence.LOW,
        "Statements packed into expressions to fit exec, or nobody's eye.",
        bad="f = (lambda a: (lambda b: (lambda c: (lambda d: d(a, b, c)))(b))(a))(print)\n",
        good="f = lambda a: lambda b: a + b\n",
        cwe=(506,),
    ),
)
