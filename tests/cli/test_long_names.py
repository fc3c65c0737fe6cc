"""Names that a model or a file makes as long as it likes: no line that is printed grows."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall
from antiloop.cli import main
from antiloop.loop_detection.presets import PRESETS

LONG = "x" * 5_000
TOOL = "y" * 5_000
LINE = 2_100
"""Characters of the longest line that a command prints."""


@pytest.fixture
def long(tmp_path):
    """Write runs in which whatever is a name is very long, and loops."""
    calls = [
        {"tool_name": f"{LONG}{name}", "arguments": {"q": LONG}} for name in "a" * 35 + "ab" * 6
    ]
    steps = [{**call, "result": "No results."} for call in calls]
    path = tmp_path / "runs.jsonl"
    runs = [{"run_id": f"{LONG}\x1b[2J", "steps": steps}, {"run_id": "nothing", "steps": 5}]
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    return str(path)


COMMANDS = [("calibrate", "escalating"), *product(("scan", "explain"), PRESETS)]


@pytest.mark.parametrize(("command", "preset"), COMMANDS)
def test_no_line_grows_with_the_names_in_a_recording(command, preset, long, capsys):
    main([command, long, "--preset", preset])
    out, err = capsys.readouterr()
    assert max(map(len, (out + err).splitlines())) <= LINE
    assert "xxx...xxx" in out or "yyy...yyy" in out


@pytest.mark.parametrize("output", ["scan --format json", "scan --format sarif", "report -o -"])
def test_what_is_found_is_told_in_short_as_data_too(output, long, capsys):
    main([*output.split(), long])
    out, _ = capsys.readouterr()
    assert TOOL[:2_000] not in out  # but the id of a run is data, by which others find it
    assert "in a row" in out


def test_a_name_that_is_asked_for_and_is_not_there_is_told_in_short(long, capsys):
    assert main(["explain", long, "--run", LONG[1:]]) == 2
    err = capsys.readouterr().err
    assert max(map(len, err.splitlines())) <= LINE


HALF = "\ud83d"
"""Half a surrogate pair, which no file in UTF-8 can hold as it is."""
OUTPUTS = (
    *("scan", "scan --format json", "scan --format sarif", "report -o -", "redact -o -"),
    *("summary", "summary --format json", "summary --format html", "explain --step 3"),
)


@pytest.mark.parametrize("output", OUTPUTS)
def test_half_a_surrogate_pair_in_each_name_costs_nothing(output, tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    call = {"type": "tool_call_completed", "tool": HALF, "input": {HALF: HALF}, "output": HALF}
    reply = {"type": "llm_call_completed", "model": HALF, "output": HALF}
    events = [{**each, "run_id": HALF, "agent": HALF} for each in (reply, call) * 4]
    path.write_text("".join(json.dumps(each) + "\n" for each in events))
    assert main([*output.split(), str(path)]) in (0, 1)
    out, err = capsys.readouterr()
    assert out.encode()
    assert "codec" not in err


NAMES = st.sampled_from(["x", "long name ", "\x1b[2J", "\u202e", "é", "'\""]).flatmap(
    lambda part: st.integers(1, 50_000).map(lambda count: part * count)
)


@given(NAMES, st.booleans(), st.sampled_from(sorted(PRESETS)))
def test_no_detection_grows_with_the_names_of_tools(name, takes_turns, preset):
    names = [name, f"{name}2"] if takes_turns else [name, name]
    calls = [ToolCall(each) for each in names * 20]
    found = PRESETS[preset]().check(calls, ["No results."] * len(calls))
    assert found is not None
    assert len(found.message) <= 600
    assert found.message.isprintable()
    assert len(json.dumps(found.details)) < 20_000


def test_short_names_are_told_whole():
    calls = [ToolCall("search", {"q": "cats"})] * 3
    found = LoopDetector.default().check(calls, [])
    assert found.message == "Tool 'search' was called 3 times in a row with the same arguments."
    assert found.details["tool"] == "search"
