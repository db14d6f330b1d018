"""Development examples in other styles: longer code, the flaw some steps away, less common libraries."""

PAIRS = [
    ("sql: async service with a builder", '''
import asyncpg

class OrderService:
    def __init__(self, pool: asyncpg.Pool):
        self._pool = pool

    def _build(self, *, status: str, sort: str) -> str:
        clause = "WHERE status = '" + status + "'" if status else ""
        return f"SELECT * FROM orders {clause} ORDER BY {sort}"

    async def list(self, status: str, sort: str = "id"):
        sql = self._build(status=status, sort=sort)
        async with self._pool.acquire() as conn:
            return await conn.fetch(sql)
''', '''
import asyncpg

SORTS = {"id": "id", "date": "created_at"}

class OrderService:
    def __init__(self, pool: asyncpg.Pool):
        self._pool = pool

    def _build(self, *, sort: str) -> str:
        column = SORTS.get(sort, "id")
        return f"SELECT * FROM orders WHERE status = $1 ORDER BY {column}"

    async def list(self, status: str, sort: str = "id"):
        sql = self._build(sort=sort)
        async with self._pool.acquire() as conn:
            return await conn.fetch(sql, status)
'''),
    ("sql: in clause", '''
def delete_many(session, ids):
    joined = ", ".join(ids)
    session.execute("DELETE FROM carts WHERE id IN (%s)" % joined)
    session.commit()
''', '''
def delete_many(session, ids):
    marks = ", ".join("?" for _ in ids)
    session.execute("DELETE FROM carts WHERE id IN (%s)" % marks, ids)
    session.commit()
'''),
    ("sql: django cursor and extra", '''
from django.db import connection
from rest_framework.views import APIView
from rest_framework.response import Response

class Stats(APIView):
    def get(self, request):
        year = request.query_params.get("year")
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM visits WHERE year = {}".format(year))
            return Response(cursor.fetchone())
''', '''
from django.db import connection
from rest_framework.views import APIView
from rest_framework.response import Response

class Stats(APIView):
    def get(self, request):
        year = request.query_params.get("year")
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM visits WHERE year = %s", [year])
            return Response(cursor.fetchone())
'''),
    ("sql: text block and augmented assignment", '''
def search_books(db, title=None, author=None):
    query = "SELECT * FROM books WHERE 1=1"
    if title:
        query += " AND title LIKE '%" + title + "%'"
    if author:
        query += f" AND author = '{author}'"
    return db.cursor().execute(query).fetchall()
''', '''
def search_books(db, title=None, author=None):
    query = "SELECT * FROM books WHERE 1=1"
    values = []
    if title:
        query += " AND title LIKE ?"
        values.append("%" + title + "%")
    if author:
        query += " AND author = ?"
        values.append(author)
    return db.cursor().execute(query, values).fetchall()
'''),
    ("sql: replace in a template", '''
TEMPLATE = "SELECT * FROM logs WHERE user = '@USER@'"
def logs_of(conn, user):
    return conn.execute(TEMPLATE.replace("@USER@", user)).fetchall()
''', '''
TEMPLATE = "SELECT * FROM logs WHERE user = :user"
def logs_of(conn, user):
    return conn.execute(TEMPLATE, {"user": user}).fetchall()
'''),
    ("sql: pandas", '''
import pandas as pd
def frame(engine, region):
    return pd.read_sql(f"select * from sales where region = '{region}'", engine)
''', '''
import pandas as pd
def frame(engine, region):
    return pd.read_sql("select * from sales where region = %(region)s", engine, params={"region": region})
'''),
    ("command: click command", '''
import os
import click

@click.command()
@click.argument("branch")
def deploy(branch):
    """Deploy a branch."""
    os.system(f"git checkout {branch} && make deploy")
''', '''
import subprocess
import click

@click.command()
@click.argument("branch")
def deploy(branch):
    """Deploy a branch."""
    subprocess.run(["git", "checkout", "--end-of-options", "--", branch], check=True)
    subprocess.run(["make", "deploy"], check=True)
'''),
    ("command: dict of options, Popen with kwargs", '''
import subprocess

class Transcoder:
    def __init__(self, options):
        self.binary = options.get("binary", "ffmpeg")
        self.flags = options.get("flags", "")

    def command(self, src, dst):
        return " ".join([self.binary, "-i", src, self.flags, dst])

    def run(self, src, dst):
        process = subprocess.Popen(self.command(src, dst), shell=True, stdout=subprocess.PIPE)
        return process.communicate()[0]
''', '''
import subprocess

class Transcoder:
    def __init__(self, options):
        self.binary = options.get("binary", "ffmpeg")

    def command(self, src, dst):
        return [self.binary, "-i", src, dst]

    def run(self, src, dst):
        process = subprocess.Popen(self.command(src, dst), stdout=subprocess.PIPE)
        return process.communicate()[0]
'''),
    ("command: from an environment variable of CI", '''
import os, subprocess
title = os.environ["PR_TITLE"]
subprocess.run("echo Building: " + title, shell=True)
''', '''
import os
title = os.environ["PR_TITLE"]
print("Building:", title)
'''),
    ("command: lambda event", '''
import subprocess
def lambda_handler(event, context):
    key = event["Records"][0]["s3"]["object"]["key"]
    subprocess.call("pdftotext /tmp/%s" % key, shell=True)
    return {"statusCode": 200}
''', '''
import subprocess
def lambda_handler(event, context):
    key = event["Records"][0]["s3"]["object"]["key"]
    subprocess.call(["pdftotext", "/mnt/" + key.rsplit("/", 1)[-1]])
    return {"statusCode": 200}
'''),
    ("code: pandas eval and compile", '''
def evaluate(frame, text):
    code = compile(text, "<formula>", "eval")
    return eval(code, {"frame": frame})
''', '''
OPERATIONS = {"sum": lambda f: f.sum(), "mean": lambda f: f.mean()}
def evaluate(frame, text):
    return OPERATIONS[text](frame)
'''),
    ("code: yaml of expressions", '''
import json
def apply_rules(path, record):
    with open(path) as handle:
        rules = json.load(handle)
    for rule in rules:
        if eval(rule["when"], {}, record):
            return rule["then"]
''', '''
import json, operator
OPERATORS = {"<": operator.lt, ">": operator.gt}
def apply_rules(path, record):
    with open(path) as handle:
        rules = json.load(handle)
    for rule in rules:
        if OPERATORS[rule["op"]](record[rule["field"]], rule["value"]):
            return rule["then"]
'''),
    ("template: string built in a helper of a blueprint", '''
from flask import Blueprint, render_template_string, request
pages = Blueprint("pages", __name__)

def layout(content):
    return "<html><body>" + content + "</body></html>"

@pages.route("/preview", methods=["POST"])
def preview():
    markdown = request.form["markdown"]
    return render_template_string(layout(markdown))
''', '''
from flask import Blueprint, render_template_string, request
pages = Blueprint("pages", __name__)

LAYOUT = "<html><body>{{ content }}</body></html>"

@pages.route("/preview", methods=["POST"])
def preview():
    markdown = request.form["markdown"]
    return render_template_string(LAYOUT, content=markdown)
'''),
    ("xss: join in a loop", '''
from flask import Flask, request
app = Flask(__name__)

@app.route("/tags")
def tags():
    html = "<ul>"
    for tag in request.args.getlist("tag"):
        html += "<li>%s</li>" % tag
    html += "</ul>"
    return html
''', '''
from flask import Flask, request
from markupsafe import escape
app = Flask(__name__)

@app.route("/tags")
def tags():
    html = "<ul>"
    for tag in request.args.getlist("tag"):
        html += "<li>%s</li>" % escape(tag)
    html += "</ul>"
    return html
'''),
    ("xss: bottle and tornado", '''
import tornado.web
class Search(tornado.web.RequestHandler):
    def get(self):
        term = self.get_argument("q", "")
        self.write("<h2>Results for " + term + "</h2>")
''', '''
import tornado.web, tornado.escape
class Search(tornado.web.RequestHandler):
    def get(self):
        term = self.get_argument("q", "")
        self.write("<h2>Results for " + tornado.escape.xhtml_escape(term) + "</h2>")
'''),
    ("path: class with base folder", '''
import os
class Storage:
    def __init__(self, root):
        self.root = root
    def path(self, name):
        return os.path.join(self.root, name)
    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()
storage = Storage("/srv/files")
from flask import Flask
app = Flask(__name__)
@app.get("/raw/<path:name>")
def raw(name):
    return storage.read(name)
''', '''
import os
class Storage:
    def __init__(self, root):
        self.root = os.path.realpath(root)
    def path(self, name):
        full = os.path.realpath(os.path.join(self.root, name))
        if not full.startswith(self.root + os.sep):
            raise ValueError(name)
        return full
    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()
storage = Storage("/srv/files")
from flask import Flask
app = Flask(__name__)
@app.get("/raw/<path:name>")
def raw(name):
    return storage.read(name)
'''),
    ("path: library function with a folder and a name", '''
from pathlib import Path
TEMPLATES = Path(__file__).parent / "templates"
def load_template(name):
    return (TEMPLATES / f"{name}.html").read_text()
def handler(request):
    return load_template(request.GET["page"])
''', '''
from pathlib import Path
TEMPLATES = Path(__file__).parent / "templates"
NAMES = {p.stem for p in TEMPLATES.glob("*.html")}
def load_template(name):
    if name not in NAMES:
        raise KeyError(name)
    return (TEMPLATES / f"{name}.html").read_text()
def handler(request):
    return load_template(request.GET["page"])
'''),
    ("path: zip members written by hand", '''
import os, zipfile
def unpack(archive, target):
    with zipfile.ZipFile(archive) as z:
        for info in z.infolist():
            out = os.path.join(target, info.filename)
            with open(out, "wb") as f:
                f.write(z.read(info))
''', '''
import os, zipfile
def unpack(archive, target):
    root = os.path.realpath(target)
    with zipfile.ZipFile(archive) as z:
        for info in z.infolist():
            out = os.path.realpath(os.path.join(root, info.filename))
            if not out.startswith(root + os.sep):
                raise ValueError(info.filename)
            with open(out, "wb") as f:
                f.write(z.read(info))
'''),
    ("ssrf: webhook stored in a model", '''
import requests
from fastapi import APIRouter
from pydantic import BaseModel
router = APIRouter()

class Hook(BaseModel):
    callback: str

@router.post("/hooks")
def register(hook: Hook):
    response = requests.post(hook.callback, json={"ping": True}, timeout=5)
    return {"status": response.status_code}
''', '''
import requests
from urllib.parse import urlparse
from fastapi import APIRouter, HTTPException
from pydantic import BaseModel
router = APIRouter()
PARTNERS = ("hooks.example.com",)

class Hook(BaseModel):
    callback: str

@router.post("/hooks")
def register(hook: Hook):
    host = urlparse(hook.callback).hostname
    if host not in PARTNERS:
        raise HTTPException(422)
    response = requests.post(hook.callback, json={"ping": True}, timeout=5)
    return {"status": response.status_code}
'''),
    ("ssrf: host in an f-string", '''
import requests
from flask import request
@app.route("/status")
def status():
    host = request.args.get("host", "localhost")
    return requests.get(f"http://{host}:8080/health", timeout=2).text
''', '''
import requests
from flask import request
HOSTS = {"a": "10.0.0.1", "b": "10.0.0.2"}
@app.route("/status")
def status():
    host = HOSTS.get(request.args.get("host"), "10.0.0.1")
    return requests.get(f"http://{host}:8080/health", timeout=2).json()
'''),
    ("redirect: starlette", '''
from starlette.responses import RedirectResponse
async def callback(request):
    url = request.query_params.get("return_to", "/")
    return RedirectResponse(url=url)
''', '''
from starlette.responses import RedirectResponse
async def callback(request):
    url = request.query_params.get("return_to", "/")
    if not url.startswith("/") or url.startswith("//"):
        url = "/"
    return RedirectResponse(url=url)
'''),
    ("pickle: queue worker", '''
import zmq, pickle
def worker(address):
    socket = zmq.Context().socket(zmq.PULL)
    socket.connect(address)
    while True:
        task = pickle.loads(socket.recv())
        task()
''', '''
import zmq, json
def worker(address):
    socket = zmq.Context().socket(zmq.PULL)
    socket.connect(address)
    while True:
        task = json.loads(socket.recv())
        run(task["name"])
'''),
    ("pickle: alias by from import", '''
from pickle import loads as restore
class Session:
    def __init__(self, raw):
        self.raw = raw
    @property
    def data(self):
        return restore(self.raw)
''', '''
from json import loads as restore
class Session:
    def __init__(self, raw):
        self.raw = raw
    @property
    def data(self):
        return restore(self.raw)
'''),
    ("marshal and shelve", '''
import shelve
def open_state(user_path):
    return shelve.open(user_path)
''', '''
import sqlite3
def open_state(user_path):
    return sqlite3.connect(user_path)
'''),
    ("xml: soap handler in flask", '''
from lxml import etree
from flask import request
@app.route("/soap", methods=["POST"])
def soap():
    root = etree.fromstring(request.get_data())
    return root.findtext("name") or "", 200, {"Content-Type": "text/plain"}
''', '''
from lxml import etree
from flask import request
PARSER = etree.XMLParser(resolve_entities=False, no_network=True)
@app.route("/soap", methods=["POST"])
def soap():
    root = etree.fromstring(request.get_data(), parser=PARSER)
    return {"found": root.find("name") is not None}
'''),
    ("hash: checksum of a license in a class", '''
import hashlib
class License:
    SECRET_PEPPER = None
    def signature(self, payload):
        digest = hashlib.sha1()
        digest.update(payload)
        return digest.hexdigest()
''', '''
import hashlib
class License:
    SECRET_PEPPER = None
    def signature(self, payload):
        digest = hashlib.sha256()
        digest.update(payload)
        return digest.hexdigest()
'''),
    ("cipher: mode by variable", '''
from Cryptodome.Cipher import AES
MODE = AES.MODE_ECB
def encrypt(key, block):
    cipher = AES.new(key, MODE)
    return cipher.encrypt(block)
''', '''
from Cryptodome.Cipher import AES
MODE = AES.MODE_EAX
def encrypt(key, block):
    cipher = AES.new(key, MODE)
    return cipher.nonce + cipher.encrypt(block)
'''),
    ("random: numpy and shuffle for a token", '''
import random, string
ALPHABET = string.ascii_letters + string.digits
def new_api_key(length=40):
    rng = random.Random()
    key = []
    for _ in range(length):
        key.append(rng.choice(ALPHABET))
    return "".join(key)
''', '''
import secrets, string
ALPHABET = string.ascii_letters + string.digits
def new_api_key(length=40):
    key = []
    for _ in range(length):
        key.append(secrets.choice(ALPHABET))
    return "".join(key)
'''),
    ("tls: options through a dict", '''
import requests
def fetch(url, insecure=True):
    options = {"timeout": 5, "verify": False}
    return requests.get(url, **options)
''', '''
import requests
def fetch(url):
    options = {"timeout": 5}
    return requests.get(url, **options)
'''),
    ("tls: aiohttp ssl=False", '''
import aiohttp
async def pull(url):
    connector = aiohttp.TCPConnector(ssl=False)
    async with aiohttp.ClientSession(connector=connector) as session:
        async with session.get(url) as response:
            return await response.json()
''', '''
import aiohttp
async def pull(url):
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as response:
            return await response.json()
'''),
    ("secret: class attribute and mapping", '''
class Settings:
    DATABASE = {"ENGINE": "postgres", "USER": "app", "PASSWORD": "p0stgr3s-Prod!", "HOST": "db"}
''', '''
import os
class Settings:
    DATABASE = {"ENGINE": "postgres", "USER": "app", "PASSWORD": os.environ["DB_PASSWORD"], "HOST": "db"}
'''),
    ("secret: header with a bearer token", '''
import requests
def notify(text):
    headers = {"Authorization": "Bearer 7d1f0b9c2e3a4d5f6a7b8c9d0e1f2a3b"}
    requests.post("https://chat.example.com/api", json={"t": text}, headers=headers, timeout=5)
''', '''
import os, requests
def notify(text):
    headers = {"Authorization": "Bearer " + os.environ["CHAT_TOKEN"]}
    requests.post("https://chat.example.com/api", json={"t": text}, headers=headers, timeout=5)
'''),
    ("debug: setting in code", '''
from flask import Flask
app = Flask(__name__)
app.config.from_mapping(DEBUG=True)
app.config["DEBUG"] = True
if __name__ == "__main__":
    app.run()
''', '''
import os
from flask import Flask
app = Flask(__name__)
app.config["DEBUG"] = os.environ.get("APP_DEBUG") == "1"
if __name__ == "__main__":
    app.run()
'''),
    ("upload: fastapi", '''
import shutil
from fastapi import FastAPI, UploadFile
app = FastAPI()
@app.post("/files")
async def save(upload: UploadFile):
    with open(f"/srv/uploads/{upload.filename}", "wb") as target:
        shutil.copyfileobj(upload.file, target)
    return {"name": upload.filename}
''', '''
import shutil, uuid
from fastapi import FastAPI, UploadFile
app = FastAPI()
@app.post("/files")
async def save(upload: UploadFile):
    name = uuid.uuid4().hex
    with open(f"/srv/uploads/{name}", "wb") as target:
        shutil.copyfileobj(upload.file, target)
    return {"name": name}
'''),
    ("regex: nested quantifier in a list", '''
import re
PATTERNS = [r"^\\d+$", r"^(([a-z])+.)+[A-Z]([a-z])+$"]
def classify(text):
    return [bool(re.match(p, text)) for p in PATTERNS]
''', '''
import re
PATTERNS = [r"^\\d+$", r"^[a-z.]+[A-Z][a-z]+$"]
def classify(text):
    return [bool(re.match(p, text)) for p in PATTERNS]
'''),
    ("log: django view logs the token", '''
import logging
logger = logging.getLogger(__name__)
class TokenService:
    def issue(self, user):
        access_token = self.mint(user)
        logger.info("issued token for %s: %s", user.id, access_token)
        return access_token
''', '''
import logging
logger = logging.getLogger(__name__)
class TokenService:
    def issue(self, user):
        access_token = self.mint(user)
        logger.info("issued token for %s", user.id)
        return access_token
'''),

    ("cookie: django response", '''
def login(request):
    response = render(request, "home.html")
    response.set_cookie("auth_token", make_token(request.user), httponly=False, secure=False)
    return response
''', '''
def login(request):
    response = render(request, "home.html")
    response.set_cookie("auth_token", make_token(request.user), httponly=True, secure=True, samesite="Strict")
    return response
'''),
    ("temporary: os.path.join with gettempdir", '''
import os, tempfile
def cache(data):
    path = os.path.join(tempfile.gettempdir(), "app-cache.bin")
    with open(path, "wb") as handle:
        handle.write(data)
    return path
''', '''
import os, tempfile
def cache(data):
    handle, path = tempfile.mkstemp(prefix="app-cache")
    with os.fdopen(handle, "wb") as target:
        target.write(data)
    return path
'''),
]  # fmt: skip
