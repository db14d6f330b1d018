"""Deserialisation that can run code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import FUNCTIONS, Check, NodeMatch, View, leaves, word_set
from codeguard.analysis.rules.insecure.handlers import is_kept_upload
from codeguard.corpus.syntax import walk
from codeguard.flow.sinks import Sink, SinkHit
from codeguard.flow.values import Origin, Reach, Use
from codeguard.models import Severity
from codeguard.syntax.names import Names

_RULES = rules_of(__file__)

_MODEL = word_set("torch.load joblib.load dill.load dill.loads cloudpickle.load cloudpickle.loads")


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


def _unpickled(names: Names, call: ast.Call, name: str) -> bool:
    if name == "torch.load":
        return not any(
            item.arg == "weights_only" and names.constant(item.value, True) for item in call.keywords
        )
    return True


CHECKS = (
    Check(
        _RULES["unsafe-deserialisation"],
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
)
