"""Health of runs that adapters watch while they go on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_runs import names_of, warning

from antiloop import ToolCall, health
from antiloop.formats import from_openai_chat
from antiloop.formats._spans.agent_span import AgentSpan
from antiloop.formats._spans.span import Span
from antiloop.health import HealthProfile, HealthWatch
from antiloop.traces import RecordedRun


def user(text):
    return {"role": "user", "content": text}


def round_of(number, *queries):
    """Make a reply that asks for calls, and their results."""
    ids = [f"call-{number}-{at}" for at in range(len(queries))]
    calls = [
        {"id": id_, "function": {"name": "search", "arguments": f'{{"q": {query}}}'}}
        for id_, query in zip(ids, queries)
    ]
    results = [{"role": "tool", "tool_call_id": id_, "content": "No results."} for id_ in ids]
    return [{"role": "assistant", "tool_calls": calls}, *results]


def followed(watch, parts, run_id="r"):
    messages = []
    for part in parts:
        messages += part
        watch.follow(run_id, messages, from_openai_chat)
    return watch.report(run_id)


parts = st.lists(st.lists(st.integers(0, 2), max_size=3), max_size=12)


@given(parts, st.sampled_from([HealthProfile(), HealthProfile().literal()]))
def test_followed_part_by_part_is_as_the_whole_conversation(given_parts, profile):
    conversation = [
        round_of(number, *queries) if queries else [user(f"go on {number}")]
        for number, queries in enumerate(given_parts)
    ]
    while conversation and not given_parts[len(conversation) - 1]:
        conversation.pop()  # a recorded run does not tell what the user said last
    history = from_openai_chat([message for part in conversation for message in part])
    run = RecordedRun("r", history.calls, history.results, history.turn_starts)
    whole = health.evaluate(run, profile=profile)
    live = followed(HealthWatch(profile), conversation)
    assert (live.score, live.calls) == (whole.score, whole.calls)
    assert live.warnings == whole.warnings


def test_a_conversation_that_was_seen_is_not_counted_again():
    watch, messages = HealthWatch(), round_of(0, 1)
    for _ in range(5):
        watch.follow("r", messages, from_openai_chat)
    assert watch.report("r").calls == 1


def test_of_a_conversation_that_was_cut_the_last_round_counts():
    watch = HealthWatch()
    followed(watch, [round_of(n, 1) for n in range(3)])
    assert watch.report("r").status is health.HealthStatus.LIKELY_STUCK
    watch.follow("r", round_of(3, 1), from_openai_chat)
    assert watch.report("r").calls == 4


def test_runs_are_apart_and_the_latest_are_remembered():
    watch = HealthWatch(runs=2)
    for run_id in "abc":
        for _ in range(4):
            watch.add_round(run_id, [ToolCall("look")], ["door"])
    assert [watch.report(run_id).calls for run_id in "abc"] == [0, 4, 4]
    assert "loop_repeat" in names_of(watch.report("c"))
    assert watch.report("unheard of").score == 100


def test_a_watch_of_no_runs_is_refused():
    with pytest.raises(ValueError, match="runs must be a whole number, 1 or more, got 0"):
        HealthWatch(runs=0)


def span(kind, seconds=1, **fields):
    return AgentSpan(Span("t", "s", "", 10**9, 10**9 + seconds * 10**9, {}), kind, **fields)


def test_spans_tell_what_the_calls_of_a_run_took_and_cost():
    watch = HealthWatch(HealthProfile().literal())
    for at in range(2):
        call = ToolCall("look", {"at": at})
        watch.add_round("r", [call], ["closed"])
        watch.add_span("r", span("tool", 31, call=call))
    watch.add_span("r", span("model", 31, cost=0.5, tokens=100))
    report = watch.report("r")
    assert warning(report, "long_running_step").steps == (0, 1)
    assert warning(report, "long_running_step").count == 3
    assert (report.cost, report.wasted_tokens) == (0.5, 0)


def test_a_span_before_any_call_concerns_the_first():
    watch = HealthWatch(HealthProfile().literal())
    watch.add_span("r", span("tool", 31, call=ToolCall("look")))
    assert warning(watch.report("r"), "long_running_step").step == 0


def test_agents_that_take_over_from_each_other_bounce():
    watch = HealthWatch()
    for number, agent in enumerate(["a", "b", None, "b", "a"]):
        watch.add_agent("r", span("agent", agent=agent))
        watch.add_round("r", [ToolCall("look", {"n": number})], [f"{number}"])
        assert names_of(watch.report("r")) == []
    watch = HealthWatch()
    for agent in ["a", "b", None, "b", "a", "b"]:
        watch.add_agent("r", span("agent", agent=agent))
    bounce = warning(watch.report("r"), "handoff_bounce")
    assert bounce.message == "Control went 'a', 'b', 'a', 'b'."
    watch.add_agent("other", span("agent", agent="a"))
    assert names_of(watch.report("other")) == []


def test_of_what_was_cut_only_the_last_round_is_new_and_of_what_grew_all():
    watch = HealthWatch()
    watch.follow("r", [*round_of(0, 1), *round_of(1, 1), *round_of(2, 1)], from_openai_chat)
    assert watch.report("r").calls == 3
    watch.follow("r", [*round_of(1, 1), *round_of(2, 1)], from_openai_chat)
    assert watch.report("r").calls == 4


def test_the_user_ends_what_came_before():
    watch = HealthWatch()
    for _ in range(2):
        watch.add_round("r", [ToolCall("look")], ["closed"])
    watch.user_message("r")
    for _ in range(2):
        watch.add_round("r", [ToolCall("look")], ["closed"])
    assert watch.report("r").score == 100
    watch.add_round("r", [ToolCall("look")], ["closed"])
    assert "loop_repeat" in names_of(watch.report("r"))


def test_a_watch_may_remember_one_run():
    watch = HealthWatch(runs=1)
    watch.add_round("a", [ToolCall("look")], ["closed"])
    assert watch.report("a").calls == 1


def test_what_the_user_says_in_a_conversation_that_is_followed_ends_what_came_before():
    watch, said = HealthWatch(), []
    for part in (round_of(0, 1), round_of(1, 1), [user("go on")], round_of(2, 1), round_of(3, 1)):
        said += part
    watch.follow("r", said, from_openai_chat)
    assert watch.report("r").score == 100
    watch.follow("r", [*said, *round_of(4, 1)], from_openai_chat)
    assert watch.report("r").score < 80
