"""What a language has to say for its files to be chunked, and the values that chunking works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from tree_sitter import Node

from codeguard.models import ChunkKind

ERROR = "ERROR"  # the type of the nodes in which tree-sitter puts what it could not parse


class Role(Enum):
    """What a syntax node is to the chunker."""

    FUNCTION = auto()  # a chunk of its own; what is nested in it stays in it
    METHOD = auto()  # a function of a class that stands outside it; its name holds both
    CLASS = auto()  # its functions are methods; what remains is the class header
    NAMESPACE = auto()  # lends its name to what it holds and is no chunk
    SCOPE = auto()  # may hold functions and classes (`if`, `try`, a block); is no chunk
    IMPORT = auto()  # brings names into scope


class NodeRole(NamedTuple):
    """What a grammar says of a node: its role, its name, and the node to look into (a class's own).

    Without a name it has that of the node to look into.
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

    `wheel` is the distribution that carries the tree-sitter grammar,
    `module` and `entry` the module and function that return it, and `extra`
    the extra of codeguard that installs it, empty for the default ones.
    `roles` covers the node types whose role is plain; `examine` is asked
    first, for those if one has to look inside: the types in `examined`,
    all if that is None. `blocks` are the node
    types whose named children are statements. `bodiless` are the function
    types that may be mere declarations, which are no chunks; `leading` the
    types of decorations that stand before a function as nodes of their own.
    `comment` holds what a comment line may begin with. `recover` outlines a text that does not
    parse; without it, the tree with its errors is used. `isolated` has the
    text parsed in a process that can be ended.
    """

    name: str
    extensions: tuple[str, ...]
    wheel: str
    module: str
    roles: Mapping[str, Role]
    blocks: frozenset[str]
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
        """Work out what follows from the rest."""
        known = self.roles.keys() | self.leading | {ERROR}
        relevant = None if self.examined is None else self.examined | known
        object.__setattr__(self, "relevant", relevant)


@dataclass(frozen=True, slots=True)
class LanguageInfo:
    """A language as a user sees it: is its grammar installed, and which wheel and extra bring it."""

    name: str
    extensions: tuple[str, ...]
    installed: bool
    wheel: str
    extra: str


def name_of(node: Node) -> str:
    """Return the text of the node's `name` field, empty if it has none."""
    return text_of(node.child_by_field_name("name"))


def text_of(node: Node | None) -> str:
    """Return the node's text, empty for no node."""
    if node is None or node.text is None:
        return ""
    return node.text.decode("utf-8", "replace")
