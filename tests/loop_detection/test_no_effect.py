"""The same change again is no progress, however new its answer looks."""

import json

import pytest
from runs import ask, ask_rounds, step

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


def test_siblings_count_once():
    assert ask_rounds(NoEffectDetector(2), [SENT[0]] * 4) is None
    run = [[SENT[0], step("ls", "a")], [step("ls", "b"), SENT[1]]]
    assert ask_rounds(NoEffectDetector(2), *run).repetitions == 2


def test_a_threshold_that_could_mean_nothing_is_refused():
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got 1"):
        NoEffectDetector(1)
