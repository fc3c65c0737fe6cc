"""When runs were and how long they took; equal loops over runs; an address for each view."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_pages import (
    REPEAT,
    cycle,
    data_of,
    press,
    run_of,
    wait_for_text,
    wait_until,
    write_report,
)

from antiloop import ToolCall
from antiloop.report._data.moments import length_of, moments_of
from antiloop.traces import RunEvent
from antiloop.types import ToolResult

DAY_S = 86_400
BEGAN_S = 1_700_000_000  # 2023-11-14 22:13:20 UTC


def timed(run, began_s=BEGAN_S, took_s=2.0, gap_s=10.0):
    """Give the calls of a run times: one every so many seconds."""
    calls = [
        replace(call, started_at=began_s + gap_s * step) for step, call in enumerate(run.calls)
    ]
    results = [replace(result, duration_s=took_s) for result in run.results]
    return replace(run, calls=tuple(calls), results=tuple(results))


RUNS = [
    timed(run_of(*REPEAT, run_id="first", agent="builder", model="large")),
    timed(run_of(*REPEAT, run_id="second", agent="helper"), BEGAN_S + DAY_S),
    timed(run_of(*cycle(5), run_id="third", agent="helper"), BEGAN_S + 2 * DAY_S),
    run_of(*REPEAT, run_id="timeless", agent="builder"),
]


def names(page):
    return page.locator("#rows .id").all_inner_texts()


def test_a_run_tells_when_it_began_and_how_long_its_steps_took(open_page):
    page = open_page(RUNS[0])
    figures = page.locator("#about dl").inner_text()
    assert "2023-11-14 22:13" in figures
    assert "52 s" in figures
    assert page.locator(".took").all_inner_texts() == ["2 s"] * 6
    assert "22:13:20 for 52 s" in page.locator(".card h4").inner_text()
    page.locator("#step-2 .row").click()
    assert "Called at 2023-11-14 22:13:40 UTC, took 2 s" in page.locator("#step-2").inner_text()


def test_a_run_without_times_says_nothing_of_them(open_page):
    page = open_page(RUNS[3])
    assert "began" not in page.locator("#about").inner_text()
    page.locator("#step-2 .row").click()
    assert "took" not in page.locator("#step-2").inner_text()
    assert page.locator(".took").count() == 0


@pytest.mark.parametrize(
    ("since", "until", "left"),
    [
        ("2023-11-15", "", ["third", "second"]),
        ("", "2023-11-15", ["first", "second"]),
        ("2023-11-15", "2023-11-15", ["second"]),
    ],
)
def test_days_leave_the_runs_over_that_began_then(open_page, since, until, left):
    page = open_page(*RUNS)
    for name, day in (("since", since), ("until", until)):
        page.locator(f"input[name={name}]").fill(day)
    assert sorted(names(page)) == sorted(left)


def test_runs_are_filtered_by_agent_and_sorted_by_their_beginning(open_page):
    page = open_page(*RUNS)
    page.locator("select[name=agent]").select_option("helper")
    page.locator(".sort", has_text="Began").click()
    assert names(page) == ["third", "second"]
    began = page.locator(".run .is-began").all_inner_texts()
    assert began == ["2023-11-16 22:13", "2023-11-15 22:13"]


def test_the_address_holds_filter_sort_and_search(open_page):
    page = open_page(*RUNS)
    page.locator("select[name=agent]").select_option("helper")
    page.locator(".sort", has_text="Run").click()
    page.locator(".sort", has_text="Run").click()
    page.locator("#words").fill("cats")
    wait_for_text(page, "#listed", "1 of 4 runs")
    address = page.url
    assert address.endswith("#list?agent=helper&sort=run&turned=1&search=cats")
    page.reload()
    wait_for_text(page, "#listed", "1 of 4 runs")
    assert names(page) == ["second"]
    assert page.locator("#words").input_value() == "cats"
    assert page.locator("select[name=agent]").input_value() == "helper"
    assert page.locator("[aria-sort=descending]").inner_text() == "Run"
    page.locator("#rows a").first.click()
    wait_for_text(page, "#run-id", "second")
    press(page, "Escape", "Escape")
    wait_until(page, "!document.getElementById('overview').hidden")
    assert names(page) == ["second"]
    assert page.url == address


def test_an_address_that_is_wrong_shows_all_runs(open_page):
    page = open_page(*RUNS)
    page.goto(
        page.url.partition("#")[0] + "#list?agent=nobody&sort=%00&since=x%F&turned=2&loop=<b>"
    )
    page.reload()
    assert len(names(page)) == 4
    assert page.locator("#filters input[name=since]").input_value() == ""


def test_equal_loops_of_several_runs_are_one_group(open_page):
    page = open_page(*RUNS)
    assert page.locator("#groups li").count() == 1
    assert page.locator("#groups li").inner_text().startswith("3 runs")
    assert 'search "cats"' in page.locator("#groups").inner_text()
    page.locator("#groups a").click()
    wait_for_text(page, "#listed", "3 of 4 runs")
    assert sorted(names(page)) == ["first", "second", "timeless"]
    page.locator("#rows a").first.click()
    page.locator(".card .same").click()
    wait_for_text(page, "#listed", "3 of 4 runs")
    assert page.locator("select[name=loop] option").all_inner_texts() == [
        "any loop",
        'search "cats" (3 runs)',
    ]


def test_the_plain_page_has_times_and_groups_too(tmp_path):
    page = write_report(tmp_path / "report.html", *RUNS).read_text("ascii")
    assert "<li>search &quot;cats&quot;: 3 runs, 15 calls wasted in them</li>" in page
    assert "began 2023-11-14 22:13 UTC, took 52 s" in page
    rows = data_of(page, "index")
    assert {row["id"]: row["began_s"] for row in rows}["timeless"] is None


TIMES = st.none() | st.floats() | st.integers(-(10**20), 10**20) | st.text() | st.booleans()


@given(st.lists(st.tuples(TIMES, TIMES), max_size=5), st.lists(st.tuples(TIMES, TIMES), max_size=5))
def test_whatever_a_recording_has_for_a_time_is_shown_or_left_out(steps, events):
    run = replace(
        run_of(*[("ls", {}, "a")] * len(steps)),
        calls=tuple(ToolCall("ls", started_at=at) for at, _ in steps),
        results=tuple(ToolResult("a", duration_s=took) for _, took in steps),
        events=tuple(
            RunEvent("tool_call_completed", step, time_s=at, latency_ms=took)
            for step, (at, took) in enumerate(events)
            if not isinstance(took, str)
        ),
    )
    times = moments_of(run)
    json.dumps(times, allow_nan=False)
    assert len(times.steps) == len(steps)
    assert (times.began_s is None) == (times.took_s is None)
    for at, took in times.steps:
        assert at is None or at >= 0
        assert took is None or took >= 0
    length_of(times.took_s)
