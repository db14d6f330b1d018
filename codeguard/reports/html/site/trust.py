"""What an index trusts and who vouches for it, what has changed since, and what people have overruled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeguard.escaping import FinishedPage
from codeguard.index.contents import Changes
from codeguard.index.trusted_paths import TrustedPath
from codeguard.reports.html.page import Page, folded, table, text
from codeguard.reports.html.site.frame import PageFrame, file_link, site_page
from codeguard.trust.acceptances import Acceptance

MOST_LISTED = 300


@dataclass(frozen=True, slots=True)
class TrustState:
    """What is trusted. `accepted` maps acceptances to the places (path, line) of their texts in the index."""

    paths: Sequence[TrustedPath]
    signed_by: Sequence[str]
    unsigned: bool
    files: Sequence[str]
    accepted: Sequence[tuple[Acceptance, tuple[tuple[str, int], ...]]]
    refused: int
    since: Changes


def trust_page(state: TrustState, frame: PageFrame, warnings: Sequence[str]) -> FinishedPage:
    """Return the page about trust."""
    signers = ", ".join(state.signed_by)
    word = f"a manifest signed by {signers}" if signers else "an unsigned manifest in the state directory"
    if signers and state.unsigned:
        word += ", and an unsigned manifest in the state directory"
    count = len(state.files)
    story = f"{count:,} {'file is' if count == 1 else 'files are'} trusted, by {word}."
    if not state.files:
        story = "Nothing is trusted: every file counts as one of unknown origin."
    if state.refused:
        warnings = [*warnings, f"{state.refused} acceptances do not verify: they do not count"]
    paths = [
        [
            text(item.path),
            "trusted" if item.trusted else "not trusted",
            ("signed" if item.signed else "unsigned") if item.trusted else "",
            text(item.since[:10]),
        ]
        for item in state.paths
    ]
    body = "<h2>Trusted paths</h2>"
    body += table(["path", "given as", "manifest", "since"], paths) if paths else "<p>None.</p>"
    body += _listed("trusted files", state.files)
    body += "<h2>Changed on the disk since the last index</h2>" + _changes(state.since)
    body += "<h2>Accepted by a person</h2>" + _accepted(state)
    return site_page(
        Page(
            title="Trust",
            story=story,
            body=body,
            facts={"trusted files": str(len(state.files)), "accepted texts": str(len(state.accepted))},
            command="codeguard trust show",
            made=frame.made,
            warnings=warnings,
        ),
        frame,
        "/trust",
    )


def _listed(title: str, paths: Sequence[str]) -> str:
    if not paths:
        return ""
    rows = "".join(f"<li>{file_link(path, text(path))}</li>" for path in paths[:MOST_LISTED])
    more = f"<li>… and {len(paths) - MOST_LISTED} more</li>" if len(paths) > MOST_LISTED else ""
    return folded(f"{len(paths)} {title}", f"<ul>{rows}{more}</ul>")


def _changes(since: Changes) -> str:
    if not since:
        return "<p>Nothing.</p>"
    kinds = (("new", since.added), ("changed", since.changed), ("gone", since.removed))
    rows = [[name, text(path)] for name, paths in kinds for path in paths]
    more = f"<p>… and {len(rows) - MOST_LISTED} more.</p>" if len(rows) > MOST_LISTED else ""
    brought = "<p><code>codeguard index</code> brings the index up to date.</p>"
    return table(["", "file"], rows[:MOST_LISTED]) + more + brought


def _accepted(state: TrustState) -> str:
    if not state.accepted:
        return "<p>Nothing.</p>"
    rows = []
    for entry, places in state.accepted[:MOST_LISTED]:
        where = "<br>".join(file_link(path, text(f"{path}:{line}"), line) for path, line in places)
        where = where or f"not in the index: <code>{entry.digest[:12]}…</code>"
        rows.append([where, text(entry.by), text(entry.date[:10]), text(entry.reason)])
    more = (
        f"<p>… and {len(state.accepted) - MOST_LISTED} more.</p>" if len(state.accepted) > MOST_LISTED else ""
    )
    return table(["where", "by", "on", "why"], rows) + more
