"""What a monitor makes of the model's words."""

import json

import pytest

from antiloop import BaseDetector, LoopDetector, LoopPolicy, ToolCall
from antiloop.loop_detection import ChantDetector, Escalation, LoopAction, MonologueDetector

REPLY = "I will now look at the file."
CHANT = "I should look at the file again before I go on. " * 60


@pytest.fixture
def monitor():
    return LoopDetector.escalating().monitor()


def actions(monitor, *replies):
    return [monitor.said(reply).action.value for reply in replies]


def test_a_monologue_climbs_the_ladder(monitor):
    # Words cannot be refused, so the end of the ladder follows the notice.
    assert actions(monitor, *[REPLY] * 4) == ["continue", "continue", "notify", "stop"]


def test_a_chant_climbs_the_ladder_from_one_reply_to_the_next(monitor):
    assert actions(monitor, CHANT, "Sorry.", CHANT) == ["notify", "continue", "stop"]


def test_a_chant_is_told_once_while_it_goes_on(monitor):
    said = [monitor.saying(word + " ").action.value for word in CHANT.split() * 3]
    assert [action for action in said if action != "continue"] == ["notify"]
    assert monitor.said(CHANT * 3).action is LoopAction.CONTINUE


@pytest.mark.parametrize("replies", [[REPLY] * 3, [CHANT]])
def test_the_escalating_preset_has_both(replies):
    assert actions(LoopDetector.escalating().monitor(), *replies)[-1] == "notify"


def test_who_asks_for_a_block_has_the_model_told(monitor):
    monitor = LoopDetector([MonologueDetector()], LoopPolicy.BLOCK).monitor()
    assert actions(monitor, *[REPLY] * 4) == ["continue", "continue", "notify", "stop"]
    assert monitor.before(ToolCall("look")).action is LoopAction.CONTINUE


@pytest.mark.parametrize("ladder", [("block",), ("notify", "block")])
def test_no_reply_is_ever_refused(ladder):
    monitor = LoopDetector([MonologueDetector()], Escalation(ladder)).monitor()
    assert actions(monitor, *[REPLY] * 6)[2:] == ["notify"] * 4


def test_an_api_that_sends_null_for_no_text_has_said_nothing(monitor):
    assert actions(monitor, REPLY, REPLY, None) == ["continue"] * 3
    assert monitor.saying(None).action is LoopAction.CONTINUE
    assert monitor.said(REPLY).action is LoopAction.NOTIFY


def test_a_loop_of_calls_begins_below_a_loop_of_words(monitor):
    assert actions(monitor, *[REPLY] * 3)[-1] == "notify"
    call = ("look", {"at": "door"}, "closed")
    taken = [monitor.record_call(*call).action.value for _ in range(4)]
    assert taken == ["continue", "continue", "notify", "block"]


def test_a_tool_call_between_replies_is_progress(monitor):
    for number in range(9):
        assert monitor.said(REPLY).action is LoopAction.CONTINUE
        monitor.record_call("look", {"at": number}, f"page {'x' * number}")


def test_the_user_and_a_mark_of_progress_begin_anew(monitor):
    for begin_anew in (monitor.user_message, monitor.mark_progress):
        assert actions(monitor, REPLY, REPLY) == ["continue", "continue"]
        begin_anew()


def test_a_text_that_was_cut_off_is_no_part_of_the_next(monitor):
    for begin_anew in (
        monitor.user_message,
        lambda: monitor.record_call("look"),
        lambda: monitor.said(""),
    ):
        for _ in range(9):
            assert monitor.saying(CHANT[:400]).action is LoopAction.CONTINUE
            begin_anew()


def test_words_do_not_move_the_clock_of_calls():
    silent, talking = (LoopDetector.escalating().monitor() for _ in range(2))
    said = [], []
    for number in range(12):
        talking.said(f"Now to part {'x' * number} of it.")
        for monitor, told in zip((silent, talking), said):
            told.append(monitor.record_call("look", None, "nothing"))
    assert said[0] == said[1]
    assert {verdict.action.value for verdict in said[0]} == {"continue", "notify", "block", "stop"}


def test_the_notice_is_about_words(monitor):
    notice = [monitor.said(REPLY) for _ in range(3)][-1].message
    assert notice.startswith("[antiloop] Notice: The model gave the same reply 3 times in a row")
    assert "with a tool call, instead of announcing it" in notice


def test_a_second_notice_is_stronger():
    twice = Escalation((LoopAction.NOTIFY, LoopAction.NOTIFY, LoopAction.STOP))
    monitor = LoopDetector([ChantDetector()], twice).monitor()
    notices = [monitor.said(CHANT).message for _ in range(2)]
    again = "You got this notice before and went on. Do not say it again."
    assert [again in notice for notice in notices] == [False, True]


def test_a_snapshot_goes_on_as_if_nothing_had_happened(monitor):
    monitor.said(REPLY)
    monitor.said(REPLY)
    kept = json.loads(json.dumps(monitor.snapshot()))
    other = LoopDetector.escalating().monitor()
    other.restore(kept)
    for each in (monitor, other):
        assert actions(each, REPLY, REPLY) == ["notify", "stop"]
    assert other.snapshot() == monitor.snapshot()


def test_a_block_that_replies_cannot_have_is_no_damage():
    detector = LoopDetector([MonologueDetector(2)], LoopPolicy.BLOCK)
    first, second = detector.monitor(), detector.monitor()
    assert actions(first, REPLY, REPLY) == ["continue", "notify"]
    second.restore(json.loads(json.dumps(first.snapshot())))
    assert second.before(ToolCall("look")).action is LoopAction.CONTINUE
    assert actions(second, REPLY) == actions(first, REPLY) == ["stop"]


def test_a_snapshot_of_other_detectors_is_no_damage():
    detectors = [MonologueDetector(3), ChantDetector()]
    first, second = (LoopDetector(each).monitor() for each in (detectors, detectors[::-1]))
    actions(first, REPLY)
    second.restore(json.loads(json.dumps(first.snapshot())))
    assert actions(second, REPLY) == ["continue"]


def test_a_snapshot_holds_no_words(monitor):
    monitor.saying("My password is hunter2. ")
    monitor.said("My password is hunter2. ")
    assert "hunter2" not in json.dumps(monitor.snapshot())


def test_what_was_counted_can_be_asked_for(monitor):
    def counts():
        return [(each.name, each.needed, count) for each, count in monitor.counts_of_words()]

    assert counts() == [("monologue", ("threshold", 3), None), ("chant", ("repetitions", 6), None)]
    actions(monitor, REPLY, REPLY)
    monitor.saying(CHANT[:200])
    assert [count for *_, count in counts()] == [2, 4]


def test_listeners_hear_of_words(monitor):
    heard = []
    monitor.add_listener(heard.append)
    actions(monitor, *[REPLY] * 3)
    assert [verdict.detection.detector_name for verdict in heard] == ["monologue"]


def test_a_monitor_that_is_off_hears_nothing(monitor):
    monitor.enabled = False
    assert monitor.saying(CHANT).action is LoopAction.CONTINUE
    assert actions(monitor, *[REPLY] * 5) == ["continue"] * 5
    monitor.enabled = True
    assert actions(monitor, REPLY, REPLY) == ["continue"] * 2


def test_a_detector_without_words_hears_nothing():
    monitor = LoopDetector.from_config(
        {"version": 1, "detectors": [{"type": "repeat"}], "policy": "raise"}
    ).monitor()
    assert actions(monitor, *[REPLY] * 5, CHANT) == ["continue"] * 6


def test_detectors_of_words_survive_their_configuration():
    made = LoopDetector([MonologueDetector(4), ChantDetector(8, 500)])
    copy = LoopDetector.from_config(made.to_config())
    assert copy.to_config() == made.to_config()
    assert actions(copy.monitor(), *[REPLY] * 4)[-1] == "raise"


def test_beside_a_detector_of_the_users_own_they_ask_for_no_calls():
    class Own(BaseDetector):
        name = "own"

        def check(self, tool_calls, tool_results):
            seen.append(len(tool_calls))

    seen = []
    monitor = LoopDetector([MonologueDetector(), Own()]).monitor()
    monitor.record_call("a")
    assert seen == [1]


def test_what_is_masked_is_the_users_to_say():
    monitor = LoopDetector([MonologueDetector()], mask=lambda value: "[hidden]").monitor()
    verdict = [monitor.said(REPLY) for _ in range(3)][-1]
    assert verdict.detection.details["words"] == "[hidden]"


@pytest.mark.parametrize("piece", ["", None])
def test_an_empty_piece_before_a_whole_reply_hides_nothing(monitor, piece):
    monitor.saying(piece)
    assert monitor.said(CHANT).action is LoopAction.NOTIFY


def test_thoughts_without_end_are_found_and_never_quoted():
    monitor = LoopDetector.escalating().monitor()
    told = []
    monitor.add_listener(told.append)
    for _ in range(60):
        monitor.thinking("I must check the secret plan again. ")
    assert told[0].detection.detector_name == "chant"
    assert "secret" not in json.dumps([each.to_dict() for each in told])
    assert "secret" not in told[0].summary
    assert "What the model thinks repeats itself" in told[0].message
    assert "secret" not in json.dumps(monitor.snapshot())


@pytest.mark.parametrize("end", [lambda m: m.said("Well."), lambda m: m.record_call("look")])
def test_thoughts_end_with_their_reply(end):
    monitor = LoopDetector.escalating().monitor()
    verdicts = []
    for _ in range(20):
        verdicts += [monitor.thinking("I must check the plan once again. ") for _ in range(3)]
        verdicts.append(end(monitor)) if len(verdicts) < 4 else end(monitor)
    assert {each.action.value for each in verdicts} == {"continue"}


def test_only_chants_are_looked_for_in_thoughts():
    detector = LoopDetector([MonologueDetector(2)], Escalation(("notify",)))
    monitor = detector.monitor()
    for _ in range(4):
        assert monitor.thinking(REPLY).action.value == "continue"
    assert monitor.thinking(None).action.value == "continue"
    monitor.enabled = False
    assert monitor.thinking(REPLY).action.value == "continue"
    with pytest.raises(TypeError, match="thinking takes a text"):
        monitor.thinking(3)
