"""From a file to its runs: recognition, both formats, and what is broken in them."""

import contextlib
import gzip
import json
import os
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.exceptions import NoTrace, TraceUnreadable
from antiloop.traces import FORMATS, read_runs, replay
from antiloop.traces import _reading as reading
from antiloop.traces._shared.records import numbered
from antiloop.types import ToolCall, ToolResult

STEP = {"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py", "round": 0}
NOT_RECORDED = ToolCall("(not recorded, step 0)", {"step 0": "not recorded"})
CHAT = [
    {"role": "user", "content": "look"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "1", "function": {"name": "ls", "arguments": '{"p": "."}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "a.py"},
]


@pytest.fixture
def read(tmp_path):
    """Write bytes or text, as it stands, and give its runs; trouble is kept in ``read.trouble``."""

    def reader(text, source=None):
        path = tmp_path / "f"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        reader.trouble = []
        found = list(read_runs(str(path), source=source, on_trouble=reader.trouble.append))
        reader.trouble = [what.replace(str(tmp_path), "")[1:] for what in reader.trouble]
        return found

    return reader


def own(run_id, *steps):
    return json.dumps({"run_id": run_id, "steps": steps}) + "\n"


def only_step(run):
    assert len(run) == 1
    return run.calls[0], run.results[0]


def test_our_own_format_one_run_a_line(read):
    first, second = read(own("a", STEP, STEP) + own("b"))
    assert first.run_id == "a"
    assert first.calls == (ToolCall("ls", {"p": "."}, None, 0),) * 2
    assert first.results == (ToolResult("a.py"),) * 2
    assert first.source.endswith(":1")
    assert (second.run_id, len(second)) == ("b", 0)


def test_further_keys_are_ignored(read):
    line = json.dumps({"run_id": "a", "model": "m", "steps": [{**STEP, "seconds": 3}], "x": [1]})
    assert len(read(line)) == 1
    assert read.trouble == []


def test_a_missing_result_is_unknown_and_an_empty_one_is_not(read):
    (run,) = read(own("a", {"tool_name": "t"}, {"tool_name": "t", "result": ""}))
    assert run.results == (None, ToolResult(""))


def test_a_null_result_is_unknown(read):
    (run,) = read(own("a", {"tool_name": "t", "result": None}))
    assert run.results == (None,)


def test_an_error_is_kept(read):
    (run,) = read(own("a", {**STEP, "is_error": True}))
    assert run.results == (ToolResult("a.py", is_error=True),)


@pytest.mark.parametrize(
    ("step", "call", "result"),
    [
        ({"tool_name": 7}, ToolCall("7", None), None),
        ({"tool_name": None, "result": {"b": 1, "a": 2}}, NOT_RECORDED, '{"a":2,"b":1}'),
        ({"tool_name": "t", "result": False}, ToolCall("t", None), "false"),
        ({"tool_name": "t", "result": ["a", "b"]}, ToolCall("t", None), '["a","b"]'),
        ({"tool_name": "t", "arguments": [1, 2]}, ToolCall("t", "[1,2]"), None),
        ({"tool_name": "t", "arguments": "{bad"}, ToolCall("t", "{bad"), None),
        ({"tool_name": "t", "id": 5}, ToolCall("t", None, "5"), None),
        ({}, NOT_RECORDED, None),
        (None, NOT_RECORDED, None),
        ("text", ToolCall("", "text"), None),
    ],
)
def test_wrong_types_in_a_step_are_survived(read, step, call, result):
    (run,) = read(own("a", step))
    assert only_step(run) == (call, None if result is None else ToolResult(result))


def test_rounds_that_are_no_numbers_still_group(read):
    (run,) = read(own("a", *({"tool_name": "t", "round": r} for r in ["x", "x", "y", None, 1.5])))
    assert list(run.rounds()) == [(0, 2), (2, 3), (3, 4), (4, 5)]


def test_names_of_rounds_never_equal_a_number_that_is_given(read):
    (run,) = read(own("a", *({"tool_name": "t", "round": r} for r in ("x", -1, -2, "y", 3))))
    assert len({call.round for call in run.calls}) == 5


@pytest.mark.parametrize("own_id", ["call_0", "", 7])
def test_steps_without_round_are_rounds_also_where_their_ids_are_used_again(read, own_id):
    (run,) = read(own("a", *[{**STEP, "id": own_id, "round": None}] * 4))
    assert list(run.rounds()) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert [step for step, _ in replay(run, LoopDetector.default())] == [2, 3]


def test_a_run_without_id_is_named_by_its_place(read):
    (run,) = read(json.dumps({"steps": [STEP]}))
    assert run.run_id == run.source
    assert read(json.dumps({"run_id": 12, "steps": []}))[0].run_id == "12"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CHAT),
        json.dumps(CHAT, indent=2),
        json.dumps({"messages": [*CHAT, 7]}, indent=4),
        json.dumps({"messages": CHAT, "model": "m"}) + "\n",
        gzip.compress(json.dumps(CHAT).encode()),
    ],
)
def test_an_openai_chat_is_one_run(read, text):
    (run,) = read(text)
    assert only_step(run) == (ToolCall("ls", {"p": "."}, "1", 1), ToolResult("a.py"))
    assert run.turn_starts == (0,)


def test_openai_chats_one_a_line(read):
    ids = [{"id": "a"}, {"run_id": "b", "id": "x"}, {"conversation_id": 3}]
    lines = [json.dumps({**own_id, "messages": CHAT}) for own_id in ids] + [json.dumps(CHAT)]
    runs = read("\n".join(lines))
    assert [run.run_id for run in runs] == ["a", "b", "3", runs[3].source]


def test_a_list_of_runs_is_opened(read):
    chats = read(json.dumps([{"messages": CHAT}, CHAT, 7], indent=1))
    assert [len(run) for run in chats] == [1, 1]
    assert read.trouble == ["f:1: expected OpenAI chat messages; skipped"]
    assert [run.source[-2] for run in chats] == ["0", "1"]
    assert [run.run_id for run in read(json.dumps([{"run_id": "a", "steps": []}]))] == ["a"]


def test_a_broken_line_is_named_and_the_rest_is_read(read):
    runs = read(own("a", STEP) + '{"run_id": "b", "st\n' + '{"other": 1}\n' + own("c", STEP))
    assert [run.run_id for run in runs] == ["a", "c"]
    assert read.trouble == [
        "f:2: not JSON: Unterminated string starting at column 17; skipped",
        'f:3: expected one {"run_id", "steps": [...]} a line; skipped',
    ]


def test_a_broken_first_line_is_no_reason_to_give_up(read):
    assert [run.run_id for run in read("{{{\n" + own("a", STEP))] == ["a"]
    assert len(read.trouble) == 1


@pytest.mark.parametrize(
    "text",
    ["root:x:0:0\n", "{}", "[]", "[1, 2]", '"text"', '{"messages": "none"}', "[[]]"],
)
def test_what_is_no_trace_is_refused_with_what_was_expected(read, text):
    with pytest.raises(
        TraceUnreadable, match=r"f:\d+: no tool calls here.*; expected one \{.*chat"
    ):
        read(text)
    assert read.trouble == []


@pytest.mark.parametrize("text", ["", "\n", "\n \n", "\ufeff"])
def test_an_empty_file_is_called_so(read, text):
    with pytest.raises(NoTrace, match=r"f: no recorded runs here: it is empty$"):
        read(text)
    assert read.trouble == []


def test_the_format_can_be_given(read):
    assert read(json.dumps({"x": 1}) + "\n" + own("a", STEP), source="antiloop")[0].run_id == "a"
    assert read.trouble == ['f:1: expected one {"run_id", "steps": [...]} a line; skipped']


@pytest.mark.parametrize("source", FORMATS)
def test_lines_that_are_nothing_of_a_given_format_are_told_and_make_no_run(read, source):
    assert read('{"x": 1}\n{"y": 2}\n', source=source) == []
    assert {text.partition(": ")[0] for text in read.trouble} == {"f:1", "f:2"}


def test_a_path_may_be_an_object(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"run_id": "a", "steps": []}\n')
    (run,) = read_runs(path)
    assert (run.run_id, run.source) == ("a", f"{path}:1")


@pytest.mark.parametrize("path", [0, None, ["runs.jsonl"]])
def test_what_is_no_path_is_refused_at_once(path):
    with pytest.raises(TypeError, match="expected str"):
        read_runs(path)


def test_an_unknown_format_is_refused_at_once():
    with pytest.raises(ValueError, match="unknown source 'csv'; choose from antiloop, "):
        read_runs("f", source="csv")


def test_trouble_is_logged_unless_somebody_wants_it(tmp_path, caplog):
    path = tmp_path / "f"
    path.write_text(own("a") + "bad\n")
    assert len(list(read_runs(str(path)))) == 1
    assert "f:2: not JSON" in caplog.text


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text('aé\x1b"{', max_size=3)
anything = (
    scalars
    | st.lists(scalars, max_size=2)
    | st.dictionaries(st.text('aé\x1b"{', max_size=3), scalars)
)
step_like = st.dictionaries(
    st.sampled_from(["tool_name", "arguments", "result", "is_error", "round", "id"]), anything
)
run_like = st.fixed_dictionaries({"run_id": anything, "steps": st.lists(step_like | anything)})


def read_bytes(data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return list(read_runs(file.name, on_trouble=lambda what: None))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(TraceUnreadable):
        # The first words of a chat history in Markdown are a run in which nothing happened yet.
        assert not any(map(len, read_bytes(data)))


@given(st.lists(run_like, min_size=1, max_size=3), st.data())
def test_runs_of_any_content_survive_and_so_do_torn_files(values, data):
    lines = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    runs = read_bytes(lines)
    assert [len(run) for run in runs] == [len(value["steps"]) for value in values]
    assert all(len(run.calls) == len(run.results) for run in runs)
    assert all(
        isinstance(result, (ToolResult, type(None))) for run in runs for result in run.results
    )
    torn = lines + lines[: data.draw(st.integers(0, len(lines)))]
    assert len(read_bytes(torn)) >= len(values)


SESSION = [
    {"type": kind, "sessionId": "s", "message": {"role": role, "content": content}}
    for kind, role, content in (
        ("user", "user", "look"),
        ("assistant", "assistant", [{"type": "tool_use", "id": "1", "name": "ls", "input": {}}]),
        ("user", "user", [{"type": "tool_result", "tool_use_id": "1", "content": "a.py"}]),
    )
]


def test_what_was_read_before_a_file_breaks_off_is_given_first(tmp_path):
    noise = [{"type": "summary", "sessionId": "s", "summary": os.urandom(99).hex()}] * 500
    packed = gzip.compress("\n".join(map(json.dumps, [*SESSION, *noise])).encode())
    path = tmp_path / "f"
    path.write_bytes(packed[:-20])
    runs = read_runs(str(path))
    assert only_step(next(runs)) == (ToolCall("ls", {}, "1", 1), ToolResult("a.py"))
    with pytest.raises(TraceUnreadable, match=r"f:\d+: reading failed"):
        next(runs)


def test_a_file_that_breaks_off_before_any_run_is_unreadable_and_not_empty(read):
    with pytest.raises(TraceUnreadable, match=r"f:1: reading failed"):
        read(gzip.compress(own("a", STEP).encode())[:20])


def test_what_was_expected_is_said_in_a_few_lines(read):
    with pytest.raises(NoTrace) as caught:
        read("{}")
    assert "antiloop scan --help" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_file_that_is_cut_off_is_read_up_to_there(read):
    text = own("a", STEP) + own("b", STEP)
    assert [run.run_id for run in read(text[:-9])] == ["a"]
    assert read.trouble == ["f:2: not JSON: Unterminated string starting at column 90; skipped"]


def test_a_document_that_is_cut_off_is_refused_with_the_reason(read):
    text = json.dumps({"messages": CHAT}, indent=2)
    with pytest.raises(NoTrace, match=r"no tool calls here \(not JSON: Expecting value"):
        read(text[: text.rindex(":") + 1])


def test_long_values_that_are_no_trace_are_not_held_while_one_is_sought(monkeypatch):
    monkeypatch.setattr(reading, "MAX_LENGTH", 50)
    lines = iter(list(numbered(['{"a": "xxxxxxxxxxxxxxxxxxx"}'] * 9)))
    with pytest.raises(NoTrace, match=r"f:1: no tool calls here; expected"):
        list(reading.read_lines(lines, "f", None, print))
    assert len(list(lines)) == 7
