"""The command line, as a person and as a script use it."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from antiloop.__main__ import _status as program
from antiloop.cli import main
from antiloop.cli._arguments import FORMATS as FORMAT_NAMES
from antiloop.cli._commands import demo, scan
from antiloop.cli._output.terminal import printable
from antiloop.loop_detection import LoopDetector
from antiloop.loop_detection.presets import PRESETS
from antiloop.traces import FORMATS
from antiloop.version import __version__

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "docs" / "examples" / "runs.jsonl")


def steps(count, tool_name="ls", result="a.py"):
    return [
        {"tool_name": tool_name, "arguments": {"p": "."}, "result": result, "round": round_}
        for round_ in range(count)
    ]


def antiloop(*arguments, **options):
    """Run the command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "antiloop", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **options.pop("env", {})},
        **options,
    )


def test_nothing_found_is_0(runs, capsys):
    assert main(["scan", runs(fine=steps(2))]) == 0
    out = capsys.readouterr().out
    row = "Healthy             1        2             0"
    assert out.splitlines()[1:] == [row, "", "0 of 1 run got stuck."]


def test_a_loop_found_is_1_and_told_with_its_step(runs, capsys):
    assert main(["scan", runs(fine=steps(2), stuck=steps(3))]) == 1
    out = capsys.readouterr().out
    assert out.startswith("stuck, 3 steps (")
    assert "\n  step   2  raise   ls" in out
    assert out.endswith("1 of 2 runs got stuck.\n")


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (4, "and again at step 3\n"),
        (6, "at steps 3, 4, 5\n"),
        (9, "and 6 times more, last at step 8"),
    ],
)
def test_the_same_verdict_again_is_told_briefly(runs, capsys, count, told):
    main(["scan", runs(stuck=steps(count))])
    out = capsys.readouterr().out
    assert out.count("  step   ") == 1
    assert told in out


def test_jsonl_has_a_line_for_every_run_and_every_verdict(runs, capsys):
    assert main(["scan", "--format", "jsonl", runs(fine=steps(2), stuck=steps(4))]) == 1
    fine, stuck = map(json.loads, capsys.readouterr().out.splitlines())
    assert fine == {
        "run_id": "fine",
        "steps": 2,
        "health": "Healthy",
        "score": 100,
        "wasted_calls": 0,
        "wasted_tokens": None,
        "wasted_cost": None,
        "cost": None,
        "verdicts": [],
    }
    assert (stuck["health"], stuck["wasted_calls"]) == ("Likely stuck", 3)
    assert [verdict["step"] for verdict in stuck["verdicts"]] == [2, 3]
    assert stuck["verdicts"][0].keys() == {
        *("step", "detector", "action", "severity", "message", "known"),
        *("calls", "answer"),
    }
    assert {verdict["action"] for verdict in stuck["verdicts"]} == {"raise"}
    assert {verdict["severity"] for verdict in stuck["verdicts"]} == {"critical"}


@pytest.mark.parametrize("by_id", [{}, {"fine": steps(2)}, {"fine": steps(2), "stuck": steps(4)}])
def test_json_is_one_document_with_the_same_runs(runs, capsys, by_id):
    path = runs(**by_id, last=[])
    main(["scan", "--format", "jsonl", path])
    lines = capsys.readouterr().out.splitlines()
    main(["scan", "--format", "json", path])
    assert json.loads(capsys.readouterr().out) == [json.loads(line) for line in lines]


def test_json_without_runs_is_an_empty_list(tmp_path, capsys):
    assert main(["scan", "--format", "json", str(tmp_path / "none")]) == 2
    assert json.loads(capsys.readouterr().out) == []


def test_a_file_that_cannot_be_read_is_2_and_the_others_are_scanned(runs, tmp_path, capsys):
    missing = str(tmp_path / "missing")
    assert main(["scan", missing, runs(stuck=steps(3)), "pyproject.toml"]) == 2
    out, err = capsys.readouterr()
    assert "1 of 1 run got stuck." in out
    assert f"antiloop: {missing}: No such file or directory\n" in err


def test_a_broken_line_is_told_on_stderr_and_passed_over(tmp_path, capsys):
    path = tmp_path / "f"
    path.write_text(json.dumps({"run_id": "a", "steps": steps(3)}) + "\n{broken\n")
    assert main(["scan", str(path)]) == 1
    out, err = capsys.readouterr()
    assert "1 of 1 run got stuck." in out
    assert err.startswith(f"antiloop: {path}:2: not JSON")


def test_standard_input_is_a_dash(runs, monkeypatch, capsys):
    data = Path(runs(stuck=steps(3))).read_bytes()
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["scan", "-"]) == 1
    assert capsys.readouterr().out.startswith("stuck, 3 steps (stdin:1)")


def test_text_of_a_trace_cannot_command_the_terminal(runs, capsys):
    evil = "\x1b[2Jevil\r\n\u202e\x9b"
    main(["scan", runs(**{evil: steps(3, tool_name=evil)})])
    out = capsys.readouterr().out
    assert "evil" in out
    assert out.replace("\n", "").isprintable()


def test_what_is_printable_stays_as_it_is():
    assert printable("käse 日本 'x'") == "käse 日本 'x'"
    assert printable("a\tb\ud800") == "a\\tb\\ud800"


def test_a_terminal_that_knows_ascii_only_gets_escapes(runs):
    process = antiloop("scan", runs(käse=steps(3)), env={"PYTHONIOENCODING": "ascii"})
    out, err = process.communicate()
    assert (process.returncode, err) == (1, b"")
    assert out.startswith(b"k\\xe4se, 3 steps")


def test_the_format_can_be_given(runs, capsys):
    assert main(["scan", "--from", "antiloop", runs(stuck=steps(3))]) == 1
    capsys.readouterr()
    # A gate must not pass because nothing was looked at.
    assert main(["scan", "--from", "openai-chat", runs(stuck=steps(3))]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "expected OpenAI chat messages; skipped" in err
    assert err.endswith("no recorded runs found, nothing was checked\n")


def test_the_names_offered_are_the_names_there_are():
    assert set(FORMAT_NAMES) == FORMATS.keys()


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_finds_a_call_that_never_ends(preset, runs, capsys):
    assert main(["scan", "--preset", preset, runs(stuck=steps(20))]) == 1


@pytest.mark.parametrize("name", PRESETS)
def test_help_has_a_line_on_every_preset(name, capsys):
    with pytest.raises(SystemExit):
        main(["scan", "--help"])
    about = PRESETS[name].__doc__.splitlines()[0]
    assert f" {name} {about} " in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", PRESETS)
def test_a_configuration_does_what_the_preset_does_that_it_was_written_from(
    name, runs, tmp_path, capsys
):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(PRESETS[name]().to_config()))
    path = runs(fine=steps(2), stuck=steps(20))
    main(["scan", "--preset", name, path])
    expected = capsys.readouterr().out
    assert main(["scan", "--config", str(config), path]) == 1
    assert capsys.readouterr().out == expected


def test_a_configuration_may_come_from_standard_input(runs, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(LoopDetector.default().to_config())))
    assert main(["scan", "--config", "-", runs(stuck=steps(3))]) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("[]", "a configuration: must be an object, got list"),
        ("[" * 100_000, "nested too deeply"),
        ("\xff", "can't decode byte"),
        ('{"version": 0}', "version must be 1, got 0"),
        ('{"version": 1, "detectors": []}', "at least one detector, got none"),
        ('{"version": 1, "detectors": [{"type": "\\u001b"}]}', "number 1: unknown type '\\x1b'"),
        (
            '{"version": 1, "detectors": [{"type": "repeat", "threshold": 1}]}',
            "must be a whole number, 2 or more",
        ),
        ('{"version": 1, "detectors": [{"type": "repeat", "name": []}]}', "name must be a text"),
        ('{"version": 1, "detectors": [{"type": []}]}', "detectors: number 1: unknown type []"),
    ],
)
def test_a_bad_configuration_is_2_and_named(text, told, tmp_path, capsys):
    config = tmp_path / "config.json"
    config.write_bytes(text.encode("latin-1"))
    with pytest.raises(SystemExit) as exit_:
        main(["scan", "--config", str(config), EXAMPLE])
    assert exit_.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("antiloop scan: error: argument --config: ")
    assert str(config) in err
    assert told in err


def test_a_missing_configuration_is_2_and_named(tmp_path, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["scan", "--config", str(tmp_path / "none"), EXAMPLE])
    assert exit_.value.code == 2
    assert f"{tmp_path / 'none'}: No such file or directory\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan"],
        ["scan", "--preset", "none", "f"],
        ["scan", "--preset", "default", "--config", "f", "f"],
        ["dance"],
    ],
)
def test_a_wrong_command_line_is_2(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert capsys.readouterr().out == ""


def test_no_command_is_2_and_shows_which_there_are(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "\n    scan " in err


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"antiloop {__version__}\n"


def test_a_wrong_command_line_cannot_command_the_terminal(capsys):
    with pytest.raises(SystemExit):
        main(["scan", "--\x1b[2J\u202e", "f"])
    err = capsys.readouterr().err
    assert "\\x1b[2J" in err
    assert err.replace("\n", "").isprintable()


def test_the_usage_of_a_command_is_short(capsys):
    with pytest.raises(SystemExit):
        main(["scan"])
    usage, error = capsys.readouterr().err.splitlines()
    assert usage == "usage: antiloop scan [OPTION ...] PATH [PATH ...]"
    assert error == "antiloop scan: error: the following arguments are required: PATH"


def test_help_names_every_format(capsys):
    with pytest.raises(SystemExit):
        main(["scan", "--help"])
    listed = capsys.readouterr().out.partition("\nformats:\n")[2].partition("\n\n")[0]
    assert listed.replace(",", "").split() == list(FORMAT_NAMES)


@pytest.mark.parametrize("arguments", [[], ["demo"], ["scan"]])
def test_help_ends_with_an_example_that_works(arguments, capsys, monkeypatch):
    with pytest.raises(SystemExit) as exit_:
        main([*arguments, "--help"])
    assert exit_.value.code == 0
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    program, *example = last.split()
    assert program == "antiloop"
    monkeypatch.chdir(ROOT)
    assert main(example) in (0, 1)


def test_a_reader_who_stops_reading_is_no_error(runs):
    process = antiloop("scan", runs(**{f"stuck{n}": steps(3) for n in range(5000)}))
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_a_closed_pipe_is_141_whatever_was_being_written(monkeypatch, tmp_path):
    def cut_off(args):
        raise BrokenPipeError

    monkeypatch.setattr(scan, "run", cut_off)
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["scan", "f"]) == 141


def test_output_that_cannot_be_written_is_2_and_told(monkeypatch, tmp_path, capsys):
    def full(args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scan, "run", full)
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["scan", "f"]) == 2
    assert capsys.readouterr().err == "antiloop: stopped: No space left on device\n"


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_without_somewhere_to_write_to_the_status_is_the_same(runs, monkeypatch, closed):
    monkeypatch.setattr(sys, closed, None)
    assert main(["scan", runs(stuck=steps(3))]) == 1
    assert main(["scan", "no such file"]) == 2
    getattr(sys, closed).close()


def test_output_may_be_any_stream_of_text(runs, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert main(["scan", runs(stuck=steps(3))]) == 1
    assert sys.stdout.getvalue().endswith("1 of 1 run got stuck.\n")


def test_a_configuration_from_standard_input_that_is_closed_is_2(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit) as exit_:
        main(["scan", "--config", "-", EXAMPLE])
    assert exit_.value.code == 2
    assert "argument --config: -: not open\n" in capsys.readouterr().err


def test_ctrl_c_ends_quietly(monkeypatch, capsys):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(scan, "run", interrupted)
    assert main(["scan", "f"]) == 130
    assert capsys.readouterr().err == "antiloop: interrupted\n"


def test_the_module_gives_the_exit_status(monkeypatch, capsys):
    frozen = []
    monkeypatch.setattr("gc.freeze", lambda: frozen.append("antiloop.cli" in sys.modules))
    monkeypatch.setattr(sys, "argv", ["antiloop", "scan", EXAMPLE])
    with pytest.raises(SystemExit) as exit_:
        sys.exit(program())
    assert exit_.value.code == 1
    assert capsys.readouterr().out.endswith("got stuck.\n")
    assert frozen == [True]


def test_an_interpreter_that_freezes_nothing_will_do(monkeypatch, capsys):
    monkeypatch.delattr("gc.freeze")
    monkeypatch.setattr(sys, "argv", ["antiloop", "scan", EXAMPLE])
    assert program() == 1
    assert capsys.readouterr().out.endswith("got stuck.\n")


def test_an_interrupt_while_the_program_starts_is_130(monkeypatch):
    class Starting(ModuleType):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["antiloop", "demo"])
    monkeypatch.setitem(sys.modules, "antiloop.cli", Starting("antiloop.cli"))
    with pytest.raises(SystemExit) as exit_:
        sys.exit(program())
    assert exit_.value.code == 130


def test_the_demo_tells_and_then_stops(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.index("The model reads:") < out.index(
        'The run ends with status loop_detected: search "'
    )


def test_the_demo_ends_with_a_report_about_the_same_run(tmp_path, capsys):
    folder = tmp_path / "new" / "demo"
    assert main(["demo", "-o", str(folder)]) == 0
    assert capsys.readouterr().out.endswith(f"The same run as a report: {folder}/report.html\n")
    assert 'search \\"return period\\"' in (folder / "report.html").read_text("ascii")
    assert main(["scan", str(folder / "run.jsonl")]) == 1


def test_a_demo_without_a_place_for_its_report_is_2_and_told(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "-o", str(tmp_path / "file")]) == 2
    assert "File exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("is_terminal", "display", "options", "is_opened"),
    [
        (True, ":0", (), True),
        (True, ":0", ("--no-open",), False),
        (True, "", (), False),
        (False, ":0", (), False),
    ],
)
def test_a_browser_opens_on_a_desktop_only(
    is_terminal, display, options, is_opened, tmp_path, monkeypatch
):
    opened = []
    monkeypatch.setattr(demo.webbrowser, "open", opened.append)
    monkeypatch.setattr(demo.sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    assert main(["demo", "-o", str(tmp_path), *options]) == 0
    assert opened == [(tmp_path / "report.html").as_uri()] * is_opened


def test_a_demo_that_nobody_reads_ends_quietly():
    process = antiloop("demo", env={"PYTHONUNBUFFERED": "1"})
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_the_package_runs_as_a_module():
    process = antiloop("scan", EXAMPLE)
    out, err = process.communicate()
    assert (process.returncode, err) == (1, b"")
    assert out.strip().endswith(b"got stuck.")
