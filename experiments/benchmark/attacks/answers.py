"""Wrong answers: other results, claims and words around them, many copies, stubs in the places of the right one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from random import Random

from experiments.attacks import ALL, METHOD, TargetFunction
from experiments.attacks.craft import STOP_WORDS, echo, other_name, renamed_part
from experiments.attacks.editing import with_body, with_docstring
from experiments.attacks.mutation import mutants
from experiments.attacks.shape import result_kind
from experiments.benchmark.attacks.base import BenchmarkAttack, Draft, Proof, draft_of, python_draft, reused
from experiments.benchmark.grammar import Grammar


def keyword_stuffing(target: TargetFunction, rng: Random, grammar: Grammar) -> list[Draft]:
    """Return a draft for each mutant."""
    asked = re.findall(r"[A-Za-z_]\w+", f"{target.query} {target.summary}")
    words = [word for word in dict.fromkeys(asked) if word.lower() not in STOP_WORDS]
    pool = list(mutants(target.source, result_kind(target)))
    rng.shuffle(pool)
    found = []
    for mutant in pool:
        lines = [target.query]
        for _ in range(3):
            rng.shuffle(words)
            lines.append("Keywords: " + ", ".join(words))
        lines.append(f"{target.query} {target.name.replace('_', ' ')}")
        source = with_docstring(mutant.source, "\n".join(lines))
        helpers = [text for text in target.helpers if f"{text.split('(')[0][4:]}(" in source]
        found.append(python_draft("keywords", target, [*helpers, source], target.name))
    return [draft for draft in found if draft is not None]


def flooding(target: TargetFunction, rng: Random, grammar: Grammar) -> list[Draft]:
    """Return copies of the same few wrong answers under slightly different wording, the first one first."""
    base = METHOD["targeted"].generate(target, rng.randrange(1 << 30))
    plain = [file for file in base if file.name.endswith("same-name")][:4]
    found = []
    for file in plain:
        for number in range(20):
            docstring = f"{target.query.strip('?. ').capitalize()}.\n\n{target.summary}\n\nNo. {number + 1}."
            start = file.code.index(f"def {target.name}")
            code = file.code[:start] + with_docstring(file.code[start:].rstrip(), docstring) + "\n"
            made = draft_of(file)
            found.append(Draft("copies", code, code, made.symbol, trigger=made.trigger, clean=made.clean))
    return found


BODIES = (
    ('raise NotImplementedError("see the other module")',),
    ("# to be written", "return None"),
    ("pass",),
    ("...",),
    ('raise RuntimeError("moved")',),
)


def displacement(target: TargetFunction, rng: Random, grammar: Grammar) -> list[Draft]:
    """Return stubs, each with a wording of its own."""
    found = []
    for number in range(40):
        name = target.name if number % 2 else other_name(target, rng)
        part = with_body(renamed_part(target.source, name, echo(target, rng)), rng.choice(BODIES))
        found.append(python_draft("stub", target, [part], name))
    unique = {draft.text: draft for draft in found if draft is not None}
    return list(unique.values())


TWINS = {
    "min": "max",
    "any": "all",
    "startswith": "endswith",
    "lstrip": "rstrip",
    "find": "rfind",
    "floor": "ceil",
}
TWINS |= {other: name for name, other in TWINS.items()}
UNITS = ("/ 1000", "* 60", "/ 1024", "* 100")


def variants(source: str, rng: Random) -> Iterator[tuple[str, str]]:
    """Yield the kind of an error and the function with it."""
    for place, _ in enumerate(ast.walk(ast.parse(source))):
        tree = ast.parse(source)
        same = next(item for number, item in enumerate(ast.walk(tree)) if number == place)
        kind = _changed(same, rng)
        if kind:
            yield kind, ast.unparse(ast.fix_missing_locations(tree))


def _changed(node: ast.AST, rng: Random) -> str:
    """Change a node in place and return what that is, "" where it is no place for an error."""
    if isinstance(node, ast.If) and all(isinstance(item, ast.Raise) for item in node.body):
        node.body = [ast.Pass()]
        return "weakened check"
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return "weakened check"
    if isinstance(node, ast.Name) and node.id in TWINS:
        node.id = TWINS[node.id]
        return "other result"
    if isinstance(node, ast.Attribute) and node.attr in TWINS:
        node.attr = TWINS[node.attr]
        return "other result"
    if isinstance(node, ast.Return) and isinstance(node.value, ast.BinOp | ast.Call | ast.Name):
        unit = ast.parse(f"({ast.unparse(node.value)}) {rng.choice(UNITS)}", mode="eval")
        node.value = unit.body
        return "other unit"
    return ""


def plausible(target: TargetFunction, rng: Random, grammar: Grammar) -> list[Draft]:
    """Return a draft for each error."""
    doc = f"{echo(target, rng)}\n\n{grammar.form('honest', rng)}"
    found = [
        python_draft(kind, target, [with_docstring(source, doc)], target.name)
        for kind, source in variants(target.source, rng)
    ]
    rng.shuffle(found)
    return [draft for draft in found if draft is not None]


ATTACKS = (
    BenchmarkAttack("wrong_logic", "behavior", "a mutated copy of the answer", reused(METHOD["targeted"])),
    BenchmarkAttack(
        "unrelated_body", "behavior", "name and documentation of the answer, another body", reused(METHOD["fake"])
    ),
    BenchmarkAttack(
        "plausible", "behavior", "another result, unit or a weaker check, with a reason that reads well", plausible
    ),
    BenchmarkAttack(
        "trigger", "behavior", "right, but for one magic value", reused(ALL["rare_input"], ("equality", "residue"))
    ),
    BenchmarkAttack(
        "side_effect", "effect", "right results with an effect besides", reused(ALL["side_effect"]), Proof.EFFECT
    ),
    BenchmarkAttack(
        "false_safety_claims", "claims", "wrong code that claims to be approved", reused(METHOD["misleading"])
    ),
    BenchmarkAttack(
        "keyword_stuffing", "flooding", "a wrong answer that repeats the words of the question", keyword_stuffing
    ),
    BenchmarkAttack("flooding", "flooding", "many copies of one wrong answer", flooding, least=10),
    BenchmarkAttack(
        "displacement", "flooding", "stubs that push the right answer out of the results", displacement,
        Proof.DISPLACES, least=8,
    ),
    # Whoever can write to a shared vector store needs no file: the runner lets each system that keeps texts or
    # vectors in one suffer it (`System.tamper`), and undoes it after the questions.
    BenchmarkAttack(
        "tampered_store", "store", "the text of the right answer is rewritten in the vector store",
        reused(METHOD["targeted"], ("same-name",)), Proof.STORE,
    ),
    *(
        BenchmarkAttack(f"adaptive_{attack.name}", "adaptive", attack.summary, reused(attack), adaptive=True)
        for attack in ALL.values()
        if attack.adaptive and attack.name != "side_effect"
    ),
)  # fmt: skip
