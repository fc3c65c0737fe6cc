import enum
import json
from dataclasses import dataclass

import pytest

from antiloop import Agent, AgentTrace, ScriptedProvider, StepType, ToolCall, TraceStep
from antiloop.trace import to_plain


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Point:
    x: int


def trace_of_a_run():
    def look(at: str = "") -> str:
        return f"saw {at}"

    script = [[ToolCall("look", {"at": "é"}, id="c1"), ToolCall("lok")], "Done."]
    return Agent([look], ScriptedProvider(script)).run("Go").trace


def test_a_trace_survives_the_way_to_plain_data_and_back():
    trace = trace_of_a_run()
    data = json.loads(json.dumps(trace.to_dict()))
    assert AgentTrace.from_dict(data) == trace


def test_a_trace_is_read_in_order():
    kinds = [step.type for step in trace_of_a_run().steps]
    assert kinds == [
        StepType.RUN_START,
        StepType.MODEL_CALL,
        StepType.TOOL_CALL,
        StepType.TOOL_CALL,
        StepType.MODEL_CALL,
        StepType.RUN_END,
    ]


def test_steps_can_be_chosen_by_type():
    trace = trace_of_a_run()
    calls = trace.of_type(StepType.TOOL_CALL)
    assert [step.data["tool_name"] for step in calls] == ["look", "lok"]
    assert len(trace.of_type(StepType.TOOL_CALL, StepType.MODEL_CALL)) == 4


def test_jsonl_is_one_line_with_the_runs_calls():
    trace = trace_of_a_run()
    line = trace.to_jsonl()
    assert line.endswith("\n")
    assert line.count("\n") == 1
    run = json.loads(line)
    assert run["run_id"] == trace.run_id
    assert run["steps"][0] == {
        "tool_name": "look",
        "arguments": {"at": "é"},
        "result": "saw é",
        "is_error": False,
        "round": 1,
        "id": "c1",
    }
    assert run["steps"][1]["is_error"] is True


def test_an_own_trace_is_read_by_the_reader_of_recorded_runs(tmp_path):
    from antiloop.traces import read_runs

    path = tmp_path / "runs.jsonl"
    first, second = trace_of_a_run(), trace_of_a_run()
    path.write_text(first.to_jsonl() + second.to_jsonl())
    runs = list(read_runs(str(path)))
    assert [run.run_id for run in runs] == [first.run_id, second.run_id]
    assert [call.tool_name for call in runs[0].calls] == ["look", "lok"]
    assert [call.round for call in runs[0].calls] == [1, 1]
    assert runs[0].results[0].text == "saw é"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "a trace must be an object"),
        ({"steps": []}, "the run_id of a trace must be a string, got None"),
        ({"run_id": 3, "steps": []}, "the run_id of a trace must be a string, got 3"),
        ({"run_id": "r"}, "the steps of a trace must be a list, got None"),
        ({"run_id": "r", "steps": "x"}, "the steps of a trace must be a list, got 'x'"),
        ({"run_id": "r", "steps": ["x"]}, "a trace step must be an object, got 'x'"),
        ({"run_id": "r", "steps": [{}]}, "unknown trace step type None; expected one of run_start"),
        (
            {"run_id": "r", "steps": [{"type": "error", "summary": 1}]},
            "the summary of a trace step must be a string, got 1",
        ),
        (
            {"run_id": "r", "steps": [{"type": "error", "data": 1}]},
            "the data of a trace step must be an object, got 1",
        ),
    ],
)
def test_what_is_no_trace_is_refused_with_what_was_found(data, message):
    with pytest.raises(ValueError, match=message):
        AgentTrace.from_dict(data)


def test_a_step_needs_only_a_type():
    assert TraceStep.from_dict({"type": "error"}) == TraceStep(StepType.ERROR)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": (1, None, True, 1.5)}, {"a": [1, None, True, 1.5]}),
        ({1: "x", Color.RED: "y"}, {"1": "x", "red": "y"}),
        ({Level.LOW}, [1]),
        (Point(3), {"x": 3}),
        (Point, str(Point)),
        (b"ab", "b'ab'"),
    ],
)
def test_any_value_becomes_plain_data(value, plain):
    assert to_plain(value) == plain
    json.dumps(to_plain(value))


def test_a_value_inside_itself_comes_to_an_end():
    loop = []
    loop.append(loop)
    assert "..." in json.dumps(to_plain(loop))
