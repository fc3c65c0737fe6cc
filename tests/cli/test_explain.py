"""``antiloop explain``, as a person and as a script use it."""

import gzip
import json
import os
from pathlib import Path

import pytest

from antiloop import LoopDetector
from antiloop.cli import main
from antiloop.cli._output.explanation_output import _steps
from antiloop.loop_detection import CallLimitDetector, Escalation, RepeatDetector

EXAMPLE = str(Path(__file__).parents[2] / "docs" / "examples" / "runs.jsonl")


@pytest.fixture
def config(tmp_path):
    def write(*detectors, policy):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(LoopDetector(detectors, policy).to_config()))
        return str(path)

    return write


def steps(count, tool_name="ls", result="a.py"):
    return [{"tool_name": tool_name, "arguments": {"p": "."}, "result": result}] * count


def lines_of(capsys):
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_a_verdict_is_explained_by_what_was_counted(runs, capsys):
    path = runs(r=steps(4))
    assert main(["explain", path]) == 1
    assert capsys.readouterr().out == (
        f"r, 4 steps ({path}:1)\n"
        "\n"
        'step 2  ls {"p":"."}\n'
        '  raise: ls "." 3 times in a row: "a.py"\n'
        "\n"
        "In the window, from step 0 on: 3 rounds, 1 of them with a new answer\n"
        "  step 2: call d6ca3e7578, result f0de093a8c (success)\n"
        "    the same call, result same: steps 0-1\n"
        "\n"
        "What the detectors counted:\n"
        "  repeat            3 of 3 in a row: steps 0-2; before: the start of the run\n"
        "                      enough\n"
        "  stall             - of 3 in a row\n"
        "  ping_pong         - of 3 laps\n"
        "\n"
        "Ladders of the loops:\n"
        "  repeat          [raise], found once\n"
    )


def test_a_step_without_a_verdict_is_explained_by_what_is_missing(runs, capsys):
    assert main(["explain", "--step", "1", runs(r=steps(4))]) == 0
    told = lines_of(capsys)
    assert "no verdict" in told
    assert "repeat            2 of 3 in a row: steps 0-1; before: the start of the run" in told


def test_what_matched_and_what_did_not_is_told(runs, capsys):
    run = [*steps(1, result="b"), *steps(2), *steps(1, "write_file", "ok"), *steps(1)]
    main(["explain", "--preset", "escalating", runs(r=run)])
    told = lines_of(capsys)
    assert "successful changes: step 3" in told
    assert "the same call, result another: step 0" in told
    assert "the same call, result same: steps 1-2" in told


def test_the_same_answer_to_other_calls_is_told(runs, capsys):
    run = [{"tool_name": "get", "arguments": {"n": n}, "result": "none"} for n in range(3)]
    main(["explain", runs(r=run)])
    assert "another call, same result: steps 0-1" in lines_of(capsys)


def test_calls_and_answers_that_are_only_alike_are_told(runs, capsys):
    run = [
        {"tool_name": "get", "arguments": {"id": n}, "result": f"Error: no ticket {n}"}
        for n in (7, 8, 8.0, 9)
    ]
    main(["explain", "--preset", "escalating", runs(r=run)])
    assert "another call, nearly the same result: steps 0-2" in lines_of(capsys)
    run = [{"tool_name": "get", "arguments": {"q": q}} for q in ("cat food", "food cat")]
    main(["explain", runs(r=run)])
    assert "nearly the same call: step 0" in lines_of(capsys)


def test_a_single_step_and_round_are_told_in_the_singular(runs, capsys):
    main(["explain", runs(r=steps(1))])
    told = lines_of(capsys)
    assert told[0].startswith("r, 1 step (")
    assert "In the window, from step 0 on: 1 round, 1 of them with a new answer" in told


def test_what_was_counted_lines_up_whatever_the_names(runs, capsys):
    main(["explain", "--preset", "patient", runs(r=steps(10))])
    lines = capsys.readouterr().out.splitlines()
    places = {line.index(" of ") for line in lines if " of 1" in line or " of 5 " in line}
    assert len(places) == 1
    assert any(line.startswith("  repeat ") and "[notify], found once" in line for line in lines)


def test_why_a_streak_that_is_long_enough_says_nothing_is_told(capsys):
    run = ["--run", "refund-window", "--preset", "cycles", EXAMPLE]
    assert main(["explain", "--step", "10", *run]) == 0
    assert "enough, but reported already; the loop must go on longer" in lines_of(capsys)


def test_the_rung_of_the_ladder_is_marked(capsys):
    run = ["--run", "refund-window", "--preset", "escalating", EXAMPLE]
    main(["explain", "--step", "16", *run])
    told = lines_of(capsys)
    assert "near_repeat        notify -> [block] -> stop, found once" in told
    assert "repeat             notify -> block -> [stop], found 3 times, now again" in told


def test_a_loop_whose_calls_are_refused_is_marked(capsys):
    main(["explain", "--step", "10", "--run", "refund-window", "--preset", "escalating", EXAMPLE])
    told = lines_of(capsys)
    assert (
        "ping_pong          notify -> [block] -> stop, found 2 times, now again; "
        "its calls are blocked"
    ) in told


def test_a_threshold_that_is_not_the_usual_one_is_named(config, runs, capsys):
    path = config(RepeatDetector(3, patience=6), CallLimitDetector(9), policy=Escalation())
    main(["explain", "--config", path, runs(r=steps(4, result="still running"))])
    told = lines_of(capsys)
    assert (
        "repeat            4 of 6 in a row (patience): steps 0-3; before: the start of the run"
        in told
    )
    assert "call_limit        4 of 10 calls (limit)" in told


def test_the_message_of_the_user_is_where_the_window_begins(capsys):
    session = str(Path(EXAMPLE).with_name("claude-code-session.jsonl"))
    assert main(["explain", "--step", "10", session]) == 0
    assert (
        "In the window, from step 8 on, because of a user message: 3 rounds,"
        " 3 of them with a new answer"
    ) in lines_of(capsys)


def test_json_holds_the_same_and_the_run(runs, capsys):
    path = runs(r=steps(4))
    assert main(["explain", "--format", "json", path]) == 1
    told = json.loads(capsys.readouterr().out)
    counts, (rung,), (match,) = told.pop("counts"), told.pop("rungs"), told.pop("matches")
    assert [(count["detector"], count["count"], count["needed"]) for count in counts] == [
        ("repeat", 3, 3),
        ("stall", None, 3),
        ("ping_pong", None, 3),
    ]
    assert (rung["actions"], rung["is_found_now"]) == (["raise"], True)
    assert match["seen"] == [{"step": 0, "result": "same"}, {"step": 1, "result": "same"}]
    assert told == {
        "run_id": "r",
        "source": f"{path}:1",
        "steps": 4,
        "step": 2,
        "detector": "repeat",
        "action": "raise",
        "severity": "critical",
        "message": 'ls "." 3 times in a row: "a.py"',
        "calls": [{"tool": "ls", "arguments": '{"p":"."}'}],
        "answer": "a.py",
        "window_size": 50,
        "window_start": 0,
        "window_rounds": 3,
        "turn_start": 0,
        "changes": [],
        "news": 1,
        "messages": [],
    }


def test_a_run_that_is_not_there_is_answered_with_the_first_that_are(runs, capsys):
    path = runs(**{f"run-{number}": steps(1) for number in range(7)})
    assert main(["explain", path, "--run", "nope"]) == 2
    listed = "run-0, run-1, run-2, run-3, run-4 and 2 more"
    told = f"antiloop: {path}: no run 'nope' in this file; there are {listed}\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "several runs in this file, first 'a' and 'b'; choose one with --run"),
        (["--run", "\x1b"], "no run '\\x1b' in this file; there are a, b\n"),
        (["--run", "a", "--step", "3"], "run 'a' has 3 steps, counted from 0; got 3"),
    ],
)
def test_a_run_or_step_that_is_not_there_is_2(arguments, told, runs, capsys):
    assert main(["explain", *arguments, runs(a=steps(3), b=[])]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1


def test_a_run_can_be_named_by_where_it_begins(runs, capsys):
    path = runs(a=[], b=steps(3))
    assert main(["explain", "--run", f"{path}:2", path]) == 1
    assert capsys.readouterr().out.startswith(f"b, 3 steps ({path}:2)")


def line(run_id, count):
    return json.dumps({"run_id": run_id, "steps": steps(count)}) + "\n"


def test_a_run_whose_id_repeats_is_named_by_its_place(tmp_path, capsys):
    path = tmp_path / "runs"
    path.write_text(line("a", 1) + line("b", 1) + line("a", 2) + line("a", 3))
    assert main(["explain", str(path), "--run", "a"]) == 2
    assert capsys.readouterr() == (
        "",
        f"antiloop: {path}: several runs 'a' in this file, first at {path}:1 and {path}:3;"
        " choose one with --run PATH:LINE\n",
    )
    for number, steps_in_all in ((3, "2 steps"), (4, "3 steps")):
        main(["explain", str(path), "--run", f"{path}:{number}"])
        assert f"a, {steps_in_all} ({path}:{number})" in capsys.readouterr().out


def test_a_run_before_the_damage_of_a_file_is_explained(tmp_path, capsys):
    path = tmp_path / "runs.gz"
    noise = "".join(f"{os.urandom(9_999).hex()}\n" for _ in range(99))
    path.write_bytes(gzip.compress((line("a", 3) + line("b", 1) + noise).encode())[:-99])
    assert main(["explain", str(path), "--run", "a"]) == 1
    assert main(["explain", str(path), "--run", "c"]) == 2
    assert f"antiloop: {path}: " in capsys.readouterr().err


def test_a_file_without_runs_is_2(tmp_path, capsys):
    path = tmp_path / "f"
    path.write_text("{}\n")
    assert main(["explain", "--from", "event-log", str(path)]) == 2
    assert f"antiloop: {path}: no run in this file" in capsys.readouterr().err
    assert main(["explain", str(path)]) == 2
    assert "expected" in capsys.readouterr().err


def test_text_of_a_recording_cannot_command_the_terminal(runs, capsys):
    evil = "\x1b[2Jevil\r\n\u202e\x9b"
    main(["explain", runs(**{evil: steps(3, tool_name=evil)})])
    out = capsys.readouterr().out
    assert "evil" in out
    assert out.replace("\n", "").isprintable()


def test_steps_are_named_in_short():
    assert _steps([3]) == "step 3"
    assert _steps([1, 2, 3, 5]) == "steps 1-3, 5"
    assert _steps(range(0, 20, 2)) == "steps ..., 4, 6, 8, 10, 12, 14, 16, 18"
