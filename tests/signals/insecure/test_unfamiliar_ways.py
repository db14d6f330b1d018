"""Short texts, one for each way that three authors who knew none of the rules brought up, and what is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_insecure_pairs import serious

# `### rule`, and the text that it is found in.
FOUND = [
    tuple(part.split("\n", 1))
    for part in re.split(
        r"^### ", Path(__file__).with_name("unfamiliar.txt").read_text("utf-8"), flags=re.MULTILINE
    )
    if part
]


@pytest.mark.parametrize(("rule", "text"), FOUND, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(FOUND)])
def test_the_rule_finds_it(rule: str, text: str) -> None:
    assert rule in serious(text)


QUIET = {
    "number in a record of the module": """
from flask import Flask, request
app = Flask(__name__)
parcels = {}
@app.post("/parcels/<code>")
def add(code):
    parcels[code] = {"weight": 12, "name": request.form["name"]}
    return ""
@app.get("/first")
def first():
    return "<p>" + str(parcels["first"]["weight"]) + "</p>"
""",
    "what a function makes of each, and a filled-in Markup": """
import html
from flask import Flask, request
from markupsafe import Markup
app = Flask(__name__)
@app.get("/tags")
def tags():
    return "<ul>" + "".join(map(html.escape, request.args.getlist("tag"))) + "</ul>"
@app.get("/tag")
def tag():
    return Markup("<b>{}</b>").format(request.args["tag"])
@app.get("/numbers")
def numbers():
    return "<b>" + str(list(map(int, request.args.getlist("n")))) + "</b>"
""",
    "account of the program in a directory, and a filter that a library fills in": """
import os
import ldap
from ldap.filter import filter_format
def groups(user):
    connection = ldap.initialize("ldaps://ldap.shop.test")
    connection.simple_bind_s(os.environ["LDAP_DN"], os.environ["LDAP_PASSWORD"])
    return connection.search_s("dc=shop", ldap.SCOPE_SUBTREE, filter_format("(member=uid=%s)", [user]))
""",
    "divisors of a request that are looked at, or bounded": """
from fastapi import FastAPI, HTTPException, Query
app = FastAPI()
@app.get("/share")
def share(whole: float, parts: float):
    if parts == 0:
        raise HTTPException(400)
    return {"share": whole / parts}
@app.get("/half")
def half(whole: float, parts: int = Query(gt=0)):
    return {"share": whole / parts}
@app.get("/mean")
def mean(marks: list[float]):
    return {"mean": sum(marks) / len(marks) if marks else 0}
""",
    "name of a function that is also one of the module": """
from flask import Flask, request
app = Flask(__name__)
lines = ["fixed"]
@app.post("/greet")
def greet():
    lines = []
    lines.append(request.form["line"])
    return str(len(lines))
@app.get("/wall")
def wall():
    return "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"
""",
    "template of a visitor in a sandbox": """
from flask import request
from jinja2.sandbox import SandboxedEnvironment
env = SandboxedEnvironment(autoescape=True)
@app.post("/preview")
@login_required
def preview():
    return {"html": env.from_string(request.form["greeting"]).render(name="x")}
""",
    "value for a template that is called text": """
from flask import render_template_string, request
@app.post("/preview")
@login_required
def preview():
    return render_template_string("<p>{{ text }}</p>", text=request.form["greeting"])
""",
    "list of arguments for a container": """
import docker
from flask import request
@app.post("/convert")
@login_required
def convert():
    docker.from_env().containers.run("docs:4.2", ["convert", "--", "/in/" + request.form["name"]], user="10001")
    return "done"
""",
    "address of the connection in a log": """
import logging
from django.http import HttpResponse
audit = logging.getLogger("audit")
def note(request):
    origin = request.META.get("REMOTE_ADDR")
    audit.warning("failed from %s", origin)
    return HttpResponse()
""",
    "token in a file of one's own": """
import json, os
def keep(path, token):
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump({"token": token}, file)
""",
    "counter that begins with the key of a session": """
import struct
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
class Link:
    def __init__(self, session_key):
        self.aead = ChaCha20Poly1305(session_key)
        self.sent = 0
    def seal(self, frame):
        self.sent += 1
        return self.aead.encrypt(struct.pack("<IQ", 0, self.sent), frame, None)
""",
    "set of what a handler has seen": """
import tornado.web
class Announce(tornado.web.RequestHandler):
    seen = set()
    def post(self):
        self.seen.add(self.get_argument("name"))
""",
    "limit that is compared first": """
import ctypes
def show(buffer, frame):
    if len(frame) > ctypes.sizeof(buffer):
        raise ValueError
    ctypes.memmove(buffer, frame, len(frame))
""",
    "signature that has to be there": """
from flask import abort, request
@app.post("/hook")
def hook():
    signature = request.headers.get("X-Signature")
    if not signature:
        abort(401)
    if signature and not verify_signature(request.data, signature):
        abort(401)
    return process(request.get_json())
""",
    "one end of a pipe": """
import os
def answer(reading, writing):
    os.close(writing)
    return os.read(reading, 100)
""",
    "rounds of a loop": """
def solve(step, max_iter):
    i = 0
    while not step():
        if i > max_iter:
            raise RuntimeError("no result")
        i += 1
""",
    "text for a model with marks around it": """
def conversation(messages):
    # neither XML nor a page
    return [f"<entry><message>{one.text}</message></entry>" for one in messages]
""",
    "locks in the order of their numbers": """
def move(a, b, amount):
    if a.number < b.number:
        with a.lock, b.lock:
            a.amount -= amount
            b.amount += amount
""",
}


@pytest.mark.parametrize("text", QUIET.values(), ids=QUIET)
def test_nothing_is_found(text: str) -> None:
    assert not serious(text)
