"""Every format has recorded runs that hold a loop and runs that hold none, and survives damage.

A format's fixtures are ``fixtures/NAME/stuck*`` and ``fixtures/NAME/healthy*``, one file or more
of each, small, and written for this test from the format's documentation.
"""

import contextlib
import copy
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.exceptions import TraceUnreadable
from antiloop.traces import FORMATS, read_runs, replay
from antiloop.traces.registry import recognise
from antiloop.types import ToolCall, ToolResult

FOLDER = Path(__file__).parent / "fixtures"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"
JUNK = (None, True, -1, 1.5, 10**30, "", "text", '{"a": [', "\ud800", [], {}, [[{}]], {"a": 1})


def named(path):
    return str(path.relative_to(FOLDER))


def files(start):
    return [path for path in FILES if path.name.startswith(start)]


def verdicts_in(path):
    return [found for run in read_all(path) for found in replay(run, LoopDetector.default())]


def read_all(path):
    trouble = []
    runs = list(read_runs(str(path), on_trouble=trouble.append))
    assert trouble == []
    return runs


@pytest.mark.parametrize("path", files("stuck"), ids=named)
def test_a_run_that_holds_a_loop_is_found(path):
    assert verdicts_in(path) != []


@pytest.mark.parametrize("path", files("healthy"), ids=named)
def test_a_healthy_run_is_left_alone(path):
    assert verdicts_in(path) == []
    assert sum(map(len, read_all(path))) >= 4, "a run without calls proves nothing"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_the_format_is_recognised_by_what_the_file_holds(path):
    value = values_of(path)[0]
    assert path.name.startswith(("stuck", "healthy"))
    assert [known.name for known in FORMATS.values() if known.recognises(value)] == [path.parts[-2]]
    assert recognise(value).name == path.parts[-2]


def test_code_fixtures_and_reference_name_the_same_formats():
    for start in ("stuck", "healthy"):
        assert {path.parts[-2] for path in files(start)} == FORMATS.keys()
    headings = re.findall(r"^## `([\w-]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == list(FORMATS)


def values_of(path):
    """Give the JSON values of a fixture: those of its lines, or the one document."""
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return [json.loads(text)]


def places_in(value):
    """Yield each container in a JSON value with each of its keys or indices."""
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    for key in keys:
        yield value, key
        yield from places_in(value[key])


def damage(value, data):
    """Replace or remove one part of a JSON value, anywhere in it."""
    places = list(places_in(value))
    if not places:
        return
    holder, key = data.draw(st.sampled_from(places))
    if data.draw(st.booleans()):
        del holder[key]
    else:
        holder[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))


@pytest.mark.parametrize("path", FILES, ids=named)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_recordings_are_read_or_refused(path, tmp_path, data):
    values = values_of(path)
    for _ in range(data.draw(st.integers(1, 4))):
        damage(values, data)
    text = "\n".join(map(json.dumps, values))
    damaged = tmp_path / "damaged"
    damaged.write_text(text[: data.draw(st.integers(0, len(text)) | st.just(len(text)))])
    for source in (None, path.parts[-2]):
        with contextlib.suppress(TraceUnreadable):
            for run in read_runs(str(damaged), source=source, on_trouble=str):
                check(run)


def check(run):
    """Hold what every reader promises, whatever it read."""
    assert isinstance(run.run_id, str)
    assert len(run.calls) == len(run.results)
    assert all(isinstance(call, ToolCall) for call in run.calls)
    assert all(isinstance(call.tool_name, str) for call in run.calls)
    assert all(isinstance(result, (ToolResult, type(None))) for result in run.results)
    assert all(0 <= start <= len(run) for start in run.turn_starts)
    assert all(0 <= event.step <= len(run) for event in run.events)
    assert [stop for _, stop in run.rounds()][-1:] == [len(run)][: len(run)]
    list(replay(run, LoopDetector.escalating()))
