"""The thoughts of models in recorded runs: read, written, and never judged."""

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiloop import LoopDetector, Role, ToolCall, ToolResult, health
from antiloop.explanation import explain
from antiloop.formats import (
    History,
    TextMessage,
    from_agent_framework,
    from_langchain,
    from_openai_chat,
)
from antiloop.formats._growing_history import GrowingHistory
from antiloop.formats._history_builder import HistoryBuilder
from antiloop.health import HealthMonitor
from antiloop.integrations._guard import Guard, heard
from antiloop.integrations.gateway import GatewayGuard
from antiloop.traces import RecordedRun, replay
from antiloop.traces._live import live_lines
from antiloop.traces._live.live_lines import LiveLines
from antiloop.traces._reading import read_lines

REPLY = "I will now look at the file."
CHANT = "I should look at the file again before I go on. " * 30
USER, MODEL = Role.USER, Role.ASSISTANT


def read(*values, source=None):
    lines = list(enumerate(map(json.dumps, values), 1))
    (run,) = read_lines(lines, "f", source, pytest.fail)
    return run


def shown(run):
    return [(each.role.value, each.text, each.position, each.is_thought) for each in run.messages]


# ---- each format ----

LOOK = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
SAID = {"role": "assistant", "content": "Done.", "tool_calls": [LOOK]}
USED = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
ASKED = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
DONE = {"type": "text", "text": "Done."}
OUTPUT = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Done."}],
}
RESPONSES = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
    OUTPUT,
    ASKED,
    {"type": "function_call_output", "call_id": "c1", "output": "a"},
    {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
]
PARTS = [
    {"text": "hm", "thought": True},
    {"text": "Done."},
    {"functionCall": {"name": "look", "args": {}}},
]
THOUGHTS = {
    "openai-chat": [{**SAID, "reasoning_content": "hm"}],
    "openai-responses": RESPONSES,
    "anthropic": [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "redacted_thinking", "data": "x"},
                DONE,
                USED,
            ],
        }
    ],
    "gemini": [{"role": "model", "parts": PARTS}],
    "adk": [{"author": "finder", "invocationId": "i", "content": {"parts": PARTS}}],
    "gemini-cli": {
        "projectHash": "h",
        "sessionId": "s",
        "messages": [
            {
                "id": "1",
                "type": "gemini",
                "content": "Done.",
                "thoughts": [{"description": "hm"}],
                "toolCalls": [{"id": "1", "name": "look", "args": {}}],
            }
        ],
    },
    "pydantic-ai": [
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "hm"},
                {"part_kind": "text", "content": "Done."},
                {"part_kind": "tool-call", "tool_name": "look", "args": "{}"},
            ],
        }
    ],
    "langchain": [
        {
            "type": "ai",
            "data": {
                "content": [{"type": "reasoning", "reasoning": "hm"}, DONE],
                "additional_kwargs": {"reasoning_content": "hm"},
                "tool_calls": [{"id": "c1", "name": "look", "args": {}}],
            },
        }
    ],
    "strands": [
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "x"}}},
                {"reasoningContent": {"redactedContent": "x"}},
                {"text": "Done."},
                {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}},
            ],
        }
    ],
    "inspect": {
        "id": 1,
        "epoch": 1,
        "input": "",
        "target": "",
        "messages": [
            {
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "reasoning": "hm", "redacted": False},
                    {"type": "reasoning", "reasoning": "gAAA", "redacted": True},
                    DONE,
                ],
                "tool_calls": [{"id": "c1", "function": "look", "arguments": {}}],
            }
        ],
    },
    "atif": {
        "schema_version": "ATIF-v1.4",
        "session_id": "r",
        "agent": {"name": "a", "version": "1"},
        "steps": [
            {
                "step_id": 1,
                "source": "agent",
                "message": "Done.",
                "reasoning_content": "hm",
                "tool_calls": [{"tool_call_id": "1", "function_name": "look", "arguments": {}}],
            }
        ],
    },
}


@pytest.mark.parametrize("name", THOUGHTS)
def test_readers_keep_thoughts_before_the_reply(name):
    run = read(THOUGHTS[name], source=name)
    assert shown(run) == [("assistant", "hm", 0, True), ("assistant", "Done.", 0, False)]
    assert len(run) == 1


CLAUDE = [
    {"type": "assistant", "sessionId": "s", "message": {"id": "m", "role": "assistant", **content}}
    for content in (
        {"content": [{"type": "thinking", "thinking": "hm"}]},
        {"content": [DONE]},
        {"content": [USED]},
    )
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "s"}},
    *({"type": "response_item", "payload": item} for item in RESPONSES),
]


@pytest.mark.parametrize("lines", [CLAUDE, CODEX], ids=["claude-code", "codex"])
def test_sessions_keep_thoughts_before_the_reply(lines):
    run = read(*lines)
    assert shown(run) == [("assistant", "hm", 0, True), ("assistant", "Done.", 0, False)]
    assert len(run) == 1


OLD_ACTION = {
    "id": 1,
    "source": "agent",
    "action": "run",
    "args": {"command": "a", "thought": "hm"},
}
NEW_ACTION = {
    "source": "agent",
    "kind": "ActionEvent",
    "tool_name": "run",
    "reasoning_content": "hm",
    "thought": [{"type": "text", "text": "I look."}],
    "llm_response_id": "r1",
    "timestamp": "2026-01-01T00:00:00",
}


def test_thoughts_of_openhands_come_once_for_each_reply():
    run = read([OLD_ACTION, {**OLD_ACTION, "id": 2}], source="openhands")
    assert shown(run) == [("assistant", "hm", 0, True), ("assistant", "hm", 1, True)]
    actions = [{**NEW_ACTION, "id": str(n), "tool_call_id": str(n)} for n in range(2)]
    run = read(actions, source="openhands")
    assert shown(run) == [("assistant", "hm\nI look.", 0, True)]


def test_agent_framework_keeps_thoughts():
    contents = [{"type": "text_reasoning", "text": "hm"}, DONE]
    history = from_agent_framework([{"role": "assistant", "contents": contents}])
    assert shown(history) == [("assistant", "hm", 0, True), ("assistant", "Done.", 0, False)]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "reasoning": "hm"},
        {"role": "assistant", "reasoning_content": "", "reasoning": "hm"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]},
        SimpleNamespace(role="assistant", reasoning_content="hm"),
    ],
)
def test_servers_name_thoughts_in_several_ways(message):
    assert shown(from_openai_chat([message])) == [("assistant", "hm", 0, True)]


@pytest.mark.parametrize(
    "body",
    [
        {"content": "", "additional_kwargs": {"reasoning_content": "hm"}},
        {"content": [{"type": "thinking", "thinking": "hm"}]},
        {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}]},
        {"content": [{"type": "reasoning_content", "reasoning_content": {"text": "hm"}}]},
    ],
)
def test_langchain_passes_on_the_thoughts_of_each_provider(body):
    assert shown(from_langchain([{"type": "ai", "data": body}])) == [("assistant", "hm", 0, True)]


def test_codex_and_responses_have_whole_thoughts_where_they_have_no_summary():
    whole = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}
    run = read([ASKED, whole, RESPONSES[3]], source="openai-responses")
    assert shown(run) == [("assistant", "hm", 0, True)]


def test_thoughts_of_gemini_cli_have_a_heading():
    session = json.loads(json.dumps(THOUGHTS["gemini-cli"]))
    session["messages"][0]["thoughts"] = [
        {"subject": "Plan", "description": "I look first."},
        {"subject": "Then", "description": "I write."},
        7,
    ]
    assert shown(read(session))[0][1] == "Plan: I look first.\nThen: I write.\n"


def test_our_own_format_keeps_thoughts():
    messages = (TextMessage(MODEL, "hm", 0, True), TextMessage(MODEL, "Done.", 0))
    run = RecordedRun("r", (ToolCall("look"),), (ToolResult("a"),), messages=messages)
    line = json.loads(run.to_jsonl())
    assert [each.get("thought") for each in line["messages"]] == [True, None]
    assert read(line).messages == messages
    line["messages"] = [
        {"role": "user", "text": "Go", "thought": True},
        {"role": "assistant", "text": "Done.", "thought": "yes"},
    ]
    assert [each.is_thought for each in read(line).messages] == [False, False]


# ---- never judged ----


@dataclass(frozen=True)
class Thought:
    """What the model thought, among what happened in a run."""

    text: str


TEXTS = st.sampled_from([REPLY, CHANT, "Something else."])
MOMENTS = st.lists(
    st.one_of(
        TEXTS,
        st.builds(Thought, TEXTS),
        st.none(),
        st.tuples(st.sampled_from(["look", "read"]), st.sampled_from(["same", "other"])),
    ),
    max_size=14,
)
DETECTOR = LoopDetector.escalating()


def run_of(moments):
    """Make a run of what was said and thought, calls with results, and None for the user."""
    calls, results, turns, messages = [], [], [], []
    for moment in moments:
        if moment is None:
            turns.append(len(calls))
            messages.append(TextMessage(USER, "Go", len(calls)))
        elif isinstance(moment, Thought):
            messages.append(TextMessage(MODEL, moment.text, len(calls), True))
        elif isinstance(moment, str):
            messages.append(TextMessage(MODEL, moment, len(calls)))
        else:
            calls.append(ToolCall(moment[0], round=len(calls)))
            results.append(ToolResult(moment[1]))
    return RecordedRun(
        "r", tuple(calls), tuple(results), tuple(turns), "s:1", messages=tuple(messages)
    )


def without(moments):
    return [moment for moment in moments if not isinstance(moment, Thought)]


def explained(run):
    try:
        return explain(run, DETECTOR)
    except ValueError as error:
        return str(error)


def judged_in_a_guard(run):
    history = History(run.calls, run.results, run.turn_starts, run.messages)
    verdict = Guard(DETECTOR).judge(history)
    return verdict, list(history.replies()), list(history.last_turn().replies())


def judged_live(values):
    lines = LiveLines("f", DETECTOR, None, pytest.fail)
    said = [each for value in values for each in lines.take(1, json.dumps(value))]
    return [(step, verdict) for _, step, verdict in [*said, *lines.end()]]


@settings(max_examples=60)
@given(MOMENTS)
def test_thoughts_change_no_verdict_no_health_and_no_explanation(moments):
    run, plain = run_of(moments), run_of(without(moments))
    assert list(replay(run, DETECTOR)) == list(replay(plain, DETECTOR))
    assert health.evaluate(run) == health.evaluate(plain)
    assert explained(run) == explained(plain)
    assert judged_in_a_guard(run) == judged_in_a_guard(plain)
    assert judged_live([json.loads(run.to_jsonl())]) == judged_live([json.loads(plain.to_jsonl())])
    assert heard(DETECTOR.monitor(), run.messages) == heard(DETECTOR.monitor(), plain.messages)


def numbered(moments):
    """Give each moment an id, which thoughts do not change."""
    return [(moment, f"id{len(without(moments[:at]))}") for at, moment in enumerate(moments)]


def told(verdict):
    found = verdict.detection
    return verdict.action, verdict.suspicion, found and (found.detector_name, found.message)


def codex_lines(moments):
    yield CODEX[0]
    for moment, call_id in numbered(moments):
        for item in codex_items(moment, call_id):
            yield {"type": "response_item", "payload": item}


def codex_items(moment, call_id):
    if moment is None:
        return [{"type": "message", "role": "user", "content": "Go"}]
    if isinstance(moment, str):
        return [{**OUTPUT, "content": [{"type": "output_text", "text": moment}]}]
    if isinstance(moment, Thought):
        return [{"type": "reasoning", "summary": [{"type": "summary_text", "text": moment.text}]}]
    return [
        {**ASKED, "call_id": call_id, "name": moment[0]},
        {"type": "function_call_output", "call_id": call_id, "output": moment[1]},
    ]


def told_live(values):
    return [(step, told(verdict)) for step, verdict in judged_live(values)]


@settings(max_examples=60)
@given(MOMENTS)
def test_thoughts_change_no_verdict_on_a_session_that_grows(moments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_lines, "_WORDS", 2)  # so that words are forgotten soon
        found = told_live(codex_lines(moments))
        assert found == told_live(codex_lines(without(moments)))
    assert found == [(step, told(said)) for step, said in replay(run_of(moments), DETECTOR)]


def anthropic_messages(moments):
    for moment, call_id in numbered(moments):
        if moment is None:
            yield {"role": "user", "content": "Go"}
        elif isinstance(moment, str):
            yield {"role": "assistant", "content": moment}
        elif isinstance(moment, Thought):
            yield {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": moment.text}],
            }
        else:
            yield {"role": "assistant", "content": [{**USED, "id": call_id, "name": moment[0]}]}
            answer = {"type": "tool_result", "tool_use_id": call_id, "content": moment[1]}
            yield {"role": "user", "content": [answer]}


@settings(max_examples=60)
@given(MOMENTS)
def test_thoughts_change_no_verdict_at_the_gateway(moments):
    guard, ends = GatewayGuard(DETECTOR), [("look", "same")]
    verdicts = [
        told(guard.judge_request({"messages": list(anthropic_messages(each))}, "anthropic").verdict)
        for each in (moments + ends, without(moments) + ends)
    ]
    assert verdicts[0] == verdicts[1]


def test_equal_thoughts_before_calls_are_not_replies_without_a_call():
    moments = [each for path in "abcdef" for each in (Thought(REPLY), ("look", path))]
    assert list(replay(run_of(moments), DETECTOR)) == []
    assert list(replay(run_of([Thought(REPLY)] * 6), DETECTOR)) == []
    assert list(replay(run_of([REPLY] * 6), DETECTOR)) != []


def test_a_health_monitor_passes_thoughts_over():
    monitor, plain = HealthMonitor(), HealthMonitor()
    for _ in range(6):
        monitor.add_message(TextMessage(MODEL, REPLY, 0, True))
    assert monitor.report() == plain.report()


def test_what_is_followed_keeps_no_thoughts():
    growing = GrowingHistory()
    for position in range(3):
        growing.messages.append(TextMessage(MODEL, "hm", position, True))
        growing.messages.append(TextMessage(MODEL, "Well.", position))
    growing.forget(0)
    assert [each.is_thought for each in growing.messages] == [False] * 3


def test_thoughts_may_stand_before_calls_that_are_there():
    history = HistoryBuilder()
    history.add_call("look", {}, "1", 0)
    history.add_thoughts("hm", "so", position=0)
    history.add_thoughts(" ")
    (thought,) = history.build().messages
    assert thought == TextMessage(MODEL, "hm\nso", 0, True)
    assert replace(thought, is_thought=False) == TextMessage(MODEL, "hm\nso", 0)
