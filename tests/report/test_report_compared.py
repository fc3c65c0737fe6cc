"""Two scans side by side: better, worse, the same, new, gone."""

import io
import json

import pytest
from report_pages import REPEAT, cycle, data_of, judged, press, run_of, wait_for_text

from antiloop import report
from antiloop.cli import main


def changes_of(ours, others):
    page = io.StringIO()
    counts = report.write_page(judged(ours), page, against=judged(others))
    rows = [one for one in data_of(page.getvalue(), "index") if one["side"] == "a"]
    gone = [one for one in data_of(page.getvalue(), "index") if one["change"] == "gone"]
    return counts, {one["id"]: one["change"] for one in [*rows, *gone]}


FINE, STUCK, WORSE = cycle(1), REPEAT, REPEAT * 3


def test_runs_with_the_same_id_are_better_worse_or_the_same():
    ours = [run_of(*FINE, run_id="a"), run_of(*WORSE, run_id="b"), run_of(*STUCK, run_id="c")]
    others = [run_of(*STUCK, run_id=name) for name in "abc"]
    assert changes_of(ours, others) == (
        {"worse": 1, "better": 1, "same": 1},
        {"a": "better", "b": "worse", "c": "same"},
    )


def test_runs_of_one_side_only_are_new_or_gone():
    ours, others = [run_of(*FINE, run_id="a")], [run_of(*FINE, run_id="b")]
    assert changes_of(ours, others) == ({"new": 1, "gone": 1}, {"a": "new", "b": "gone"})


def test_an_id_that_comes_several_times_is_paired_in_its_order():
    ours = [run_of(*steps, run_id="a") for steps in (FINE, STUCK)]
    page = io.StringIO()
    report.write_page(judged(ours), page, against=judged([*reversed(ours), ours[0]]))
    rows = {one["number"]: one for one in data_of(page.getvalue(), "index")}
    assert [rows[number].get("other") for number in range(5)] == [2, 3, 0, 1, None]
    assert [rows[number]["change"] for number in range(5)] == [
        *("better", "worse", "better", "worse", "gone")
    ]


def test_without_others_nothing_is_compared():
    page = io.StringIO()
    assert report.write_page(judged([run_of(*STUCK)]), page) == {}
    assert "change" not in data_of(page.getvalue(), "index")[0]


# ---- the command ----


def recorded(path, **counts):
    step = {"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py"}
    lines = [json.dumps({"run_id": name, "steps": [step] * n}) for name, n in counts.items()]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_the_command_says_what_changed_and_its_status_is_that_of_now(tmp_path, capsys):
    now = recorded(tmp_path / "now.jsonl", a=1, b=1, c=1)
    before = recorded(tmp_path / "before.jsonl", a=9, b=1, d=9)
    page = tmp_path / "ab.html"
    assert main(["report", now, "-o", str(page), "--against", before]) == 0
    out = capsys.readouterr().out
    assert out == f"{page}: 3 healthy; 1 better, 1 same, 1 new, 1 gone\n"
    assert main(["report", before, "-o", str(page), "--against", now]) == 1


def test_what_is_compared_with_must_be_there(tmp_path, capsys):
    now, missing = recorded(tmp_path / "now.jsonl", a=1), str(tmp_path / "missing")
    page = tmp_path / "p"
    page.write_text("the older page", "utf-8")
    assert main(["report", now, "-o", str(page), "--against", missing]) == 2
    assert capsys.readouterr().err == (
        f"antiloop: {missing}: No such file or directory\n"
        f"antiloop: {page}: not written because there are no earlier runs to compare with\n"
    )
    assert page.read_text("utf-8") == "the older page"


# ---- the page ----


def test_the_overview_tells_changes_and_can_be_filtered_by_them(open_page):
    ours = [run_of(*FINE, run_id="a"), run_of(*WORSE, run_id="b"), run_of(*STUCK, run_id="c")]
    others = [run_of(*STUCK, run_id=name) for name in "abd"]
    page = open_page(*ours, against=others)
    names = page.locator("#rows .id").all_inner_texts()
    assert names == ["b", "c", "a", "d"]
    told = page.locator("#rows .change").all_inner_texts()
    assert told == ["worse: 5 \u2192 17", "new", "better: 5 \u2192 0", "gone"]
    assert "against 3" in page.locator("#totals").inner_text()
    page.locator("select[name=change]").select_option("better")
    wait_for_text(page, "#listed", "1 of 4 runs")
    assert page.locator("#rows .id").all_inner_texts() == ["a"]


def test_a_run_stands_beside_the_one_before_and_leads_to_it(open_page):
    page = open_page(
        run_of(*FINE, run_id="a"),
        run_of(*FINE, run_id="b"),
        against=[run_of(*STUCK, run_id="a"), run_of(*FINE, run_id="b")],
        at="#run-0",
    )
    before, now = page.locator(".beside > div").all_inner_texts()
    assert "Likely stuck" in before
    assert 'search "cats" \u00d7 6' in before
    assert "Healthy" in now
    page.locator(".beside a").click()
    page.wait_for_url(lambda url: url.endswith("#run-2"))
    page.wait_for_selector(".is-likely-stuck:visible >> nth=0")
    assert page.locator("#loops h4").count() == 1
    press(page, "Escape")
    page.wait_for_selector("#overview:not([hidden])")


@pytest.mark.parametrize(("at", "width", "scheme"), [("", 1280, "dark"), ("#run-0", 360, "light")])
def test_axe_finds_nothing_where_runs_are_compared(open_page, at, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="extra 'browser'")
    ours = [run_of(*WORSE, run_id="a"), run_of(*FINE, run_id="b")]
    others = [run_of(*STUCK, run_id="a"), run_of(*FINE, run_id="c")]
    page = open_page(*ours, against=others, at=at, width=width, scheme=scheme)
    found = axe.Axe().run(page).response
    assert len(found["passes"]) > 15
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
