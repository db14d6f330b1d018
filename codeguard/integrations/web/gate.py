"""Access control: only requests to this host, with the token or the session it was exchanged for."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

TOKEN_BYTES = 32
OWN_SITES = frozenset({"", "same-origin", "none"})  # Sec-Fetch-Site: absent, from a page of ours, or typed


def _secret() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


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

    def knows_token(self, given: str) -> bool:
        """Return whether this is the token."""
        return _same(given, self.token)

    def has_session(self, headers: Mapping[str, str]) -> bool:
        """Return whether a request has the session and comes from one of our pages or the user."""
        if headers.get("sec-fetch-site", "") not in OWN_SITES:
            return False
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        return any(_same(value, self.session) for name, _, value in pairs if name == self._cookie)


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("ascii"))
