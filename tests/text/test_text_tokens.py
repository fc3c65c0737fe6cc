"""Which tokens a text has, and which of them are words of a sentence."""

import pytest

from antiloop._text.text_tokens import TextTokens

# A text, its tokens, and those of them that are words of a sentence.
TEXTS = [
    ("I will look. Now", [" I", " will", " look", ".", " Now"], [" I", " will", " look", " Now"]),
    ("1. one two", [" 1", ".", " one", " two"], []),
    ("| a | b", [" |", " a", " |", " b"], []),
    ("- item one", [" -", " item", " one"], []),
    ("* item two", [" *", " item", " two"], []),
    ("*bold* words", [" *", "bold", "*", " words"], [" words"]),
    ("    indented code", [" indented", " code"], []),
    ("\tx y", [" x", " y"], []),
    ("   three words", [" three", " words"], [" three", " words"]),
    ("   ab\tc d", [" ab", " c", " d"], [" ab", " c", " d"]),
    (
        "```\ncode here\n```\nafter words",
        [" ```", "\n", " code", " here", "\n", " ```", "\n", " after", " words"],
        [" after", " words"],
    ),
    ("~~~\ncode\n~~~\nafter", [" ~~~", "\n", " code", "\n", " ~~~", "\n", " after"], [" after"]),
    ("a ``` b\nc", [" a", " ```", " b", "\n", " c"], [" a", " b", " c"]),
    ("a  b   c    d", [" a", " b", " c", " d"], [" a", " b"]),
    ('"quoted" words', [' "', "quoted", '"', " words"], [" words"]),
    ('  "key": "value"', [' "', "key", '"', ":", ' "', "value", '"'], []),
    ("'it' is", [" '", "it", "'", " is"], [" is"]),
    ("  'it' is", [" '", "it", "'", " is"], []),
    ("你好 world", [" 你", "好", " world"], [" 你", "好", " world"]),
    ("日本 語", [" 日", "本", " 語"], [" 日", "本", " 語"]),
    ("x_1 y2", [" x", "_1", " y", "2"], [" x", " y"]),
    ("{ json words", [" {", " json", " words"], []),
    ("12 words here", [" 12", " words", " here"], []),
    ("Word\nnext line", [" Word", "\n", " next", " line"], [" Word", " next", " line"]),
    ("a/b c", [" a", "/", "b", " c"], [" a", " c"]),
    ("# head", [" #", " head"], []),
    ("> quote words", [" >", " quote", " words"], []),
    ("--- rule", [" ---", " rule"], []),
    ("what?! no", [" what", "?", "!", " no"], [" what", " no"]),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
        [" aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", " b"],
        [" aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", " b"],
    ),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
        [" aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a", " b"],
        [" aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", " b"],
    ),
    ("111111111111111111111111111111111 b", [" 11111111111111111111111111111111", "1", " b"], []),
    ("--------------------------------- b", [" --------------------------------", "-", " b"], []),
    ("x                                y", [" x", " y"], [" x"]),
    ("a\r\nb", [" a", "\n", " b"], [" a", " b"]),
    ("*\tx", [" *", " x"], []),
    ("a * b", [" a", " *", " b"], [" a", " b"]),
    ("• point", [" •", " point"], []),
]


def tokens(*pieces):
    splitter = TextTokens()
    made = [token for piece in pieces for token in splitter.add(piece)]
    return [*made, *splitter.end()]


@pytest.mark.parametrize(("text", "words", "prose"), TEXTS)
def test_the_tokens_of_a_text(text, words, prose):
    made = tokens(text)
    assert [token.text for token in made] == words
    assert [token.text for token in made if token.is_prose] == prose
    assert tokens(*text) == made


@pytest.mark.parametrize("mark", "|>#{[<]}/$%@\\=-+~\u2022\u00b7\u2013\u2014", ids=ord)
def test_a_line_that_begins_with_a_mark_of_structure_is_no_prose(mark):
    assert [token.text for token in tokens(f"{mark} one two\nthree") if token.is_prose] == [
        " three"
    ]


def test_a_long_line_is_prose_whatever_it_begins_with():
    made = tokens("- " + "abcd " * 120)
    prose = [token.is_prose for token in made if token.text == " abcd"]
    assert prose == [False] * 100 + [True] * 20
    made = tokens("---- " + "abcd " * 120)
    prose = [token.is_prose for token in made if token.text == " abcd"]
    assert prose == [False] * 99 + [True] * 21


def test_what_may_go_on_is_held_until_it_is_known():
    splitter = TextTokens()
    assert [token.text for token in splitter.add("one tw")] == [" one"]
    assert [token.text for token in splitter.add("o\n")] == [" two", "\n"]
    assert list(splitter.end()) == []
    assert [token.text for token in splitter.add("x")] == []
    assert [token.text for token in splitter.end()] == [" x"]
    assert list(splitter.end()) == []
