"""Judging a recording while it is written: what is said, and when."""

import json
import re
from pathlib import Path

import pytest

from antiloop import LoopDetector
from antiloop.exceptions import NoTrace, TraceUnreadable
from antiloop.formats import _growing_history as growing_history
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import FORMATS, read_runs, replay
from antiloop.traces._live import live_lines
from antiloop.traces._live.live_lines import LiveLines
from antiloop.traces._readers import event_log
from antiloop.traces._shared.records import Record
from antiloop.traces._shared.run_under_way import not_by_record

FOLDER = Path(__file__).parent / "fixtures"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"
FOLLOWED = [name for name, known in FORMATS.items() if known.follow is not not_by_record]
LINES = [path for name in FOLLOWED for path in sorted((FOLDER / name).glob("*.jsonl"))]


USED = {"type": "tool_result", "tool_use_id": "1", "content": "a.py"}
BROKEN = "not JSON: Expecting property name enclosed in double quotes at column 2; skipped"


class Recording:
    """Lines that are taken one by one; what is said is kept as ``(run_id, step)``."""

    def __init__(self, detector=None, source=None):
        self.trouble = []
        self.lines = LiveLines("f", detector or LoopDetector.default(), source, self.trouble.append)
        self.number = 0

    def take(self, *values):
        said = []
        for value in values:
            self.number += 1
            text = value if isinstance(value, str) else json.dumps(value)
            said += self.lines.take(self.number, text)
        return [(run.run_id, step) for run, step, _ in said]

    def end(self):
        return [(run.run_id, step) for run, step, _ in self.lines.end()]


def event(type_, run_id="r", **fields):
    return {"run_id": run_id, "type": type_, **fields}


def call(result="nothing", run_id="r", tool="look", **fields):
    told = {} if result is None else {"output": result}
    return event("tool_call_completed", run_id, tool=tool, **told, **fields)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("path", LINES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_line_by_line_the_verdicts_are_those_of_a_scan(path, preset, monkeypatch):
    monkeypatch.setattr(growing_history, "_AT_ONCE", 1)
    detector, trouble = PRESETS[preset](), []
    lines = LiveLines(str(path), detector, None, trouble.append)
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found += lines.take(number, line)
    found += lines.end()
    expected = [
        (run.run_id, run.source, step, verdict)
        for run in read_runs(str(path))
        for step, verdict in replay(run, detector)
    ]
    said = [(run.run_id, run.source, step, verdict) for run, step, verdict in found]
    assert sorted(said, key=repr) == sorted(expected, key=repr)
    assert trouble == []


def test_there_is_something_to_compare():
    assert {"antiloop", "claude-code", "codex", "event-log"} <= {path.parts[-2] for path in LINES}


def test_a_loop_is_told_with_the_line_that_closes_it():
    recording = Recording()
    assert recording.take(call(), call()) == []
    assert recording.take(call()) == [("r", 2)]


def test_runs_that_are_mixed_are_kept_apart():
    recording = Recording()
    assert recording.take(call(), call(run_id="s"), call(run_id="s"), call()) == []
    assert recording.take(call(), call(run_id="s")) == [("r", 2), ("s", 2)]


def test_a_round_waits_for_the_results_of_all_its_calls():
    started = [event("tool_call_started", tool=tool, call_id=tool) for tool in "ab"]
    done = [event("tool_call_completed", tool=tool, call_id=tool, output="-") for tool in "ab"]
    recording = Recording()
    assert recording.take(*(started + done) * 2, *started, done[0]) == []
    assert recording.take(done[1]) == [("r", 5)]


def test_a_call_without_a_result_is_passed_by_when_two_more_have_begun():
    recording = Recording()
    assert recording.take(*[call(None)] * 4) == []
    assert recording.take(call(None)) == [("r", 2)]


def test_a_later_result_ends_the_waiting():
    recording = Recording()
    assert recording.take(*[call(None)] * 3) == []
    assert recording.take(call(None, tool="other", is_error=True)) == [("r", 2)]


def test_the_user_ends_the_waiting():
    recording = Recording()
    assert recording.take(*[call(None)] * 3) == []
    assert recording.take(event("user_message")) == [("r", 2)]


@pytest.mark.parametrize("type_", ["run_completed", "run_failed", "run_cancelled"])
def test_the_end_of_a_run_ends_the_waiting(type_):
    recording = Recording()
    assert recording.take(*[call(None)] * 3) == []
    assert recording.take(event(type_)) == [("r", 2)]
    assert recording.take(call(), call(), event("run_completed")) == []


def test_the_end_of_the_lines_ends_the_waiting():
    recording = Recording()
    assert recording.take(*[call(None)] * 3) == []
    assert recording.end() == [("r", 2)]
    assert recording.end() == []


def test_what_the_user_says_is_progress():
    recording = Recording()
    assert recording.take(call(), call(), event("user_message"), call(), call()) == []
    assert recording.take(call()) == [("r", 4)]


def test_a_further_call_of_a_round_that_was_judged_joins_it():
    recording = Recording()
    twice = [call(round=number) for number in (1, 1, 2, 2)]
    assert recording.take(*twice, call(round=3)) == [("r", 4)]
    assert recording.take(call(round=3)) == []


def test_what_comes_before_the_first_run_is_told_once_it_is_known():
    recording = Recording()
    recording.take("{broken", "", "  ", {"type": 1})
    assert recording.trouble == []
    recording.take(call())
    assert [what.split(":")[1] for what in recording.trouble] == ["1", "4"]
    recording.take("[]broken")
    assert recording.trouble[2].startswith("f:6: not JSON")


def test_the_format_can_be_given():
    recording = Recording(source="antiloop")
    recording.take(call())
    assert recording.trouble == ['f:1: expected one {"run_id", "steps": [...]} a line; skipped']


def test_lines_that_are_no_runs_are_given_up():
    recording = Recording()
    recording.take(*[{"a": 1}] * 99)
    with pytest.raises(NoTrace, match=r"^f: no lines of a recorded run here; expected "):
        recording.take({"a": 1})


def test_conversations_without_tools_do_not_hide_what_the_others_are():
    use = {"type": "tool_use", "id": "1", "name": "ls", "input": {}}
    lap = {"role": "assistant", "content": [use]}, {"role": "user", "content": [{**USED, "id": 1}]}
    recording = Recording()
    chat = {"id": "chat", "messages": [{"role": "user", "content": "hi"}]}
    assert recording.take(chat, {"id": "stuck", "messages": [*lap] * 3}) == [("stuck", 2)]
    assert recording.trouble == []


def test_a_recording_without_tools_is_no_trouble_when_it_ends():
    recording = Recording()
    recording.take([{"role": "user", "content": "hi"}], "{broken")
    assert recording.end() == []
    assert recording.trouble == ["f:2: " + BROKEN]


@pytest.mark.parametrize("lines", [[{"a": 1}], ["{broken"]])
def test_a_recording_that_ends_without_a_run_is_refused(lines):
    recording = Recording()
    recording.take(*lines)
    with pytest.raises(NoTrace, match=r"^f: no lines of a recorded run here; expected "):
        recording.end()


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - set(FOLLOWED)))
def test_a_format_whose_runs_are_put_together_at_the_end_is_refused(name):
    with pytest.raises(TraceUnreadable, match=r"^f: this format can be read .* scan it then$"):
        Recording(source=name).take({})


def test_the_reference_names_the_formats_that_are_followed():
    told = re.search(r"^`antiloop watch` follows .*?\n\n", PAGE.read_text("utf-8"), re.M | re.S)[0]
    refused, followed = (re.findall(r"`([\w-]+)`", part) for part in told.split("whose records"))
    assert refused == [name for name in FORMATS if name not in FOLLOWED]
    assert followed == [name for name in FOLLOWED if FORMATS[name].follow]


LONG = {
    "event-log": lambda n: [call(f"{n}", call_id=str(n), input={"n": n}), event("user_message")],
    "claude-code": lambda n: [
        {"sessionId": "s", "type": "assistant", "uuid": f"a{n}", "message": said(n)},
        {"sessionId": "s", "type": "user", "uuid": f"b{n}", "message": answered(n)},
    ],
    "codex": lambda n: [
        *[{"type": "session_meta", "payload": {"id": "s"}}] * (n == 0),
        item(type="function_call", call_id=str(n), name="look", arguments=f'{{"n": {n}}}'),
        item(type="function_call_output", call_id=str(n), output="o" * 500 + str(n)),
    ],
    "gemini-cli": lambda n: [
        *[{"sessionId": "s", "projectHash": "h"}] * (n == 0),
        {"id": f"m{n}", "type": "gemini", "content": "", "toolCalls": [used(n)]},
    ],
    "openhands": lambda n: [
        {"id": 2 * n, "source": "agent", "action": "run", "args": {"command": str(n)}},
        {"id": 2 * n + 1, "source": "agent", "cause": 2 * n, "observation": "run", "content": "o"},
    ],
}


def said(n):
    use = {"type": "tool_use", "id": f"t{n}", "name": "look", "input": {"n": n}}
    return {"id": f"m{n}", "role": "assistant", "content": [use]}


def answered(n):
    block = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n}" * 500}
    return {"role": "user", "content": [block]}


def item(**fields):
    return {"type": "response_item", "payload": fields}


def used(n):
    return {"id": f"t{n}", "name": "look", "args": {"n": n}, "status": "success", "result": "o"}


@pytest.mark.parametrize("source", LONG)
def test_what_is_judged_is_forgotten(source):
    recording = Recording(source=source)
    recording.take(*(value for n in range(400) for value in LONG[source](n)))
    (run,) = recording.lines._replays
    assert len(run.build(399).calls) == 1
    assert len(run.build(0).calls) <= 9


def test_words_without_calls_are_forgotten_too_and_judged_all_the_same():
    recording = Recording(LoopDetector.escalating())
    words = [event("llm_call_completed", output=f"words {n}") for n in range(1_000)]
    asked = [event("user_message", input=f"question {n}") for n in range(300)]
    assert recording.take(call("other"), *words, *asked) == []
    (run,) = recording.lines._replays
    assert len(run.build(1).messages) < 100
    same = [event("llm_call_completed", output="I will look into the matter now.")] * 9
    found = recording.take(*same, *[call()] * 4)
    whole = [call("other"), *words, *asked, *same, *[call()] * 4]
    assert [step for _, step in found] == expected_steps(whole) != []


def expected_steps(events):
    records = (Record(number, value) for number, value in enumerate(events, 1))
    (run,) = event_log.read(records, "f", print)
    return [step for step, _ in replay(run, LoopDetector.escalating())]


def test_a_run_heard_of_longest_ago_begins_anew(monkeypatch):
    monkeypatch.setattr(live_lines, "RUNS_UNDER_WAY", 2)
    monkeypatch.setattr(event_log, "RUNS_UNDER_WAY", 2)
    recording = Recording()
    assert recording.take(call(), call(), *[call(run_id=name) for name in "abab"], call()) == []
    assert recording.take(call(run_id="b"), call(), call()) == [("b", 2), ("r", 2)]


def test_runs_that_are_over_are_forgotten():
    recording = Recording()
    recording.take(call(), event("run_completed"))
    assert recording.lines._replays == {}
