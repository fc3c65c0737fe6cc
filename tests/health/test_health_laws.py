"""What holds for every run, also one that no reader would make."""

import json

from hypothesis import given
from hypothesis import strategies as st
from judged_runs import run_of

from antiloop import ToolResult, health
from antiloop.health import HealthStatus
from antiloop.traces import RunEvent

NAMES = st.sampled_from(["look", "search", "edit"])
RESULTS = st.sampled_from(
    [None, "", "no results", "ok", "page 1", "page 2", ToolResult("Error: failed", is_error=True)]
)
STEPS = st.tuples(NAMES, st.sampled_from([{}, {"q": 1}, {"q": 2}, None, "{"]), RESULTS)
EVENTS = st.builds(
    RunEvent,
    st.sampled_from(
        """
        handoff_started llm_call_completed memory_write retry_triggered run_failed state_updated
        tool_call_completed user_message something_else
        """.split()
    ),
    st.integers(-1, 14),
    agent=st.sampled_from([None, "a", "b"]),
    to_agent=st.sampled_from([None, "a", "b"]),
    latency_ms=st.sampled_from([None, 1.0, 1e6]),
    cost=st.sampled_from([None, 0.0, 0.01, 0.9]),
    tokens=st.sampled_from([None, 0, 7]),
)
RUNS = st.builds(
    lambda steps, events, turns: run_of(*steps, events=tuple(events), turn_starts=tuple(turns)),
    st.lists(STEPS, max_size=12),
    st.lists(EVENTS, max_size=12),
    st.sets(st.integers(0, 12), max_size=2).map(sorted),
)


@given(RUNS, st.booleans())
def test_a_report_is_sound_whatever_the_run(run, literal):
    report = health.evaluate(run, literal=literal, cost_budget=0.5)
    json.dumps(report.to_dict(), allow_nan=False)
    assert 0 <= report.score <= 100
    assert (report.score >= 80) == (report.status is HealthStatus.HEALTHY) or run_failed(run)
    assert report.calls == len(run) >= report.wasted_calls
    for each in report.warnings:
        assert each.count >= len(each.steps)
        assert list(each.steps) == sorted(set(each.steps))
        assert each.step in each.steps or (not run.calls and each.step == 0)
        assert each.is_open or not literal


def run_failed(run):
    return any(event.type == "run_failed" for event in run.events)


@given(st.lists(STEPS, max_size=20))
def test_with_evidence_no_rule_says_more_than_to_the_letter(steps):
    run = run_of(*steps)
    literal = health.evaluate(run, literal=True).warnings
    for each in health.evaluate(run).warnings:
        named = [other for other in literal if other.name == each.name]
        fuller = [other for other in named if set(each.steps) <= set(other.steps)]
        assert fuller or each.name.startswith("loop_")
