"""What was said in recorded runs: read, written, and judged as in a live one."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import (
    Agent,
    AgentConfig,
    LoopDetector,
    Role,
    ScriptedProvider,
    ToolCall,
    ToolResult,
    health,
)
from antiloop.explanation import explain
from antiloop.formats import TextMessage
from antiloop.loop_detection import Opinion
from antiloop.traces import RecordedRun, RunRecorder, read_runs, replay
from antiloop.traces._live.live_lines import LiveLines

USER, MODEL, SYSTEM = Role.USER, Role.ASSISTANT, Role.SYSTEM
REPLY = "I will now look at the file."
CHANT = "I should look at the file again before I go on. " * 60


def read(*values, source=None):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.jsonl")
        path.write_text(as_lines(values), encoding="utf-8")
        (run,) = read_runs(str(path), source=source)
    return run


def as_lines(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def told(run):
    said = [each for each in run.messages if not each.is_thought]
    return [(each.role.value, each.text, each.position) for each in said]


def run_of(*moments, run_id="r"):
    """Make a run of what the model said, calls with their results, and None for the user."""
    calls, results, turns, messages = [], [], [], []
    for moment in moments:
        if moment is None:
            turns.append(len(calls))
        elif isinstance(moment, str):
            messages.append(TextMessage(MODEL, moment, len(calls)))
        else:
            calls.append(ToolCall(moment[0], round=len(calls)))
            results.append(ToolResult(moment[1]))
    turns = tuple(sorted(set(turns)))
    return RecordedRun(run_id, tuple(calls), tuple(results), turns, "s:1", messages=tuple(messages))


def verdicts(run, detector=None):
    detector = detector or LoopDetector.escalating()
    return [(step, v.detection.detector_name, v.action.value) for step, v in replay(run, detector)]


CALL = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
EXPECTED = [("user", "Hi", 0), ("assistant", "Let me look.", 0), ("assistant", "Done.", 1)]
CONVERSATIONS = {
    "openai-chat": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ],
    "anthropic": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]},
        {"role": "assistant", "content": "Done."},
    ],
    "langchain": [
        {"type": "human", "data": {"content": "Hi"}},
        {
            "type": "ai",
            "data": {
                "content": "Let me look.",
                "tool_calls": [{"id": "c1", "name": "look", "args": {}}],
            },
        },
        {"type": "tool", "data": {"content": "a", "tool_call_id": "c1"}},
        {"type": "ai", "data": {"content": "Done.", "tool_calls": []}},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"text": "Let me look."},
                {"functionCall": {"name": "look", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "look", "response": {"output": "a"}}}],
        },
        {"role": "model", "parts": [{"text": "Done."}]},
    ],
    "pydantic-ai": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]},
        {
            "kind": "response",
            "parts": [
                {"part_kind": "text", "content": "Let me look."},
                {"part_kind": "tool-call", "tool_name": "look", "args": "{}", "tool_call_id": "1"},
            ],
        },
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_name": "look",
                    "content": "a",
                    "tool_call_id": "1",
                }
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Done."}]},
    ],
    "openai-responses": [
        {"role": "user", "content": "Hi"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Let me look."}],
        },
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "a"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done."}],
        },
    ],
    "strands": [
        {"role": "user", "content": [{"text": "Hi"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "Let me look."},
                {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "a"}]}}],
        },
        {"role": "assistant", "content": [{"text": "Done."}]},
    ],
    "adk": {
        "id": "s",
        "appName": "app",
        "events": [
            {"author": "user", "content": {"parts": [{"text": "Hi"}], "role": "user"}},
            {
                "author": "finder",
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "Let me look."},
                        {"functionCall": {"name": "look", "args": {}, "id": "c1"}},
                    ],
                },
            },
            {
                "author": "finder",
                "content": {
                    "parts": [
                        {"functionResponse": {"name": "look", "id": "c1", "response": {"r": "a"}}}
                    ]
                },
            },
            {"author": "finder", "content": {"parts": [{"text": "Done."}]}},
        ],
    },
    "atif": {
        "schema_version": "ATIF-v1.4",
        "session_id": "s",
        "agent": {"name": "a", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Hi"},
            {
                "step_id": 2,
                "source": "agent",
                "message": "Let me look.",
                "tool_calls": [{"tool_call_id": "1", "function_name": "look", "arguments": {}}],
                "observation": {"results": [{"source_call_id": "1", "content": "a"}]},
            },
            {"step_id": 3, "source": "agent", "message": "Done."},
        ],
    },
    "swe-agent": {
        "environment": "e",
        "trajectory": [],
        "history": [
            {"role": "user", "content": "Hi", "message_type": "demonstration"},
            {"role": "assistant", "content": "Let me look.", "action": "look"},
            {"role": "user", "content": "a", "message_type": "observation"},
            {"role": "assistant", "content": "Done.", "action": ""},
        ],
    },
    "mini-swe-agent": {
        "trajectory_format": "mini-swe-agent-1",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "a"},
            {"role": "assistant", "content": "Done."},
        ],
    },
    "openhands": [
        {"id": 1, "source": "user", "action": "message", "args": {"content": "Hi"}},
        {"id": 2, "source": "agent", "action": "message", "args": {"content": "Let me look."}},
        {"id": 3, "source": "agent", "action": "run", "args": {"command": "look"}},
        {"id": 4, "cause": 3, "observation": "run", "content": "a"},
        {
            "id": 5,
            "source": "agent",
            "kind": "MessageEvent",
            "llm_message": {"content": [{"type": "text", "text": "Done."}]},
        },
    ],
    "gemini-cli": {
        "projectHash": "h",
        "sessionId": "s",
        "messages": [
            {"id": "1", "type": "user", "content": "Hi"},
            {
                "id": "2",
                "type": "gemini",
                "content": "Let me look.",
                "toolCalls": [
                    {"id": "1", "name": "look", "args": {}, "status": "success", "result": "a"}
                ],
            },
            {"id": "3", "type": "gemini", "content": "Done."},
        ],
    },
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_readers_keep_what_was_said(name):
    run = read(CONVERSATIONS[name], source=name)
    assert told(run) == EXPECTED
    assert len(run) == 1


def claude_line(number, role, content, **message):
    return {
        "type": role,
        "sessionId": "s",
        "uuid": str(number),
        "message": {"id": f"m{number}", "role": role, "content": content, **message},
    }


CLAUDE = [
    claude_line(1, "user", "Hi"),
    claude_line(2, "assistant", [{"type": "text", "text": "Let me look."}]),
    claude_line(3, "assistant", [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]),
    claude_line(4, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]),
    claude_line(5, "assistant", [{"type": "text", "text": "API Error"}], model="<synthetic>"),
    claude_line(6, "assistant", [{"type": "text", "text": "Done."}]),
]
CODEX = [
    {"type": "session_meta", "payload": {"id": "s"}},
    *({"type": "response_item", "payload": item} for item in CONVERSATIONS["openai-responses"]),
]
EVENTS = [
    {"run_id": "s", "type": "user_message", "input": "Hi"},
    {"run_id": "s", "type": "llm_call_completed", "output": "Let me look."},
    {"run_id": "s", "type": "tool_call_completed", "tool": "look", "output": "a"},
    {"run_id": "s", "type": "llm_call_completed", "output": "Done."},
    {"run_id": "s", "type": "llm_call_completed", "output": {"no": "text"}},
]


@pytest.mark.parametrize("lines", [CLAUDE, CODEX, EVENTS], ids=["claude-code", "codex", "events"])
def test_sessions_keep_what_was_said(lines):
    run = read(*lines)
    assert told(run) == EXPECTED


def test_a_notice_of_ours_is_of_the_system():
    notice = {"role": "user", "content": "[antiloop] Notice: stuck"}
    run = read([*CONVERSATIONS["openai-chat"], notice])
    assert told(run)[-1] == ("system", "[antiloop] Notice: stuck", 1)
    assert run.turn_starts == (0,)


def test_our_own_format_reads_what_was_said():
    messages = [
        {"role": "user", "text": "Hi", "position": 0},
        {"role": "assistant", "text": "Done.", "position": 1},
        {"role": "assistant", "text": "Out of order."},
        {"role": "nobody", "text": "x"},
        {"role": "user", "text": 7},
        {"role": "system", "text": "Far out.", "position": 99},
        "x",
    ]
    run = read({"run_id": "r", "steps": [{"tool_name": "look"}], "messages": messages})
    assert told(run) == [
        ("user", "Hi", 0),
        ("assistant", "Done.", 1),
        ("assistant", "Out of order.", 1),
        ("system", "Far out.", 1),
    ]
    assert run.turn_starts == (0,)


@pytest.mark.parametrize("messages", [None, 7, "x", {"a": 1}])
def test_messages_that_are_none_are_passed_over(messages):
    assert read({"steps": [{"tool_name": "a"}], "messages": messages}).messages == ()


def test_a_step_may_come_after_the_user():
    steps = [{"tool_name": "a"}, {"tool_name": "a", "after_user": True}, {"tool_name": "a"}]
    assert read({"steps": steps}).turn_starts == (1,)
    assert read({"steps": [{**steps[0], "after_user": False}]}).turn_starts == ()
    same = [{"tool_name": "a", "result": "same"} for _ in range(3)]
    assert [step for step, *_ in verdicts(read({"steps": same}))] == [2]
    assert verdicts(read({"steps": [*same[:2], {**same[2], "after_user": True}]})) == []


def test_what_judges_said_is_written():
    opinions = ((0, Opinion(True, 0.9, "It turns in circles.")),)
    run = replace(run_of(("look", "a")), opinions=opinions)
    assert read(json.loads(run.to_jsonl())).opinions == opinions


def texts():
    return st.sampled_from([REPLY, CHANT, "Something else.", "Sorry."])


MOMENTS = st.lists(
    st.one_of(
        texts(),
        st.none(),
        st.tuples(st.sampled_from(["look", "read"]), st.sampled_from(["same", "other"])),
    ),
    max_size=14,
)


@given(MOMENTS)
def test_what_is_written_is_read_again(moments):
    run = run_of(*moments)
    again = read(json.loads(run.to_jsonl()))
    assert (again.calls, again.results, again.messages) == (run.calls, run.results, run.messages)
    # What the user said after the last call has no step that it stands before.
    assert again.turn_starts == tuple(start for start in run.turn_starts if start < len(run))
    assert verdicts(again) == verdicts(run)


@given(MOMENTS)
def test_a_replay_says_what_a_live_monitor_says(moments):
    monitor, live, calls = LoopDetector.escalating().monitor(), [], 0
    for number, moment in enumerate(moments):
        if moment is None:
            continue
        if isinstance(moment, str):
            verdict = monitor.said(moment)
        else:
            if None in moments[:number] and calls in run_of(*moments).turn_starts:
                monitor.user_message()
            calls += 1
            verdict = monitor.after([ToolCall(moment[0], round=calls)], [moment[1]])
        if verdict.detection:
            live.append((max(0, calls - 1), verdict.detection.detector_name, verdict.action.value))
    assert verdicts(run_of(*moments)) == live


@given(MOMENTS)
def test_a_recording_is_judged_line_by_line_as_in_the_whole(moments):
    events = []
    for moment in moments:
        if moment is None:
            events.append({"type": "user_message", "input": "Hi"})
        elif isinstance(moment, str):
            events.append({"type": "llm_call_completed", "output": moment})
        else:
            events.append({"type": "tool_call_completed", "tool": moment[0], "output": moment[1]})
    events = [{"type": "run_started"}, *events]
    events = [{"run_id": "s", **event} for event in events]
    run, lines = read(*events), as_lines(events)
    live = LiveLines("f", LoopDetector.escalating(), "event-log", lambda _: None)
    said = [
        (step, verdict.detection.detector_name, verdict.action.value)
        for number, line in enumerate(lines.splitlines(), 1)
        for _, step, verdict in live.take(number, line)
    ]
    said += [(step, v.detection.detector_name, v.action.value) for _, step, v in live.end()]
    assert said == verdicts(run)


def test_what_is_said_while_a_recording_grows_is_told_at_once():
    live = LiveLines("f", LoopDetector.escalating(), "event-log", lambda _: None)
    lines = as_lines([{"run_id": "s", "type": "llm_call_completed", "output": REPLY}] * 3)
    said = [list(live.take(number, line)) for number, line in enumerate(lines.splitlines(), 1)]
    assert [len(each) for each in said] == [0, 0, 1]


def test_the_words_of_an_agents_run_are_in_its_recording():
    def look() -> str:
        """Look."""
        return "a"

    script = [ToolCall("look", {}), CHANT, CHANT]
    config = AgentConfig(loop_detector=LoopDetector.escalating())
    result = Agent([look], ScriptedProvider(script), config).run("Hi")
    run = read(json.loads(result.trace.to_jsonl()))
    assert [role for role, *_ in told(run)] == ["assistant", "system", "assistant"]
    assert [position for *_, position in told(run)] == [1, 1, 1]
    assert verdicts(run) == [(0, "chant", "notify"), (0, "chant", "stop")]


def test_a_recorder_writes_what_the_model_said(tmp_path):
    path = str(tmp_path / "runs.jsonl")
    with RunRecorder(path, run_id="r") as recorder:
        recorder.llm_call("m", text="Let me look.")
        recorder.tool_call("look", {}, "a")
    (run,) = read_runs(path)
    assert told(run) == [("assistant", "Let me look.", 0)]


def test_the_health_of_a_run_knows_its_words():
    report = health.evaluate(run_of(REPLY, REPLY, REPLY))
    assert [step for step, _ in report.verdicts] == [0]
    assert [each.name for each in report.warnings] == ["loop_monologue"]
    report = health.evaluate(run_of(("look", "a"), REPLY, REPLY, None, REPLY))
    assert report.verdicts


def test_an_explanation_counts_words():
    run = run_of(("look", "a"), REPLY, REPLY, REPLY, ("read", "b"))
    explained = explain(run, LoopDetector.escalating())
    assert (explained.step, explained.verdict.detection.detector_name) == (0, "monologue")
    counts = {each.detector: (each.count, each.needed) for each in explained.counts}
    assert counts["monologue"] == (3, 3)
    assert counts["chant"] == (None, 6)
    assert [each.text for each in explained.messages] == [REPLY] * 3
    assert [each.is_found_now for each in explained.rungs] == [True]
    later = explain(run, LoopDetector.escalating(), step=1)
    assert later.verdict.detection is None
    assert [each.position for each in later.messages] == [1, 1, 1]


def test_an_explanation_of_a_run_without_a_call():
    explained = explain(run_of(REPLY, REPLY, REPLY), LoopDetector.escalating())
    assert (explained.step, explained.verdict.action.value) == (0, "notify")
    with pytest.raises(ValueError, match="no steps"):
        explain(run_of(), LoopDetector.escalating())


def test_an_explanation_masks_what_was_said():
    run = run_of("password=hunter2", ("look", "a"))
    assert "hunter2" not in str(explain(run, LoopDetector.default()).messages)


def test_counts_of_words_are_left_out_where_nothing_was_said():
    counts = explain(run_of(("look", "a")), LoopDetector.default()).counts
    assert [each.detector for each in counts] == ["repeat", "stall", "ping_pong"]
