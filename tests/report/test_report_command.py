"""``antiloop report``, as a person and as a script use it."""

import itertools
import json
import os
import re

import pytest
from report_pages import data_of

from antiloop import LoopDetector
from antiloop.cli import main
from antiloop.cli._commands import report
from antiloop.loop_detection import RepeatDetector


@pytest.fixture
def runs(tmp_path):
    """Write runs to a file, one for each ``run_id=count of equal calls``, and give its path."""

    def write(**counts):
        step = {"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py"}
        lines = [json.dumps({"run_id": name, "steps": [step] * n}) for name, n in counts.items()]
        path = tmp_path / "runs.jsonl"
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return write


@pytest.fixture
def page(tmp_path):
    return tmp_path / "report.html"


def test_a_run_that_is_stuck_is_1_and_told(runs, page, capsys):
    assert main(["report", runs(fine=1, stuck=9), "-o", str(page)]) == 1
    assert capsys.readouterr().out == f"{page}: 1 healthy, 1 likely stuck\n"
    assert page.read_bytes().startswith(b"<!doctype html>\n")
    assert [path.name for path in sorted(page.parent.iterdir())] == ["report.html", "runs.jsonl"]


@pytest.mark.parametrize("names", [*itertools.permutations(["fine", "stuck", "worse"])])
def test_the_totals_have_one_order_whatever_the_input(runs, page, capsys, names):
    counts = {"fine": 1, "stuck": 9, "worse": 7}
    main(["report", runs(**{name: counts[name] for name in names}), "-o", str(page)])
    assert capsys.readouterr().out == f"{page}: 1 healthy, 2 likely stuck\n"


def test_nothing_found_is_0(runs, page, capsys):
    assert main(["report", runs(fine=1), "--output", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}: 1 healthy\n"


def test_the_page_is_report_html_where_nothing_is_said(runs, page, monkeypatch):
    path = runs(fine=1)
    monkeypatch.chdir(page.parent)
    assert main(["report", path]) == 0
    assert page.exists()


def test_standard_output_is_a_dash(runs, page, capsys):
    path = runs(fine=1)
    main(["report", path, "-o", str(page)])
    capsys.readouterr()
    assert main(["report", path, "-o", "-"]) == 0
    assert capsys.readouterr().out == page.read_text()


def test_an_older_page_is_replaced(runs, page):
    page.write_text("old")
    main(["report", runs(fine=1), "-o", str(page)])
    assert page.read_text().endswith("</html>\n")


def test_a_file_that_cannot_be_read_is_2_and_the_others_are_drawn(runs, page, capsys):
    missing = str(page.parent / "missing")
    assert main(["report", missing, runs(fine=1), "-o", str(page)]) == 2
    out, err = capsys.readouterr()
    assert out == f"{page}: 1 healthy\n"
    assert err == f"antiloop: {missing}: No such file or directory\n"


@pytest.mark.parametrize("given", ["missing", ".", "notes"])
@pytest.mark.parametrize("output", ["report.html", "-"])
def test_where_no_run_is_read_nothing_is_written(given, output, page, capsys, monkeypatch):
    page.write_text("good")
    (page.parent / "notes").write_text("no JSON\n")
    monkeypatch.chdir(page.parent)
    assert main(["report", given, "-o", output]) == 2
    out, err = capsys.readouterr()
    assert (out, page.read_text()) == ("", "good")
    assert err.endswith(f"antiloop: {output}: not written because there are no runs to show\n")
    assert sorted(path.name for path in page.parent.iterdir()) == ["notes", "report.html"]


def test_a_page_that_is_a_link_to_somewhere_else_is_refused(runs, page, tmp_path, capsys):
    shipped = tmp_path / "repository" / "report.html"
    shipped.parent.mkdir()
    page.write_text("precious")
    shipped.symlink_to(page)
    assert main(["report", runs(fine=1), "-o", str(shipped)]) == 2
    assert page.read_text() == "precious"
    told = f"antiloop: {shipped}: a link to {page}; name that file instead\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("where", ["none/report.html", "."])
def test_a_page_that_cannot_be_written_is_2(runs, tmp_path, capsys, where):
    where = str(tmp_path / where)
    assert main(["report", runs(fine=1), "-o", where]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"antiloop: {where}: ")


def test_a_setting_that_makes_no_sense_is_2(runs, page, capsys, monkeypatch):
    monkeypatch.setenv("ANTILOOP_COST_BUDGET", "much")
    assert main(["report", runs(fine=1), "-o", str(page)]) == 2
    assert "ANTILOOP_COST_BUDGET" in capsys.readouterr().err
    assert not page.exists()


def test_who_looks_can_be_chosen_as_for_a_scan(runs, page, capsys):
    path = runs(often=2)
    assert main(["report", path, "-o", str(page), "--preset", "literal"]) == 0
    config = page.with_suffix(".json")
    config.write_text(json.dumps(LoopDetector([RepeatDetector(2)]).to_config()))
    assert main(["report", path, "-o", str(page), "--config", str(config)]) == 1
    assert "2 times in a row" in page.read_text()


def test_an_interruption_leaves_the_older_page_and_no_part(runs, page, monkeypatch):
    page.write_text("old")
    path = runs(fine=1)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "_parts", lambda *_: iter(interrupted, None))
    assert main(["report", path, "-o", str(page)]) == 130
    assert page.read_text() == "old"
    assert len(list(page.parent.iterdir())) == 2


def test_a_closed_pipe_is_141(runs, monkeypatch, capfd):
    def cut_off(*_):
        raise BrokenPipeError

    monkeypatch.setattr(report, "_parts", lambda *_: iter(cut_off, None))
    monkeypatch.setattr("os.dup2", lambda *_: None)
    assert main(["report", runs(fine=1), "-o", "-"]) == 141


def test_a_device_is_written_to_and_not_replaced(runs, tmp_path):
    assert main(["report", runs(fine=1), "-o", os.devnull]) == 0
    assert not os.path.isfile(os.devnull)


def test_help_ends_with_an_example(capsys):
    with pytest.raises(SystemExit):
        main(["report", "--help"])
    example = "antiloop report docs/examples/runs.jsonl -o report.html\n"
    assert capsys.readouterr().out.endswith(example)


def test_prices_say_what_the_loops_of_the_page_cost(page, tmp_path):
    lines = []
    for number in range(4):
        reply = {"type": "llm_call_completed", "model": "small", "tokens": {"input": 100_000}}
        call = {"tool": "ls", "input": {}, "call_id": str(number)}
        begun = {**call, "type": "tool_call_started"}
        done = {**call, "type": "tool_call_completed", "output": "a.py"}
        lines += [json.dumps({"run_id": "a", **each}) for each in (reply, begun, done)]
    (tmp_path / "events.jsonl").write_text("\n".join(lines), "utf-8")
    price = {"small": {"input_cost_per_token": 1e-5, "output_cost_per_token": 1e-5}}
    (tmp_path / "prices.json").write_text(json.dumps(price), "utf-8")
    command = ["report", str(tmp_path / "events.jsonl"), "-o", str(page)]
    main([*command, "--prices", str(tmp_path / "prices.json")])
    (about,) = data_of(page.read_text("utf-8"), "index")
    assert (about["cost"], about["wasted_cost"]) == (pytest.approx(4), pytest.approx(3))


def texts_in(page):
    return [name for name in ("fine", "stuck") if f'"{name}"' in page.read_text()], [
        number for number in (0, 1) if f'id="plain-{number}"' in page.read_text()
    ]


@pytest.mark.parametrize(
    ("only", "kept"), [("all", [0, 1]), ("warning", [1]), ("stuck", [1]), (None, [0, 1])]
)
def test_every_run_has_a_line_and_the_chosen_ones_their_texts(runs, page, only, kept):
    options = ["--only", only] if only else []
    main(["report", runs(fine=1, stuck=9), "-o", str(page), *options])
    assert texts_in(page) == (["fine", "stuck"], kept)
    assert ("The texts of 1 run" in page.read_text()) is (len(kept) < 2)


def test_of_a_large_archive_healthy_runs_keep_their_line_only(runs, page, monkeypatch):
    monkeypatch.setattr(report, "_SMALL", 100)
    main(["report", runs(fine=1, stuck=9), "-o", str(page)])
    assert texts_in(page) == (["fine", "stuck"], [1])


def test_where_there_is_no_room_for_all_texts_the_worst_runs_keep_theirs(runs, page, monkeypatch):
    path = runs(stuck=9, stuck2=12, stuck3=20)
    main(["report", path, "-o", str(page), "--only", "stuck"])
    blocks = re.findall(
        r"<script type=.application/json. id=.data-.*?</noscript>\n", page.read_text(), re.S
    )
    monkeypatch.setattr(report, "_ROOM", len(blocks[2]) + len(blocks[1]))
    main(["report", path, "-o", str(page), "--only", "stuck"])
    kept = re.findall(r"id=.plain-(\d)", page.read_text())
    assert kept == ["1", "2"]  # all score 0, and these wasted more
    assert '"has_text":false' in page.read_text()


def test_other_processes_make_the_same_page(runs, page):
    path = runs(**{f"run{number}": number % 9 for number in range(40)})
    main(["report", path, "-o", str(page)])
    alone = page.read_bytes()
    main(["report", path, "-o", str(page), "--jobs", "2"])
    assert page.read_bytes() == alone
