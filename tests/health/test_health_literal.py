"""The table to the letter: each rule at its boundary."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_runs import (
    LOOK,
    RETRY,
    STATE,
    cost,
    handoff,
    names_of,
    read,
    run_of,
    told,
    took,
    warning,
)

from antiloop import ToolCall, ToolResult, health
from antiloop.health import HealthStatus
from antiloop.health._rules import is_empty_result
from antiloop.traces import RecordedRun

PENALTIES = {
    "repeated_tool_call": 15,
    "repeated_tool_call_similar_input": 20,
    "repeated_tool_call_exact_input": 25,
    "no_progress": 30,
    "empty_result_loop": 20,
    "retry_storm": 20,
    "long_running_step": 10,
    "cost_spike": 15,
    "cost_budget_exceeded": 15,
    "handoff_bounce": 20,
}


def judged(*parts, **fields):
    return health.evaluate(told(*parts, **fields), literal=True)


def other(number):
    return (f"tool_{number}", {"n": number}, f"answer {number}")


def test_the_penalties_are_those_of_the_table():
    assert {rule.name: rule.penalty for rule in health.RULES} == PENALTIES


def test_nothing_happened():
    report = judged()
    assert (report.score, report.status, report.warnings) == (100, HealthStatus.HEALTHY, ())
    assert (report.calls, report.wasted_calls, report.wasted_tokens, report.cost) == (
        0,
        0,
        None,
        None,
    )


def test_one_loop_trips_several_rules():
    report = judged(LOOK, LOOK, LOOK)
    assert names_of(report) == [
        "repeated_tool_call",
        "repeated_tool_call_similar_input",
        "repeated_tool_call_exact_input",
        "no_progress",
    ]
    assert (report.score, report.status) == (10, HealthStatus.LIKELY_STUCK)
    assert [(each.step, each.steps, each.count) for each in report.warnings] == [
        (2, (0, 1, 2), 3)
    ] * 4


def test_two_calls_are_none():
    assert judged(LOOK, LOOK).score == 100


def test_a_warning_is_raised_once_and_its_count_grows():
    repeated = warning(judged(*[LOOK] * 6), "repeated_tool_call_exact_input")
    assert (repeated.count, repeated.step, repeated.steps) == (6, 2, (0, 1, 2, 3, 4, 5))
    assert repeated.message == (
        'Tool \'look\' was called 6 times with the same input: {"at":"door"}.'
    )


def test_large_counts_are_written_for_people():
    repeated = warning(judged(*[LOOK] * 1_001), "repeated_tool_call_exact_input")
    assert "called 1,001 times" in repeated.message


@pytest.mark.parametrize(("between", "is_found"), [(5, True), (6, False)])
def test_the_window_slides_over_tool_calls(between, is_found):
    others = [other(number) for number in range(between)]
    report = judged(read("a", "1"), *others, read("bbbbbbbbbbb", "2"), read("cccccccccccc", "3"))
    assert ("repeated_tool_call" in names_of(report)) is is_found


def test_events_do_not_move_the_window():
    report = judged(read("a", "1"), *[STATE] * 20, read("b", "2"), *[STATE] * 20, read("c", "3"))
    assert warning(report, "repeated_tool_call").step == 2


def test_similar_inputs_are_at_least_85_percent_alike():
    alike = [("search", {"q": f"weather in Paris {day}"}, day) for day in ("Mon", "Tue", "Fri")]
    assert "repeated_tool_call_similar_input" in names_of(judged(*alike))
    differing = [
        ("search", {"q": q}, q) for q in ("weather", "population of Norway", "cats & dogs")
    ]
    assert "repeated_tool_call_similar_input" not in names_of(judged(*differing))


def test_a_long_input_is_not_similar_to_a_short_one():
    texts = [("write", {"text": "word " * count}, f"{count}") for count in (10, 40, 160)]
    assert "repeated_tool_call_similar_input" not in names_of(judged(*texts))


def test_similar_inputs_are_found_among_others_of_the_tool():
    mixed = [
        ("search", {"q": text}, text)
        for at in range(3)
        for text in (f"cats on mars {at}", "x" * 90 * (at + 1))
    ]
    assert "repeated_tool_call_similar_input" in names_of(judged(*mixed))


def test_an_input_counts_with_each_that_it_is_similar_to():
    # The first and the third differ too much; the fourth is like each of the others.
    texts = [
        "cheap weather in Berlin today",
        "weather in Berlin today",
        "weather 2024 in Berlin today 2024",
        "weather in Berlin today",
    ]
    report = judged(*[("search", {"query": text}, text) for text in texts])
    similar = warning(report, "repeated_tool_call_similar_input")
    assert (similar.step, similar.count) == (3, 4)


def test_an_exact_input_counts_over_the_whole_run():
    parts = [part for at in range(3) for part in (LOOK, *(other(n + 50 * at) for n in range(40)))]
    assert warning(judged(*parts), "repeated_tool_call_exact_input").steps == (0, 41, 82)


def test_the_order_of_keys_makes_no_other_input():
    inputs = [{"a": 1, "b": 2}, '{"b": 2, "a": 1.0}', {"b": 2, "a": 1}]
    assert "repeated_tool_call_exact_input" in names_of(judged(*[("f", i, "x") for i in inputs]))


@pytest.mark.parametrize("event", ["state_updated", "memory_write"])
def test_progress_is_an_update_of_state_or_memory(event):
    calls = [read("a"), read("b"), read("c")]
    assert "no_progress" in names_of(judged(*calls))
    assert "no_progress" not in names_of(judged(*calls[:2], {"type": event}, *calls[2:]))
    again = judged(*calls[:2], {"type": event}, *calls)
    assert warning(again, "no_progress").count == 3


ANSWERS_OF_NOTHING = [
    "",
    "No results found.",
    "[]",
    "null",
    "no results",
    '{"results": [], "total": 0}',
    '{"next": null, "rows": {}, "text": ""}',
    ToolResult("", is_error=True),
    '{"data": {"items": []}}',
    '{"data": {"items": [], "page": {"next": null, "total": 0}}, "message": "Not found"}',
    "Not found",
    "404: Not Found.",
    "No data available",
    "no documents",
    "There are no matching documents.",
]


@pytest.mark.parametrize("answer", ANSWERS_OF_NOTHING)
def test_a_tool_that_gives_nothing(answer):
    steps = [("search", {"q": "x" * 9**at}, answer) for at in range(3)]
    assert "empty_result_loop" in names_of(judged(*steps))
    assert "empty_result_loop" not in names_of(judged(*steps[:2], other(1)))


GIVEN = [
    '{"found": 1, "rows": []}',
    '{"ok": false}',
    '{"rows": [0]}',
    '{"data": {"items": [], "page": {"next": "b"}}}',
    "Not found in the cache; read from disk: 7 rows.",
    "no data loss",
    "[" * 5_000,
    '{"a":' * 5_000 + "0" + "}" * 5_000,
    '{"a":' * 200 + "0" + "}" * 200,
]


@pytest.mark.parametrize("answer", GIVEN)
def test_a_tool_that_gives_something(answer):
    assert "empty_result_loop" not in names_of(judged(*[("search", {}, answer)] * 3))


fields = st.text("abc", min_size=1, max_size=3)
nothings = st.recursive(
    st.sampled_from([None, 0, "", [], {}, "Not found", "no documents"]),
    lambda inner: st.dictionaries(fields, inner, max_size=3),
)


@given(st.dictionaries(fields, nothings, min_size=1), fields, st.sampled_from([1, True, "x", [0]]))
def test_an_object_is_empty_as_long_as_nothing_in_it_is_something(empty, name, thing):
    assert is_empty_result(json.dumps(empty))
    assert not is_empty_result(json.dumps({**empty, name: thing}))
    assert not is_empty_result(json.dumps({"data": {**empty, name: thing}}))
    assert is_empty_result(json.dumps({"data": empty}, indent=2))


def test_an_unknown_result_is_not_empty():
    assert "empty_result_loop" not in names_of(judged(*[("f", {}, None)] * 3))


def test_an_answer_of_blanks_almost_without_end_is_judged_like_any_other():
    blanks = " " * 300_000
    for end, is_empty in (("x", False), ("}", True)):
        report = judged(*[("f", {"n": n}, f'{{"a": 0{blanks}{end}') for n in range(3)])
        assert ("empty_result_loop" in names_of(report)) is is_empty


def test_three_retries_are_a_storm_wherever_in_the_run():
    retries = [part for at in range(3) for part in (other(at), RETRY)]
    storm = warning(judged(*retries), "retry_storm")
    assert (storm.step, storm.steps, storm.count) == (2, (0, 1, 2), 3)
    assert judged(*retries[:4]).score == 100


@pytest.mark.parametrize("kind", ["tool_call_completed", "llm_call_completed", "anything"])
def test_a_step_over_30_seconds_is_long(kind):
    assert judged(other(1), took(30_000, kind)).score == 100
    report = judged(other(1), took(30_001, kind))
    assert (report.score, names_of(report)) == (90, ["long_running_step"])
    assert report.warnings[0].message == "A step took 30.001 s; the limit is 30 s."


def test_long_steps_are_one_warning_with_the_first_to_blame():
    report = judged(other(0), other(1), took(40_000), other(2), took(50_000))
    assert (report.score, report.warnings[0].count, report.warnings[0].step) == (90, 2, 1)
    assert "took 40 s" in report.warnings[0].message


@pytest.mark.parametrize(
    ("costs", "is_spike"),
    [
        ([0.06], True),
        ([0.05], False),
        ([0.06, 0.06], True),
        ([0.05, 0.06], True),
        ([0.05, 0.05], False),
        ([0.04, 0.05, 0.05], False),
        ([0.01, 0.04], False),
    ],
)
def test_a_spike_is_over_half_of_the_cost_so_far_and_over_the_floor(costs, is_spike):
    report = judged(*map(cost, costs))
    assert ("cost_spike" in names_of(report)) is is_spike
    assert report.cost == pytest.approx(sum(costs))


def test_a_budget_is_crossed_once():
    run = told(other(0), cost(0.04), other(1), cost(0.04), other(2), cost(0.04), other(3))
    report = health.evaluate(run, literal=True, cost_budget=0.05)
    assert [(each.name, each.step, each.count) for each in report.warnings] == [
        ("cost_budget_exceeded", 2, 1)
    ]
    assert report.score == 85
    assert health.evaluate(run, literal=True, cost_budget=0.12).score == 100


def test_a_budget_that_is_just_met_is_not_crossed():
    dimes = told(*[cost(0.1)] * 3)  # in binary fractions these add up to a bit more than 0.3
    assert health.evaluate(dimes, cost_budget=0.3).score == 100
    assert health.evaluate(run_of(other(0), cost=0.1 + 0.1 + 0.1), cost_budget=0.3).score == 100


def test_a_spike_is_over_half_and_not_half():
    assert names_of(judged(cost(0.01), cost(0.04), cost(0.05), cost(0.1), cost(0.2))) == []


def test_a_budget_is_asked_for():
    assert judged(cost(0.04), cost(0.04), cost(0.04)).score == 100


def test_the_cost_of_the_whole_run_counts_where_events_have_none():
    report = health.evaluate(run_of(other(0), other(1), cost=3.0), cost_budget=2.0)
    assert (report.cost, names_of(report)) == (3.0, ["cost_budget_exceeded"])
    assert report.warnings[0].step == 1
    assert report.warnings[0].message == "The run had cost 3.00; its budget is 2.00."


def test_the_environment_names_a_budget(monkeypatch):
    run = run_of(other(0), cost=3.0)
    monkeypatch.setenv("ANTILOOP_COST_BUDGET", "2.5")
    assert names_of(health.evaluate(run)) == ["cost_budget_exceeded"]
    assert names_of(health.evaluate(run, cost_budget=3)) == []
    assert names_of(health.evaluate(run, profile=health.HealthProfile(cost_budget=3))) == []
    monkeypatch.setenv("ANTILOOP_COST_BUDGET", "")
    assert names_of(health.evaluate(run)) == []


@pytest.mark.parametrize("told", ["two", "-1", "nan"])
def test_a_budget_that_is_no_amount_is_refused(monkeypatch, told):
    monkeypatch.setenv("ANTILOOP_COST_BUDGET", told)
    with pytest.raises(ValueError, match=f"BUDGET must be a number, 0 or more, got '{told}'"):
        health.evaluate(run_of())


def test_control_that_goes_back_and_forth():
    bounce = [handoff("a", "b"), handoff("b", "a"), handoff("a", "b")]
    report = judged(other(0), *bounce)
    assert (report.score, names_of(report)) == (80, ["handoff_bounce"])
    assert report.status is HealthStatus.HEALTHY
    assert report.warnings[0].message == "Control went 'a', 'b', 'a', 'b'."
    assert judged(*bounce[:2]).score == 100
    assert judged(*bounce, handoff("b", "a")).warnings[0].count == 2


@pytest.mark.parametrize(
    "handoffs",
    [
        [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b")],
        [("a", "b"), ("b", "b"), ("b", "a")],
        [("a", "a")] * 4,
    ],
)
def test_other_ways_of_control_are_no_bounce(handoffs):
    assert judged(*(handoff(*each) for each in handoffs)).score == 100


def test_who_hands_over_may_be_unknown():
    handoffs = [handoff(None, agent) for agent in "abab"]
    assert names_of(judged(*handoffs)) == ["handoff_bounce"]
    assert names_of(judged(*handoffs[:3])) == []


def test_handing_over_to_oneself_is_no_further_bounce():
    bounce = [handoff("a", "b"), handoff("b", "a"), handoff("a", "b"), handoff("b", "b")]
    assert judged(*bounce).warnings[0].count == 1


def test_a_run_that_failed_loses_30():
    report = judged(other(0), {"type": "run_failed"})
    assert (report.score, report.status) == (70, HealthStatus.FAILED)
    assert judged(other(0), failed=True) == report
    assert judged(*[LOOK] * 9, failed=True).score == 0


@pytest.mark.parametrize(
    ("parts", "score", "status"),
    [
        ([other(0), took(31_000), cost(0.06)], 75, HealthStatus.WARNING),
        ([RETRY] * 3, 80, HealthStatus.HEALTHY),
        (
            [*[RETRY] * 3, *[handoff(*"ab"), handoff(*"ba"), handoff(*"ab")], took(31_000, "x")],
            50,
            HealthStatus.WARNING,
        ),
        ([LOOK] * 3, 10, HealthStatus.LIKELY_STUCK),
    ],
)
def test_the_score_in_a_word(parts, score, status):
    report = judged(*parts)
    assert (report.score, report.status) == (score, status)


def test_parallel_calls_all_count():
    calls = tuple(ToolCall("look", {}, round=0) for _ in range(3))
    report = health.evaluate(RecordedRun("r", calls, (None,) * 3), literal=True)
    assert "repeated_tool_call_exact_input" in names_of(report)


def test_to_the_letter_nothing_is_closed():
    later = [read(f"{'abcdefgh'[at] * 9 * (at + 1)}") for at in range(3)]
    report = judged(LOOK, LOOK, LOOK, *later, turn_starts=(3,))
    assert all(each.is_open for each in report.warnings)
    assert report.score == 0


def test_the_penalties_of_all_warnings_add_up():
    def loops(*tools):
        steps = [(tool, {"at": 1}, "x") for tool in tools for _ in range(3)]
        rules = ("repeated_tool_call", "no_progress", "empty_result_loop")
        profile = health.HealthProfile().without(*rules)
        return health.evaluate(run_of(*steps), literal=True, profile=profile)

    assert (loops("look").score, loops("look").status.value) == (55, "Warning")
    assert (loops("look", "peek").score, loops("look", "peek").status.value) == (10, "Likely stuck")


def test_a_tool_by_a_name_of_control_characters_is_shown_safely():
    tool = "look\x1b[31m" + "x" * 999
    for each in judged(*[(tool, {}, "x")] * 3).warnings:
        assert each.message.isprintable()
        assert len(each.message) <= 300


@pytest.mark.parametrize("verb", ["transfer_to_", "handoff_to_", "Hand_Off_To_"])
@pytest.mark.parametrize("literal", [True, False])
def test_tools_that_hand_over_are_handoffs(verb, literal):
    steps = [(f"{verb}{agent}", {}, json.dumps({"assistant": agent})) for agent in "ababab"]
    report = health.evaluate(run_of(*steps), literal=literal)
    bounce = warning(report, "handoff_bounce")
    assert (bounce.step, bounce.count) == (3, 3)
    assert bounce.message == "Control went 'a', 'b', 'a', 'b'."
    assert "handoff_bounce" not in names_of(health.evaluate(run_of(*steps[:3]), literal=literal))


@pytest.mark.parametrize("tool", ["transfer", "transfer_to_", "transfer_money_to_a", "to_a"])
def test_other_tools_hand_nothing_over(tool):
    steps = [(f"{tool}", {"to": agent}, "done") for agent in "abababab"]
    assert "handoff_bounce" not in names_of(judged(*steps))


def test_a_handoff_that_failed_is_none():
    steps = [(f"transfer_to_{agent}", {}, ToolResult("no", is_error=True)) for agent in "ababab"]
    assert "handoff_bounce" not in names_of(judged(*steps))


def test_a_tool_and_an_event_that_tell_of_one_handoff_count_once():
    def told_twice(agent, to_agent):
        names = {"a": "Billing Agent", "b": "Support Agent"}
        call = (f"transfer_to_{names[to_agent].lower().replace(' ', '_')}", {}, f"{to_agent} here")
        return call, handoff(names[agent], names[to_agent])

    parts = [part for pair in ("ab", "ba", "ab", "ba") for part in told_twice(*pair)]
    assert warning(judged(*parts), "handoff_bounce").count == 1
    assert "handoff_bounce" not in names_of(judged(*parts[:6]))
