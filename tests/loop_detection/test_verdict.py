"""What a verdict, a block, a listener and an opinion say, word for word."""

import logging

import pytest

from antiloop import LoopDetection, LoopDetector, LoopVerdict, RepeatDetector, ToolCall
from antiloop.loop_detection import (
    CallLimitDetector,
    CaseFile,
    Escalation,
    FailureStreakDetector,
    LoopAction,
    LoopSeverity,
    MonologueDetector,
    Opinion,
    SecondOpinion,
    StallDetector,
    ToolPolicy,
)
from antiloop.loop_detection._run.listeners import Listeners
from antiloop.types import ToolResult

CALL = ToolCall("look", {"q": "cats"})
AGAIN = "Tool 'look' was called 3 times in a row with the same arguments."


def monitor_of(*detectors, policy=None, **options):
    return LoopDetector(detectors, policy or Escalation(), **options).monitor()


def in_shadow(verdict):
    return Listeners("", logs=False, shadow=True).to_act_on(verdict)


def looked(monitor, count, result="a page"):
    return [monitor.after([CALL], [result]) for _ in range(count)][-1]


class TestVerdict:
    found = LoopDetection("repeat", "Again.")

    @pytest.mark.parametrize(
        ("verdict", "written"),
        [
            (LoopVerdict(), "LoopVerdict(continue)"),
            (
                LoopVerdict(LoopAction.STOP, found),
                "LoopVerdict(stop, LoopDetection('repeat', 'Again.'))",
            ),
            (
                in_shadow(LoopVerdict(LoopAction.BLOCK, found)),
                "LoopVerdict(continue, shadow, would be block)",
            ),
            (
                LoopVerdict(LoopAction.BLOCK, found, is_shadow=True),
                "LoopVerdict(block, shadow, LoopDetection('repeat', 'Again.'))",
            ),
        ],
    )
    def test_it_is_written_short(self, verdict, written):
        assert repr(verdict) == written

    def test_its_shadow_keeps_the_question_and_the_suspicion(self):
        case = CaseFile("run", 3, 0.5)
        verdict = LoopVerdict(LoopAction.NOTIFY, self.found, "Stop.", 0.5, case)
        shadow = in_shadow(verdict)
        assert (shadow.action, shadow.detection, shadow.message) == (LoopAction.CONTINUE, None, "")
        assert (shadow.suspicion, shadow.case, shadow.is_shadow) == (0.5, case, True)
        real = shadow.would_be
        assert (real.action, real.message, real.suspicion) == (LoopAction.NOTIFY, "Stop.", 0.5)
        assert (real.case, real.is_shadow, real.would_be) == (None, True, None)
        assert dict(real.detection.details) == {"shadow": True}
        assert shadow.decision is real
        assert verdict.decision is verdict

    def test_details_cannot_be_changed(self):
        found = LoopDetection("repeat", "Again.", {"calls": [{"tool": "x"}]})
        with pytest.raises(TypeError):
            found.details["calls"] = []
        with pytest.raises(TypeError):
            found.details["calls"][0]["tool"] = "y"

    def test_a_finding_is_a_warning_about_nothing_in_particular(self):
        assert self.found.severity is LoopSeverity.WARNING
        assert (self.found.period, self.found.repetitions, self.found.spacing) == (1, 0, 1)
        assert (self.found.identity, self.found.refused) == ("", None)
        assert (self.found.wasted_calls, self.found.is_lasting) == (0, False)


class TestBlock:
    def test_a_refusal_tells_the_loop_as_it_was_found(self):
        monitor = monitor_of(RepeatDetector(2))
        looked(monitor, 3)
        verdict = monitor.before(CALL)
        assert verdict.action is LoopAction.BLOCK
        found = verdict.detection
        assert (found.detector_name, found.message) == ("repeat", AGAIN)
        assert (found.severity, found.is_lasting) == (LoopSeverity.CRITICAL, False)
        assert (found.indices, found.repetitions) == ((0, 1, 2), 3)
        assert found.refused == found.members
        assert verdict.message.splitlines()[1] == '1. look {"q":"cats"}'
        assert AGAIN in verdict.message
        assert monitor.before(ToolCall("look", {"q": "dogs"})).action is LoopAction.CONTINUE

    def test_a_budget_stays_used_up(self):
        monitor = monitor_of(CallLimitDetector(1), policy=Escalation(("block", "block")))
        looked(monitor, 2)
        for number in range(3):
            found = monitor.before(ToolCall("read", {"n": number})).detection
            assert (found.detector_name, found.is_lasting) == ("call_limit", True)
            assert found.refused == ("*",)

    def test_a_block_of_another_loop_does_not_end_the_others(self):
        first, second = ToolCall("look", {"at": 1}), ToolCall("look", {"at": 2})
        monitor = monitor_of(RepeatDetector(2), policy=Escalation(("block", "block", "stop")))
        pair = [first, second]
        for _ in range(2):
            monitor.after(pair, ["a", "b"])
        assert [monitor.before(call).action.value for call in pair] == ["block", "block"]
        monitor.after([first], ["a"])
        assert monitor.before(first).action is LoopAction.BLOCK

    def test_who_is_refused_and_goes_on_is_stopped_by_the_ladder(self):
        monitor = monitor_of(RepeatDetector(2), policy=Escalation(("block", "stop")))
        looked(monitor, 2)
        refused = monitor.before(CALL).message
        verdict = monitor.after([CALL], [ToolResult(refused, is_error=True)])
        assert verdict.action is LoopAction.STOP
        assert verdict.message == verdict.detection.message
        assert verdict.detection.severity is LoopSeverity.CRITICAL

    def test_a_long_finding_is_shortened_in_a_block(self):
        names = [ToolCall("x" * 99 + str(n)) for n in range(4)]
        monitor = monitor_of(RepeatDetector(2))
        for _ in range(3):
            monitor.after(names, ["a"] * 4)
        [block] = monitor.snapshot()["ladder"]["blocks"]
        assert len(block[4]) <= 300
        assert block[4].endswith("in a row with the same arguments.")


class TestListeners:
    def test_what_is_logged_says_action_and_message(self, caplog):
        monitor = monitor_of(RepeatDetector(2), log_verdicts=True)
        looked(monitor, 4)
        assert [(record.levelno, record.name) for record in caplog.records] == [
            (logging.WARNING, "antiloop"),
            (logging.ERROR, "antiloop"),
            (logging.ERROR, "antiloop"),
        ]
        first, second, third = caplog.messages
        assert first == 'notify: look "cats" 2 times in a row: "a page"'
        assert second == 'block: look "cats" 3 times in a row: "a page"'
        assert third == 'stop: look "cats" 4 times in a row: "a page"'

    def test_a_shadow_is_logged_as_one(self, caplog):
        looked(monitor_of(RepeatDetector(3), policy="stop", log_verdicts=True, shadow=True), 3)
        assert caplog.messages == ['shadow: stop: look "cats" 3 times in a row: "a page"']

    def test_a_listener_that_raises_is_named(self, caplog):
        def clumsy(verdict):
            raise RuntimeError("dropped it")

        monitor = monitor_of(RepeatDetector(2))
        monitor.add_listener(clumsy)
        looked(monitor, 2)
        assert caplog.messages == [f"listener {clumsy!r} raised; the run goes on"]

    def test_a_detector_that_raises_is_named_and_passed_over(self, caplog):
        class Broken(StallDetector):
            name = "broken"

            def find(self, window):
                raise KeyError("x")

        verdict = looked(monitor_of(Broken(2), RepeatDetector(2)), 2)
        assert verdict.detection.detector_name == "repeat"
        assert set(caplog.messages) == {"detector 'broken' raised; it is skipped for this round"}


def test_words_are_never_blocked_but_told_as_at_first():
    monitor = monitor_of(MonologueDetector(2), policy=Escalation(("block", "stop")))
    verdicts = [monitor.said("I will look.") for _ in range(3)]
    assert [each.action.value for each in verdicts] == ["continue", "notify", "stop"]
    assert "Repeating this will not bring anything new" in verdicts[1].message
    own = monitor_of(
        MonologueDetector(2), policy=Escalation(("block",)), inject_message="Do it now."
    )
    assert [own.said("I will look.").message for _ in range(2)] == ["", "Do it now."]


class TestOpinion:
    def test_it_is_written_short(self):
        assert repr(Opinion(True, 0.9, "So.")) == "Opinion(stuck, 0.9, 'So.')"
        assert repr(Opinion(False)) == "Opinion(not stuck, 1, '')"

    def test_it_goes_through_plain_json(self):
        assert Opinion(True, 0.8, "So.").to_dict() == {
            "stuck": True,
            "confidence": 0.8,
            "reason": "So.",
        }
        assert Opinion.from_dict({"stuck": False}) == Opinion(False, 1.0, "")

    def test_the_reason_is_one_line_of_three_hundred_characters(self):
        assert Opinion(True, 1, " a\n b ").reason == "a b"
        assert Opinion(True, 1, "x" * 300).reason == "x" * 300
        assert Opinion(True, 1, "x" * 301).reason == f"{'x' * 148}...{'x' * 148}"

    def test_the_defaults_of_a_judge(self):
        asked = SecondOpinion(len)
        assert (asked.suspicion, asked.gap, asked.limit) == (0.45, 4, 10)
        assert (asked.confirm, asked.timeout) == (False, 30.0)


class TestWhatAJudgeFinds:
    @staticmethod
    def judged(run_id="", **options):
        asked = SecondOpinion(len, suspicion=0.13, gap=3, **options)
        detector = LoopDetector([RepeatDetector(40)], Escalation(), second_opinion=asked)
        return detector.monitor(run_id=run_id)

    @staticmethod
    def search(monitor, number):
        return monitor.record_call("search", {"q": f"word{number}x"}, "No results found.")

    def test_it_is_told_with_its_reason(self):
        monitor = self.judged(run_id="run-7")
        monitor.record_call("look", {"q": "x"}, "a page")
        asked = [self.search(monitor, number) for number in range(3)][-1]
        assert (asked.case.run_id, asked.case.found) == ("run-7", "")
        verdict = monitor.answer(Opinion(True, 0.9, "It is not there."))
        found = verdict.detection
        assert verdict.action is LoopAction.NOTIFY
        assert found.message == "A second opinion finds that the run is stuck: It is not there."
        told = {name: found.details[name] for name in ("tool", "count", "reason", "confidence")}
        assert told == {
            "tool": "search",
            "count": len(found.indices),
            "reason": "It is not there.",
            "confidence": 0.9,
        }
        assert found.indices == (1, 2, 3)
        assert (found.detector_name, found.refused, found.spacing) == ("second_opinion", (), 2)
        assert (verdict.suspicion, verdict.case) == (1.0, None)

    def test_without_a_reason_it_says_so(self):
        monitor = self.judged()
        while self.search(monitor, monitor.call_count).case is None:
            pass
        assert monitor.answer(True).detection.message == (
            "A second opinion finds that the run is stuck: no reason was given"
        )

    def test_what_is_uncertain_is_shown_to_the_judge(self):
        asked = SecondOpinion(len, gap=3)
        monitor = monitor_of(FailureStreakDetector(9, in_a_row=3), second_opinion=asked)
        texts = ("cannot open the door", "unable to find a key", "access denied by guard")
        verdicts = [
            monitor.record_call("get", {"n": n}, ToolResult(f"Error: {text}", is_error=True))
            for n, text in enumerate(texts)
        ]
        assert verdicts[-1].case.found == (
            "the rule failure_streak counted 3 times, the last ones #0, #1, #2"
        )

    def test_after_no_it_is_asked_again_when_the_gap_is_over(self):
        monitor, asked = self.judged(), []
        for number in range(12):
            if self.search(monitor, number).case is not None:
                asked.append(number)
                monitor.answer(False)
        assert asked == [2, 5, 8, 11]

    def test_its_questions_are_limited(self):
        monitor, asked = self.judged(limit=2), []
        for number in range(12):
            if self.search(monitor, number).case is not None:
                asked.append(number)
                monitor.answer(None)
        assert asked == [2, 5]

    def test_its_state_is_in_a_snapshot(self):
        monitor = self.judged()
        for number in range(3):
            self.search(monitor, number)
        monitor.answer(Opinion(True, 0.9, "It repeats."))
        snapshot = monitor.snapshot()
        opinion = {"stuck": True, "confidence": 0.9, "reason": "It repeats."}
        likeness = snapshot["inquiry"].pop("likeness")
        assert [[number, tool] for number, tool, *_ in likeness["calls"]] == [
            [number, "search"] for number in (1, 2, 3)
        ]
        assert snapshot["inquiry"] == {
            "asked": [1, 6, 0],
            "episode": [3, 3, 3, 2, 0],
            "opinions": [[2, opinion]],
        }
        assert [each[0] for each in snapshot["excerpts"]["calls"]] == [0, 1, 2]


def test_a_block_refuses_what_a_tool_declares_to_be_equal():
    tools = {"look": ToolPolicy(key=["q"])}
    monitor = monitor_of(RepeatDetector(2), policy=Escalation(("block",)), tools=tools)
    for number in range(2):
        monitor.record_call("look", {"q": "cats", "n": number}, "a page")
    refused = monitor.before(ToolCall("look", {"q": "cats", "n": 9}))
    assert refused.action is LoopAction.BLOCK
    assert monitor.before(ToolCall("look", {"q": "dogs", "n": 1})).action is LoopAction.CONTINUE
    assert monitor.before(ToolCall("peek", {"q": "cats"})).action is LoopAction.CONTINUE


def test_a_detector_of_your_own_is_written_with_the_options_that_it_keeps():
    class Own(RepeatDetector):
        def __init__(self, threshold=3, flavor="plain"):
            super().__init__(threshold)

    assert repr(Own(4)) == "Own(threshold=4)"


def test_every_verdict_about_a_loop_has_the_suspicion_of_certainty():
    monitor = LoopDetector.escalating().monitor()
    of_words = [monitor.said("Let me fix the test first.") for _ in range(3)][-1]
    of_rounds = [monitor.record_call("look", {"q": "cats"}, "nothing") for _ in range(4)][-1]
    refused = monitor.before(ToolCall("look", {"q": "cats"}))
    verdicts = (of_words, of_rounds, refused)
    assert {each.suspicion for each in verdicts if each.detection} == {1.0}
    assert all(each.detection for each in verdicts)


def test_the_loop_is_there_for_every_action_but_continue():
    calls = [ToolCall("look")]
    monitor = LoopDetector([RepeatDetector(2)], Escalation(("notify", "block", "stop"))).monitor()
    seen = {}
    for _ in range(5):
        for verdict in (monitor.before(calls[0]), monitor.after(calls, ["same"])):
            if verdict.action is not LoopAction.CONTINUE:
                seen[verdict.action.value] = verdict.loop.detector_name
    assert seen == {"notify": "repeat", "block": "repeat", "stop": "repeat"}
    with pytest.raises(ValueError, match="no loop was found: the action is continue"):
        _ = LoopVerdict().loop
