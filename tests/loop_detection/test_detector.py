"""The facade asks its detectors in turn, and one bad detector harms nobody."""

import logging
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, ask_rounds, call, step, verdicts

from antiloop import (
    BaseDetector,
    LoopDetection,
    LoopDetector,
    LoopPolicy,
    PingPongDetector,
    RepeatDetector,
    Role,
    StallDetector,
    ToolCall,
    ToolResult,
)
from antiloop.loop_detection import (
    CallLimitDetector,
    ChantDetector,
    Escalation,
    MonologueDetector,
    RecurrenceDetector,
    ToolPolicy,
)

LS, CAT = step("ls", "a b", path="."), step("cat", "hello", path="a")


class Swearing(BaseDetector):
    """Finds a loop where the last result says so."""

    name = "swearing"

    def check(self, tool_calls, tool_results):
        if tool_results and getattr(tool_results[-1], "text", tool_results[-1]) == "damn":
            return LoopDetection(self.name, "It swore.", indices=(len(tool_calls) - 1,))
        return None


class Always(BaseDetector):
    name = "always"

    def check(self, tool_calls, tool_results):
        return LoopDetection(self.name, "Always.", {"tool": "ls"})


class Broken(BaseDetector):
    name = "broken"

    def check(self, tool_calls, tool_results):
        raise RuntimeError("out of order")


class Careless(BaseDetector):
    """A detector that returns something else than a detection or None."""

    name = "careless"

    def __init__(self, answer):
        self.answer = answer

    def check(self, tool_calls, tool_results):
        return self.answer


class BrokenWindow(RepeatDetector):
    def find(self, window):
        raise RuntimeError("out of order")


class TestCheck:
    def test_the_first_detector_that_finds_something_wins(self):
        both = [StallDetector(3), RepeatDetector(3)]
        assert ask(LoopDetector(both), LS, LS, LS).detector_name == "stall"
        assert ask(LoopDetector(both[::-1]), LS, LS, LS).detector_name == "repeat"

    def test_nothing_is_found_in_nothing(self):
        assert LoopDetector.default().check([], []) is None
        assert LoopDetector.escalating().check([], []) is None

    def test_only_the_window_is_looked_at(self):
        detector = LoopDetector([RepeatDetector(3)], window=10)
        assert ask(detector, *[LS] * 40).repetitions == 10
        assert ask(detector, *[LS] * 40).indices == tuple(range(30, 40))

    def test_it_keeps_no_state(self):
        detector = LoopDetector.default()
        assert ask(detector, LS, LS) is None
        assert ask(detector, LS) is None
        assert ask(detector, LS, LS, LS) == ask(detector, LS, LS, LS)

    def test_results_may_be_missing(self):
        assert LoopDetector.default().check([call("ls")] * 3, []) is not None


class TestOwnDetectors:
    def test_a_detector_of_the_users_own_sees_calls_and_results(self):
        detector = LoopDetector([Swearing()])
        assert ask(detector, LS, CAT) is None
        found = ask(detector, LS, step("cat", "damn"))
        assert (found.detector_name, found.message, found.indices) == (
            "swearing",
            "It swore.",
            (1,),
        )

    def test_what_it_leaves_out_is_completed(self):
        found = ask(LoopDetector([Always()]), LS, CAT)
        assert found.identity == "always:ls"
        assert len(found.members) == 1
        assert len(ask_rounds(LoopDetector([Always()]), [LS, CAT]).members) == 2

    def test_what_it_says_itself_is_kept(self):
        class Precise(BaseDetector):
            name = "precise"

            def check(self, tool_calls, tool_results):
                return LoopDetection("p", "It is.", identity="mine", members=("m",), indices=(0,))

        found = ask(LoopDetector([Precise()]), LS, CAT)
        assert (found.identity, found.members, found.indices) == ("mine", ("m",), (0,))

    def test_a_monitor_gives_it_the_recent_calls_and_counts_from_the_start(self):
        detector = LoopDetector([Swearing()], LoopPolicy.STOP, window=5)
        run = [[step("look", f"page {n}", n=n)] for n in range(20)]
        last = verdicts(detector, *run, [step("look", "damn")])[-1]
        assert (last.action.value, last.detection.indices) == ("stop", (20,))

    def test_unknown_results_are_none_for_it(self):
        seen = []

        class Curious(BaseDetector):
            name = "curious"

            def check(self, tool_calls, tool_results):
                seen.append(list(tool_results))

        monitor = LoopDetector([Curious()]).monitor()
        monitor.after([ToolCall("a"), ToolCall("b")], ["x"])
        assert seen == [[ToolResult("x"), None]]

    def test_one_that_expects_texts_is_told_once_what_results_are(self, caplog):
        class Ported(BaseDetector):
            name = "ported"

            def check(self, tool_calls, tool_results):
                return any(result.startswith("Error") for result in tool_results)

        with caplog.at_level(logging.WARNING, "antiloop"):
            for _ in range(2):
                LoopDetector([Ported()]).monitor().record_call("look", {}, "Error: no")
        told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert told == [
            "detector 'ported' may expect texts: results are ToolResult objects, or None where"
            " unknown; use result.text"
        ]

    def test_one_that_returns_something_else_is_not_told_of_results(self, caplog):
        class Answering(BaseDetector):
            name = "answering"

            def check(self, tool_calls, tool_results):
                return True

        with caplog.at_level(logging.WARNING, "antiloop"):
            LoopDetector([Answering()]).monitor().record_call("look", {}, "x")
        assert [each.levelname for each in caplog.records] == ["ERROR"]

    def test_one_that_raises_on_a_call_alone_is_not_told_of_results(self, caplog):
        class Wrong(BaseDetector):
            name = "wrong"

            def check(self, tool_calls, tool_results):
                return tool_calls[0].name

        with caplog.at_level(logging.WARNING, "antiloop"):
            LoopDetector([Wrong()]).monitor().record_call("look")
        assert [each.levelname for each in caplog.records] == ["ERROR"]

    @pytest.mark.parametrize(
        "broken", [Broken(), BrokenWindow(3, name="derived")], ids=["own", "derived"]
    )
    def test_one_that_raises_is_logged_and_the_others_are_asked(self, broken, caplog):
        detector = LoopDetector([broken, RepeatDetector(3)])
        with caplog.at_level(logging.ERROR, "antiloop"):
            assert ask(detector, LS, LS, LS).detector_name == "repeat"
        assert f"detector {broken.name!r} raised; it is skipped for this round" in caplog.text
        assert "out of order" in caplog.text

    @pytest.mark.parametrize("answer", [False, 0, "", "a loop", {}, LoopDetection])
    def test_one_that_returns_something_else_is_logged_and_passed_over(self, answer, caplog):
        detector = LoopDetector([Careless(answer), RepeatDetector(3)])
        with caplog.at_level(logging.ERROR, "antiloop"):
            found = verdicts(detector, [LS], [LS], [LS])
        assert [verdict.action.value for verdict in found] == ["continue", "continue", "raise"]
        assert f"Careless.check must return a LoopDetection or None, got {answer!r}" in caplog.text

    def test_one_that_raises_does_not_end_a_run(self, caplog):
        with caplog.at_level(logging.CRITICAL, "antiloop"):
            found = verdicts(LoopDetector([Broken()]), [LS], [LS], [LS])
        assert [verdict.action.value for verdict in found] == ["continue"] * 3


class TestPresets:
    def test_default_raises_at_the_first_loop(self):
        detector = LoopDetector.default()
        assert detector.policy is LoopPolicy.RAISE
        assert [each.name for each in detector.detectors] == ["repeat", "stall", "ping_pong"]
        actions = [verdict.action.value for verdict in verdicts(detector, [LS], [LS], [LS])]
        assert actions == ["continue", "continue", "raise"]

    def test_escalating_notifies_then_blocks_then_stops(self):
        detector = LoopDetector.escalating()
        assert detector.policy == Escalation(("notify", "block", "stop"))
        actions = [verdict.action.value for verdict in verdicts(detector, *[[LS]] * 5)]
        assert actions == ["continue", "continue", "notify", "block", "stop"]

    @pytest.mark.parametrize("make", [LoopDetector.default, LoopDetector.escalating])
    def test_every_detector_of_a_preset_can_fire_within_its_window(self, make):
        detector = make()
        spans = [getattr(each, "span", 0) for each in detector.detectors]
        assert max(spans) <= detector.window == 50

    def test_a_preset_is_made_anew_each_time(self):
        assert LoopDetector.default() is not LoopDetector.default()


class TestConstructor:
    def test_a_policy_may_be_a_ladder_of_ones_own(self):
        ladder = Escalation(("notify", "raise"))
        assert LoopDetector([RepeatDetector()], ladder).escalation is ladder
        assert LoopDetector([RepeatDetector()]).escalation == LoopPolicy.RAISE.escalation

    def test_a_role_may_be_named_by_a_word(self):
        assert LoopDetector([RepeatDetector()], notice_role="user").notice_role is Role.USER

    def test_no_detectors_are_refused(self):
        with pytest.raises(ValueError, match="at least one detector, got none"):
            LoopDetector([])

    @pytest.mark.parametrize("thing", ["repeat", None, RepeatDetector().check])
    def test_what_is_no_detector_is_refused(self, thing):
        with pytest.raises(TypeError, match=r"detectors\[1\] must be a BaseDetector, got"):
            LoopDetector([RepeatDetector(), thing])

    def test_a_class_instead_of_a_detector_is_refused(self):
        with pytest.raises(TypeError, match=r"\[0\] is a class; pass an instance: RepeatDetector"):
            LoopDetector([RepeatDetector])

    @pytest.mark.parametrize(
        "thing", [RepeatDetector(), RepeatDetector, None, "repeat", {"repeat": 3}, 3]
    )
    def test_one_thing_instead_of_a_list_of_detectors_is_refused(self, thing):
        with pytest.raises(TypeError, match=r"detectors must be a list, got .*; pass \["):
            LoopDetector(thing)

    def test_detectors_may_come_from_any_iterable(self):
        assert len(LoopDetector(iter([RepeatDetector(), StallDetector()])).detectors) == 2

    @given(st.sampled_from(LoopPolicy), st.data())
    def test_a_policy_may_be_named_by_a_word_in_either_case(self, policy, data):
        word = "".join(data.draw(st.sampled_from([c, c.upper()])) for c in policy.value)
        assert LoopDetector([RepeatDetector()], word).policy is policy

    @pytest.mark.parametrize("policy", ["RISE", "notify", "", None, 3, RepeatDetector(), []])
    def test_an_unknown_policy_is_refused_with_the_choices(self, policy):
        with pytest.raises(ValueError, match="from raise, inject_message, block, stop, or pass an"):
            LoopDetector([RepeatDetector()], policy)

    def test_an_action_and_a_role_may_be_named_in_either_case(self):
        assert Escalation(("NOTIFY", "Stop")) == Escalation(("notify", "stop"))
        assert LoopDetector([RepeatDetector()], notice_role="USER").notice_role is Role.USER

    def test_one_action_instead_of_a_list_is_refused(self):
        with pytest.raises(TypeError, match="actions must be a list of actions, got 'notify'"):
            Escalation("notify")

    def test_a_policy_may_be_the_ladder_of_a_detector(self):
        stop = LoopPolicy.STOP
        made = LoopDetector([RepeatDetector()], escalations={"repeat": stop})
        assert made.escalations == {"repeat": stop.escalation}

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"escalations": {"repeat": 3}}, "repeat: must be an Escalation or a LoopPolicy"),
            ({"escalations": [Escalation()]}, "escalations must be a mapping of names"),
            ({"tools": {"wait": {"poll": True}}}, "wait: must be a ToolPolicy, .* ToolPolicy()"),
            ({"tools": ["wait"]}, "tools must be a mapping of names"),
            ({"tools": SimpleNamespace(items=1)}, "tools must be a mapping of names"),
            ({"inject_message": 3}, "inject_message must be a text, a function or None, got 3"),
        ],
    )
    def test_an_option_of_another_type_is_refused(self, options, told):
        with pytest.raises(TypeError, match=told):
            LoopDetector([RepeatDetector()], **options)

    @pytest.mark.parametrize("window", [1, 0, -5, True, 10.0, None])
    def test_a_window_that_could_mean_nothing_is_refused(self, window):
        with pytest.raises(ValueError, match="window must be a whole number, 2 or more, got"):
            LoopDetector([RepeatDetector(2)], window=window)

    @pytest.mark.parametrize(
        ("detector", "span"),
        [
            (RepeatDetector(21), 21),
            (RepeatDetector(3, patience=30), 30),
            (StallDetector(2, varied=22), 22),
            (PingPongDetector(7, 3), 21),
            (RecurrenceDetector(4, patience=21), 21),
        ],
        ids=lambda value: getattr(value, "name", value),
    )
    def test_a_window_in_which_a_detector_could_never_fire_is_refused(self, detector, span):
        with pytest.raises(ValueError, match=f"{detector.name} looks at {span} rounds"):
            LoopDetector([detector], window=20)
        assert LoopDetector([detector], window=span).window == span

    def test_a_detector_may_have_a_ladder_of_its_own(self):
        detector = LoopDetector(
            [RepeatDetector(2), StallDetector(3)],
            LoopPolicy.STOP,
            escalations={"repeat": Escalation(("notify",))},
        )
        actions = [verdict.action.value for verdict in verdicts(detector, [LS], [LS], [LS])]
        assert actions == ["continue", "notify", "stop"]

    def test_a_ladder_for_nobody_is_refused(self):
        with pytest.raises(ValueError, match="escalations names 'stall'; there are repeat"):
            LoopDetector([RepeatDetector()], escalations={"stall": Escalation()})

    def test_a_budget_of_the_run_in_the_ladder_of_one_detector_is_refused(self):
        ladder = Escalation(max_interventions=3)
        with pytest.raises(ValueError, match=r"repeat: max_interventions .* give it with policy="):
            LoopDetector([RepeatDetector()], escalations={"repeat": ladder})

    def test_declarations_are_copied(self):
        tools = {"ls": ToolPolicy(exempt=True)}
        detector = LoopDetector([RepeatDetector(3)], tools=tools)
        tools.clear()
        assert ask(detector, LS, LS, LS) is None

    def test_an_unknown_role_is_refused(self):
        with pytest.raises(ValueError, match="shouter"):
            LoopDetector([RepeatDetector()], notice_role="shouter")


@pytest.mark.parametrize(
    ("detector", "remedy"),
    [
        (CallLimitDetector(5), r"; pass CallLimitDetector\(per_tool=\{'search': \.\.\.\}\)$"),
        (MonologueDetector(), "has no thresholds of tools$"),
        (ChantDetector(), "has no thresholds of tools$"),
    ],
)
def test_a_threshold_of_a_tool_that_nothing_would_read_is_refused(detector, remedy):
    tools = {"search": ToolPolicy(thresholds={detector.name: 3})}
    with pytest.raises(ValueError, match=remedy):
        LoopDetector([RepeatDetector(), detector], tools=tools)
