"""Deserialisation that can run code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, leaves, word_set
from codeguard.analysis.rules.insecure.handlers import is_kept_upload
from codeguard.analysis.rules.insecure.sessions import framework_settings
from codeguard.corpus.syntax import walk
from codeguard.flow.sinks import Sink, SinkHit
from codeguard.flow.values import Origin, Reach, Use
from codeguard.models import Severity
from codeguard.syntax.names import Names

_RULES = rules_of(__file__)

_SAFE_LOADERS = ("SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader")
_MODEL = word_set("torch.load joblib.load dill.load dill.loads cloudpickle.load cloudpickle.loads")


def _yaml(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    loader = view.argument(node, "Loader", 1)
    if name in ("yaml.load", "yaml.load_all"):
        resolved = "" if loader is None else view.names.resolve(loader)
        if resolved.rpartition(".")[2].endswith(_SAFE_LOADERS) or _derived(view, resolved):
            return
        if loader is None and any(
            isinstance(value, ast.Call) and any(item.arg == "Loader" for item in value.keywords)
            for value in view.names.values_of(node.func)
        ):
            return  # `load = functools.partial(yaml.load, Loader=…)`
        elsewhere = loader is not None and not resolved.startswith(("yaml.", ":"))  # unknown in this file
        full = resolved.endswith("FullLoader")
        severity = Severity.LOW if elsewhere else Severity.MEDIUM if full else None
        loaded = f"{name} with {resolved or 'no loader'}"
        what = (
            "in releases of PyYAML before 5.4 makes objects of any class"
            if full
            else "makes objects of any class"
        )
        yield NodeMatch(node, f"{loaded} {what}", severity)
    elif name == "ruamel.yaml.YAML":
        if view.constant(node, "typ", default="rt") == "unsafe":
            yield NodeMatch(node, "typ='unsafe' makes objects of any class")
    else:
        full = name.endswith("full_load")
        what = (
            "releases of PyYAML before 5.4 make objects of any class"
            if full
            else "makes objects of any class"
        )
        yield NodeMatch(
            node, f"{name}: {what}" if full else f"{name} {what}", Severity.MEDIUM if full else None
        )


_FILES = word_set(
    "pickle.load pickle._load _pickle.load cPickle.load marshal.load shelve.open pandas.read_pickle "
    "pandas.read_hdf dill.load cloudpickle.load torch.load joblib.load"
)


def _of_upload(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find a file loaded from a path to which the function has written the request's data."""
    assert isinstance(node, ast.Call)
    if not node.args or not _unpickled(view.names, node, name):
        return
    opened = node.args[0]
    for value in (opened, *view.names.values_of(opened)):
        if isinstance(value, ast.Call) and view.names.called(value) == "open" and value.args:
            opened = value.args[0]
    if is_kept_upload(view, node, opened):
        yield NodeMatch(node, "what the request sent is kept under this path", Severity.HIGH)


def _setting(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find Celery tasks and Django sessions that are pickled."""
    if not view.has("pickle"):
        return
    for setting, value in framework_settings(view, node):
        given = view.names.constant(value)
        listed = given if isinstance(given, tuple) else (given,)
        if setting.lower().removeprefix("celery_") in (
            "task_serializer",
            "accept_content",
            "result_serializer",
            "event_serializer",
        ):
            if any(item in ("pickle", "application/x-python-serialize") for item in listed):
                yield NodeMatch(node, "anyone who can write to the broker runs code in the worker")
        elif setting in ("SESSION_SERIALIZER", "SERIALIZER") and "pickle" in str(given).lower():
            yield NodeMatch(node, "anyone who knows the key, or can write to the store, runs code")


def _is_authenticated(view: View, hit: SinkHit, origin: Origin) -> bool:
    """Return whether data is only loaded where a code over it was compared: `if same(mac, hmac.new(…).digest()):`."""
    child: ast.AST = hit.call
    at = view.parent(child)
    while at is not None and not isinstance(child, FUNCTIONS):
        if isinstance(at, ast.If) and child in at.body and _compares_code(view, at.test):
            return True
        body = getattr(at, "body", None)
        for earlier in body[: body.index(child)] if isinstance(body, list) and child in body else ():
            if isinstance(earlier, ast.If) and leaves(earlier.body) and _compares_code(view, earlier.test):
                return True
        child, at = at, view.parent(at)
    return False


def _compares_code(view: View, test: ast.expr) -> bool:
    """Return whether a condition compares a message authentication code that the file computes."""
    waiting = [test]
    for part in walk(test):
        if isinstance(part, ast.Name):
            waiting += view.names.values_of(part)
    return any(
        isinstance(part, ast.Call) and view.names.called(part).startswith(("hmac.new", "hmac.digest"))
        for item in waiting
        for part in walk(item)
    )


def _derived(view: View, name: str) -> bool:
    definition = view.names.definition(name)
    return isinstance(definition, ast.ClassDef) and any(
        base.rpartition(".")[2] in _SAFE_LOADERS for base in view.names.bases(definition)
    )


def _numpy(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if view.constant(node, "allow_pickle", 2, False):
        yield NodeMatch(node, "allow_pickle=True runs what the file says")


def _unpickled(names: Names, call: ast.Call, name: str) -> bool:
    if name == "torch.load":
        return not any(
            item.arg == "weights_only" and names.constant(item.value, True) for item in call.keywords
        )
    return True


def _model(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    assert isinstance(node, ast.Call)
    if _unpickled(view.names, node, name):
        yield NodeMatch(node, f"{name} runs what the file says: load weights only, or from a verified file")


def _received(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `socket.recv_pyobj()` of ZeroMQ, which unpickles what the other side sends."""
    if view.modules & {"zmq"}:
        yield NodeMatch(node, "recv_pyobj unpickles what whoever connects has sent", Severity.MEDIUM)


CHECKS = (
    Check(
        _RULES["pickled-messages"],
        nodes=(ast.Assign, ast.AnnAssign, ast.keyword, ast.Dict),
        look=_setting,
    ),
    Check(
        _RULES["unsafe-deserialisation"],
        methods=word_set("recv_pyobj"),
        look=_received,
        sinks=(
            Sink(
                "pickle",
                Use.DATA,
                names=word_set(
                    "pickle.loads pickle.Unpickler pickle._loads _pickle.loads cPickle.loads marshal.loads "
                    "jsonpickle.decode "
                    "jsonpickle.loads dill.loads cloudpickle.loads jsonpickle.unpickler.decode"
                ),
                arguments=(0, "string", "data"),
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
        is_usual=_is_authenticated,
    ),
    Check(
        _RULES["unpickled-file"],
        calls=_FILES,
        look=_of_upload,
        sinks=(
            Sink(
                "pickle-file",
                Use.DATA,
                names=_FILES,
                arguments=(0, "file", "filename", "filepath_or_buffer", "f"),
                accepts=_unpickled,
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
        # `unsafe-model-file` covers every such call.
        is_usual=lambda view, hit, origin: (
            origin.reach is not Reach.REMOTE
            and isinstance(hit.call, ast.Call)
            and view.names.called(hit.call) in _MODEL
        ),
    ),
    Check(
        _RULES["unsafe-model-file"],
        calls=_MODEL - word_set("dill.loads cloudpickle.loads"),
        look=_model,
    ),
    Check(
        _RULES["unsafe-yaml"],
        calls=word_set(
            "yaml.load yaml.load_all yaml.unsafe_load yaml.full_load yaml.unsafe_load_all ruamel.yaml.YAML"
        ),
        look=_yaml,
    ),
    Check(
        _RULES["numpy-pickle"],
        calls=word_set("numpy.load numpy.lib.npyio.load"),
        look=_numpy,
    ),
)
