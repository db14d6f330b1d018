"""A ranking as text: the results, their origin, and what the defense pushed down and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from codeguard.config import below_level
from codeguard.corpus.patterns import stored
from codeguard.models import Trust
from codeguard.ranking.reranking import Ranked, Ranking, at_most_per_file, distinct, represented
from codeguard.ranking.scoring import by_urgency, urgency
from codeguard.reports.styled import Line, Styled, code, counted, kinds, line, place_text

FIRST_LINES = 6  # of the code of a result; --full shows all
MOST_COLUMNS = 200  # of such a line
COPIES = 3  # places of the same code, named with a result
NAMED = 5  # results pushed down, named in the last lines
INDENT = "   "

_WORDS = stored(Path(__file__).with_suffix(".toml"))
NOT_AS_INDEXED: Mapping[str, str] = _WORDS["not_as_indexed"]
ORIGIN, MEANING = (
    {name: (words, style) for name, (words, style) in _WORDS[part].items()} for part in ("origin", "meaning")
)


def ranking_lines(
    ranking: Ranking, required_level: str, *, per_file: int = 1, full: bool = False, explain: bool = False
) -> list[Line]:
    """Return the answer.

    Args:
        ranking: the answer to a query.
        required_level: the sandbox level below which nothing is run.
        per_file: the most chunks of one file among the results.
        full: show all of the code instead of its first lines.
        explain: add the order without defense, and every penalty with its reason.
    """
    results = distinct(ranking.ranking, ranking.k, per_file)
    before = at_most_per_file(ranking.baseline, ranking.k, per_file)
    lines = _headline(ranking, results, required_level)
    if explain:
        lines += [(), line(Styled("without the defense", "strong"))]
        lines += [_short(item) for item in before]
        lines += [(), line(Styled("with it", "strong"))]
    for item in results:
        lines += [(), *_result(item, full=full, explain=explain, defended=ranking.mode != "none")]
    gone = _pushed_out(ranking, before, results)
    others = [item for item in ranking.dropped if item not in gone]
    for title, items in {f"pushed out of the first {ranking.k}": gone, "dropped as well": others}.items():
        lines += [(), line(Styled(title, "strong"))] if explain and items else []
        for item in items if explain else ():
            lines += [_short(item, after=True), *_reasons(item)]
    if ranking.mode != "none":
        lines += [(), *_closing(ranking, gone, explain=explain)]
    return lines


def why(item: Ranked) -> str:
    """Return the strongest evidence against a candidate in one line, or "" if there is none."""
    against = [part for part in item.evidence if part.convicts or part.demotes or part.penalty > 0]
    decisive = [part for part in against if part.signal != "provenance"] or against
    if not decisive:
        return ""
    return max(decisive, key=urgency).reason


def _headline(ranking: Ranking, results: Sequence[Ranked], required_level: str) -> list[Line]:
    asked = Styled(f"{ranking.query!r}", "strong")
    count = f"{counted(len(results), 'result') if results else 'no results'} for "
    if ranking.mode == "none":
        return [line(count, asked, ", by similarity alone: no defense")]
    below = below_level(ranking.sandbox_level, required_level)
    return [line(count, asked, f" ({below})" if below else "")]


def _result(item: Ranked, *, full: bool, explain: bool, defended: bool) -> list[Line]:
    chunk = item.chunk
    name = chunk.symbol or f"({chunk.kind.value})"
    head: list[Styled | str] = [f"{item.rank:>2} ", Styled(name, "strong"), "  "]
    head += [place_text(chunk.path, chunk.start_line, chunk.end_line)]
    lines = [line(*head)]
    if defended:
        words: list[Styled | str] = [INDENT, Styled(*ORIGIN[item.trust])]
        verdict = MEANING.get(item.verdict)
        if decided := _decided(item):
            words += ["; ", Styled(f"{decided}: {why(item)}", "bad")]
        elif item.not_yet:
            words += ["; ", Styled("not checked yet", "warning")]
        elif verdict:
            words += ["; ", Styled(*verdict)]
        if item.disputed:
            words += ["; ", Styled(item.disputed, "warning")]
        if item.on_disk in NOT_AS_INDEXED:
            words += ["; ", Styled(NOT_AS_INDEXED[item.on_disk], "bad")]
        against = why(item)
        if not decided and against and any(p.penalty > 0.5 for p in item.evidence):
            words += ["; ", Styled(against, "warning")]
        if item.rank != item.baseline_rank:
            words.append(Styled(f"  (place {item.baseline_rank} by similarity)", "faint"))
        lines.append(line(*words))
    if item.copies:
        lines.append(copies_line(item))
    if explain:
        lines.append(_figures(item))
        lines += _reasons(item)
    return lines + _code(item, full=full)


def copies_line(item: Ranked) -> Line:
    """Return where else the same code is, and what is held against it there."""
    worst_first = sorted(item.copies, key=lambda copy: copy.standing.place)
    files = len({copy.chunk.path for copy in item.copies})
    parts: list[Styled | str] = [f"{INDENT}the same code in {files} other file{'s' if files > 1 else ''}: "]
    for number, copy in enumerate(worst_first[:COPIES]):
        parts += [", " if number else "", place_text(copy.chunk.path, copy.chunk.start_line)]
        if decided := _decided(copy):
            parts.append(Styled(f" ({decided} there: {why(copy)})", "bad"))
        elif copy.penalty > item.penalty and item.trust is not Trust.TRUSTED:
            parts.append(Styled(f" (penalties {copy.penalty:+.2f} there)", "warning"))
    if len(worst_first) > COPIES:
        parts.append(f" and {len(worst_first) - COPIES} more")
    return line(*parts)


def _code(item: Ranked, *, full: bool) -> list[Line]:
    text = item.chunk.text.strip("\n")
    shown = text.split("\n")
    cut = shown if full else shown[:FIRST_LINES]
    while cut and not cut[-1].strip():
        cut = cut[:-1]
    if not full:
        cut = [text if len(text) <= MOST_COLUMNS else f"{text[:MOST_COLUMNS]}…" for text in cut]
    lines = code("\n".join(cut), margin=f"{INDENT}│ ")
    left = len(shown) - len(cut)
    if left:
        more = f"{INDENT}│ … {left} more line{'s' if left > 1 else ''}"
        lines.append(line(Styled(more, "faint")))
    if item.chunk.masked:
        lines.append(line(Styled(f"{INDENT}secrets in it are masked: text and sha256 differ", "warning")))
    return lines


def _figures(item: Ranked) -> Line:
    beside = f", beside your own code {item.beside_own:+.2f}" if item.beside_own else ""
    figures = (
        f"distance {item.distance:.3f}, penalties {item.penalty:+.2f}{beside}, sorted by {item.score:+.2f}"
    )
    return line(Styled(f"{INDENT}{figures}", "faint"))


def _short(item: Ranked, *, after: bool = False) -> Line:
    chunk = item.chunk
    number = item.baseline_rank if after else item.rank
    parts: list[Styled | str] = [f"{number:>2} ", Styled(chunk.symbol or f"({chunk.kind.value})"), "  "]
    parts += [place_text(chunk.path, chunk.start_line)]
    if after:
        moved = f"now place {item.rank}" if item.rank else "dropped"
        decided = _decided(item)
        parts.append(Styled(f"  {decided and f'{decided}, '}{moved}", "bad" if decided else "warning"))
    else:
        parts.append(Styled(f"  distance {item.distance:.3f}", "faint"))
    return line(*parts)


def _reasons(item: Ranked) -> list[Line]:
    return [
        line(
            f"{INDENT}  {part.penalty:+.2f} {part.signal}: {'demotes: ' if part.demotes else ''}",
            Styled(part.reason, "bad" if part.convicts or part.demotes else ""),
        )
        for part in by_urgency(item.evidence)
    ]


def _pushed_out(ranking: Ranking, before: Sequence[Ranked], after: Sequence[Ranked]) -> list[Ranked]:
    """Return what is in the first k only without the defense, with its current place, the most urgent first."""
    kept = represented(after)
    now = {item.id: item for item in (*ranking.ranking, *ranking.dropped)}
    gone = [now[item.id] for item in before if item.id not in kept and item.id in now]
    return sorted(gone, key=lambda item: item.standing.place)


def _decided(item: Ranked) -> str:
    return item.standing.upper() if item.convicted or item.demoted else ""


def _closing(ranking: Ranking, gone: Sequence[Ranked], *, explain: bool) -> list[Line]:
    everything = (*ranking.ranking, *ranking.dropped)
    if not gone and not any(map(_decided, everything)):
        return [line(Styled("nothing was pushed down", "faint"))]
    words = "dropped" if ranking.mode == "drop" else "pushed out"
    of_all = f"of all {len(ranking.baseline)} candidates {kinds(item.standing for item in everything)}"
    if not gone:
        return [line(f"nothing {words} of the first {ranking.k}; {of_all}")]
    pushed = f"{words}: {len(gone)} of the first {ranking.k} by similarity"
    lines = [line(Styled(pushed, "strong"), f", {kinds(item.standing for item in gone)} ({of_all})")]
    if explain:
        return lines
    for item in gone[:NAMED]:
        reason = why(item) or "others answer better"
        lines.append(
            line(
                INDENT, place_text(item.chunk.path, item.chunk.start_line), f" {item.chunk.symbol}: ", reason
            )
        )
    if len(gone) > NAMED:
        lines.append(line(Styled(f"{INDENT}… and {len(gone) - NAMED} more", "faint")))
    hint = "--explain shows every reason, --full all of the code"
    return [*lines, line(Styled(hint, "faint"))]
