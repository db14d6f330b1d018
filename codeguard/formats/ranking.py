"""A ranking as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codeguard.escaping import escaped
from codeguard.formats.level import level_line
from codeguard.rerank import Ranked, Ranking


def ranking_text(ranking: Ranking, required_level: str = "L2") -> str:
    """Return the top results, one block each, with the reason of every penalty."""
    lines = [_headline(ranking, required_level)]
    lines += _results(ranking.results) or ["no results"]
    lines += _dropped(ranking.dropped)
    return "\n".join(lines)


def explanation_text(ranking: Ranking, required_level: str = "L2") -> str:
    """Return the top k before and after, every reason, and the sums by file."""
    lines = [_headline(ranking, required_level), "", "before (by retrieval alone)"]
    lines += [_place(item, moved=False) for item in ranking.baseline_results]
    lines += ["", "after"]
    lines += _results(ranking.results)
    lines += _dropped(ranking.dropped)
    lines += ["", "by file (every candidate)"]
    lines += _files([*ranking.ranking, *ranking.dropped])
    return "\n".join(lines)


def _headline(ranking: Ranking, required_level: str) -> str:
    if ranking.mode == "none":
        return f"{escaped(ranking.query)!r}: undefended, by retrieval alone"
    level = level_line(ranking.sandbox_level, required_level)
    return f"{escaped(ranking.query)!r}: {level}, mode {ranking.mode}, order {ranking.order}"


def _results(items: Sequence[Ranked]) -> list[str]:
    lines = []
    for item in items:
        lines.append(_place(item, moved=True))
        lines += _reasons(item)
    return lines


def _place(item: Ranked, *, moved: bool) -> str:
    chunk = item.chunk
    where = f"{escaped(chunk.path)}:{chunk.start_line}"
    name = escaped(chunk.symbol) or f"({chunk.kind.value})"
    place = f"{item.rank:>3}  {where}  {name}  distance {item.distance:.3f}"
    if not moved:
        return place
    flag = "  CONVICTED" if item.convicted else ""
    verdict = f"  {item.verdict}" if item.verdict else ""
    before = "same place" if item.rank == item.baseline_rank else f"was {item.baseline_rank} of all"
    return f"{place}  score {item.score:+.2f}  {item.trust.value}{verdict}{flag}  ({before})"


def _reasons(item: Ranked) -> list[str]:
    return [f"       {part.penalty:+.2f} {part.signal}: {escaped(part.reason)}" for part in item.evidence]


def _dropped(items: Sequence[Ranked]) -> list[str]:
    if not items:
        return []
    lines = [f"dropped: {len(items)}"]
    for item in items:
        lines.append(f"     {escaped(item.chunk.path)}:{item.chunk.start_line}  {escaped(item.chunk.symbol)}")
        lines += _reasons(item)
    return lines


def _files(items: Iterable[Ranked]) -> list[str]:
    by_file: dict[str, list[Ranked]] = {}
    for item in items:
        by_file.setdefault(item.chunk.path, []).append(item)
    lines = []
    for path, members in sorted(
        by_file.items(), key=lambda entry: (min(m.rank or 10**9 for m in entry[1]), entry[0])
    ):
        convicted = [escaped(member.chunk.symbol) for member in members if member.convicted]
        total = sum(member.penalty for member in members)
        best = min((member.rank for member in members if member.rank), default=0)
        place = f"best place {best}" if best else "dropped"
        wrong = f", convicted: {', '.join(convicted)}" if convicted else ""
        lines.append(f"     {escaped(path)}  {len(members)} chunks, {place}, penalties {total:+.2f}{wrong}")
    return lines
