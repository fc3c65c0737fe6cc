"""Health of runs that adapters watch while they go on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_runs import names_of

from antiloop import ToolCall, health
from antiloop.formats import from_openai_chat
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
    with pytest.raises(ValueError, match="runs must be 1 or more, got 0"):
        HealthWatch(runs=0)
