"""Results whose calls were cut away are steps of their own in every format, and never a loop."""

import pytest
from client_files import WRITERS

from antiloop import LoopDetector
from antiloop.health import evaluate
from antiloop.traces import FORMATS, replay
from antiloop.traces._doubts import Doubt

COUNT = 12
SAID = "a.py b.py"
IDS = [f"call_{number}" for number in range(COUNT)]


def chat(id_):
    return {"role": "tool", "tool_call_id": id_, "content": SAID}


def blocks(*block):
    return {"role": "user", "content": list(block)}


def anthropic(id_):
    return blocks({"type": "tool_result", "tool_use_id": id_, "content": SAID})


def session(id_):
    return {"type": "user", "sessionId": "s", "message": anthropic(id_)}


def answered(id_, **more):
    return {"type": "function_call_output", "call_id": id_, "output": SAID, **more}


def response(id_):
    return {"functionResponse": {"id": id_, "name": "search", "response": {"output": SAID}}}


def returned(id_):
    part = {"part_kind": "tool-return", "tool_name": "search", "tool_call_id": id_, "content": SAID}
    return {"kind": "request", "parts": [part]}


def observed(id_):
    return {"source_call_id": id_, "content": SAID}


def span(id_):
    part = {"type": "tool_call_response", "id": id_, "response": SAID}
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [{"role": "tool", "parts": [part]}],
    }
    context = {"trace_id": "1" * 32, "span_id": f"{IDS.index(id_):016x}"}
    return {"name": "chat", "context": context, "attributes": told}


CUT = {
    "antiloop": [{"steps": [{"id": id_, "result": SAID} for id_ in IDS]}],
    "openai-chat": [list(map(chat, IDS))],
    "otlp": list(map(span, IDS)),
    "atif": [
        {"schema_version": "1", "steps": [{"observation": {"results": [*map(observed, IDS)]}}]}
    ],
    "openhands": [
        {"source": "agent", "cause": number, "observation": "run", "content": SAID}
        for number in range(COUNT)
    ],
    "event-log": [{"type": "tool_call_completed", "call_id": id_, "output": SAID} for id_ in IDS],
    "anthropic": [list(map(anthropic, IDS))],
    "claude-code": list(map(session, IDS)),
    "openai-responses": [list(map(answered, IDS))],
    "codex": [{"type": "response_item", "payload": answered(id_)} for id_ in IDS],
    "langchain": [[{"type": "tool", "tool_call_id": id_, "content": SAID} for id_ in IDS]],
    "gemini": [[{"role": "user", "parts": [response(id_)]} for id_ in IDS]],
    "pydantic-ai": [list(map(returned, IDS))],
    "adk": [
        [{"author": "a", "invocationId": "i", "content": {"parts": [response(id_)]}} for id_ in IDS]
    ],
    "strands": [
        [blocks({"toolResult": {"toolUseId": id_, "content": [{"text": SAID}]}}) for id_ in IDS]
    ],
    "chat-lines": list(map(chat, IDS)),
    "inspect": [{"id": 1, "epoch": 1, "input": "", "target": "", "messages": [*map(chat, IDS)]}],
}
TOGETHER = {"gemini-cli", "mini-swe-agent", "swe-agent"} | {
    *("langfuse", "langsmith", "mlflow", "phoenix", "weave")
}
"""In these, no result can stand without its call."""


OWN = ("antiloop", "event-log")
"""In these, a step may be a result alone."""
ALIKE = WRITERS.keys() - CUT.keys()
"""These are read by what reads ``chat-lines``."""


def test_every_format_is_here_or_has_no_such_results():
    assert {*CUT, *TOGETHER, *ALIKE} == {*FORMATS}


@pytest.mark.parametrize("name", CUT)
def test_each_result_is_a_step_and_none_is_taken_for_a_loop(name, read):
    (run,) = read(*CUT[name])
    if name not in OWN:
        (doubt,) = read.trouble
        assert isinstance(doubt, Doubt)
        assert f"{COUNT} of {COUNT} results have no call here" in doubt
    assert [result.text for result in run.results] == [SAID] * COUNT
    assert len({(call.tool_name, str(call.arguments)) for call in run.calls}) == COUNT
    for detector in (LoopDetector.default(), LoopDetector.escalating()):
        assert list(replay(run, detector)) == []
    assert evaluate(run).warnings == ()


def test_a_loop_is_seen_where_results_name_ids_that_no_call_has(read):
    call = {"id": "x", "function": {"name": "search", "arguments": '{"q": "cats"}'}}
    lap = [{"role": "assistant", "tool_calls": [call]}, {**chat("y"), "content": "one hit"}]
    (run,) = read([*lap, *lap, *lap])
    assert [step for step, _ in replay(run, LoopDetector.default())] == [3]
