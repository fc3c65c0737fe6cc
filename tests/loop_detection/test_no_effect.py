"""The same change again is no progress, however new its answer looks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, ask_rounds, step

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection import NoEffectDetector

SENT = [step("send", f'{{"message_id": "m-{n}", "sent": true}}', to="ann") for n in range(9)]
GROWING = [step("insert", "1: a\n" + "2: b\n" * n, line="b") for n in range(1, 9)]


def test_the_same_message_sent_again_is_found():
    found = ask(NoEffectDetector(3), *SENT[:3])
    assert found.detector_name == "no_effect"
    assert found.message == "Tool 'send' applied the same change 3 times in a row."
    assert found.indices == (0, 1, 2)
    assert found.details["arguments"] == {"to": "ann"}
    assert json.loads(json.dumps(found.details)) == found.details


@pytest.mark.parametrize("run", [SENT, GROWING], ids=["sent", "growing"])
@pytest.mark.parametrize("threshold", [2, 3, 5])
def test_once_less_is_not_yet_found(run, threshold):
    detector = NoEffectDetector(threshold)
    assert ask(detector, *run[: threshold - 1]) is None
    assert ask(detector, *run[:threshold]).repetitions == threshold


def test_another_change_is_another_change():
    assert ask(NoEffectDetector(2), *(step("send", "sent", to=f"p{n}") for n in range(9))) is None


def test_answers_with_other_words_are_news():
    run = [step("edit", f"the {word} line was edited", n=1) for word in ("first", "second", "last")]
    assert ask(NoEffectDetector(2), *run) is None


def test_for_a_reader_numbers_are_the_answer():
    assert (
        ask(NoEffectDetector(2), *(step("read", f"{n} lines", f="log") for n in range(9))) is None
    )


def test_unknown_results_are_no_evidence():
    assert ask(NoEffectDetector(2), *[step("send", to="ann")] * 5) is None
    assert ask(NoEffectDetector(2), SENT[0], step("send", to="ann"), SENT[1]) is None


def test_another_call_in_between_starts_the_count_anew():
    assert ask(NoEffectDetector(3), *SENT[:2], step("ls", "a"), SENT[2]) is None


SAID = [
    step("create_ticket", f'{{"id": {n}}}', text="I cannot connect to it since Monday")
    for n in range(40, 49)
]


@given(st.lists(st.sampled_from(["news", "act", "known"]), min_size=4, max_size=9))
def test_the_same_sentence_is_told_whatever_comes_between(kinds):
    between = {
        "news": lambda n: step("search", f"page {n}: {'abcdefghi'[n] * 9}", q=f"about {n}"),
        "act": lambda n: step("save", "saved", name=f"file {n}"),
        "known": lambda _: step("ls", "a b c"),
    }
    run = [each for n, kind in enumerate(kinds) for each in (between[kind](n), SAID[n])]
    assert ask(NoEffectDetector(3), *run[:6]) is None
    found = ask(NoEffectDetector(3), *run)
    assert found.message == f"Tool 'create_ticket' applied the same change {len(kinds)} times."
    assert (found.may_end_run, found.refused) == (False, ())


@pytest.mark.parametrize(
    "again",
    [
        step("move", "ok", to="packing station 12"),  # a place
        step("report", "ok", text="All is as well as it was before"),  # it may only look
        step("create_ticket", "Error: no space left", text="I cannot connect to it since Monday"),
        ("create_ticket", "I cannot connect to it since Monday"),
        step("create_ticket", None, text="I cannot connect to it since Monday"),
    ],
)
def test_what_may_be_right_again_is_not_told(again):
    if isinstance(again[0], str):
        again = (ToolCall(again[0], again[1]), "created")
    run = [each for n in range(9) for each in (step("search", f"page {n}", q=f"a{n}"), again)]
    assert ask(NoEffectDetector(3), *run) is None


def test_a_report_after_each_wait_is_not_told():
    run = [each for said in SAID for each in (step("sleep", "", seconds=600), said)]
    assert ask(NoEffectDetector(3), *run) is None


def test_other_answers_to_the_same_words_are_news():
    run = [
        each
        for word in "first second third fourth fifth".split()
        for each in (
            step("ls", word),
            step("send", f"the {word} answer", text="What is to be done next here?"),
        )
    ]
    assert ask(NoEffectDetector(3), *run) is None


def test_siblings_count_once():
    assert ask_rounds(NoEffectDetector(2), [SENT[0]] * 4) is None
    run = [[SENT[0], step("ls", "a")], [step("ls", "b"), SENT[1]]]
    assert ask_rounds(NoEffectDetector(2), *run).repetitions == 2


def test_a_threshold_that_could_mean_nothing_is_refused():
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got 1"):
        NoEffectDetector(1)


STEPS = st.sampled_from(
    ["move", "apply_action", "submit_action", "end_turn", "turn_left", "update"]
)
GIVEN = st.sampled_from([{}, {"direction": "east"}, {"action": 1}, {"force": 0.5, "axis": "x"}])
LED = st.sampled_from(
    ["You are at ({0}, 7).", '{{"x": {0}.25, "reward": -{0}}}', "Turn {0}\nGold {0}5"]
)


@given(STEPS, GIVEN, LED)
@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
def test_a_step_without_words_is_never_refused_while_its_numbers_move(preset, name, given, led):
    monitor = getattr(LoopDetector, preset)().monitor()
    said = [monitor.record_call(name, given, led.format(n)).action.value for n in range(15)]
    assert set(said) <= {"continue", "notify"}


@pytest.mark.parametrize("text", ["two words", "word " * 20_000])
def test_the_same_text_added_again_is_refused(text):
    monitor = LoopDetector.escalating().monitor()
    said = [monitor.record_call("insert", {"text": text}, f"{n} lines") for n in range(4)]
    assert [each.action.value for each in said] == ["continue", "continue", "notify", "block"]
