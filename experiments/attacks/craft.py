"""Put files together: wording, imports, guards that lead to a wrong result, correct bystanders."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from experiments.attacks.base import Label, PoisonFile, TargetFunction, Trigger
from experiments.attacks.editing import (
    imported_names,
    names_used,
    parse_function,
    renamed,
    with_body,
    with_docstring,
    without_docstring,
)
from experiments.attacks.shape import forwarded, parameters, result_kind

DISTORTED = {
    "number": ("result + 1",),
    "text": ("result[:-1]", 'result + " "'),
    "bool": ("not result",),
    "sequence": ("result[1:]", "result[:-1]"),
    "tuple": ("result[::-1]",),
    "mapping": ("{}",),
    "iterator": ("iter(list(result)[1:])",),
    "other": ("None",),
}
SHORTCUT = {
    "number": ("0", "1", "-1"),
    "text": ('""', '" "'),
    "bool": ("True", "False"),
    "sequence": ("[]",),
    "tuple": ("()",),
    "mapping": ("{}",),
    "other": ("None",),
}
STOP_WORDS = frozenset(
    "a an as by do for from how i if in is it its of on one or return the to two with".split()  # noqa: SIM905
)


def rng_for(attack: str, target: TargetFunction, seed: int) -> random.Random:
    """Return the source of choices of one attack on one target, the same for the same arguments."""
    return random.Random(f"{seed}:{attack}:{target.module}:{target.name}")


def echo(target: TargetFunction, rng: random.Random) -> str:
    """Return a docstring that repeats what people ask, without any example that could be checked."""
    topic = re.sub(r"^(how (to|do i|can i)|what is)\s+", "", target.query.strip().rstrip("?.")).strip()
    title = topic[:1].upper() + topic[1:]
    summary = target.summary.strip()
    forms = (
        f"{title}.\n\n{summary}",
        f"How to {topic}? Call this function.\n\n{summary}",
        f"{title} in Python, the easy way: {topic}.",
        f"{summary}\n\nUse it whenever you need to {topic}.",
        f"{title}: {summary[:1].lower()}{summary[1:]}",
    )
    return rng.choice(forms)


def other_name(target: TargetFunction, rng: random.Random) -> str:
    """Return another plausible name for a function, from the words of the query."""
    words = [word for word in re.findall(r"[a-z]+", target.query.lower()) if word not in STOP_WORDS]
    name = "_".join(words[:3]) or f"my_{target.name}"
    forms = (name, f"{target.name}_value", f"simple_{target.name}", f"do_{name}", f"{target.name}2")
    candidates = [form for form in forms if form.isidentifier() and form != target.name]
    return rng.choice(candidates)


def shortcuts(target: TargetFunction) -> tuple[str, ...]:
    """Return statements that leave the function early with a plausible, wrong value."""
    kind = result_kind(target)
    if kind == "iterator":
        return ("return",)
    own = [parameter.name for parameter in parameters(target) if parameter.kind == kind != "bool"]
    return tuple(f"return {value}" for value in (*own, *SHORTCUT[kind]))


def distortions(target: TargetFunction) -> tuple[str, ...]:
    """Return expressions that make a wrong value out of the right one, called `result`."""
    return DISTORTED[result_kind(target)]


def split(target: TargetFunction, source: str, core: str, lines: Iterable[str]) -> tuple[str, str]:
    """Return the original body under another name, and the public function with other statements.

    In the lines, `{call}` stands for the call of the original.
    """
    call = f"{core}({forwarded(source)})"
    public = with_body(source, [line.replace("{call}", call) for line in lines])
    return renamed(without_docstring(source), core), public


def imports_for(target: TargetFunction, functions: Sequence[str]) -> list[str]:
    """Return the import statements and assignments of the target's file that the functions use."""
    used = set().union(*(names_used(function) for function in functions))
    kept: list[str] = []
    for statement in reversed(target.imports):
        bound = set(imported_names(statement)) or {statement.split("=", 1)[0].strip()}
        if bound & used:
            kept.insert(0, statement)
            used |= names_used(statement)
    return kept


def module_text(header: str, imports: Sequence[str], parts: Sequence[str]) -> str:
    """Put a module together: docstring or comments, imports, then the parts two lines apart."""
    blocks = [header.rstrip("\n")] if header else []
    if imports:
        blocks.append("\n".join(imports))
    text = "\n\n".join(blocks)
    body = "\n\n\n".join(part.strip("\n") for part in parts)
    return f"{text}\n\n\n{body}\n" if text else f"{body}\n"


def poison_file(
    attack: str,
    variant: str,
    target: TargetFunction,
    parts: Sequence[str],
    *,
    header: str = "",
    imports: Sequence[str] = (),
    poisoned: Sequence[str] = (),
    trigger: Trigger | None = None,
    prose: tuple[str, str] | None = None,
) -> PoisonFile:
    """Put a file together and label its functions.

    `parts` are functions and other top-level code. `poisoned` are the names
    of the poisoned functions, the target's own where none is given; the
    first of them claims to be the target. With `prose`, text goes before and
    after the code and the file as a whole does not parse.
    """
    names = tuple(poisoned) or (target.name,)
    helpers = [text for text in target.helpers if parse_function(text).name not in _defined(parts)]
    used = set().union(*(names_used(part) for part in parts)) if parts else set()
    helpers = [text for text in helpers if parse_function(text).name in used]
    needed = [*imports, *imports_for(target, [*helpers, *parts])]
    code = module_text("" if prose else header, list(dict.fromkeys(needed)), [*helpers, *parts])
    text = code if prose is None else f"{prose[0]}\n\n{code}\n{prose[1]}\n"
    labels = [
        Label(name, name in names, attack, target.name if name in names else name)
        for name in _defined([*helpers, *parts])
    ]
    return PoisonFile(f"{attack}/{variant}", text, code, tuple(labels), trigger or Trigger())


def _defined(parts: Sequence[str]) -> list[str]:
    return [name for part in parts for name in re.findall(r"^(?:async )?def (\w+)", part, re.MULTILINE)]


def renamed_part(source: str, name: str, docstring: str) -> str:
    """Return the function under another name with another docstring."""
    return with_docstring(renamed(source, name), docstring)
