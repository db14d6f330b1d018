from collections.abc import Sequence

import numpy as np
import pytest

from codeguard.index.embedding.static import StaticEmbedding
from codeguard.text import Document, consensus
from codeguard.text.consensus import Consensus
from codeguard.text.extractive import ExtractiveReader
from codeguard.text.polarity import MADE, REVERSED, UNCLEAR, claims, find_reversal
from codeguard.text.votes import Rivalry

EMBEDDING = StaticEmbedding()
MARKET = "What do the rules of the Elm Street market ask of sellers?"
STATED = (
    "The rules of the market ask sellers for a weekly registration at the office.",
    "Sellers at the market register weekly, as the rules say.",
    "Under the rules a weekly form is what the market wants from those who sell.",
)
DENIED = (
    "By the rules of the market sellers do not register weekly; a monthly form will do.",
    "By the rules sellers come to the market once a season, rather than weekly.",
)


def rivalry(texts: Sequence[str], query: str = MARKET) -> Rivalry | None:
    count = len(texts)
    return find_reversal(texts, texts, query, np.ones(count), list(range(count)), EMBEDDING.embed)


@pytest.mark.parametrize(
    ("sentence", "stem", "sign"),
    [
        ("They meet weekly.", "week", MADE),
        ("They meet once a month, not weekly.", "week", REVERSED),
        ("They meet once a month (not weekly).", "week", REVERSED),
        ("They meet monthly rather than weekly.", "week", REVERSED),
        ("They don’t meet weekly.", "week", REVERSED),
        ("It was closed not because of a landslide, it is said.", "landslid", REVERSED),
        ("It was not moved because of a landslide.", "landslid", UNCLEAR),
        ("No shade was built.", "shade", REVERSED),
        ("Certified scales are not required.", "scale", REVERSED),
        ("Certified scales are not required.", "requir", REVERSED),
        ("They follow a no-plastic policy.", "plastic", REVERSED),
        ("They follow a no-plastic policy.", "polici", MADE),
        ("Plastic (including bags) is not allowed.", "plastic", REVERSED),
        ("Plastic — bags, too — is banned.", "plastic", UNCLEAR),
        ("Certified scales aren't required.", "scale", REVERSED),
        ("A weekly form, not a weekly visit.", "week", REVERSED),
        # Two negations of one clause are none, and neither is one that goes on.
        ("They do not meet without scales.", "scale", UNCLEAR),
        ("They meet not only weekly.", "week", MADE),
        # What is banned or missing is neither said nor denied, and nor is what is far from the negation.
        ("The rules ban plastic bags.", "plastic", UNCLEAR),
        ("The rules do not ban plastic.", "plastic", UNCLEAR),
        ("They have not found the old gate near the river.", "river", UNCLEAR),
        ("It did not rain, and the scales are certified.", "scale", MADE),
    ],
)
def test_a_clause_says_or_denies_its_words(sentence: str, stem: str, sign: int) -> None:
    assert claims(sentence)[stem, "", "not "] == sign


@pytest.mark.parametrize(
    ("sentence", "sign"),
    [
        ("It increases added sugars in drinks.", MADE),
        ("Added sugar rose.", MADE),
        ("It reduces added sugars.", REVERSED),
        ("There is less sugar.", REVERSED),
        ("It did not reduce sugar.", MADE),
        ("Reduced prices and sugar.", None),
        ("Sugar is used in drinks.", None),
        # What changes something else is not itself changed, and a compound says nothing of its parts.
        ("Sugar reduces costs.", None),
        ("It is a high-sugar drink.", None),
        ("Sugar fell.", REVERSED),
    ],
)
def test_a_thing_is_more_or_less(sentence: str, sign: int | None) -> None:
    assert claims(sentence).get(("sugar", "more ", "less ")) == sign


def test_the_words_of_the_question_and_of_more_and_less_are_no_claims() -> None:
    found = claims("Lower high prices weekly.", frozenset({"week"}))
    assert ("price", "more ", "less ") in found
    assert not {stem for stem, mark, _ in found if mark} & {"high", "lower"}
    assert "week" not in {stem for stem, *_ in found}
    weekly = "What do the rules of the market ask of sellers weekly?"
    assert rivalry([*STATED, *DENIED], weekly) is None


def test_votes_that_deny_what_others_state_are_a_camp() -> None:
    found = rivalry([*STATED, *DENIED])
    assert found is not None
    assert (found.word, found.rival) == ("weekly", "not weekly")
    assert (found.first, found.second, found.share) == ({0, 1, 2}, {3, 4}, pytest.approx(0.4))


def test_the_larger_camp_is_the_first_also_where_it_denies() -> None:
    found = rivalry([*STATED[:2], *DENIED, "The market's rules: sellers need not register weekly."])
    assert found is not None
    assert (found.word, found.second) == ("not weekly", {0, 1})


def test_true_documents_into_which_a_lie_was_put_are_a_camp_though_no_other_states_the_truth() -> None:
    both = [f"{text} {DENIED[1]}" for text in STATED[:2]]
    found = rivalry([*both, DENIED[0]])
    assert found is not None
    assert (found.word, found.rival, found.share) == ("not weekly", "weekly", pytest.approx(2 / 3))
    assert not found.first & found.second
    assert rivalry([both[0], *DENIED]) is None
    # Within one sentence it is no contradiction.
    once = [f"{text[:-1]}, not a weekly fee." for text in STATED[:2]]
    assert rivalry([*once, DENIED[0]]) is None


def test_votes_that_say_more_and_less_of_a_thing_are_camps() -> None:
    query = "What changed on the menu of the school?"
    more = ["The menu of the school increases sugar.", "On the school menu sugar rose."]
    less = ["The menu of the school now has less sugar.", "On the school menu sugar was reduced."]
    found = rivalry([*more, *less, less[0]], query)
    assert found is not None
    assert (found.word, found.rival, found.second) == ("less sugar", "more sugar", {0, 1})


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([*STATED, DENIED[0]], id="one vote denies"),
        pytest.param([STATED[0], *DENIED], id="one vote states"),
        pytest.param(STATED, id="nobody denies"),
        pytest.param(
            [*STATED, *("My cat has two kittens now: the vet came daily, not weekly." for _ in range(2))],
            id="not about the question",
        ),
        pytest.param(
            [*STATED[:2], *DENIED, *("The rules of the market ask sellers for a tent." for _ in range(4))],
            id="few have to do with it",
        ),
    ],
)
def test_is_no_reversal(texts: Sequence[str]) -> None:
    assert rivalry(texts) is None


def test_a_vote_that_says_it_once_and_bans_something_like_it_is_in_no_camp() -> None:
    unclear = f"{STATED[0]} The rules of the market ban weekly sellers from the hall."
    assert rivalry([*STATED[1:], *DENIED]) is not None
    assert rivalry([STATED[1], unclear, *DENIED]) is None


def test_few_others_may_have_nothing_to_do_with_it() -> None:
    other = [f"The rules of the market ask sellers for a {thing}." for thing in ("tent", "table", "lamp")]
    assert rivalry([*STATED[:2], *DENIED, *other]) is not None


def test_of_several_claims_the_one_with_the_larger_second_camp_counts() -> None:
    market = [f"By the rules of the market, sellers bring scales ({number})." for number in "abc"]
    denied = [f"By the rules of the market, sellers bring no scales ({number})." for number in "abc"]
    found = rivalry(
        [*(f"{text} {more}" for text, more in zip(STATED, market, strict=True)), *denied, *DENIED]
    )
    assert found is not None
    assert {found.word, found.rival} == {"scales", "not scales"}


def test_a_question_with_a_slot_is_left_to_the_slot() -> None:
    assert rivalry([*STATED, *DENIED], "How many sellers does the market ask to register?") is None


def test_a_question_that_is_answered_by_yes_or_no_is_left_out() -> None:
    assert (
        rivalry([*STATED, *DENIED], "Do the rules of the Elm Street market ask anything of sellers?") is None
    )


def test_documents_of_one_group_are_one_vote() -> None:
    texts = [*STATED, *DENIED]
    assert find_reversal(texts, texts, MARKET, np.ones(5), [0, 1, 2, 3, 3], EMBEDDING.embed) is None


def test_the_consensus_abstains_and_names_the_words() -> None:
    texts = [*STATED, *DENIED]
    documents = [Document(text, id=str(number)) for number, text in enumerate(texts)]
    judge = Consensus(ExtractiveReader(EMBEDDING), EMBEDDING)
    result = judge.answer(documents, MARKET)
    assert "'weekly' and 'not weekly' (40% of the votes for the second)" in result.abstained
    assert judge.select(documents, MARKET).notes[-1] == result.abstained
    assert [item.reason for item in result.selection.judgments] == [
        *["in the camp of 'weekly'"] * 3,
        *["in the camp of 'not weekly'"] * 2,
    ]


def test_a_conflict_too_small_to_abstain_for_does_not_hide_a_larger_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = Rivalry("blue", "not blue", frozenset({0, 1, 2, 3}), frozenset({4}), 0.1)
    large = Rivalry("north", "south", frozenset({0, 1}), frozenset({2, 3}), 0.5)
    monkeypatch.setattr(consensus, "find_reversal", lambda *_: small)
    monkeypatch.setattr(consensus, "find_camps", lambda *_: large)
    documents = [Document(text, id=str(number)) for number, text in enumerate([*STATED, *DENIED])]
    judge = Consensus(ExtractiveReader(EMBEDDING), EMBEDDING)
    assert "'north' and 'south'" in judge.answer(documents, MARKET).abstained
    monkeypatch.setattr(consensus, "find_camps", lambda *_: None)
    assert [item.rule for item in judge.answer(documents, MARKET).selection.rejected] == ["rival_claim"]
