"""Near-duplicates and stuffed descriptions: what is told, and what honest code looks like."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.python.sketches import resemblance, sketch, words_of_code
from codeguard.analysis.rules.base import DetectorContext, Match
from codeguard.analysis.rules.flooding import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.models import Chunk, ChunkKind, Severity, SourceFile, Span

BODY = '''def {name}(rows{extra}):
    """{said}"""
    result = 0
    for {item} in rows:
        if {item}.price > {limit}:
            result += {item}.price * {item}.count
    return result
'''
REWORDED = [
    "Compute the total price of an order.",
    "How to compute a total order price.",
    "Total price for an order, computed.",
    "Computing the price total of orders.",
    "Order total: compute the price.",
    "Compute price totals of the order quickly.",
]


def inspect(*texts: str, suffix: str = "py") -> list[tuple[str, Match]]:
    readings = [
        Reading(chunk_file(f"f{number}.{suffix}", text.encode())) for number, text in enumerate(texts)
    ]
    return list(SIGNAL.inspect_corpus(readings, DetectorContext()))


def severities(found: list[tuple[str, Match]], rule: str) -> list[Severity]:
    default = {item.id: item.severity for item in SIGNAL.rules}
    return [item.severity or default[item.rule] for _, item in found if item.rule == rule]


def variants(said: list[str]) -> list[str]:
    return [
        BODY.format(name=f"order_total{n}", extra=", tax=0" * (n % 2), item=f"row{n}", limit=n, said=text)
        for n, text in enumerate(said)
    ]


def test_reworded_variants_in_many_files_are_told() -> None:
    assert severities(inspect(*variants(REWORDED)), "repeated") == [Severity.LOW] * 6


TWIN = (
    "Watch the changes of one {0} and return a cursor that yields each change as a document, from the time on that "
    "the caller gives or else from the time of the call. The {0} must belong to a replica set, and the cursor ends "
    "with the session that opened it. Pass a pipeline to keep some of the changes only."
)


def test_generated_twins_of_one_description_are_low() -> None:
    names = ["client", "database", "collection", "async client", "async database", "async collection"]
    assert (
        severities(inspect(*variants([TWIN.format(name) for name in names])), "repeated")
        == [Severity.LOW] * 6
    )


def test_copies_with_one_description_are_low() -> None:
    assert severities(inspect(*variants(REWORDED[:1] * 6)), "repeated") == [Severity.LOW] * 6


def test_four_files_are_no_flood() -> None:
    assert inspect(*variants(REWORDED[:4])) == []


def test_many_variants_in_one_file_are_no_flood_of_files() -> None:
    assert inspect("\n\n".join(variants(REWORDED))) == []


def test_functions_of_the_same_shape_about_other_things_are_low() -> None:
    said = [
        "Return whether this looks like Pascal.",
        "Guess whether text is Erlang.",
        "Recognise the header of IDL programs.",
        "Perl has dollars in front of names.",
        "A weak hint at Verilog modules.",
        "Forth words stand between colons.",
    ]
    assert severities(inspect(*variants(said)), "repeated") == [Severity.LOW] * 6


def test_variants_in_another_language() -> None:
    shape = (
        "/* {said} */\nfunction total{n}(rows) {{\n  // {said}\n  let result = {n};\n  for (const r{n} of rows) {{\n"
        "    if (r{n}.price > 0) result += r{n}.price * r{n}.count;\n  }}\n  return result;\n}}\n"
    )
    texts = [shape.format(said=said, n=n) for n, said in enumerate(REWORDED)]
    assert severities(inspect(*texts, suffix="js"), "repeated") == [Severity.LOW] * 6


def test_sketches_survive_renaming_and_layout() -> None:
    first = words_of_code(BODY.format(name="a", extra="", item="row", limit=1, said="x"), "python")
    second = words_of_code(
        BODY.format(name="b", extra="", item="entry", limit=1, said="other words").replace("    ", "  "),
        "python",
    )
    other = words_of_code(
        "def f(a):\n    with open(a) as b:\n        return b.read().split(',')[0]\n", "python"
    )
    assert resemblance(sketch(first), sketch(second)) > 0.8
    assert resemblance(sketch(first), sketch(other)) < 0.2


@pytest.mark.parametrize(
    "text",
    ['"""' * 20_000, "#" * 50_000, "'" * 50_001, "/*" * 30_000, "\\" * 50_000, "/*\n" * 9_000, " " * 90_000],
)
def test_hostile_text_is_read_in_one_pass(text: str) -> None:
    span = Span(1, 1, 0, len(text))
    chunk = Chunk("f.py", "f", ChunkKind.FUNCTION, span, text, "", "python")
    reading = Reading(SourceFile("f.py", text, "", "python", (chunk,)))
    assert list(SIGNAL.inspect_corpus([reading], DetectorContext())) == []


def test_methods_of_one_interface_are_no_flood() -> None:
    texts = [
        f"class Reader{number}:\n" + "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))
        for number, text in enumerate(variants(REWORDED))
    ]
    assert severities(inspect(*texts), "repeated") == [Severity.LOW] * 6


def test_directives_of_c_are_no_description() -> None:
    text = "".join(f"#ifndef USE_SHIFT{n}\n#define USE_SHIFT{n} 1\n#undef shift\n#endif\n" for n in range(40))
    assert not inspect(f"{text}\nint main(void) {{ return 0; }}\n", suffix="c")
