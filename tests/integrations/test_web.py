"""`codeguard serve`: whoever lacks the secrets gets nothing, nothing untrusted acts, nothing changes."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from lexical_settings import lexical_settings
from markupsafe import escape

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.errors import CodeguardError
from codeguard.index.report import Trend
from codeguard.integrations.web import MOST_WAITING, Application, Gate, bound, serve
from codeguard.reports.html.page import file_id
from codeguard.reports.html.site import LONGEST_QUESTION, POLICY

PORT = 8765
PAGES = ("/", "/findings", "/search?q=add+two+numbers", "/file?id=")
HOSTILE = "<img src=x onerror=alert(1)>\"'\u202e\x1b[31m"
NAME = "theirs/\"><img src=x onerror=alert(1)>'.py"
GOOD = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
FILES = {
    "ours/m.py": GOOD,
    "theirs/wrong.py": 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n',
    "theirs/clean.py": 'def plus(a, b):\n    """Add two numbers."""\n    return a + b\n',
    NAME: f'def add(a, b):\n    """Add two numbers {HOSTILE}."""\n    return a * b or "</pre><script>"\n',
    "theirs/key.py": 'def add_key():\n    """Add."""\n    aws_key = "AKIAIOSFODNN7ABCDEFG"\n    return aws_key\n',
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        with CodeGuard.open(settings=settings_of(root), trust=[root / "ours"]) as guard:
            guard.index([root / "ours", root / "theirs"])
    return root


def settings_of(root: Path) -> Settings:
    return lexical_settings(root, root / "store")


@pytest.fixture
def guard(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CodeGuard]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "config"))
    with CodeGuard.open(settings=settings_of(project), create=False) as opened:
        yield opened


class Client:
    """A browser that has opened the printed address; each request in a loop of its own."""

    def __init__(self, guard: CodeGuard, **options: Any) -> None:
        self.gate = Gate(PORT)
        self.application = Application(guard, self.gate, **options)
        self.headers = {"cookie": self.gate.new_cookie.partition(";")[0]}

    def __call__(self, path: str, method: str = "GET", **options: Any) -> httpx.Response:
        return asyncio.run(self.ask(path, method, **options))

    async def ask(self, path: str, method: str = "GET", **options: Any) -> httpx.Response:
        options["headers"] = {**self.headers, **options.get("headers", {})}
        transport = httpx.ASGITransport(self.application)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as client:
            return await client.request(method, path, **options)


@pytest.fixture
def client(guard: CodeGuard) -> Iterator[Client]:
    made = Client(guard)
    yield made
    made.application.close()


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


# Who may ask


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:8765"]
)
def test_another_host_name_is_not_answered(client: Client, host: str) -> None:
    """A name that an attacker lets point to this machine (DNS rebinding) gets nothing, not even the style sheet."""
    for path in ("/", "/style.css", f"/?token={client.gate.token}"):
        reply = client(path, headers={"host": host})
        assert reply.status_code == 421
        assert "set-cookie" not in reply.headers


def test_localhost_is_this_host(client: Client) -> None:
    assert client("/findings", headers={"host": f"localhost:{PORT}"}).status_code == 200


def test_the_token_is_exchanged_for_a_session(client: Client) -> None:
    reply = client(f"/?token={client.gate.token}", headers={"cookie": ""})
    assert reply.status_code == 303
    assert reply.headers["location"] == "/"
    assert reply.text == ""
    cookie = reply.headers["set-cookie"]
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert client.gate.token not in cookie


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "headers",
    [
        {"cookie": ""},
        {"cookie": "codeguard_8765="},
        {"cookie": "codeguard_8765=guess"},
        {"cookie": "codeguard_8765=\xe9"},
        {"cookie": "other=SESSION"},
        {"cookie": "codeguard_8765=TOKEN"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=str,
)
def test_without_the_session_nothing_is_shown(client: Client, path: str, headers: dict[str, str]) -> None:
    gate = client.gate
    for word, secret in (("SESSION", gate.session), ("TOKEN", gate.token)):
        headers = {name: value.replace(word, secret) for name, value in headers.items()}
    sent: Any = {name: value.encode("latin-1") for name, value in headers.items()}
    reply = client(path, headers=sent)
    assert reply.status_code == 401
    assert "add" not in re.sub("(?i)address", "", reply.text)
    assert gate.session not in reply.text


def test_a_wrong_token_gives_no_session(client: Client) -> None:
    for wrong in ("", "x", client.gate.session, client.gate.token[:-1], "%C3%A9"):
        reply = client(f"/?token={wrong}")
        assert reply.status_code == 401
        assert "set-cookie" not in reply.headers


def test_every_server_has_secrets_of_its_own() -> None:
    secrets = [secret for gate in (Gate(1), Gate(1)) for secret in (gate.token, gate.session)]
    assert len(set(secrets)) == 4
    assert min(map(len, secrets)) >= 40


# What is shown


@pytest.mark.parametrize("path", ["/", "/style.css", "/nowhere", f"/?token={'x' * 43}", "/search?q="])
def test_every_answer_carries_the_policy(client: Client, path: str) -> None:
    headers = client(path).headers
    assert headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_nothing_untrusted_becomes_an_element(client: Client) -> None:
    for path in PAGES:
        page = client(path + (file_id(NAME) if path.endswith("=") else "")).text
        parser = Elements()
        parser.feed(page)
        assert not {tag for tag, _ in parser.tags} & {"script", "img", "iframe", "object", "base", "style"}
        for tag, attributes in parser.tags:
            assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
            target = attributes.get("href") or attributes.get("action") or "/"
            assert target.startswith("/"), (tag, target)
        assert "\u202e" not in page
        assert "\x1b" not in page
        assert "AKIAIOSFODNN7ABCDEFG" not in page
        assert escape(NAME.partition("/")[2]) in page


def test_a_hostile_question_is_only_shown(client: Client) -> None:
    page = client("/search", params={"q": f'add "><script>{HOSTILE}</script>'}).text
    assert "<script" not in page
    assert "<img" not in page
    assert "&#34;&gt;&lt;script&gt;" in page


def test_a_search_shows_what_was_pushed_out_beside_what_it_imitates(client: Client) -> None:
    page = client("/search?q=add+two+numbers&k=2").text
    answers, _, gone = page.partition("<h2>Answers</h2>")[2].partition("<h2>Pushed out")
    assert f"/file?id={file_id('ours/m.py')}#line-1" in answers
    dropped = client("/search?q=add+two+numbers&k=2&mode=drop").text
    answers, _, gone = dropped.partition("<h2>Answers</h2>")[2].partition("<h2>Pushed out")
    assert "theirs/wrong.py" not in answers
    assert "theirs/wrong.py" in gone
    assert "yours: add, ours/m.py:1" in gone
    assert "<del>    return a - b</del>" in gone


def test_the_map_knows_what_is_what(client: Client) -> None:
    page = client("/").text
    cells = re.findall(r'class="cell (\w+) [^"]*" href="/file\?id=(\w+)"', page)
    kinds = {"ours/m.py": "good", "theirs/wrong.py": "bad", "theirs/clean.py": "other", NAME: "bad"}
    assert len(cells) == len(FILES)
    assert {(kind, file_id(path)) for path, kind in kinds.items()} <= set(cells)
    story = re.search(r"5 files, [^<]*", page)
    assert story is not None
    assert story[0] == "5 files, 1 of them your own; chunks: 1 harmful, 1 convicted."


def test_the_map_names_what_the_last_run_convicted_newly_and_what_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("ours/m.py", "theirs/wrong.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(FILES[name])
    paths = [tmp_path / "ours", tmp_path / "theirs"]
    with CodeGuard.open(settings=settings_of(tmp_path), trust=[tmp_path / "ours"]) as guard:
        assert guard.index(paths).trend is None
        (tmp_path / "theirs/wrong.py").write_text(GOOD)
        (tmp_path / "theirs/new.py").write_text(FILES["theirs/wrong.py"])
        assert guard.index(paths).trend == Trend(("theirs/new.py add",), ("theirs/wrong.py add",))
        assert guard.index(paths).nothing_changed
        page = Client(guard)("/").text
    assert "newly found since the run before: 1 suspect: theirs/new.py add" in page
    assert "no longer found since the run before: 1 suspect: theirs/wrong.py add" in page


def test_a_file_shows_the_code_beside_its_twin(client: Client) -> None:
    page = client(f"/file?id={file_id('theirs/wrong.py')}").text
    assert "yours: add, ours/m.py:1" in page
    assert "1 chunk: 1 convicted." in page
    assert "codeguard accept" in page
    assert "<form class" not in page


# What may be asked


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/search?q=", 400),
        ("/search?q=" + "x" * (LONGEST_QUESTION + 1), 400),
        ("/search?q=" + "x" * 20_000, 414),
        ("/search?q=x&k=0", 400),
        ("/search?q=x&k=51", 400),
        ("/search?q=x&k=1e3", 400),
        ("/search?q=x&k=%D9%A3", 400),
        ("/search?q=x&mode=none", 400),
        ("/search?q=x" + "&a=b" * 20, 400),
        ("/file", 404),
        ("/file?id=../../etc/passwd", 404),
        ("/file?id=" + "0" * 32, 404),
        ("/accept", 404),
        ("/nowhere", 404),
    ],
)
def test_what_is_out_of_bounds_is_refused(client: Client, path: str, status: int) -> None:
    assert client(path).status_code == status


def test_only_so_many_questions_wait(guard: CodeGuard) -> None:
    client, free = Client(guard), threading.Event()
    client.application._alone.submit(free.wait)

    async def many() -> list[int]:
        waiting = [asyncio.create_task(client.ask("/findings")) for _ in range(MOST_WAITING + 3)]
        refused, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert {task.result().status_code for task in refused} == {503}
        free.set()
        return [reply.status_code for reply in await asyncio.gather(*waiting)]

    try:
        codes = asyncio.run(many())
    finally:
        free.set()
        client.application.close()
    assert (codes.count(200), codes.count(503)) == (MOST_WAITING, 3)


def test_an_answer_that_takes_too_long_is_said_to(guard: CodeGuard) -> None:
    client, free = Client(guard, answer_s=0.05), threading.Event()
    client.application._alone.submit(free.wait)
    try:
        assert client("/findings").status_code == 504
    finally:
        free.set()
        client.application.close()


@pytest.mark.parametrize("path", ["/", "/search?q=add", "/accept"])
def test_nothing_can_be_changed(client: Client, path: str) -> None:
    assert client(path, "POST", data={"reason": "looked at"}).status_code == 405
    assert "<form class" not in client(f"/file?id={file_id(NAME)}").text


# The index changes, the server ends


@pytest.mark.slow
def test_an_index_that_was_made_anew_is_opened_anew(project: Path, client: Client) -> None:
    assert "5 files" in client("/").text
    (project / "theirs/new.py").write_text("def fresh():\n    return 1\n")
    try:
        with CodeGuard.open(settings=settings_of(project), create=False) as other:
            other.index(rebuild=True)
        page = client("/").text
        assert file_id("theirs/new.py") in page
        assert client("/search?q=fresh").status_code == 200
    finally:
        (project / "theirs/new.py").unlink()


def test_an_index_that_is_gone_is_said_and_comes_back(project: Path, client: Client) -> None:
    state = client.application._site._guard.settings.state
    assert client("/").status_code == 200
    client.application._site.close()
    state.rename(state.with_name("elsewhere"))
    try:
        reply = client("/")
        assert reply.status_code == 503
        assert "no index in" in reply.text
    finally:
        state.with_name("elsewhere").rename(state)
    assert client("/").status_code == 200


def test_the_server_listens_on_the_loopback_address_alone() -> None:
    with bound(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        with pytest.raises(CodeguardError, match="cannot be used"):
            bound(listening.getsockname()[1])


def test_a_silent_connection_is_closed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that sends its request a little at a time."""
    from codeguard.integrations import web

    monkeypatch.setattr(web, "HEAD_S", 0.2)
    with bound(0) as listening:
        thread = threading.Thread(target=serve, args=(client.application, listening), daemon=True)
        thread.start()
        for sent in (b"", b"GET / HTTP/1.1\r\nHost:"):
            with socket.create_connection(listening.getsockname(), 30) as connection:
                connection.sendall(sent)
                assert connection.recv(100) == b""


@pytest.mark.slow
def test_the_command_prints_its_address_and_ends_on_interruption(project: Path) -> None:
    options = ("--store", str(project / "store"), "--port", "0")
    command = [sys.executable, "-P", "-m", "codeguard", "serve", *options]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(project / "config")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=project, env=environment
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    with httpx.Client() as browser:
        page = browser.get(address, follow_redirects=True)
    assert page.status_code == 200
    assert page.url.path == "/"
    assert not page.url.query
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.splitlines()[-1], err) == (0, "stopped", "")


@pytest.fixture
def address(client: Client) -> Iterator[str]:
    """The address of a server that a browser can open."""
    from uvicorn import Config, Server

    with bound(0) as listening:
        client.application._gate = client.gate = Gate(listening.getsockname()[1])
        server = Server(Config(client.application, lifespan="off", log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield client.gate.address
        server.should_exit = True
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(address: str, scheme: str, width: int) -> None:
    driver = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (extra `browser`)"
    )
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.skip("no Chromium on this machine (CHROMIUM names one)")
    own, seen, wrong = address.partition("?")[0], [], []
    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("request", lambda request: seen.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))

        def fits() -> None:
            assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url

        page.goto(address)
        fits()
        assert page.url == own
        cells = page.locator("a.cell:visible")
        before = cells.count()
        page.locator("#f-good").uncheck()
        assert 0 < cells.count() < before
        page.fill("input[name=q]", "add two numbers")
        page.click("nav button")
        assert "Answers" in page.content()
        fits()
        page.click("nav a:text('Findings')")
        fits()
        page.click("a:text('wrong.py')")
        fits()
        browser.close()
    assert all(url.startswith(own) for url in seen)
    assert wrong == []
