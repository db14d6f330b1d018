"""A real HTTP server on loopback that speaks the chat-completions protocol, and a gullible model behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server sends: bytes at once, or `endless` repetitions of a piece, or nothing (`silent`).

    `pause_s` is the time between two of the endless pieces.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    endless: bytes = b""
    pause_s: float = 0.0
    silent: bool = False


@dataclass
class LoopbackServer:
    """The running server: its address, and the bodies and (lower-cased) headers that came in, in order of arrival."""

    url: str
    requests: list[dict[str, Any]]
    headers: list[dict[str, str]]
    release: threading.Event


def completion(text: str, **more: Any) -> Reply:
    """Return a well-formed answer; `usage` and `logprobs` may be added or replaced."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    if "logprobs" in more:
        choice["logprobs"] = more.pop("logprobs")
    answer = {"id": "x", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
    answer["usage"] = {"prompt_tokens": 1, "completion_tokens": len(text.split()), "total_tokens": 1}
    return Reply(json.dumps({**answer, **more}).encode())


@contextmanager
def serve(respond: Callable[[dict[str, Any]], Reply]) -> Iterator[LoopbackServer]:
    """Serve `respond` on a free port of loopback until the block ends; it may be called from many threads."""
    state = LoopbackServer("", [], [], threading.Event())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # two small writes would wait 40 ms for each other

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            request = json.loads(body)
            state.requests.append(request)
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            self._send(respond(request))

        def _send(self, reply: Reply) -> None:
            if reply.silent:
                state.release.wait(60)
                self.close_connection = True
                return
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.endless:
                self.close_connection = True
                self.end_headers()
                try:
                    while not state.release.wait(reply.pause_s):
                        self.wfile.write(reply.endless)
                        self.wfile.flush()
                except OSError:
                    return
            else:
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
