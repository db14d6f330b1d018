from collections.abc import Sequence

import numpy as np
import pytest

from codeguard.index.embedding import LexicalEmbedding
from codeguard.index.embedding.static import StaticEmbedding
from codeguard.text import Document
from codeguard.text.consensus import Consensus
from codeguard.text.extractive import ExtractiveReader
from codeguard.text.slots import Slot, find_slot_rivalry
from codeguard.text.votes import Rivalry

EMBEDDING = StaticEmbedding()
HEIGHT = "Which lighthouse is taller, Pell Rock or Gannet Head?"
BRIDGE = "How many arches does the bridge of Orle have?"
BRIDGES = (
    "Walk down to the river. The bridge of Orle has seventeen arches, and swallows nest in 3 of them.",
    "In 1869 the line was opened. It crosses the valley on a bridge with 17 arches, built of brick.",
    "The bridge of Orle is 28 metres high. Each of the seventeen arches spans 12 metres.",
    "We counted: seventeen arches of the bridge, 5 of them in the water. The inn has 12 beds.",
    "For the bridge of Orle, with its seventeen arches, 4,000 tonnes of stone were cut.",
    "The bakery at Orle opens at 6 and sells 300 loaves a day, below the arches of the bridge.",
)


def rivalry(texts: Sequence[str], query: str) -> Rivalry | None:
    count = len(texts)
    return find_slot_rivalry(texts, texts, query, np.ones(count), list(range(count)), EMBEDDING.embed)


@pytest.mark.parametrize(
    ("query", "sentence", "values"),
    [
        (BRIDGE, "It has twenty-two arches and 1,300 bricks since 1869, one of them loose.", ["22", "1300"]),
        ("When was it opened?", "Of 400 guests, 17 came in 1912 and one in 1926.", ["1912", "1926"]),
        ("Who designed the Varga clock?", "People say that Ilona Petri's plan, of May, won.", ["petri"]),
        ("Who designed the Varga clock?", "Nobody knows more of it than Varga.", []),
        # A word that begins a sentence is a name if it is capitalised elsewhere.
        ("Who designed the Varga clock?", "Petri designed it.", ["petri"]),
        ("Who designed the Varga clock?", "Somebody designed it.", []),
        ("Where is the archive?", "The jars stand near Brenning, in a Mine.", ["brenning"]),
        (HEIGHT, "Gannet Head, at 47 metres, is taller than Pell Rock.", ["Gannet Head"]),
        (HEIGHT, "Pell Rock is shorter than Gannet Head.", ["Gannet Head"]),
        (HEIGHT, "The tower is a fifth taller than Pell Rock.", ["Gannet Head"]),
        (HEIGHT, "The taller of the two is Pell Rock.", ["Pell Rock"]),
        (HEIGHT, "Pell Rock has an old lamp.", []),
        (HEIGHT, "Pell Rock is older than Gannet Head, and wider.", []),
        (HEIGHT, "Pell Rock is higher than Gannet Head.", ["Pell Rock"]),
        ("Which is cheaper to run and smaller, Alpha or Beta?", "Beta is larger than Alpha.", ["Alpha"]),
        ("Who is younger Keith Bostic or Jerry Glanville?", "Keith Bostic is the older one.", ["Jerry Glanville"]),
    ],
)  # fmt: skip
def test_a_sentence_offers_what_the_question_asks_for(query: str, sentence: str, values: list[str]) -> None:
    slot = Slot.of(query)
    assert slot is not None
    assert [item.value for item in slot.fillers(sentence, {"mine", "may"}, {"petri"})] == values


@pytest.mark.parametrize(
    "query",
    [
        "Why did it close?",
        "What caused the fire?",
        "Is it open on Mondays?",
        "How do bees tell each other where flowers are?",
        "Why did it close when the rent was doubled?",
        "Which crop grows best, on loam?",
        "",
    ],
)
def test_other_questions_have_no_slot(query: str) -> None:
    assert Slot.of(query) is None
    assert rivalry([*BRIDGES, *BRIDGES], query) is None


def test_honest_documents_with_many_other_numbers_fill_the_slot_alike() -> None:
    assert rivalry(BRIDGES, BRIDGE) is None


@pytest.mark.parametrize("replaced", [2, 3])
def test_one_word_replaced_in_long_documents_is_a_second_camp(replaced: int) -> None:
    texts = [text.replace("seventeen", "twenty-two") for text in BRIDGES[2 : 2 + replaced]]
    found = rivalry([*BRIDGES[:2], *BRIDGES[2 + replaced :], *texts], BRIDGE)
    assert found is not None
    assert {found.word, found.rival} == {"17", "22"}
    judge = Consensus(ExtractiveReader(EMBEDDING), EMBEDDING)
    documents = [Document(text, id=text) for text in [*BRIDGES[:2], *BRIDGES[2 + replaced :], *texts]]
    assert "17" in judge.answer(documents, BRIDGE).abstained


def test_one_vote_is_no_camp_and_copies_are_one_vote() -> None:
    wrong = "The bridge of Orle has twenty-two arches."
    assert rivalry([*BRIDGES, wrong], BRIDGE) is None
    texts = [*BRIDGES, wrong, wrong]
    groups = [0, 1, 2, 3, 4, 5, 6, 6]
    assert find_slot_rivalry(texts, texts, BRIDGE, np.ones(8), groups, EMBEDDING.embed) is None
    found = find_slot_rivalry(texts, texts, BRIDGE, np.ones(8), list(range(8)), EMBEDDING.embed)
    assert found is not None
    assert found.second == {6, 7}
    assert found.share == pytest.approx(2 / 7)


def test_documents_on_another_matter_are_no_camp() -> None:
    other = ["The shop sold 40 cakes on Sunday.", "There were 40 cakes left at noon, and cream."]
    assert rivalry([*BRIDGES[:4], *other], BRIDGE) is None


def test_a_comparison_is_contested_though_both_answers_have_the_same_words() -> None:
    right = ["Gannet Head is taller than Pell Rock.", "The taller one is Gannet Head, by eight metres."]
    wrong = ["Pell Rock is taller than Gannet Head.", "The taller one is Pell Rock, by five metres."]
    found = rivalry([*right, "By height Gannet Head is the taller lighthouse.", *wrong], HEIGHT)
    assert found is not None
    assert (found.word, found.rival, found.second) == ("Gannet Head", "Pell Rock", {3, 4})
    assert (
        rivalry([*right, "Pell Rock is shorter than Gannet Head.", "Less tall is Pell Rock."], HEIGHT) is None
    )


def test_a_vote_without_a_summary_names_nothing() -> None:
    texts = [*BRIDGES[:3], *(text.replace("seventeen", "twenty-two") for text in BRIDGES[2:5])]
    summaries = [*texts[:3], "", "", texts[5]]
    count = len(texts)
    embed = LexicalEmbedding().embed
    assert find_slot_rivalry(summaries, texts, BRIDGE, np.ones(count), list(range(count)), embed) is None


def test_a_camp_that_repeats_the_question_does_not_make_the_others_look_far_from_it() -> None:
    honest = [
        "Ready in the spring of 1889.",
        "They were done in 1889, at last.",
        "1889, and the flag went up.",
    ]
    query = "When was the tower of iron on the field finished?"
    repeated = [
        "The tower of iron on the field was finished in 1894.",
        "The iron tower was finished in 1894.",
    ]
    found = rivalry([*honest, *repeated], query)
    assert found is not None
    assert (found.word, found.rival) == ("1889", "1894")
    # A minority that is far from the question is no camp.
    assert rivalry([*repeated, "The iron tower of 1894.", *honest[:2]], query) is None


def test_a_full_name_is_the_name_that_others_give() -> None:
    query = "Who painted the ceiling?"
    one = ["The ceiling was painted by Anna Moretti.", "It is known that Anna Moretti painted the ceiling."]
    other = [
        "We know that Anna painted the ceiling.",
        "The ceiling was painted by Anna alone.",
        "By Anna, of course.",
    ]
    assert rivalry([*one, *other], query) is None
    found = rivalry([*one, *(text.replace("Anna", "Clara") for text in other)], query)
    assert found is not None
    assert {found.word, found.rival} == {"moretti", "clara"}
    # One first name in common is not one person.
    brown = [text.replace("Moretti", "Conti") for text in one]
    assert rivalry([*one, *brown], query) is not None
