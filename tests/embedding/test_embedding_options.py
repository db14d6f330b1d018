"""Embeddings by their names, and one of a service on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from codeguard.errors import EmbeddingError
from codeguard.index.embedding import available_embeddings, open_embedding

pytestmark = pytest.mark.ci

Answer = Callable[[dict[str, Any]], tuple[int, object]]
TEXTS = ["calculate factorial", "def add(a, b):\n    return a + b", "", "\ud800"]


def vector(text: str) -> list[float]:
    return [float(len(text) + 1), 2.0, 2.0]


def usual(request: dict[str, Any]) -> tuple[int, object]:
    data = [
        {"object": "embedding", "index": index, "embedding": vector(text)}
        for index, text in enumerate(request["input"])
    ]
    return 200, {"object": "list", "data": data[::-1], "model": "m", "usage": {}}


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], tuple[str, list[dict[str, Any]]]]]:
    """Start an embedding service on loopback; the requests it gets are kept."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Answer) -> tuple[str, list[dict[str, Any]]]:
        seen: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                seen.append({**request, "path": self.path, "key": self.headers["Authorization"]})
                status, body = answer(request)
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("x-should-retry", "false")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/v1", seen

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_service_is_asked_in_batches_and_its_order_is_not_trusted(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    url, seen = serve(usual)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    embedding = open_embedding("openai:some-model")
    texts = [*TEXTS, *("x" * length for length in range(200))]
    rows = embedding.embed(texts)
    sent = [text.encode("utf-8", "replace").decode() or " " for text in texts]
    expected = np.array([vector(text) for text in sent])
    assert rows == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-6)
    assert embedding.dimension == 3
    assert embedding.identity == f"openai:some-model@{url[7:-3]}/dim3"
    assert {request["path"] for request in seen} == {"/v1/embeddings"}
    assert {request["key"] for request in seen} == {"Bearer secret"}
    assert max(len(request["input"]) for request in seen) <= 64


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (lambda _: (401, {"error": {"message": "no such key"}}), "failed: .*no such key"),
        (lambda _: (200, {"data": []}), "one vector a text"),
        (lambda _: (200, {"data": [{"index": 0, "embedding": [1.0, float("nan")]}]}), "one vector a text"),
        (lambda _: (200, {"data": [{"index": 0, "embedding": ["x"]}]}), "failed"),
        (lambda _: (200, ["nothing", "of", "the", "kind"]), "failed"),
    ],
    ids=["refused", "no vectors", "not finite", "not numbers", "another format"],
)
def test_a_service_that_does_not_answer_well_gives_one_line(
    serve: Any, monkeypatch: pytest.MonkeyPatch, answer: Answer, line: str
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_BASE_URL", serve(answer)[0])
    with pytest.raises(EmbeddingError, match=line) as caught:
        open_embedding("openai:m")
    assert "\n" not in str(caught.value)


def test_a_service_that_changes_its_dimension_is_refused(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    calls = iter(([1.0, 0.0], [1.0, 0.0, 0.0]))
    url, _ = serve(lambda _: (200, {"data": [{"index": 0, "embedding": next(calls)}]}))
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    embedding = open_embedding("openai:m")
    with pytest.raises(EmbeddingError, match="changed the length of its vectors, got 3, expected 2"):
        embedding.embed(["x"])


def test_openai_itself_wants_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(EmbeddingError, match="OPENAI_API_KEY"):
        open_embedding("openai:m")


@pytest.mark.parametrize("name", ["", "minilm2", "openai", "openai:", "sentence-transformers", "lexical:3"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(
        EmbeddingError, match=r"unknown embedding, got .*expected one of auto, static, minilm, lexical"
    ):
        open_embedding(name)


def test_every_kind_is_listed_with_a_reason_or_a_place() -> None:
    infos = available_embeddings()
    assert [info.name.partition(":")[0] for info in infos] == [
        "static",
        "minilm",
        "lexical",
        "openai",
    ]
    assert all(info.detail for info in infos)
