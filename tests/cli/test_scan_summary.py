"""The table at the end of a scan: runs by their health, and what their loops took."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from antiloop import LoopMonitor, ToolCall, ToolResult, health
from antiloop.cli import main
from antiloop.cli._judged_run import judge, profile_of
from antiloop.cli._output.judged_output import HealthTable
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import RecordedRun, read_runs

FIXTURES = sorted((Path(__file__).parents[1] / "traces" / "fixtures").glob("*/*"))
CALL = {"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py"}


@pytest.fixture
def scan(tmp_path, capsys):
    """Scan these runs, each a JSON value, and give the lines that are printed."""

    def scanned(*runs):
        path = tmp_path / "runs"
        path.write_text("".join(json.dumps(run) + "\n" for run in runs))
        main(["scan", str(path)])
        return capsys.readouterr().out.splitlines()

    return scanned


def events(run_id, calls, **of_reply):
    """Return the events of a run in which the same call is made again and again."""
    for number in range(calls):
        yield {"run_id": run_id, "type": "llm_call_completed", **of_reply}
        call = {"run_id": run_id, "tool": "ls", "input": {}, "call_id": f"{number}"}
        yield {**call, "type": "tool_call_started"}
        yield {**call, "type": "tool_call_completed", "output": "a.py"}


def test_runs_are_counted_by_health(scan):
    fine, stuck = {"run_id": "a", "steps": [CALL]}, {"run_id": "b", "steps": [CALL] * 12}
    assert scan(fine, fine, stuck)[-6:] == [
        "                 runs    calls  wasted calls",
        "Healthy             2        2             0",
        "Likely stuck        1       12            11",
        "all                 3       14            11",
        "",
        "1 of 3 runs got stuck.",
    ]


def test_the_sentence_counts_as_the_table_does(scan):
    edited = [{"tool_name": "edit", "arguments": {"n": n}, "result": f"{n}"} for n in range(9)]
    few = {"run_id": "few", "steps": [CALL] * 3 + edited}
    printed = scan(few, {"run_id": "many", "steps": [CALL] * 12})
    rows = [line for line in printed if line.startswith(("Likely stuck", "Warning"))]
    counts = {line[:12].strip(): int(line[12:].split()[0]) for line in rows}
    assert counts == {"Likely stuck": 1, "Warning": 1}
    assert printed[-1] == "2 of 2 runs have loops: 1 likely stuck, 1 warning."


def test_long_figures_have_commas():
    table = HealthTable()
    judged = judge(RecordedRun("a"), profile_of(PRESETS["default"]()))
    long = replace(judged.health, calls=1_200, wasted_calls=1_199)
    for _ in range(1_000):
        table.add(replace(judged, health=long))
    assert list(table.lines()) == [
        "                 runs      calls  wasted calls",
        "Healthy         1,000  1,200,000     1,199,000",
    ]


def test_a_row_of_one_kind_needs_no_sum(scan):
    assert not any(line.startswith("all") for line in scan({"run_id": "a", "steps": [CALL]}))


def test_tokens_and_cost_stand_there_where_a_run_tells_them(scan):
    failed = {"run_id": "b", "type": "run_failed", "error": "out of memory"}
    told = scan(*events("a", 4, cost=0.5, tokens={"input": 90, "output": 10}), failed)
    assert told[-6:-2] == [
        "                 runs    calls  wasted calls  wasted tokens     cost  wasted cost",
        "Likely stuck        1        4             3            300     2.00         1.50",
        "Failed              1        0             0              -        -            -",
        "all                 2        4             3            300     2.00         1.50",
    ]


def test_without_runs_there_is_no_table(scan):
    assert scan() == []


@pytest.fixture(scope="module")
def recorded():
    """Read the runs of all formats."""
    return [run for path in FIXTURES for run in read_runs(str(path))]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_run_is_judged_as_health_judges_it_with_this_detector(recorded, preset):
    profile = profile_of(PRESETS[preset]())
    for run in recorded:
        assert judge(run, profile).health == health.evaluate(run, profile=profile)


def test_a_stuck_run_goes_through_the_detectors_once(monkeypatch):
    seen = []
    after = LoopMonitor.after

    def counted(self, calls, results):
        seen.extend(calls)
        return after(self, calls, results)

    monkeypatch.setattr(LoopMonitor, "after", counted)
    run = RecordedRun("a", (ToolCall("ls"),) * 9, (ToolResult("a.py"),) * 9)
    assert judge(run, profile_of(PRESETS["default"]())).verdicts
    assert len(seen) == len(run)


def test_a_cost_without_events_is_judged_too(monkeypatch):
    monkeypatch.setenv("ANTILOOP_COST_BUDGET", "1")
    profile = profile_of(PRESETS["default"]())
    report = judge(RecordedRun("a", cost=2.0), profile).health
    assert [warning.name for warning in report.warnings] == ["cost_budget_exceeded"]


@pytest.mark.parametrize("command", ["scan", "report"])
def test_a_budget_that_is_no_number_is_2_and_told(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ANTILOOP_COST_BUDGET", "much")
    monkeypatch.chdir(tmp_path)
    assert main([command, "runs"]) == 2
    told = "antiloop: ANTILOOP_COST_BUDGET must be a number, 0 or more, got 'much'\n"
    assert capsys.readouterr() == ("", told)


def test_prices_say_what_loops_cost(tmp_path, capsys):
    reply = {"model": "small", "tokens": {"input": 100_000, "output": 0}}
    lines = [json.dumps(each) for each in events("a", 4, **reply)]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines), "utf-8")
    price = {"small": {"input_cost_per_token": 1e-5, "output_cost_per_token": 2e-5}}
    (tmp_path / "prices.json").write_text(json.dumps(price), "utf-8")
    command = ["scan", str(tmp_path / "runs.jsonl"), "--prices", str(tmp_path / "prices.json")]
    main(command)
    head, row = capsys.readouterr().out.splitlines()[-4:-2]
    assert head.split()[-3:] == ["cost", "wasted", "cost"]
    assert row.split()[-2:] == ["4.00", "3.00"]
    main([*command, "--format", "json"])
    (run,) = json.loads(capsys.readouterr().out)
    assert (run["cost"], run["wasted_cost"]) == (pytest.approx(4), pytest.approx(3))


@pytest.mark.parametrize(("text", "words"), [("{}", "no prices"), (None, "No such file")])
def test_prices_that_cannot_be_read_are_a_wrong_argument(tmp_path, capsys, text, words):
    path = tmp_path / "prices.json"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(SystemExit) as caught:
        main(["scan", "runs.jsonl", "--prices", str(path)])
    assert caught.value.code == 2
    assert f"argument --prices: {path}: {words}" in capsys.readouterr().err


def test_the_sentence_the_table_and_the_report_count_alike(runs, tmp_path, capsys):
    loop, page = [{**CALL, "result": "failed"}] * 60, tmp_path / "page.html"
    path = runs(a=loop, b=[CALL], c=loop)
    assert main(["scan", path]) == 1
    out = capsys.readouterr().out
    [stuck] = [line.split()[2] for line in out.splitlines() if line.startswith("Likely stuck")]
    assert f"\n{stuck} of 3 runs got stuck" in out
    assert main(["scan", "--format", "json", path]) == 1
    scores = [run["score"] for run in json.loads(capsys.readouterr().out)]
    assert main(["report", "-o", str(page), path]) == 1
    drawn = page.read_text()
    rows = json.loads(drawn.partition('id="index">')[2].partition("</script>")[0])
    assert sorted(each["score"] for each in rows) == sorted(scores)
    assert rows[0]["loops"] == ['ls "." \u00d7 60']
    assert drawn.count('60 times in a row: \\"failed\\"') == 2
