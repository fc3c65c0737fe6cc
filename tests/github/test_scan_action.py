"""The action for GitHub: its steps are run here as a runner does."""

import html
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "scan"
TEXT = (ACTION / "action.yml").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
INPUT = re.compile(r"^        (ANTILOOP_\w+): \$\{\{ inputs\.(\w+) \}\}$", re.MULTILINE)
INPUTS = re.findall(r"^  (\w+):\n    description", TEXT.partition("outputs:")[0], re.MULTILINE)
DEFAULTS = {"preset": "default", "baseline": "", "strict": "false", "report": ""}


class Job:
    """One run of the step that scans."""

    def __init__(self, folder, cwd=ROOT, **inputs):
        self.folder, self.summary = folder, folder / "summary.md"
        given = {**DEFAULTS, **inputs}
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "GITHUB_ACTION_PATH": str(ACTION),
            "RUNNER_TEMP": str(folder),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(folder / "output"),
            **{variable: given[name] for variable, name in INPUT.findall(TEXT)},
        }
        (step,) = re.findall(r"^      run: (bash .*)$", TEXT, re.MULTILINE)
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step]
        self.done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        self.status = self.done.returncode

    def rows(self):
        """Return the cells of the summary's tables, as they are shown."""
        lines = self.summary.read_text(encoding="utf-8").splitlines()
        return [
            [html.unescape(cell.strip()) for cell in line.strip("|").split("|")]
            for line in lines
            if line.startswith("| ") and "---" not in line
        ]

    def sarif(self):
        (path,) = re.findall(r"^sarif=(.*)$", (self.folder / "output").read_text(), re.MULTILINE)
        return json.loads(Path(path).read_text(encoding="utf-8"))


def test_a_run_that_got_stuck_fails_the_step_and_is_shown(tmp_path):
    page = tmp_path / "page.html"
    job = Job(tmp_path, path="docs/examples/runs.jsonl\n", report=str(page))
    assert job.status == 1
    assert "::error::an agent got stuck" in job.done.stdout
    results = job.sarif()["runs"][0]["results"]
    assert {result["properties"]["run_id"] for result in results} == {"refund-window"}
    assert job.rows()[0] == ["health", "runs", "calls", "wasted calls", "wasted tokens"]
    assert ["refund-window", "9", "ping_pong, repeat"] in [row[:3] for row in job.rows()]
    assert job.summary.read_text().startswith("### Tool-call loops: 1 of 2 runs got stuck\n")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_known_loops_pass(tmp_path):
    job = Job(tmp_path, path="docs/examples", baseline=".github/examples-baseline.jsonl")
    remedy = "antiloop scan docs/examples --write-baseline .github/examples-baseline.jsonl"
    assert job.status == 0, f"write it again with: {remedy}"
    states = {each["baselineState"] for each in job.sarif()["runs"][0]["results"]}
    assert states == {"unchanged"}
    assert {row[-1] for row in job.rows() if len(row) == 5} >= {"known"}


def test_a_preset_is_chosen_and_several_paths_are_scanned(tmp_path):
    path = "docs/examples/runs.jsonl\n\ndocs/examples/codex-session.jsonl"
    job = Job(tmp_path, path=path, preset="patient")
    assert (job.status, "3 runs" in job.summary.read_text()) == (0, True)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"path": "\n"}, "no path is given"),
        ({"path": "nothing-here"}, "nothing-here"),
        ({"path": "docs/examples", "preset": "strict"}, "strict"),
        ({"path": "$(touch broken)`touch broken`;touch broken"}, "No such file"),
    ],
    ids=["none", "missing", "preset", "hostile"],
)
def test_what_cannot_be_scanned_fails_with_its_reason(tmp_path, inputs, said):
    job = Job(tmp_path, **inputs)
    assert job.status == 2
    assert said in job.done.stdout + job.done.stderr
    assert not (ROOT / "broken").exists()


def test_what_cannot_be_read_is_2_with_a_page_too_and_the_log_is_there(tmp_path):
    broken, page = tmp_path / "broken.jsonl", tmp_path / "page.html"
    broken.write_text("{broken", encoding="utf-8")
    job = Job(tmp_path, path=f"docs/examples/runs.jsonl\n{broken}", report=str(page))
    assert job.status == 2
    assert job.sarif()["runs"][0]["results"]
    assert page.exists()


def test_a_page_that_cannot_be_written_fails_the_step(tmp_path):
    page = str(tmp_path / "no" / "page")
    job = Job(tmp_path, path="docs/examples/runs.jsonl", preset="patient", report=page)
    assert job.status == 2
    assert "no/page: No such file or directory" in job.done.stderr


def test_no_log_is_named_where_none_was_written(tmp_path):
    Job(tmp_path, path="docs/examples", preset="strict")
    assert not (tmp_path / "output").exists()


def test_no_module_of_the_repository_is_run(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('run')", encoding="utf-8")
    path = str(ROOT / "docs" / "examples" / "runs.jsonl")
    job = Job(tmp_path, tmp_path, path=path, preset="patient", report="page.html")
    assert (job.status, job.done.stderr) == (0, "")
    assert (tmp_path / "page.html").exists()


def summary_of(*runs):
    return list(runpy.run_path(str(ACTION / "summary.py"))["lines_of"](list(runs)))


def stuck(run_id, message="Tool 'ls' was called 3 times in a row."):
    verdict = {"step": 2, "detector": "repeat", "message": message, "known": False}
    amounts = {"steps": 4, "wasted_calls": 3, "wasted_tokens": None}
    return {"run_id": run_id, "health": "Likely stuck", **amounts, "verdicts": [verdict] * 2}


def test_recordings_can_put_nothing_of_their_own_into_the_summary():
    name = "<img src=x>|[a](http://b)\n# `c`"
    lines = summary_of(stuck(name, name))
    assert not [line for line in lines if re.search(r"<img|\[a\]|^# |`c`|\n", line)]
    (row,) = (line.split(" | ") for line in lines if "repeat" in line)
    assert html.unescape(row[0]) == "| " + name.replace("\n", " ")
    assert len(row) == 5


def test_a_run_has_one_row_whatever_was_found_in_it():
    run = stuck("r")
    said = run["verdicts"][0]
    other = {**said, "step": 4, "detector": "stall", "message": "Tool 'ls' stalled."}
    run["verdicts"] = [{**said, "step": 1, "known": True}, said, other, {**other, "step": 5}]
    for verdicts, row in (
        (run["verdicts"], ["r", "2", "repeat, stall", f"{said['message']} {other['message']}", ""]),
        (run["verdicts"][:1], ["r", "1", "repeat", said["message"], "known"]),
    ):
        (line,) = (each for each in summary_of({**run, "verdicts": verdicts}) if "repeat" in each)
        assert [html.unescape(cell) for cell in line[2:-2].split(" | ")] == row


def test_a_long_list_of_runs_is_cut():
    lines = summary_of(*map(stuck, map(str, range(60))))
    assert sum("repeat" in line for line in lines) == 50
    assert "\nand 10 more\n" in lines


def test_every_input_is_used_and_the_others_have_a_default():
    assert list(INPUTS) == ["path", *DEFAULTS]
    assert {name for _, name in INPUT.findall(TEXT)} == set(INPUTS)
    defaults = re.findall(r'^    default: (?:""|(\w+))$', TEXT, re.MULTILINE)
    assert defaults == list(DEFAULTS.values())


def test_inputs_never_stand_in_a_script():
    scripts = re.findall(r"^      run: (.*)$", TEXT, re.MULTILINE)
    assert len(scripts) == 2
    assert not [script for script in scripts if "${{" in script]


def test_the_workflow_of_the_project_uses_it_on_the_examples():
    job = WORKFLOW.partition("uses: ./.github/actions/scan\n")[2]
    assert "path: docs/examples\n" in job
    assert "baseline: .github/examples-baseline.jsonl\n" in job
