"""The default profile: the same warnings, but only with evidence."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_runs import (
    LOOK,
    RETRY,
    cost,
    edit,
    error,
    handoff,
    names_of,
    read,
    run_of,
    told,
    took,
    warning,
)

from antiloop import LoopDetector, ToolCall, health
from antiloop.health import HealthProfile, HealthStatus
from antiloop.prices import Price, Prices
from antiloop.traces import RecordedRun, RunEvent, read_runs, replay

EXAMPLES = str(Path(__file__).parents[2] / "docs" / "examples" / "runs.jsonl")

HEALTHY = {
    "three files": [read("a.py"), read("b.py"), read("c.py")],
    "a poll that moves on": [
        ("job_status", {"id": 7}, json.dumps({"state": "running", "percent": percent}))
        for percent in range(0, 100, 10)
    ],
    "an edit and test cycle": [
        step
        for number in range(1, 6)
        for step in (edit(number), ("test", {"path": "tests"}, f"{6 - number} failed"))
    ],
    "two retries, then success": [
        ("get", {"url": "/a"}, error("503 unavailable")),
        ("get", {"url": "/a"}, error("503 unavailable")),
        ("get", {"url": "/a"}, "the page"),
    ],
}

STUCK = {
    "the same call and result": [LOOK] * 6,
    "ping-pong": [LOOK, read("a.py")] * 5,
    "the same failure whatever is asked": [
        ("get", {"id": number}, error(f"Error: {number} not found")) for number in range(1000, 1006)
    ],
    "duplicate messages": [
        ("send_message", {"to": "ann", "text": "hi"}, f"sent, message_id=m-{number}")
        for number in range(5)
    ],
    "an unknown tool": [
        ("frobnicate", {"n": number}, error("Error: unknown tool 'frobnicate'"))
        for number in range(6)
    ],
}


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_healthy_work_is_healthy(steps):
    report = health.evaluate(run_of(*steps))
    assert (report.score, report.status, names_of(report)) == (100, HealthStatus.HEALTHY, [])


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_to_the_letter_the_same_work_is_not(steps):
    assert health.evaluate(run_of(*steps), literal=True).score < 80


@pytest.mark.parametrize("steps", STUCK.values(), ids=STUCK)
def test_an_obvious_loop_is_not_healthy(steps):
    report = health.evaluate(run_of(*steps))
    assert report.status is HealthStatus.LIKELY_STUCK
    assert any(name.startswith("loop_") for name in names_of(report))
    assert 0 < report.wasted_calls < report.calls == len(steps)
    assert all(each.is_open for each in report.warnings)


def test_a_detection_is_a_warning_that_takes_nothing_twice():
    report = health.evaluate(run_of(*[LOOK] * 6))
    found = warning(report, "loop_repeat")
    assert found.message == 'look "door" 6 times in a row: "The door is closed."'
    assert (found.step, found.steps, found.count) == (2, (0, 1, 2, 3, 4, 5), 6)
    assert found.penalty == 0
    assert report.score == health.evaluate(run_of(*[LOOK] * 6), literal=True).score == 10


def test_a_detection_alone_takes_its_own_penalty():
    steps = [(f"tool_{n}", {"n": n}, error(f"Error: no {n * 'x'} here")) for n in range(1, 12)]
    report = health.evaluate(run_of(*steps))
    assert [(each.name, each.penalty) for each in report.warnings] == [("loop_failure_streak", 25)]
    assert (report.score, report.status) == (75, HealthStatus.WARNING)


def test_a_loop_that_ended_closes_its_warnings_and_half_of_the_score_comes_back():
    later = [read("a.py"), read("b.py")]
    left = health.evaluate(run_of(*[LOOK] * 6, *later))
    assert not any(each.is_open for each in left.warnings)
    assert (left.score, left.status) == (55, HealthStatus.WARNING)
    assert warning(left, "repeated_tool_call").penalty == 7.5
    just_left = health.evaluate(run_of(*[LOOK] * 6, *later[:1]))
    assert all(each.is_open for each in just_left.warnings)


def test_a_loop_that_comes_back_opens_its_warnings_again():
    steps = [*[LOOK] * 4, read("a.py"), read("b.py"), *[LOOK] * 4]
    report = health.evaluate(run_of(*steps))
    assert all(each.is_open for each in report.warnings)
    assert warning(report, "loop_repeat").count == 8


@pytest.mark.parametrize("literal", [True, False])
def test_each_loop_has_a_warning_of_its_own_that_names_its_tool(literal):
    tools = ["look", "peek", "stare"]
    steps = [
        step
        for tool in tools
        for step in (*[(tool, {"at": tool}, f"{tool} is shut")] * 4, read(tool), read(f"{tool}.b"))
    ]
    report = health.evaluate(run_of(*steps), literal=literal)
    names = {each.name for each in report.warnings}
    assert {"repeated_tool_call_exact_input", "no_progress", "repeated_tool_call"} <= names
    assert ("loop_repeat" in names) is not literal
    for name in names:
        own = [each for each in report.warnings if each.name == name]
        found = {
            tool: [each for each in own if re.search(rf"^{tool} |'{tool}'", each.message)]
            for tool in tools
        }
        for at, tool in enumerate(tools):
            assert [each.steps for each in found[tool]] == [tuple(range(6 * at, 6 * at + 4))]
            assert found[tool][0].step == 6 * at + 2
    paid = [each.name for each in report.warnings if each.penalty]
    assert (len(paid) == len(set(paid))) is not literal


def test_a_rule_takes_its_penalty_once_by_a_loop_that_goes_on():
    ended = [*[LOOK] * 4, read("a.py"), read("b.py")]
    report = health.evaluate(run_of(*ended, *[("peek", {}, "nothing new")] * 4))
    exact = [each for each in report.warnings if each.name == "repeated_tool_call_exact_input"]
    assert [(each.is_open, each.penalty) for each in exact] == [(False, 0), (True, 25)]
    assert report.score == health.evaluate(run_of(*[LOOK] * 4)).score


def test_loops_without_end_have_few_warnings():
    steps = [step for n in range(120) for step in [("get", {"n": n}, f"answer {n}")] * 3]
    report = health.evaluate(run_of(*steps), literal=True)
    exact = [each for each in report.warnings if each.name == "repeated_tool_call_exact_input"]
    assert len(exact) == 51
    assert sum(each.count for each in exact) == len(steps)


counted = st.lists(
    st.tuples(st.sampled_from(["get", "see"]), st.integers(0, 2), st.integers(0, 1)),
    min_size=3,
    max_size=24,
)


@given(counted, st.integers(1, 3))
def test_what_a_message_counts_is_what_there_was(steps, times):
    calls = [(tool, {"n": n}, f"answer {r}") for tool, n, r in steps for _ in range(times)]
    for literal in (True, False):
        for each in health.evaluate(run_of(*calls), literal=literal).warnings:
            if not each.name.startswith(("repeated_tool_call_exact", "no_progress")):
                continue
            told_count = int(re.search(r"called (\d+) times( in loops)?", each.message)[1])
            assert told_count == each.count == len(each.steps)
            tool = re.match(r"Tool '(\w+)'", each.message)[1]
            assert {calls[step][0] for step in each.steps} == {tool}
            same = [call for call in calls if call[:2] == calls[each.step][:2]]
            if literal and "exact" in each.name:
                assert told_count == len(same)
            assert (" in loops" in each.message) is not literal


def test_a_loop_longer_than_the_window_tells_all_its_calls():
    found = warning(health.evaluate(run_of(*[LOOK] * 70)), "loop_repeat")
    assert found.count == 70
    assert found.message.endswith("70 calls in all.")


def test_the_user_closes_what_was_open():
    report = health.evaluate(run_of(*[LOOK] * 4, read("a.py"), turn_starts=(0, 4)))
    assert not any(each.is_open for each in report.warnings)
    asked_again = run_of(*[LOOK] * 4, turn_starts=(2,))
    assert health.evaluate(asked_again).score == 100


def test_the_user_is_heard_once_though_the_events_tell_it_too():
    events = (RunEvent("user_message", 2), RunEvent("run_completed", 4))
    run = run_of(*[LOOK] * 4, turn_starts=(2,), events=events)
    assert health.evaluate(run).score == 100


def test_progress_between_the_calls_of_a_loop_is_seen_late_but_right():
    state = {"type": "state_updated"}
    run = told(LOOK, LOOK, state, LOOK, LOOK, state, LOOK)
    assert "loop_repeat" in names_of(health.evaluate(run))
    assert "no_progress" not in names_of(health.evaluate(run))


def test_only_retries_with_nothing_new_in_between_are_a_storm():
    apart = [part for at in range(4) for part in (read(f"{at}.py"), RETRY)]
    assert health.evaluate(told(*apart)).score == 100
    assert names_of(health.evaluate(told(read("a.py"), RETRY, RETRY, RETRY))) == ["retry_storm"]


def test_only_handoffs_with_nothing_new_in_between_are_a_bounce():
    there, back = handoff("planner", "coder"), handoff("coder", "planner")
    working = [part for at in range(3) for part in (there, edit(at + 1), back, read(f"{at}.py"))]
    assert health.evaluate(told(*working)).score == 100
    assert names_of(health.evaluate(told(there, back, there))) == ["handoff_bounce"]


def test_a_long_step_counts_if_nothing_came_of_it():
    assert health.evaluate(told(read("a.py"), took(90_000))).score == 100
    assert health.evaluate(told(read("a.py"), took(90_000, "llm_call_completed"))).score == 100
    hung = told(("get", {"url": "/a"}, error("Error: timed out")), took(90_000))
    assert names_of(health.evaluate(hung)) == ["long_running_step"]


def test_first_costs_are_no_spike():
    costs = [cost(0.06), cost(0.2), cost(0.06), cost(0.06)]
    assert health.evaluate(told(*costs)).score == 100
    assert names_of(health.evaluate(told(*costs, cost(0.9)))) == ["cost_spike"]


def test_costs_are_not_forgiven():
    steps = [cost(0.01), *[read("a.py"), cost(0.01)] * 4, cost(0.9), read("b.py"), read("c.py")]
    spike = warning(health.evaluate(told(*steps)), "cost_spike")
    assert (spike.is_open, spike.penalty, spike.step) == (True, 15, 4)


def test_wasted_tokens_are_those_of_wasted_calls_and_of_the_replies_that_asked():
    parts = []
    for _ in range(4):
        reply = {"type": "llm_call_completed", "input_tokens": 90, "output_tokens": 10}
        parts += [reply, LOOK, {"type": "tool_call_completed", "tokens": 1}]
    report = health.evaluate(told(*parts))
    assert (report.wasted_calls, report.wasted_tokens) == (3, 303)


def test_tokens_that_are_known_too_late_count_as_well():
    late = tuple(RunEvent("tool_call_completed", step, tokens=5) for step in range(4))
    run = run_of(*[LOOK] * 4, events=(RunEvent("x", 4), *late))
    assert health.evaluate(run).wasted_tokens == 15


def test_no_tokens_are_wasted_where_some_are_known_and_nothing_is_wasted():
    assert health.evaluate(told(read("a.py"), {"type": "x", "tokens": 5})).wasted_tokens == 0
    assert health.evaluate(run_of(*[LOOK] * 4)).wasted_tokens is None


PRICES = Prices({"small": Price(input=10, output=20, cached_input=1)})


def priced(*parts, **about):
    run = replace(told(*parts), **about)
    return health.evaluate(run, profile=HealthProfile(prices=PRICES))


def replies(count, **amounts):
    for _ in range(count):
        yield {"type": "llm_call_completed", **amounts}
        yield LOOK


def test_money_is_wasted_on_the_replies_that_asked_for_wasted_calls():
    report = priced(*replies(4, model="small", input_tokens=90_000, output_tokens=5_000))
    assert (report.cost, report.wasted_cost) == (pytest.approx(4.0), pytest.approx(3.0))


def test_what_comes_from_a_cache_is_cheaper():
    amounts = {"input_tokens": 90_000, "output_tokens": 5_000, "cached_tokens": 90_000}
    report = priced(*replies(4, model="small", **amounts))
    assert report.wasted_cost == pytest.approx(3 * 0.19)


def test_a_recorded_cost_counts_before_a_price():
    report = priced(*replies(4, model="small", input_tokens=90_000, cost=0.5))
    assert (report.cost, report.wasted_cost) == (2.0, 1.5)


def test_without_a_price_no_money_is_known():
    report = priced(*replies(4, model="large", input_tokens=90_000))
    assert (report.cost, report.wasted_cost) == (None, None)
    assert health.evaluate(told(*replies(4, model="small", input_tokens=9))).wasted_cost is None


def test_the_model_of_the_run_stands_in_for_that_of_its_replies():
    assert priced(*replies(4, input_tokens=100_000), model="small").wasted_cost == pytest.approx(3)


def test_a_run_that_only_tells_its_sums_has_a_cost():
    run = replace(run_of(*[LOOK] * 4), model="small", input_tokens=100_000, output_tokens=0)
    report = health.evaluate(run, profile=HealthProfile(prices=PRICES))
    assert (report.cost, report.wasted_cost) == (pytest.approx(1), None)


def test_the_verdicts_are_those_of_a_replay():
    for run in read_runs(EXAMPLES):
        verdicts = list(replay(run, LoopDetector.escalating()))
        for literal in (False, True):
            assert list(health.evaluate(run, literal=literal).verdicts) == verdicts


def test_parallel_calls_are_one_round():
    calls = tuple(ToolCall("look", {}, round=at // 3) for at in range(9))
    report = health.evaluate(RecordedRun("r", calls, (None,) * 9))
    assert [step for step, _ in report.verdicts] == [8]
    first_rounds = RecordedRun("r", calls[:6], (None,) * 6)
    assert health.evaluate(first_rounds).score == 100


def test_an_event_of_a_parallel_call_waits_for_its_round():
    calls = tuple(ToolCall("look", {"n": at}, round=0) for at in range(3))
    events = (
        RunEvent("tool_call_completed", 2, latency_ms=99_000),
        RunEvent("tool_call_completed", 9),
    )
    assert (
        health.evaluate(RecordedRun("r", calls, run_of(*[LOOK] * 3).results, events=events)).score
        == 100
    )


def test_the_report_is_plain_json():
    report = health.evaluate(told(*[LOOK] * 4, {"type": "x", "tokens": 5, "cost": 0.1}))
    data = json.loads(json.dumps(report.to_dict()))
    assert (data["score"], data["status"], data["calls"]) == (10, "Likely stuck", 4)
    assert (data["wasted_calls"], data["wasted_tokens"], data["cost"]) == (3, 0, 0.1)
    assert set(data["warnings"][0]) == {
        *("name", "message", "why", "suggestion", "step", "steps", "count", "penalty", "is_open")
    }
    assert data["verdicts"][0] == {
        "step": 2,
        "detector": "repeat",
        "action": "notify",
        "severity": "warning",
        "message": 'look "door" 3 times in a row: "The door is closed."',
        "calls": [{"tool": "look", "arguments": '{"at":"door"}'}],
        "answer": "The door is closed.",
    }


def test_every_warning_says_why_and_what_to_try():
    report = health.evaluate(
        run_of(*[LOOK] * 4), literal=True, profile=HealthProfile(cost_budget=0)
    )
    assert all(each.message and each.why and each.suggestion for each in report.warnings)
    assert all(rule.why and rule.suggestion for rule in health.RULES)
