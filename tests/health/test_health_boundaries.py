"""The edges of the rules: the last value that is not yet a warning, and the first that is."""

import json
import re
from dataclasses import fields, replace
from math import inf

import pytest
from judged_runs import LOOK, RETRY, STATE, cost, names_of, read, run_of, told, took, warning

from antiloop import LoopDetector, ToolCall, health
from antiloop.health import HealthMonitor, HealthProfile, HealthRule
from antiloop.health._counting import RuleCounter
from antiloop.health._rules import is_empty_result
from antiloop.loop_detection import LoopAction, LoopVerdict, ToolPolicy
from antiloop.traces import RunEvent

LITERAL = HealthProfile().literal()


def test_calls_without_a_result_count_like_others():
    monitor = HealthMonitor(LITERAL)
    monitor.add_round([ToolCall("look"), ToolCall("look"), ToolCall("look")], ["closed"])
    report = monitor.report()
    assert report.calls == 3
    assert warning(report, "repeated_tool_call_exact_input").steps == (0, 1, 2)


def test_a_run_that_ends_without_a_word_has_not_failed():
    monitor = HealthMonitor()
    monitor.end()
    assert monitor.report().status is health.HealthStatus.HEALTHY


def test_the_cost_of_a_whole_run_comes_as_an_event_of_its_end():
    def key(event, run, profile):
        return event.type

    rule = HealthRule("any", 1, 1, "{item.type} at {item.step}", "w", "s", of_event=key)
    monitor = HealthMonitor(HealthProfile(rules=(rule,)))
    monitor.add_round([ToolCall("look")], ["closed"])
    monitor.end(cost=1.0)
    assert [each.message for each in monitor.report().warnings] == ["run_ended at 1"]


def test_the_same_input_is_what_the_policy_of_the_tool_compares():
    calls = [("look", {"at": "door", "trace": number}, "closed") for number in range(3)]
    name = "repeated_tool_call_exact_input"
    assert name not in names_of(health.evaluate(run_of(*calls), profile=LITERAL))
    detector = LoopDetector.escalating()
    detector = LoopDetector(detector.detectors, tools={"look": ToolPolicy(key=["at"])})
    profile = HealthProfile(detector=detector).literal()
    assert name in names_of(health.evaluate(run_of(*calls), profile=profile))


def test_arguments_are_shown_as_the_detector_masks_them():
    def hide(key, value):
        return "***" if key == "at" else value

    detector = LoopDetector(LoopDetector.escalating().detectors, mask=hide)
    report = health.evaluate(
        run_of(LOOK, LOOK, LOOK), profile=HealthProfile(detector=detector).literal()
    )
    assert "door" not in warning(report, "repeated_tool_call_exact_input").message


def test_the_call_to_blame_is_that_of_the_worst_stretch():
    report = health.evaluate(told(*[LOOK] * 3, STATE, *[LOOK] * 4), literal=True)
    assert warning(report, "no_progress").step == 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("repeated_tool_call", "Tool 'look' was called 5 times in loops within 8 tool calls."),
        (
            "repeated_tool_call_exact_input",
            'Tool \'look\' was called 5 times in loops with the same input: {"at":"door"}.',
        ),
    ],
)
def test_with_evidence_a_message_says_that_calls_of_loops_are_counted(name, message):
    assert warning(health.evaluate(run_of(*[LOOK] * 5)), name).message == message
    literal = warning(health.evaluate(run_of(*[LOOK] * 5), literal=True), name).message
    assert literal == message.replace(" in loops", "")


@pytest.mark.parametrize(
    "numbers", [{"similarity": 1}, {"healthy_from": 100, "recovery": 0}, {"loop_penalty": 0}]
)
def test_the_limits_of_a_number_are_allowed(numbers):
    assert HealthProfile(**numbers)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"threshold": 2.5}, "threshold must be a whole number, 1 or more, got 2.5"),
        ({"window": 8.5}, "window must be a whole number, 3 or more, got 8.5"),
        ({"window": 2}, "window must be a whole number, 3 or more, got 2"),
        ({"penalty": -0.5}, "penalty must be 0 or more, got -0.5"),
        ({"per": "run"}, "per must be one of key, tool, rule, got 'run'"),
    ],
)
def test_a_rule_says_what_its_numbers_may_be(numbers, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        HealthProfile().with_rule("repeated_tool_call", **numbers)


def test_a_rule_may_take_nothing_and_parts_of_a_point():
    for penalty in (0, 0.5):
        profile = LITERAL.with_rule("retry_storm", penalty=penalty)
        assert warning(
            health.evaluate(told(*[RETRY] * 3), profile=profile), "retry_storm"
        ).penalty == (penalty)


@pytest.mark.parametrize(
    "profile",
    [
        LITERAL.with_rule("no_progress", penalty=inf),
        HealthProfile(loop_penalty=inf),
        HealthProfile(failure_penalty=inf),
    ],
)
def test_a_penalty_without_a_limit_leaves_nothing(profile):
    run = replace(run_of(read("a"), read("a"), read("a"), read("a")), failed=True)
    rules = [rule.name for rule in profile.rules if rule.of_call and rule.penalty < inf]
    assert health.evaluate(run, profile=profile.without(*rules)).score == 0


def test_a_report_is_plain_data_as_json():
    report = health.evaluate(run_of(*[LOOK] * 3))
    told_of = report.to_dict()
    assert told_of.keys() == {field.name for field in fields(report)}
    assert json.loads(json.dumps(told_of)) == {**told_of, "verdicts": list(told_of["verdicts"])}
    assert (told_of["status"], type(told_of["status"])) == ("Likely stuck", str)
    assert (told_of["score"], told_of["calls"]) == (report.score, 3)
    assert told_of["warnings"][0]["steps"] == [0, 1, 2]
    assert told_of["verdicts"] == [
        {
            "step": 2,
            "detector": "repeat",
            "action": "notify",
            "severity": "warning",
            "message": 'look "door" 3 times in a row: "The door is closed."',
            "calls": [{"tool": "look", "arguments": '{"at":"door"}'}],
            "answer": "The door is closed.",
        }
    ]


def test_a_verdict_without_a_detection_tells_its_own_message():
    verdict = LoopVerdict(LoopAction.CONTINUE, message="nothing to see")
    report = health.HealthReport(100, health.HealthStatus.HEALTHY, verdicts=((0, verdict),))
    assert report.to_dict()["verdicts"] == [
        {
            "step": 0,
            "detector": "",
            "action": "continue",
            "severity": "ok",
            "message": "nothing to see",
            "calls": [],
            "answer": "",
        }
    ]


def test_where_the_user_spoke_is_told_by_the_turns_of_a_run_alone():
    spoken = {"type": "user_message"}
    assert health.evaluate(told(LOOK, LOOK, spoken, LOOK, LOOK)).score < 80
    assert health.evaluate(run_of(LOOK, LOOK, LOOK, LOOK, turn_starts=(2,))).score == 100


def test_what_took_no_known_time_is_no_long_step():
    strict = HealthProfile(long_step_s=0.5).literal()
    assert health.evaluate(told(read("a"), cost(0.01)), profile=strict).score == 100
    assert health.evaluate(told(read("a"), took(501)), profile=strict).score == 90


@pytest.mark.parametrize("kind", ["tool_call_completed", "tool_call_failed"])
def test_with_evidence_only_a_call_that_brought_nothing_new_is_a_long_step(kind):
    again = told(LOOK, LOOK, LOOK, took(40_000, kind))
    assert warning(health.evaluate(again), "long_running_step").step == 2
    assert health.evaluate(told(read("a"), took(40_000, kind))).score == 100


@pytest.mark.parametrize(("before", "is_spike"), [(3, False), (4, True)])
def test_with_evidence_a_spike_needs_four_costs_before_it(before, is_spike):
    report = health.evaluate(told(*[cost(0.01)] * before, cost(1.0)))
    assert ("cost_spike" in names_of(report)) is is_spike


@pytest.mark.parametrize(("budget", "costs"), [(0.04, [0.04, 0.01]), (0.5, [3.0]), (0, [0.1])])
def test_a_budget_is_exceeded_by_the_event_that_goes_beyond_it(budget, costs):
    run = told(*map(cost, costs))
    assert "cost_budget_exceeded" in names_of(health.evaluate(run, cost_budget=budget))
    assert health.evaluate(run, cost_budget=sum(costs)).score == 100


@pytest.mark.parametrize("told_budget", ["0", "0.5"])
def test_a_budget_of_nothing_or_less_than_one_is_a_budget(monkeypatch, told_budget):
    monkeypatch.setenv("ANTILOOP_COST_BUDGET", told_budget)
    assert names_of(health.evaluate(run_of(read("a"), cost=0.7))) == ["cost_budget_exceeded"]


@pytest.mark.parametrize(
    ("shared", "differing", "is_similar"), [(17, 3, True), (16, 4, False), (12, 8, False)]
)
def test_texts_that_begin_and_end_alike_are_similar_from_85_percent_on(
    shared, differing, is_similar
):
    # Canonical JSON adds 8 characters; the middles have no character in common.
    start, end = "s" * shared, "e" * (shared - 8)
    texts = [f"{start}{letter * 2 * differing}{end}" for letter in "abc"]
    report = health.evaluate(run_of(*[("f", {"q": text}, text) for text in texts]), literal=True)
    assert ("repeated_tool_call_similar_input" in names_of(report)) is is_similar


@pytest.mark.parametrize("window", [None, 8])
def test_a_rule_remembers_no_more_calls_than_it_looks_at(window):
    counter = RuleCounter(HealthRule("r", 1, 3, "m", "w", "s", window=window))
    for number in range(50):
        tally = counter.add("key", (number, number))
    assert [step for _, step in tally.items] == list(range(50 - (window or 3), 50))


def test_events_before_any_call_concern_no_call():
    storm = warning(health.evaluate(told(*[RETRY] * 3)), "retry_storm")
    assert (storm.step, storm.steps, storm.count) == (0, (), 3)


def test_words_of_nothing_are_short():
    assert is_empty_result("no data" + "." * 193)
    assert not is_empty_result("no data" + "." * 194)


def test_a_monitor_takes_events_after_the_calls_they_speak_of():
    monitor = HealthMonitor(LITERAL)
    for _ in range(2):
        monitor.add_round([ToolCall("look")], ["closed"])
    monitor.add(RunEvent("tool_call_failed", 0, latency_ms=31_000))
    assert warning(monitor.report(), "long_running_step").step == 0


def test_a_report_says_in_short_how_a_run_did():
    assert repr(health.evaluate(run_of(read("a")))) == "HealthReport(100, Healthy, 0 warnings)"
    slow = health.evaluate(told(read("a"), took(31_000)), literal=True)
    assert repr(slow) == "HealthReport(90, Healthy, 1 warning)"
