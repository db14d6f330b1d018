"""A local web site over a guarded index (extra `index`): pages, who may ask for them, limits, the server.

Requests come in from a browser of the user who started it, pages go out. `Gate` controls access, `Site` builds the
answers, `Application` combines the two within limits, `serve` binds it to the loopback address. It is a plain ASGI
application: chromadb already depends on the server, uvicorn, and no framework is needed.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import shlex
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from codeguard.api import CodeGuard
from codeguard.errors import CodeguardError, ConfigError, MissingExtraError, NothingToDoError
from codeguard.escaping import FinishedPage
from codeguard.index.workspace import Workspace
from codeguard.models import Trust
from codeguard.ranking.inventory import Inventory
from codeguard.ranking.reranking import Ranked
from codeguard.reports.html.page import file_id
from codeguard.reports.html.ranking import ranking_page
from codeguard.reports.html.site import (
    LONGEST_QUESTION,
    MODES,
    POLICY,
    PageFrame,
    file_page,
    findings_page,
    message_page,
    overview_page,
    site_style,
)

MOST_RESULTS = 50
MOST_TRUSTED_FILES = 5  # trusted files that a file is compared with
READING_S = 10.0  # for reading the results about files, per answer


class Site:
    """The pages over a guard. Not thread-safe.

    Args:
        guard: an open guard; if its index fails it is closed, and reopened by the next request.
    """

    def __init__(self, guard: CodeGuard) -> None:
        self._guard = guard
        self._inventory: tuple[Workspace, Inventory] | None = None

    def frame(self) -> PageFrame:
        """Return the frame of a page created now."""
        return PageFrame(datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"))

    def close(self) -> None:
        """Release the index; the next request reopens it."""
        self._inventory = None
        self._guard.close()

    def map(self, asked: Mapping[str, str]) -> FinishedPage:
        """Return the map of the index."""
        workspace, inventory = self._opened()
        facts = {
            "chunks": f"{workspace.catalog.count():,}",
            "checked in": f"sandbox {workspace.level}" if workspace.level else "no sandbox",
        }
        overview = inventory.overview(READING_S)
        return overview_page(overview, facts, self.frame(), _warnings(workspace), workspace.trend)

    def findings(self, asked: Mapping[str, str]) -> FinishedPage:
        """Return the findings."""
        workspace, inventory = self._opened()
        return findings_page(inventory.overview(READING_S), self.frame(), _warnings(workspace))

    def search(self, asked: Mapping[str, str]) -> FinishedPage:
        """Return an answer with and without the defense; `q` is the query, `k` and `mode` are optional."""
        question, mode = asked.get("q", "").strip(), asked.get("mode", "rerank")
        if not question or len(question) > LONGEST_QUESTION:
            got = f"{len(question)} characters"
            raise ConfigError("this cannot be answered", got=got, expected=f"1 to {LONGEST_QUESTION}")
        if mode not in MODES:
            raise ConfigError("mode", got=repr(mode[:40]), expected=" or ".join(MODES))
        k = _count(asked.get("k", "5"))
        ranking = self._guard.query(question, k, mode=mode)
        frame = PageFrame(self.frame().made, question, k, mode)
        shown = "" if mode == "rerank" else f" --mode {mode}"
        return ranking_page(
            ranking,
            self._guard.settings.defense.required_level,
            command=f"codeguard query {shlex.quote(question)} -k {k}{shown}",
            made=frame.made,
            layout="site.html",
            frame=frame,
        )

    def file(self, asked: Mapping[str, str]) -> FinishedPage:
        """Return the page of the file `id`."""
        workspace, inventory = self._opened()
        path = _path_of(workspace, asked.get("id", ""))
        chunks = inventory.chunks(path)
        required = workspace.settings.defense.required_level
        return file_page(
            path, chunks, _counterparts(workspace, inventory, chunks), required, workspace.level, self.frame()
        )

    def _opened(self) -> tuple[Workspace, Inventory]:
        """Return the current index, even if it was changed or replaced meanwhile."""
        workspace = self._guard.workspace
        workspace.refresh()
        if self._inventory is None or self._inventory[0] is not workspace:
            self._inventory = workspace, Inventory(workspace)
        return self._inventory


def _warnings(workspace: Workspace) -> list[str]:
    lines = list(dict.fromkeys(workspace.warnings))
    if workspace.under_way():
        lines.append("the index is being made: not all of it is known yet")
    return lines


def _count(given: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) <= 3 and 1 <= int(given) <= MOST_RESULTS):
        raise ConfigError("k", got=repr(given[:40]), expected=f"1 to {MOST_RESULTS}")
    return int(given)


def _path_of(workspace: Workspace, given: str) -> str:
    for path in workspace.catalog.paths():
        if file_id(path) == given:
            return path
    raise NothingToDoError("no such file in the index", hint="it may have left the index meanwhile")


def _counterparts(workspace: Workspace, inventory: Inventory, chunks: Sequence[Ranked]) -> list[Ranked]:
    """Return the trusted chunks of the files that the evidence names."""
    reasons = " ".join(part.reason for item in chunks if item.standing for part in item.evidence)
    trusted = () if workspace.manifest is None else workspace.manifest.files
    paths = [path for path in trusted if f"{path}:" in reasons][:MOST_TRUSTED_FILES]
    return [own for path in paths for own in inventory.chunks(path) if own.trust is Trust.TRUSTED]


try:
    from uvicorn import Config, Server
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise MissingExtraError("uvicorn is not installed", extra="index") from error


TOKEN_BYTES = 32
OWN_SITES = frozenset({"", "same-origin", "none"})  # Sec-Fetch-Site: absent, from a page of ours, or typed


_secret = partial(secrets.token_urlsafe, TOKEN_BYTES)


@dataclass(frozen=True, slots=True)
class Gate:
    """The secrets of one server, valid as long as it runs, and the decisions based on them.

    `token` is in the printed address, `session` in the cookie that it is exchanged for. A browser sends a
    cookie to every port of a host, so none of them replaces another.
    """

    port: int
    token: str = field(default_factory=_secret)
    session: str = field(default_factory=_secret)

    @property
    def address(self) -> str:
        """The address to open first."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def _cookie(self) -> str:
        return f"codeguard_{self.port}"

    @property
    def new_cookie(self) -> str:
        """The header that gives a browser the session, until the browser is closed."""
        return f"{self._cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"

    def is_this_host(self, host: str) -> bool:
        """Return whether a request names this server: other names that resolve to it are refused."""
        names = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if self.port == 80:
            names |= {"127.0.0.1", "localhost"}
        return host in names

    def has_session(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request has the session and comes from one of our pages or the user."""
        if headers.get("sec-fetch-site", "") not in OWN_SITES:
            return False
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return any(_same(value, self.session) for name, _, value in pairs if name == self._cookie)


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("ascii"))


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LONGEST_ADDRESS = 16_000  # bytes of path and query
MOST_FIELDS = 10
MOST_WAITING = 8  # queued requests, including the one being processed
OUTSIDE = frozenset({401, 405, 414, 421})  # statuses sent to clients without a session
ANSWER_S = 90.0
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "connection": "close",  # one request per connection, so that idle clients cannot hold connections
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """A response."""

    status: int
    body: str = ""
    headers: Mapping[str, str] | None = None
    kind: str = "text/html"


class RefusedError(Exception):
    """A refused request; `status` and a sentence give the reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Application:
    """An ASGI application over an open guard; `close` it when the server has ended.

    Args:
        guard: an open guard, used by only one thread at a time.
        gate: who may ask.
        answer_s: how long a browser waits for an answer, in seconds.
    """

    def __init__(self, guard: CodeGuard, gate: Gate, *, answer_s: float = ANSWER_S) -> None:
        self._gate, self._answer_s = gate, answer_s
        self._site = site = Site(guard)
        self._pages: Mapping[str, Callable[[Mapping[str, str]], str]] = {
            "/": site.map,
            "/search": site.search,
            "/findings": site.findings,
            "/file": site.file,
        }
        self._alone = ThreadPoolExecutor(1, thread_name_prefix="site")
        self._waiting = 0

    def close(self) -> None:
        """Wait for the current request, and start no other."""
        self._alone.shutdown(wait=True, cancel_futures=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            reply = await self._answer(scope)
        except RefusedError as refused:
            reply = self._refusal(refused)
        body = reply.body.encode("utf-8", "backslashreplace")
        headers = {
            **HEADERS,
            "content-type": f"{reply.kind}; charset=utf-8",
            "content-length": str(len(body)),
            **(reply.headers or {}),
        }
        encoded = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Scope) -> Reply:
        """Return the reply to an admitted request."""
        gate, path = self._gate, str(scope["path"])
        headers = _headers(scope)
        if not gate.is_this_host(headers.get("host", "")):
            raise RefusedError(421, "This server answers to 127.0.0.1 and localhost alone.")
        if scope["method"] != "GET":
            raise RefusedError(405, "Only GET is answered: this server changes nothing.")
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
            raise RefusedError(414, "The address is too long.")
        if path == "/style.css":
            return Reply(200, site_style(), kind="text/css")
        asked = _fields(scope["query_string"])
        if path == "/" and "token" in asked:
            if not _same(asked["token"], gate.token):
                raise RefusedError(
                    401, "This is not the token of the server that runs now. It prints its address."
                )
            return Reply(303, headers={"location": "/", "set-cookie": gate.new_cookie})
        if not gate.has_session(headers):
            raise RefusedError(
                401, "Open the address that codeguard serve has printed: it has a token in it."
            )
        page = self._pages.get(path)
        if page is None:
            raise RefusedError(404, "There is no such page.")
        return await self._page(lambda: Reply(200, page(asked)))

    async def _page(self, make: Callable[[], Reply]) -> Reply:
        """Build a page when its turn comes; errors become pages as well."""
        if self._waiting >= MOST_WAITING:
            raise RefusedError(503, "Too many questions wait already: load the page again.")
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._alone, self._guarded, make)
        future.add_done_callback(self._done)
        try:
            async with asyncio.timeout(self._answer_s):
                return await asyncio.shield(future)
        except TimeoutError:
            raise RefusedError(
                504, "This takes longer than a page may; the work goes on, and is kept. Load the page again."
            ) from None

    def _done(self, future: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # mark the exception as retrieved even if nobody waits for it any more

    def _guarded(self, make: Callable[[], Reply]) -> Reply:
        try:
            return make()
        except NothingToDoError as error:
            status, said = 404, str(error)
        except ConfigError as error:
            status, said = 400, str(error)
        except CodeguardError as error:
            status, said = 503, str(error)
            self._site.close()  # the next request reopens the index
        except OSError as error:
            status, said = 503, f"the system refuses ({error.strerror or type(error).__name__})"
        except Exception as error:  # a page shows no traceback, and one page must not end the server
            status, said = 500, f"internal error ({type(error).__name__})"
        frame = self._site.frame()
        return Reply(status, message_page(said, frame.made, frame))

    def _refusal(self, refused: RefusedError) -> Reply:
        """Return a page with the reason, and a link back for admitted users."""
        frame = self._site.frame()
        shown = None if refused.status in OUTSIDE else frame
        return Reply(refused.status, message_page(str(refused), frame.made, shown))


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name; repeated ones are ignored."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        found[key] = value.decode("latin-1") if key not in found else ""
    return found


def _fields(data: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            data.decode("ascii"), keep_blank_values=True, errors="replace", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise RefusedError(400, "The address cannot be read.") from None
    return dict(pairs)


LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 64
LONGEST_HEAD = 32_768  # bytes of a request's first line and headers
HEAD_S = 10.0  # time limit for the headers to arrive
ENDING_S = 3  # time limit for responses in progress at shutdown


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose first request does not arrive in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self._clock = asyncio.get_running_loop().call_later(HEAD_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop it."""
        self._clock.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if self.cycle is None:
            self.transport.close()


def bound(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address; port 0 means any free port.

    Raises CodeguardError if the port is taken or not allowed.
    """
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise CodeguardError(
            f"port {port} of {LOOPBACK} cannot be used ({error.strerror})", hint="--port 0 takes a free one"
        ) from None


def serve(application: Application, listening: socket.socket) -> None:
    """Answer requests until the process is interrupted; then raise KeyboardInterrupt."""
    options: dict[str, Any] = {
        "http": ImpatientProtocol,
        "ws": "none",
        "loop": "asyncio",
        "lifespan": "off",
        "log_config": None,
        "log_level": "critical",
        "access_log": False,
        "proxy_headers": False,
        "server_header": False,
        "limit_concurrency": MOST_CONNECTIONS,
        "h11_max_incomplete_event_size": LONGEST_HEAD,
        "timeout_graceful_shutdown": ENDING_S,
    }
    Server(Config(application, **options)).run(sockets=[listening])
