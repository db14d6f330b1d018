"""The description of a language for chunking, and the value types of chunking."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from tree_sitter import Node

from codeguard.models import ChunkKind

ERROR = "ERROR"  # the type of tree-sitter's nodes for text that it could not parse


class Role(Enum):
    """What a syntax node is to the chunker."""

    FUNCTION = auto()  # a separate chunk, including everything nested in it
    METHOD = auto()  # a function defined outside its class; its name contains both
    CLASS = auto()  # its functions are methods; what remains is the class header
    NAMESPACE = auto()  # qualifies the names in it; not a chunk
    SCOPE = auto()  # may contain functions and classes (`if`, `try`, a block); not a chunk
    IMPORT = auto()  # brings names into scope


class NodeRole(NamedTuple):
    """A grammar's description of a node: its role, its name, and the node that holds its content.

    Without a name, it has that of the content node.
    """

    role: Role
    name: str | None = ""
    inside: Node | None = None


class Mark(NamedTuple):
    """A function or class in a file; offsets count bytes of the text in UTF-8, the end is exclusive."""

    start: int
    end: int
    kind: ChunkKind
    symbol: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The functions, classes and import statements of a file, in the order of the file."""

    marks: tuple[Mark, ...]
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language.

    `wheel` is the distribution that carries the tree-sitter grammar, `entry` the function of its module that
    returns it, and `extra` the extra of codeguard that installs it, empty for the default ones.
    `roles` covers the node types whose type determines the role; `examine` is called first for types that
    need inspection: those in `examined`, or all if that is None. `bodiless` are the function types that may be mere
    declarations, which are not chunks; `leading` the types of decorations that precede a function as separate nodes.
    `comment` lists the beginnings of comment lines. `recover` outlines a text that does not parse; without it, the
    tree with its errors is used. `isolated` parses the text in a process that can be killed.
    """

    name: str
    extensions: tuple[str, ...]
    wheel: str
    roles: Mapping[str, Role]
    entry: str = "language"
    extra: str = "languages"
    interpreters: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    bodiless: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset()
    comment: tuple[bytes, ...] = (b"//", b"/*", b"*")
    examine: Callable[[Node], NodeRole | None] = field(default=lambda node: None)
    examined: frozenset[str] | None = None
    recover: Callable[[bytes], Outline] | None = None
    isolated: bool = True
    relevant: frozenset[str] | None = field(init=False)
    """The node types that may mean something to the chunker, None for all."""

    def __post_init__(self) -> None:
        """Derive the dependent fields."""
        known = self.roles.keys() | self.leading | {ERROR}
        relevant = None if self.examined is None else self.examined | known
        object.__setattr__(self, "relevant", relevant)

    @property
    def module(self) -> str:
        """The module that the wheel installs."""
        return self.wheel.replace("-", "_")

    @property
    def installed(self) -> bool:
        """Whether the wheel is installed; it is not loaded for this."""
        return importlib.util.find_spec(self.module) is not None


def name_field(node: Node) -> str:
    """Return the text of the node's `name` field, or ""."""
    return node_text(node.child_by_field_name("name"))


def node_text(node: Node | None) -> str:
    """Return the node's text, empty for no node."""
    if node is None or node.text is None:
        return ""
    return node.text.decode("utf-8", "replace")
