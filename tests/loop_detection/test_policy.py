"""A policy is a ladder; one that could not be meant is refused with its words."""

import pytest

from antiloop import LoopDetector, LoopPolicy, RepeatDetector
from antiloop.loop_detection import Escalation, LoopAction, LoopSeverity

NOTIFY, BLOCK, STOP, RAISE = (LoopAction(name) for name in ("notify", "block", "stop", "raise"))


def test_every_policy_is_a_ladder():
    assert {policy: policy.escalation.actions for policy in LoopPolicy} == {
        LoopPolicy.RAISE: (RAISE,),
        LoopPolicy.INJECT_MESSAGE: (NOTIFY,),
        LoopPolicy.BLOCK: (BLOCK, STOP),
        LoopPolicy.STOP: (STOP,),
    }


def test_a_ladder_is_notify_block_stop_unless_said_otherwise():
    assert Escalation().actions == (NOTIFY, BLOCK, STOP)
    assert (Escalation().every, Escalation().max_interventions) == (1, None)


def test_actions_may_be_named_by_words():
    assert Escalation(("notify", "stop")) == Escalation((NOTIFY, STOP))


def test_the_same_action_may_be_taken_again():
    assert Escalation((NOTIFY, NOTIFY, BLOCK)).actions == (NOTIFY, NOTIFY, BLOCK)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"actions": ()}, "actions must name at least one action, got none"),
        ({"actions": (STOP, NOTIFY)}, "actions must not become milder, got stop, notify"),
        ({"actions": ("shout",)}, "unknown action 'shout'; choose from notify, block, .*raise"),
        ({"actions": ("continue",)}, "unknown action 'continue'; choose from"),
        ({"every": 0}, "every must be a whole number, 1 or more, got 0"),
        ({"max_interventions": 0}, "max_interventions must be a whole number, 1 or more, got 0"),
    ],
)
def test_a_ladder_that_could_not_be_meant_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Escalation(**options)


def test_how_serious_each_action_is():
    assert {action: action.severity for action in LoopAction} == {
        LoopAction.CONTINUE: LoopSeverity.OK,
        NOTIFY: LoopSeverity.WARNING,
        BLOCK: LoopSeverity.CRITICAL,
        LoopAction.CONCLUDE: LoopSeverity.CRITICAL,
        STOP: LoopSeverity.CRITICAL,
        RAISE: LoopSeverity.CRITICAL,
    }


def test_only_what_comes_after_a_block_ends_a_run():
    assert [each for each in LoopAction if each.ends_run] == [LoopAction.CONCLUDE, STOP, RAISE]
    assert [each for each in LoopAction if each.stops] == [LoopAction.CONCLUDE, STOP]


def test_a_last_word_ends_the_run_as_a_stop_does_and_is_milder():
    ladder = Escalation(("notify", "conclude", "stop"))
    monitor = LoopDetector([RepeatDetector(2)], ladder).monitor()
    actions = [monitor.record_call("look", {}, "same").action for _ in range(5)]
    assert [each.value for each in actions[1:4]] == ["notify", "conclude", "stop"]
    with pytest.raises(ValueError, match="milder"):
        Escalation(("stop", "conclude"))


def test_what_hears_of_notices_must_be_a_function_and_cannot_be_written():
    with pytest.raises(TypeError, match="on_notice"):
        Escalation(on_notice="switch")
    detector = LoopDetector([RepeatDetector(2)], Escalation(on_notice=print))
    with pytest.raises(ValueError, match="policy: on_notice"):
        detector.to_config()
