"""Development examples: injection. Each an insecure text and its fixed counterpart, in the style of real code."""

PAIRS = [
    ("sql: flask, f-string through a variable", '''
import sqlite3
from flask import Flask, request, jsonify
app = Flask(__name__)

@app.route("/users")
def users():
    order = request.args.get("order", "name")
    query = f"SELECT id, name FROM users ORDER BY {order}"
    with sqlite3.connect("app.db") as db:
        rows = db.execute(query).fetchall()
    return jsonify(rows)
''', '''
import sqlite3
from flask import Flask, request, jsonify
app = Flask(__name__)
COLUMNS = {"name", "created"}

@app.route("/users")
def users():
    order = request.args.get("order", "name")
    if order not in COLUMNS:
        order = "name"
    query = f"SELECT id, name FROM users ORDER BY {order}"
    with sqlite3.connect("app.db") as db:
        rows = db.execute(query).fetchall()
    return jsonify(rows)
'''),
    ("sql: repository class, format in a helper", '''
class UserRepository:
    def __init__(self, connection):
        self.connection = connection

    def _where(self, field, value):
        return " WHERE {} = '{}'".format(field, value)

    def by_email(self, email):
        cursor = self.connection.cursor()
        cursor.execute("SELECT * FROM users" + self._where("email", email))
        return cursor.fetchone()
''', '''
class UserRepository:
    def __init__(self, connection):
        self.connection = connection

    def _where(self, field):
        return " WHERE {} = %s".format(field)

    def by_email(self, email):
        cursor = self.connection.cursor()
        cursor.execute("SELECT * FROM users" + self._where("email"), (email,))
        return cursor.fetchone()
'''),
    ("sql: django raw", '''
from django.http import JsonResponse
from .models import Product

def search(request):
    term = request.GET["q"]
    found = Product.objects.raw("SELECT * FROM shop_product WHERE name LIKE '%%%s%%'" % term)
    return JsonResponse({"items": [p.name for p in found]})
''', '''
from django.http import JsonResponse
from .models import Product

def search(request):
    term = request.GET["q"]
    found = Product.objects.raw("SELECT * FROM shop_product WHERE name LIKE %s", ["%" + term + "%"])
    return JsonResponse({"items": [p.name for p in found]})
'''),
    ("sql: sqlalchemy text in fastapi", '''
from fastapi import FastAPI, Depends
from sqlalchemy import text
app = FastAPI()

@app.get("/orders/{status}")
async def orders(status: str, session=Depends(get_session)):
    statement = text("select * from orders where status = '" + status + "'")
    result = await session.execute(statement)
    return result.all()
''', '''
from fastapi import FastAPI, Depends
from sqlalchemy import text
app = FastAPI()

@app.get("/orders/{status}")
async def orders(status: str, session=Depends(get_session)):
    statement = text("select * from orders where status = :status")
    result = await session.execute(statement, {"status": status})
    return result.all()
'''),
    ("sql: script with sys.argv", '''
import sys, psycopg2
conn = psycopg2.connect("dbname=app")
cur = conn.cursor()
name = sys.argv[1]
sql = "DELETE FROM sessions WHERE owner = '%s'" % name
cur.execute(sql)
''', '''
import sys, psycopg2
conn = psycopg2.connect("dbname=app")
cur = conn.cursor()
name = sys.argv[1]
cur.execute("DELETE FROM sessions WHERE owner = %s", (name,))
'''),
    ("sql: list of conditions joined", '''
def find(db, filters):
    parts = []
    for key, value in filters.items():
        parts.append(key + " = '" + value + "'")
    sql = "SELECT * FROM items WHERE " + " AND ".join(parts)
    return db.execute(sql)
''', '''
ALLOWED = ("name", "colour")

def find(db, filters):
    parts, values = [], []
    for key in ALLOWED:
        if key in filters:
            parts.append(key + " = ?")
            values.append(filters[key])
    sql = "SELECT * FROM items WHERE " + " AND ".join(parts)
    return db.execute(sql, values)
'''),
    ("sql: int conversion clears", '''
from flask import request
@app.route("/page")
def page():
    offset = request.args["offset"]
    return db.session.execute("SELECT * FROM t LIMIT 10 OFFSET " + offset).all()
''', '''
from flask import request
@app.route("/page")
def page():
    offset = int(request.args["offset"])
    return db.session.execute("SELECT * FROM t LIMIT 10 OFFSET " + str(offset)).all()
'''),
    ("sql: self attribute", '''
class Report:
    def __init__(self, table, customer):
        self.customer = customer
        self.sql = "SELECT * FROM report WHERE customer = '" + customer + "'"

    def run(self, cursor):
        cursor.execute(self.sql)
        return cursor.fetchall()
''', '''
class Report:
    def __init__(self, table, customer):
        self.customer = customer
        self.sql = "SELECT * FROM report WHERE customer = ?"

    def run(self, cursor):
        cursor.execute(self.sql, (self.customer,))
        return cursor.fetchall()
'''),
    ("ldap: f-string filter", '''
import ldap
def lookup(username):
    conn = ldap.initialize("ldap://directory")
    criteria = f"(&(objectClass=person)(uid={username}))"
    return conn.search_s("dc=example,dc=org", ldap.SCOPE_SUBTREE, criteria)
''', '''
import ldap
from ldap.filter import escape_filter_chars
def lookup(username):
    conn = ldap.initialize("ldap://directory")
    criteria = f"(&(objectClass=person)(uid={escape_filter_chars(username)}))"
    return conn.search_s("dc=example,dc=org", ldap.SCOPE_SUBTREE, criteria)
'''),
    ("command: popen through helper", '''
import os
from flask import request
def run(command):
    return os.popen(command).read()

@app.route("/dns")
def dns():
    host = request.form["host"]
    return run("nslookup " + host)
''', '''
import subprocess
from flask import request
def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout

@app.route("/dns")
def dns():
    host = request.form["host"]
    if not host.isalnum():
        return "bad host", 400
    return run("nslookup", host)
'''),
    ("command: quoted", '''
import subprocess
def archive(folder, name):
    line = f"tar czf {name}.tgz {folder}"
    return subprocess.run(line, shell=True, check=True)
''', '''
import shlex, subprocess
def archive(folder, name):
    line = f"tar czf {shlex.quote(name)}.tgz {shlex.quote(folder)}"
    return subprocess.run(line, shell=True, check=True)
'''),
    ("command: bash -c", '''
import subprocess
def grep(pattern):
    return subprocess.check_output(["bash", "-c", "grep -r '" + pattern + "' /var/log"])
''', '''
import subprocess
def grep(pattern):
    return subprocess.check_output(["grep", "-r", "-e", pattern, "/var/log"])
'''),
    ("command: paramiko", '''
import paramiko
def restart(host, service):
    client = paramiko.SSHClient()
    client.load_system_host_keys()
    client.connect(host)
    client.exec_command(f"systemctl restart {service}")
''', '''
import paramiko
SERVICES = {"web", "worker"}
def restart(host, service):
    if service not in SERVICES:
        raise ValueError(service)
    client = paramiko.SSHClient()
    client.load_system_host_keys()
    client.connect(host)
    client.exec_command(f"systemctl restart {service}")
'''),
    ("command: alias and getattr", '''
import os as system_tools
from flask import request
runner = getattr(system_tools, "sys" + "tem")
@app.route("/go")
def go():
    runner("touch " + request.args["f"])
    return ""
''', '''
import pathlib
from flask import request
@app.route("/go")
def go():
    pathlib.Path("/srv/touch", pathlib.Path(request.args["f"]).name)
    return ""
'''),
    ("argument: git clone", '''
import subprocess
from fastapi import FastAPI
app = FastAPI()
@app.post("/mirror")
def mirror(url: str):
    subprocess.run(["git", "clone", url, "/srv/mirror"], check=True)
''', '''
import subprocess
from fastapi import FastAPI, HTTPException
app = FastAPI()
@app.post("/mirror")
def mirror(url: str):
    if url.startswith("-"):
        raise HTTPException(400)
    subprocess.run(["git", "clone", "--", url, "/srv/mirror"], check=True)
'''),
    ("template: jinja from_string", '''
from jinja2 import Environment
from flask import request
@app.route("/mail")
def mail():
    body = request.form["body"]
    return Environment(autoescape=True).from_string("Dear {{ name }}, " + body).render(name="x")
''', '''
from jinja2 import Environment
from flask import request
@app.route("/mail")
def mail():
    body = request.form["body"]
    return Environment(autoescape=True).from_string("Dear {{ name }}, {{ body }}").render(name="x", body=body)
'''),
    ("reflection: getattr handler", '''
from flask import request
@app.route("/api/<action>")
def api(action):
    handler = getattr(actions, action)
    return handler(request.get_json())
''', '''
from flask import request
HANDLERS = {"list": actions.list_all, "add": actions.add}
@app.route("/api/<action>")
def api(action):
    handler = HANDLERS.get(action)
    if handler is None:
        return "", 404
    return handler(request.get_json())
'''),




    ("xss: string in a view", '''
from django.http import HttpResponse
def greet(request):
    name = request.GET.get("name", "")
    return HttpResponse("<p>Hello " + name + "</p>")
''', '''
from django.http import HttpResponse
from django.utils.html import escape
def greet(request):
    name = request.GET.get("name", "")
    return HttpResponse("<p>Hello " + escape(name) + "</p>")
'''),
    ("xss: mark_safe", '''
from django.utils.safestring import mark_safe
def render_comment(comment):
    body = "<div>%s</div>" % comment.text
    return mark_safe(body)
''', '''
from django.utils.html import format_html
def render_comment(comment):
    return format_html("<div>{}</div>", comment.text)
'''),
    ("exception text to the client", '''
from flask import jsonify
@app.route("/pay", methods=["POST"])
def pay():
    try:
        charge()
    except Exception as e:
        return jsonify({"error": str(e)}), 500
    return jsonify(ok=True)
''', '''
from flask import jsonify
@app.route("/pay", methods=["POST"])
def pay():
    try:
        charge()
    except Exception:
        app.logger.exception("payment failed")
        return jsonify({"error": "payment failed"}), 500
    return jsonify(ok=True)
'''),
]  # fmt: skip
