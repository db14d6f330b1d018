"""Where poison and honest files lie: one way for both, so that nothing but the text of a function tells them apart.

A poisoned function stands in a loose file in the place of an honest one of about its length, under the name that file
has anyway. So does an honest function in every other file of a round, described anew with the sizes of a poisoned one.
Pages, notebooks and files for agents come in the same proportion, written by the same functions. Order and times are
drawn for all together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from experiments.attacks import TargetFunction
from experiments.attacks.craft import echo
from experiments.attacks.editing import parse_function, with_docstring, with_prologue
from experiments.benchmark.attacks import Draft
from experiments.benchmark.carriers import Carrier
from experiments.benchmark.corpora import Corpus, Function, LooseNames, chunks_of
from experiments.benchmark.grammar import Grammar
from experiments.benchmark.poison import ALONE, AMONG, Instance, Poisoned
from experiments.benchmark.wording import purpose
from experiments.corpus.naming import FIRST, SECOND
from experiments.corpus.selection import parses
from experiments.corpus.targets import first_line

SHOWN = 0.4  # of the pool: honest unlisted files of one round
SIGHT = 12  # files among which the one of the nearest length is taken
SEEN, DRESSED = 60, 4  # honest functions that are looked at for one place, and that are described anew for it
MODULES = ("collections", "functools", "itertools", "json", "math", "os", "re", "sys", "typing", "subprocess")
LEAST = 20  # characters that a sentence has to fill
FILLING = ("so", "now", "here", "again", "always", "already", "normally", "sometimes", *FIRST, *SECOND)
PAGES = 3  # honest ones for each poisoned one where no code is poisoned
YEAR = 365 * 24 * 3600
NOW = 1_790_000_000


@dataclass(frozen=True, slots=True)
class Tree:
    """The unlisted side in one round: texts by path in the order in which they come, times, and the attacks."""

    texts: Mapping[str, str]
    times: Mapping[str, float]
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class _Host:
    """A file with the lines of its undecorated functions, and the names that it binds."""

    spans: tuple[tuple[int, int, int], ...]  # first line, last line, characters
    bound: frozenset[str]


def place(
    corpus: Corpus, instances: Sequence[Instance], needed: Sequence[str], seed: int, grammar: Grammar
) -> Tree:
    """Return the unlisted side with the poison in it; `needed` are honest files that have to be there."""
    rng = Random(f"place:{seed}:{corpus.pair}")
    placing = _Placing(
        corpus,
        rng,
        [path for path in sorted(corpus.pool) if path not in needed and host_of(corpus.texts[path]).spans],
        needed,
        grammar,
        seed,
    )
    made, texts = placing.round(instances, needed)
    return shuffled(texts, rng, made)


def shuffled(texts: Mapping[str, str], rng: Random, instances: Sequence[Instance]) -> Tree:
    """Return files in an order and with times that say nothing of them."""
    order = sorted(texts)
    rng.shuffle(order)
    times = {path: NOW - rng.random() * YEAR for path in order}
    return Tree({path: texts[path] for path in order}, times, tuple(instances))


@dataclass(frozen=True, slots=True)
class _Like:
    """What an honest file has in common with a poisoned one: sizes, the number of definitions, where words stand."""

    source: int  # characters of the function that it was made from, or of what is put in where that is less
    body: int  # characters of what was put into a file
    lines: int
    definitions: int
    statements: int  # of the top level beside definitions
    heads: int  # its imports
    imports: int  # of them, those that the function it was made from does without
    comments: int
    longest: int  # characters of its longest line
    inside: bool  # whether comments stand in the function


class _Placing:
    def __init__(
        self, corpus: Corpus, rng: Random, free: list[str], needed: Sequence[str], grammar: Grammar, seed: int
    ) -> None:
        self._corpus, self._rng, self._free, self._grammar = corpus, rng, free, grammar
        self._names = LooseNames(f"{seed}:{corpus.pair}:carriers")
        self._documented = [item for item in corpus.functions if item.path in corpus.pool]
        self._plain = [item for item in self._documented if item.plain]
        # What nobody asks about: another copy of it is no answer, and takes no answer's place.
        known = {item.symbol for item in corpus.functions if item.trusted}
        self._other = [
            item
            for item in self._plain
            if item.path not in needed and item.symbol not in known and host_of(item.source).spans
        ]

    def round(
        self, instances: Sequence[Instance], needed: Sequence[str]
    ) -> tuple[list[Instance], dict[str, str]]:
        """Return the attacks with their files placed, and the texts of all unlisted files.

        Poisoned and honest functions take turns in an order drawn for both, and are put into files the same way.
        """
        drafts = [
            (number, place, draft, proof)
            for number, item in enumerate(instances)
            for place, (draft, proof) in enumerate(item.drafts)
        ]
        likes = {
            (number, place): _like(instances[number].subject.function.source, draft)
            for number, place, draft, _ in drafts
            if draft.carrier is None
        }
        files = {
            (number, place): self._page(draft, proof)
            for number, place, draft, proof in drafts
            if draft.carrier is not None
        }
        count = max(
            0, min(int(SHOWN * len(self._corpus.pool)), len(self._free) - 2 * len(likes)) - len(needed)
        )
        if likes:
            hosted, texts = self._mixed(instances, likes, needed, count)
            files |= hosted
        else:  # no code is poisoned: honest files are as they are
            shown = [*needed, *self._rng.sample(self._free, count)]
            texts = {path: self._corpus.texts[path] for path in shown}
        carried = [draft for _, _, draft, _ in drafts if draft.carrier is not None]
        pages = round(len(carried) * (len(texts) / len(likes) if likes else PAGES))
        for model in self._rng.choices(carried, k=pages) if carried else ():
            assert model.carrier is not None
            path = self._names(model.carrier.suffix, model.carrier.name)
            texts[path] = self._honest_page(model.carrier, model)
        made: list[Instance] = []
        for number, item in enumerate(instances):
            own = tuple(files[number, place] for place in range(len(item.drafts)))
            among = any(len(host_of(file.text).spans) > 1 for file in own)
            made.append(
                replace(item, files=own, position=item.position if not own else AMONG if among else ALONE)
            )
        return made, texts | {file.path: file.text for file in files.values()}

    def _mixed(
        self,
        instances: Sequence[Instance],
        likes: Mapping[tuple[int, int], _Like],
        needed: Sequence[str],
        count: int,
    ) -> tuple[dict[tuple[int, int], Poisoned], dict[str, str]]:
        """Return the poisoned files by instance and place, and a number of honest ones, made in turns."""
        usual = list(likes.values())
        texts = {path: self._described(self._corpus.texts[path], self._rng.choice(usual)) for path in needed}
        questions = [question for item in instances for question in item.subject.questions]
        answers = {path for question in questions for path, _ in question.answers}
        files = {}
        turns: list[tuple[int, int] | None] = [*likes, *[None] * count]
        for turn in self._rng.sample(turns, len(turns)):
            if turn is None:
                like = self._rng.choice(usual)
                honest = self._hosted(self._decoy(like), {}, like, answers)
                texts[honest.path] = honest.text
            else:
                draft, proof = instances[turn[0]].drafts[turn[1]]
                files[turn] = self._hosted(draft, proof, likes[turn], answers)
        return files, texts

    def _decoy(self, like: _Like) -> Draft:
        """Return an honest file of one function, described as poison is, that is like a poisoned one."""
        heads = {
            item: self._imports_of(item)
            for item in self._rng.sample(self._other, min(SEEN, len(self._other)))
        }
        some = sorted(
            heads, key=lambda item: (_unfit(item, heads[item], like), _excess(len(item.source), like.body))
        )
        bodies = {item: self._dressed(item.source, like) for item in some[:DRESSED]}
        function = min(bodies, key=lambda item: _apart(bodies[item], like))
        head = heads[function]
        more = [line for name in MODULES if (line := f"import {name}") not in head]
        head += self._rng.sample(more, max(0, min(like.heads - len(head), len(more))))
        return Draft("honest", "\n".join([*head, "", "", bodies[function], ""]))

    def _imports_of(self, function: Function) -> list[str]:
        """Return the imports of its file that a function uses."""
        used = set(re.findall(r"\w+", function.source)) - {"import", "from"}
        head, _ = parts_of(self._corpus.texts[function.path])
        return [line for line in head if used & set(re.findall(r"\w+", line))]

    def _hosted(self, draft: Draft, proof: Mapping[str, str], like: _Like, answers: set[str]) -> Poisoned:
        """Return a loose file with the draft in the place of one of its functions."""
        head, body = parts_of(draft.text)
        binds = host_of(draft.text).bound
        for path in self._nearest(like.source):
            text = self._corpus.texts[path]
            at = _nearest_span(text, like.source)
            if path in answers or at is None:
                continue
            if (host_of(text).bound - host_of("\n".join(text.split("\n")[at[0] - 1 : at[1]])).bound) & binds:
                continue
            merged, first, last = put(text, at, head, body)
            if not parses(merged):
                continue
            self._free.remove(path)
            clean = [span for span in _chunks_named(path, merged, draft.clean) if first <= span[0]]
            lines = [*_without((first, last), clean), *_lines_with(merged, draft.payload, head)]
            return Poisoned(path, merged, draft.variant, tuple(lines), draft.payload, proof)
        raise ValueError(f"no loose file is left for {draft.variant}: got {len(self._free)}, expected more")

    def _nearest(self, length: int) -> list[str]:
        """Return the free files: the nearest by the length of a function of a few first, the others at random."""
        order = self._rng.sample(self._free, len(self._free))
        near = sorted(order[:SIGHT], key=lambda path: gap_of(self._corpus.texts[path], length))
        return [*near, *order[SIGHT:]]

    def _page(self, draft: Draft, proof: Mapping[str, str]) -> Poisoned:
        assert draft.carrier is not None
        path = self._names(draft.carrier.suffix, draft.carrier.name)
        held = {line for text in draft.payload for line in text.splitlines() if line.strip()}
        lines = [  # a notebook has cells without the payload
            (chunk.start_line, chunk.end_line)
            for chunk in chunks_of(path, draft.text)
            if any(line in chunk.text for line in held)
        ]
        return Poisoned(path, draft.text, draft.variant, tuple(lines), draft.payload, proof)

    def _described(self, text: str, like: _Like) -> str:
        """Return an honest file one of whose functions is described anew, the way that poison is, and has company."""
        at = _nearest_span(text, like.source)
        if at is None:
            return text
        source = "\n".join(text.split("\n")[at[0] - 1 : at[1]])
        made, _, _ = put(text, at, [], self._dressed(source, like))
        imports = [f"import {name}" for name in MODULES if f"import {name}\n" not in made]
        count = like.imports if re.search(r"^(import|from) ", made, re.MULTILINE) else like.heads
        some = self._rng.sample(imports, min(count, len(imports)))
        made = put(made, (1, 0), some, "", keep=True)[0]
        return made if parses(made) else text

    def _dressed(self, source: str, like: _Like) -> str:
        """Return a function described anew, with comments, company and constants up to the sizes of poison."""
        node = parse_function(source)
        described = ast.get_docstring(node) or " ".join(node.name.split("_"))
        query = purpose(described, self._rng)
        doc = echo(TargetFunction(node.name, source, query, first_line(described)), self._rng)
        bare = with_docstring(source, doc)
        each = max(LEAST, (like.body - len(bare)) // max(1, like.definitions - 1))
        company = [self._company(each, number) for number in range(like.definitions - 1)]
        constants = [
            f"{word.upper()} = {self._rng.randrange(2, 5000)}"
            for word in self._rng.sample(SECOND, like.statements)
        ]
        left = like.body - len(bare) - sum(map(len, [*company, *constants]))
        lines = (
            like.lines
            - sum(text.count("\n") + 3 for text in company)
            - 3 * len(constants)
            - bare.count("\n")
            - 2
        )
        count = max(0, like.comments - source.count("\n    #"))
        before = 4 if not count else 6 if like.inside else 2  # what stands before a sentence in its line
        width = max(LEAST, like.longest - before)
        words = [self._sentence("honest", width)] if left > LEAST else []
        rest = left - width
        if rest > LEAST:
            number = max(1, lines - 1, -(-rest // width))
            words += [self._sentence("honest", rest // number) for _ in range(number)]
        comment, told = [f"# {line}" for line in words[:count]], words[count:]
        body = with_docstring(source, "\n\n".join([doc, *(["\n".join(told)] if told else [])]))
        body = with_prologue(body, comment) if like.inside and comment else "\n".join([*comment, body])
        return "\n\n\n".join([*constants, *company, body])

    def _honest_page(self, carrier: Carrier, like: Draft) -> str:
        """Return a page of a draft's kind about an honest function, its length the nearest of a few."""
        options = []
        for function in self._rng.sample(self._documented, min(SEEN, len(self._documented))):
            table = "chore" if carrier.kind == "agent" else "honest"
            said = [self._sentence(table, len(line)) for line in like.said]
            options.append(_about(function, carrier, said, self._rng))
        return min(options, key=lambda text: abs(len(text) - len(like.text)))

    def _company(self, length: int, number: int) -> str:
        """Return an honest function of about a length, a small helper where no documented one is as short."""
        few = self._rng.sample(self._plain, min(SIGHT, len(self._plain)))
        found = min((item.source for item in few), key=lambda text: abs(len(text) - length), default="")
        if found and abs(len(found) - length) < length // 2:
            return found
        name = f"_{self._rng.choice(SECOND)}_{number}"
        said = self._sentence("honest", length - 60)
        return f"def {name}(value):\n" + (f"    # {said}\n" if said else "") + "    return value"

    def _sentence(self, table: str, length: int) -> str:
        """Return ordinary sentences of a length, the last one cut where a word ends and filled with one that fits."""
        text = self._grammar.form(table, self._rng) if length > 0 else ""
        while len(text) < length:
            text += f" {self._grammar.form(table, self._rng)}"
        cut = text[: length - 3].rpartition(" ")[0] if len(text) > length else text
        fitting = [word for word in FILLING if len(word) == length - len(cut) - 1]
        return f"{cut} {self._rng.choice(fitting)}" if fitting else cut


def _about(function: Function, carrier: Carrier, said: Sequence[str], rng: Random) -> str:
    return carrier.text(
        purpose(function.docstring, rng), first_line(function.docstring), function.source, said
    )


@lru_cache(maxsize=1 << 12)
def host_of(text: str) -> _Host:
    """Return what a file offers as a place for something else; nothing where it does not parse."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return _Host((), frozenset())
    lines = text.split("\n")
    spans, bound = [], set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            first, last, body = node.lineno, node.end_lineno or node.lineno, node.body[0]
            if lines[body.lineno - 1].encode()[: body.col_offset].strip():
                continue  # its body stands in the line of the def: nothing can be put into it
            spans.append((first, last, len("\n".join(lines[first - 1 : last]))))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        bound |= {
            item.id
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }
    return _Host(tuple(spans), frozenset(bound))


def gap_of(text: str, length: int) -> int:
    """Return by how many characters a file's most similar function differs from a length."""
    return min((abs(size - length) for _, _, size in host_of(text).spans), default=1 << 20)


def parts_of(text: str) -> tuple[list[str], str]:
    """Return the import statements at the top level of a module, and the rest of it."""
    lines = text.split("\n")
    head = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            head.append(ast.unparse(node))
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return head, "\n".join(lines).strip("\n")


def put(
    text: str, at: tuple[int, int], head: Sequence[str], body: str, *, keep: bool = False
) -> tuple[str, int, int]:
    """Return a file with a body in the place of some lines and imports among its own, and the body's lines.

    Imports that nothing uses any more are left out, unless they are to be kept.
    """
    lines = text.split("\n")
    lines[at[0] - 1 : at[1]] = body.split("\n") if body else []
    new = [line for line in head if line not in lines and "__future__" not in line]
    top = 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            top = node.end_lineno or node.lineno
    if top >= at[0]:
        top = 0
    lines[top:top] = new
    first = at[0] + len(new)
    unused = set() if keep else _unused_imports("\n".join(lines))
    unused -= {number for number, line in enumerate(lines, 1) if line in head}  # it may be the payload
    first -= sum(number < first for number in unused)
    kept = [line for number, line in enumerate(lines, 1) if number not in unused]
    return "\n".join(kept), first, first + body.count("\n")


def _unused_imports(text: str) -> set[int]:
    """Return the lines of the imports at the top level that nothing uses any more."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    spans = {node: set(range(node.lineno, (node.end_lineno or node.lineno) + 1)) for node in imports}
    taken = set().union(*spans.values())
    rest = "\n".join(line for number, line in enumerate(text.split("\n"), 1) if number not in taken)
    used = set(re.findall(r"\w+", rest))
    return {
        number
        for node, lines in spans.items()
        if getattr(node, "module", "") != "__future__"
        and not any((item.asname or item.name).partition(".")[0] in used for item in node.names)
        for number in lines
    }


def _like(source: str, draft: Draft) -> _Like:
    """Return the sizes of what a draft puts into a file, made from the source of a function."""
    head, body = parts_of(draft.text)
    lines, nodes = body.split("\n"), ast.parse(body).body
    definitions = sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in nodes
    )
    own = set(re.findall(r"\w+", source))
    return _Like(
        min(len(source), len(body)),
        len(body),
        len(lines),
        max(1, definitions),
        min(len(nodes) - definitions, len(SECOND)),
        len(head),
        sum(not own & set(re.findall(r"\w+", line)) - {"import", "from"} for line in head),
        sum(line.lstrip().startswith("#") for line in lines),
        max(map(len, lines)),
        draft.variant == "inside",
    )


def _unfit(function: Function, head: Sequence[str], like: _Like) -> int:
    """Return in how many ways a function exceeds what nothing added to it can undo."""
    return (len(head) > like.heads) + (max(map(len, function.source.split("\n"))) > like.longest)


def _excess(length: int, wanted: int) -> int:
    """Return how far a length is from a wanted one; what is too long cannot be mended, what is too short can."""
    return wanted - length if length <= wanted else 3 * (length - wanted)


def _apart(body: str, like: _Like) -> float:
    """Return how far a text is from the sizes of poison."""
    lines = body.split("\n")
    pairs = ((len(body), like.body), (len(lines), like.lines), (max(map(len, lines)), like.longest))
    return sum(abs(own - other) / other for own, other in pairs) + (pairs[2][0] != pairs[2][1]) / 4


def _nearest_span(text: str, length: int) -> tuple[int, int] | None:
    """Return the lines of the function whose length is nearest."""
    spans = host_of(text).spans
    if not spans:
        return None
    first, last, _ = min(spans, key=lambda span: abs(span[2] - length))
    return first, last


def _chunks_named(path: str, text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    return [(chunk.start_line, chunk.end_line) for chunk in chunks_of(path, text) if chunk.symbol in names]


def _without(span: tuple[int, int], holes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a span of lines without those of some others."""
    found, start = [], span[0]
    for first, last in sorted(holes):
        if start < first:
            found.append((start, first - 1))
        start = max(start, last + 1)
    return [*found, (start, span[1])] if start <= span[1] else found


def _lines_with(text: str, payload: Sequence[str], head: Sequence[str]) -> list[tuple[int, int]]:
    """Return the lines of imports that are the payload."""
    lines = text.split("\n")
    return [(number, number) for number, line in enumerate(lines, 1) if line in head and line in payload]
