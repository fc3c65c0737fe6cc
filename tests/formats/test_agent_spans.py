"""Spans of agents, in both conventions, as calls and results."""

import json

import pytest

from antiloop.formats import from_otlp
from antiloop.formats._spans.otlp import agent_span, content_of
from antiloop.formats._spans.span import Span
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def made(attributes, start=0, end=None, id_=None, parent="", events=(), error=None, trace="t"):
    id_ = f"s{start}" if id_ is None else id_
    found = Span(
        trace, id_, parent, start, start if end is None else end, attributes, events, error
    )
    return agent_span(found)


def tool(name="ls", start=0, arguments=None, result=None, id_=None, **where):
    content = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result,
        "gen_ai.tool.call.id": id_,
        **where.pop("more", {}),
    }
    return made({k: v for k, v in content.items() if v is not None}, start, **where)


def chat(start=0, given=(), written=(), **where):
    content = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": list(written),
    }
    return made({**content, **where.pop("more", {})}, start, **where)


def asks(*calls):
    parts = [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls]
    return {"role": "assistant", "parts": parts}


def answers(id_, response, key="response"):
    part = {"type": "tool_call_response", "id": id_, key: response}
    return {"role": "tool", "parts": [part]}


def says(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def oi(kind, start=0, **content):
    content = {key.replace("__", "."): value for key, value in content.items()}
    return made({"openinference.span.kind": kind, **content}, start)


def history(*spans):
    return content_of(spans).history


def rounds(*spans):
    return list(history(*spans).rounds())


def only(*spans):
    content = history(*spans)
    assert len(content) == 1
    return content.calls[0], content.results[0]


@pytest.mark.parametrize("arguments", ['{"p": "."}', {"p": "."}])
def test_a_tools_span_is_a_call_with_its_result(arguments):
    call, result = only(tool("ls", 0, arguments, {"files": 1}, "c1"))
    assert call == ToolCall("ls", {"p": "."}, "c1", 0)
    assert result == ToolResult('{"files":1}')


def test_pydantic_ai_had_its_own_words_before_the_conventions_had_any():
    call, result = only(tool(more={"tool_arguments": '{"p": 1}', "tool_response": "a"}))
    assert (call.arguments, result) == ({"p": 1}, ToolResult("a"))


def test_arguments_that_are_no_json_stay_text():
    assert only(tool("ls", 0, "{bad"))[0].arguments == "{bad"


def test_spans_are_sorted_by_their_start():
    content = history(tool("b", 2, {}), tool("a", 1, {}), tool("c", 3, {}))
    assert [call.tool_name for call in content.calls] == ["a", "b", "c"]


def test_events_of_a_tools_span_stand_in_for_attributes():
    events = (
        ("gen_ai.tool.message", {"role": "tool", "content": '{"p": "."}', "id": "c1"}),
        ("gen_ai.choice", {"message": "a.py"}),
        ("exception", {}),
    )
    call, result = only(tool(events=events))
    assert (call.arguments, result) == ({"p": "."}, ToolResult("a.py"))


def test_a_failure_is_an_error_result_if_its_message_is_known():
    assert only(tool(arguments={}, error="no such file"))[1] == ToolResult("no such file", True)
    assert only(tool(arguments={}, error=""))[1] is None
    failed = tool(arguments={}, result="nope", more={"error.type": "OSError"})
    assert only(failed)[1] == ToolResult("nope", True)
    assert only(tool(arguments={}, more={"error.type": "OSError"}))[1] is None


def test_equal_names_are_not_equal_calls_where_no_arguments_are_recorded():
    content = content_of([tool("ls", start) for start in range(3)])
    assert content.without_arguments == 3
    assert len({str(call.arguments) for call in content.history.calls}) == 3


def test_a_call_without_arguments_beside_calls_with_them_has_none():
    content = content_of([tool("ls", 0), tool("cd", 1, {"p": "x"})])
    assert (content.without_arguments, content.history.calls[0].arguments) == (0, None)


def test_equal_names_are_not_equal_calls_where_a_model_is_told_of_without_contents():
    part = {"type": "tool_call", "id": "a", "name": "ls"}
    asked = [{"role": "assistant", "parts": [part]}]
    answered = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "a"}]}]
    spans = [chat(start, answered, asked) for start in range(3)]
    for content in (content_of(spans), content_of([*spans, tool("ls", 4, id_="a")])):
        assert content.without_arguments == len(content.history)
        assert len({str(call.arguments) for call in content.history.calls}) == len(content.history)
        assert set(content.history.results) == {None}


def test_a_call_asked_for_without_arguments_beside_others_has_none():
    spans = [chat(0, (), [asks(("a", "ls", {}))]), chat(1, (), [asks(("b", "ls", None))])]
    content = content_of(spans)
    assert (content.without_arguments, content.history.calls[1].arguments) == (0, None)


def test_what_is_hidden_on_purpose_is_not_recorded():
    hidden = "__REDACTED__"
    content = content_of(
        [
            oi("TOOL", start, tool__name="ls", input__value=hidden, output__value=hidden)
            for start in range(2)
        ]
    )
    assert content.without_arguments == 2
    assert content.history.results == (None, None)


def test_calls_between_two_replies_are_one_round():
    spans = chat(0), tool("a", 1, {}), tool("b", 2, {}), chat(3), tool("a", 4, {})
    assert [len(one) for one in rounds(*spans)] == [2, 1]


def test_without_replies_overlapping_siblings_are_one_round():
    spans = (
        tool("a", 0, {}, end=5),
        tool("b", 4, {}, end=5),
        tool("c", 5, {}, end=6),
        tool("d", 5, {}, parent="other"),
    )
    assert [len(one) for one in rounds(*spans)] == [2, 1, 1]


def test_calls_of_one_recorded_reply_are_one_round_whatever_comes_between():
    reply = asks(("1", "ask", {"n": 1}), ("2", "ask", {"n": 2}))
    spans = (
        chat(0, written=[reply]),
        tool("ask", 1, id_="1", end=9, parent="x"),
        tool("inner", 2, {"deep": 1}, parent="y"),
        tool("ask", 3, id_="2", end=9, parent="z"),
    )
    content = history(*spans)
    assert [call.arguments for call in content.calls] == [{"n": 1}, {"n": 2}, {"deep": 1}]
    assert [len(one) for one in content.rounds()] == [2, 1]


def test_what_a_second_instrumentation_saw_is_no_second_call():
    inner = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "ls"}
    spans = (
        tool("ls", 0, {"p": "."}, parent=""),
        made(inner, 1, parent="s0"),
        made({**inner, "gen_ai.tool.name": "other"}, 2, parent="s0"),
    )
    assert [call.tool_name for call in history(*spans).calls] == ["ls", "other"]


def test_arguments_and_results_are_found_in_the_messages_of_the_model():
    call, result = only(
        chat(0, [says("hi")], [asks(("c1", "ls", '{"p": "."}'))]),
        tool("ls", 1, id_="c1"),
        chat(2, [says("hi"), asks(), answers("c1", "a.py"), answers("zz", "lost")]),
    )
    assert (call.arguments, result) == ({"p": "."}, ToolResult("a.py"))


def test_without_spans_of_tools_the_messages_are_read():
    content = history(
        chat(0, [says("hi")], [asks(("c1", "ls", {"p": "."}), ("c2", "ls", None))]),
        chat(1, [says("hi"), asks(), answers("c2", "b", "result"), answers("c1", "a")]),
    )
    assert content.calls == (ToolCall("ls", {"p": "."}, "c1", 0), ToolCall("ls", None, "c2", 0))
    assert content.results == (ToolResult("a"), ToolResult("b"))
    assert content.turn_starts == (0,)


def test_messages_on_an_event_of_the_span_are_read():
    event = "gen_ai.client.inference.operation.details"
    content = {"gen_ai.output.messages": [asks(("c1", "ls", {}))]}
    span = made({"gen_ai.operation.name": "chat"}, events=((event, content), ("other", content)))
    assert len(history(span)) == 1


def test_choices_of_the_older_conventions_are_read():
    calls = [{"id": "1", "function": {"name": "ls", "arguments": "{}"}}, 7]
    choice = {"message": json.dumps({"tool_calls": calls})}
    events = (
        ("gen_ai.choice", choice),
        ("gen_ai.choice", {"tool_calls": json.dumps([{"id": "2", "name": "cd"}])}),
        ("gen_ai.choice", {"message": "{bad"}),
        ("gen_ai.tool.message", {"id": "0", "content": "x"}),
    )
    content = history(chat(0, events=events))
    assert [(call.tool_name, call.id) for call in content.calls] == [
        ("(not recorded, call 0)", "0"),
        ("ls", "1"),
        ("", None),
        ("cd", "2"),
    ]


def test_answers_to_calls_of_no_span_are_steps_unless_tools_have_spans():
    spans = [
        chat(0, [answers("1", "x"), answers("2", "x")], [asks(("3", "a", {}))]),
        chat(1, [answers("3", "y")]),
        chat(2, [answers("3", "z"), answers("1", "z")]),
    ]
    content = history(*spans)
    assert [call.id for call in content.calls] == ["1", "2", "3"]
    assert [result.text for result in content.results] == ["x", "x", "y"]
    assert [len(part) for part in content.rounds()] == [2, 1]
    assert len(history(*spans, tool("a", 0.5, {}))) == 1


def test_only_what_the_user_says_is_a_turn():
    ours = says(NOTICE_MARKER + " loop")
    wordless = {"role": "user", "parts": [{"type": "tool_call_response", "id": "1"}]}
    spans = [
        chat(0, [says("hi")], [asks(("1", "a", {}))]),
        chat(1, [says("hi"), asks(), answers("1", "x"), ours, wordless], [asks(("2", "a", {}))]),
        chat(2, [says("hi"), asks(), says("go on")], [asks(("3", "a", {}))]),
    ]
    assert history(*spans).turn_starts == (0, 2)


def test_a_further_trace_is_a_turn_unless_its_messages_say_otherwise():
    plain = tool("a", 0, {}), tool("a", 1, {}, trace="u"), tool("a", 2, {}, trace="u")
    assert history(*plain).turn_starts == (1,)
    assert history(tool("a", 0, {}), chat(1, [answers("1", "x")], trace="u")).turn_starts == ()


def test_a_reply_that_nobody_carried_out_does_not_lend_its_arguments_for_ever():
    asked = [chat(0, written=[asks((None, "a", {"n": 1}))])]
    later = [chat(start, written=[asks((None, "b", {}))]) for start in range(1, 10)]
    call, _ = only(*asked, *later, tool("a", 20))
    assert call.arguments == {"span s20": "not recorded"}


def test_openinference_prefers_the_arguments_that_the_model_wrote():
    prefix = "llm.output_messages.0.message.tool_calls"
    content = {
        f"{prefix}.0.tool_call.id": "c1",
        f"{prefix}.0.tool_call.function.name": "search",
        f"{prefix}.0.tool_call.function.arguments": '{"q": "cats"}',
        "llm.output_messages.0.message.role": "assistant",
    }
    call, _ = only(oi("LLM", 0, **content), oi("tool", 1, tool__name="search", input__value="cats"))
    assert call == ToolCall("search", {"q": "cats"}, "c1", 0)


def test_openinference_results_are_found_in_the_messages_of_the_model():
    prefix = "llm.input_messages"
    content = {
        f"{prefix}.0.message.role": "user",
        f"{prefix}.0.message.content": "hi",
        f"{prefix}.1.message.role": "assistant",
        f"{prefix}.2.message.tool_call_id": "c1",
        f"{prefix}.2.message.content": "nothing",
    }
    call, result = only(
        oi("TOOL", 0, tool__name="s", tool__parameters='{"q": 1}', tool__id="c1"),
        oi("LLM", 1, **content),
    )
    assert (call.arguments, result) == ({"q": 1}, ToolResult("nothing"))


def test_openinference_knows_when_the_user_spoke():
    prefix = "llm.input_messages.0.message"
    user = {f"{prefix}.role": "user", f"{prefix}.content": "hi"}
    ours = {**user, f"{prefix}.content": NOTICE_MARKER}
    spans = oi("LLM", 0, **user), oi("TOOL", 1, input__value="{}"), oi("LLM", 2, **ours)
    assert history(*spans, oi("LLM", 3)).turn_starts == (0,)


@pytest.mark.parametrize("wrapped", [lambda m: m, lambda m: {"data": m}, lambda m: {"output": m}])
def test_the_id_in_a_frameworks_own_message_is_no_part_of_the_result(wrapped):
    message = {"content": "nothing", "tool_call_id": "c1", "status": "error"}
    output = json.dumps(wrapped(message))
    call, result = only(oi("TOOL", 0, tool__name="s", input__value="{}", output__value=output))
    assert (call.id, result) == ("c1", ToolResult("nothing", is_error=True))


@pytest.mark.parametrize("output", ["{bad", '{"content": "x"}', "7"])
def test_other_output_is_the_result_as_it_is(output):
    assert only(oi("TOOL", 0, input__value="{}", output__value=output))[1] == ToolResult(output)


def test_a_schema_is_not_taken_for_arguments():
    schema = json.dumps({"type": "object", "properties": {}})
    assert content_of([oi("TOOL", 0, tool__parameters=schema)]).without_arguments == 1


def test_spans_that_are_of_no_agent_are_none_of_ours():
    assert made({"http.method": "GET"}) is None
    assert made({"openinference.span.kind": 7}) is None
    assert made({"openinference.span.kind": "CHAIN"}).kind == ""
    assert made({"gen_ai.operation.name": "embeddings"}).kind == ""
    assert made({"gen_ai.tool.name": "ls"}).kind == "tool"
    both = made({"gen_ai.system": "x", "openinference.span.kind": "AGENT"})
    assert both.kind == "agent"


def test_totals_of_a_models_span_are_kept_and_its_attributes_forgotten():
    usage = {"gen_ai.usage.input_tokens": "7", "gen_ai.response.model": "m", "session.id": "s"}
    one = chat(0, more=usage)
    assert (one.input_tokens, one.output_tokens, one.model) == (7, None, "m")
    assert (one.conversation, one.span.attributes) == ("s", {})


def test_copies_are_dropped_and_the_later_state_is_kept():
    def document(**fields):
        content = [{"key": "gen_ai.tool.name", "value": {"stringValue": "ls"}}]
        span = {"spanId": "b7ad6b7169203331", "attributes": content, **fields}
        return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}

    again = document(), document(endTimeUnixNano="5"), document()
    assert len(from_otlp(again)) == 1
    assert len(from_otlp([document(spanId=""), document(spanId="")])) == 2


def test_openinference_compares_no_value_that_is_not_text():
    class Array:
        def __eq__(self, other):
            raise ValueError("which item?")

        __hash__ = None

    call, _ = only(oi("TOOL", 0, tool__name="ls", input__value="{}", rows=Array()))
    assert call.tool_name == "ls"
