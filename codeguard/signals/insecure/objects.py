"""Objects that anyone can reach by their number, and fields that anyone can set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.bindings import FunctionNode
from codeguard.reading.patterns import lazy
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View
from codeguard.signals.insecure.handlers import (
    body_words,
    is_from_request,
    is_handler,
    knows_user,
    of_staff,
    parameters,
)

_OWNER = lazy(
    r"current_user|user|owner|author|tenant|account_id|customer|organi[sz]ation|permission|authori[sz]|can_|is_admin|"
    r"is_staff|check_|require_|ensure_|identity|\bsession\b|\b40[13]\b|forbidden|belongs|member|role|scope|signature|"
    r"\bsub\b|claims|token|hmac|webhook",
    re.IGNORECASE,
)
_PRIVATE = lazy(
    r"(?:^|[a-z])(?:Order|Invoice|Account|Message|Document|Payment|Patient|Medical\w*|Card|Booking|Transaction|Statement|"
    r"Prescription|Contract|Wallet|Subscription|Receipt|Payslip|Letter|Reservation|Ticket)s?$"
)
_WHERE_ID = lazy(
    r"\b(?:select|delete|update)\b.{0,300}\bwhere\s{1,5}(?:\w{1,20}\.)?(?:\w{1,20}_)?(?:id|uuid|number|pk)\s{0,3}=\s{0,3}"
    r"(?:\?|%s|%\(\w{1,30}\)s|:\w{1,30}|\$1)\s{0,5};?\s{0,5}$",
    re.IGNORECASE | re.DOTALL,
)
_KEYS = frozenset({"id", "pk", "uuid", "_id", "number", "slug"})
_PERSONAL = frozenset({"password", "password_hash", "hashed_password", "ssn", "secret", "api_key", "token"})


def _unowned(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """A handler that looks an object up by what the request says, and never asks whose it is."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not is_handler(view, node):
        return
    given = parameters(node)
    looked_up = next(_lookups(view, node, given), None)
    if looked_up is None:
        return
    call, model, by_parameter = looked_up
    if _OWNER.search(_rest(node, call, given)) or of_staff(view, node):
        return
    logged_in = knows_user(view, node)
    if logged_in or (by_parameter and _PRIVATE.search(model) and not _OWNER.search(node.name)):
        whose = "whoever has logged in" if logged_in else "anyone"
        yield Found(call, f"{whose} gets any {model or 'object'} by its number: nothing asks whose it is")


def _rest(node: FunctionNode, call: ast.Call, given: set[str]) -> str:
    """The words of a handler but for the names of its parameters and of the model it looks up."""
    models = {part.id for part in ast.walk(call) if isinstance(part, ast.Name)} | {"session"}
    texts = {str(part.value)[:100] for part in ast.walk(call) if isinstance(part, ast.Constant)}
    return body_words(node, {*given, *models, *texts, "get_session", "db", *_routed(node)})


def _routed(node: FunctionNode) -> set[str]:
    return {
        part.slice.value
        for part in ast.walk(node)
        if isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Constant)
        and isinstance(part.slice.value, str)
        and isinstance(part.value, ast.Attribute)
        and part.value.attr
        in ("args", "GET", "form", "POST", "json", "query_params", "match_info", "path_params")
    }


def _lookups(view: View, node: FunctionNode, given: set[str]) -> Iterator[tuple[ast.Call, str, bool]]:
    """Yield calls that look one object up by its key, the object's class, and whether a parameter is the key."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        for key, model in _keyed(view, call):
            by_parameter = isinstance(key, ast.Name) and key.id in given
            if by_parameter or is_from_request(view, key):
                yield call, model, by_parameter
                break


def _keyed(view: View, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if last in ("get", "get_or_404", "first_or_404") and isinstance(call.func, ast.Attribute):
        holder = call.func.value
        if isinstance(holder, ast.Attribute) and holder.attr in ("query", "objects"):
            model = getattr(holder.value, "id", "")
            if len(call.args) == 1 and not call.keywords:
                yield call.args[0], model
            yield from _by_keyword(call, model)
        elif len(call.args) == 2 and isinstance(call.args[0], ast.Name) and call.args[0].id[:1].isupper():
            yield call.args[1], call.args[0].id  # session.get(Model, key)
    elif last in ("get_object_or_404", "get_or_404", "aget_object_or_404") and call.args:
        yield from _by_keyword(call, getattr(call.args[0], "id", ""))
    elif last in ("filter", "where") and len(call.args) == 1 and isinstance(call.args[0], ast.Compare):
        left, right = call.args[0].left, call.args[0].comparators[0]
        if isinstance(left, ast.Attribute) and left.attr in _KEYS and isinstance(call.args[0].ops[0], ast.Eq):
            yield right, getattr(left.value, "id", "")
    elif last == "filter_by":
        holder = call.func.value if isinstance(call.func, ast.Attribute) else call
        yield from _by_keyword(call, next(_classes(holder), ""))
    elif last == "execute" and len(call.args) == 2 and isinstance(call.args[1], ast.Tuple | ast.List):
        query, given = (view.names.text(call.args[0]) or "")[:2000], call.args[1].elts
        if len(given) == 1 and _WHERE_ID.search(query):
            yield given[0], "row"


def _classes(node: ast.AST) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id[:1].isupper())


def _by_keyword(call: ast.Call, model: str) -> Iterator[tuple[ast.expr, str]]:
    if len(call.keywords) == 1 and call.keywords[0].arg in _KEYS:
        yield call.keywords[0].value, model


def _whole(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`return account.__dict__`, `return vars(account)` in an answer to strangers."""
    assert isinstance(node, ast.Return)
    value = node.value
    if (
        isinstance(value, ast.Call)
        and len(value.args) == 1
        and not view.names.called(value).startswith(("vars", ":"))
    ):
        value = value.args[0]  # jsonify(…)
    shown = isinstance(value, ast.Attribute) and value.attr == "__dict__"
    shown = shown or (isinstance(value, ast.Call) and view.names.called(value) == "vars")
    if shown and view.is_route(node):
        yield Found(node, "every attribute goes to the client, hashes of passwords and notes with the rest")


def _for_anyone(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`permission_classes = [AllowAny]` on a view that changes things, and as the default of all views."""
    if not view.has("permission"):
        return
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if (
                key is not None
                and view.names.text(key) == "DEFAULT_PERMISSION_CLASSES"
                and _allows(view, value)
            ):
                yield Found(value, "every view that says nothing else is open to strangers")
        return
    assert isinstance(node, ast.ClassDef)
    for item in node.body:
        if not isinstance(item, ast.Assign) or not isinstance(item.targets[0], ast.Name):
            continue
        if item.targets[0].id == "permission_classes" and _allows(view, item.value) and _changes(view, node):
            yield Found(item, "strangers can change or delete with this view")


def _allows(view: View, node: ast.expr) -> bool:
    if not isinstance(node, ast.List | ast.Tuple):
        return False
    listed = [view.names.text(item) or view.names.resolve(item) for item in node.elts]
    return not listed or all(item.endswith("AllowAny") for item in listed)


def _changes(view: View, node: ast.ClassDef) -> bool:
    defined = {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    whole = any(
        base.endswith(("ModelViewSet", "DestroyAPIView", "UpdateAPIView")) for base in view.names.bases(node)
    )
    return whole or bool(defined & {"delete", "put", "patch", "destroy", "update", "partial_update"})


def _every_field(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`class Meta: fields = "__all__"` of a form or serializer, and fields that hold secrets."""
    assert isinstance(node, ast.ClassDef)
    if node.name != "Meta":
        return
    owner = view.parent(node)
    if not isinstance(owner, ast.ClassDef):
        return
    bases = " ".join(view.names.bases(owner))
    if not ("ModelForm" in bases or "Serializer" in bases):
        return
    for item in node.body:
        if not isinstance(item, ast.Assign) or not isinstance(item.targets[0], ast.Name):
            continue
        field, value = item.targets[0].id, view.names.constant(item.value, "")
        if (field == "fields" and value == "__all__") or (field == "exclude" and value == ()):
            yield Found(
                item, "every field of the model, later ones too, can be set by whoever sends the form"
            )
        elif field == "fields" and isinstance(value, tuple) and "Serializer" in bases:
            shown = _PERSONAL.intersection(map(str, value))
            if shown and not view.has("write_only"):
                yield Found(item, f"{min(shown)} is sent to whoever reads the object")


CHECKS = (
    Check(
        Rule(
            "object-without-owner",
            "An object is handed out by its number, whosever it is",
            Severity.MEDIUM,
            Confidence.LOW,
            "Numbers are counted up: whoever changes the number in the address gets the objects of others. Look it up "
            "together with its owner, or compare the owner with the user.",
            bad="from flask import Flask, jsonify\nfrom flask_login import login_required\n\napp = Flask(__name__)\n\n"
            '@app.route("/invoices/<int:number>")\n@login_required\ndef invoice(number):\n'
            "    return jsonify(Invoice.query.get_or_404(number).as_dict())",
            good="from flask import Flask, jsonify\nfrom flask_login import current_user, login_required\n\n"
            'app = Flask(__name__)\n\n@app.route("/invoices/<int:number>")\n@login_required\ndef invoice(number):\n'
            "    found = Invoice.query.filter_by(id=number, owner_id=current_user.id).first_or_404()\n"
            "    return jsonify(found.as_dict())",
            cwe=(639, 566, 862, 863),
        ),
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_unowned,
    ),
    Check(
        Rule(
            "open-to-strangers",
            "A view that changes things is open to strangers",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "AllowAny, or no class at all, asks nobody who they are. Use IsAuthenticated or a class of your own.",
            bad="from rest_framework.permissions import AllowAny\nfrom rest_framework.views import APIView\n\n"
            "class Removal(APIView):\n    permission_classes = [AllowAny]\n\n    def delete(self, request, pk):\n"
            "        remove(pk)",
            good="from rest_framework.permissions import IsAdminUser\nfrom rest_framework.views import APIView\n\n"
            "class Removal(APIView):\n    permission_classes = [IsAdminUser]\n\n    def delete(self, request, pk):\n"
            "        remove(pk)",
            cwe=(862, 306),
        ),
        nodes=(ast.ClassDef, ast.Dict),
        look=_for_anyone,
    ),
    Check(
        Rule(
            "whole-object-shown",
            "An object goes to the client with all its attributes",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Hashes of passwords and internal notes are attributes, too. Name the fields that are meant.",
            bad='from flask import jsonify\n\n@app.get("/me")\ndef me():\n    return jsonify(load_user().__dict__)',
            good='from flask import jsonify\n\n@app.get("/me")\ndef me():\n    return jsonify(name=load_user().name)',
            cwe=(200, 201, 213),
        ),
        nodes=(ast.Return,),
        look=_whole,
    ),
    Check(
        Rule(
            "every-field",
            "A form or serializer takes or shows every field of a model",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "A field such as is_staff can be set by whoever sends the form, and one such as password is shown. "
            "Name the fields that are meant.",
            bad="from rest_framework import serializers\n\nclass UserSerializer(serializers.ModelSerializer):\n"
            '    class Meta:\n        model = User\n        fields = "__all__"',
            good="from rest_framework import serializers\n\nclass UserSerializer(serializers.ModelSerializer):\n"
            '    class Meta:\n        model = User\n        fields = ("name", "bio")',
            cwe=(915, 200, 213),
        ),
        nodes=(ast.ClassDef,),
        look=_every_field,
    ),
)
