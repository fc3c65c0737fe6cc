"""The suspicion after each round: which kinds of evidence raise it, and how fast it falls."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from runs import failed, step

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection._evidence.suspicion import Suspicion
from antiloop.loop_detection._evidence.window import Window

WORDS = "alpha beta gamma delta kappa lambda sigma theta omega zeta iota rho".split()
ALIKE = ["cats and dogs", "dogs and cats", "dog and cat", "cat, dog", "the cats, dogs"]


def nothing(word):
    return [step("search", "No results found.", q=word)]


def news(word):
    return [step("look", f"the story of {word}", q=word)]


LS, CAT = [step("ls", "a b c")], [step("cat", "d e f")]
RUNS = {
    "searches in vain": (
        [nothing(word) for word in WORDS[:8]],
        [0, 0.055, 0.273, 0.491, 0.709, 0.927, 0.99, 0.99],
    ),
    "looks that say nothing": (
        [[step("read", "", path=word)] for word in WORDS[:5]],
        [0, 0.055, 0.273, 0.491, 0.709],
    ),
    "changes that say nothing": (
        [[step("write", "", path=word)] for word in WORDS[:5]],
        [0] * 5,
    ),
    "one value for other questions": (
        [[step("read", "available", at=word)] for word in WORDS[:5]],
        [0] * 5,
    ),
    "one sentence for other acts": (
        [[step("press", "The button has been pressed once more.", at=word)] for word in WORDS[:5]],
        [0] * 5,
    ),
    "nearly the same searches": (
        [[step("find", "none", q=words)] for words in ALIKE],
        [0, 0.055, 0.409, 0.491, 0.709],
    ),
    "the same failure": (
        [[failed("get", "Error: boom", id=word)] for word in WORDS[:6]],
        [0, 0.055, 0.203, 0.751, 0.971, 0.99],
    ),
    "different failures": (
        [[failed("get", f"Error: {word} boom", id=number)] for number, word in enumerate(WORDS)],
        [0, 0.055, 0.203, 0.351, 0.499, 0.647, 0.74, 0.779, 0.818, 0.818, 0.818, 0.818],
    ),
    "different failures, some of one call": (
        [[failed("get", f"Error: {word} boom", id=n)] for word, n in zip(WORDS, (1, 2, 1, 3, 1))],
        [0, 0.055, 0.203, 0.351, 0.635],
    ),
    "the same call": ([LS] * 6, [0, 0, 0.164, 0.736, 0.99, 0.99]),
    "two calls in turn": ([LS, CAT] * 4, [0, 0, 0, 0.164, 0.595, 0.814, 0.99, 0.99]),
    "waiting": (
        [[step("job", "still running", id=1)]] * 8,
        [0] * 8,
    ),
    "the same text of many pages": (
        [[step("get", "a page", url=word)] for word in WORDS[:8]],
        [0, 0, 0.109, 0.218, 0.618, 0.8, 0.909, 0.909],
    ),
    "failures beside searches in vain": (
        [[*nothing(word), failed("look", "Error", q=word)] for word in WORDS[:5]],
        [0, 0.055, 0.203, 0.751, 0.971],
    ),
    "news beside searches in vain": (
        [[*nothing(word), *news(word)] for word in WORDS[:5]],
        [0] * 5,
    ),
    "news beside the same failure": (
        [[*news(word), failed("get", "Error: boom", id=1)] for word in WORDS[:5]],
        [0, 0, 0.148, 0.901, 0.99],
    ),
    "news between searches in vain": (
        [*map(nothing, WORDS[:4]), news("a"), nothing("y"), news("b")],
        [0, 0.055, 0.273, 0.491, 0.245, 0.491, 0.245],
    ),
    "searches in vain more than eight rounds ago": (
        [*map(nothing, WORDS[:4]), *map(news, WORDS[:4]), *map(nothing, WORDS[4:6])],
        [0, 0.055, 0.273, 0.491, 0.245, 0.123, 0.061, 0.031, 0.327, 0.382],
    ),
    "news after searches in vain": (
        [*map(nothing, WORDS[:3]), *map(news, WORDS)],
        [0, 0.055, 0.273, 0.136, 0.068, 0.034, 0.017, 0.009, 0.004, 0.002, 0.001, 0.001, 0, 0, 0],
    ),
}


def record(rounds):
    """Return the window, the suspicion and its value after each of the rounds."""
    window, suspicion, values = Window(50), Suspicion(), []
    for steps in rounds:
        window.append([made for made, _ in steps], [result for _, result in steps])
        values.append(suspicion.after(window))
    return window, suspicion, values


@pytest.mark.parametrize("name", RUNS)
def test_the_value_after_each_round(name):
    rounds, expected = RUNS[name]
    assert [round(value, 3) for value in record(rounds)[-1]] == expected


@pytest.mark.parametrize("name", RUNS)
def test_the_order_of_siblings_changes_nothing(name):
    rounds, expected = RUNS[name]
    turned = [steps[::-1] for steps in rounds]
    assert [round(value, 3) for value in record(turned)[-1]] == expected


@pytest.mark.parametrize("name", RUNS)
def test_the_state_goes_through_a_text(name):
    rounds, _ = RUNS[name]
    window, suspicion, _ = record(rounds[:-1])
    text = suspicion.to_text()
    again = Suspicion()
    again.load(text, window.round_count)
    assert again.to_text() == text
    window.append(*map(list, zip(*rounds[-1])))
    assert again.after(window) == suspicion.after(window) == record(rounds)[-1][-1]


def test_a_run_begins_without_suspicion():
    suspicion = Suspicion()
    assert suspicion.lasting == 0.0
    assert suspicion.to_text() == "0.0 0.0"


def test_one_round_alone_must_say_more_than_two():
    window, suspicion, lasting = Window(50), Suspicion(), []
    for steps in RUNS["the same failure"][0]:
        window.append([made for made, _ in steps], [result for _, result in steps])
        suspicion.after(window)
        lasting.append(round(suspicion.lasting, 3))
    assert lasting == [0, 0, 0.063, 0.611, 0.831, 0.971]


def test_a_round_that_grows_is_weighed_once():
    window, suspicion = Window(50), Suspicion()
    for number, word in enumerate(WORDS[:4]):
        call = ToolCall("search", {"q": word}, round=number)
        window.append([call], ["No results found."])
        alone = suspicion.after(window)
    window.append([ToolCall("look", {"q": "x"}, round=3)], ["No results found."])
    assert suspicion.after(window) == alone
    restored = Suspicion()
    restored.load(suspicion.to_text(), window.round_count)
    window.append([ToolCall("look", {"q": "y"}, round=3)], ["a story"])
    assert restored.after(window) == suspicion.after(window) < alone


def test_a_round_of_news_that_grows_is_weighed_once():
    window, suspicion, values = record([nothing(word) for word in WORDS[:4]])
    for word in WORDS[:3]:
        window.append([ToolCall("look", {"q": word}, round=9)], [f"the story of {word}"])
        assert suspicion.after(window) == values[-1] / 2


@given(st.lists(st.tuples(st.sampled_from(["search", "look"]), st.booleans()), max_size=40))
@example([("search", False)] * 2 + [("look", False)] * 10 + [("search", False), ("look", False)])
def test_a_resumed_run_is_as_suspicious_as_the_unbroken_one(run):
    """Rounds that bring something new are not taken in where nothing is suspected."""
    unbroken = LoopDetector.default().monitor()
    number = 0
    for step_number, (tool, joins) in enumerate([*run, ("search", True)]):
        number += not joins
        call = ToolCall(tool, {"q": f"word {step_number}"}, round=number)
        answer = "No results found." if tool == "search" else f"the story of {step_number}"
        resumed = LoopDetector.default().monitor()
        resumed.restore(unbroken.snapshot())
        assert resumed.after([call], [answer]) == unbroken.after([call], [answer])


def test_twelve_rounds_are_remembered():
    _, suspicion, values = record([*map(nothing, WORDS[:3]), *map(news, WORDS)])
    assert suspicion.to_text() == f"0.0 {values[-2]}"


def test_what_is_cleared_begins_anew():
    _, suspicion, _ = record([nothing(word) for word in WORDS[:4]])
    suspicion.clear()
    assert suspicion.to_text() == "0.0 0.0"
    assert suspicion.after(Window(50)) == 0.0
