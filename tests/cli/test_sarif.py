"""What a scan prints for code hosts: SARIF 2.1.0."""

import json
import os
import re
import sys

import pytest

from antiloop.cli import main
from antiloop.cli._output.sarif import _rule
from antiloop.loop_detection import RepeatDetector
from antiloop.loop_detection.presets import PRESETS

STEP = {"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py"}
RELATIVE = re.compile(r"(?!/)[\w./%~-]+")


@pytest.fixture
def scan(tmp_path, monkeypatch, capsys):
    """Scan runs of so many equal steps, with what else is asked, and give the SARIF log."""
    monkeypatch.chdir(tmp_path)

    def scanned(*arguments, name="runs.jsonl", **counts):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        runs = [{"run_id": run_id, "steps": [STEP] * count} for run_id, count in counts.items()]
        path.write_text("".join(json.dumps(run) + "\n" for run in runs))
        main(["scan", "--format", "sarif", *arguments, name])
        return json.loads(capsys.readouterr().out)

    return scanned


def assert_is_sarif(log):
    """Check what the schema requires, of all that is written here."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    assert run.keys() == {"results", "columnKind", "invocations", "tool"}
    (invocation,) = run["invocations"]
    assert invocation.keys() == {"executionSuccessful", "toolExecutionNotifications"}
    for notification in invocation["toolExecutionNotifications"]:
        assert notification["level"] == "warning"
        assert isinstance(notification["message"]["text"], str)
    driver = run["tool"]["driver"]
    assert driver["name"] == "antiloop"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules) > 0
    for rule in driver["rules"]:
        assert rule.keys() == {"id", "shortDescription", "fullDescription", "help"}
        assert all(0 < len(rule[name]["text"]) <= 1024 for name in rule.keys() - {"id"})
    for result in run["results"]:
        assert result["ruleId"] in rules
        assert result["level"] in ("note", "warning", "error")
        assert isinstance(result["message"]["text"], str)
        assert all(isinstance(text, str) for text in result["partialFingerprints"].values())
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert RELATIVE.fullmatch(place["artifactLocation"]["uri"])
        assert place["region"]["startLine"] >= 1
        (logical,) = location["logicalLocations"]
        assert logical.keys() == {"name", "fullyQualifiedName"}


@pytest.mark.parametrize("counts", [{}, {"fine": 1}, {"stuck": 3}, {"stuck": 9, "again": 20}])
@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_printed_is_sarif(scan, preset, counts):
    assert_is_sarif(scan("--preset", preset, **counts))


def test_a_rule_says_what_its_detector_finds(scan):
    log = scan("--preset", "escalating")
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    rule = rules["recurrence"]
    assert rule["shortDescription"]["text"].startswith("Find a call that comes back")
    assert rule["fullDescription"]["text"].startswith("A count of consecutive calls is reset")
    assert "Args:" not in rule["help"]["text"]


def test_a_detector_without_words_is_a_rule_by_its_name():
    class Mute(RepeatDetector):
        pass

    Mute.__doc__ = None
    texts = {"text": "repeat"}
    assert _rule(Mute()) == {
        "id": "repeat",
        "shortDescription": texts,
        "fullDescription": texts,
        "help": texts,
    }


def test_a_loop_points_to_the_line_of_its_run_and_names_the_step(scan):
    (result,) = scan(fine=1, stuck=4, name="my runs/%.jsonl")["runs"][0]["results"]
    assert result["ruleId"] == "repeat"
    assert result["level"] == "error"
    assert result["message"]["text"].startswith('Step 2: ls "." 3 times in a row: "a.py"')
    place = result["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "my%20runs/%25.jsonl"},
        "region": {"startLine": 2},
    }
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "stuck/step 2"
    assert result["properties"] == {
        "run_id": "stuck",
        "step": 2,
        "again": [3],
        "action": "raise",
        "health": "Likely stuck",
        "calls": [{"tool": "ls", "arguments": '{"p":"."}'}],
        "answer": "a.py",
    }


def test_a_notice_is_a_warning_and_what_follows_an_error(scan):
    results = scan("--preset", "escalating", stuck=9)["runs"][0]["results"]
    assert [result["level"] for result in results] == ["warning", "error", "error"]
    fingerprints = [result["partialFingerprints"] for result in results]
    assert len({each["primaryLocationLineHash"] for each in fingerprints}) == 3


def test_the_fingerprint_of_a_loop_does_not_depend_on_where_it_is_read(scan):
    (one,) = scan(stuck=3)["runs"][0]["results"]
    (other,) = scan(fine=1, stuck=5, name="b.jsonl")["runs"][0]["results"]
    assert one["partialFingerprints"] == other["partialFingerprints"]


def test_a_file_elsewhere_is_named_as_a_whole(scan, tmp_path, monkeypatch, capsys):
    scan(stuck=3)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    main(["scan", "--format", "sarif", str(tmp_path / "runs.jsonl")])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (tmp_path / "runs.jsonl").as_uri()


def test_a_file_on_another_drive_is_named_as_a_whole(scan, tmp_path, monkeypatch, capsys):
    def apart(paths):
        raise ValueError("Paths don't have the same drive")  # as on Windows

    scan(stuck=3)
    monkeypatch.setattr(os.path, "commonpath", apart)
    main(["scan", "--format", "sarif", str(tmp_path / "runs.jsonl")])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (tmp_path / "runs.jsonl").as_uri()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_name_that_is_no_text_is_a_path_all_the_same(scan):
    (result,) = scan(stuck=3, name=os.fsdecode(b"runs\xe9.jsonl"))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "runs%E9.jsonl"


def test_names_are_no_markup(tmp_path, capsys):
    path = tmp_path / "runs"
    steps = [{**STEP, "tool_name": "[a](b) {0} \\"}] * 3
    path.write_text(json.dumps({"run_id": "a", "steps": steps}))
    main(["scan", "--format", "sarif", str(path)])
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert r"\[a\](b) {{0}} " in result["message"]["text"]
