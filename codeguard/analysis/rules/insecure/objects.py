"""Objects that anyone can access by id, and fields that anyone can set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codeguard.analysis.python.scopes import FunctionNode
from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.analysis.rules.insecure.handlers import (
    body_words,
    client_parameters,
    is_from_request,
    is_handler,
    knows_user,
    of_staff,
)
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import unqualified_name, variables_in, walk
from codeguard.models import Severity

_RULES = rules_of(__file__)

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


def _unowned(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find handlers that load an object by request data without checking its owner."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if not is_handler(view, node):
        yield from _actor_ignored(view, node)
        return
    given = client_parameters(node)
    looked_up = next(_lookups(view, node, given), None)
    if looked_up is None:
        return
    call, model, by_parameter = looked_up
    if _OWNER.search(_rest(node, call, given)) or of_staff(view, node):
        return
    logged_in = knows_user(view, node)
    if logged_in or (by_parameter and _PRIVATE.search(model) and not _OWNER.search(node.name)):
        whose = "anyone who has logged in" if logged_in else "anyone"
        yield NodeMatch(call, f"{whose} gets any {model or 'object'} by its number: nothing asks whose it is")


_ACTOR = lazy(
    r"^(?:current_)?(?:user|actor|principal|requester|caller|account)(?:_id)?$|^(?:acting|requesting|logged_in)_user(?:_id)?$"
)
_ALTERS = lazy(
    r"^(?:delete|remove|update|edit|cancel|archive|publish|approve|rename|transfer|share|move|set)_?"
)


def _actor_ignored(view: View, node: FunctionNode) -> Iterator[NodeMatch]:
    """Find functions that never use their user: `def delete_note(self, current_user, note_id)`."""
    listed = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
    actors = [name for name in listed if _ACTOR.match(name)]
    keys = [name for name in listed if name.endswith("_id") and name not in actors]
    if not actors or not keys or not _ALTERS.match(node.name) or node.decorator_list:
        return
    read = variables_in(node)
    changes = [
        part
        for part in walk(node)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and re.match("delete|remove|save|update|commit|execute|cancel|put", part.func.attr)
    ]
    if changes and not any(actor in read for actor in actors) and keys[0] in read:
        yield NodeMatch(
            changes[-1],
            f"{actors[0]} is given and never asked: anyone who calls changes what belongs to others",
        )


def _rest(node: FunctionNode, call: ast.Call, given: set[str]) -> str:
    """Return the words of a handler without the names of its parameters and of the loaded model."""
    models = variables_in(call) | {"session"}
    texts = {str(part.value)[:100] for part in walk(call) if isinstance(part, ast.Constant)}
    return body_words(node, {*given, *models, *texts, "get_session", "db", *_routed(node)})


def _routed(node: FunctionNode) -> set[str]:
    return {
        part.slice.value
        for part in walk(node)
        if isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Constant)
        and isinstance(part.slice.value, str)
        and isinstance(part.value, ast.Attribute)
        and part.value.attr
        in ("args", "GET", "form", "POST", "json", "query_params", "match_info", "path_params")
    }


def _lookups(view: View, node: FunctionNode, given: set[str]) -> Iterator[tuple[ast.Call, str, bool]]:
    """Yield calls that load an object by key, its class, and whether a parameter is the key."""
    for call in walk(node):
        if not isinstance(call, ast.Call):
            continue
        for key, model in _keyed(view, call):
            by_parameter = isinstance(key, ast.Name) and key.id in given
            if by_parameter or is_from_request(view, key):
                yield call, model, by_parameter
                break


def _keyed(view: View, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    last = unqualified_name(call.func)
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
    return (part.id for part in walk(node) if isinstance(part, ast.Name) and part.id[:1].isupper())


def _by_keyword(call: ast.Call, model: str) -> Iterator[tuple[ast.expr, str]]:
    if len(call.keywords) == 1 and call.keywords[0].arg in _KEYS:
        yield call.keywords[0].value, model


def _whole(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find objects returned as a whole: `return account.__dict__`, `return vars(account)`."""
    assert isinstance(node, ast.Return)
    value = node.value
    if (
        isinstance(value, ast.Call)
        and len(value.args) == 1
        and not view.names.called(value).startswith(("vars", ":"))
    ):
        value = value.args[0]  # jsonify(…)
    shown = isinstance(value, ast.Attribute) and value.attr == "__dict__"
    if (
        isinstance(value, ast.Call)
        and len(value.args) == 1
        and view.names.called(value).endswith(("model_to_dict", "asdict"))
    ):
        shown = (
            re.search("user|account|customer|patient|member|employee", ast.unparse(value.args[0]).lower())
            is not None
        )
    shown = shown or (isinstance(value, ast.Call) and view.names.called(value) == "vars")
    if view.has("columns", "_meta", "__fields__"):
        shown = shown or any(_of_all_columns(part) for part in walk(node))
    if shown and view.is_route(node):
        yield NodeMatch(
            node, "every attribute goes to the client, hashes of passwords and notes with the rest"
        )


def _of_all_columns(part: ast.AST) -> bool:
    """Return whether a mapping is made of all columns of a row: `{c.name: getattr(row, c.name) for c in columns}`."""
    if not isinstance(part, ast.DictComp) or not isinstance(part.value, ast.Call):
        return False
    read = part.value
    listed = ast.unparse(part.generators[0].iter)
    chosen = listed.endswith((".columns", "columns", "._meta.fields", "_meta.get_fields()", ".__fields__"))
    return (
        unqualified_name(read.func) == "getattr"
        and len(read.args) > 1
        and chosen
        and not part.generators[0].ifs
    )


def _all_names(view: View, node: ast.Call) -> Iterator[NodeMatch]:
    """Find `render(request, "page.html", locals())`."""
    at: ast.AST | None = view.parent(node)
    at = view.parent(at) if isinstance(at, ast.keyword) else at
    if isinstance(at, ast.Call) and view.names.called(at).rpartition(".")[2].startswith(
        ("render", "TemplateResponse")
    ):
        yield NodeMatch(node, "every name of the function goes to the template, secrets with the rest")


def _for_anyone(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `permission_classes = [AllowAny]` on a view that changes data, or as the default."""
    if not view.has("permission"):
        return
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if (
                key is not None
                and view.names.text(key) == "DEFAULT_PERMISSION_CLASSES"
                and _allows(view, value)
            ):
                yield NodeMatch(value, "every view that says nothing else is open to anyone")
        return
    assert isinstance(node, ast.ClassDef)
    for item in node.body:
        if not isinstance(item, ast.Assign) or not isinstance(item.targets[0], ast.Name):
            continue
        if item.targets[0].id == "permission_classes" and _allows(view, item.value) and _changes(view, node):
            yield NodeMatch(item, "anyone can change or delete with this view")


_OF_PEOPLE = lazy(
    r"info\.context|permission|current_user|require|check|authori[sz]e|\buser\b|login|viewer", re.IGNORECASE
)


def _mutation(view: View, node: ast.AST) -> Iterator[NodeMatch]:
    """Find mutations of GraphQL that ask nobody: `@strawberry.mutation` without permission classes."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if view.names.resolve(called) not in ("strawberry.mutation", "strawberry.type.mutation"):
            continue
        asked = _OF_PEOPLE.search(" ".join(map(ast.unparse, [*node.body, *node.decorator_list])))
        told = re.search(r"login|sign_?(?:in|up)|register|reset|subscribe|contact", node.name)
        if not asked and not told and not view.has("extensions=", "permission_classes"):
            yield NodeMatch(decorator, "anyone who knows the address calls this mutation")


_CHANGING = lazy(r"^django\.views\.generic\.(?:edit\.)?(?:Delete|Update)View$")
_ASKS = lazy(r"Mixin|Permission|Login|Auth|Protected|Owner|Staff|Admin|Secure|Test", re.IGNORECASE)
_WHO = lazy(r"request\.user|permission|test_func|get_queryset|dispatch|login|owner|user_passes")


def _view_for_anyone(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find views without authentication, such as `class PageDelete(DeleteView)`."""
    assert isinstance(node, ast.ClassDef)
    if not view.has("deleteview", "updateview") or node.decorator_list:
        return
    bases = view.names.bases(node)
    if not any(_CHANGING.match(base) for base in bases):
        return
    asks = any(_ASKS.search(base.rpartition(".")[2]) for base in bases)
    if not asks and not any(_WHO.search(ast.unparse(item)) for item in node.body):
        wrapped = view.has(f"login_required({node.name.lower()}", f"permission_required({node.name.lower()}")
        if not wrapped:
            # Whoever serves the view may ask first, and mostly does so in another file.
            served = f"{node.name.lower()}.as_view(" in view.lowered
            yield NodeMatch(
                node.bases[0],
                "anyone who knows the address changes or deletes with this view",
                None if served else Severity.LOW,
            )


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


def _every_field(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find `class Meta: fields = "__all__"` of a form or serializer, and fields with secrets."""
    assert isinstance(node, ast.ClassDef)
    if node.name != "Meta":
        return
    owner = view.parent(node)
    if not isinstance(owner, ast.ClassDef):
        return
    bases = " ".join(view.names.bases(owner))
    models = [
        item.value
        for item in node.body
        if isinstance(item, ast.Assign)
        and isinstance(item.targets[0], ast.Name)
        and item.targets[0].id == "model"
    ]
    if not ("ModelForm" in bases or "Serializer" in bases) or not all(
        unqualified_name(model)[:1].isupper() for model in models
    ):
        return  # neither, or of whatever model a library is given
    for item in node.body:
        if not isinstance(item, ast.Assign) or not isinstance(item.targets[0], ast.Name):
            continue
        field, value = item.targets[0].id, view.names.constant(item.value, "")
        if (
            field == "exclude"
            and isinstance(value, tuple)
            and value
            and "ModelForm" in bases
            and not view.has(".admin")
        ):
            yield NodeMatch(
                item, "fields that the model gets later can be set by anyone: list those that may be"
            )
        elif (field == "fields" and value == "__all__") or (field == "exclude" and value == ()):
            yield NodeMatch(
                item, "every field of the model, later ones too, can be set by anyone who sends the form"
            )
        elif field == "fields" and isinstance(value, tuple) and "Serializer" in bases:
            shown = _PERSONAL.intersection(map(str, value))
            if shown and not view.has("write_only"):
                yield NodeMatch(item, f"{min(shown)} is sent to anyone who reads the object")


CHECKS = (
    Check(
        _RULES["object-without-owner"],
        nodes=(ast.FunctionDef, ast.AsyncFunctionDef),
        look=_unowned,
    ),
    Check(
        _RULES["open-to-anyone"],
        nodes=(ast.ClassDef, ast.Dict, ast.FunctionDef, ast.AsyncFunctionDef),
        look=lambda view, node, name: (
            (_mutation(view, node) if "strawberry" in view.modules else ())
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            else [
                *_for_anyone(view, node, name),
                *(_view_for_anyone(view, node, name) if isinstance(node, ast.ClassDef) else ()),
            ]
        ),
    ),
    Check(
        _RULES["whole-object-shown"],
        nodes=(ast.Return,),
        calls=word_set("locals"),
        look=lambda view, node, name: (
            _all_names(view, node) if isinstance(node, ast.Call) else _whole(view, node, name)
        ),
    ),
    Check(
        _RULES["every-field"],
        nodes=(ast.ClassDef,),
        look=_every_field,
    ),
)
