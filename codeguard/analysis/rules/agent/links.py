"""Links whose text shows one address and whose target is another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeguard.analysis.rules.base import Match
from codeguard.corpus.patterns import lazy

_LINK = lazy(
    r"(?<!!)\[\s{0,3}(?:https?://)?(?P<shown>(?:[\w-]{1,63}\.){1,4}[a-z]{2,12})(?:[/:][^\]\s]{0,300})?\s{0,3}\]\(\s{0,3}<?https?://(?P<host>[^\s/)>\"']{1,255})"
)
_ANCHOR = lazy(
    r"<a\s[^>]{0,200}?href\s{0,3}=\s{0,3}[\"']https?://(?P<host>[^\s/\"'>]{1,255})[^>]{0,300}>\s{0,10}(?:https?://)?"
    r"(?P<shown>(?:[\w-]{1,63}\.){1,4}[a-z]{2,12})[/<\s]",
    2,
)
_FILES = frozenset(
    [
        "py",
        "js",
        "ts",
        "md",
        "json",
        "yaml",
        "yml",
        "toml",
        "txt",
        "html",
        "css",
        "sh",
        "go",
        "rs",
        "java",
        "rb",
        "php",
        "c",
        "h",
        "cpp",
        "ini",
        "cfg",
        "lock",
        "svg",
        "png",
        "pdf",
        "ipynb",
    ]
)
_BADGES = ("shields.io", "badge.fury.io", "codecov.io", "readthedocs.org", "rtfd.io", "doi.org", "zenodo.org")


def links(text: str) -> Iterator[Match]:
    """Yield links that show one host and lead to another."""
    for pattern in (_LINK, _ANCHOR):
        for found in pattern.finditer(text):
            shown, host = found["shown"].lower(), found["host"].lower().rpartition("@")[2].partition(":")[0]
            if shown.rpartition(".")[2] in _FILES or host.endswith(_BADGES):
                continue
            if not _is_address(found[0], shown) or host.endswith(f".{shown}"):
                continue
            if _site(shown) != _site(host) and not _leads_to(
                text[found.start("host") : found.end() + _LONGEST], shown
            ):
                yield Match(
                    "misleading-link", found.start(), found.end(), f"shows {shown} and leads to {host}"
                )


_LONGEST = 300  # characters of a URL


def _leads_to(link: str, shown: str) -> bool:
    """Return whether a link leads to a repository named after the site that it shows."""
    host, _, path = link.lower().partition("/")
    return host in ("github.com", "gitlab.com", "codeberg.org") and re.split(r"[)>\s#?\"']", path)[
        0
    ].endswith(f"/{shown}")


# Common top-level domains; others (`backports.zstd`, `numpy.linalg`) need a scheme or a path to be a URL.
_ENDINGS = frozenset(
    """
    com org net edu gov mil int info biz io ai app dev cloud tech online site xyz top shop store blog page pro me tv
    gg sh to ly so co uk us de fr es it nl ch at be eu pl ru cn jp kr in br au ca nz se no dk fi cz tk ml ga cf
    """.split()  # noqa: SIM905 - words read better as words
)


def _is_address(link: str, shown: str) -> bool:
    """Return whether the text of a link is a host name, not the name of a module or package."""
    text = link.partition("](")[0] if "](" in link else link.partition(">")[2]
    return "://" in text or shown.startswith("www.") or shown.rpartition(".")[2] in _ENDINGS


def _site(host: str) -> str:
    """Return the last two labels of a host without the top-level domain, since sites change that."""
    parts = host.removeprefix("www.").split(".")
    if all(part.isdigit() for part in parts):
        return host
    second = parts[-2:-1] in (["co"], ["com"], ["org"], ["ac"], ["gov"], ["github"], ["readthedocs"])
    return parts[-3] if second and len(parts) > 2 else parts[-2] if len(parts) > 1 else host
