"""Texts are similar by the characters that both have in the same order."""

from difflib import SequenceMatcher

from hypothesis import example, given
from hypothesis import strategies as st

from antiloop.health._run_so_far import COMPARED_LENGTH, ComparedText, are_similar, common_length

WORDS = st.lists(
    st.sampled_from(["path ", "src/", "a", "b", "module_1", '"', "x" * 40]), max_size=8
)
TEXTS = WORDS.map("".join)


def matched(one, other):
    """Count the characters that difflib matches."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)


def slow_common_length(one, other):
    """Fill in the usual table."""
    row = [0] * (len(other) + 1)
    for a in one:
        above = row[:]
        for place, b in enumerate(other):
            row[place + 1] = above[place] + 1 if a == b else max(row[place], above[place + 1])
    return row[-1]


@given(one=TEXTS, other=TEXTS)
@example(one="ab", other="bb")
def test_the_longest_common_subsequence_is_that_of_the_table(one, other):
    assert common_length(one, other) == slow_common_length(one, other) >= matched(one, other)


@given(one=TEXTS, other=TEXTS, least=st.sampled_from([0.0, 0.5, 0.85, 1.0]))
def test_what_difflib_finds_similar_is_similar(one, other, least):
    pair = ComparedText.of(one), ComparedText.of(other)
    share = SequenceMatcher(None, pair[0].text, pair[1].text, autojunk=False).ratio()
    if share >= least:
        assert are_similar(*pair, least)


@given(one=TEXTS, other=TEXTS)
def test_what_shares_too_few_characters_is_not_similar(one, other):
    pair = ComparedText.of(one), ComparedText.of(other)
    if 2 * slow_common_length(pair[0].text, pair[1].text) < 0.85 * sum(len(x.text) for x in pair):
        assert not are_similar(*pair, 0.85)


def test_a_change_in_the_middle_leaves_texts_similar():
    one = "read the file " + "a" * 90
    assert are_similar(ComparedText.of(one), ComparedText.of(one.replace("file", "page")), 0.9)
    assert not are_similar(ComparedText.of(one), ComparedText.of(one.replace("a", "b")), 0.9)


def test_what_is_left_out_and_added_at_the_ends_is_a_small_change():
    one, other = ("x" + "abcdefgh" * 9, "abcdefgh" * 9 + "y")
    assert are_similar(ComparedText.of(one), ComparedText.of(other), 0.9)


def test_only_the_ends_of_a_long_text_are_compared():
    text = ComparedText.of("a" * 1_000 + "b" * 1_000)
    assert text.length == 2_000
    assert COMPARED_LENGTH - 2 < len(text.text) <= COMPARED_LENGTH
    assert are_similar(text, ComparedText.of("a" * 1_000 + "c" + "b" * 999), 0.85)
