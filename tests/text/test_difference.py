"""What differs between two texts is shown in few characters, or the text is shown whole."""

import pytest

from antiloop._text.difference import changed_part, new_lines

LONG = "".join(f"{number:03} " for number in range(20))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("sed -n 1,80p a.py", "sed -n 40,80p a.py", "sed -n [1 -> 40],80p a.py"),
        ("one two three", "one two", "one two[ three -> ]"),
        ("one two", "one two three", "one two[ ->  three]"),
        ("aXb cd", "aYb cd", "a[X -> Y]b cd"),
        ("aaa", "aaaa", "aaa[ -> a]"),
        ("same", "same", "same[ -> ]"),
        # More than half of one of them is another text.
        ("abcd", "axyd", "a[bc -> xy]d"),
        ("abcde", "axyzd", None),
        ("abcdef", "af", None),
        ("af", "abcdef", None),
        ("", "abc", None),
    ],
)
def test_the_one_place_that_differs(old, new, shown):
    assert changed_part(old, new) == shown


@pytest.mark.parametrize("length", [59, 60, 61])
def test_of_what_is_equal_a_little_is_shown(length):
    head, tail = ("x" * length, "y" * length)
    begin = head if length <= 60 else "..." + "x" * 30
    assert changed_part(f"{head}1{tail}", f"{head}2{tail}") == f"{begin}[1 -> 2]{'y' * 30}"


def test_a_long_difference_keeps_its_ends():
    around = "word " * 100
    old, new = "old " * 30 + "end", "new " * 40 + "last"
    shown = changed_part(f"{around}|{old}|{around}", f"{around}|{new}|{around}")
    before, after = shown.partition("[")[2].rpartition("]")[0].split(" -> ")
    assert " [...] " in before
    assert " [...] " in after
    assert 100 < len(before) <= 120
    assert 140 < len(after) <= 160
    old, new = "o" * 120, "n" * 160
    assert changed_part(f"{around}{old}{around}", f"{around}{new}{around}") == (
        f"...{around[-30:]}[{old} -> {new}]{around[:30]}"
    )


def test_the_first_four_thousand_characters_are_compared():
    begin = "x" * 3_999
    assert changed_part(f"{begin}1", f"{begin}2") == f"...{'x' * 30}[1 -> 2]"
    assert changed_part(f"{begin}01", f"{begin}02") == f"...{'x' * 29}0[ -> ]"


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a\nb\nc", "b\nc\nd", "d"),
        ("a\nb\nc", "d\nb\ne\nc", "d\ne"),
        ("a\nb", "b\na", ""),
        ("a", "a\nb", "b"),
        ("a\nb\nc", "a\nd\ne", None),
        ("a", "a", None),
        ("a\nb", "", None),
    ],
)
def test_the_lines_that_are_new(old, new, shown):
    assert new_lines(old, new) == shown


def test_a_difference_that_is_too_long_is_cut():
    around = "word " * 100
    for old, new, shown in (
        ("o" * 121, "n", " [...]  -> n"),
        ("o", "n" * 161, "o ->  [...] "),
    ):
        whole = changed_part(f"{around}{old}{around}", f"{around}{new}{around}")
        assert whole == f"...{around[-30:]}[{shown}]{around[:30]}"


NUMBERED = ["  {}→def {}():", "{:>6}\t{} = 1", "{}: {}", "{}:{}", "{} | {}", "src/a.py:{}: {}"]


@pytest.mark.parametrize("line", NUMBERED)
@pytest.mark.parametrize("moved_by", [1, 90])
def test_the_numbers_of_lines_are_no_news_where_an_edit_moved_them(line, moved_by):
    words = ["alpha", "beta", "gamma", "delta"]
    old = "\n".join(line.format(at, word) for at, word in enumerate(words, 8))
    new = "\n".join(line.format(at + moved_by, word) for at, word in enumerate(words, 8))
    assert new_lines(old, new) == ""
    added = line.format(99 + moved_by, "omega")
    assert new_lines(old, f"{new}\n{added}") == added


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("404: no page\nof this name", "403: no page\nof this name"),
        ("10:30 alpha\n10:31 beta", "10:30 alpha\n10:32 beta"),
        ("7: alpha\n3: beta", "7: alpha\n2: beta"),
        ("7\talpha\n8\tbeta", "7\talpha\n9\tbeta"),
    ],
)
def test_any_other_number_may_be_the_news(old, new):
    assert new_lines(old, new) not in ("", None)
