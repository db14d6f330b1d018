"""Which standard modules the code can import; all are loaded before the first child is made."""

from __future__ import annotations

from .words import words

# pure computation: facades in the restricted tier
_COMPUTING = words(
    "__future__ abc array base64 binascii bisect calendar cmath collections collections.abc colorsys",
    "contextlib copy dataclasses datetime decimal difflib enum fractions functools hashlib heapq hmac",
    "html html.entities ipaddress itertools json keyword math numbers operator pprint queue random re",
    "reprlib secrets statistics string struct textwrap time timeit types typing unicodedata uuid warnings",
    "weakref zlib graphlib copyreg stringprep contextvars urllib.parse shlex fnmatch",
)

# doors to the system: only the native tier may import them, and finds them locked
_SYSTEM = words(
    "os os.path posixpath ntpath stat errno sys io socket subprocess threading _thread signal select",
    "selectors tempfile shutil pathlib glob platform getpass logging traceback inspect ast dis gc",
    "importlib marshal pickle codecs locale gettext csv argparse token tokenize linecache builtins atexit",
    "genericpath fcntl resource code types struct multiprocessing ctypes",
)

_ENCODINGS = words(
    "utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 latin_1 ascii cp1252 cp437 charmap idna punycode",
    "hex_codec base64_codec rot_13 unicode_escape raw_unicode_escape aliases undefined",
)

# what the lean zygote has: few modules, few shared objects, so its fork is cheap
_CORE = words(
    "__future__ abc bisect builtins collections collections.abc contextlib copy enum functools heapq",
    "itertools json keyword math numbers operator re string textwrap time types typing",
)

CORE: tuple[str, ...] = tuple(_CORE)
COMPUTING: frozenset[str] = frozenset(_COMPUTING)
SYSTEM: frozenset[str] = frozenset(_SYSTEM) - COMPUTING
ALL: tuple[str, ...] = (*_COMPUTING, *_SYSTEM, *(f"encodings.{encoding}" for encoding in _ENCODINGS))
