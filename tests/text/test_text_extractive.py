import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.index.embedding import LexicalEmbedding
from codeguard.text.reading import ExtractiveReader, bm25, short_answer
from codeguard.text.tokens import MAX_SENTENCE, content_words, sentences, words

READER = ExtractiveReader(LexicalEmbedding())
TOWER = (
    "Paris lies on the Seine. The Eiffel Tower is 330 metres tall and was finished in 1889. "
    "Dr. Eiffel's firm built it. Many people visit in summer."
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" \n\t\n", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith paid 3.5 million. He left.", ["Dr. Smith paid 3.5 million.", "He left."]),
        ("a line\nanother line", ["a line", "another line"]),
        ("no full stop", ["no full stop"]),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_a_run_without_a_full_stop_is_cut() -> None:
    parts = sentences("word " * 1000)
    assert max(map(len, parts)) <= MAX_SENTENCE
    assert sum(len(part.split()) for part in parts) == 1000
    assert max(map(len, sentences("x" * 5000))) <= MAX_SENTENCE


@given(st.text(max_size=300))
def test_sentences_and_words_take_any_text_and_lose_no_word(text: str) -> None:
    assert [word for part in sentences(text) for word in words(part)] == words(text)


def test_content_words_leave_out_what_says_nothing() -> None:
    assert content_words("Who is the CEO of OpenAI?") == ["ceo", "openai"]


def test_bm25_prefers_the_text_with_the_rare_word() -> None:
    texts = [["tower", "paris"], ["tower", "london"], ["tower", "rome", "tower"]]
    scores = bm25(["tower", "london"], texts)
    assert int(np.argmax(scores)) == 1
    assert bm25(["x"], texts).tolist() == [0, 0, 0]
    assert bm25(["x"], []).tolist() == []


def test_the_answer_is_the_sentence_that_answers() -> None:
    assert "330" in READER.answer("how tall is the Eiffel Tower", [TOWER, "Bread is baked."]).text


def test_each_text_is_read_alone_and_in_order() -> None:
    one, two, three = READER.answer_each(
        "how tall is the tower", [TOWER, "", "A tower of 9 metres stands here."]
    )
    assert ("330" in one.text, two.error != "", "9 metres" in three.text) == (True, True, True)


def test_a_summary_keeps_the_order_of_the_text() -> None:
    (summary,) = READER.summarise_each("who built the Eiffel tower and how tall is it", [TOWER])
    assert summary.text.index("330") < summary.text.index("firm")
    assert len(sentences(summary.text)) == 2


def test_a_repeated_question_is_no_answer() -> None:
    text = "how tall is the tower? The tower is 12 metres tall."
    assert READER.answer("how tall is the tower", [text]).text == "The tower is 12 metres tall."


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("The Eiffel Tower is 330 metres tall and was finished in 1889 by him.", "and was finished in 1889"),
        ("too short", "too short"),
        ("", ""),
    ],
)
def test_a_short_answer_is_the_words_that_add_most(sentence: str, answer: str) -> None:
    assert short_answer("how tall is the Eiffel tower in metres 330", sentence, 5) == answer


def test_only_answers_to_single_texts_are_shortened() -> None:
    reader = ExtractiveReader(LexicalEmbedding(), answer_words=3)
    question = "how tall is the Eiffel Tower"
    assert len(reader.answer_each(question, [TOWER])[0].text.split()) == 3
    assert len(reader.answer(question, [TOWER]).text.split()) > 3
