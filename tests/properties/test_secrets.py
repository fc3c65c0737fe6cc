"""No secret in an argument or a result is shown or kept, and to mask it changes no verdict."""

import contextlib
import io
import json
import logging
import pickle

import pytest
from claude_transcripts import Session, rounds
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import KEYS, MARK, arguments, forms, is_told, keyed, planted

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    AgentResult,
    LoggingObserver,
    LoopDetector,
    Message,
    Role,
    RunStatus,
    ScriptedProvider,
    ToolCall,
    ToolResult,
    health,
    report,
)
from antiloop.cli import main
from antiloop.cli._commands import scan, summary
from antiloop.cli._live.table import table
from antiloop.explanation import explain
from antiloop.integrations._loop_metrics import LoopMetrics
from antiloop.integrations.claude_code import LoopGuard as ClaudeGuard
from antiloop.integrations.functions import LoopGuard
from antiloop.loop_detection import Escalation, RepeatDetector
from antiloop.loop_detection.presets import PRESETS
from antiloop.report._live_page import live_page, live_row, live_run
from antiloop.testing import assert_no_loops
from antiloop.traces import RecordedRun, RunRecorder, read_runs, replay
from antiloop.traces._live.live_session import LiveSession
from antiloop.traces._shared.run_under_way import WholeRun

NAMES = st.sampled_from(sorted(PRESETS))


@st.composite
def runs(draw, values=arguments):
    """Draw a run that gets stuck with secrets in hand, each call as tool, arguments, result."""
    one, other = draw(values), draw(values)
    answer = draw(st.sampled_from(["same", "", "Error: 404", "still running"]))
    kind = draw(st.sampled_from(["repeat", "turns", "tools", "near"]))
    if kind == "repeat":
        return [("update", one, answer)] * 9
    if kind == "near":
        return [("get", {"request_id": number, "a": one}, answer) for number in range(9)]
    names = "ab" if kind == "tools" else "aa"
    return [(names[number % 2], (one, other)[number % 2], answer) for number in range(16)]


def played(monitor, run):
    """Return the verdict on each call, refused where it was refused."""
    for tool, given_arguments, result in run:
        call = ToolCall(tool, given_arguments)
        refusal = monitor.before(call)
        yield refusal
        yield monitor.after([call], [refusal.message or result])


def error_text(found):
    error = found.as_error()
    return f"{error} {error!r} {error.details} {pickle.dumps(error)!r}"


@given(name=NAMES, run=runs())
def test_no_secret_is_in_verdicts_and_snapshots(name, run):
    monitor = PRESETS[name]().monitor()
    for verdict in played(monitor, run):
        found = verdict.detection
        told = json.dumps([verdict.message, monitor.snapshot()])
        if found is not None:
            told += json.dumps(found.details) + repr(verdict) + str(vars(found)) + error_text(found)
        assert not is_told(told)


@given(run=runs(st.builds(lambda value: {"q": value, "note": MARK}, planted)))
def test_the_budgeted_preset_keeps_no_arguments_at_all(run):
    monitor = PRESETS["budgeted"]().monitor()
    for verdict in played(monitor, run):
        details = verdict.detection.details if verdict.detection else None
        assert not is_told(json.dumps([verdict.message, details, monitor.snapshot()]))


def decided(verdict):
    found = verdict.detection
    parts = (found.identity, found.indices, found.members, found.wasted_calls) if found else ()
    return (verdict.action, *parts)


def masked_by(mask, made):
    """Return a detector like another, with a mask of its own."""
    return LoopDetector(
        made.detectors,
        made.policy,
        escalations=made.escalations,
        window=made.window,
        tools=made.tools,
        mask=mask,
    )


MASKS = ("secrets", "arguments", lambda value: value, lambda value: 1 / 0)
holders = st.builds(lambda key, value: {key: value}, st.sampled_from(KEYS), keyed)


@given(name=NAMES, run=runs(holders))
def test_what_is_masked_makes_no_difference_to_a_verdict(name, run):
    run = [*run, *[("update", {"password": MARK}, "same")] * 12]
    calls = [(ToolCall(tool, value), result) for tool, value, result in run]
    said = []
    for mask in MASKS:
        monitor = masked_by(mask, PRESETS[name]()).monitor()
        said.append([decided(monitor.after([call], [result])) for call, result in calls])
    assert all(each == said[0] for each in said)
    assert any(len(each) > 1 for each in said[0])


def recorded(run):
    calls = tuple(ToolCall(tool, value) for tool, value, _ in run)
    return RecordedRun("r", calls, tuple(ToolResult(text) for *_, text in run), source="r:1")


@given(run=runs(), result=planted)
def test_no_secret_is_in_a_report(run, result):
    text = result if isinstance(result, str) else json.dumps(result)
    told = recorded([*run, ("read", {}, text)])
    page = io.StringIO()
    report.write_page([(told, health.evaluate(told))], page)
    assert not is_told(page.getvalue())
    assert not is_told(json.dumps(health.evaluate(told).to_dict()))


@given(run=runs(), result=planted)
def test_no_secret_is_in_a_picture_of_a_notebook(run, result):
    text = result if isinstance(result, str) else json.dumps(result)
    told = recorded([*run, ("read", {}, text)])
    error = AgentResult("r", RunStatus.FAILED, error=text, tool_calls=told.calls)
    answer = AgentResult("r", RunStatus.COMPLETED, Message(Role.ASSISTANT, text))
    explained = explain(told, LoopDetector.escalating(), len(run) - 1)
    for each in (told, health.evaluate(told), explained, error, answer):
        assert not is_told(each._repr_html_())


COMMANDS = (
    *(["scan"], ["scan", "--format", "json"], ["scan", "--format", "jsonl"]),
    *(["scan", "--format", "sarif"], ["scan", "--preset", "escalating"]),
    *(["explain"], ["explain", "--format", "json"], ["explain", "--preset", "escalating"]),
    ["report", "-o", "-"],
)


def printed(command, path):
    """Return all that a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert main([command[0], path, *command[1:]]) in (0, 1)
    return out.getvalue()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@given(run=runs())
def test_no_secret_is_printed(tmp_path_factory, command, run):
    path = tmp_path_factory.mktemp("runs") / "runs.jsonl"
    steps = [{"tool_name": t, "arguments": a, "result": r} for t, a, r in run]
    path.write_text(json.dumps({"run_id": "r", "steps": steps}) + "\n")
    assert not is_told(printed(command, str(path)))


OUTPUTS = (
    *(["scan", "--format", name] for name in scan.FORMATS),
    *(["summary", "--since", "9999d", "--format", name] for name in summary.FORMATS),
    *([name, "--format", "json"] for name in ("explain", "calibrate")),
    *(["watch", "--format", name] for name in ("text", "jsonl")),
    *(["explain"], ["calibrate"], ["report", "-o", "-"]),
)
"""Each command that shows recorded runs, in each format."""
misnamed = st.lists(forms, min_size=1, max_size=2).map(
    lambda names: [(name, {"q": 1}, "same") for name in names * 6]
)
"""Runs that get stuck with tools whose names are secrets."""


def printed_of(command, text):
    """Return all that a command prints of a recording on standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
        return printed(command, "-")


def events(run, name):
    """Yield the events of a run; an agent and a model have the same name."""
    about = {"run_id": "r", "timestamp": "2026-01-31T00:00:00Z"}
    for number, (tool, given_arguments, result) in enumerate(run):
        yield {**about, "type": "llm_call_completed", "agent": name, "model": name}
        call = {**about, "tool": tool, "input": given_arguments, "call_id": f"{number}"}
        yield {**call, "type": "tool_call_started"}
        yield {**call, "type": "tool_call_completed", "output": result}


@pytest.mark.parametrize("command", OUTPUTS, ids=" ".join)
@settings(max_examples=8)
@given(run=misnamed, name=forms)
def test_no_secret_in_a_name_is_printed(command, run, name):
    told = printed_of(command, "".join(f"{json.dumps(each)}\n" for each in events(run, name)))
    assert len(told) > 50
    assert not is_told(told)


@given(run=misnamed)
def test_no_secret_in_a_name_is_on_a_live_page_in_a_table_or_a_failed_test(run):
    told, profile = recorded(run), health.HealthProfile()
    followed = WholeRun(told)
    session = LiveSession(0, "f", followed, 200)
    for step, verdict in replay(told, profile.detector):
        session.take(step + 1, verdict)
    row = live_row(session, 0)
    shown = [*table([session], 0, (400, 9)), *live_page([row]), live_run(told, 0, profile)]
    with pytest.raises(AssertionError) as failed:
        assert_no_loops(told)
    assert row["loops"]
    assert not is_told(json.dumps([row, *shown, str(failed.value)]))


@contextlib.contextmanager
def logged():
    """Collect what the library logs meanwhile."""
    told, log, handler = [], logging.getLogger("antiloop"), logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield told
    finally:
        log.setLevel(before)
        log.removeHandler(handler)


class Counted(LoopMetrics):
    """Remembers the labels of what is counted."""

    def __init__(self):
        super().__init__()
        self.told = []

    def count(self, name, amount, labels):
        self.told.append(dict(labels))

    def suspicion(self, value, labels):
        self.told.append(dict(labels))

    def on_decision_time(self, seconds):
        """Hold no text."""


@given(run=misnamed)
def test_no_secret_in_a_name_is_logged_or_counted(run):
    counted, script = Counted(), [ToolCall(name, given) for name, given, _ in run]
    detector = LoopDetector.escalating(log_verdicts=True)
    config = AgentConfig(loop_detector=detector, observers=[LoggingObserver(), counted])
    with logged() as told:
        Agent([], ScriptedProvider([*script, "Done."]), config).run("Go")
    assert any(" failed" in each for each in told)
    assert any("tool-call loop found by" in each for each in told)
    assert any(each.startswith("notify in run") for each in told)
    assert any("tool" in each for each in counted.told)
    assert not is_told(json.dumps([told, counted.told]))


def test_the_sources_of_what_is_printed_hold_the_secret(tmp_path):
    path = tmp_path / "runs.jsonl"
    steps = [{"tool_name": "a", "arguments": {"password": MARK}, "result": "same"}] * 5
    path.write_text(json.dumps({"run_id": "r", "steps": steps}) + "\n")
    run = next(iter(read_runs(str(path))))
    assert run.calls[0].arguments == {"password": MARK}
    assert '{"password":"***"}' in printed(["explain"], str(path))


@given(run=runs())
def test_observers_and_guards_are_told_no_secret(run):
    class Heard(AgentObserver):
        told = ""

        def on_tool_loop_detected(self, run_id, detector_name, details):
            self.told += json.dumps(details)

    heard = Heard()
    guard = LoopGuard(LoopDetector([RepeatDetector(2)], Escalation()), observers=[heard])
    given_back = []

    @guard
    def tool(value):
        return "same"

    for _, value, __ in run[:1] * 5:
        try:
            given_back.append(tool(value))
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not tell
            given_back.append(str(error))
    assert heard.told
    assert not is_told(heard.told + "".join(given_back))


@given(run=runs())
def test_a_recording_holds_what_was_compared_unless_it_is_masked(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("runs")
    for mask in (None, "secrets"):
        path = str(folder / str(mask))
        with RunRecorder(path, run_id="r", mask=mask) as recorder:
            for tool, value, result in run:
                recorder.tool_call(tool, value, result)
            recorder.tool_call("read", {}, f"password={MARK}", call_id="t1", tokens=7)
    told = next(iter(read_runs(str(folder / "None"))))
    with open(folder / "secrets", encoding="utf-8") as masked:
        assert not is_told(masked.read())
    detector = LoopDetector.default()
    alike = [(step, verdict.action) for step, verdict in replay(recorded(run), detector)]
    assert [(step, verdict.action) for step, verdict in replay(told, detector)] == alike


@given(value=arguments)
def test_the_hook_of_claude_code_tells_no_secret(tmp_path_factory, value):
    session = Session(tmp_path_factory.mktemp("session"))
    line = {"command": json.dumps(value)}
    guard = ClaudeGuard(LoopDetector([RepeatDetector(3)], Escalation()))
    session.write(*rounds(2, **line))
    said = [guard.answer(session.after(number=2, **line))]
    session.write(*rounds(2, first=2, **line))
    said += [guard.answer(session.before(**line)), guard.answer(session.after(number=4, **line))]
    assert all(said)
    assert not is_told(json.dumps(said))


@given(value=planted, at=st.integers(1_800, 2_100))
def test_a_secret_that_is_cut_is_not_told(value, at):
    text = value if isinstance(value, str) else json.dumps(value)
    long = {"a": "word " * (at // 5) + f"{text} " + "word " * 2_000, "z": value}
    monitor = LoopDetector.escalating().monitor()
    for _ in range(4):
        verdict = monitor.record_call("write", long, "same")
        details = verdict.detection and verdict.detection.details
        assert not is_told(json.dumps([verdict.message, details, monitor.snapshot()]))
