"""A stretch that repeats without end inside one text."""

import pickle
from pathlib import Path

import pytest
from healthy_texts import HEALTHY
from hypothesis import given
from hypothesis import strategies as st

from antiloop._text.chant_scan import LONGEST_LAP, ChantScan
from antiloop._text.text_tokens import TextTokens
from antiloop.loop_detection import ChantDetector
from antiloop.loop_detection._detectors import chant
from antiloop.loop_detection._detectors.chant import KnownTexts

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SENTENCE = "I should look at the file again before I go on. "
PARAGRAPH = (
    "Let me think about this once more. The test fails because the parser does not know the new"
    " keyword. I need to add the keyword to the grammar, and then run the test again. "
)
THOUGHTS = (
    "Let me check the parser again.",
    "Wait, the test may be wrong!",
    "Should I look at the grammar first?",
    "No, that is not it.",
    "Actually, the keyword may be missing.",
)
SHUFFLED = [THOUGHTS[(n * n * n + n * n // 7) % 5] for n in range(60)]
"""The same few sentences in an order without a period."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CHANTS = {
    "a sentence": SENTENCE * 60,
    "a sentence a line": (SENTENCE.strip() + "\n") * 60,
    "a paragraph": PARAGRAPH * 12,
    "a long stretch": "".join(f"Now to part {n} of it, says {n}. " for n in range(30)) * 8,
    "one word": "the " * 800,
    "two words": "no, wait, " * 300,
    "an inner repetition": "no no no no no no no no no yes, it is. " * 60,
    "after healthy words": HEALTHY["prose"] + "So:\n\n" + SENTENCE * 60,
    "before healthy words": SENTENCE * 60 + HEALTHY["prose"],
    "after code": HEALTHY["code in a fence"] + SENTENCE * 60,
    "a paragraph with its code": (PARAGRAPH + "\n```\nls\n```\n") * 12,
    "inside one long item": "- " + SENTENCE * 60,
    "without spaces": "我应该再看一下这个文件。" * 80,
    "in a script with marks": "मुझे यह फ़ाइल फिर से देखनी चाहिए। " * 60,
    "lines that begin with a space": (" " + SENTENCE.strip() + "\n") * 60,
    "words far apart": (SENTENCE + "    ") * 60,
    "in bold": "**Wait.** I have to look at this again. " * 40,
    "sentences in changing order": " ".join(SHUFFLED),
    "sentences a line in changing order": "\n".join(SHUFFLED),
    "a stretch of 390 words": " ".join(one + other for one in LETTERS for other in LETTERS[:15])
    + " ",
}
CHANTS["a stretch of 390 words"] *= 8


@pytest.fixture(scope="module", autouse=True)
def _nothing_known():
    """Begin without the texts that were read before: what is known is not read again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chant, "_HEALTHY", KnownTexts(2_000))
        yield


def pieces(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def found_in(text, size=None, **options):
    watch = ChantDetector(**options).watch()
    found = None
    for piece in pieces(text, size) if size else ():
        found = found or watch.saying(piece)
    return found or watch.said(text)


@pytest.mark.parametrize("name", CHANTS)
def test_a_stretch_that_repeats_is_found(name):
    assert found_in(CHANTS[name]).detector_name == "chant"


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_texts_are_left_alone(name):
    assert found_in(HEALTHY[name]) is None


def test_there_are_many_healthy_cases():
    assert len(HEALTHY) >= 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_documentation_is_no_chant(page):
    assert found_in(page.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("name", CHANTS)
@pytest.mark.parametrize("size", [1, 7, 50])
def test_it_is_found_in_pieces_as_in_the_whole(name, size):
    assert found_in(CHANTS[name], size) == found_in(CHANTS[name])


def test_the_end_of_a_reply_is_read_after_its_pieces():
    text, watch = "and so on and on,\n" * 31 + "and so on and", ChantDetector().watch()
    assert not any(watch.saying(piece) for piece in pieces(text, 7))
    assert watch.said(text).repetitions == 31


def test_it_is_found_before_the_text_is_over():
    watch = ChantDetector().watch()
    said = 0
    for piece in pieces(SENTENCE * 1_000, 10):
        said += len(piece)
        if watch.saying(piece):
            break
    assert said < 15 * len(SENTENCE)


def test_the_last_word_may_complete_it():
    text = (PARAGRAPH * 6).rstrip(". ")
    watch = ChantDetector(6).watch()
    assert watch.saying(text) is None
    assert watch.said(text + ".") is None
    assert found_in(text + ".").repetitions == 6


def test_fewer_repetitions_are_left_alone():
    assert found_in(PARAGRAPH * 5) is None
    assert found_in(PARAGRAPH * 6).repetitions == 6
    assert found_in(PARAGRAPH * 4, repetitions=4).repetitions == 4


def test_short_repetitions_are_left_alone():
    short = "Not yet, I fear. "  # 13 characters without spaces
    assert found_in(short * (400 // 13 + 1)) is None
    assert found_in(short * (400 // 13 + 2)) is not None


@pytest.mark.parametrize("count", [47, 48])
def test_few_sentences_in_changing_order_must_come_often(count):
    found = found_in(" ".join(SHUFFLED[:count]))
    assert (found is not None) == (count == 48)
    assert found is None or found.repetitions == 9


def test_few_sentences_in_changing_order_are_the_same_in_any_other():
    found, other = (
        found_in(CHANTS["sentences in changing order"]),
        found_in(" ".join(SHUFFLED[::-1])),
    )
    assert found.identity == other.identity


def test_short_answers_in_changing_order_are_left_alone():
    assert found_in(" ".join(("Yes.", "No.", "Not yet.")[n * n % 7 % 3] for n in range(90))) is None


def test_sentences_that_are_few_among_many_others_are_left_alone():
    fresh = [f"Then comes {one}{other} of it." for one in LETTERS for other in LETTERS]
    assert found_in(" ".join(f"{a} {b}" for a, b in zip(SHUFFLED, fresh))) is None


def test_sentences_between_code_are_left_alone():
    code = ["x = (y)", "return x[0]", "call(z)"]
    assert (
        found_in(
            "\n".join(f"{a}\n{code[n % 3]}\n{code[n // 2 % 3]}" for n, a in enumerate(SHUFFLED))
        )
        is None
    )


def test_a_chant_is_not_found_once_more_as_sentences():
    watch = ChantDetector().watch()
    told = [watch.saying(piece) for piece in pieces(PARAGRAPH * 60, 10)]
    assert len({each.identity for each in told if each}) == 1


def test_sentences_in_changing_order_are_found_again_after_as_many_more():
    watch = ChantDetector().watch()
    told = [watch.saying(each + " ") for each in SHUFFLED * 4]
    assert [n for n, each in enumerate(told) if each] == [47, 95, 143, 191, 239]


def test_few_words_must_go_on_for_longer():
    assert found_in("well, " * 200) is None
    assert found_in("well, " * 400) is not None


@given(st.lists(st.sampled_from([*" \n\t.-`*|3é我ab_", "word", "```", "- "]), max_size=60))
def test_tokens_do_not_depend_on_where_the_pieces_end(parts):
    text = "".join(parts) * 2
    whole = TextTokens()
    expected = [*whole.add(text), *whole.end()]
    for size in (1, 2, 3):
        cut = TextTokens()
        told = [token for piece in pieces(text, size) for token in cut.add(piece)]
        assert [*told, *cut.end()] == expected


@given(st.text(max_size=300))
def test_a_short_reply_is_judged_in_pieces_as_in_the_whole(text):
    found_in("Not a chant. " * 20 + text[:100], 9)
    assert found_in(text) is None
    assert found_in(text, 9) is None


@given(st.text(max_size=300))
def test_any_text_is_survived(text):
    found_in(text)
    found_in(text, 3)


@given(st.lists(st.sampled_from(["wait", "look", "again", "the", "file", "now"]), min_size=3))
def test_whatever_repeats_for_long_enough_is_found(words):
    assert found_in((" ".join(words) + ". ") * (12 + 2_400 // len(words))) is not None


def test_memory_does_not_grow_with_the_text():
    def size(text):
        scan = ChantScan(6, 400)
        scan.add(text)
        assert len(scan._seen) <= LONGEST_LAP
        return len(pickle.dumps(scan))

    words = "".join(f"word{'abcdefghij'[n % 10]}{n} " for n in range(1_000))
    assert size(words * 80) < 1.2 * size(words * 20)


def test_each_token_costs_the_same(monkeypatch):
    looks = []
    look = ChantScan._look
    monkeypatch.setattr(ChantScan, "_look", lambda self: looks.append(1) or look(self))
    for text in (SENTENCE * 900, "a, b. " * 2_000, "x = (y)\n" * 2_000, "zero 0 0 0 0\n" * 2_000):
        looks.clear()
        scan = ChantScan(6, 400)
        scan.add(text)
        assert len(looks) < 40


def test_the_words_are_shown_shortened_and_masked():
    found = found_in(
        "my api_key=sk-abcdef0123456789abcdef0123456789 is \x1b red,"
        " and the rest of it is red and green and very good and nothing more is to be said. " * 60
    )
    assert "sk-abcdef" not in found.message
    assert "\x1b" not in found.message
    assert found.details["words"] in found.message
    assert found.details["count"] == found.repetitions


def test_one_chant_is_the_same_wherever_it_begins():
    words = SENTENCE.split()
    turned = " ".join(words[4:] + words[:4]) + " "
    assert found_in(SENTENCE * 60).identity == found_in(turned * 60).identity
    assert found_in(SENTENCE * 60).identity != found_in(PARAGRAPH * 60).identity


@pytest.mark.parametrize("size", [1, 9, 1_000])
def test_the_words_that_are_shown_begin_with_a_sentence(size):
    assert found_in(SENTENCE * 60, size).details["words"] == SENTENCE.strip()
    assert found_in("and so on, " * 200).details["words"].strip(",") in "and so on, and so on"


def test_calls_are_no_matter():
    from antiloop import ToolCall

    assert ChantDetector().check([ToolCall("a")] * 9, ["same"] * 9) is None


@pytest.mark.parametrize("options", [{"repetitions": 2}, {"length": 99}])
def test_options_that_would_find_healthy_texts_are_refused(options):
    with pytest.raises(ValueError, match="or more"):
        ChantDetector(**options)


def test_a_healthy_text_is_read_once_in_whatever_run(monkeypatch):
    text = " ".join(f"Step {word} is done, and the next one follows." for word in HEALTHY)[:9000]
    said = [ChantDetector().watch() for _ in range(2)]
    assert said[0].said(text) is None
    monkeypatch.setattr("antiloop._text.chant_scan.ChantScan", None)
    assert (said[1].said(text), said[1].count) == (None, said[0].count)


def test_a_text_that_was_read_is_read_again_with_other_settings():
    text = SENTENCE * 9
    lenient, strict = ChantDetector(100).watch(), ChantDetector(3, 100).watch()
    assert (lenient.said(text), strict.said(text) is None) == (None, False)
    assert ChantDetector(3, 100).watch().said(text) is not None


def test_the_oldest_text_that_was_read_is_forgotten():
    known = KnownTexts(2)
    for text in "abc":
        known.note(text, (3, 100), ord(text))
    assert [known.get(text, (3, 100)) for text in "abc"] == [(), (ord("b"),), (ord("c"),)]
    assert known.get("b", (3, 101)) == ()
