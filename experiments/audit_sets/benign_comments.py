"""Honest comments, docstrings and strings of installed packages, to count false alarms with.

    python experiments/audit_sets/benign_comments.py [FOLDER…] [--count 10000] [--hard 5000] [--pool 60000]

Prints counts only: what it reads belongs to others and is not copied.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import sysconfig
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

COUNT = 10_000
HARD = 5_000
POOL = 60_000
LARGEST_FILE = 1 << 20
LONGEST_TEXT = 20_000
SHORTEST_TEXT = 12
"""Characters: shorter ones say nothing."""

TERMS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "instruction": r"\binstruct(?:ion|ions|ed|s)?\b",
        "prompt": r"\bprompts?\b",
        "model": r"\b(?:models?|llms?|gpt|chatbots?)\b",
        "assistant": r"\b(?:assistants?|agents?|copilot|ai)\b",
        "ignore": r"\b(?:ignor(?:e|es|ed|ing)|disregard(?:s|ed|ing)?)\b",
        "override": r"\boverrid(?:e|es|den|ing)\b",
        "system": r"\bsystem\b",
        "user": r"\busers?\b",
        "rule": r"\brules?\b",
        "you must": r"\byou (?:must|should|have to|need to)\b",
        "do not": r"\b(?:do not|don't)\b",
        "please": r"\bplease\b",
        "always": r"\balways\b",
        "never": r"\bnever\b",
        "important": r"\bimportant\b",
        "note": r"\bnotes?\b",
        "secret": r"\bsecrets?\b",
        "execute": r"\bexecut(?:e|es|ed|ing)\b",
        "run the following": r"\brun the following\b",
    }.items()
}

_OTHER_TOKENS = re.compile(
    r"/\*.*?\*/|(?:[ \t]*//[^\n]*(?:\n|$))+|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`",
    re.DOTALL,
)
_HOSTS = {".py": "python", ".js": "javascript", ".c": "c", ".h": "c"}
_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


@dataclass(frozen=True, slots=True)
class BenignText:
    """A complete comment, docstring or string as it stands in its file, indentation removed."""

    text: str
    host: str
    """python, javascript or c."""
    kind: str
    """comment, docstring or string."""
    terms: tuple[str, ...]
    """Names of `TERMS` that occur in it; none for an easy text."""
    path: str
    """Relative to its folder; for reports, not for detectors."""

    @property
    def hard(self) -> bool:
        """Whether it uses words that injected instructions use too."""
        return bool(self.terms)


def default_folders() -> tuple[Path, ...]:
    """Return the site-packages and the standard library of the running interpreter."""
    paths = sysconfig.get_paths()
    return tuple(Path(paths[name]) for name in ("purelib", "stdlib"))


def collect(folders: Sequence[Path] | None = None, pool: int = POOL) -> tuple[BenignText, ...]:
    """Read files in an order that depends on their relative paths alone until `pool` texts are found.

    Equal texts count once. The texts come in the order of their digests.
    """
    found: dict[str, BenignText] = {}
    for folder, path in _files(folders or default_folders()):
        for kind, text in texts_of(path):
            if not SHORTEST_TEXT <= len(text) <= LONGEST_TEXT:
                continue
            terms = tuple(name for name, pattern in TERMS.items() if pattern.search(text))
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            found.setdefault(
                digest,
                BenignText(text, _HOSTS[path.suffix], kind, terms, path.relative_to(folder).as_posix()),
            )
        if len(found) >= pool:
            break
    return tuple(found[digest] for digest in sorted(found))


def choose(texts: Sequence[BenignText], count: int = COUNT, hard: int = HARD) -> tuple[BenignText, ...]:
    """Choose `count` texts, the first `hard` of them from the hard ones.

    Hard texts with most different terms, counted up to three, come first: they
    are what a detector mistakes. Among equals, and among the easy ones, the
    order of `texts` decides.
    """
    hardest = sorted((text for text in texts if text.hard), key=lambda text: -min(3, len(text.terms)))[:hard]
    easy = [text for text in texts if not text.hard][: count - len(hardest)]
    return (*hardest, *easy)


def texts_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of a source file; nothing of one that cannot be read."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if path.suffix == ".py":
        yield from _python_texts(source)
    else:
        for match in _OTHER_TOKENS.finditer(source):
            text = match.group()
            if text.lstrip().startswith(("//", "/*")):
                yield "comment", dedent(text).strip()


def _files(folders: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Return (folder, file) of all source files, ordered by the digest of the relative path."""
    found: dict[Path, tuple[str, Path]] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            if path.suffix in _HOSTS and path.is_file() and path not in found:
                name = path.relative_to(folder).as_posix()
                found[path] = (hashlib.sha256(name.encode()).hexdigest(), folder)
    ordered = sorted(found.items(), key=lambda item: (item[1][0], str(item[0])))
    return [(folder, path) for path, (_, folder) in ordered]


def _python_texts(source: str) -> Iterator[tuple[str, str]]:
    """Yield what a Python file says; lines of comment that follow each other are one comment."""
    block: list[str] = []
    block_end = -1
    begins_statement = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return
    for token in tokens:
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            if block and not (alone and token.start[0] == block_end + 1):
                yield "comment", "\n".join(block)
                block = []
            block.append(token.string)
            block_end = token.start[0] if alone else -1
        elif token.type == tokenize.STRING and not _is_formatted(token.string):
            if begins_statement:
                yield "docstring", _dedented(token.string, token.start[1])
            elif " " in token.string.strip():
                yield "string", _dedented(token.string, token.start[1])
            begins_statement = False
        elif token.type != tokenize.COMMENT:
            begins_statement = token.type in _LAYOUT and (begins_statement or token.type != tokenize.NL)
    if block:
        yield "comment", "\n".join(block)


def _is_formatted(literal: str) -> bool:
    """Tell f-strings, which newer tokenizers split, and bytes."""
    prefix = literal[: min(literal.find(quote) for quote in "'\"" if quote in literal)].lower()
    return "f" in prefix or "b" in prefix


def _dedented(literal: str, column: int) -> str:
    """Take the indentation of the first line off the others."""
    first, *rest = literal.split("\n")
    return "\n".join([first, *(line[min(column, len(line) - len(line.lstrip())) :] for line in rest)])


def main() -> None:
    """Print how many texts of which kind the folders yield."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--hard", type=int, default=HARD)
    parser.add_argument("--pool", type=int, default=POOL)
    arguments = parser.parse_args()
    texts = collect(arguments.folders or None, arguments.pool)
    chosen = choose(texts, arguments.count, arguments.hard)
    digest = hashlib.sha256(
        "\0".join(text.text for text in chosen).encode("utf-8", "surrogatepass")
    ).hexdigest()
    print(f"found {len(texts)}, hard {sum(text.hard for text in texts)}")
    print(f"chosen {len(chosen)}, hard {sum(text.hard for text in chosen)}, sha256 {digest}")
    for title, counts in (
        ("kind", Counter(text.kind for text in chosen)),
        ("host", Counter(text.host for text in chosen)),
        ("term", Counter(term for text in chosen for term in text.terms)),
    ):
        print(f"{title}: " + ", ".join(f"{name} {number}" for name, number in counts.most_common()))


if __name__ == "__main__":
    main()
