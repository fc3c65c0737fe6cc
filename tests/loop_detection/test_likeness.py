"""How much the last rounds are like those before, in any language."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.loop_detection import (
    Escalation,
    LoopDetector,
    RepeatDetector,
    SecondOpinion,
    ToolPolicy,
)
from antiloop.loop_detection._second_opinion.likeness import Likeness
from antiloop.types import ToolCall, ToolResult

BOUND = SecondOpinion(lambda case: None).suspicion
WORDS = ("apfel", "birne", "quitte", "traube", "feige", "olive", "mandel", "nuss", "dattel")


def after(*rounds, changes=False):
    """Return the likeness after rounds, each a list of tool, arguments and result."""
    likeness = Likeness()
    for number, calls in enumerate(rounds):
        pairs = [(ToolCall(tool, arguments), result) for tool, arguments, result in calls]
        likeness.add(number, pairs, changes)
    return likeness


def looks(text="Seite {}: nichts gefunden\nEnde der Liste", count=6):
    return [
        [("suche", {"frage": f"wo steht das obst mit der nummer {n}"}, text.format(n))]
        for n in range(count)
    ]


def test_the_same_in_other_numbers_is_suspicious_in_any_language():
    assert after(*looks()).doubt(0.0) >= BOUND
    assert after(*looks(count=3)).doubt(0.0) < BOUND  # three rounds decide, the first has none


def test_other_words_and_other_answers_are_not():
    rounds = [[("suche", {"frage": word * 2}, f"alles zu {word}\n{word} wächst")] for word in WORDS]
    assert after(*rounds).doubt(0.0) == 0.0
    assert after(*rounds).doubt(0.3) == 0.3  # and never makes a run less suspicious


def test_changes_speak_against_it():
    assert after(*looks(count=9), changes=True).doubt(0.0) < BOUND


def test_the_most_novel_call_of_a_round_counts():
    rounds = [[*calls, ("lies", {"pfad": word}, word)] for calls, word in zip(looks(), WORDS)]
    assert after(*rounds).doubt(0.0) < BOUND


SAID = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("\n".join)


@given(st.lists(st.lists(st.tuples(SAID, SAID), min_size=1, max_size=3), min_size=3, max_size=6))
def test_the_order_within_a_round_does_not_matter(said):
    rounds = [[("lies", {"frage": asked}, answer) for asked, answer in calls] for calls in said]
    turned = [calls[::-1] for calls in rounds]
    assert after(*turned).doubt(0.0) == pytest.approx(after(*rounds).doubt(0.0))


def test_another_tool_is_not_compared():
    rounds = [[(word, {"frage": "obst"}, "nichts gefunden")] for word in WORDS]
    assert after(*rounds).doubt(0.0) == 0.0


def test_an_unknown_answer_is_like_nothing():
    unknown = after(*[[("klick", {"x": 1}, None)] for _ in range(6)]).doubt(0.0)
    known = after(*[[("klick", {"x": 1}, ToolResult("ok then"))] for _ in range(6)]).doubt(0.0)
    assert unknown < BOUND <= known


def test_it_stays_below_certainty():
    assert after(*looks(count=9)).doubt(0.98) == 0.99


def test_it_ends_with_progress():
    calls = [call for [call] in looks(count=4)]
    assert asks(*calls) == [False, False, False, True]
    assert asks(*calls[:2], None, *calls[2:]) == [False] * 4


texts = st.text(alphabet="ab1 \n", max_size=12)
runs = st.lists(
    st.lists(st.tuples(st.sampled_from("fg"), texts, st.none() | texts), min_size=1, max_size=3),
    max_size=16,
)


@given(runs, st.integers(0, 16))
def test_a_resumed_run_has_the_same_likeness(run, cut):
    whole, resumed = Likeness(), Likeness()
    for number, calls in enumerate(run):
        pairs = [(ToolCall(tool, {"q": asked}), said) for tool, asked, said in calls]
        if number == cut:
            state = json.loads(json.dumps(resumed.to_dict()))
            resumed = Likeness()
            resumed.load(state)
        for each in (whole, resumed):
            each.add(number, pairs, bool(number % 3))
        assert whole.doubt(0.2) == resumed.doubt(0.2)


@given(runs)
def test_calls_of_a_round_may_come_one_by_one(run):
    together, apart = Likeness(), Likeness()
    for number, calls in enumerate(run):
        pairs = [(ToolCall(tool, {"q": asked}), said) for tool, asked, said in calls]
        together.add(number, pairs, False)
        for pair in pairs:
            apart.add(number, [pair], False)
    assert together.doubt(0.1) == apart.doubt(0.1)


@pytest.mark.parametrize("is_exempt", [True, False])
def test_plans_beside_looks_make_them_no_less_alike(is_exempt):
    judge = SecondOpinion(lambda case: False)
    tools = {"think": ToolPolicy(exempt=is_exempt)}
    detector = LoopDetector([RepeatDetector(40)], Escalation(), tools=tools, second_opinion=judge)
    monitor = detector.monitor()
    verdicts = []
    for [(tool, arguments, text)], word in zip(looks(count=9), WORDS):
        calls = [ToolCall(tool, arguments), ToolCall("think", {"of": word * 9})]
        verdicts.append(monitor.after(calls, [text, f"{word} " * 9]))
    assert any(each.case for each in verdicts) is is_exempt


def asks(*calls, bound=BOUND):
    """Return whether a judge is asked after each call; None between them is progress."""
    judge = SecondOpinion(lambda case: False, suspicion=bound)
    monitor = LoopDetector([RepeatDetector(40)], Escalation(), second_opinion=judge).monitor()
    asked = []
    for call in calls:
        if call is None:
            monitor.mark_progress()
        else:
            asked.append(monitor.record_call(*call).case is not None)
    return asked


def test_a_judge_is_asked_about_looks_in_ever_new_words():
    tail = "".join(f"\nsee the list of {each}" for each in "abcdefgh")
    calls = [
        (
            "find",
            {"where": f"which is the nearest shop in this town or by road that sells {word}"},
            f"No {word}.{tail}",
        )
        for word in WORDS
    ]
    assert any(asks(*calls))


@pytest.mark.parametrize(("again", "asked"), [(True, True), (False, False)])
def test_nothing_is_asked_about_new_calls_with_unknown_results(again, asked):
    known = [("look", {"q": word}, "No results found.") for word in WORDS[:3]]
    where = "left button at the lower end of the page"
    clicks = [("click", {"at": where, "x": 5 if again else n}, None) for n in range(6)]
    assert any(asks(*known, *clicks, bound=0.02)[5:]) == asked
