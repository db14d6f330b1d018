"""What library functions do, by language: one table of sources, sinks and clients for flaws and for malice; and for
Python the sources of untrusted input and the sanitizers of the standard library and of well-known packages.

Plain names are in `effects.toml` and `tables.toml`, patterns and what is computed are here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from codeguard.corpus.patterns import lazy, stored
from codeguard.flow.values import ALL_USES, RESOLVED, TEXT_USES, Reach, Use

WRITING = frozenset({"write", "writelines", "write_text", "write_bytes"})
_SINKS = {
    "code": "code",
    "shells": "command",
    "starts": "command",
    "commands": "command",
    "loads": "load",
    "looks_up": "look-up",
    "sends": "send",
}
_WRITING = ("store", "copies", "open", "destroys")
_LANGUAGES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}
_PARTS = 4  # of a name, at most


@dataclass(frozen=True, slots=True)
class Effects:
    """The table of one language: names by use, with the relevant argument if the row has one.

    `exact` says that names count whole, as Python's do, whose imports are resolved.
    """

    uses: Mapping[str, Mapping[str, str]]
    exact: bool
    words: re.Pattern[str]

    def has(self, use: str, name: str) -> bool:
        """Return whether a dotted name belongs to a use."""
        return self.of(use, name) is not None

    def of(self, use: str, name: str) -> str | None:
        """Return the row of a dotted name in a use, or None."""
        known = self.uses.get(use, {})
        if self.exact:
            return known.get(name, known.get(f".{name.rpartition('.')[2]}"))
        parts = name.replace("/", ".").split(".")
        for count in range(min(_PARTS, len(parts)), 0, -1):
            found = known.get(".".join(parts[-count:]))
            if found is not None and (count > 1 or len(parts) == 1):
                return found
        return None

    def acts(self, name: str) -> bool:
        """Return whether a function sends, runs, loads, looks up, connects, writes or deletes something.

        Of Python's, writing counts where its arguments are seen.
        """
        return self.has("acts", name)

    def may_act(self, text: str) -> bool:
        """Return quickly whether a text in the language has a word of such a function's name."""
        return self.words.search(text) is not None

    def sinks(self, name: str) -> list[str]:
        """Return everything that a function does with its arguments."""
        return list(dict.fromkeys(what for use, what in _SINKS.items() if self.has(use, name)))


_FILE = Path(__file__).with_suffix(".toml")


def effects_of(language: str) -> Effects | None:
    """Return the table of a language, or None if it has none."""
    language = _LANGUAGES.get(language, language)
    return _table(language) if language in stored(_FILE) else None


@cache
def _table(language: str) -> Effects:
    uses: dict[str, dict[str, str]] = {}
    for use, names in stored(_FILE)[language].items():
        if use == "host":
            uses[use] = {name: kind for kind, listed in names.items() for name in listed.split()}
        elif use == "constants":
            uses[use] = dict(item.split("=") for item in names.split())
        elif use != "exact":
            parted = (name.partition(":") for name in names.split())
            uses[use] = {name: number for name, _, number in parted}
    exact = stored(_FILE)[language].get("exact", False)
    known = {use: uses.get(use, {}) for use in (*_SINKS, *_WRITING, "connects")}
    acts = (*_SINKS, "copies", "destroys", "connects") if exact else (*_SINKS, *_WRITING)
    uses["acts"] = {name: "" for use in acts for name in known[use]}
    # Methods of a notebook's shell have names of their own for what they come to.
    acting = {"get_ipython", *WRITING, *(name for names in known.values() for name in names)}
    last = sorted({re.escape(name.rpartition(".")[2].rstrip("!")) for name in acting})
    words = lazy(rf"\b(?:{'|'.join(last)})\b")
    return Effects(uses, exact, words)


PYTHON = _table("python")


def python_names(*uses: str) -> frozenset[str]:
    """Return the names of Python's functions in some uses."""
    return frozenset(name for use in uses for name in PYTHON.uses[use])


SENDING, DECODING = python_names("sends"), python_names("decodes")
RUNNING_CODE, RUNNING_COMMANDS = python_names("code"), python_names("shells", "starts", "commands")


_TABLES: dict[str, Any] = stored(Path(__file__).with_name("tables.toml"))


def _cleaned(table: str) -> dict[str, frozenset[str]]:
    """Return the uses that functions make a value harmless for, by the functions' names."""
    return {name: _uses(row["uses"]) for row in _TABLES[table] for name in row["names"].split()}


def _uses(written: list[str]) -> frozenset[str]:
    groups: dict[str, frozenset[str]] = {"all": ALL_USES, "text": TEXT_USES, RESOLVED: frozenset({RESOLVED})}
    taken = [groups.get(use) or {Use(use)} for use in written if not use.startswith("-")]
    return frozenset[str]().union(*taken) - {Use(use[1:]) for use in written if use.startswith("-")}


REQUEST_PARTS = frozenset(_TABLES["request_parts"].split())
REQUEST_NAMES = frozenset({"request", "req", "http_request", "flask_request", "current_request"})
REQUEST_CLASSES = lazy(r"(?:^|\.)(?:\w*Request|HTTPConnection|WebSocket)$")

REMOTE_CALLS = frozenset(_TABLES["remote_calls"].split()) | python_names("fetched")
ANSWER = "answer"  # tag of responses to the program's own requests
ANSWERING = tuple(_TABLES["answering"].split())
ANSWERING_METHODS = frozenset(_TABLES["answering_methods"].split())
REMOTE_METHODS = frozenset(_TABLES["remote_methods"].split())
MAIL_METHODS = frozenset({"get_filename"})  # what the sender of a mail controls, in files that read mail
MAIL = ("email.", "imaplib.", "mailbox.")
REMOTE_VALUES = frozenset(_TABLES["remote_values"].split())
LOCAL_CALLS = frozenset(_TABLES["local_calls"].split()) | python_names("variable")
LOCAL_VALUES = frozenset({"sys.argv", "os.environ", "sys.stdin"})
ARCHIVE_NAMES = frozenset(
    f"{opened}.{method}"
    for opened in ("zipfile.ZipFile", "tarfile.open", "tarfile.TarFile", "tarfile.TarFile.open")
    for method in ("namelist", "infolist", "getnames", "getmembers")
)
FILE_READS = frozenset(_TABLES["file_reads"].split())

ROUTE = lazy(r"(?:^|\.)(?:route|get|post|put|patch|delete|websocket|api_view|api_route|view|view_config)$")
ROUTE_OWNERS = lazy(
    r"(?:^|[:.])(?:\w*app|\w*bp|\w*blueprint|\w*router|\w*routes|\w*api|bottle|flask\.\w+|fastapi\.\w+|"
    r"\w*Flask|\w*FastAPI|\w*APIRouter|\w*Blueprint|aiohttp\.web\.RouteTableDef|sanic\.Sanic)(?:\(\))?$",
    re.IGNORECASE,
)
VIEW_CLASSES = lazy(
    r"(?:^|\.)(?:\w*APIView|MethodView|Resource|(?:Template|List|Detail|Form|Create|Update|Delete|Redirect"
    r"|Archive|Date)?View|"
    r"HTTPEndpoint|\w*RequestHandler|WebSocketHandler|\w*ViewSet)$"
)
VERBS = frozenset(_TABLES["verbs"].split())

CLEANERS: Mapping[str, frozenset[str]] = _cleaned("cleaners")
HARMLESS = frozenset(name for name, uses in CLEANERS.items() if uses == ALL_USES) | {"int", "float"}
"""Functions of whose arguments nothing is left in the result."""
CLEANING_METHODS: Mapping[str, frozenset[str]] = _cleaned("cleaning_methods")
CLEANING_NAME = lazy(
    r"(?:^|_)(?:sanitize|sanitise|escape|quote|secure_filename|slugify|clean|bleach|redact"
    r"|safe_(?:join|url|redirect|next|path|filename|name|html))"
)
GUARD_NAME = lazy(
    r"(?:^|_)(?:is_)?(?:safe|valid|validate|validated|allowed|allow|trusted|permitted|whitelisted|allowlisted|"
    r"ensure|verify|assert|sanitize|has_allowed_host_and_scheme|acceptable|within|inside)(?:_|$)"
)
GUARDS: Mapping[str, frozenset[str]] = _cleaned("guards")
BUILDERS = frozenset(_TABLES["builders"].split())
FILLERS = frozenset(_TABLES["fillers"].split())
CONVERSIONS = frozenset(_TABLES["conversions"].split())
STOPS = frozenset(_TABLES["stops"].split())
REACH_OF_CALL: Mapping[str, Reach] = {
    **dict.fromkeys(REMOTE_CALLS, Reach.REMOTE),
    **dict.fromkeys(LOCAL_CALLS, Reach.LOCAL),
    **dict.fromkeys(FILE_READS, Reach.LOCAL),
}
SENT_KEYS = lazy(r"^(?:HTTP_(?!HOST$)\w+|QUERY_STRING|PATH_INFO|REQUEST_URI|wsgi\.input)$")
"""What a client says in the environment of its request (PEP 3333)."""
HEADER_NAME = lazy(
    r"^(?:Content-|X-|Location$|Set-Cookie|Refresh$|Link$|Cache-Control$|Access-Control-)", re.IGNORECASE
)
HEADER_HOLDERS = frozenset({"headers", "response", "resp"})
"""What an object is called whose keys are the headers of a response."""
