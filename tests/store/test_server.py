"""A real Chroma server behind a proxy that wants a token, speaks TLS, and fails now and then."""

import contextlib
import datetime
import http.client
import http.server
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.errors import StoreError
from codeguard.index.maintenance import verify
from codeguard.index.store import Row
from codeguard.index.store.chroma import ChromaServer
from codeguard.index.workspace import Workspace

pytestmark = pytest.mark.ci

TOKEN = "Bearer of the token"
EYE = np.eye(4, 512, dtype=np.float32)
CODE = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'


@dataclass
class Proxy:
    """Passes requests on to Chroma; `troubles` are met first, one a request."""

    port: int
    chroma: int
    troubles: list[int | str] = field(default_factory=list)
    seen: int = 0
    largest: int = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


def certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return public, private


@pytest.fixture
def proxy(chroma_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    public, private = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    state = Proxy(0, chroma_port)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.seen += 1
            with contextlib.suppress(ValueError, KeyError, TypeError):
                state.largest = max(state.largest, len(json.loads(body)["ids"]))
            if self.headers.get("Authorization") != TOKEN:
                return self.reply(401, b'{"error": "AuthError", "message": "no token"}')
            trouble = state.troubles.pop(0) if state.troubles else None
            if trouble == "reset":
                self.close_connection = True
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                self.connection.close()
                return None
            if isinstance(trouble, int):
                return self.reply(trouble, b'{"error": "Trouble", "message": "try again"}')
            behind = http.client.HTTPConnection("127.0.0.1", state.chroma)
            behind.request(self.command, self.path, body, {"Content-Type": "application/json"})
            answer = behind.getresponse()
            self.reply(answer.status, answer.read())
            behind.close()
            return None

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    for verb in ("GET", "POST", "PUT", "DELETE"):
        setattr(Handler, f"do_{verb}", Handler.pass_on)

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(proxy: Proxy) -> Iterator[ChromaServer]:
    opened = ChromaServer(proxy.url, {"Authorization": TOKEN})
    opened.delete(sorted(opened.ids()))
    yield opened
    opened.delete(sorted(opened.ids()))


def rows(count: int) -> list[Row]:
    return [Row(f"r{number}", "text", {"path": "p"}) for number in range(count)]


def test_token_and_tls(store: ChromaServer) -> None:
    store.add(rows(2), EYE[:2])
    assert [hit.id for hit in store.nearest(EYE[1], 1)] == ["r1"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer of another"}])
def test_without_the_token_it_is_one_clear_line_at_once(proxy: Proxy, headers: dict[str, str]) -> None:
    with pytest.raises(StoreError) as caught:
        ChromaServer(proxy.url, headers)
    assert "\n" not in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert proxy.seen <= 2


def test_an_unknown_certificate_is_refused(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(StoreError, match=r"(?i)certificate"):
        ChromaServer(proxy.url, {"Authorization": TOKEN})


@pytest.mark.parametrize("trouble", [429, 500, 502, 503, "reset"])
def test_what_passes_is_tried_again(proxy: Proxy, store: ChromaServer, trouble: int | str) -> None:
    proxy.troubles = [trouble, trouble]
    store.add(rows(3), EYE[:3])
    proxy.troubles = [trouble]
    assert store.ids() == {"r0", "r1", "r2"}
    assert not proxy.troubles


def test_what_does_not_pass_is_not(proxy: Proxy, store: ChromaServer) -> None:
    proxy.troubles = [400, 400, 400]
    with pytest.raises(StoreError):
        store.add(rows(1), EYE[:1])
    assert len(proxy.troubles) == 2
    proxy.troubles = []


def test_a_server_that_stays_down_is_one_clear_line(
    proxy: Proxy, store: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codeguard.index.store.chroma.FIRST_PAUSE_S", 0.0)
    proxy.troubles = [503] * 50
    with pytest.raises(StoreError, match="cannot be written") as caught:
        store.add(rows(1), EYE[:1])
    assert "\n" not in str(caught.value)
    proxy.troubles = []


def test_large_batches_are_cut(proxy: Proxy, store: ChromaServer) -> None:
    store.add(rows(2300), np.tile(EYE, (575, 1)))
    assert store.count() == 2300
    assert 0 < proxy.largest <= 1000


def settings_of(tmp_path: Path, proxy: Proxy, state: str) -> Settings:
    return Settings(
        store=proxy.url, state_dir=str(tmp_path / state), root=str(tmp_path / "corpus"), embedding="lexical",
        headers={"Authorization": TOKEN}, fixed_seed=b"x" * 32, jobs=1,
    )  # fmt: skip


def test_a_whole_index_on_the_server_and_its_state_rebuilt(
    proxy: Proxy, store: ChromaServer, tmp_path: Path
) -> None:
    for number in range(5):
        (tmp_path / "corpus").mkdir(exist_ok=True)
        (tmp_path / "corpus" / f"m{number}.py").write_text(CODE.replace("add", f"add{number}"))
    first = settings_of(tmp_path, proxy, "first")
    with CodeGuard.open(settings=first, trust=[tmp_path / "corpus" / "m0.py"]) as guard:
        guard.index([tmp_path / "corpus"])
        before = guard.query("add two numbers").to_json()
    # The local state is lost, or this is another machine: catalog and manifest come from the files again.
    second = settings_of(tmp_path, proxy, "second")
    with CodeGuard.open(settings=second, trust=[tmp_path / "corpus" / "m0.py"]) as guard:
        report = guard.index([tmp_path / "corpus"])
        assert guard.query("add two numbers").to_json()["results"] == before["results"]
        assert store.count() == len(guard.catalog.ids())
    assert report.files == 5
    opened = Workspace(second)
    assert verify(opened, all_vectors=True).clean
    opened.close()
