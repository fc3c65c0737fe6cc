"""What the owner of a tool declares overrules what is inferred."""

import json
import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import in_a_row, step

from antiloop import LoopDetector, PingPongDetector, RepeatDetector, StallDetector, ToolCall
from antiloop.loop_detection import (
    FailureStreakDetector,
    NearRepeatDetector,
    NoEffectDetector,
    RecurrenceDetector,
    ToolPolicy,
    UnknownToolDetector,
)
from antiloop.loop_detection.presets import PRESETS


def check(detectors, policy, *steps, tool="job"):
    """Ask about a run in which something is declared about one tool."""
    detector = LoopDetector(detectors, tools={tool: policy})
    return detector.check(*in_a_row(*steps))


REPEAT = [RepeatDetector(3, require_same_result=True, patience=6)]


def test_without_a_policy_the_run_is_judged_as_it_is():
    assert check(REPEAT, ToolPolicy(), *[step("job", "all quiet")] * 3).repetitions == 3


class TestPoll:
    def test_a_poll_deserves_patience(self):
        run = [step("job", "all quiet", id=1)] * 6
        assert check(REPEAT, ToolPolicy(poll=True), *run[:5]) is None
        assert check(REPEAT, ToolPolicy(poll=True), *run).repetitions == 6

    def test_a_poll_that_fails_deserves_none(self):
        run = [step("job", "Error: no such thing", id=1)] * 3
        assert check(REPEAT, ToolPolicy(poll=True), *run).repetitions == 3

    def test_a_tool_of_several_actions_polls_with_some_of_them(self):
        policy = ToolPolicy(poll={"action": ["log", "state"]})

        def asked(times, action):
            return check(REPEAT, policy, *[step("job", "all quiet", action=action)] * times)

        assert asked(5, "log") is None
        assert asked(6, "log").repetitions == 6
        assert asked(3, "kill").repetitions == 3
        calls = [ToolCall("job", "no mapping")] * 3
        assert LoopDetector(REPEAT, tools={"job": policy}).check(calls, ["x"] * 3) is not None

    def test_only_the_results_of_a_poll_are_evidence(self):
        run = [step("job", f"now {word}", id=1) for word in ("fine", "nice", "good")]
        bare = [RepeatDetector(3)]
        assert check(bare, ToolPolicy(), *run).repetitions == 3
        assert check(bare, ToolPolicy(poll=True), *run) is None


class TestExempt:
    def test_calls_of_an_exempt_tool_are_no_evidence(self):
        assert check(REPEAT, ToolPolicy(exempt=True), *[step("job", "same")] * 40) is None

    def test_and_do_not_stand_between_others(self):
        other = step("ls", "a b")
        run = [other, step("job"), other, step("job"), other]
        found = check(REPEAT, ToolPolicy(exempt=True), *run)
        assert found.indices == (0, 2, 4)


class TestMutates:
    RUN = (
        *(step("test", "2 failed today", n=1), step("tick", "now", n=1)),
        *(step("test", "2 failed today", n=1), step("tick", "now", n=2)),
        *(step("test", "2 failed today", n=1), step("tick", "now", n=3)),
        step("test", "2 failed today", n=1),
    )

    def test_what_changes_the_world_is_progress(self):
        detectors = [RecurrenceDetector(3)]
        assert check(detectors, ToolPolicy(), *self.RUN).repetitions == 4
        assert check(detectors, ToolPolicy(mutates=True), *self.RUN, tool="tick") is None

    def test_what_only_sounds_like_a_change_is_none(self):
        run = [
            step(
                "save_view" if made.tool_name == "tick" else made.tool_name,
                result,
                **made.arguments,
            )
            for made, result in self.RUN
        ]
        detectors = [RecurrenceDetector(3)]
        assert check(detectors, ToolPolicy(), *run) is None
        assert check(detectors, ToolPolicy(mutates=False), *run, tool="save_view") is not None


class TestIdempotent:
    def test_however_the_answer_is_worded_the_call_is_the_same(self):
        run = [step("job", f"it is {word} today") for word in ("fine", "nice", "good")]
        assert check(REPEAT, ToolPolicy(), *run) is None
        assert check(REPEAT, ToolPolicy(idempotent=True), *run).repetitions == 3

    @pytest.mark.parametrize("preset", sorted(PRESETS))
    def test_other_calls_bring_something_new(self, preset):
        look = {"read": ToolPolicy(idempotent=True)}
        monitor = PRESETS[preset]().monitor(look)
        said = [monitor.record_call("read", {"n": n}, f"text {n}") for n in range(20)]
        assert {verdict.action.value for verdict in said} == {"continue"}

    def test_a_failure_stays_what_it_says(self):
        run = [step("job", f"Error: {word} is wrong") for word in ("name", "date", "place")]
        assert check(REPEAT, ToolPolicy(idempotent=True), *run) is None

    def test_an_unknown_result_stays_unknown(self):
        assert check([StallDetector(2)], ToolPolicy(idempotent=True), *[step("job")] * 3) is None


class TestKey:
    def test_only_the_named_arguments_are_compared(self):
        run = [step("job", "same", command="ls", label=f"noop{n}") for n in range(3)]
        assert check(REPEAT, ToolPolicy(), *run) is None
        assert check(REPEAT, ToolPolicy(key=["command"]), *run).repetitions == 3

    def test_what_a_call_does_is_read_from_all_its_arguments(self):
        poll = ToolPolicy(poll={"action": ["poll"]}, key=["session"])
        run = [step("job", "same", session=1, action="poll") for _ in range(5)]
        assert check(REPEAT, poll, *run) is None
        sends = [step("job", "sent", to="bob", action="send", text="x") for _ in range(3)]
        assert check([NoEffectDetector()], ToolPolicy(key=["to"]), *sends) is not None
        waits = [step("job", "same", id=7, seconds=60, action="wait") for _ in range(5)]
        assert check(REPEAT, ToolPolicy(key=["id"]), *waits) is None

    def test_other_commands_stay_other_commands(self):
        run = [step("job", "same", command=name) for name in "abc"]
        assert check(REPEAT, ToolPolicy(key=["command"]), *run) is None

    def test_arguments_without_the_named_ones_are_compared_whole(self):
        run = [step("job", "same", n=n) for n in range(3)]
        assert check(REPEAT, ToolPolicy(key=["command"]), *run) is None

    def test_arguments_that_are_no_mapping_are_compared_whole(self):
        calls = [ToolCall("job", text) for text in ("one", "two", "three")]
        detector = LoopDetector(REPEAT, tools={"job": ToolPolicy(key=["command"])})
        assert detector.check(calls, []) is None
        assert detector.check(calls[:1] * 3, []) is not None

    def test_a_function_may_say_what_is_compared(self):
        run = [step("job", "same", command=f" {'ls'.upper() if n else 'ls'} ") for n in range(3)]
        policy = ToolPolicy(key=lambda arguments: arguments["command"].strip().lower())
        assert check(REPEAT, policy, *run).repetitions == 3

    def test_spaces_at_the_end_count_where_the_user_says_what_is_compared(self):
        run = [step("job", "same", keys=f"a{' ' * n}") for n in range(3)]
        assert check(REPEAT, ToolPolicy(), *run).repetitions == 3
        assert check(REPEAT, ToolPolicy(key=["keys"]), *run) is None

    def test_a_function_may_give_any_value(self):
        run = [step("job", "same", words=["a", "b"][:: 1 if n else -1]) for n in range(3)]
        policy = ToolPolicy(key=lambda arguments: set(arguments["words"]))
        assert check(REPEAT, policy, *run).repetitions == 3

    def test_a_function_that_raises_is_left_out_and_logged(self, caplog):
        policy = ToolPolicy(key=lambda arguments: arguments["absent"])
        with caplog.at_level(logging.ERROR, "antiloop"):
            assert check(REPEAT, policy, *[step("job", "same")] * 3).repetitions == 3
        assert "the key= declared for tool 'job' raised" in caplog.text


ANSWERS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda held: st.lists(held, max_size=3) | st.dictionaries(st.text(), held, max_size=3),
    max_leaves=5,
)


class TestStrip:
    @pytest.mark.parametrize(
        "answer",
        [
            '{{"lease": "{}", "ok": 1}}',
            "lease: {}, ok",
            "ok lease={}",
            '{{"lease":[{}]}}',
            "{{'ok': 1, 'lease': '{}'}}",
            '{{"job": {{"lease": {{"holder": ["{}", {{"n": []}}]}}}}}}',
            '\n {{"lease": {{"holder": ["{}", {{"n": []}}]}}}}',
        ],
    )
    def test_named_fields_are_noise(self, answer):
        run = [step("job", answer.format(word)) for word in ("ab", "cd", "ef")]
        assert check(REPEAT, ToolPolicy(), *run) is None
        assert check(REPEAT, ToolPolicy(strip=["lease"]), *run).repetitions == 3

    def test_nothing_is_stripped_unless_it_is_declared(self):
        assert ToolPolicy().compared_text("lease: a") == "lease: a"
        assert ToolPolicy(strip=["lease"]).compared_text("lease: a") == "lease: #"

    @given(
        ANSWERS, ANSWERS, ANSWERS, st.lists(st.sampled_from(["a", "b"])), st.sampled_from([None, 2])
    )
    def test_a_named_field_of_json_is_noise_at_any_depth_with_any_value(
        self, answer, first, second, path, indent
    ):
        def said(value):
            whole = {"answer": answer, "lease": value}
            for name in path:
                whole = {name: [whole]}
            return json.dumps(whole, indent=indent)

        policy = ToolPolicy(strip=["lease"])
        assert policy.compared_text(said(first)) == policy.compared_text(said(second))
        other = said(first).replace("answer", "answers")
        assert policy.compared_text(said(first)) != policy.compared_text(other)

    @given(st.text() | ANSWERS.map(json.dumps), st.sampled_from([(), [], set()]))
    def test_an_empty_list_of_names_strips_nothing(self, text, names):
        assert ToolPolicy(strip=names).compared_text(text) == text

    @pytest.mark.parametrize("text", ["", " ", "null", "7", "[" * 5_000, '{"n": ' + "9" * 5_000])
    def test_a_text_without_the_field_stays(self, text):
        assert ToolPolicy(strip=["lease"]).compared_text(text) == text

    def test_other_fields_are_not(self):
        run = [step("job", f'{{"releases": "{word}"}}') for word in ("ab", "cd", "ef")]
        assert check(REPEAT, ToolPolicy(strip=["lease"]), *run) is None

    def test_a_function_may_strip(self):
        run = [step("job", f"same\n-- {word}") for word in ("one", "two", "three")]
        policy = ToolPolicy(strip=lambda text: text.split("\n")[0])
        assert check(REPEAT, policy, *run).repetitions == 3

    @pytest.mark.parametrize("given", [None, 5, ["same"]])
    def test_a_function_that_gives_no_text_does_no_harm(self, given):
        run = [step("job", word) for word in ("one", "two", "three")]
        assert check(REPEAT, ToolPolicy(strip=lambda text: given), *run).repetitions == 3

    def test_a_function_that_raises_is_left_out_and_logged(self, caplog):
        with caplog.at_level(logging.ERROR, "antiloop"):
            policy = ToolPolicy(strip=lambda text: text.absent)
            assert check(REPEAT, policy, *[step("job", "same")] * 3).repetitions == 3
        assert "the strip= declared for tool 'job' raised" in caplog.text


every_detector = pytest.mark.parametrize(
    "detector",
    [
        StallDetector(3),
        StallDetector(3, only_fruitless=True, varied=5),
        RecurrenceDetector(3),
        NearRepeatDetector(3),
        NoEffectDetector(3),
        FailureStreakDetector(3, in_a_row=9),
        UnknownToolDetector(3),
    ],
    ids=lambda each: each.name,
)


class TestThresholds:
    def test_a_tool_may_have_a_threshold_of_its_own(self):
        run = [step("job", "same")] * 5
        assert check(REPEAT, ToolPolicy(thresholds={"repeat": 5}), *run[:4]) is None
        assert check(REPEAT, ToolPolicy(thresholds={"repeat": 5}), *run).repetitions == 5
        assert check(REPEAT, ToolPolicy(thresholds={"repeat": 2}), *run[:2]).repetitions == 2

    @every_detector
    def test_every_detector_minds_it(self, detector):
        run = [step("send", "Error: unknown tool send", to="ann")] * 5
        policy = ToolPolicy(thresholds={detector.name: 5})
        assert check([detector], ToolPolicy(), *run[:3], tool="send").repetitions == 3
        assert check([detector], policy, *run[:4], tool="send") is None
        assert check([detector], policy, *run, tool="send").repetitions == 5

    @every_detector
    def test_it_may_be_lower_than_that_of_the_detector(self, detector):
        run = [step("send", "Error: unknown tool send", to="ann")] * 2
        policy = ToolPolicy(thresholds={detector.name: 2})
        assert check([detector], policy, *run[:1], tool="send") is None
        assert check([detector], policy, *run, tool="send").repetitions == 2

    def test_a_known_answer_may_be_enough_the_second_time(self):
        policy = ToolPolicy(thresholds={"near_repeat": 2})
        run = [step("look", "the same page", q="Cats"), step("look", "the same page", q="cats ")]
        assert check([NearRepeatDetector(3)], policy, *run, tool="look").repetitions == 2

    def test_other_tools_keep_theirs(self):
        policy = ToolPolicy(thresholds={"repeat": 5})
        assert check(REPEAT, policy, *[step("ls", "same")] * 3).repetitions == 3

    def test_a_threshold_that_could_mean_nothing_is_refused(self):
        with pytest.raises(
            ValueError, match="threshold of 'repeat' must be a whole number, 2 or more, got 1"
        ):
            ToolPolicy(thresholds={"repeat": 1})


@pytest.mark.parametrize("name", ["key", "strip"])
@pytest.mark.parametrize("rule", ["command", True, [1]])
def test_what_is_no_list_of_names_is_refused(name, rule):
    message = f"{name} takes a list of names or a function, got {rule!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        ToolPolicy(**{name: rule})


def test_a_poll_is_told_by_lists_of_values():
    with pytest.raises(ValueError, match="poll takes a list of values for 'action', got 'log'"):
        ToolPolicy(poll={"action": "log"})
    policy = ToolPolicy(poll={"action": {"log", "state"}})
    assert [policy.polls({"action": value}) for value in ("log", ["log"])] == [True, False]


def test_each_call_of_a_tool_that_is_not_idempotent_is_its_own():
    detector = LoopDetector.escalating()
    press = {"press_key": ToolPolicy(idempotent=False)}
    for result in ("ok", "", "a long page " * 50):
        monitor = detector.monitor(press)
        said = [monitor.record_call("press_key", {"key": "down"}, result) for _ in range(12)]
        assert {verdict.action.value for verdict in said} == {"continue"}


def test_failures_of_such_a_tool_are_evidence_all_the_same():
    monitor = LoopDetector.escalating().monitor({"press_key": ToolPolicy(idempotent=False)})
    said = [monitor.record_call("press_key", {"key": "down"}, "Error: no window") for _ in range(3)]
    assert said[-1].action.value == "notify"


def test_a_call_of_its_own_survives_a_snapshot():
    detector = LoopDetector([RepeatDetector(2)], tools={"roll": ToolPolicy(idempotent=False)})
    monitor = detector.monitor()
    monitor.record_call("roll", {}, "6")
    copy = detector.monitor()
    copy.restore(monitor.snapshot())
    assert copy.record_call("roll", {}, "6").detection is None
    assert copy.snapshot()["window"]["calls"] == 2


def test_a_tool_can_need_fewer_laps():
    declared = {"look": ToolPolicy(thresholds={"ping_pong": 2})}
    monitor = LoopDetector([PingPongDetector(2, 3)], tools=declared).monitor()
    said = [monitor.record_call("look", {"at": number % 2}, "r") for number in range(4)]
    assert [verdict.detection is not None for verdict in said] == [False] * 3 + [True]


@pytest.mark.parametrize("first", [2, 5])
def test_the_most_patient_tool_of_a_cycle_decides(first):
    tools = {"look": first, "read": 7 - first, "list": None}
    declared = {
        tool: ToolPolicy(thresholds={"ping_pong": laps} if laps else {})
        for tool, laps in tools.items()
    }
    monitor = LoopDetector([PingPongDetector(3, 3)], tools=declared).monitor()
    said = [monitor.record_call(tool, {}, "r") for _ in range(5) for tool in tools]
    assert [verdict.detection is not None for verdict in said] == [False] * 14 + [True]


def test_a_tool_can_need_more_laps():
    declared = {"look": ToolPolicy(thresholds={"ping_pong": 5})}
    monitor = LoopDetector([PingPongDetector(2, 3)], tools=declared).monitor()
    said = [monitor.record_call("look", {"at": number % 2}, "r") for number in range(10)]
    assert [verdict.detection is not None for verdict in said] == [False] * 9 + [True]


@pytest.mark.parametrize(
    ("thresholds", "complaint"),
    [
        ({"repeats": 3}, "tools: look: no detector 'repeats'; there are repeat"),
        ({"repeat": 51}, "threshold 51 of repeat is more than the window holds; set window=51"),
    ],
)
def test_a_threshold_that_could_never_count_is_refused(thresholds, complaint):
    with pytest.raises(ValueError, match=complaint):
        LoopDetector([RepeatDetector()], tools={"look": ToolPolicy(thresholds=thresholds)})


@pytest.mark.parametrize("name", ["key", "strip"])
def test_the_names_in_a_policy_cannot_be_changed(name):
    policy = ToolPolicy(**{name: ["a"]})
    with pytest.raises(TypeError, match="cannot be changed"):
        getattr(policy, name).append("b")
    assert getattr(policy, name) == ["a"]
