import enum
import json
from dataclasses import dataclass, field
from typing import Any, List

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import Agent, AgentTrace, ScriptedProvider, StepType, ToolCall, TraceStep
from antiloop._trace import to_plain


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


@pytest.mark.parametrize("kind", [set, frozenset])
@pytest.mark.parametrize("members", [[0, 8], [1, "a", None, 2.5], ["x", "y"]])
def test_equal_sets_become_equal_data(kind, members):
    """Whether a tool returned something new must not depend on how its set was made."""
    assert to_plain(kind(members)) == to_plain(kind(members[::-1]))
    assert sorted(map(str, to_plain(kind(members)))) == sorted(map(str, members))


def test_a_value_inside_itself_comes_to_an_end():
    loop = []
    loop.append(loop)
    assert "..." in json.dumps(to_plain(loop))


@dataclass
class Node:
    name: str
    parent: Any = None
    children: List[Any] = field(default_factory=list)


def test_objects_with_back_references_end_where_they_come_back():
    root = Node("root")
    root.children = [Node("leaf", root)]
    leaf = {"name": "leaf", "parent": "...", "children": []}
    assert to_plain(root) == {"name": "root", "parent": None, "children": [leaf]}


def test_an_object_that_stands_there_twice_stands_there_twice():
    row = {"a": [1]}
    assert to_plain([row, row]) == [row, row]


def test_a_long_list_is_kept_whole_and_one_that_nobody_reads_is_cut():
    numbers = list(range(50_000))
    assert to_plain(numbers) == numbers
    cut = to_plain(range_of(10_000_000))
    assert cut[-1] == "..."
    assert len(cut) < 200_000


def range_of(length):
    """Return a list that is never made: who went through it all would take its time."""

    class Long(list):
        def __iter__(self):
            return iter(range(length))

    return Long()


def nodes():
    """Objects that refer to each other in every possible way."""
    links = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40)
    return st.builds(linked, links, st.sampled_from([Node, list, dict]))


def linked(links, kind):
    made = [Node(str(number)) if kind is Node else kind() for number in range(6)]
    for one, other in links:
        if kind is Node:
            made[one].children.append(made[other])
        elif kind is list:
            made[one].append(made[other])
        else:
            made[one][f"k{other}{len(made[one])}"] = made[other]
    return made


@given(nodes())
def test_whatever_refers_to_what_the_plain_data_are_bounded(made):
    # Six objects that all refer to each other have more paths than anybody can wait for.
    plain = to_plain(made)
    assert len(json.dumps(plain)) < 10 * 2_000_000


def test_the_work_is_bounded_where_references_cross():
    looked = []

    class Counted(dict):
        def items(self):
            looked.append(self)
            return super().items()

    value = Counted()
    for _ in range(30):
        value = Counted(a=value, b=value)
    to_plain(value)
    assert len(looked) <= 200_000  # and not 2**30


def test_a_long_text_is_kept_and_many_are_cut():
    text = "a" * 3_000_000
    assert to_plain({"a": text}) == {"a": text}
    assert to_plain([text] * 1000) == [text, "..."]


def test_a_tool_may_return_objects_with_back_references():
    def tree():
        root = Node("root")
        root.children = [Node(str(number), root) for number in range(30)]
        return root

    result = Agent([tree], ScriptedProvider([ToolCall("tree"), "Done."])).run("Go")
    assert result.tool_results[0].text.count('"parent": "..."') == 30


def test_the_loops_of_a_trace_are_its_stalls_and_all_others():
    kinds = [StepType.TOOL_CALL, StepType.GRAPH_STALL, StepType.ERROR, StepType.GRAPH_LOOP_DETECTED]
    trace = AgentTrace("r1", tuple(map(TraceStep, kinds)))
    assert [each.type for each in trace.loops()] == [kinds[1], kinds[3]]
