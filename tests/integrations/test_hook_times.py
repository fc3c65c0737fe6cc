"""Hooks say when calls began and how long they took, so that waits can be judged by their time."""

import json

import pytest
from hook_agents import ScriptedAgent

from antiloop.integrations import claude_code, codex
from antiloop.integrations._hooks.session_state import CAME_AT, SessionFile
from antiloop.loop_detection import LoopMonitor


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Collect when each call that is judged began, and how long it took."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    times = []

    def after(self, calls, results, *more, original=LoopMonitor.after, **options):
        times.extend((call.started_at, res and res.duration_s) for call, res in zip(calls, results))
        return original(self, calls, results, *more, **options)

    monkeypatch.setattr(LoopMonitor, "after", after)
    return times


class Codex(codex.LoopGuard):
    def __init__(self):
        super().__init__()
        self.now = 100.0

    def _clock(self):
        return self.now


def test_a_call_lasts_from_the_event_before_it_to_the_one_after_it(judged):
    guard = Codex()
    agent = ScriptedAgent(guard)
    for number in range(3):
        call = agent.call("Bash", {"command": f"make {number}"})
        agent.begin(call, [])
        guard.now += 61.5
        agent.end(call, f"built {number}", [])
        guard.now += 1
    assert judged == [(100.0, 61.5), (162.5, 61.5), (225.0, 61.5)]


def test_a_call_whose_beginning_was_not_said_has_no_times(judged):
    agent = ScriptedAgent(Codex())
    agent.end(agent.call("Bash", {"command": "make"}), "built", [])
    assert judged == [(None, None)]


def test_events_that_waited_for_the_engine_keep_their_times(judged):
    guard = Codex()
    agent = ScriptedAgent(guard)
    agent.speak()
    call = {**agent.call("Bash", {"command": "make"}), "session_id": "s"}
    with SessionFile("codex", "s") as file:
        for kind, beside in (("PreToolUse", {}), ("PostToolUse", {"tool_response": "built"})):
            file.append({"hook_event_name": kind, **call, **beside})
    with SessionFile("codex", "s") as file:
        (began, ended) = (each[CAME_AT] for each in file.later)
    agent.ask("PreToolUse", **agent.call("Bash", {"command": "ls"}))
    assert judged == [(began, ended - began)]


def test_a_round_of_claude_code_has_the_times_of_its_transcript(judged, tmp_path, monkeypatch):
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
    said = {"role": "assistant", "content": [call]}
    line = {"type": "assistant", "timestamp": "2026-01-02T03:04:05.000Z", "message": said}
    transcript = tmp_path / "session.jsonl"
    transcript.write_text(json.dumps(line) + "\n", encoding="utf-8")
    guard = claude_code.LoopGuard()
    began = 1767323045.0
    monkeypatch.setattr(claude_code.LoopGuard, "_clock", lambda self: began + 42)
    called = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1"}
    event = {"hook_event_name": "PostToolBatch", "transcript_path": str(transcript)}
    guard.answer({**event, "tool_calls": [{**called, "tool_response": "built"}]})
    assert judged == [(began, 42.0)]


def test_a_time_that_the_agent_states_does_not_count_its_wait_for_an_approval(judged, tmp_path):
    guard, call = Codex(), {"tool_name": "Bash", "tool_input": {"command": "make"}}
    call["tool_use_id"] = "t1"
    guard.answer({"hook_event_name": "PreToolUse", "session_id": "s", **call})
    guard.now += 600
    ended = {"hook_event_name": "PostToolUse", "session_id": "s", **call, "tool_response": "built"}
    guard.answer({**ended, "duration_ms": 42_000})
    event = {"hook_event_name": "PostToolUse", "transcript_path": str(tmp_path / "s.jsonl"), **call}
    claude_code.LoopGuard().answer({**event, "tool_response": "built", "duration_ms": 1_500})
    assert judged == [(100.0, 42.0), (None, 1.5)]


@pytest.mark.parametrize("said", [None, "soon", -1, True, float("nan")])
def test_a_stated_time_that_is_none_is_passed_over(judged, said):
    guard = Codex()
    agent = ScriptedAgent(guard)
    call = agent.call("Bash", {"command": "make"})
    agent.begin(call, [])
    guard.now += 5
    agent.end({**call, "duration_ms": said}, "built", [])
    assert judged == [(100.0, 5.0)]
