"""``antiloop config``, and the settings as the other commands read them."""

import json

import pytest

from antiloop import LoopDetector, ToolPolicy
from antiloop.cli import main
from antiloop.loop_detection._project.schema import settings_schema

CALL = {"tool_name": "search", "arguments": {"q": "cats"}, "result": "no results"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def run_of(times=4, **changes):
    write("run.jsonl", json.dumps({"run_id": "r", "steps": [{**CALL, **changes}] * times}) + "\n")


def told(capsys, *arguments):
    assert main(["config", "--format", "json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_without_a_file_everything_is_the_default(capsys):
    said = told(capsys)
    assert said["file"] is None
    assert said["settings"]["preset"] == {"value": "default", "source": "default"}
    assert {each["source"] for each in said["settings"].values()} == {"default"}


def test_what_the_file_says_is_shown_as_its_own(capsys):
    write("antiloop.toml", 'preset = "escalating"\nignore = ["todo"]\n[thresholds]\nrepeat = 5\n')
    said = told(capsys)
    assert said["file"] == "antiloop.toml"
    of_file = {name for name, each in said["settings"].items() if each["source"] == "file"}
    assert of_file == {"preset", "ignore", "thresholds.repeat"}
    assert said["settings"]["thresholds.repeat"]["value"]["threshold"] == 5
    assert said["settings"]["policy"]["value"] == ["notify", "block", "stop"]


def test_the_command_line_beats_the_file(capsys):
    write("antiloop.toml", 'preset = "escalating"\nshadow = true\nwindow = 60\n')
    said = told(capsys, "--preset", "literal")["settings"]
    assert said["preset"] == {"value": "literal", "source": "command line"}
    assert said["window"] == {"value": 50, "source": "command line"}
    assert said["shadow"] == {"value": True, "source": "file"}


def test_a_file_can_be_left_aside(capsys):
    write("antiloop.toml", "this is not TOML")
    assert told(capsys, "--isolated")["file"] is None


def test_a_person_is_told_a_setting_a_line(capsys):
    write("antiloop.toml", "[tools.job_status]\npoll = true\n")
    assert main(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "settings: antiloop.toml"
    assert [line.split() for line in lines if "job_status" in line] == [
        ["file", "tools.job_status", "poll", "true"]
    ]


def test_names_from_the_file_cannot_command_a_terminal(capsys):
    write("antiloop.toml", 'ignore = ["a\\u001b[2J"]\n[tools."b\\u001b[2J"]\nexempt = true\n')
    assert main(["config"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_the_schema_is_printed(capsys):
    assert main(["config", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == settings_schema()


def test_a_detector_from_json_is_shown(capsys):
    write("fitted.json", json.dumps(LoopDetector.default().to_config()))
    assert told(capsys, "--config", "fitted.json")["settings"]["config"]["source"] == "command line"
    write("antiloop.toml", 'config = "fitted.json"\n')
    assert told(capsys)["settings"]["config"] == {"value": "fitted.json", "source": "file"}


@pytest.mark.parametrize("command", ["config", "scan run.jsonl", "watch run.jsonl"])
def test_a_mistake_is_told_in_one_line(command, capsys):
    run_of()
    write("antiloop.toml", "tresholds = 1\n")
    assert main(command.split()) == 2
    said = capsys.readouterr().err
    assert "antiloop.toml: tresholds: unexpected; did you mean 'thresholds'?" in said
    assert len(said.splitlines()) == 1


def test_a_scan_reads_the_settings(capsys):
    run_of()
    assert main(["scan", "run.jsonl"]) == 1
    for settings in (
        'ignore = ["search"]',
        "[thresholds]\nrepeat = 9",
        "tools.search.exempt = true",
    ):
        write("antiloop.toml", settings)
        assert (settings, main(["scan", "run.jsonl"])) == (settings, 0)
    assert main(["scan", "--isolated", "run.jsonl"]) == 1
    capsys.readouterr()


def test_a_shadow_is_scanned_as_any_other(capsys):
    run_of()
    write("antiloop.toml", "shadow = true\n")
    assert main(["scan", "run.jsonl"]) == 1
    assert "raise" in capsys.readouterr().out


def test_a_scan_masks_as_the_settings_say(capsys):
    steps = [{**CALL, "arguments": {"q": query}} for query in ("cats", "dogs")] * 4
    write("run.jsonl", json.dumps({"run_id": "r", "steps": steps}) + "\n")
    assert main(["scan", "run.jsonl"]) == 1
    assert "cats" in capsys.readouterr().out
    write("antiloop.toml", 'mask = "arguments"\n')
    assert main(["scan", "run.jsonl"]) == 1
    assert "cats" not in capsys.readouterr().out


def test_a_scan_knows_the_loops_of_the_baseline_that_the_settings_name(folder, capsys):
    run_of()
    (folder / "ci").mkdir()
    write("antiloop.toml", 'baseline = "ci/known.jsonl"\n')
    assert main(["scan", "run.jsonl"]) == 2
    assert "antiloop.toml: baseline: ci/known.jsonl: no such file" in capsys.readouterr().err
    assert main(["scan", "run.jsonl", "--write-baseline", "ci/known.jsonl"]) == 0
    assert main(["scan", "run.jsonl"]) == 0
    run_of(arguments={"q": "dogs"})
    assert main(["scan", "run.jsonl"]) == 1
    capsys.readouterr()


def test_a_watch_reads_the_settings(monkeypatch, capsys):
    import io
    import sys

    line = json.dumps({"run_id": "r", "steps": [CALL] * 4}) + "\n"
    for settings, status in (("", 1), ('ignore = ["search"]', 0)):
        write("antiloop.toml", settings)
        stream = io.BufferedReader(io.BytesIO(line.encode()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        assert main(["watch", "-"]) == status
    capsys.readouterr()


def test_the_origin_of_a_value_from_a_configuration_is_its_file(capsys):
    fitted = LoopDetector.default(
        window=70, tools={"wait": ToolPolicy(poll=True)}, notice_role="user"
    )
    write("fitted.json", json.dumps(fitted.to_config()))
    write("antiloop.toml", 'config = "fitted.json"\nmask = "arguments"\n[thresholds]\nrepeat = 5\n')
    said = {name: each["source"] for name, each in told(capsys)["settings"].items()}
    names = ("window", "policy", "thresholds.stall", "tools.wait", "notice_role", "shadow")
    assert {said[name] for name in names} == {"fitted.json"}
    assert {said[name] for name in ("config", "mask", "thresholds.repeat")} == {"file"}
    assert said["baseline"] == "default"
    said = told(capsys, "--config", "fitted.json")["settings"]
    assert said["tools.wait"]["source"] == "command line"


def test_the_environment_is_an_origin(capsys, monkeypatch):
    monkeypatch.setenv("ANTILOOP_SHADOW", "1")
    monkeypatch.setenv("ANTILOOP_DISABLED", "0")
    said = told(capsys)["settings"]
    assert said["shadow (ANTILOOP_SHADOW)"] == {"value": True, "source": "environment"}
    assert "disabled (ANTILOOP_DISABLED)" not in said
