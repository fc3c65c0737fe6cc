"""Long texts keep their ends, cut between lines or words."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop._text.shortening import (
    beginning_of,
    ends_of,
    escaped,
    shortened,
    visible,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # The beginning ends before its last word, on whichever line that is.
        ("a b\nc d\n" + "word " * 20, "a b\nc [...] word word word word word "),
        ("a\nb c\nde" + "x" * 20 + " word" * 9, "a\nb c [...] word word word word word"),
        # The end begins with a whole line, where one begins in its first half.
        ("x" * 60 + "\n" + "one two three four", " [...] one two three four"),
        ("word " * 20 + "\nlast line of it all", "word [...] last line of it all"),
        # Where nothing ends, nothing is shown: half a secret would not be recognized.
        ("x" * 99, " [...] "),
    ],
)
def test_both_ends_are_cut_between_lines_or_words(text, shown):
    assert ends_of(text, 42) == shown


@given(st.text(st.sampled_from("ab \n"), max_size=200), st.integers(24, 90))
def test_what_is_shown_is_the_text_or_its_ends(text, length):
    shown = ends_of(text, length)
    if len(text) <= length:
        assert shown == text
        return
    begin, _, end = shown.partition(" [...] ")
    assert text.startswith(begin)
    assert text.endswith(end)
    assert len(shown) <= length


def test_where_the_end_begins_with_its_second_line():
    assert ends_of("x" * 61 + "\n" + "y" * 27, 42) == f" [...] {'y' * 27}"
    assert ends_of("x" * 60 + " " + "y" * 28, 42) == " [...] "


@pytest.mark.parametrize(
    ("length", "shown"),
    [(60, 60), (61, 59), (63, 59), (200, 59)],
)
def test_a_text_is_cut_in_the_middle(length, shown):
    text = "a" * 28 + "b" * (length - 56) + "c" * 28
    expected = text if length <= 60 else f"{'a' * 28}...{'c' * 28}"
    assert shortened(text) == expected
    assert len(expected) == shown


def test_a_visible_text_is_one_line_of_three_hundred_characters():
    assert visible("a\nb\x1b\u2028") == "a\\nb\\x1b\\u2028"
    assert visible("x" * 300) == "x" * 300
    assert visible("x" * 301) == f"{'x' * 148}...{'x' * 148}"
    # An escape counts as the one character that it shows.
    assert visible("\n" * 20, 20) == "\\n" * 20
    assert visible("\n" * 21, 20) == "\\n" * 8 + "..." + "\\n" * 8
    assert escaped("\t") == "\\t"


@given(st.text(max_size=90), st.integers(10, 90))
def test_text_is_shown_as_itself_but_for_what_cannot_be_seen(text, length):
    shown = visible(text, length)
    assert all(char.isprintable() or unicodedata.category(char) == "Zs" for char in shown)
    if len(text) <= length:
        blanks = {char for char in text if unicodedata.category(char) == "Zs"}
        expected = (c if c.isprintable() or c in blanks else escaped(c) for c in text)
        assert shown == "".join(expected)


@pytest.mark.parametrize("text", ["größe", "日本語\u3000テキスト", "привет", "🚀", "a\u00a0b"])
def test_what_can_be_read_is_never_escaped(text):
    assert visible(text) == text


@pytest.mark.parametrize("char", "\x00\x1b\x7f\x85\u202e\u2066\u200b\u2028\ufeff\ud800")
def test_what_commands_a_terminal_or_hides_is_escaped(char):
    assert visible(f"a{char}b") == f"a{escaped(char)}b"


@pytest.mark.parametrize(
    ("value", "length", "shown"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two ..."),
        ("one two three", 8, "one two ..."),
        ("one two three", 7, "one ..."),
        ("one two three", 3, "..."),
        ("one\ntwo", 5, "one\n..."),
        ({"a": "one two three", "b": "four"}, 14, {"a": "one two three", "b": "..."}),
        ({"a": "one two three", "b": "four"}, 13, {"a": "one two ...", "...": "..."}),
        ({"b": "x", "a": "y"}, 4, {"a": "y", "b": "x"}),
        ({"b": "x", "a": "y"}, 3, {"a": "y", "b": "..."}),
        ({"b": "x", "a": "y"}, 1, {"a": "...", "...": "..."}),
        (["one", "two", "three"], 11, ["one", "two", "three"]),
        (["one", "two", "three"], 10, ["one", "two", "..."]),
        (["one", "two", "three"], 6, ["one", "two", "..."]),
        (["one", "two", "three"], 5, ["one", "...", "..."]),
        ([1, 2, 3], 20, [1, 2, 3]),
        ([1, 2, 3], 19, [1, 2, "..."]),
        ([1, None, True, {"a": 1}], 29, [1, None, True, "..."]),
        ([{"a": ["one", "two"]}, "x"], 6, [{"a": ["one", "..."]}, "..."]),
    ],
)
def test_of_a_value_its_beginning_is_kept(value, length, shown):
    assert beginning_of(value, length) == shown


def test_two_thousand_characters_are_kept_unless_said_otherwise():
    assert beginning_of("x" * 2_000) == "x" * 2_000
    assert beginning_of("word " * 401) == "word " * 400 + "..."
