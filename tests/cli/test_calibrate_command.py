"""``antiloop calibrate``, as a person and as a script use it."""

import io
import json
import shlex
import sys
from pathlib import Path

import pytest

from antiloop.cli import main
from antiloop.loop_detection import Escalation, LoopDetector, RepeatDetector

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "docs" / "examples" / "good-runs.jsonl")


def steps(count, result="a.py"):
    return [
        {"tool_name": "ls", "arguments": {}, "result": result, "round": number}
        for number in range(count)
    ]


@pytest.fixture
def runs(tmp_path):
    """Write runs with so many equal steps to a file, and give its path."""

    def write(*counts):
        lines = [json.dumps({"run_id": f"r{at}", "steps": steps(n)}) for at, n in enumerate(counts)]
        (tmp_path / "runs").write_text("".join(line + "\n" for line in lines))
        return str(tmp_path / "runs")

    return write


def report_of(capsys, *arguments):
    status = main(["calibrate", "--format", "json", *arguments])
    return status, json.loads(capsys.readouterr().out)


def test_the_bound_holds_is_0(runs, capsys):
    assert main(["calibrate", runs(*[1] * 299)]) == 0
    out = capsys.readouterr().out
    assert "299 good runs" in out
    assert out.endswith(
        "With 95 % confidence, at most 0.997 % of good runs are stopped; the limit is 1 %.\n"
    )


def test_too_few_runs_are_1_and_told_what_they_support(runs, capsys):
    assert main(["calibrate", runs(1)]) == 1
    assert capsys.readouterr().out.endswith(
        "1 run, none of them stopped, support 95 % at 95 % confidence, not 1 %;"
        " that takes 299 runs.\n"
    )


def test_the_configuration_is_written_in_either_case(runs, tmp_path, capsys):
    path = runs(4, 1)
    for share, status in (("0.8", 0), ("0.01", 1)):
        output = tmp_path / share
        arguments = ["calibrate", path, "--max-false-stops", share, "-o", str(output)]
        assert main(arguments) == status
        detector = LoopDetector.from_config(json.loads(output.read_text()))
        assert detector.detectors[0].threshold == 5
        assert main(["scan", "--config", str(output), path]) == 0


@pytest.mark.parametrize("ends", ["shadow = false\n", ""])
def test_a_configuration_does_not_keep_the_shadow_mode_of_the_settings(
    runs, tmp_path, monkeypatch, ends
):
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "antiloop.toml"
    settings.write_text("shadow = true\n")
    main(["calibrate", runs(4, 1), "-o", "fitted.json"])
    settings.write_text(f'config = "fitted.json"\n{ends}')
    assert not LoopDetector.from_file().shadow
    settings.write_text('config = "fitted.json"\nshadow = true\n')
    assert LoopDetector.from_file().shadow


def test_the_shadow_mode_of_a_configuration_is_kept(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shadow = LoopDetector.default(shadow=True).to_config()
    (tmp_path / "old.json").write_text(json.dumps(shadow))
    main(["calibrate", "--config", "old.json", runs(4, 1), "-o", "fitted.json"])
    assert json.loads((tmp_path / "fitted.json").read_text())["shadow"] is True


def test_the_page_tells_what_stopped_and_what_was_raised(runs, capsys):
    main(["calibrate", runs(4, 1, 3)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["3", "good", "runs", "before", "after"],
        ["received", "a", "notice", "0", "0"],
        ["blocked,", "stopped", "or", "raised", "2", "0"],
        ["true", "share", "at", "most", "(95", "%", "sure)", "98.3", "%", "63.2", "%"],
    ]
    assert "  repeat          2 runs: r0, r2" in lines
    assert "  repeat, threshold           3 -> 5" in lines
    assert lines[-1].startswith("The thresholds were chosen with these runs")


def test_many_runs_are_named_in_part_on_the_page_and_whole_in_json(runs, capsys):
    path = runs(*[3] * 12)
    main(["calibrate", path])
    assert "12 runs: r0, r1, r2, r3, r4, r5, r6, r7, r8, r9 and 2 more" in capsys.readouterr().out
    _, report = report_of(capsys, path)
    assert [stop["run_id"] for stop in report["before"]["stops"]] == [f"r{n}" for n in range(12)]


def test_json_has_the_whole_report(runs, capsys):
    status, report = report_of(capsys, runs(3, 1))
    assert status == 1
    assert report["before"]["stops"] == [
        {
            "run_id": "r0",
            "source": f"{runs(3, 1)}:1",
            "step": 2,
            "detector": "repeat",
            "action": "raise",
            "message": 'ls 3 times in a row: "a.py"',
        }
    ]
    assert report["after"]["stopped"] == 0
    assert report["changes"][0] == {
        "detector": "repeat",
        "option": "threshold",
        "before": 3,
        "after": 4,
    }
    assert (report["holds"], report["stops_allowed"], report["runs_needed"]) == (False, 0, 299)
    assert LoopDetector.from_config(report["config"]).detectors[0].threshold == 4


def test_a_configuration_on_standard_output_is_alone_there(runs, capsys):
    assert main(["calibrate", runs(3), "-o", "-"]) == 1
    out, err = capsys.readouterr()
    assert LoopDetector.from_config(json.loads(out)).detectors[0].threshold == 4
    assert err.startswith("1 good run")


def test_a_preset_can_be_chosen(runs, capsys):
    _, report = report_of(capsys, "--preset", "escalating", runs(4))
    assert [report["before"][key] for key in ("notified", "stopped")] == [1, 1]
    assert [report["after"][key] for key in ("notified", "stopped")] == [1, 0]


def test_a_configuration_can_be_calibrated_further(runs, tmp_path, capsys):
    config = str(tmp_path / "config")
    main(["calibrate", "-o", config, runs(5)])
    capsys.readouterr()
    _, report = report_of(capsys, "--config", config, runs(5))
    assert report["changes"] == []
    _, report = report_of(capsys, "--config", config, runs(6))
    assert (report["changes"][0]["before"], report["changes"][0]["after"]) == (6, 7)


def test_a_detector_that_can_only_tell_is_named(runs, capsys):
    main(["calibrate", runs(50), "--max-raise", "100"])
    assert "  repeat, actions             as the policy says -> notify" in capsys.readouterr().out


def test_runs_that_are_stopped_still_are_named(runs, tmp_path, capsys):
    budget = Escalation(("notify",), max_interventions=1)
    detector = LoopDetector([RepeatDetector(2, name="two"), RepeatDetector(3)], budget, window=3)
    config = tmp_path / "config"
    config.write_text(json.dumps(detector.to_config()))
    path = tmp_path / "runs"
    turns = [{**step, "arguments": {"p": n // 3}} for n, step in enumerate(steps(9))]
    path.write_text(json.dumps({"run_id": "busy", "steps": turns}))
    assert main(["calibrate", "--config", str(config), str(path)]) == 1
    out = capsys.readouterr().out
    assert "\nStill stopped:\n  repeat          1 run: busy\n" in out
    assert "1 run, 1 of them stopped, support 100 % at 95 % confidence, not 1 %; that takes" in out


def test_text_of_a_trace_cannot_command_the_terminal(tmp_path, capsys):
    path = tmp_path / "f"
    path.write_text(json.dumps({"run_id": "\x1b[2J", "steps": steps(3)}))
    main(["calibrate", str(path)])
    assert capsys.readouterr().out.replace("\n", "").isprintable()


def test_runs_may_come_from_standard_input(runs, monkeypatch, capsys):
    data = Path(runs(1, 2)).read_bytes()
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["calibrate", "-"]) == 1
    assert capsys.readouterr().out.startswith("2 good runs")


@pytest.mark.parametrize("text", ["", "pyproject", '{"a": 1}'])
def test_a_file_without_runs_is_2_and_nothing_is_written(text, runs, tmp_path, capsys):
    path = tmp_path / "f"
    path.write_text(text)
    assert main(["calibrate", runs(1), str(path), "-o", str(tmp_path / "config")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"antiloop: {path}:1: " if text else f"antiloop: {path}: no recorded")
    assert not (tmp_path / "config").exists()


def test_a_file_whose_runs_are_all_broken_is_2(tmp_path, capsys):
    path = tmp_path / "f"
    path.write_text('{"run_id": "a", "steps": 5}\n')
    assert main(["calibrate", "--from", "antiloop", str(path)]) == 2
    assert f"antiloop: {path}: no recorded runs to calibrate with\n" in capsys.readouterr().err


@pytest.mark.parametrize("is_named", [True, False])
def test_a_configuration_that_cannot_be_written_is_2_and_the_report_is_not_lost(
    runs, tmp_path, capsys, is_named
):
    name = str(tmp_path) if is_named else ""
    assert main(["calibrate", runs(1), "-o", name]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("1 good run")
    assert err == f"antiloop: {name}: Is a directory\n"


@pytest.mark.parametrize("option", ["--max-false-stops", "--confidence"])
@pytest.mark.parametrize("value", ["0", "1", "-1", "nan", "1 %"])
def test_a_share_that_is_none_is_2(option, value, runs, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["calibrate", f"{option}={value}", runs(1)])
    assert exit_.value.code == 2
    told = f"argument {option}: must be between 0 and 1, both excluded, got {value!r}\n"
    assert told in capsys.readouterr().err


def test_a_bad_configuration_is_2(runs, tmp_path, capsys):
    (tmp_path / "config").write_text('{"version": 1, "detectors": [{"type": "dance"}]}')
    with pytest.raises(SystemExit) as exit_:
        main(["calibrate", "--config", str(tmp_path / "config"), runs(1)])
    assert exit_.value.code == 2
    assert "detectors: number 1: unknown type 'dance'" in capsys.readouterr().err


def test_progress_is_shown_to_a_person_only(runs, monkeypatch, capsys):
    path = runs(3)
    main(["calibrate", path])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    main(["calibrate", path])
    err = capsys.readouterr().err
    assert "\r\x1b[Kgood runs still stopped: 1" in err
    assert err.endswith("\r\x1b[K")


def test_help_ends_with_an_example_that_works(capsys, monkeypatch):
    with pytest.raises(SystemExit) as exit_:
        main(["calibrate", "--help"])
    assert exit_.value.code == 0
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(last)[1:]) == 0
    assert "repeat, patience            12 -> 15" in capsys.readouterr().out


def test_the_example_that_ships_with_the_project_is_one_of_good_runs(capsys):
    assert main(["scan", EXAMPLE]) == 1  # that is what there is to calibrate
    assert main(["calibrate", "--preset", "patient", EXAMPLE]) == 1
    assert "30 runs" in capsys.readouterr().out


def test_a_configuration_is_written_through_no_link_that_leads_elsewhere(runs, tmp_path, capsys):
    precious, shipped = tmp_path / "precious", tmp_path / "repository" / "detector.json"
    precious.write_text("precious")
    shipped.parent.mkdir()
    shipped.symlink_to(precious)
    assert main(["calibrate", runs(1), "-o", str(shipped)]) == 2
    assert precious.read_text() == "precious"
    assert f"antiloop: {shipped}: a link to {precious}" in capsys.readouterr().err
