"""An assertion and a score for runs of any kind."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import Agent, AgentConfig, LoopDetector, LoopPolicy, RepeatDetector
from antiloop.exceptions import NoTrace, TraceUnreadable
from antiloop.formats import from_openai_chat
from antiloop.testing import (
    LoopScore,
    ScriptedProvider,
    ToolCall,
    assert_no_loops,
    loop_score,
    repeating_script,
)
from antiloop.traces import FORMATS, replay

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "runs.jsonl"
FOLDER = ROOT / "tests" / "traces" / "fixtures"
STUCK = sorted(FOLDER.glob("*/stuck*"))
HEALTHY = sorted(FOLDER.glob("*/healthy*"))


def chat(times, arguments='{"q": "cats"}', result="nothing found"):
    call = {"id": "1", "function": {"name": "search", "arguments": arguments}}
    asks = {"role": "assistant", "tool_calls": [call]}
    return [asks, {"role": "tool", "tool_call_id": "1", "content": result}] * times


def agent_result(times):
    def look():
        return "nothing"

    provider = ScriptedProvider(repeating_script(ToolCall("look"), times))
    return Agent([look], provider, AgentConfig(loop_detector=None)).run("Go")


@pytest.mark.parametrize("path", STUCK, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_recording_that_is_stuck_fails_whatever_its_format(path):
    with pytest.raises(AssertionError, match="got stuck in"):
        assert_no_loops(path)


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_healthy_recording_passes(path):
    assert_no_loops(str(path))


def test_all_formats_are_tried():
    assert {path.parts[-2] for path in STUCK} == FORMATS.keys()


@dataclass
class Message:
    """As a library may have it."""

    role: str
    content: str = ""
    tool_calls: List[Any] = field(default_factory=list)
    tool_call_id: str = ""


def objects(times):
    call = {"id": "1", "function": {"name": "search", "arguments": "{}"}}
    return [
        Message("assistant", tool_calls=[call]),
        Message("tool", "nothing found", tool_call_id="1"),
    ] * times


GIVEN: Dict[str, Any] = {
    "messages": chat,
    "an object with messages": lambda times: {"messages": chat(times)},
    "objects": objects,
    "a history": lambda times: from_openai_chat(chat(times)),
    "a run": lambda times: next(read_runs_of(chat(times))),
    "runs": lambda times: [next(read_runs_of(chat(2))), from_openai_chat(chat(times))],
    "a result": agent_result,
    "a trace": lambda times: agent_result(times).trace,
    "messages of a result": lambda times: agent_result(times).messages,
    "a stored conversation": lambda times: [m.to_dict() for m in agent_result(times).messages],
}


def read_runs_of(messages):
    from antiloop.traces._reading import read_lines

    return read_lines([(1, json.dumps(messages))], "f", None, print)


@pytest.mark.parametrize("made", GIVEN.values(), ids=GIVEN)
def test_whatever_holds_a_run_names_its_tools(made):
    assert_no_loops(made(9), allow=["search", "look"])
    with pytest.raises(AssertionError, match=r", repeat: (search|look)"):
        assert_no_loops(made(9), allow=["find"])


@pytest.mark.parametrize("made", GIVEN.values(), ids=GIVEN)
def test_whatever_holds_a_run_is_taken(made):
    assert_no_loops(made(2))
    with pytest.raises(AssertionError, match="4 times in a row"):
        assert_no_loops(made(4))


def test_the_message_shows_the_loop():
    with pytest.raises(AssertionError) as caught:
        assert_no_loops(chat(4))
    assert str(caught.value).splitlines() == [
        "run 'the value given:1' got stuck in a loop:",
        '  step 2, repeat: search "cats" 4 times in a row: "nothing found"',
        *(f'      {step}  search {{"q":"cats"}} -> nothing found' for step in range(4)),
    ]


def test_of_a_long_loop_the_last_calls_are_shown_and_the_others_counted():
    with pytest.raises(AssertionError) as caught:
        assert_no_loops(chat(20))
    said = str(caught.value)
    assert said.count("-> nothing found") == 6
    assert "    ... 14 calls before" in said.splitlines()


def test_errors_and_unknown_results_are_told():
    steps = [{"tool_name": "ls", "arguments": {}}] * 4
    with pytest.raises(AssertionError, match=r"ls \{\} -> \(result unknown\)"):
        assert_no_loops({"steps": steps})
    failed = [{**steps[0], "result": "no such file", "is_error": True}] * 4
    with pytest.raises(AssertionError, match=r"ls \{\} -> error: no such file"):
        assert_no_loops({"steps": failed})


def test_nothing_that_is_shown_can_change_the_page_or_tell_a_secret():
    arguments = json.dumps({"password": "hunter2", "q": "\x1b[2J"})
    with pytest.raises(AssertionError) as caught:
        assert_no_loops(chat(4, arguments, "password=hunter2\r\n\x1b[2J"))
    said = str(caught.value)
    assert "hunter2" not in said
    assert said.replace("\n", "").isprintable()


def test_a_score_shows_no_name_that_looks_like_a_secret():
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz123456"
    score = loop_score({"steps": [{"tool_name": key, "arguments": {}, "result": "x"}] * 4})
    assert score.explanation.startswith("step 2: *** 4 times")


def test_tools_that_are_allowed_may_be_called_over_and_over():
    assert_no_loops(chat(9), allow=["search"])
    with pytest.raises(AssertionError):
        assert_no_loops(chat(9), allow=["sea"])
    with pytest.raises(TypeError, match=r"not a text: \['search'\]"):
        assert_no_loops(chat(9), allow="search")


def test_a_preset_or_a_detector_says_what_a_loop_is():
    patient = LoopDetector([RepeatDetector(5)], LoopPolicy.RAISE)
    assert_no_loops(chat(4), preset=patient)
    with pytest.raises(AssertionError, match="5 times"):
        assert_no_loops(chat(5), preset=patient)
    assert_no_loops(chat(9), preset="patient")
    with pytest.raises(ValueError, match="unknown preset 'strict'; choose from default, esc"):
        assert_no_loops(chat(4), preset="strict")


@given(st.lists(st.sampled_from("abc"), max_size=12))
def test_it_fails_exactly_where_a_replay_finds_something(names):
    steps = [{"tool_name": name, "arguments": {}, "result": "none"} for name in names]
    (run,) = read_runs_of({"run_id": "r", "steps": steps})
    is_stuck = any(replay(run, LoopDetector.default()))
    assert (loop_score(run).score == 0) == is_stuck
    if is_stuck:
        with pytest.raises(AssertionError):
            assert_no_loops(run)
    else:
        assert_no_loops(run)


@pytest.mark.parametrize("nothing", [None, 7, {}, [], "", SimpleNamespace(a=1), [[]]])
def test_what_holds_no_run_does_not_pass(nothing):
    with pytest.raises(TraceUnreadable):
        assert_no_loops(nothing)


def test_an_agent_that_replies_without_a_tool_is_judged(no_loops):
    provider = ScriptedProvider(["one", "two", "{}"])
    agent = Agent([], provider, AgentConfig(observers=[no_loops]))
    assert_no_loops(agent.run("Go", response_format={"type": "object"}))
    assert [len(run.messages) for run in no_loops.runs] == [3]


def test_what_may_be_read_wrong_does_not_pass():
    said = [{"role": "assistant", "content": f"<search>{at}</search>"} for at in range(2)]
    with pytest.raises(TraceUnreadable, match="2 replies, and no tool call"):
        assert_no_loops(said)
    assert_no_loops(from_openai_chat(said))


def test_what_cannot_be_read_whole_does_not_pass(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"run_id": "a", "steps": []}\n{"run_id": "b", "ste')
    with pytest.raises(TraceUnreadable, match=r"a part of it cannot be judged: .*runs.jsonl:2"):
        assert_no_loops(path)
    path.write_text("")
    with pytest.raises(NoTrace, match="it is empty"):
        assert_no_loops(path)


def test_a_score_is_a_number_a_word_and_why():
    assert loop_score(chat(2)) == LoopScore(1.0, "loop_free", "No tool-call loop.")
    score, label, explanation = loop_score(chat(4))
    assert (score, label) == (0.0, "stuck")
    why = 'search "cats" 4 times in a row: "nothing found"'
    assert explanation == f"step 2: {why}"
    assert loop_score(chat(4), allow=["search"]).score == 1.0
    assert loop_score(chat(4), preset="patient").label == "loop_free"


def test_several_runs_are_not_one_score():
    with pytest.raises(ValueError, match="expected one run, got 2"):
        loop_score(EXAMPLE)
