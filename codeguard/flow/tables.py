"""Sources of untrusted input and sanitizers in the standard library and well-known packages.

Plain names are in `tables.toml`, patterns and what is computed are here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codeguard.corpus.patterns import lazy
from codeguard.flow.effects import python_names
from codeguard.flow.values import ALL_USES, RESOLVED, TEXT_USES, Reach, Use

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


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
