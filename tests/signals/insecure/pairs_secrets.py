"""Development examples: cryptography, secrets, transport, sessions, settings, rights."""

PAIRS = [
    ("md5 signature", '''
import hashlib
def sign_request(params, secret):
    base = "&".join(f"{k}={v}" for k, v in sorted(params.items()))
    return hashlib.md5((base + secret).encode()).hexdigest()
''', '''
import hashlib, hmac
def sign_request(params, secret):
    base = "&".join(f"{k}={v}" for k, v in sorted(params.items()))
    return hmac.new(secret.encode(), base.encode(), hashlib.sha256).hexdigest()
'''),
    ("password sha1 update", '''
import hashlib
class Account:
    def set_password(self, password):
        h = hashlib.new("sha1")
        h.update(password.encode())
        self.digest = h.hexdigest()
''', '''
import bcrypt
class Account:
    def set_password(self, password):
        self.digest = bcrypt.hashpw(password.encode(), bcrypt.gensalt(12))
'''),
    ("password sha256 with salt", '''
from hashlib import sha256
def hash_pw(salt, pwd):
    return sha256(salt + pwd.encode("utf-8")).hexdigest()
''', '''
from hashlib import scrypt
def hash_pw(salt, pwd):
    return scrypt(pwd.encode("utf-8"), salt=salt, n=2**15, r=8, p=1).hex()
'''),
    ("pbkdf2 rounds", '''
import hashlib, os
ROUNDS = 5000
def derive(pw):
    salt = os.urandom(16)
    return salt, hashlib.pbkdf2_hmac("sha256", pw, salt, ROUNDS)
''', '''
import hashlib, os
ROUNDS = 600_000
def derive(pw):
    salt = os.urandom(16)
    return salt, hashlib.pbkdf2_hmac("sha256", pw, salt, ROUNDS)
'''),
    ("constant salt", '''
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives import hashes
SALT = b"static-salt"
def key(passphrase):
    kdf = PBKDF2HMAC(algorithm=hashes.SHA256(), length=32, salt=SALT, iterations=600000)
    return kdf.derive(passphrase)
''', '''
import os
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives import hashes
def key(passphrase):
    salt = os.urandom(16)
    kdf = PBKDF2HMAC(algorithm=hashes.SHA256(), length=32, salt=salt, iterations=600000)
    return salt, kdf.derive(passphrase)
'''),
    ("des", '''
from Crypto.Cipher import DES3
def lock(key, text, iv):
    return DES3.new(key, DES3.MODE_CBC, iv).encrypt(text)
''', '''
from Crypto.Cipher import AES
def lock(key, text):
    box = AES.new(key, AES.MODE_GCM)
    return box.nonce + box.encrypt(text)
'''),
    ("ecb cryptography", '''
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
def encryptor(key):
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()
''', '''
import os
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
def encryptor(key):
    nonce = os.urandom(12)
    return nonce, Cipher(algorithms.AES(key), modes.GCM(nonce)).encryptor()
'''),
    ("zero iv", '''
from Crypto.Cipher import AES
IV = bytes([0] * 16)
class Vault:
    def __init__(self, key):
        self.key = key
    def seal(self, data):
        return AES.new(self.key, AES.MODE_CBC, iv=IV).encrypt(data)
''', '''
import os
from Crypto.Cipher import AES
class Vault:
    def __init__(self, key):
        self.key = key
    def seal(self, data):
        iv = os.urandom(16)
        return iv + AES.new(self.key, AES.MODE_CBC, iv=iv).encrypt(data)
'''),
    ("short rsa", '''
from cryptography.hazmat.primitives.asymmetric import rsa
def new_key(bits=1024):
    return rsa.generate_private_key(public_exponent=65537, key_size=1024)
''', '''
from cryptography.hazmat.primitives.asymmetric import rsa
def new_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=3072)
'''),

    ("random otp", '''
import random
class Mailer:
    def send_code(self, user):
        otp = "".join(str(random.randint(0, 9)) for _ in range(6))
        user.otp = otp
        self.deliver(user.mail, otp)
''', '''
import secrets
class Mailer:
    def send_code(self, user):
        otp = "".join(str(secrets.randbelow(10)) for _ in range(6))
        user.otp = otp
        self.deliver(user.mail, otp)
'''),

    ("compare signature", '''
import hmac, hashlib
from flask import request, abort
@app.post("/hook")
def hook():
    expected = hmac.new(KEY, request.data, hashlib.sha256).hexdigest()
    if request.headers["X-Signature"] != expected:
        abort(403)
    return "ok"
''', '''
import hmac, hashlib
from flask import request, abort
@app.post("/hook")
def hook():
    expected = hmac.new(KEY, request.data, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(request.headers["X-Signature"], expected):
        abort(403)
    return "ok"
'''),
    ("compare api key", '''
import os
API_KEY = os.environ["API_KEY"]
def authorized(request):
    api_key = request.headers.get("X-Api-Key")
    return api_key == API_KEY
''', '''
import hmac, os
API_KEY = os.environ["API_KEY"]
def authorized(request):
    api_key = request.headers.get("X-Api-Key", "")
    return hmac.compare_digest(api_key, API_KEY)
'''),
    ("hard-coded password in connect", '''
import psycopg2
def connect():
    return psycopg2.connect(host="db.internal", user="svc", password="Tr0ub4dor&3x", dbname="prod")
''', '''
import os, psycopg2
def connect():
    return psycopg2.connect(host="db.internal", user="svc", password=os.environ["PGPASSWORD"], dbname="prod")
'''),
    ("hard-coded secret in config", '''
from flask import Flask
app = Flask(__name__)
app.config["SECRET_KEY"] = "9f2c1d7b5a3e4f60"
''', '''
import os
from flask import Flask
app = Flask(__name__)
app.config["SECRET_KEY"] = os.environ["SECRET_KEY"]
'''),
    ("hard-coded fallback", '''
import os
JWT_SECRET = os.environ.get("JWT_SECRET", "k3y-f0r-t0kens-2024")
''', '''
import os
JWT_SECRET = os.environ["JWT_SECRET"]
'''),
    ("token in code", '''
import requests
HEADERS = {"Authorization": "token " + "x"}
github_token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
def issues(repo):
    return requests.get("https://api.example.com/" + repo, headers=HEADERS, timeout=9)
TOKEN = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
''', '''
import os, requests
HEADERS = {"Authorization": "token " + os.environ["TOKEN"]}
def issues(repo):
    return requests.get("https://api.example.com/" + repo, headers=HEADERS, timeout=9)
'''),
    ("password in a url", '''
from sqlalchemy import create_engine
engine = create_engine("postgresql://svc:Zx81-lambda@db.internal/prod")
''', '''
import os
from sqlalchemy import create_engine
engine = create_engine(os.environ["DATABASE_URL"])
'''),
    ("key of a cipher", '''
from cryptography.fernet import Fernet
KEY = b"ZmDfcTF7_60GrrY167zsiPd67pEvs0aGOv2oasOM1Pg="
def lock(data):
    return Fernet(KEY).encrypt(data)
''', '''
import os
from cryptography.fernet import Fernet
def lock(data):
    return Fernet(os.environb[b"FERNET"]).encrypt(data)
'''),
    ("login compares with a literal", '''
def login(user, password):
    if user == "admin" and password == "S3cr3t!9":
        return True
    return False
''', '''
def login(user, password):
    account = accounts.get(user)
    return account is not None and account.verify(password)
'''),
    ("logged password", '''
import logging
log = logging.getLogger("auth")
def authenticate(username, password):
    log.debug(f"trying {username} with {password}")
    return backend.check(username, password)
''', '''
import logging
log = logging.getLogger("auth")
def authenticate(username, password):
    log.debug(f"trying {username}")
    return backend.check(username, password)
'''),
    ("stored password", '''
import json
def save_account(user, password, path):
    with open(path, "w") as handle:
        handle.write(json.dumps({"user": user}) + password)
''', '''
import json
from argon2 import PasswordHasher
def save_account(user, password, path):
    password_hash = PasswordHasher().hash(password)
    with open(path, "w") as handle:
        handle.write(json.dumps({"user": user, "hash": password_hash}))
'''),
    ("verify false on a session", '''
import requests
class Client:
    def __init__(self, base):
        self.base = base
        self.session = requests.Session()
        self.session.verify = False
    def get(self, path):
        return self.session.get(self.base + path, timeout=5)
''', '''
import requests
class Client:
    def __init__(self, base):
        self.base = base
        self.session = requests.Session()
    def get(self, path):
        return self.session.get(self.base + path, timeout=5)
'''),
    ("verify false by keyword arguments", '''
import httpx
OPTIONS = dict(timeout=5)
def client():
    return httpx.Client(verify=False, **OPTIONS)
''', '''
import httpx
OPTIONS = dict(timeout=5)
def client():
    return httpx.Client(**OPTIONS)
'''),
    ("ssl context", '''
import ssl, urllib.request
ctx = ssl.create_default_context()
ctx.check_hostname = False
ctx.verify_mode = ssl.CERT_NONE
urllib.request.urlopen("https://internal.example.com", context=ctx)
''', '''
import ssl, urllib.request
ctx = ssl.create_default_context(cafile="internal.pem")
urllib.request.urlopen("https://internal.example.com", context=ctx)
'''),
    ("unverified context", '''
import ssl
from http.client import HTTPSConnection
def connect(host):
    return HTTPSConnection(host, context=ssl._create_unverified_context())
''', '''
import ssl
from http.client import HTTPSConnection
def connect(host):
    return HTTPSConnection(host, context=ssl.create_default_context())
'''),
    ("old tls", '''
import ssl
def context():
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLSv1_1)
    return ctx
''', '''
import ssl
def context():
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ctx.minimum_version = ssl.TLSVersion.TLSv1_2
    return ctx
'''),
    ("auto add policy", '''
from paramiko import AutoAddPolicy, SSHClient
class Remote:
    def __init__(self, host):
        self.ssh = SSHClient()
        self.ssh.set_missing_host_key_policy(AutoAddPolicy)
        self.ssh.connect(host)
''', '''
from paramiko import RejectPolicy, SSHClient
class Remote:
    def __init__(self, host):
        self.ssh = SSHClient()
        self.ssh.load_system_host_keys()
        self.ssh.set_missing_host_key_policy(RejectPolicy)
        self.ssh.connect(host)
'''),
    ("smtp without tls", '''
import smtplib
def send(user, secret, message):
    server = smtplib.SMTP("mail.example.com", 25)
    server.login(user, secret)
    server.send_message(message)
''', '''
import smtplib
def send(user, secret, message):
    server = smtplib.SMTP("mail.example.com", 587)
    server.starttls()
    server.login(user, secret)
    server.send_message(message)
'''),
    ("ftp", '''
from ftplib import FTP
def push(host, user, pw, f):
    with FTP(host) as ftp:
        ftp.login(user, pw)
        ftp.storbinary("STOR x", f)
''', '''
from ftplib import FTP_TLS
def push(host, user, pw, f):
    with FTP_TLS(host) as ftp:
        ftp.login(user, pw)
        ftp.prot_p()
        ftp.storbinary("STOR x", f)
'''),
    ("jwt not verified", '''
import jwt
def current_user(headers):
    token = headers["Authorization"].split()[1]
    claims = jwt.decode(token, options={"verify_signature": False})
    return claims["sub"]
''', '''
import jwt
def current_user(headers, key):
    token = headers["Authorization"].split()[1]
    claims = jwt.decode(token, key, algorithms=["HS256"])
    return claims["sub"]
'''),
    ("jwt none among algorithms", '''
import jwt
ALGORITHMS = ["HS256", "none"]
def claims(token, key):
    return jwt.decode(token, key, algorithms=ALGORITHMS)
''', '''
import jwt
ALGORITHMS = ["HS256"]
def claims(token, key):
    return jwt.decode(token, key, algorithms=ALGORITHMS)
'''),
    ("cookie flags", '''
from flask import make_response
@app.route("/in", methods=["POST"])
def sign_in():
    answer = make_response("ok")
    answer.set_cookie("session_id", new_session())
    return answer
''', '''
from flask import make_response
@app.route("/in", methods=["POST"])
def sign_in():
    answer = make_response("ok")
    answer.set_cookie("session_id", new_session(), secure=True, httponly=True, samesite="Lax")
    return answer
'''),
    ("cookie settings", '''
app.config.update(SESSION_COOKIE_SECURE=False, SESSION_COOKIE_HTTPONLY=False)
''', '''
app.config.update(SESSION_COOKIE_SECURE=True, SESSION_COOKIE_HTTPONLY=True)
'''),
    ("csrf exempt class", '''
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from django.views import View
@method_decorator(csrf_exempt, name="dispatch")
class Transfer(View):
    def post(self, request):
        move(request.user, int(request.POST["amount"]))
''', '''
from django.views import View
class Transfer(View):
    def post(self, request):
        move(request.user, int(request.POST["amount"]))
'''),
    ("csrf off", '''
from flask import Flask
app = Flask(__name__)
app.config["WTF_CSRF_ENABLED"] = False
''', '''
from flask import Flask
from flask_wtf import CSRFProtect
app = Flask(__name__)
CSRFProtect(app)
'''),
    ("cors", '''
from flask import Flask
from flask_cors import CORS
app = Flask(__name__)
CORS(app, origins="*", supports_credentials=True)
''', '''
from flask import Flask
from flask_cors import CORS
app = Flask(__name__)
CORS(app, origins=["https://app.example.com"], supports_credentials=True)
'''),
    ("cors by hand", '''
@app.after_request
def cors(response):
    response.headers["Access-Control-Allow-Origin"] = request.headers.get("Origin", "*")
    response.headers["Access-Control-Allow-Credentials"] = "true"
    return response
''', '''
@app.after_request
def cors(response):
    response.headers["Access-Control-Allow-Origin"] = "https://app.example.com"
    response.headers["Access-Control-Allow-Credentials"] = "true"
    return response
'''),
    ("debug", '''
from flask import Flask
def create_app():
    app = Flask(__name__)
    return app
if __name__ == "__main__":
    create_app().run(host="127.0.0.1", debug=True)
''', '''
from flask import Flask
def create_app():
    app = Flask(__name__)
    return app
if __name__ == "__main__":
    create_app().run(host="127.0.0.1")
'''),

    ("bind", '''
import socketserver
def serve(handler):
    with socketserver.TCPServer(("0.0.0.0", 9000), handler) as server:
        server.serve_forever()
''', '''
import socketserver
def serve(handler):
    with socketserver.TCPServer(("127.0.0.1", 9000), handler) as server:
        server.serve_forever()
'''),






]  # fmt: skip
