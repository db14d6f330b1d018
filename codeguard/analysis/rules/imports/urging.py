"""Install commands, and where they install from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from codeguard.corpus.patterns import lazy

_INSTALL = lazy(
    r"\b(?:(?P<pip>(?:pip[23]?|uv pip|pipx|poetry|easy_install|conda)\s{1,3}(?:install|add|inject))"
    r"|(?P<npm>(?:npm|yarn|pnpm|bun)\s{1,3}(?:install|i|add)))\s{1,3}(?P<rest>[^\n\"'`;|&)]{1,300})"
)
_SOURCE = lazy(
    r"(?:(?:--(?:extra-)?index-url|-i|--find-links|-f|--registry)[ =]{1,2}(?P<index>\S{4,200}))"
    r"|(?P<direct>(?:git\+\w{1,8}|https?)://(?!\.\.\.|…)\S{3,200})|(?P<trusted>--trusted-host[ =]\S{1,100})"
)
_USUAL = lazy(
    r"(?:git\+)?(?:https|ssh)://(?:git@)?(?:pypi\.org|test\.pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org"
    r"|download\.pytorch\.org|github\.com|gitlab\.com|bitbucket\.org|codeload\.github\.com)(?:[:/]|\Z)"
    r"|file:///",  # a folder of the machine, in which whoever writes the text has nothing
    re.IGNORECASE,
)
# The network, or the owner of an IP address, controls what is installed.
_UNVERIFIED = lazy(
    r"(?:git\+)?http://(?!localhost[:/])|(?:git\+)?https://(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]{2,60}\])",
    re.IGNORECASE,
)
_PACKAGE = lazy(r"@?[A-Za-z][A-Za-z0-9_.\-/]{1,59}\Z")
# Words after a package's name where prose continues.
_FOLLOWING = "for to with and or in if on from before first then when as so that is will"
_GOES_ON = frozenset(_FOLLOWING.split())
# Words after the command in sentences about it: "pip install fails", "the pip install step".
_SPEAKING = """
fail fails failed failing failure run runs ran running work works worked working step steps command commands process
succeed succeeds succeeded hang hangs break breaks take takes took error errors cannot can could may might must should
will would does did is was has had this that these those it them your our their the a an again once also and or but not
"""
_SPOKEN_OF = frozenset(_SPEAKING.split()) | _GOES_ON


@dataclass(frozen=True, slots=True)
class Install:
    """An install command in a text; `source` is where it installs from, if given."""

    start: int
    end: int
    npm: bool
    packages: tuple[str, ...]
    source: str


def installs(text: str) -> Iterator[Install]:
    """Yield the install commands in a text."""
    for match in _INSTALL.finditer(text):
        rest = match.group("rest")
        source = _SOURCE.search(rest)
        words = rest.split("#")[0].split()
        packages: list[str] = []
        for before, word in zip(["", *words], words, strict=False):
            name = re.split(r"[=<>~!\[;,@]", word.lstrip("@"), maxsplit=1)[0].rstrip(".:")
            if before in (
                "-i",
                "-f",
                "-r",
                "--index-url",
                "--extra-index-url",
                "--trusted-host",
                "--registry",
            ):
                continue
            if word.startswith("-") or not _PACKAGE.match(name):
                continue
            if (
                word.lower() in (_GOES_ON if packages else _SPOKEN_OF)
                and text[match.start() - 1 : match.start()] != "`"
            ):
                break
            if packages and not re.search(r"[=<>~\[]", word) and len(packages) > 3:
                break  # prose after the command
            packages.append(name)
        found = "" if source is None else next(part for part in source.groups() if part)
        if "--no-index" in rest and "://" not in found:
            found = ""  # from a folder, which the same job has filled
        yield Install(match.start(), match.end(), match.group("npm") is not None, tuple(packages[:6]), found)


def is_strange_source(source: str) -> bool:
    """Return whether a source is not a public index or forge."""
    return _USUAL.match(source.strip("<>()[]")) is None


def is_unverified_source(source: str) -> bool:
    """Return whether a source cannot be verified: plain http, or an IP address."""
    return is_strange_source(source) and _UNVERIFIED.match(source.strip("<>()[]")) is not None
