"""Development examples: files, networks, data. Each an insecure text and its fixed counterpart."""

PAIRS = [
    ("path: send_file", '''
import os
from flask import send_file, request
@app.route("/download")
def download():
    name = request.args.get("file")
    return send_file(os.path.join(UPLOADS, name))
''', '''
import os
from flask import abort, send_file, request
@app.route("/download")
def download():
    name = request.args.get("file")
    path = os.path.realpath(os.path.join(UPLOADS, name))
    if os.path.commonpath([path, UPLOADS]) != UPLOADS:
        abort(404)
    return send_file(path)
'''),
    ("path: fastapi parameter", '''
from pathlib import Path
from fastapi import FastAPI
app = FastAPI()
BASE = Path("/srv/docs")
@app.get("/docs/{name:path}")
def doc(name: str):
    return (BASE / name).read_text()
''', '''
from pathlib import Path
from fastapi import FastAPI, HTTPException
app = FastAPI()
BASE = Path("/srv/docs").resolve()
@app.get("/docs/{name:path}")
def doc(name: str):
    target = (BASE / name).resolve()
    if not target.is_relative_to(BASE):
        raise HTTPException(404)
    return target.read_text()
'''),
    ("path: http.server", '''
from http.server import BaseHTTPRequestHandler
class Files(BaseHTTPRequestHandler):
    def do_GET(self):
        with open("/srv/www" + self.path, "rb") as f:
            self.wfile.write(f.read())
''', '''
import os
from http.server import BaseHTTPRequestHandler
class Files(BaseHTTPRequestHandler):
    def do_GET(self):
        name = os.path.basename(self.path)
        with open("/srv/www/" + name, "rb") as f:
            self.wfile.write(f.read())
'''),
    ("path: aiohttp match_info", '''
from aiohttp import web
async def page(request):
    name = request.match_info["name"]
    return web.FileResponse(f"/srv/pages/{name}.html")
''', '''
import re
from aiohttp import web
async def page(request):
    name = request.match_info["name"]
    if not re.fullmatch(r"[a-z0-9-]{1,40}", name):
        raise web.HTTPNotFound()
    return web.FileResponse(f"/srv/pages/{name}.html")
'''),
    ("tar slip in a class", '''
import tarfile
class Installer:
    def __init__(self, package):
        self.archive = tarfile.open(package, "r:gz")
    def install(self, target):
        for member in self.archive.getmembers():
            self.archive.extract(member, target)
''', '''
import os, tarfile
class Installer:
    def __init__(self, package):
        self.archive = tarfile.open(package, "r:gz")
    def install(self, target):
        root = os.path.realpath(target)
        for member in self.archive.getmembers():
            path = os.path.realpath(os.path.join(root, member.name))
            if os.path.commonpath([root, path]) != root or not member.isfile():
                raise ValueError(member.name)
            self.archive.extract(member, target)
'''),
    ("ssrf: helper with ip check", '''
import httpx
from fastapi import FastAPI
app = FastAPI()
async def fetch(url):
    async with httpx.AsyncClient() as client:
        return await client.get(url)
@app.get("/proxy")
async def proxy(target: str):
    answer = await fetch(target)
    return {"status": answer.status_code}
''', '''
import httpx, ipaddress, socket
from urllib.parse import urlsplit
from fastapi import FastAPI, HTTPException
app = FastAPI()
def check(url):
    address = ipaddress.ip_address(socket.gethostbyname(urlsplit(url).hostname))
    if address.is_private or address.is_loopback or address.is_link_local:
        raise HTTPException(400)
async def fetch(url):
    check(url)
    async with httpx.AsyncClient() as client:
        return await client.get(url)
@app.get("/proxy")
async def proxy(target: str):
    answer = await fetch(target)
    return {"status": answer.status_code}
'''),
    ("ssrf: urlopen in a view class", '''
from urllib.request import urlopen
from django.views import View
from django.http import JsonResponse
class Importer(View):
    def post(self, request):
        feed = urlopen(request.POST["feed"]).read()
        return JsonResponse({"size": len(feed)})
''', '''
from urllib.request import urlopen
from django.views import View
from django.http import JsonResponse
FEEDS = {"daily": "https://feeds.example.com/daily.xml"}
class Importer(View):
    def post(self, request):
        feed = urlopen(FEEDS[request.POST["feed"]], timeout=5).read()
        return JsonResponse({"size": len(feed)})
'''),
    ("redirect: next", '''
from flask import redirect, request, session
@app.route("/login", methods=["POST"])
def login():
    session["user"] = authenticate(request.form)
    target = request.args.get("next") or "/"
    return redirect(target)
''', '''
from urllib.parse import urlparse
from flask import redirect, request, session
@app.route("/login", methods=["POST"])
def login():
    session["user"] = authenticate(request.form)
    target = request.args.get("next") or "/"
    parts = urlparse(target)
    if parts.netloc or parts.scheme:
        target = "/"
    return redirect(target)
'''),
    ("redirect: django", '''
from django.shortcuts import redirect
def done(request):
    return redirect(request.GET["next"])
''', '''
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
def done(request):
    target = request.GET["next"]
    if not url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        target = "/"
    return redirect(target)
'''),
    ("pickle: signed", '''
import pickle
def receive(sock):
    data = sock.recv(4096)
    return pickle.loads(data)
''', '''
import hmac, pickle
def receive(sock, key):
    data = sock.recv(4096)
    signature, body = data[:32], data[32:]
    if not hmac.compare_digest(signature, hmac.digest(key, body, "sha256")):
        raise ValueError("signature")
    return pickle.loads(body)
'''),
    ("yaml without loader", '''
from yaml import load
settings = load(open("settings.yml"))
''', '''
from yaml import load, SafeLoader
settings = load(open("settings.yml"), SafeLoader)
'''),
    ("torch", '''
import torch
def restore(path, device):
    state = torch.load(path, map_location=device)
    return state["model"]
''', '''
import torch
def restore(path, device):
    state = torch.load(path, map_location=device, weights_only=True)
    return state["model"]
'''),
    ("xxe: sax feature", '''
import xml.sax
from xml.sax.handler import feature_external_ges
def read(stream, handler):
    parser = xml.sax.make_parser()
    parser.setFeature(feature_external_ges, True)
    parser.setContentHandler(handler)
    parser.parse(stream)
''', '''
import xml.sax
from xml.sax.handler import feature_external_ges
def read(stream, handler):
    parser = xml.sax.make_parser()
    parser.setFeature(feature_external_ges, False)
    parser.setContentHandler(handler)
    parser.parse(stream)
'''),



    ("regex by request", '''
import re
from flask import request
@app.route("/grep")
def grep():
    pattern = re.compile(request.args["q"])
    return {"lines": [l for l in LINES if pattern.search(l)]}
''', '''
import re
from flask import request
@app.route("/grep")
def grep():
    pattern = re.compile(re.escape(request.args["q"]))
    return {"lines": [l for l in LINES if pattern.search(l)]}
'''),



    ("chmod by constants", '''
import os, stat
def share(path):
    os.chmod(path, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
''', '''
import os, stat
def share(path):
    os.chmod(path, stat.S_IRWXU | stat.S_IRGRP)
'''),
    ("secret file for all", '''
import os
def save(key_material, secret_path):
    with open(secret_path, "wb") as f:
        f.write(key_material)
    os.chmod(secret_path, 0o644)
''', '''
import os
def save(key_material, secret_path):
    fd = os.open(secret_path, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(fd, "wb") as f:
        f.write(key_material)
'''),
]  # fmt: skip
