"""A shadow detector decides as ever, tells it, and does nothing."""

import copy
import logging

import pytest

from antiloop import LoopDetector, LoopVerdict, RepeatDetector, ToolCall
from antiloop.loop_detection import Escalation, LoopAction, MonologueDetector, Opinion, presets
from antiloop.loop_detection._run.listeners import Listeners

CALL = ToolCall("search", {"query": "cats"})


def monitor_of(*detectors, **options):
    detectors = detectors or [RepeatDetector(3)]
    return LoopDetector(detectors, Escalation(), shadow=True, **options).monitor()


def rounds(monitor, times=5):
    return [monitor.after([CALL], ["no results"]) for _ in range(times)]


def test_every_verdict_is_to_go_on_and_says_what_it_would_be():
    verdicts = rounds(monitor_of())
    assert {verdict.action for verdict in verdicts} == {LoopAction.CONTINUE}
    told = [verdict.decision.action.value for verdict in verdicts[2:]]
    assert told == ["notify", "block", "stop"]
    assert [verdict.is_shadow for verdict in verdicts] == [False, False, True, True, True]
    assert {(verdict.detection, verdict.message) for verdict in verdicts} == {(None, "")}


def test_what_it_would_be_is_marked_as_a_shadow():
    told = rounds(monitor_of(), 3)[-1].would_be
    assert (told.action, told.is_shadow, told.would_be) == (LoopAction.NOTIFY, True, None)
    assert told.detection.details["shadow"] is True
    assert told.detection.details["count"] == 3


def test_a_verdict_to_go_on_has_no_shadow():
    healthy = LoopVerdict(suspicion=0.5)
    assert Listeners("", logs=False, shadow=True).to_act_on(healthy) is healthy


def test_no_call_is_refused():
    monitor = monitor_of()
    rounds(monitor, 4)
    verdict = monitor.before(CALL)
    assert (verdict.action, verdict.message) == (LoopAction.CONTINUE, "")
    assert verdict.would_be.action is LoopAction.BLOCK


def test_listeners_are_told_what_it_would_be():
    monitor, heard = monitor_of(), []
    monitor.add_listener(heard.append)
    verdicts = rounds(monitor)
    assert heard == [verdict.would_be for verdict in verdicts[2:]]


def test_words_of_the_model_have_no_consequences_either():
    monitor = monitor_of(MonologueDetector(3))
    verdicts = [monitor.said("I will look into that now, and report back.") for _ in range(4)]
    assert {verdict.action for verdict in verdicts} == {LoopAction.CONTINUE}
    assert verdicts[2].would_be.action is LoopAction.NOTIFY


def test_a_judge_is_asked_and_its_word_has_no_consequences():
    monitor, heard = monitor_of(second_opinion=lambda case: True, window=50), []
    monitor.add_listener(heard.append)
    asked = None
    for number in range(40):
        call = ToolCall("search", {"query": "cats", "page": number % 2})
        verdict = monitor.after([call], ["no results"])
        if verdict.case is not None:
            asked = monitor.answer(Opinion(True, 0.9, "It searches in circles."))
            break
    assert asked.action is LoopAction.CONTINUE
    assert asked.would_be.detection.detector_name == "second_opinion"
    assert heard == [asked.would_be]


def test_the_log_says_that_nothing_is_done(caplog):
    with caplog.at_level(logging.WARNING, "antiloop"):
        rounds(monitor_of(log_verdicts=True), 3)
    assert caplog.messages[0].startswith("shadow: notify: ")


def test_a_copy_of_a_run_is_a_shadow_too():
    monitor = monitor_of()
    rounds(monitor, 2)
    assert copy.deepcopy(monitor).after([CALL], ["no results"]).action is LoopAction.CONTINUE


def test_a_replay_gives_the_verdicts_as_they_are():
    monitor = LoopDetector([RepeatDetector(3)], Escalation(), shadow=True).monitor(live=False)
    assert rounds(monitor, 3)[-1].action is LoopAction.NOTIFY


@pytest.mark.parametrize("name", presets.PRESETS)
def test_every_preset_can_be_a_shadow(name):
    make = presets.PRESETS[name]
    assert (make().shadow, make(shadow=True).shadow) == (False, True)
    assert LoopDetector.from_config(make(shadow=True).to_config()).shadow


def test_a_configuration_says_it_with_true_or_false():
    config = {**LoopDetector.default().to_config(), "shadow": "no"}
    with pytest.raises(ValueError, match="shadow: must be true or false, got 'no'"):
        LoopDetector.from_config(config)


def test_it_is_seen_at_a_glance():
    assert repr(LoopDetector([RepeatDetector(3)], shadow=True)).endswith("raise, shadow)")
    assert "would be notify" in repr(rounds(monitor_of(), 3)[-1])
