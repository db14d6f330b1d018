"""Well-known packages, which lookalikes are compared with.

The list has the most downloaded names on PyPI and npm, and their import names if these differ.
Being listed proves nothing; it prevents honest similar names (`toml`, `tomli`; `mock`, `nock`) from
being reported as imitations of each other.
"""

from __future__ import annotations

import sys

_PYPI = """
absl-py adal aenum aioboto3 aiobotocore aiofile aiofiles aiogram aiohappyeyeballs aiohttp aiohttp-retry
aioitertools aiosignal aiosqlite airflow alembic altair amqp annotated-doc annotated-types ansible
ansible-core anthropic anyio apache-airflow appdirs apscheduler argcomplete argon2-cffi argon2-cffi-bindings
arrow art asgiref asn1crypto ast-serialize astor astroid asttokens async-lru async-timeout asyncpg attrs
authlib aws-sam-translator awscli awswrangler azure-identity azure-storage-blob babel backoff backtrader
base58 bcrypt beartype beautifulsoup4 billiard bitcoinlib black bleach blinker bokeh boltons boto boto3
botocore bottle bracex brotli bytecode cachecontrol cachetools catboost cattrs cbor2 ccxt celery cerberus
certifi cffi cfgv chardet charset-normalizer cherrypy chromadb ciso8601 click cloudpickle cohere coincurve
colorama coloredlogs colorlog colour confluent-kafka contextlib2 contourpy coverage crc32c croniter
cryptography cssselect2 curl-cffi cx-freeze cycler cyclopts cython dacite dagster dash databases
dataclasses-json datadog datadog-api-client datasets dateparser db-dtypes ddtrace debugpy decorator deepdiff
defusedxml deprecated deprecation diffusers dill discord-py diskcache distlib distro django
django-cors-headers django-filter django-rest-framework djangorestframework dnspython docker docutils
dramatiq duckdb dulwich ecdsa editables elastic-transport elasticsearch email-validator emoji entrypoints
envier et-xmlfile eth-account eventlet exceptiongroup execnet executing fabric faiss-cpu faker fakeredis
falcon fastai fastapi fastapi-cli fastavro fastjsonschema fastmcp fastuuid filelock filetype flake8 flask
flask-cors flask-login flask-migrate flask-security flask-sqlalchemy flask-wtf flatbuffers flit-core
fonttools freezegun frozendict frozenlist fsspec ftfy gcsfs gensim gevent gitdb gitpython google-api-core
google-api-python-client google-auth google-auth-httplib2 google-auth-oauthlib google-cloud-storage
google-genai googleapis-common-protos gradio graphene graphql-core graphql-relay graphviz greenlet griffe
griffelib grpcio grpcio-health-checking grpcio-status grpcio-tools grpclib gspread gunicorn h11 h5py
hatchling holidays hpack html5lib httpcore httpie httplib2 httptools httpx httpx-sse huey huggingface-hub
humanfriendly humanize hyperframe hyperlink hypothesis icalendar identify idna ijson imageio imagesize
impacket importlib-metadata importlib-resources inflection iniconfig invoke ipykernel ipython
ipython-pygments-lexers ipywidgets iso8601 isodate isoduration isort itsdangerous jedi jeepney jellyfish
jinja2 jiter jmespath joblib joserfc json5 jsonlines jsonpatch jsonpath-ng jsonpointer jsonref jsonschema
jsonschema-path jsonschema-specifications junitparser jupyter jupyter-client jupyter-core jupyter-server
jupyterlab jupyterlab-pygments jupyterlab-server jupyterlab-widgets kafka-python keras keyring kiwisolver
kombu kubernetes langchain langgraph lark lazy-loader lazy-object-proxy ldap3 libcst librt lightgbm litellm
llvmlite locket lockfile loguru luigi lxml lz4 mako markdown markdown-it-py markdown2 markdownify markupsafe
marshmallow mashumaro matplotlib matplotlib-inline mccabe mdurl mechanize mergedeep mistralai mistune mlflow
mlflow-skinny mmh3 mnemonic mock more-itertools moto mpmath msal msal-extensions msgpack msgspec msrest
msrestazure multidict multiprocess mypy mypy-extensions mysql-connector-python napalm narwhals natsort
nbclient nbconvert nbformat nest-asyncio netmiko networkx nh3 ninja nltk nodeenv nose nose2 notebook
notebook-shim nuitka numba numpy oauth2client oauthlib omegaconf onnxruntime openai openai-agents
openai-whisper openapi-pydantic openapi-schema-validator openapi-spec-validator opencv-python
opencv-python-headless openpyxl opensearch-py opentelemetry-api ordered-set orjson outcome overrides
packaging paho-mqtt pandas pandas-gbq pandas-stubs pandocfilters paramiko parsedatetime parso parver passlib
pathspec patsy pbr pdfminer-six pdfplumber peewee peft pendulum pexpect pg8000 phonenumbers pika pillow
pinecone pip platformdirs playwright plotly pluggy ply poetry poetry-core polars polib pony portalocker
posthog praw pre-commit prefect prettytable prometheus-client prompt-toolkit propcache protobuf psutil
psycopg psycopg-binary psycopg2 psycopg2-binary ptyprocess pure-eval pwntools py-key-value-aio py4j pyaml
pyarrow pyarrow-hotfix pyasn1 pyasn1-modules pyaudio pyautogui pycodestyle pycountry pycparser pycrypto
pycryptodome pycryptodomex pydantic pydantic-ai pydantic-ai-slim pydantic-core pydantic-evals
pydantic-extra-types pydantic-graph pydantic-settings pydata-google-auth pyfiglet pyflakes pygame pygithub
pygments pyhumps pyinstaller pyjwt pylint pymongo pymssql pymupdf pymysql pynacl pynput pyodbc pyopenssl
pyotp pyparsing pypdf pypdf2 pypdfium2 pyperclip pyproject-hooks pyramid pyright pyro4 pyrogram pyrsistent
pyserial pyshark pysmb pysocks pyspark pytest pytest-asyncio pytest-cov pytest-django pytest-json-ctrf
pytest-metadata pytest-mock pytest-rerunfailures pytest-timeout pytest-xdist python-backoff python-dateutil
python-discovery python-docx python-dotenv python-gitlab python-jose python-json-logger python-ldap
python-levenshtein python-magic python-multipart python-nmap python-pptx python-slugify python-socks
python-telegram-bot pytimeparse pytokens pytz pytzdata pyusb pywin32 pyyaml pyzmq qdrant-client quart
rapidfuzz redis referencing regex reportlab requests requests-aws4auth requests-file requests-html
requests-oauthlib requests-toolbelt responses retrying rfc3339-validator rfc3986 rfc3986-validator
rfc3987-syntax rich rich-click rpds-py rpyc rq ruamel-yaml ruff s3fs s3transfer safetensors salt sanic scapy
scikit-image scikit-learn scipy scramp scrapy seaborn secretstorage selenium semantic-version semver
send2trash sentencepiece sentry-sdk setproctitle setuptools setuptools-scm shapely simplejson six skops
slack-sdk smart-open smmap sniffio snowballstemmer solana solders sortedcontainers soupsieve spacy sphinx
sqlalchemy sqlalchemy-bigquery sqlalchemy-utils sqlglot sqlmodel sqlparse sse-starlette sshtunnel stack-data
starlette statsmodels stevedore streamlit strictyaml stripe structlog supervisor swebench sympy
synchronicity ta-lib tabulate tblib telethon telnetlib3 temporalio tenacity tensorflow termcolor terminado
text-unidecode textual threadpoolctl thrift tiktoken time-machine tinycss2 tinydb tldextract tokenizers toml
tomli tomli-w tomlkit toolz torch torchaudio torchvision tornado tortoise-orm tox tqdm traitlets
transformers tree-sitter tree-sitter-python trio trio-websocket triton tweepy twine typedload typeguard
typer typer-slim typing-extensions typing-inspect typing-inspection tzdata tzlocal ujson unicodecsv
unicodedata2 unidecode unidiff unittest2 universal-pathlib uri-template uritemplate urllib3 uv uvicorn uvloop validators
bpython itemadapter itemloaders parsel protego ptpython pydispatcher queuelib w3lib
vine virtualenv voluptuous watchdog watchfiles wcmatch wcwidth weaviate-client web3 webcolors webencodings
websocket-client websockets werkzeug wheel widgetsnbextension wrapt wsproto xgboost xlrd xlsxwriter
xmltodict xxhash yamllint yarl yfinance zeep zipp zmq zstandard
"""

_IMPORTS = """
_pytest attr bs4 corsheaders Crypto Cryptodome cssselect cv2 Cython dateutil discord docx dotenv
editdistance exceptiongroup faiss fitz flask_cors flask_login flask_sqlalchemy fuzzywuzzy gi git github
gitlab google googleapiclient gym gymnasium hdbscan html5lib importlib_metadata importlib_resources
ipykernel IPython jaro jose jwt kafka ldap Levenshtein lxml magic markdown_it mpl_toolkits multipart
mypy_extensions MySQLdb nacl nmap nvml OpenSSL paho_mqtt PIL pkg_resources pptx psycopg2 pylab pymysql
pynvml pythoncom pywintypes pyximport rapidjson rest_framework ruamel scapy serial setuptools_scm simplejson
skimage sklearn skopt slack slack_sdk slugify socks telegram thefuzz tinycss2 tlz typing_extensions ujson
umap unidecode usb websocket win32api win32com wx yaml zmq
"""

_NPM = """
preact inferno solid-js lit htmx.org alpinejs faker colors typed.js swr zustand valtio jotai recoil mobx
abbrev abort-controller accepts acorn adm-zip agenda agent-base ajv ajv-formats ajv-keywords angular
ansi-colors ansi-escapes ansi-regex ansi-styles anymatch apollo-client apollo-server archiver arg argparse
aria-query assertion-error ast-types async async-function asynckit autoprefixer aws-sdk axios axios-retry
babel-cli babel-core babel-loader balanced-match base64-js baseline-browser-mapping bcrypt bcryptjs
binary-extensions bindings bl bluebird bn.js body-parser boolbase bootstrap boxen brace-expansion braces
browserslist buffer buffer-crc32 buffer-equal-constant-time buffer-from bull bullmq bunyan bytes camel-case
camelcase caniuse-lite canvas chai chalk char-regex chardet chart.js cheerio chokidar chownr ci-info
cjs-module-lexer class-validator clean-stack cli-boxes cli-cursor cli-spinners cli-truncate cli-width cliui
clone clsx color-convert color-name colorette combined-stream commander compressible compression concat-map
concurrently connect content-disposition content-type cookie cookie-parser cookie-signature core-js
core-js-compat core-util-is cors cosmiconfig cross-env cross-spawn crypto-js css-loader css-select css-tree
css-what cssesc csso cssom cssstyle csstype csv-parse d3 date-fns dayjs debug decamelize decimal.js dedent
deep-extend deep-is deepmerge defaults delayed-stream depd dequal destroy detect-libc detect-newline diff
diff-sequences dir-glob discord.js doctrine dom-accessibility-api dom-serializer domelementtype domhandler
domutils dotenv ejs electron electron-builder electron-to-chromium emittery emoji-regex encodeurl
end-of-stream enhanced-resolve enquirer entities env-paths enzyme error-ex esbuild escalade escape-html
escape-string-regexp escodegen eslint eslint-config-prettier eslint-plugin-import eslint-plugin-react
eslint-plugin-react-hooks eslint-scope espree esprima esquery esrecurse esutils etag ethers
event-target-shim eventemitter3 events execa expect express express-session express-validator extend
extend-shallow fast-deep-equal fast-glob fast-json-stable-stringify fast-levenshtein fast-uri
fast-xml-parser fastify fastq fdir ffi-napi figures file-entry-cache file-loader fill-range finalhandler
find-cache-dir find-up firebase firebase-admin flat-cache flatted follow-redirects foreground-child
form-data formik forwarded fraction.js fresh fs-extra ganache gaxios gcp-metadata glob glob-parent globals
globalthis globby got graceful-fs graphemer graphql grunt gulp handlebars hapi hardhat helmet highlight.js
hosted-git-info html-webpack-plugin htmlparser2 http-errors http-proxy-agent https-proxy-agent human-signals
husky iconv-lite ieee754 ignore immer import-fresh import-local imurmurhash indent-string inflight inherits
ini inquirer ioredis ip-address ipaddr.js isarray isobject jackspeak jasmine jest jimp jiti joi jose jquery
js-cookie js-tokens js-yaml jsdom json-buffer json5 jsonfile jsonwebtoken jwa jws karma keyv kind-of kleur
knex koa leaflet leven levn lilconfig lint-staged loader-utils locate-path lodash log-symbols log4js long
loose-envify lru-cache magic-string make-dir make-error makeerror marked mdn-data merge-descriptors
merge-stream merge2 methods micromatch mime mime-db mime-types minimatch minimist minipass minizlib mkdirp
mocha moment moment-timezone mongodb mongoose morgan ms multer mustache mute-stream mysql mysql2 nanoid
needle negotiator neo-async nestjs next nock node-abort-controller node-addon-api node-cron node-fetch
node-gyp node-int64 node-releases node-telegram-bot-api nodemailer nodemon nopt normalize-package-data
normalize-path normalize-url npm-run-path nth-check nuxt nwsapi nyc object-assign object-hash object-inspect
object-keys on-finished on-headers once one-time onetime open optionator ora pako papaparse parcel
parse-json parse5 parseurl passport passport-jwt path-key path-parse path-to-regexp path-type pathe pg
picocolors picomatch pify pino pirates pkg-dir pm2 pnpm postcss postcss-js postcss-selector-parser
postcss-value-parser prelude-ls prettier pretty-format prisma proc-log process prompts prop-types protobufjs
proxy-addr proxy-from-env psl pug pump punycode punycode.js puppeteer qs ramda randombytes range-parser
raw-body rc react react-dom react-is react-native react-redux react-refresh react-router react-router-dom
readable-stream readdirp redent redis redux regenerator-runtime registry-auth-token regjsparser request
require-directory require-from-string requires-port resolve restore-cursor retry reusify rfdc rimraf rollup
run-parallel rxjs safe-buffer safer-buffer sass-loader sax scheduler schema-utils semver send sequelize
serialize-javascript serialport serve-static setprototypeof sharp shebang-command shebang-regex shell-quote
shelljs shortid signal-exit sinon sisteransi slash slice-ansi smart-buffer socket.io socket.io-client sockjs
socks socks-proxy-agent solc source-map source-map-js source-map-support split2 sprintf-js ssri stack-utils
statuses stop-iteration-iterator storybook string-length string-width string_decoder strip-ansi strip-bom
strip-indent strip-json-comments stripe strnum style-loader superagent supertest supports-color
supports-preserve-symlinks-flag svelte symbol-tree synckit tailwindcss tapable tar tar-fs tar-stream
telegraf terser terser-webpack-plugin text-table three through through2 tinyexec tinyglobby tinyrainbow tmp
toidentifier tough-cookie trough truffle ts-api-utils ts-loader ts-node tsconfig-paths tslib tsutils twilio
type-check type-detect type-fest type-is typeorm typescript underscore undici undici-types universalify
unpipe unzipper update-browserslist-db uri-js url-loader usb util util-deprecate utils-merge uuid validator
vary vite vite-node vue vue-router vuex watchpack web3 webpack webpack-cli webpack-dev-server
webpack-sources which widest-line winston word-wrap wordwrap wrap-ansi wrappy write-file-atomic ws xlsx
xmlbuilder xmlchars xtend yallist yaml yargs yargs-parser yocto-queue yup zod zone.js
"""

_NODE = """
assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events
fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl sea sqlite
stream string_decoder sys test timers tls trace_events tty url util v8 vm wasi worker_threads zlib bun deno
"""

_LEGACY = """
__builtin__ __main__ _typeshed annotationlib anydbm asynchat asyncore BaseHTTPServer
binhex cgi cgitb chunk commands compression
ConfigParser Cookie cookielib
copy_reg cPickle cStringIO crypt distutils dummy_thread dummy_threading exceptions formatter HTMLParser htmlentitydefs
httplib imghdr imp lib2to3 md5 mailcap msilib nis nntplib ossaudiodev parser pipes Queue repr robotparser sets sha
smtpd sndhdr SocketServer spwd StringIO sunau symbol telnetlib test thread Tkinter tkMessageBox tomllib ttk urllib2
urlparse user UserDict UserList uu whichdb winreg _winreg xdrlib xmlrpclib
"""


def normalised(name: str) -> str:
    """Return a package's name as PyPI compares it: lower case, `-`, `_` and `.` equal (PEP 503)."""
    return name.lower().replace("_", "-").replace(".", "-")


STANDARD_LIBRARY = frozenset(sys.stdlib_module_names) | frozenset(_LEGACY.split())
"""Top-level modules of Python's standard library, those of older versions among them."""

PYTHON_PACKAGES = frozenset(normalised(name) for name in (*_PYPI.split(), *_IMPORTS.split()))
"""Well-known distributions of PyPI and the names they are imported by, normalised."""

NPM_PACKAGES = frozenset(_NPM.split())
"""Well-known packages of npm."""

NODE_MODULES = frozenset(_NODE.split())
"""Modules that come with Node.js, and the names of other runtimes' own."""

DISTRIBUTION_OF = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "crypto": "pycryptodome",
    "cryptodome": "pycryptodomex",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "discord": "discord-py",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "pymupdf",
    "git": "gitpython",
    "github": "pygithub",
    "googleapiclient": "google-api-python-client",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "kafka": "kafka-python",
    "magic": "python-magic",
    "markdown-it": "markdown-it-py",
    "mysqldb": "mysqlclient",
    "nacl": "pynacl",
    "openssl": "pyopenssl",
    "pil": "pillow",
    "pkg-resources": "setuptools",
    "pptx": "python-pptx",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "socks": "pysocks",
    "telegram": "python-telegram-bot",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
    "_pytest": "pytest",
    "-pytest": "pytest",
    "rest-framework": "djangorestframework",
    "corsheaders": "django-cors-headers",
    "tlz": "toolz",
}
"""Under which distribution a module comes, where the names differ; both normalised."""
