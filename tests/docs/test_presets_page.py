"""The page about presets tells their figures, and at which call they act."""

import inspect
import re
from pathlib import Path

import pytest

from antiloop import LoopPolicy, ToolCall, ToolResult
from antiloop.loop_detection import LoopAction
from antiloop.loop_detection._registry import DETECTORS as TYPES
from antiloop.loop_detection.presets import PRESETS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "presets.md").read_text("utf-8")

RUNS = {
    "the same call, the same answer": lambda n: (ToolCall("look"), "the same"),
    "two calls in turn, the same answers": lambda n: (ToolCall("ab"[n % 2]), "the same"),
    "new arguments each time, the same failure": lambda n: (
        ToolCall("get", {"id": 1000 + n}),
        f"Error: no ticket {1000 + n}",
    ),
    "a cycle of three calls, the same answers": lambda n: (ToolCall("abc"[n % 3]), "the same"),
    "new arguments each time, nothing found": lambda n: (
        ToolCall("search", {"q": f"thing{n}"}),
        "No results.",
    ),
    "new arguments each time, asked to wait": lambda n: (
        ToolCall("search", {"q": f"thing{n}"}),
        "Busy, try again later.",
    ),
    "a tool that does not exist": lambda n: (
        ToolCall("serch", {"q": f"thing{n}"}),
        ToolResult("Unknown tool: serch", is_error=True),
    ),
    "the same call, a new answer each time": lambda n: (ToolCall("look"), f"page {'x' * n}"),
    "two tools in turn, everything new": lambda n: (ToolCall("ab"[n % 2], {"n": n}), "x" * n),
    "one tool, everything new": lambda n: (ToolCall("get", {"n": n}), f"page {'x' * n}"),
}


def part(heading):
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def played(preset, step):
    """Return the first call with each action, in a run that refuses blocked calls."""
    monitor, said = PRESETS[preset]().monitor(), {}
    for number in range(40):
        call, result = step(number)
        if monitor.before(call).action is LoopAction.BLOCK:
            result = ToolResult(monitor.before(call).message, is_error=True)
        verdict = monitor.after([call], [result])
        if verdict.detection:
            said.setdefault(verdict.action.value, number + 1)
        if verdict.action.ends_run:
            break
    return ", ".join(f"{action} {number}" for action, number in said.items()) or "-"


def figures_of(detector):
    """Return what a detector of a configuration is set to, without what goes without saying."""
    options = inspect.signature(TYPES[detector["type"]]).parameters
    threshold = detector.get("threshold", detector.get("repetitions"))
    silent = {"name", *(name for name in ("patience", "varied") if detector.get(name) == threshold)}
    return ", ".join(
        f"{name} {value}" if type(value) is int else f"{name} `{value}`"
        for name, value in detector.items()
        if name in options
        and name not in silent
        and (type(value) is int or value != options[name].default)
        and value not in (None, {})
    )


def ladder_of(policy):
    if not isinstance(policy, dict):
        return ", ".join(action.value for action in LoopPolicy(policy).escalation.actions)
    options = [
        f"; every {policy['every']}" * (policy["every"] != 1),
        "; per lap" * policy["per_lap"],
        "; starts over" * (not policy["resumes"]),
    ]
    return ", ".join(policy["actions"]) + "".join(options)


def detector_rows(config):
    return [
        [
            f"`{detector.get('name', detector['type'])}`",
            f"`{TYPES[detector['type']].__name__}`",
            figures_of(detector),
            ladder_of(
                config["escalations"].get(detector.get("name", detector["type"]), config["policy"])
            ),
        ]
        for detector in config["detectors"]
    ]


def overview_row(preset):
    config = PRESETS[preset]().to_config()
    tools = ", ".join(f"`{name}`" for name in config["tools"]) or "-"
    return [f"`{preset}`", str(config["window"]), config["notice_role"], tools]


@pytest.mark.parametrize(
    ("run", "replies"),
    [
        ("the same call, the same answer", 6),
        ("two calls in turn, the same answers", 8),
        ("a cycle of three calls, the same answers", 12),
        ("new arguments each time, the same failure", 8),
        ("new arguments each time, nothing found", 14),
        ("new arguments each time, asked to wait", 24),
        ("a tool that does not exist", 6),
    ],
)
def test_a_model_that_ignores_everything_ends_soon(run, replies):
    last = played("escalating", RUNS[run]).rpartition("stop ")
    assert last[1]
    assert int(last[2]) <= replies


def test_the_page_tells_every_preset_in_order():
    assert re.findall(r"^## `(\w+)`$", PAGE, re.MULTILINE) == list(PRESETS)


def test_the_overview_is_that_of_the_code():
    assert rows(part("All presets"))[1:] == [overview_row(preset) for preset in PRESETS]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_detectors_of_a_preset_are_as_written(preset):
    assert rows(part(f"`{preset}`"))[1:] == detector_rows(PRESETS[preset]().to_config())


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_acts_at_the_call_that_is_written(preset):
    table = rows(part("When they act"))
    column = table[0].index(f"`{preset}`")
    told = {row[0]: row[column] for row in table[1:]}
    assert told == {run: played(preset, step) for run, step in RUNS.items()}
