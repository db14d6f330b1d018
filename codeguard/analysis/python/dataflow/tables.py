"""Sources of untrusted input and sanitizers in the standard library and well-known packages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codeguard.analysis.python.dataflow.values import ALL_USES, RESOLVED, TEXT_USES, Reach, Use
from codeguard.corpus.patterns import lazy

REQUEST_PARTS = frozenset(
    {
        "args", "form", "values", "json", "data", "files", "cookies", "headers", "query_string", "url",
        "get_json", "get_data", "stream", "full_path", "referrer", "user_agent", "view_args",
        "GET", "POST", "FILES", "COOKIES", "META", "body", "path_info",
        "query_params", "path_params", "query", "match_info", "rel_url", "params", "post", "text", "read",
        "arguments", "get_argument", "get_arguments", "get_body_argument", "get_query_argument", "get_cookie",
        "forms", "content", "raw_post_data", "environ", "json_body", "matchdict", "path", "form_data",
        "media", "get_media", "get_param", "get_header", "bounded_stream", "validated_data",
    }
)  # fmt: skip
REQUEST_NAMES = frozenset({"request", "req", "http_request", "flask_request"})
REQUEST_CLASSES = lazy(r"(?:^|\.)(?:\w*Request|HTTPConnection|WebSocket)$")

REMOTE_CALLS = frozenset(
    {
        "urllib.request.urlopen", "urllib2.urlopen",
        "requests.get", "requests.post", "requests.put", "requests.request", "requests.head",
        "requests.Session.get", "requests.Session.post", "requests.Session.request", "requests.session.get",
        "httpx.get", "httpx.post", "httpx.Client.get", "httpx.Client.post", "httpx.AsyncClient.get",
        "aiohttp.ClientSession.get", "aiohttp.ClientSession.post", "urllib3.PoolManager.request",
        "socket.socket.recv", "socket.socket.recvfrom", "socket.socket.accept.recv", "socket.socket.makefile",
        "socket.create_connection.recv", "http.client.HTTPSConnection.getresponse",
        "http.client.HTTPConnection.getresponse", "websockets.connect.recv",
        "tornado.web.RequestHandler.get_argument", "tornado.web.RequestHandler.get_query_argument",
        "tornado.web.RequestHandler.get_body_argument", "tornado.web.RequestHandler.get_arguments",
        "redis.Redis.blpop", "redis.Redis.brpop", "redis.Redis.lpop", "redis.Redis.rpop", "redis.Redis.from_url.get",
        "redis.Redis.from_url.blpop", "redis.Redis.from_url.brpop", "redis.Redis.from_url.lpop", "redis.from_url.get",
        "redis.from_url.blpop", "redis.StrictRedis.get", "redis.StrictRedis.blpop", "zmq.Context.socket.recv",
        "streamlit.text_input", "streamlit.text_area", "streamlit.chat_input", "streamlit.query_params.get",
        "cgi.FieldStorage", "feedparser.parse", "imaplib.IMAP4.fetch", "imaplib.IMAP4_SSL.fetch", "redis.Redis.get",
    }
)  # fmt: skip
ANSWER = "answer"  # tag of responses to the program's own requests
# Calls of language models, by the end of their dotted name in the clients of several vendors.
MODEL_CALLS = lazy(
    r"(?:^|\.)(?:(?:chat\.)?completions|(?:Chat)?Completion|(?:beta\.)?messages|responses"
    r"|generations)\.a?create(?:$|\()"
    r"|(?:^|\.)(?:litellm\.a?completion|ollama\.(?:Client\.)?(?:chat|generate)|generate_content(?:_async)?"
    r"|invoke_model"
    r"|chat\.complete|replicate\.run)$"
    r"|(?:^|\.)(?:\w*llm|\w*chain|chat_?model|language_model|gpt\w*|claude\w*|gemini\w*)\.(?:a?(?:invoke"
    r"|predict|generate|complete"
    r"|run|chat|ask|call|prompt|query)|completion)$",
    re.IGNORECASE,
)
MODEL_METHODS = frozenset(
    f"{prefix}{verb}"
    for prefix in ("", "a")
    for verb in [
        "create",
        "completion",
        "chat",
        "generate",
        "generate_content",
        "generate_content_async",
        "invoke_model",
        "complete",
        "run",
        "invoke",
        "predict",
        "ask",
        "call",
        "prompt",
        "query",
    ]
)
# Loops over received messages: `async for message in websocket`, `pubsub.listen()`.
STREAMS = lazy(
    r"^(?:\w*web_?socket|ws|\w*_ws|\w*consumer|\w*subscription|\w*subscriber|pub_?sub)$"
    r"|\.(?:iter_text|iter_json|iter_bytes)$"
    r"|(?:pub_?sub|consumer|subscriber)\.(?:listen|consume|messages|poll)$",
    re.IGNORECASE,
)
STREAM_LIBRARIES = (
    "websockets.", "aiohttp.", "kafka.", "aiokafka.", "confluent_kafka.", "redis.", "aio_pika.", "pika.", "starlette.",
    "fastapi.", "quart.", "sanic.", "nats.", "paho.", "stomp.", "azure.servicebus.", "google.cloud.pubsub",
    "trio_websocket.",
)  # fmt: skip
ANSWERING = (
    "requests.",
    "httpx.",
    "aiohttp.ClientSession.",
    "urllib.request.",
    "urllib2.",
    "urllib3.",
    "http.client.",
)
REMOTE_METHODS = frozenset(
    {"recv", "recvfrom", "recv_json", "recv_string", "receive_text", "receive_json", "receive_bytes",
     "recv_pyobj", "get_argument", "get_body_argument", "get_query_argument", "getresponse", "recvmsg",
     "recv_multipart", "receive_message", "receive_messages", "basic_get", "readuntil", "get_object",
     "download_as_bytes", "download_as_string", "download_as_text", "download_blob"}
)  # fmt: skip
MAIL_METHODS = frozenset(
    {"get_filename"}
)  # fields that the sender of a mail controls, in files that read mail
MAIL = ("email.", "imaplib.", "mailbox.")
REMOTE_VALUES = frozenset(
    {
        "http.server.BaseHTTPRequestHandler.path", "http.server.BaseHTTPRequestHandler.headers",
        "http.server.BaseHTTPRequestHandler.rfile", "http.server.SimpleHTTPRequestHandler.path",
        "http.server.SimpleHTTPRequestHandler.headers", "http.server.SimpleHTTPRequestHandler.rfile",
        "socketserver.StreamRequestHandler.rfile", "socketserver.BaseRequestHandler.request",
        "tornado.web.RequestHandler.request",
    }
)  # fmt: skip
LOCAL_CALLS = frozenset(
    {"input", "raw_input", "os.getenv", "os.environ.get", "sys.stdin.read", "sys.stdin.readline",
     "sys.stdin.readlines", "sys.stdin.buffer.read", "argparse.ArgumentParser.parse_args",
     "argparse.ArgumentParser.parse_known_args", "optparse.OptionParser.parse_args", "getopt.getopt",
     "getpass.getpass", "os.listdir", "docopt.docopt", "csv.reader", "csv.DictReader", "openpyxl.load_workbook",
     "configparser.ConfigParser", "configparser.RawConfigParser", "tkinter.simpledialog.askstring"}
)  # fmt: skip
LOCAL_VALUES = frozenset({"sys.argv", "os.environ", "sys.stdin"})
STORED = "stored"  # tag of database content, which an attacker may have written
STORED_METHODS = frozenset(
    {"fetchone", "fetchall", "fetchmany", "fetchrow", "fetchval", "fetch_one", "fetch_all", "scalars", "scalar_one",
     "scalar_one_or_none", "one_or_none"}
)  # fmt: skip
STORED_NAMES = lazy(r"(?:^|\.)(?:[A-Z]\w*\.(?:objects|query)\.\w+|get_(?:object|list)_or_404)$")
TEXT_FIELDS = frozenset({"CharField", "TextField", "JSONField", "SlugField", "URLField", "FileField"})
COLUMNS = frozenset({"Column", "mapped_column"})
TEXT_COLUMNS = frozenset({"String", "Text", "Unicode", "UnicodeText", "JSON", "JSONB"})
SETTING = "setting"  # tag of values from a configuration file
SETTINGS = frozenset({"settings", "config", "conf", "cfg"})
ARCHIVE_NAMES = frozenset(
    f"{opened}.{method}"
    for opened in ("zipfile.ZipFile", "tarfile.open", "tarfile.TarFile", "tarfile.TarFile.open")
    for method in ("namelist", "infolist", "getnames", "getmembers")
)
FILE_READS = frozenset({"open.read", "open.readline", "open.readlines", "pathlib.Path.read_text",
                        "pathlib.Path.read_bytes", "io.open.read"})  # fmt: skip

# Imports of files that answer requests, as `module.name.`.
SERVERS = (
    "flask.", "django.", "fastapi.", "starlette.", "aiohttp.", "sanic.", "bottle.", "tornado.web.",
    "tornado.websocket.", "tornado.httpserver.", "quart.", "pyramid.", "falcon.", "cherrypy.", "werkzeug.", "webob.",
    "rest_framework.", "litestar.", "http.server.", "socketserver.", "wsgiref.", "BaseHTTPServer.",
)  # fmt: skip

ROUTE = lazy(r"(?:^|\.)(?:route|get|post|put|patch|delete|websocket|api_view|api_route|view|view_config)$")
ROUTE_OWNERS = lazy(
    r"(?:^|[:.])(?:\w*app|\w*bp|\w*blueprint|\w*router|\w*routes|\w*api|bottle|flask\.\w+|fastapi\.\w+|"
    r"\w*Flask|\w*FastAPI|\w*APIRouter|\w*Blueprint|aiohttp\.web\.RouteTableDef|sanic\.Sanic)(?:\(\))?$",
    re.IGNORECASE,
)
VIEW_CLASSES = lazy(
    r"(?:^|\.)(?:\w*APIView|MethodView|Resource|(?:Template|List|Detail|Form|Create|Update|Delete|Redirect"
    r"|Archive|Date)?View|"
    r"HTTPEndpoint|\w*RequestHandler|WebSocketHandler|\w*ViewSet)$"
)
VERBS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "dispatch"})

_NUMBER = TEXT_USES
_HTML = frozenset({Use.HTML, Use.RESPONSE})
CLEANERS: Mapping[str, frozenset[str]] = {
    "int": _NUMBER,
    "float": _NUMBER,
    "bool": ALL_USES,
    "len": ALL_USES,
    "hash": ALL_USES,
    "id": ALL_USES,
    "ord": _NUMBER,
    "sum": _NUMBER,
    "round": _NUMBER,
    "isinstance": ALL_USES,
    "type": ALL_USES,
    "uuid.UUID": ALL_USES,
    "packaging.version.Version": ALL_USES,
    "decimal.Decimal": _NUMBER,
    "datetime.date.fromisoformat": ALL_USES,
    "datetime.datetime.fromisoformat": ALL_USES,
    "datetime.datetime.strptime": ALL_USES,
    **dict.fromkeys(
        (
            "email.utils.formatdate",
            "email.utils.format_datetime",
            "wsgiref.handlers.format_date_time",
            "time.strftime",
            "werkzeug.http.http_date",
            "django.utils.http.http_date",
            "datetime.datetime.fromtimestamp",
            "datetime.datetime.utcfromtimestamp",
            "time.mktime",
            "calendar.timegm",
            "os.path.getsize",
            "os.path.getmtime",
        ),
        ALL_USES,
    ),
    "ipaddress.ip_address": ALL_USES - {Use.URL},
    "ipaddress.ip_network": ALL_USES - {Use.URL},
    "min": frozenset({Use.SIZE}),
    "shlex.quote": frozenset({Use.SHELL}),
    "pipes.quote": frozenset({Use.SHELL}),
    "html.escape": frozenset({*_HTML, Use.XML}),
    **dict.fromkeys(
        (
            f"sqlalchemy.{part}{verb}"
            for part in ("", "sql.")
            for verb in ("select", "insert", "update", "delete")
        ),
        frozenset({Use.SQL}),
    ),
    "pygments.highlight": _HTML,
    "cgi.escape": _HTML,
    "markupsafe.escape": _HTML,
    "flask.escape": _HTML,
    "django.utils.html.escape": _HTML,
    "django.utils.html.conditional_escape": _HTML,
    "django.utils.html.format_html": _HTML,
    "django.utils.html.format_html_join": _HTML,
    "django.utils.html.strip_tags": _HTML,
    "django.utils.html.linebreaks": _HTML,
    "django.utils.html.urlize": _HTML,
    "django.template.defaultfilters.linebreaksbr": _HTML,
    "jinja2.escape": _HTML,
    "bleach.clean": _HTML,
    "nh3.clean": _HTML,
    "tornado.escape.xhtml_escape": _HTML,
    "lxml.html.clean.clean_html": _HTML,
    "wtforms.widgets.html_params": _HTML,
    "wtforms.widgets.core.html_params": _HTML,
    "django.forms.utils.flatatt": _HTML,
    "slugify.slugify": ALL_USES,
    "django.utils.text.slugify": ALL_USES,
    "xml.sax.saxutils.escape": frozenset({Use.XML, Use.XPATH, *_HTML}),
    "xml.sax.saxutils.quoteattr": frozenset({Use.XML, Use.XPATH, *_HTML}),
    "json.dumps": frozenset({Use.LOG, Use.RESPONSE}),
    "flask.jsonify": frozenset({Use.HTML, Use.LOG}),
    "repr": frozenset({Use.LOG, Use.HEADER}),
    "ascii": frozenset({Use.LOG, Use.HEADER}),
    "os.path.basename": frozenset({Use.PATH, Use.ARCHIVE}),
    "ntpath.basename": frozenset({Use.PATH, Use.ARCHIVE}),
    "werkzeug.utils.secure_filename": frozenset({Use.PATH, Use.ARCHIVE, Use.SHELL, Use.HEADER, Use.LOG}),
    "werkzeug.secure_filename": frozenset({Use.PATH, Use.ARCHIVE, Use.SHELL}),
    "werkzeug.security.safe_join": frozenset({Use.PATH}),
    "werkzeug.utils.safe_join": frozenset({Use.PATH}),
    "flask.safe_join": frozenset({Use.PATH}),
    "django.utils._os.safe_join": frozenset({Use.PATH}),
    "django.utils.text.get_valid_filename": frozenset({Use.PATH}),
    "os.path.realpath": frozenset({RESOLVED}),
    "os.path.abspath": frozenset({RESOLVED}),
    "os.path.normpath": frozenset({RESOLVED}),
    "urllib.parse.quote": frozenset(
        {Use.HEADER, Use.LOG, Use.SHELL, Use.HTML, Use.RESPONSE, Use.URL, Use.REDIRECT}
    ),
    "urllib.parse.quote_plus": frozenset(
        {Use.HEADER, Use.LOG, Use.SHELL, Use.HTML, Use.RESPONSE, Use.URL, Use.REDIRECT}
    ),
    "urllib.parse.urlencode": frozenset({Use.HEADER, Use.LOG, Use.HTML, Use.URL, Use.REDIRECT}),
    "re.escape": frozenset({Use.REGEX, Use.NOSQL}),
    "ldap.filter.escape_filter_chars": frozenset({Use.LDAP}),
    "ldap3.utils.conv.escape_filter_chars": frozenset({Use.LDAP}),
    "ldap.dn.escape_dn_chars": frozenset({Use.LDAP}),
    "ldap3.utils.dn.escape_rdn": frozenset({Use.LDAP}),
    "psycopg2.sql.Identifier": frozenset({Use.SQL}),
    "psycopg.sql.Identifier": frozenset({Use.SQL}),
    "psycopg2.sql.Literal": frozenset({Use.SQL}),
    "psycopg.sql.Literal": frozenset({Use.SQL}),
    "ast.literal_eval": frozenset({Use.CODE}),
    "pickle.dumps": frozenset({Use.DATA}),
    "marshal.dumps": frozenset({Use.DATA}),
    "cloudpickle.dumps": frozenset({Use.DATA}),
    "dill.dumps": frozenset({Use.DATA}),
    "io.BytesIO": frozenset({Use.PATH}),
    "io.StringIO": frozenset({Use.PATH}),
    "asyncio.create_subprocess_exec": ALL_USES,
    "asyncio.create_subprocess_shell": ALL_USES,
    "str": frozenset({Use.NOSQL}),
    "flask.url_for": ALL_USES,
    "url_for": ALL_USES,
    "django.urls.reverse": ALL_USES,
    "flask.render_template": ALL_USES,
    "django.shortcuts.render": ALL_USES,
    "django.template.loader.render_to_string": frozenset({*_HTML}),
    "itsdangerous.URLSafeTimedSerializer.loads": frozenset({Use.DATA}),
}
# Decoders whose result may hold line breaks even if the input has none.
DECODERS = frozenset(
    f"urllib.parse.{name}"
    for name in ("unquote", "unquote_plus", "unquote_to_bytes", "parse_qs", "parse_qsl")
)
CLEANING_METHODS: Mapping[str, frozenset[str]] = {
    # SQLAlchemy tables build statements that quote the table's name.
    **dict.fromkeys(("select", "insert", "update", "delete"), frozenset({Use.SQL})),
    "hexdigest": ALL_USES,
    "digest": ALL_USES,
    "isoformat": ALL_USES,
    "strftime": ALL_USES,
    "timestamp": ALL_USES,
    "total_seconds": ALL_USES,
    "tell": ALL_USES,
    "count": ALL_USES,
    "find": ALL_USES,
    "index": ALL_USES,
    "startswith": ALL_USES,
    "endswith": ALL_USES,
    "isdigit": ALL_USES,
    "resolve": frozenset({RESOLVED}),
    "absolute": frozenset({RESOLVED}),
    "relative_to": frozenset({Use.PATH, Use.ARCHIVE}),
    "read_text": ALL_USES,
    "read_bytes": ALL_USES,
    "splitlines": frozenset({Use.LOG, Use.HEADER}),
    "quote_ident": frozenset({Use.SQL}),
    "quote_name": frozenset({Use.SQL}),
    "model_dump": frozenset({Use.KEYS}),  # the keys of a declared model
}
CLEANING_NAME = lazy(
    r"(?:^|_)(?:sanitize|sanitise|escape|quote|secure_filename|slugify|clean|bleach|redact"
    r"|safe_(?:join|url|redirect|next|path|filename|name|html))"
)
ERROR_ANSWER = lazy(
    r"^(?:render|respond|return|make|handle|convert|build|create|to)_(?:\w+_)?(?:errors?|exception)(?:_\w+)?$"
    r"|^(?:error|exception)_(?:to_)?(?:response|page|answer)$"
)
TYPE_NAME = lazy(r"^guess_(?:\w+_)?type$")
ADDRESSING_NAME = lazy(r"(?:^|_)(?:url_for|urls?|reverse|quer(?:y|ies)|params?)(?:_|$)")
GUARD_NAME = lazy(
    r"(?:^|_)(?:is_)?(?:safe|valid|validate|validated|allowed|allow|trusted|permitted|whitelisted|allowlisted|"
    r"ensure|verify|assert|sanitize|has_allowed_host_and_scheme|acceptable|within|inside)(?:_|$)"
)
GUARDS: Mapping[str, frozenset[str]] = {
    "django.utils.http.url_has_allowed_host_and_scheme": frozenset({Use.REDIRECT, Use.URL}),
    "django.utils.http.is_safe_url": frozenset({Use.REDIRECT, Use.URL}),
    "validators.url": frozenset({Use.CODE, Use.LOG, Use.HEADER}),
    "validators.email": frozenset({Use.LOG, Use.HEADER}),
    "validators.domain": ALL_USES - {Use.URL, Use.REDIRECT},
}
# Functions that return their argument in another form.
PASSERS = frozenset(
    {
        "str", "bytes", "bytearray", "list", "tuple", "set", "frozenset", "dict", "sorted", "reversed", "iter",
        "next", "max", "enumerate", "zip", "map", "filter", "getattr", "memoryview", "format", "vars",
        "copy.copy", "copy.deepcopy", "io.BytesIO", "io.StringIO", "json.loads", "json.load",
    }
)  # fmt: skip
# Methods that include their arguments in the result.
BUILDERS = frozenset(
    {"format", "join", "joinpath", "replace", "format_map", "append", "extend", "add", "insert", "update",
     "setdefault", "with_name", "with_suffix", "zfill", "ljust", "rjust", "substitute", "safe_substitute"}
)  # fmt: skip
# Methods that add their arguments to their object.
FILLERS = frozenset(
    {"append", "extend", "add", "insert", "update", "setdefault", "write", "appendleft", "put"}
)
# Functions that raise if a text has the wrong format.
CONVERSIONS = frozenset({"int", "float", "uuid.UUID", "ipaddress.ip_address", "datetime.date.fromisoformat"})
STOPS = frozenset(
    {"sys.exit", "exit", "quit", "os._exit", "flask.abort", "abort", "werkzeug.exceptions.abort",
     "bottle.abort", "pytest.fail", "tornado.web.RequestHandler.send_error"}
)  # fmt: skip
REACH_OF_CALL: Mapping[str, Reach] = {
    **dict.fromkeys(REMOTE_CALLS, Reach.REMOTE),
    **dict.fromkeys(LOCAL_CALLS, Reach.LOCAL),
    **dict.fromkeys(FILE_READS, Reach.LOCAL),
}
SENT_KEYS = lazy(r"^(?:HTTP_(?!HOST$)\w+|QUERY_STRING|PATH_INFO|REQUEST_URI|wsgi\.input)$")
"""What a client says in the environment of its request (PEP 3333)."""
FIXED_KEYS = frozenset(
    {"REMOTE_ADDR", "REMOTE_PORT", "SERVER_NAME", "SERVER_PORT", "REQUEST_METHOD", "SERVER_PROTOCOL"}
)
"""What the server itself says of a request, in its environment."""
HEADER_NAME = lazy(
    r"^(?:Content-|X-|Location$|Set-Cookie|Refresh$|Link$|Cache-Control$|Access-Control-)", re.IGNORECASE
)
HEADER_HOLDERS = frozenset({"headers", "response", "resp"})
"""What an object is called whose keys are the headers of a response."""
