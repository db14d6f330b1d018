import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.index.embedding import LexicalEmbedding
from codeguard.text.reading import ExtractiveReader
from codeguard.text.tokens import MAX_SENTENCE, sentences, words

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


def test_the_answer_is_the_sentence_that_answers() -> None:
    assert "330" in READER.answer("how tall is the Eiffel Tower", [TOWER, "Bread is baked."]).text


def test_each_text_is_read_alone_and_in_order() -> None:
    one, two, three = READER.answer_each(
        "how tall is the tower", [TOWER, "", "A tower of 9 metres stands here."]
    )
    assert ("330" in one.text, two.error != "", "9 metres" in three.text) == (True, True, True)


def test_a_repeated_question_is_no_answer() -> None:
    text = "how tall is the tower? The tower is 12 metres tall."
    assert READER.answer("how tall is the tower", [text]).text == "The tower is 12 metres tall."
