"""A judge is named on the command line, and asked about recorded runs."""

import json

import pytest

from antiloop.agent._drivers import asking
from antiloop.cli import main
from antiloop.loop_detection import LoopDetector, Opinion

WORDS = ("config", "settings", "conf", "options", "app", "main", "base")
VAIN = [
    {"tool_name": "search", "arguments": {"q": word}, "result": "No files found."} for word in WORDS
]
OPTIONS = ["--preset", "escalating", "--format", "jsonl"]


@pytest.fixture(autouse=True)
def _judges(monkeypatch, request):
    monkeypatch.syspath_prepend(str(request.path.parent))


def scanned(capsys, path, judge, *more):
    status = main(["scan", *OPTIONS, "--second-opinion", f"judges:{judge}", *more, path])
    out, err = capsys.readouterr()
    return status, [json.loads(line) for line in out.splitlines()], err


def said(line):
    return [(each["step"], each["detector"], each["action"]) for each in line["verdicts"]]


@pytest.mark.parametrize("judge", ["stuck", "later"])
def test_it_is_asked_while_a_run_is_replayed(runs, capsys, judge):
    status, (line,), err = scanned(capsys, runs(vain=VAIN), judge)
    assert (status, line["questions"], err) == (1, 2, "")
    assert said(line)[0] == (4, "second_opinion", "notify")


def test_the_verdicts_are_those_of_a_live_run(runs, capsys):
    path = runs(vain=VAIN)
    _, (line,), _ = scanned(capsys, path, "stuck")
    monitor = LoopDetector.escalating(second_opinion=lambda case: True).monitor()
    live, asked = [], 0
    for number, word in enumerate(WORDS):
        verdict = monitor.record_call("search", {"q": word}, "No files found.")
        if verdict.case is not None:
            asked, verdict = asked + 1, monitor.answer(True)
        live += [(number, verdict.action.value)] * (verdict.action.value != "continue")
    assert [(step, action) for step, _, action in said(line)] == live
    assert line["questions"] == asked


def test_who_is_not_named_is_not_asked(runs, capsys):
    assert main(["scan", *OPTIONS, runs(vain=VAIN[:4])]) == 0
    assert "questions" not in json.loads(capsys.readouterr().out)


def test_its_settings_may_be_named(runs, capsys):
    _, (line,), _ = scanned(capsys, runs(vain=VAIN[:4]), "settings")
    assert line["questions"] == 0


def test_what_was_said_when_the_run_was_recorded_counts_first(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    told = {"step": 3, **Opinion(False, 0.9, "It reads on.").to_dict()}
    path.write_text(json.dumps({"run_id": "r", "steps": VAIN[:6], "opinions": [told]}))
    status, (line,), _ = scanned(capsys, str(path), "stuck")
    assert (status, line["questions"], line["verdicts"]) == (0, 0, [])


def test_other_processes_ask_too(runs, capsys):
    path = runs(vain=VAIN, fine=VAIN[:2], again=VAIN)
    here = scanned(capsys, path, "settings")
    vain, fine, again = (line["questions"] for line in here[1])
    assert (vain > 0, fine, again) == (True, 0, vain)
    assert scanned(capsys, path, "settings", "--jobs", "2") == here


@pytest.mark.parametrize("judge", ["broken", "broken_later"])
def test_one_that_fails_changes_nothing_and_is_told_once(runs, capsys, judge):
    path = runs(vain=VAIN, again=VAIN)
    _, lines, err = scanned(capsys, path, judge)
    questions = sum(line.pop("questions") for line in lines)
    main(["scan", *OPTIONS, path])
    assert lines == [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = f"the judge gave no opinion on {questions} of {questions} questions"
    assert err == f"antiloop: {told}: PermissionError: no key\n"


def test_errors_of_a_judge_are_not_logged_to_the_terminal(runs, capsys, monkeypatch):
    monkeypatch.setattr(asking.logger, "propagate", False)  # as without the handlers of pytest
    scanned(capsys, runs(vain=VAIN), "broken")
    assert asking.logger.hasHandlers()  # else the last resort of `logging` prints the traceback


def test_one_without_an_opinion_is_told(runs, capsys):
    *_, err = scanned(capsys, runs(vain=VAIN[:5]), "unsure")
    assert err == "antiloop: the judge gave no opinion on 1 of 1 question\n"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("judges", "'judges' does not name a judge; write MODULE:NAME, e.g. my_agent:judge"),
        ("no_such:judge", "cannot import module no_such: No module named 'no_such'"),
        ("judges:lenient", "module judges has no attribute 'lenient'"),
        ("judges:nothing", "judges:nothing is not a judge; pass a function that takes a CaseFile"),
        ("judges:Judge", "judges:Judge is not a judge"),
    ],
)
@pytest.mark.parametrize("command", ["scan", "report", "explain"])
def test_what_is_no_judge_is_2_and_named(runs, capsys, name, told, command):
    with pytest.raises(SystemExit) as ended:
        main([command, "--second-opinion", name, runs(vain=VAIN)])
    assert ended.value.code == 2
    assert f"--second-opinion: {told}" in " ".join(capsys.readouterr().err.split())


def test_a_judge_may_stand_in_this_directory(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judges_of_mine.py").write_text("def stuck(case):\n    return True\n")
    arguments = ["--second-opinion", "judges_of_mine:stuck", runs(vain=VAIN[:5])]
    assert main(["scan", *OPTIONS, *arguments]) == 1
    assert '"second_opinion"' in capsys.readouterr().out


def test_explain_and_report_ask_too(runs, tmp_path, capsys):
    path, page = runs(vain=VAIN[:5]), tmp_path / "page.html"
    named = ["--preset", "escalating", "--second-opinion", "judges:stuck"]
    assert main(["explain", *named, path]) == 1
    assert "It looks for what is not there." in capsys.readouterr().out
    assert main(["report", *named, "-o", str(page), path]) == 1
    assert "It looks for what is not there." in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["explain", "report"])
def test_explain_and_report_tell_of_a_judge_that_fails(runs, tmp_path, capsys, command):
    named = ["--preset", "escalating", "--second-opinion", "judges:broken"]
    output = ["-o", str(tmp_path / "page.html")] if command == "report" else []
    main([command, *named, *output, runs(vain=VAIN[:5])])
    assert "no opinion on 1 of 1 question: PermissionError: no key" in capsys.readouterr().err
