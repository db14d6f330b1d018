"""The server: uvicorn, bound only to the loopback address."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from codeguard.errors import CodeguardError, MissingExtraError
from codeguard.integrations.web.application import Application

try:
    from uvicorn import Config, Server
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise MissingExtraError("uvicorn is not installed", extra="index") from error

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
