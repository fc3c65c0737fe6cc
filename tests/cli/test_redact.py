"""``antiloop redact``, as a person uses it before a run is handed to others."""

import json
from pathlib import Path

import pytest

from antiloop.cli import main
from antiloop.cli._commands import redact
from antiloop.traces import read_runs

EXAMPLE = str(Path(__file__).parents[2] / "docs" / "examples" / "runs.jsonl")
STUCK = [{"tool_name": "fetch", "arguments": {"who": "Mallory"}, "result": "Mallory is out"}] * 3


def test_the_runs_are_written_with_other_words(runs, capsys):
    assert main(["redact", runs(mallory=STUCK)]) == 0
    out, err = capsys.readouterr()
    [line] = out.splitlines()
    steps = json.loads(line)["steps"]
    assert "allory" not in out
    assert [step["tool_name"] for step in steps] == ["fetch"] * 3
    assert len({step["result"] for step in steps}) == 1
    assert err == "antiloop: 1 run redacted\n"


def test_a_file_is_written_and_scanned_like_the_original(tmp_path, capsys):
    path = str(tmp_path / "redacted.jsonl")
    assert main(["redact", EXAMPLE, "-o", path]) == 0
    capsys.readouterr()
    found = []
    for each in (EXAMPLE, path):
        main(["scan", "--format", "jsonl", each])
        lines = map(json.loads, capsys.readouterr().out.splitlines())
        found.append([[each["step"] for each in line["verdicts"]] for line in lines])
    assert found[0] == found[1]
    assert any(found[0])


def test_a_recording_is_not_overwritten(runs, capsys):
    path = runs(a=STUCK)
    before = Path(path).read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["redact", path, "-o", path])
    assert "holds recorded runs" in capsys.readouterr().err
    assert Path(path).read_text(encoding="utf-8") == before


def test_a_file_that_cannot_be_written_is_named(runs, tmp_path, capsys):
    assert main(["redact", runs(a=STUCK), "-o", str(tmp_path / "none" / "a.jsonl")]) == 2
    assert "none/a.jsonl: No such file or directory" in capsys.readouterr().err


def test_what_cannot_be_read_is_status_2(tmp_path, capsys):
    assert main(["redact", str(tmp_path / "missing")]) == 2
    assert "missing" in capsys.readouterr().err


def test_a_run_that_is_judged_otherwise_is_named(runs, monkeypatch, capsys):
    monkeypatch.setattr(redact, "_judged_otherwise", lambda *_: ["patient"])
    assert main(["redact", runs(mallory=STUCK)]) == 0
    err = capsys.readouterr().err
    assert "mallory: --preset patient judges the redacted run otherwise" in err
    monkeypatch.undo()
    [run] = read_runs(runs(mallory=STUCK))
    [other] = read_runs(runs(mallory=STUCK[:2]))
    assert "literal" in list(redact._judged_otherwise(run, other))
    assert list(redact._judged_otherwise(run, run)) == []
