import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop._text.pseudonyms import Pseudonyms

KEPT = frozenset(["error", "read", "task"])
TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(
        [
            *("Alice", "alice", "ALICE", "cats", "cat", "error", "Errors", "taskOutput", "userid"),
            *("12", "123456", "1700000000", "5f2a9c81d3b4", "0x7ffe1234", "größe", "我再试一次"),
            *("d41d8cd9-8f00-3204-a980-0998ecf8427e", "\\n", "\\u00e9", '{"a": "b"}', "C:\\new"),
        ]
    ),
    max_size=8,
).map(" ".join)


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_equal_texts_stay_equal_and_different_ones_different(texts):
    other = Pseudonyms(KEPT)
    made = list(map(other.text, texts))
    assert len(set(made)) == len(set(texts))
    assert made == list(map(other.text, texts))


@given(TEXTS)
def test_signs_and_lengths_stay(text):
    made = Pseudonyms(KEPT).text(text)
    assert re.sub(r"\w|\\u", "", made) == re.sub(r"\w|\\u", "", text)
    if text.isascii():
        assert len(made) == len(text)


@given(st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", min_size=2, max_size=12))
def test_a_word_keeps_its_case_and_its_plural_and_nothing_else(word):
    other = Pseudonyms(frozenset())
    made = other.text(word)
    assert [each.isupper() for each in made] == [each.isupper() for each in word]
    lower = word.lower()
    if len(lower) > 3 and lower[-1] != "s" and lower not in ("null", "true", "false"):
        assert other.text(lower + "s") == other.text(lower) + "s"
        assert made != word


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(json_values, st.booleans())
def test_json_in_a_text_stays_json_of_the_same_shape(value, ascii_only):
    def shape(each):
        if isinstance(each, dict):
            return [shape(item) for item in each.values()]
        return [shape(item) for item in each] if isinstance(each, list) else type(each)

    made = json.loads(Pseudonyms(KEPT).text(json.dumps(value, ensure_ascii=ascii_only)))
    assert shape(made) == shape(value)


@given(json_values)
def test_a_value_keeps_its_shape_and_small_numbers(value):
    made = Pseudonyms(KEPT).value({"a": value, "b": 9999, "c": 2.5, "d": True, "e": 123456.5})
    assert (made["b"], made["c"], made["d"]) == (9999, 2.5, True)
    assert made["e"] != 123456.5
    assert type(made["a"]) is type(value)


@pytest.mark.parametrize(
    "said", ["error", "Errors", "READING", "task_output", "a", "é", "12", "9999", "\\n", "+- ?"]
)
def test_what_a_rule_reads_stays(said):
    assert Pseudonyms(KEPT | {"output"}).text(said) == said


@pytest.mark.parametrize("ending", ["id", "time", "timestamp", "s", "t"])
def test_names_by_which_a_field_is_known_end_as_they_did(ending):
    made = Pseudonyms(KEPT).text(f"wonder{ending}: 5")
    assert made.endswith(f"{ending}: 5")
    assert "wonder" not in made


@pytest.mark.parametrize(
    ("said", "pattern"),
    [
        ("d41d8cd9-8f00-3204-a980-0998ecf8427e", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("D41D8CD98F00", r"[0-9A-F]{12}"),
        ("0x7ffe1234abcd", r"0x[0-9a-f]{12}"),
        ("1700000000", r"1\d{9}"),
        ("004711", r"0\d{5}"),
        ("71234", r"[2-9]\d{4}"),
    ],
)
def test_ids_and_long_numbers_become_others_of_their_kind(said, pattern):
    made = Pseudonyms(KEPT).text(said)
    assert re.fullmatch(pattern, made)
    assert made != said


@pytest.mark.parametrize("case", [str.lower, str.upper, str.title, lambda word: f"x{word.upper()}"])
def test_words_that_run_out_become_longer(case):
    letters = "abcdefghijklmnopqruvwxyz"
    words = [case(one + other) for one in letters for other in letters]
    made = [Pseudonyms(KEPT).text(" ".join(words)), Pseudonyms(KEPT).text("我们 他们")]
    assert len(set(made[0].split())) == len(words)
    assert [len(each) for each in made[1].split()] == [2, 2]


def test_the_same_word_becomes_another_one_each_time_the_program_runs():
    assert Pseudonyms(KEPT).text("confidential") != Pseudonyms(KEPT).text("confidential")
