"""The application: a request in, a page out, with limits on size, number and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from codeguard.api import CodeGuard
from codeguard.errors import CodeguardError, ConfigError, NothingToDoError
from codeguard.integrations.web.gate import Gate
from codeguard.integrations.web.site import Site
from codeguard.reports.html.site import POLICY, message_page, site_style

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
T = TypeVar("T")

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
            if not gate.knows_token(asked["token"]):
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
        try:
            return await self._in_turn(partial(self._guarded, make))
        except TimeoutError:
            raise RefusedError(
                504, "This takes longer than a page may; the work goes on, and is kept. Load the page again."
            ) from None

    async def _in_turn(self, work: Callable[[], T]) -> T:
        if self._waiting >= MOST_WAITING:
            raise RefusedError(503, "Too many questions wait already: load the page again.")
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._alone, work)
        future.add_done_callback(self._done)
        async with asyncio.timeout(self._answer_s):
            return await asyncio.shield(future)

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
