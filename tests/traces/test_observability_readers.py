"""Exports of tools for observability."""

import json
import random
from pathlib import Path

import pytest

from antiloop.formats import from_langfuse, from_langsmith, from_phoenix, from_weave
from antiloop.formats._spans.flat_calls import rows_in
from antiloop.traces import FORMATS, read_runs
from antiloop.types import ToolResult

FOLDER = Path(__file__).parent / "fixtures"
NAMES = ("langfuse", "langsmith", "weave", "phoenix")


def records_of(name, what="stuck"):
    path = next(iter(sorted((FOLDER / name).glob(f"{what}*"))))
    return [row for line in values_of(path) for row in rows_in(line)]


def values_of(path):
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(text)]
    except ValueError:
        return list(map(json.loads, text.splitlines()))


def shape(run):
    return [(call.tool_name, call.arguments) for call in run.calls], run.results


@pytest.mark.parametrize("name", NAMES)
def test_records_are_read_however_they_are_put_together(name, read):
    rows = records_of(name)
    shuffled = random.Random(1).sample(rows, len(rows))
    columns = sorted({key for row in rows for key in row})
    split = {"columns": columns, "data": [[row.get(key) for key in columns] for row in rows]}
    frame = {key: {str(n): row.get(key) for n, row in enumerate(rows)} for key in columns}
    for values in (rows, shuffled, [rows], [{"data": shuffled}], [split], [frame]):
        (run,) = read(*values)
        assert [len(run), read.trouble] == [5, []]
        assert [call.tool_name for call in run.calls] == ["search"] * 5
        assert {json.dumps(call.arguments) for call in run.calls} == {'{"query": "refunds"}'}
        assert set(run.results) == {ToolResult("No results.")}


@pytest.mark.parametrize("name", NAMES)
def test_the_error_of_a_call_is_its_result(name, read):
    (run,) = read(*records_of(name, "healthy"))
    assert [result.is_error for result in run.results] == [True, False, False, False, False]
    assert "the query is too broad" in run.results[0].text
    assert run.results[1].text == "The rules for visas are on page 5."


@pytest.mark.parametrize("name", NAMES)
def test_tokens_models_and_rounds_are_known(name, read):
    (run,) = read(*records_of(name))
    assert (run.model, run.input_tokens, run.output_tokens) == ("gpt-x", 600, 90)
    assert len(list(run.rounds())) == 5
    assert sum(event.type == "llm_call_completed" for event in run.events) == 5


@pytest.mark.parametrize(
    ("name", "function"),
    list(zip(NAMES, (from_langfuse, from_langsmith, from_weave, from_phoenix))),
    ids=NAMES,
)
def test_a_function_reads_what_the_reader_does(name, function, read):
    (run,) = read(*records_of(name))
    assert shape(function(records_of(name))) == shape(run)
    assert len(function([None, 7, "x"])) == 0


def test_a_file_of_one_tool_names_what_is_of_none(read):
    rows = records_of("langsmith")
    (run,) = read(*rows[:3], {"a": 1}, *rows[3:])
    assert len(run) == 5
    assert read.trouble[0].endswith("expected runs of LangSmith; skipped")


def langfuse(n, **fields):
    start = f"2026-11-01T10:00:{n:02}Z"
    return {
        "id": f"o{n}",
        "traceId": "t",
        "type": "TOOL",
        "name": "a",
        "startTime": start,
        **fields,
    }


def test_a_trace_of_langfuse_gives_its_session_to_its_observations(read):
    trace = {"id": "t", "sessionId": "s1", "observations": [langfuse(1, input="x", sessionId=None)]}
    (run,) = read(trace)
    assert (run.run_id, run.calls[0].arguments) == ("s1", "x")


def test_a_status_message_alone_is_no_error(read):
    (run,) = read([langfuse(1, input={}, output="fine", statusMessage="cached")])
    assert run.results == (ToolResult("fine"),)


def test_calls_without_arguments_are_told_and_like_no_other(read):
    (run,) = read([langfuse(n, output="same") for n in range(4)])
    assert len({json.dumps(call.arguments) for call in run.calls}) == 4
    assert "have no arguments" in read.trouble[0]


def test_an_error_without_text_is_none(read):
    (run,) = read([langsmith(1, inputs={"q": "x"}, outputs={"output": "fine"}, error="")])
    assert run.results == (ToolResult("fine"),)


def langsmith(n, **fields):
    start = f"2026-11-01T10:00:{n:02}"
    return {
        "id": f"r{n}",
        "trace_id": "t",
        "run_type": "tool",
        "name": "a",
        "start_time": start,
        **fields,
    }


def test_messages_and_single_values_of_langsmith_are_unwrapped(read):
    message = {"type": "tool", "content": "none", "tool_call_id": "c1", "status": "error"}
    (run,) = read(
        [
            langsmith(1, inputs={"input": "{'q': 'cats'}"}, outputs={"output": "plain"}),
            langsmith(2, inputs={"q": "cats"}, outputs={"output": message}),
            langsmith(3, inputs={"input": {"q": 1}}, outputs={"a": 1, "b": 2}),
        ]
    )
    assert [call.arguments for call in run.calls] == ["{'q': 'cats'}", {"q": "cats"}, {"q": 1}]
    assert run.calls[1].id == "c1"
    assert [(each.text, each.is_error) for each in run.results] == [
        ("plain", False),
        ("none", True),
        ('{"a":1,"b":2}', False),
    ]


def test_runs_inside_a_run_of_langsmith_are_read(read):
    outer = langsmith(1, run_type="chain", inputs={})
    inner = langsmith(2, run_type="chain", inputs={}, child_runs=[langsmith(3, inputs={"q": 1})])
    (run,) = read({**outer, "child_runs": [inner, 7]})
    assert [call.arguments for call in run.calls] == [{"q": 1}]


def weave(n, op="search", **fields):
    start = f"2026-11-01T10:00:{n:02}Z"
    name = f"weave:///team/project/op/{op}:v1"
    return {
        "id": f"w{n}",
        "trace_id": "t",
        "op_name": name,
        "started_at": start,
        "inputs": {},
        **fields,
    }


def test_a_tool_of_weave_is_declared_or_calls_nothing_else(read):
    rows = [weave(1, "run"), weave(2, "look", parent_id="w1"), weave(3, parent_id="w1")]
    (run,) = read(rows)
    assert [call.tool_name for call in run.calls] == ["look", "search"]
    declared = {"attributes": {"weave": {"kind": "tool"}}}
    (run,) = read([*rows[:2], weave(3, parent_id="w1", **declared)])
    assert [call.tool_name for call in run.calls] == ["search"]
    (run,) = read([*rows[:2], weave(3, "act", attributes={"kind": "tool"})])
    assert [call.tool_name for call in run.calls] == ["act"]


def phoenix(n, **fields):
    context = {"trace_id": "t", "span_id": f"s{n}"}
    start = f"2026-11-01T10:00:{n:02}Z"
    return {"name": "peek", "context": context, "span_kind": "TOOL", "start_time": start, **fields}


def test_attributes_of_phoenix_may_be_nested_and_the_name_may_stand_outside(read):
    attributes = {"input": {"value": '{"q": 1}'}, "output": {"value": "none"}}
    (run,) = read([phoenix(1, attributes=attributes)])
    assert shape(run) == ([("peek", {"q": 1})], (ToolResult("none"),))
    flat = phoenix(1)
    flat.update({"context.trace_id": "t", "context.span_id": "s1", "attributes.input.value": "x"})
    del flat["context"]
    (run,) = read([flat])
    assert shape(run) == ([("peek", "x")], (None,))


def test_messages_of_a_model_in_a_data_frame_are_read(read):
    call = {"tool_call": {"function": {"name": "look", "arguments": '{"q": 1}'}, "id": "c1"}}
    message = {"message": {"role": "assistant", "tool_calls": [call]}}
    (run,) = read([phoenix(1, span_kind="LLM", attributes={"llm": {"output_messages": [message]}})])
    assert shape(run) == ([("look", {"q": 1})], (None,))


def test_spans_that_are_printed_are_still_those_of_opentelemetry():
    printed = next(values_of(path)[0] for path in (FOLDER / "otlp").glob("stuck-printed*"))
    assert FORMATS["otlp"].recognizes(printed)
    assert not FORMATS["phoenix"].recognizes(printed)


def test_spans_of_langfuse_are_read_with_their_tokens():
    (run,) = read_runs(str(FOLDER / "otlp" / "stuck-langfuse.jsonl"))
    assert (run.run_id, run.agent, run.model) == ("handbook-stuck", "handbook", "gpt-x")
    assert (run.input_tokens, run.output_tokens, len(run)) == (600, 90, 5)
    (run,) = read_runs(str(FOLDER / "otlp" / "healthy-langfuse.jsonl"))
    assert run.results[0] == ToolResult("the query is too broad", True)


def test_objects_that_hold_themselves_are_read_all_the_same():
    outer = langsmith(1, inputs={"q": 1})
    outer["child_runs"] = [outer, langsmith(2, inputs={"q": 2})]
    assert [call.arguments for call in from_langsmith([outer]).calls] == [{"q": 1}, {"q": 2}]
    attributes = {"input.value": '{"q": 1}'}
    attributes["self"] = attributes["again"] = attributes
    assert from_phoenix([phoenix(1, attributes=attributes)]).calls[0].arguments == {"q": 1}
