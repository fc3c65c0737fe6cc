"""Long texts keep their ends, cut between lines or words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.loop_detection.text.shortening import ends_of


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
