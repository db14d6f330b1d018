"""Data that runs when it is loaded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.flowsinks import Sink
from codeguard.reading.flowvalues import Use
from codeguard.reading.names import Names
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View, names
from codeguard.signals.insecure.sessions import settings

_SAFE_LOADERS = ("SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader")
_MODEL = names("torch.load joblib.load dill.load dill.loads cloudpickle.load cloudpickle.loads")


def _yaml(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    loader = view.argument(node, "Loader", 1)
    if name in ("yaml.load", "yaml.load_all"):
        resolved = "" if loader is None else view.names.resolve(loader)
        if resolved.rpartition(".")[2].endswith(_SAFE_LOADERS) or _derived(view, resolved):
            return
        yield Found(node, f"{name} with {resolved or 'no loader'} makes objects of any class")
    elif name == "ruamel.yaml.YAML":
        if view.constant(node, "typ", default="rt") == "unsafe":
            yield Found(node, "typ='unsafe' makes objects of any class")
    else:
        yield Found(node, f"{name} makes objects of any class")


def _setting(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """Celery's tasks and Django's sessions as pickles."""
    if not view.has("pickle"):
        return
    for setting, value in settings(view, node):
        given = view.names.constant(value)
        listed = given if isinstance(given, tuple) else (given,)
        if setting.lower().removeprefix("celery_") in (
            "task_serializer",
            "accept_content",
            "result_serializer",
            "event_serializer",
        ):
            if any(item in ("pickle", "application/x-python-serialize") for item in listed):
                yield Found(node, "whoever can write to the broker runs code in the worker")
        elif setting in ("SESSION_SERIALIZER", "SERIALIZER") and "pickle" in str(given).lower():
            yield Found(node, "whoever knows the key, or can write to the store, runs code")


def _derived(view: View, name: str) -> bool:
    definition = view.names.definition(name)
    return isinstance(definition, ast.ClassDef) and any(
        base.rpartition(".")[2] in _SAFE_LOADERS for base in view.names.bases(definition)
    )


def _numpy(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    if view.constant(node, "allow_pickle", 2, False):
        yield Found(node, "allow_pickle=True runs what the file says")


def _unpickled(names: Names, call: ast.Call, name: str) -> bool:
    if name == "torch.load":
        return not any(
            item.arg == "weights_only" and names.constant(item.value, True) for item in call.keywords
        )
    return True


def _model(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    if _unpickled(view.names, node, name):
        yield Found(node, f"{name} runs what the file says: load weights only, or from a verified file")


CHECKS = (
    Check(
        Rule(
            "pickled-messages",
            "Messages or sessions are kept as pickles",
            Severity.MEDIUM,
            Confidence.HIGH,
            "A pickle can call any function while it is loaded, and messages come from elsewhere. Use json.",
            bad='from celery import Celery\n\napp = Celery("shop")\napp.conf.update(accept_content=["pickle"])',
            good='from celery import Celery\n\napp = Celery("shop")\napp.conf.update(accept_content=["json"])',
            cwe=(502,),
        ),
        nodes=(ast.Assign, ast.AnnAssign, ast.keyword, ast.Dict),
        look=_setting,
    ),
    Check(
        Rule(
            "unsafe-deserialisation",
            "A value that others choose is unpickled",
            Severity.HIGH,
            Confidence.HIGH,
            "A pickle can call any function while it is loaded. Use json, or verify a signature first.",
            bad="import pickle\n\ndef load(data):\n    return pickle.loads(data)",
            good="import json\n\ndef load(data):\n    return json.loads(data)",
            cwe=(502,),
        ),
        sinks=(
            Sink(
                "pickle",
                Use.DATA,
                names=names(
                    "pickle.loads pickle.Unpickler pickle._loads _pickle.loads cPickle.loads marshal.loads "
                    "jsonpickle.decode "
                    "jsonpickle.loads dill.loads cloudpickle.loads jsonpickle.unpickler.decode"
                ),
                arguments=(0, "string", "data"),
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
    ),
    Check(
        Rule(
            "unpickled-file",
            "A file is unpickled",
            Severity.LOW,
            Confidence.LOW,
            "Whoever can write the file runs code when it is read. Use json, or verify a signature first.",
            bad='import pickle\n\ndef load(path):\n    with open(path, "rb") as file:\n'
            "        return pickle.load(file)",
            good="import json\n\ndef load(path):\n    with open(path) as file:\n        return json.load(file)",
            cwe=(502,),
        ),
        sinks=(
            Sink(
                "pickle-file",
                Use.DATA,
                names=names(
                    "pickle.load pickle._load _pickle.load cPickle.load marshal.load shelve.open pandas.read_pickle "
                    "pandas.read_hdf dill.load cloudpickle.load torch.load joblib.load"
                ),
                arguments=(0, "file", "filename", "filepath_or_buffer", "f"),
                accepts=_unpickled,
            ),
        ),
        grades=(Severity.HIGH, Severity.MEDIUM, Severity.MEDIUM),
    ),
    Check(
        Rule(
            "unsafe-model-file",
            "A model is loaded in a format that runs code",
            Severity.MEDIUM,
            Confidence.LOW,
            "torch.load and joblib.load unpickle. Use weights_only=True or safetensors.",
            bad='import torch\n\nmodel = torch.load("model.pt")',
            good='import torch\n\nmodel = torch.load("model.pt", weights_only=True)',
            cwe=(502,),
        ),
        calls=_MODEL - names("dill.loads cloudpickle.loads"),
        look=_model,
    ),
    Check(
        Rule(
            "unsafe-yaml",
            "YAML is loaded with a loader that makes objects of any class",
            Severity.HIGH,
            Confidence.HIGH,
            "!!python/object/apply in the text calls any function. Use yaml.safe_load.",
            bad="import yaml\n\ndef load(text):\n    return yaml.load(text, Loader=yaml.Loader)",
            good="import yaml\n\ndef load(text):\n    return yaml.safe_load(text)",
            cwe=(502,),
        ),
        calls=names(
            "yaml.load yaml.load_all yaml.unsafe_load yaml.full_load yaml.unsafe_load_all ruamel.yaml.YAML"
        ),
        look=_yaml,
    ),
    Check(
        Rule(
            "numpy-pickle",
            "An array is loaded with pickled objects allowed",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "An object array in the file is a pickle. Leave allow_pickle off.",
            bad='import numpy as np\n\nnp.load("x.npy", allow_pickle=True)',
            good='import numpy as np\n\nnp.load("x.npy")',
            cwe=(502,),
        ),
        calls=names("numpy.load numpy.lib.npyio.load"),
        look=_numpy,
    ),
)
