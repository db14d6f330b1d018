"""Weaknesses written in less usual ways, each beside code that only looks like it."""

from __future__ import annotations

import pytest
from test_insecure_pairs import serious

CORS = """import tornado.web

class Base(tornado.web.RequestHandler):
    def set_default_headers(self):
        self.set_header("Access-Control-Allow-Origin", {})
        self.set_header("Access-Control-Allow-Credentials", "true")
"""
STREAM = """import asyncio

async def serve(reader, writer):
    writer.write(await reader.read({}))

async def main():
    await asyncio.start_server({}, "127.0.0.1", 80)
"""
SAME = """import hmac

def same(left, right):
    return left == right

def check(secret, body, given):
    return same({}, given)
"""
TABLE = """import csv
from django.http import HttpResponse

def export(guests):
    answer = HttpResponse(content_type="{}")
    writer = csv.writer(answer)
    for guest in guests:
        writer.writerow([{}])
    return answer
"""
SPENT = """def spend(db, user, amount):
    row = db.one("SELECT * FROM wallets WHERE user = ?{}", (user,))
    if row["balance"] < amount:
        raise ValueError(user)
    db.execute("UPDATE wallets SET balance = ? WHERE user = ?", ({}, user))
"""
FOLLOWED = """from django.contrib.auth.decorators import login_required
from django.views.decorators.http import require_POST

@login_required{}
def follow(request, pk):
    request.user.following.add(pk)
    request.user.save()
"""
ROLE = """from flask import Flask, request

app = Flask(__name__)

@app.post("/users")
def create():
    db.session.add(User(name=request.json["name"], role={}))
    return "ok"
"""
NEXT = """from django.views.generic import RedirectView

class Go(RedirectView):
    def get_redirect_url(self, *args, **kwargs):
        return {}
"""


@pytest.mark.parametrize(
    ("rule", "bad", "good"),
    [
        (
            "cors-any-origin",
            CORS.format('self.request.headers["Origin"]'),
            CORS.format('"https://shop.example"'),
        ),
        ("timing-comparison", SAME.format("hmac.digest(secret, body, 'sha256')"), SAME.format("body")),
        (
            "nosql-injection",
            """def named(db, name): return db.users.find({"$where": "this.name == '" + name + "'"})""",
            """def named(db, name): return db.users.find({"$where": "this.name == this.nick"})""",
        ),
        (
            "stored-in-clear",
            "def keep(response, password): response.set_cookie('p', password)",
            "def keep(response, theme): response.set_cookie('p', theme)",
        ),
        (
            "bound-to-all",
            "from http.server import HTTPServer\nAT = ('', 80)\nHTTPServer(AT, None)",
            "from http.server import HTTPServer\nAT = ('127.0.0.1', 80)\nHTTPServer(AT, None)",
        ),
        (
            "xml-external-entity",
            "from lxml import etree\n\ndef read(f): return etree.iterparse(f, resolve_entities=True)",
            "from lxml import etree\n\ndef read(f): return etree.iterparse(f, resolve_entities=False)",
        ),
        (
            "timing-comparison",
            "def allowed(request): return request.headers.get('X-Api-Key') == KEYS['a']",
            "def allowed(request): return request.headers.get('X-Api-Version') == KEYS['a']",
        ),
        (
            "unsafe-deserialisation",
            "import zmq\n\ndef work(socket): run(socket.recv_pyobj())",
            "import zmq\n\ndef work(socket): run(socket.recv_json())",
        ),
        (
            "world-writable",
            "import os\n\ndef open_up(path): os.chmod(path, os.stat(path).st_mode | 0o022)",
            "import os\n\ndef open_up(path): os.chmod(path, os.stat(path).st_mode | 0o111)",
        ),
        (
            "open-redirect",
            NEXT.format('self.request.GET["next"]'),
            NEXT.format('self.pages[self.request.GET["next"]]'),
        ),
    ],
)
def test_the_flaw_is_told_and_what_resembles_it_is_not(rule: str, bad: str, good: str) -> None:
    assert rule in serious(bad)
    assert rule not in serious(good)
