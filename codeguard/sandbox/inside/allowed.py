"""Which standard modules the code can import; all are loaded before the first child is made."""

from __future__ import annotations

from . import words

# pure computation: facades in the restricted tier
_COMPUTING = words(
    "__future__ _collections_abc abc array base64 binascii bisect calendar cmath collections collections.abc colorsys",
    "contextlib copy dataclasses datetime decimal difflib enum fractions functools hashlib heapq hmac",
    "html html.entities html.parser ipaddress itertools json keyword math numbers operator pprint queue random re",
    "reprlib secrets statistics string struct textwrap time types typing unicodedata uuid warnings weakref",
    "typing_extensions zlib graphlib stringprep contextvars urllib.parse shlex fnmatch errno quopri",
)

# facades of these show nothing but what is named here: no file, no process, no frame, no module
CHOSEN: dict[str, list[str]] = {
    "sys": words(
        "version version_info hexversion api_version maxsize maxunicode byteorder float_info int_info hash_info",
        "getsizeof getrecursionlimit setrecursionlimit intern platform exc_info exit stdout stderr stdin argv",
        "get_int_max_str_digits set_int_max_str_digits getrefcount is_finalizing",
    ),
    "os": words(
        "sep linesep altsep extsep pathsep curdir pardir devnull name environ getenv fspath PathLike urandom getpid"
    ),
    "os.path": words(
        "basename commonpath commonprefix dirname isabs join normcase normpath split splitdrive splitext sep",
        "altsep extsep pathsep curdir pardir",
    ),
    "io": words(
        "StringIO BytesIO TextIOWrapper BufferedReader BufferedWriter IOBase RawIOBase BufferedIOBase TextIOBase",
        "SEEK_SET SEEK_CUR SEEK_END UnsupportedOperation DEFAULT_BUFFER_SIZE",
    ),
    "threading": words("Lock RLock get_ident local Condition Event Semaphore BoundedSemaphore"),
    "_weakref": words("ref proxy ReferenceType ProxyType getweakrefcount"),
    # how addresses are written; nothing that makes a socket
    "socket": words(
        "AF_INET AF_INET6 SOCK_STREAM SOCK_DGRAM inet_pton inet_ntop inet_aton inet_ntoa htons ntohs htonl ntohl",
        "gethostname error timeout gaierror herror",
    ),
    "_thread": words("get_ident allocate_lock RLock LockType"),
    "codecs": words("encode decode BOM_UTF8 BOM_UTF16 BOM_UTF16_LE BOM_UTF16_BE BOM_UTF32 escape_decode"),
}

# doors to the system: only the native tier may import them, and finds them locked
_SYSTEM = words(
    "os os.path posixpath ntpath stat errno sys io socket subprocess threading _thread signal select",
    "selectors tempfile shutil pathlib glob platform getpass logging traceback inspect ast dis gc",
    "importlib marshal pickle codecs locale gettext csv argparse token tokenize linecache builtins atexit",
    "genericpath fcntl resource code multiprocessing ctypes timeit copyreg gzip bz2 lzma zipfile _strptime",
    "importlib.abc importlib.util",
    # what packages ask for at their top: mail, addresses, forms of files. Written in Python or parsers in C; they
    # add no system call to what `os`, `socket` and `ctypes` have, and the kernel refuses those
    "email email.message email.utils email.header email.headerregistry email.parser email.policy email.generator",
    "email.mime.multipart email.mime.text http http.client http.cookies http.cookiejar http.server mimetypes netrc",
    "urllib.error urllib.request urllib.response urllib.robotparser wsgiref.headers wsgiref.util socketserver ssl",
    "asyncio concurrent.futures configparser tomllib plistlib tarfile xml.etree.ElementTree xml.sax.saxutils",
    "xml.dom.minidom getopt optparse pkgutil zipimport importlib.machinery importlib.metadata importlib.resources",
    "sysconfig mmap _string",
    # what tools are made of: they run, compile, test and watch code, and add no system call either
    "bdb cmd code codeop doctest filecmp fileinput pdb profile pstats py_compile pydoc runpy symtable unittest",
    "unittest.mock ftplib imaplib poplib smtplib telnetlib xmlrpc.client multiprocessing.connection",
    "zoneinfo logging.config logging.handlers concurrent.futures.process concurrent.futures.thread",
    "email.mime.application email.mime.audio email.mime.image ctypes.util multiprocessing.pool wsgiref.handlers",
    "wsgiref.simple_server xmlrpc.server mailbox webbrowser sched shelve cProfile trace tracemalloc tty pty wave",
)

# what the numeric zygote has as well: compiled, so it is loaded before the confinement, as codeguard loads it itself
NUMERIC: tuple[str, ...] = (
    *words("numpy numpy.linalg numpy.fft numpy.random numpy.ma numpy.polynomial numpy.typing numpy.testing"),
    "numpy.lib.stride_tricks",
)

_ENCODINGS = words(
    "utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 latin_1 ascii cp1252 cp437 charmap idna punycode",
    "hex_codec base64_codec rot_13 unicode_escape raw_unicode_escape aliases undefined",
)

# what the lean zygote has: few modules, few shared objects, so its fork is cheap
_CORE = words(
    "__future__ _collections_abc abc bisect builtins collections collections.abc contextlib copy enum functools heapq",
    "itertools json keyword math numbers operator re string textwrap time types typing",
)

CORE: tuple[str, ...] = tuple(_CORE)
given: set[str] = set()  # top-level names of what the user lets the native tier import as well
COMPUTING: frozenset[str] = frozenset(_COMPUTING)
SYSTEM: frozenset[str] = frozenset(_SYSTEM) - COMPUTING - frozenset(CHOSEN)
ALL: tuple[str, ...] = (*_COMPUTING, *_SYSTEM, *(f"encodings.{encoding}" for encoding in _ENCODINGS))


def withheld(name: str) -> bool:
    """Return whether a module is there for the native tier alone."""
    return name in SYSTEM or name.partition(".")[0] in SYSTEM | given | {NUMERIC[0]}
