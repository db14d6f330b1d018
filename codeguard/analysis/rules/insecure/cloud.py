"""Cloud storage, networks and containers that are public or have full privileges."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.analysis.rules.base import rules_of
from codeguard.analysis.rules.insecure.base import Check, NodeMatch, View, word_set
from codeguard.corpus.syntax import walk

_RULES = rules_of(__file__)

_PUBLIC = frozenset({"public-read", "public-read-write", "authenticated-read", "website"})
_OFF = word_set(
    "BlockPublicAcls IgnorePublicAcls BlockPublicPolicy RestrictPublicBuckets StorageEncrypted EnableKeyRotation"
)
_CONTAINER = word_set("run create create_container create_host_config")


def _named(view: View, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.keyword):
        if node.arg:
            yield node.arg, node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value


def _open(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if not view.has("boto", "aws", "principal", "cidrip", "bucket", "acl"):
        return
    given = dict(_named(view, node))
    for key, value in given.items():
        text = view.names.constant(value)
        if key == "ACL" and text in _PUBLIC:
            yield NodeMatch(node, f"everybody can read what is stored: {text}")
        elif key in ("CidrIp", "CidrIpv6", "cidr_blocks") and text in ("0.0.0.0/0", "::/0", ("0.0.0.0/0",)):
            yield NodeMatch(node, "the port is open to the whole network")
        elif key == "PubliclyAccessible" and text is True:
            yield NodeMatch(node, "the database has an address in the public network")
        elif key in _OFF and text is False:
            yield NodeMatch(node, f"{key} is off")
    if isinstance(node, ast.Dict) and view.names.constant(given.get("Effect")) == "Allow":
        yield from _statement(view, node, given)


def _statement(view: View, node: ast.Dict, given: dict[str, ast.expr]) -> Iterator[NodeMatch]:
    principal = view.names.constant(given.get("Principal"))
    if isinstance(given.get("Principal"), ast.Dict):
        held = given["Principal"]
        assert isinstance(held, ast.Dict)
        principal = view.names.constant(held.values[0]) if len(held.values) == 1 else None
    actions, resources = view.names.constant(given.get("Action")), view.names.constant(given.get("Resource"))
    if principal == "*" and "Condition" not in given:
        yield NodeMatch(node, "the policy allows it to everybody")
    elif actions in ("*", ("*",)) and resources in ("*", ("*",)):
        yield NodeMatch(node, "the policy allows everything on everything")


def _published(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    if view.modules & {"google", "gcsfs", "boto"}:
        yield NodeMatch(node, "everybody can read what is stored")


def _privileged(view: View, node: ast.AST, name: str) -> Iterator[NodeMatch]:
    """Find privileged containers: `client.containers.run(image, privileged=True)`, or a mounted engine socket."""
    assert isinstance(node, ast.Call)
    if not view.has("docker", "container", "podman"):
        return
    if view.constant(node, "privileged", default=False) is True:
        yield NodeMatch(node, "the container has all rights of the machine")
        return
    for keyword in ("pid_mode", "network_mode", "ipc_mode", "userns_mode"):
        if keyword == "pid_mode" and view.constant(node, keyword) == "host":
            yield NodeMatch(node, "the container sees the processes of the machine")
            return
    for keyword in ("volumes", "binds"):
        given = view.argument(node, keyword)
        for value in [given, *view.names.values_of(given)] if given is not None else []:
            texts = [part.value for part in walk(value) if isinstance(part, ast.Constant)]
            if any(
                isinstance(text, str) and ("docker.sock" in text or text in ("/", "/:/host"))
                for text in texts
            ):
                yield NodeMatch(node, "the container can start others with all rights")
                return


CHECKS = (
    Check(
        _RULES["open-to-everybody"],
        nodes=(ast.keyword, ast.Dict),
        methods=word_set("make_public"),
        look=lambda view, node, name: (
            _published(view, node, name) if isinstance(node, ast.Call) else _open(view, node, name)
        ),
    ),
    Check(
        _RULES["privileged-container"],
        methods=_CONTAINER,
        look=_privileged,
    ),
)
