"""What is kept of long names, ids and texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection._evidence.fingerprint import kept_id, kept_name
from antiloop.loop_detection._evidence.kept_text import BEGINNING, KeptText, kept_text

QUOTES = '"' * 64  # each takes two characters as JSON


@pytest.mark.parametrize(
    "name", ["", "search", "n" * 128, "é" * 21 + "nn", QUOTES, "\\" * 64, "\n" * 64, 'a"b']
)
def test_a_name_that_fits_is_kept_as_it_is(name):
    assert kept_name(name) == kept_id(name) == name


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("n" * 129, "n" * 40),
        ("n" * 20 + "m" * 120, "n" * 20 + "m" * 20),
        ("é" * 22, "\\u00e9" * 3 + "..." + "\\u00e9" * 3),
        (QUOTES + "x", '\\"' * 9 + "..." + '\\"' * 9),
    ],
)
def test_of_a_long_name_the_beginning_and_a_fingerprint_are_kept(name, begin):
    kept = kept_name(name)
    shown, _, mark = kept.rpartition("...#")
    assert shown[:18] == begin[:18]
    assert shown[-18:] == begin[-18:]
    assert len(shown) <= 40
    assert len(mark) == 10
    assert kept_name(name + "x").rpartition("#")[2] != mark
    assert kept_id(name) is None
    assert kept_name(kept) == kept


@pytest.mark.parametrize("call_id", [None, 7, ["a"], b"a"])
def test_an_id_is_a_text(call_id):
    assert kept_id(call_id) is None


@pytest.mark.parametrize("length", [0, 1, 2_001, 6_096])
def test_a_short_text_is_kept_whole(length):
    assert kept_text("x" * length) == KeptText("x" * length)


@pytest.mark.parametrize(
    ("length", "kept"),
    [(6_097, 2_001), (6_098, 2_002), (10_192, 6_096), (10_193, 2_001), (500_000, 4_384)],
)
def test_of_a_long_text_the_beginning_is_kept(length, kept):
    begin, rest, has_words, _ = kept_text("word " * (length // 5) + "w" * (length % 5))
    assert len(begin) == kept <= BEGINNING
    assert (len(rest), has_words) == (64, True)


def test_whether_words_follow_is_known():
    digits = "1" * 9_000
    assert not kept_text(digits).has_words
    assert kept_text(digits + "ab").has_words
    begin = len(kept_text(digits).begin)
    assert kept_text("1" * (begin - 1) + "ab" + "1" * (9_000 - begin - 1)).has_words
    assert not kept_text("ab" + "1" * 8_998).has_words


@given(st.integers(0, 9_000), st.integers(0, 3))
def test_a_text_that_differs_anywhere_is_another(place, more):
    text = "word " * 2_000
    other = text[:place] + "#" * (1 + more) + text[place + 1 + more :]
    assert kept_text(text).without_noise() != kept_text(other).without_noise()


def test_noise_at_the_beginning_is_no_difference():
    one, other = (f"at {clock} it {'went on ' * 1_000}" for clock in ("12:00:01", "9:00:02"))
    assert kept_text(one).without_noise() == kept_text(other).without_noise()
    assert kept_text(one).without_noise(True) == kept_text(other).without_noise(True)
    # A text that is nothing but noise is left as it is, unless words follow.
    clocks = "12:00:01 " * 700
    assert kept_text(clocks).without_noise().startswith("12:00:01")
    assert kept_text(clocks + "ended").without_noise().startswith("# # #")


LINES = st.integers(100, 1_500).map(
    lambda count: "\n".join(f"test {n} is ok" for n in range(count))
)


@given(LINES, st.sampled_from(["ran in {}.{}s", "[id: {0:08x}-0000-4000-8000-{1:012x}]"]))
def test_noise_in_the_last_lines_of_a_long_text_makes_no_difference(lines, ending):
    texts = [f"{lines}\n{ending.format(n, 7 * n)}\nall is done" for n in (3, 41)]
    one, other = (kept_text(text).without_noise() for text in texts)
    assert one == other
    assert one != kept_text(texts[0].replace("all", "half")).without_noise()
    assert one != kept_text(texts[0].replace("test 50 is", "test 50 was")).without_noise()


def test_a_long_report_that_ends_with_its_time_is_a_repetition():
    report = "\n".join(f"test {n} is ok" for n in range(300))
    monitor = LoopDetector.default().monitor()
    results = [f"{report}\n300 passed in {n}.3{n}s" for n in range(3)]
    calls = [ToolCall("bash", {"command": "make test"})] * 3
    actions = [monitor.after([call], [text]).action.value for call, text in zip(calls, results)]
    assert actions == ["continue", "continue", "raise"]
