"""Judging a run while it goes on, with rules of one's own."""

import pytest
from judged_runs import LOOK, RETRY, names_of, read, run_of, told

from antiloop import BaseDetector, LoopDetection, LoopDetector, ToolCall, health
from antiloop.health import HealthMonitor, HealthProfile, HealthRule, HealthStatus
from antiloop.loop_detection import RepeatDetector, ToolPolicy
from antiloop.traces import RunEvent


def feed(monitor, *steps):
    for tool, arguments, result in steps:
        monitor.add_round([ToolCall(tool, arguments)], [result])
    return monitor.report()


def test_a_run_can_be_asked_about_at_any_time():
    monitor = HealthMonitor()
    assert feed(monitor, LOOK, LOOK).score == 100
    assert feed(monitor, LOOK).status is HealthStatus.LIKELY_STUCK
    assert feed(monitor, read("a"), read("b")).status is HealthStatus.WARNING


def test_step_by_step_is_as_the_whole_run_at_once():
    steps = [LOOK, LOOK, read("a"), LOOK, LOOK, LOOK, read("b"), read("c"), *[LOOK] * 5]
    for end in range(len(steps)):
        monitor = HealthMonitor()
        # As in a recorded run, where the end of a run adds nothing that was not known before.
        assert feed(monitor, *steps[:end]) == health.evaluate(run_of(*steps[:end]))


def test_results_may_be_missing():
    monitor = HealthMonitor()
    for _ in range(3):
        monitor.add_round([ToolCall("look")], [])
    assert "loop_repeat" in names_of(monitor.report())


def test_the_user_speaks_by_an_event():
    monitor = HealthMonitor()
    feed(monitor, LOOK, LOOK)
    monitor.add(RunEvent("user_message", 2))
    assert feed(monitor, LOOK, LOOK).score == 100


def test_a_run_may_fail_by_an_event_or_at_its_end():
    for end in (lambda m: m.add(RunEvent("run_failed")), lambda m: m.end(failed=True)):
        monitor = HealthMonitor()
        end(monitor)
        monitor.end()
        assert monitor.report().status is HealthStatus.FAILED


def test_what_is_held_is_bounded():
    monitor = HealthMonitor(HealthProfile().literal())
    for number in range(1_500):
        monitor.add_round([ToolCall(f"tool_{number}", {"n": number})], ["x"])
        monitor.add(RunEvent("tool_call_completed", number, tokens=1))
    for counter, _ in monitor._of_calls:
        assert len(counter._hits) <= 1_000
    assert len(monitor._waste._tokens._waiting) <= 200


def test_of_a_message_that_quotes_a_long_result_little_is_kept():
    def key(seen, *_):
        return seen.step

    rule = HealthRule("quote", 3, 1, "{item.result}", "why", "so what", of_call=key)
    monitor = HealthMonitor(HealthProfile(rules=(rule,)).literal())
    for number in range(9):
        monitor.add_round([ToolCall("a", {"n": number})], [f"{number} " + "word " * 20_000])
    assert all(len(each._message) <= 300 for each in monitor._raised.values())
    assert all(len(each.message) <= 300 for each in monitor.report().warnings)


def test_numbers_are_data():
    run = told(read("a"), RETRY, RETRY)
    strict = HealthProfile(failure_penalty=5).with_rule("retry_storm", threshold=2, penalty=60)
    report = health.evaluate(run, profile=strict)
    assert (report.score, report.status) == (40, HealthStatus.LIKELY_STUCK)
    assert health.evaluate(run, profile=strict.without("retry_storm")).score == 100
    generous = HealthProfile(healthy_from=0)
    assert health.evaluate(run_of(*[LOOK] * 9), profile=generous).status is HealthStatus.HEALTHY


def test_a_profile_of_ones_own_may_be_taken_to_the_letter():
    profile = HealthProfile().without("no_progress")
    report = health.evaluate(run_of(*[LOOK] * 3), literal=True, profile=profile)
    assert report.score == 40


def test_rules_are_data():
    def key(event, run, profile):
        return "boom" if event.type == "boom" else None

    rule = HealthRule("boom", 7, 2, "It went boom {count} times.", "loud", "quieter", of_event=key)
    profile = HealthProfile(rules=(*health.RULES, rule))
    report = health.evaluate(told(read("a"), *[{"type": "boom"}] * 3), profile=profile)
    assert (report.score, report.warnings[0].message) == (93, "It went boom 3 times.")


def test_an_unknown_rule_is_refused():
    for change in (HealthProfile().without, HealthProfile().with_rule):
        with pytest.raises(ValueError, match="no rule 'boom'; there are repeated_tool_call, "):
            change("boom")


@pytest.mark.parametrize(
    "numbers",
    [
        {"threshold": 0},
        {"threshold": 2.5},
        {"threshold": 9, "window": 8},
        {"penalty": -1},
        {"per": "run"},
    ],
)
def test_a_rule_that_could_not_mean_anything_is_refused(numbers):
    with pytest.raises(ValueError, match="must be"):
        HealthProfile().with_rule("repeated_tool_call", **numbers)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"similarity": 85}, "similarity must be from 0 to 1, got 85"),
        ({"long_step_s": "30"}, "long_step_s must be 0 or more, got '30'"),
        ({"recovery_rounds": 0}, "recovery_rounds must be 1 or more, got 0"),
        ({"cost_budget": float("nan")}, "cost_budget must be 0 or more, got nan"),
        ({"rules": health.RULES * 2}, "two rules 'repeated_tool_call'; with_rule changes one"),
    ],
)
def test_a_profile_that_could_not_mean_anything_is_refused(numbers, told):
    with pytest.raises(ValueError, match=told):
        HealthProfile(**numbers)


def test_a_message_asks_for_what_there_is():
    with pytest.raises(
        ValueError, match="'retry_storm' asks for 'cuont'; there are count, times, item"
    ):
        HealthProfile().with_rule("retry_storm", message="{cuont} retries")


def test_a_rule_sees_what_came_back():
    def key(seen, run, profile):
        return "late" if "too late" in seen.result.text else None

    rule = HealthRule("late", 7, 1, "{item.tool} was late.", "w", "s", of_call=key)
    profile = HealthProfile(rules=(rule,), needs_evidence=False)
    report = health.evaluate(run_of(read("a"), ("book", {}, "too late")), profile=profile)
    assert [each.message for each in report.warnings] == ["book was late."]


def test_another_detector_brings_other_evidence():
    eager = HealthProfile(detector=LoopDetector([RepeatDetector(2)]))
    report = health.evaluate(run_of(LOOK, LOOK), profile=eager)
    assert names_of(report) == ["loop_repeat"]
    assert report.score == 75


def test_a_tool_that_is_exempt_is_no_evidence():
    exempt = LoopDetector([RepeatDetector(2)], tools={"look": ToolPolicy(exempt=True)})
    run = run_of(LOOK, LOOK, LOOK)
    assert health.evaluate(run, profile=HealthProfile(detector=exempt)).score == 100


class Grumpy(BaseDetector):
    """Finds a loop in anything, and names no calls."""

    name = "grumpy"

    def check(self, tool_calls, tool_results):
        return LoopDetection(self.name, "I do not like it.")


def test_a_finding_that_names_no_calls_is_of_the_latest():
    profile = HealthProfile(detector=LoopDetector([Grumpy()]))
    report = health.evaluate(run_of(read("a"), read("b")), profile=profile)
    assert [(each.name, each.steps) for each in report.warnings] == [("loop_grumpy", (0, 1))]
    assert report.wasted_calls == 0


@pytest.mark.parametrize("profile", [{}, LoopDetector.default(), HealthProfile])
def test_a_profile_that_is_none_is_refused(profile):
    with pytest.raises(TypeError, match="profile must be a HealthProfile or None, got"):
        HealthMonitor(profile)


def test_the_suspicion_of_each_round_is_kept_as_a_monitor_tells_it():
    run = run_of(*[LOOK] * 5)
    monitor = LoopDetector.escalating().monitor(live=False)
    rounds = zip(run.calls, run.results)
    told = [(step, monitor.after([c], [r]).suspicion) for step, (c, r) in enumerate(rounds)]
    kept = health.evaluate(run).suspicion
    assert kept == tuple(each for each in told if each[1])
    assert kept[-1] == (4, 1.0)


def test_a_path_is_not_a_run():
    with pytest.raises(TypeError, match=r"evaluate takes a RecordedRun, got 'a.jsonl'; read_runs"):
        health.evaluate("a.jsonl")
