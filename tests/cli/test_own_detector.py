"""A detector of the user's program is named on the command line."""

import json

import pytest

from antiloop.cli import main

PROGRAM = """
from antiloop import BaseDetector, LoopDetection, LoopDetector

class Odd(BaseDetector):
    name = "odd"

    def check(self, tool_calls, tool_results):
        if tool_calls[-1].tool_name == "odd":
            return LoopDetection("odd", "An odd tool was called.", indices=(len(tool_calls) - 1,))

detector = LoopDetector([Odd()], "stop")
"""
STEPS = [{"tool_name": "even", "result": "a"}, {"tool_name": "odd", "result": "b"}]


@pytest.fixture(autouse=True)
def _program(tmp_path, monkeypatch):
    (tmp_path / "program_of_mine.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("more", [[], ["--jobs", "2"]])
def test_scan_takes_it_also_in_other_processes(runs, capsys, more):
    options = ["--detector", "program_of_mine:detector", "--format", "jsonl", *more]
    assert main(["scan", *options, runs(one=STEPS, two=STEPS)]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [(v["step"], v["detector"], v["action"]) for each in lines for v in each["verdicts"]]
    assert found == [(1, "odd", "stop")] * 2


def test_explain_and_report_take_it_too(runs, tmp_path, capsys):
    path, page = runs(one=STEPS), tmp_path / "page.html"
    named = ["--detector", "program_of_mine:detector"]
    assert main(["explain", *named, path]) == 1
    assert "An odd tool was called." in capsys.readouterr().out
    assert main(["report", *named, "-o", str(page), path]) == 1
    assert "An odd tool was called." in page.read_text(encoding="utf-8")


def test_settings_do_not_change_it(runs, tmp_path, capsys):
    (tmp_path / "antiloop.toml").write_text('preset = "escalating"\nignore = ["odd"]\n')
    assert main(["scan", "--detector", "program_of_mine:detector", runs(one=STEPS)]) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("program_of_mine", "'program_of_mine' does not name a detector; write MODULE:NAME"),
        ("program_of_mine:other", "module program_of_mine has no attribute 'other'"),
        ("program_of_mine:Odd", "program_of_mine:Odd is not a LoopDetector"),
    ],
)
def test_another_name_is_2_and_told(runs, capsys, name, told):
    with pytest.raises(SystemExit) as ended:
        main(["scan", "--detector", name, runs(one=STEPS)])
    assert ended.value.code == 2
    assert f"--detector: {told}" in " ".join(capsys.readouterr().err.split())
