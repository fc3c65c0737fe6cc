"""All runs on one screen: totals, filters, sorting, search, and few elements however many runs."""

import pytest
from report_pages import DISTINCT, REPEAT, cycle, press, run_of, wait_for_text

from antiloop import Role
from antiloop.formats import TextMessage
from antiloop.traces import RunEvent

SPENT = tuple(
    RunEvent("llm_call_completed", n, input_tokens=1000, output_tokens=10, cost=0.25)
    for n in range(6)
)
RUNS = [
    run_of(*cycle(1), run_id="fine", model="small"),
    run_of(*REPEAT, run_id="dear", events=SPENT, cost=1.5, model="large"),
    run_of(*[("ls", {}, "a")] * 20, run_id="long", model="large"),
    run_of(*cycle(5), run_id="cycle", agent="helper"),
    run_of(*cycle(1), run_id="failed", failed=True),
]


def names(page):
    return page.locator("#rows .id").all_inner_texts()


def test_the_runs_are_sorted_by_what_was_wasted(open_page):
    page = open_page(*RUNS)
    assert names(page) == ["dear", "cycle", "long", "failed", "fine"]
    page.locator(".sort", has_text="Wasted calls").click()
    assert names(page)[:2] == ["long", "cycle"]
    heads = page.locator("[aria-sort=descending]")
    assert heads.all_inner_texts() == ["Wasted calls"]
    page.locator(".sort", has_text="Wasted calls").click()
    assert names(page)[-1] == "long"
    assert page.locator("[aria-sort=ascending]").count() == 1
    page.locator(".sort", has_text="Run").click()
    assert names(page) == ["cycle", "dear", "failed", "fine", "long"]
    page.locator(".sort", has_text="Score").click()
    scores = [int(text) for text in page.locator("#rows .is-score").all_inner_texts()]
    assert scores == sorted(scores)


def test_the_totals_are_those_of_all_runs(open_page):
    page = open_page(*RUNS)
    values = dict(
        zip(
            page.locator("#totals dt").all_inner_texts(),
            page.locator("#totals dd").all_inner_texts(),
        )
    )
    assert values["runs"] == "5"
    assert values["with loops"] == "3 (60 %)"
    assert values["calls wasted"].startswith("32 (")
    assert values["tokens wasted"].startswith("\u2248 5,")
    assert values["cost wasted"] == "1.25 of 1.5"


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("status", "Failed", ["failed"]),
        ("tool", "ls", ["long"]),
        ("model", "large", ["dear", "long"]),
        ("detector", "ping_pong", ["cycle"]),
    ],
)
def test_a_filter_leaves_the_runs_over_that_match(open_page, name, value, left):
    page = open_page(*RUNS)
    page.locator(f"select[name={name}]").select_option(value)
    assert names(page) == left
    assert page.locator("#listed").inner_text() == f"{len(left)} of 5 runs"
    assert page.locator("#live").text_content() == f"{len(left)} of 5 runs"
    page.locator(f"select[name={name}]").select_option("")
    assert len(names(page)) == 5


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("HELPER", ["cycle"]),  # the agent's name
        ("no results", ["dear"]),  # a result
        ("cats", ["dear"]),  # arguments
        ("fine", ["fine"]),  # the name of the run
        ("<b>&amp; caf\u00e9", ["said"]),  # what was said
        ("plain-run", []),  # what only the page says
        ("the result of step", []),
    ],
)
def test_a_search_goes_through_all_runs(open_page, words, left):
    said = [TextMessage(Role.USER, "A <b>&amp; Caf\u00e9</b>", 0)]
    page = open_page(*RUNS, run_of(*cycle(1), run_id="said", messages=said))
    page.locator("#words").fill(words)
    wait_for_text(page, "#listed", f"{len(left)} of 6 runs")
    assert names(page) == left
    press(page, "Escape")
    wait_for_text(page, "#listed", "")
    assert len(names(page)) == 6


def test_a_run_that_was_found_opens_with_the_words_searched_in_it(open_page):
    page = open_page(*RUNS)
    page.locator("#words").fill("see b")
    note = "read \u00d7 5 laps \u00b7 found in its texts"
    wait_for_text(page, "#rows .run >> nth=0 >> .line .quiet", note)
    page.locator("#rows a").first.click()
    wait_for_text(page, "#run-id", "cycle")
    assert page.locator("#search").input_value() == "see b"
    assert page.locator("#steps .item").count() == 5


def test_a_row_shows_the_run_in_small(open_page):
    page = open_page(run_of(*DISTINCT[:6], *REPEAT), run_of(*DISTINCT))
    shapes = page.locator(".miniature").first.evaluate(
        "svg => [...svg.children].map((one) => [one.getAttribute('class'), one.getAttribute('d')])"
    )
    assert shapes == [["level-0", "M0 0.4h6v0.2h-6z"], ["level-3", "M6 0h6v1h-6z"]]


def test_thousands_of_runs_stay_light(open_page):
    runs = [run_of(("ls", {"n": n}, "a"), run_id=f"run{n:04}") for n in range(2000)]
    page = open_page(*runs)
    assert page.locator("#rows .run").count() < 60
    assert page.locator("#table").get_attribute("aria-rowcount") == "2001"
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.locator("#rows .id", has_text="run1999").wait_for()
    assert page.locator("#rows .run").count() < 60
    last = page.locator("#rows .run").last
    assert last.get_attribute("aria-rowindex") == "2001"
    page.locator("#words").fill("run1234")
    wait_for_text(page, "#listed", "1 of 2,000 runs")
    press(page, "Enter")
    assert page.evaluate("document.activeElement.textContent") == "run1234"
