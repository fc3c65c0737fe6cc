"""A redacted run says nothing of what it was about, and gets the verdicts that it had."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import arguments, is_told
from test_differential import USER, calls_of, runs

from antiloop import ToolCall, ToolResult
from antiloop.cli._redaction import Redactor
from antiloop.loop_detection._internal import rule_words
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import RecordedRun, read_runs, replay

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
DETECTORS = {name: make() for name, make in PRESETS.items()}


def judged(run, preset):
    return [
        (step, verdict.action, verdict.detection and verdict.detection.detector_name)
        for step, verdict in replay(run, DETECTORS[preset])
    ]


def recorded(drawn):
    """Return what `runs` draws as a recorded run."""
    calls, results, turns = [], [], []
    for number, each in enumerate(drawn):
        if each is USER:
            turns.append(len(calls))
            continue
        calls += calls_of(each, number, len(calls))
        results += [ToolResult(said) if isinstance(said, str) else said for *_, said in each]
    return RecordedRun("a1", tuple(calls), tuple(results), tuple(turns))


@given(st.sampled_from(sorted(PRESETS)), runs().map(recorded))
def test_a_redacted_run_gets_the_verdicts_that_it_had(preset, run):
    assert judged(Redactor().redacted(run), preset) == judged(run, preset)


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_example_runs_get_the_verdicts_that_they_had(path, preset, tmp_path):
    redactor, written = Redactor(), tmp_path / "redacted.jsonl"
    before = list(read_runs(str(path)))
    written.write_text("".join(redactor.redacted(run).to_jsonl() for run in before))
    after = list(read_runs(str(written)))
    assert [judged(run, preset) for run in after] == [judged(run, preset) for run in before]


@given(st.lists(arguments, min_size=1, max_size=4))
def test_no_secret_is_in_a_redacted_run(values):
    calls = tuple(ToolCall("send", value) for value in values)
    results = tuple(ToolResult(json.dumps(value)) for value in values)
    assert not is_told(Redactor().redacted(RecordedRun("a1", calls, results)).to_jsonl())


@given(st.lists(st.text("abcdefghijklmnop ", min_size=4), min_size=1, max_size=4))
def test_no_other_word_than_those_of_the_rules_is_in_a_redacted_run(texts):
    calls = tuple(ToolCall(text, {text: text}, text) for text in texts)
    run = RecordedRun(texts[0], calls, tuple(map(ToolResult, texts)))
    said = set(re.findall(r"[a-z]{6,}", Redactor().redacted(run).to_jsonl()))
    spoken = {word for text in texts for word in text.split()}
    assert {word for word in said & spoken if word[:4] not in str(rule_words())} == set()


def test_times_begin_at_nothing_and_amounts_are_left_out():
    calls = tuple(ToolCall("look", {}, None, n, 1_700_000_000.0 + 5 * n) for n in range(3))
    results = (ToolResult("a", duration_s=2.0), None, ToolResult("b", is_error=True))
    run = RecordedRun("a1", calls, results, model="m-1", cost=3.5, agent="bob", source="secret.txt")
    made = Redactor().redacted(run)
    assert [call.started_at for call in made.calls] == [0.0, 5.0, 10.0]
    assert [each and (each.duration_s, each.is_error) for each in made.results] == [
        (2.0, False),
        None,
        (None, True),
    ]
    assert (made.model, made.cost, made.agent, made.source) == (None, None, None, "")


def test_a_client_is_kept_because_its_plans_never_count(tmp_path):
    path = tmp_path / "run.jsonl"
    calls = tuple(ToolCall("TodoWrite", {}, None, number) for number in range(9))
    run = RecordedRun("a1", calls, (ToolResult("ok"),) * 9, client="claude-code")
    path.write_text(Redactor().redacted(run).to_jsonl() + RecordedRun("b").to_jsonl())
    read, other = read_runs(str(path))
    assert (read.client, other.client) == ("claude-code", None)
    assert judged(read, "escalating") == []
    path.write_text('{"run_id": "c", "steps": [], "client": "nobody"}\n')
    assert [each.client for each in read_runs(str(path))] == [None]
