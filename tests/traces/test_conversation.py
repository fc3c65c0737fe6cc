"""Formats in which one value is a conversation: what is told beside the messages."""

import pytest

from antiloop.traces._shared.usage import reply_event, usage_of

ASKS = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "1", "name": "ls", "input": {}}],
}
SAYS = {"role": "user", "content": "hello"}


def test_the_model_and_what_it_read_and_wrote_are_added_up(read):
    first = {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 7}
    replies = [{**ASKS, "model": "m", "usage": first}, {**ASKS, "usage": {"output_tokens": 2}}]
    (run,) = read({"id": "a", "messages": [SAYS, *replies]})
    assert (run.run_id, run.model, run.input_tokens, run.output_tokens) == ("a", "m", 105, 9)


def test_what_is_not_told_is_unknown(read):
    (run,) = read([ASKS])
    assert (run.model, run.input_tokens, run.output_tokens, run.cost) == (None,) * 4
    assert run.run_id == run.source


def test_a_conversation_without_tools_is_a_run_without_calls(read):
    runs = read({"messages": [ASKS]}, {"messages": [SAYS]})
    assert list(map(len, runs)) == [1, 0]
    assert read.trouble == []


def test_messages_of_another_api_are_said_and_not_read_as_empty(read):
    values = {"messages": [SAYS]}, {"messages": [ASKS]}
    assert list(map(len, read(*values, source="openai-chat"))) == [0]
    (trouble,) = read.trouble
    assert trouble.endswith(":2: expected OpenAI chat messages; skipped")


@pytest.mark.parametrize("as_list", [False, True])
def test_conversations_without_tools_do_not_hide_what_the_others_are(read, as_list):
    values = [{"messages": [SAYS]}, {"messages": [SAYS]}, {"messages": [ASKS]}]
    assert list(map(len, read(values) if as_list else read(*values))) == [0, 0, 1]
    assert read.trouble == []


def test_many_conversations_without_tools_are_taken_for_chats(read):
    assert len(read(*[{"messages": [SAYS]}] * 100, {"messages": [ASKS]})) == 100
    assert len(read.trouble) == 1


def test_what_holds_no_messages_is_skipped(read):
    assert list(map(len, read([ASKS], {"messages": 7}, 7, {"messages": [7]}))) == [1]
    assert len(read.trouble) == 3


def test_a_chat_tells_its_tokens_beside_its_messages(read):
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    (run,) = read({"messages": [SAYS], "model": "m", "usage": usage})
    assert (run.model, run.input_tokens, run.output_tokens) == ("m", 3, 4)


def test_responses_are_added_up_and_one_alone_is_a_run(read):
    usage = {"input_tokens": 1, "output_tokens": 2}
    call = {"type": "function_call", "call_id": "1", "name": "ls", "arguments": "{}"}
    response = {"id": "r", "object": "response", "output": [call], "model": "m", "usage": usage}
    (both,) = read([response, response])
    assert (len(both), both.model, both.input_tokens, both.output_tokens) == (2, "m", 2, 4)
    (alone,) = read(response)
    assert (alone.run_id, len(alone), alone.input_tokens) == ("r", 1, 1)
    assert [run.run_id for run in read({"messages": [SAYS, call]}, source="openai-responses")] == []


@pytest.mark.parametrize("given", ["What is there?", None, 7])
def test_an_input_that_is_no_list_does_not_hide_the_output(read, given):
    call = {"type": "function_call", "call_id": "1", "name": "ls", "arguments": "{}"}
    (run,) = read({"items": given, "input": given, "output": [call]})
    assert (run.calls[0].tool_name, read.trouble) == ("ls", [])


def test_the_output_beside_an_input_goes_on_with_it(read):
    call = {"type": "function_call", "call_id": "1", "name": "ls", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "1", "output": "a.py"}
    again = {**call, "call_id": "2"}
    (run,) = read({"input": [SAYS, call, result], "output": [again]})
    assert [result and result.text for result in run.results] == ["a.py", None]
    content = {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]}
    (run,) = read({"history": [content], "clientHistory": [content]})
    assert len(run) == 1


def test_a_checkpoint_of_gemini_cli_tells_the_conversation_beside_what_was_shown(read):
    content = {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}}]}
    (run,) = read({"history": [{"type": "user", "text": "hi"}], "clientHistory": [content]})
    assert len(run) == 1


def test_items_with_a_user_message_are_not_taken_for_a_chat(read):
    (run,) = read([SAYS, {"type": "web_search_call", "id": "1", "action": {"query": "x"}}])
    assert len(run) == 1


def test_a_state_of_a_graph_holds_its_messages_within(read):
    usage = {"input_tokens": 1, "output_tokens": 2}
    said = {"model_name": "m"}
    message = {"type": "ai", "content": "", "usage_metadata": usage, "response_metadata": said}
    (run,) = read({"thread_id": "t", "values": {"messages": [message, message, 7]}})
    assert (run.run_id, run.model, run.input_tokens, run.output_tokens) == ("t", "m", 2, 4)


def test_older_releases_of_pydantic_ai_count_tokens_by_other_names(read):
    part = {"part_kind": "text", "content": "x"}
    usage = {"request_tokens": 1, "response_tokens": 2}
    (run,) = read([{"kind": "response", "parts": [part], "model_name": "m", "usage": usage}])
    assert (run.model, run.input_tokens, run.output_tokens) == ("m", 1, 2)


def test_a_session_of_several_agents_is_the_first_ones(read):
    said = {"role": "user", "parts": [{"text": "hello"}]}
    events = [{"author": who, "invocation_id": "e", "content": said} for who in ("user", "a", "b")]
    (run,) = read({"id": "s", "events": events})
    assert (run.run_id, run.agent, run.turn_starts) == ("s", "a", (0,))


def test_cached_input_of_converse_is_input(read):
    usage = {"inputTokens": 1, "cacheReadInputTokens": 10, "outputTokens": 2}
    block = {"toolUse": {"toolUseId": "1", "name": "ls", "input": {}}}
    message = {"role": "assistant", "content": [block], "metadata": {"usage": usage}}
    (run,) = read({"modelId": "m", "messages": [message]})
    assert (run.model, run.input_tokens, run.output_tokens) == ("m", 11, 2)


def test_each_reply_that_tells_what_it_took_is_an_event_before_its_calls(read):
    usage = {"input_tokens": 5, "output_tokens": 7}
    (run,) = read([SAYS, {**ASKS, "usage": usage}, ASKS, SAYS, {**ASKS, "model": "m"}])
    assert [(event.type, event.step, event.tokens, event.model) for event in run.events] == [
        ("llm_call_completed", 0, 12, None),
        ("llm_call_completed", 2, None, "m"),
    ]


def test_responses_are_events_although_their_calls_are_counted_otherwise(read):
    call = {"type": "function_call", "call_id": "1", "name": "ls", "arguments": "{}"}
    seen = {"type": "function_call_output", "call_id": "1", "output": "a"}
    usage = {"input_tokens": 1, "output_tokens": 2}
    response = {"object": "response", "output": [call, call], "usage": usage}
    (run,) = read([call, seen, response, seen, response])
    assert [(event.step, event.tokens) for event in run.events] == [(1, 3), (3, 3)]


def test_a_reply_keeps_its_agent_and_its_time(read):
    part = {"functionCall": {"name": "ls", "args": {}}}
    event = {
        "author": "finder",
        "invocationId": "e",
        "timestamp": 10.5,
        "content": {"role": "model", "parts": [part]},
        "usageMetadata": {"promptTokenCount": 3},
    }
    (run,) = read([event])
    assert [(told.agent, told.time_s, told.input_tokens) for told in run.events] == [
        ("finder", 10.5, 3)
    ]


CACHES = [
    {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}},
    {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1},
    {"input_tokens": 9, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 4}},
    {"input_tokens": 9, "output_tokens": 1, "input_token_details": {"cache_read": 4}},
]


@pytest.mark.parametrize("amounts", CACHES)
def test_what_came_from_a_cache_is_told_apart(amounts):
    read = ("prompt_tokens", "input_tokens", "cache_read_input_tokens")
    usage = usage_of("m", amounts, read, ("completion_tokens", "output_tokens"))
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (9, 1, 4)
    assert reply_event(0, usage).cached_tokens == 4
