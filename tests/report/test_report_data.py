"""What of a run is in the page."""

import io
import json
import re

import pytest
from report_pages import cycle, data_of, run_of, write_report

from antiloop import ToolCall, health, report
from antiloop.report.run_data import RUN_BUDGET, TEXT_LIMITS, run_data, summary
from antiloop.traces import RecordedRun


def data(*steps, **known):
    run = run_of(*steps, **known)
    return run_data(run, health.evaluate(run))


def test_equal_calls_and_results_are_written_once():
    drawn = data(*cycle(3))
    assert [call["text"] for call in drawn["calls"]] == [
        *("path: .", "path: a.md", "path: b.md", "who: me")
    ]
    assert [call["mark"] for call in drawn["calls"]] == ["", "A", "B", ""]
    assert [call for call, *_ in drawn["steps"]] == [0, 1, 2, 1, 2, 1, 2, 3]
    assert len(drawn["results"]) == 4


def test_a_step_is_seen_where_the_same_call_brought_nothing_else():
    assert [step[3] for step in data(*cycle(2))["steps"]] == [0, 0, 0, 1, 1, 0]


def test_polling_brings_something_new_each_time():
    polls = [("status", {}, f"{share} % done") for share in (0, 20, 20, 60)]
    assert [step[3] for step in data(*polls)["steps"]] == [0, 0, 1, 0]


def test_noise_in_a_result_is_nothing_new():
    noisy = [("get", {}, f'{{"request_id": "{number}f", "error": "gone"}}') for number in "12"]
    drawn = data(*noisy)
    assert [step[3] for step in drawn["steps"]] == [0, 1]
    assert len(drawn["results"]) == 2


def test_a_result_that_is_not_known_has_no_number():
    assert data(("ls", {}, None), ("ls", {}, None))["steps"] == [[0, -1, 0, 0], [0, -1, 0, 1]]


def test_laps_of_a_cycle_are_numbered():
    assert data(*cycle(4))["laps"] == [(1, 1), (3, 2), (5, 3), (7, 4)]


def test_a_repeat_has_no_laps():
    assert data(*[("ls", {}, "a")] * 5)["laps"] == []


def test_loops_come_before_what_the_rules_make_of_them_each_by_the_step_to_blame():
    warnings = data(*[("ls", {}, "a")] * 5, *cycle(5))["warnings"]
    found = [(not each["name"].startswith("loop_"), each["step"]) for each in warnings]
    assert found == sorted(found)
    assert found[0] < (True, 0) < found[-1]
    assert warnings[0].keys() == {
        *("name", "message", "why", "suggestion", "penalty", "step", "steps", "is_open")
    }


def test_rounds_and_turns_are_kept():
    calls = tuple(ToolCall("ls", {"n": n}, round=n // 2) for n in range(4))
    run = RecordedRun("r", calls, (None,) * 4, turn_starts=(2,))
    drawn = run_data(run, health.evaluate(run))
    assert (drawn["rounds"], drawn["turns"]) == ([0, 2], [2])


def test_a_run_without_calls_can_be_drawn():
    drawn = data()
    assert (drawn["steps"], drawn["calls"], drawn["lanes"]) == ([], [], 1)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"path": "a", "n": 1, "deep": {"b": [None]}}, 'path: a\nn: 1\ndeep: {"b":[null]}'),
        ('{"path": "a"}', "path: a"),
        ("ls -l", "ls -l"),
        ("[1, 2]", "[1,2]"),
        (None, ""),
    ],
)
def test_arguments_are_written_for_a_person(arguments, shown):
    assert data(("t", arguments, "ok"))["calls"][0]["text"] == shown


def test_a_long_text_is_shortened_and_its_length_is_told():
    result = data(("read", {}, "x" * 10_000))["results"][0]
    assert len(result["text"]) <= TEXT_LIMITS[0]
    assert result["length"] == 10_000


@pytest.mark.parametrize(("count", "limit"), [(200, 0), (900, 1), (3000, 2)])
def test_larger_runs_keep_less_of_each_text(count, limit):
    drawn = data(*[("read", {"n": number}, f"{number} " * 2500) for number in range(count)])
    lengths = {len(result["text"]) for result in drawn["results"]}
    assert max(lengths) <= TEXT_LIMITS[limit]
    assert max(lengths) > TEXT_LIMITS[limit] - 4
    assert limit == 2 or sum(len(result["text"]) for result in drawn["results"]) <= RUN_BUDGET


def test_the_summary_holds_what_is_known_of_the_run():
    run = run_of(
        *cycle(1), run_id="a", source="f:1", agent="me", model="m", input_tokens=5, cost=0.5
    )
    told = summary(run, health.evaluate(run), 7)
    assert (told["id"], told["number"], told["status"], told["score"]) == ("a", 7, "Healthy", 100)
    assert (told["agent"], told["model"], told["input_tokens"]) == ("me", "m", 5)
    assert (told["cost"], told["output_tokens"]) == (0.5, None)


def test_a_cost_that_is_no_number_does_not_break_the_page():
    judged = health.HealthReport(100, health.HealthStatus.HEALTHY, cost=float("inf"))
    assert summary(run_of(), judged, 0)["cost"] is None


def test_the_worst_run_comes_first_and_equals_keep_their_order(tmp_path):
    stuck = run_of(*[("ls", {}, "a")] * 9, run_id="stuck")
    fine = [run_of(("ls", {}, "a"), run_id=f"fine{number}") for number in range(3)]
    page = write_report(tmp_path / "r.html", *fine, stuck).read_text()
    assert [one["id"] for one in data_of(page, "index")] == ["stuck", "fine0", "fine1", "fine2"]
    assert len(data_of(page, "data-3")["steps"]) == 9


def test_a_run_that_failed_comes_before_the_healthy_ones(tmp_path):
    runs = run_of(("ls", {}, "a"), run_id="fine"), run_of(("ls", {}, "a"), run_id="x", failed=True)
    page = write_report(tmp_path / "r.html", *runs).read_text()
    assert [one["id"] for one in data_of(page, "index")] == ["x", "fine"]


def test_the_same_runs_make_the_same_bytes(tmp_path):
    runs = [run_of(*cycle(4)), run_of(("käse", {"a": {1, 2, "x"}}, "\ud800"))]
    one, other = (write_report(tmp_path / name, *runs).read_bytes() for name in "ab")
    assert one == other
    assert one.isascii()


EVIL = "</script><script>alert(1)</script><!--<script>&amp;\u2028\u2029\x00\ud800"


def test_no_byte_of_a_trace_can_end_its_block():
    run = run_of((EVIL, {EVIL: EVIL}, EVIL), run_id=EVIL, agent=EVIL, model=EVIL, source=EVIL)
    page, without = io.StringIO(), io.StringIO()
    report.write_page([(run, health.evaluate(run))], page)
    report.write_page([(run_of(), health.evaluate(run_of()))], without)
    tags = re.compile(r"[<>&]")
    blocks = [len(tags.findall(text.getvalue())) for text in (page, without)]
    assert blocks[0] == blocks[1]
    assert data_of(page.getvalue(), "data-0")["calls"][0]["tool"] == EVIL
    assert data_of(page.getvalue(), "index")[0]["id"] == EVIL


def test_the_page_names_no_other_file_and_allows_none():
    page = io.StringIO()
    report.write_page([], page)
    text = page.getvalue()
    assert "default-src 'none'" in text
    assert not re.search(r"\b(src|href)=|url\(|@import|https?:(?!//www.w3.org/2000/svg)", text)
    assert text.count("</script>") == 2  # the list of runs, and the script
    assert json.loads(text.partition('id="index">')[2].partition("<")[0]) == []
