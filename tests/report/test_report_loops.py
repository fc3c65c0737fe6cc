"""The loops of a run, their laps and what they cost: one card each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_pages import DISTINCT, REPEAT, cycle, run_of

from antiloop import health
from antiloop._text.masking import SECRETS
from antiloop.report._data import run_data
from antiloop.report._data.loops import Spending, loops_of
from antiloop.report._data.run_data import drawn
from antiloop.report._data.summary import entries_of
from antiloop.traces import RunEvent


def loops(*steps, **known):
    run = run_of(*steps, **known)
    return loops_of(run, health.evaluate(run).verdicts)


def cards(*steps, **known):
    run = run_of(*steps, **known)
    return drawn(run, health.evaluate(run)).data["loops"]


def test_a_loop_tells_its_tool_its_steps_and_what_it_wasted():
    (loop,) = loops(*DISTINCT[:4], *[("edit_file", {"path": "a"}, "no such text")] * 4)
    assert loop.label(SECRETS) == 'edit_file "a" \u00d7 4'
    assert loop.steps == (4, 5, 6, 7)
    assert loop.wasted == (5, 6, 7)
    assert loop.actions == [(6, "notify"), (7, "block")]


def test_what_several_detectors_find_about_the_same_calls_is_one_loop():
    one, other = ({"q": words} for words in ("cats dogs", "dogs cats"))
    queries = [one, one, one, other, one, other, other, one, other, one]
    (loop,) = loops(*[("search", query, "error: no such table") for query in queries])
    assert len(loop.detectors) > 1
    assert loop.label(SECRETS) == 'search "cats dogs" \u00d7 10'


def test_loops_apart_are_two_and_stand_in_the_order_of_the_run():
    found = loops(*REPEAT, *DISTINCT[:20], *[("ls", {}, "a")] * 5)
    assert [loop.label(SECRETS) for loop in found] == ['search "cats" \u00d7 6', "ls \u00d7 5"]


def test_a_row_of_failures_does_not_join_the_loops_that_it_spans():
    files = [("read_file", {"path": name}, f"# {name}") for name in ("returns.md", "shipping.md")]
    search = ("search", {"query": "refund window days"}, "No results.")
    found = loops(*files * 4, *[search] * 5)
    assert [loop.label(SECRETS) for loop in found] == [
        "read_file \u00d7 4 laps",
        'search "refund window days" \u00d7 5',
    ]
    assert "failure_streak" in [name for loop in found for name in loop.detectors]


def test_a_row_of_calls_of_several_loops_belongs_to_the_one_that_has_most_of_them():
    search = ("search", {"query": "cats"}, "No results.")
    read, other = (("read", {"path": name}, f"text of {name}") for name in "ab")
    found = loops(search, search, search, read, other, search, search, other, other, read, read)
    assert all(loop.steps for loop in found)
    assert "failure_streak" in [name for loop in found for name in loop.detectors]


def test_a_cycle_is_named_by_its_laps():
    (loop,) = loops(*cycle(5))
    assert loop.label(SECRETS) == "read \u00d7 5 laps"
    assert loop.period == 2


steps = st.lists(st.sampled_from([*REPEAT[:1], *DISTINCT[:2], *cycle(1)]), max_size=40)


@given(steps)
def test_every_verdict_is_of_one_loop_and_no_call_is_wasted_twice(calls):
    run = run_of(*calls)
    judged = health.evaluate(run)
    found = loops_of(run, judged.verdicts)
    assert sorted(step for loop in found for step, _ in loop.verdicts) == sorted(
        step for step, _ in judged.verdicts
    )
    wasted = [step for loop in found for step in loop.wasted]
    assert len(set(wasted)) == len(wasted) == judged.wasted_calls
    for loop in found:
        assert set(loop.wasted) <= set(loop.steps)


# ---- laps ----


def test_laps_of_a_cycle_are_numbered_and_compared():
    (card,) = cards(*cycle(4))
    assert [(number, steps) for number, steps, _, _ in card["laps"]] == [
        (1, [1, 2]),
        (2, [3, 4]),
        (3, [5, 6]),
        (4, [7, 8]),
    ]
    assert {(calls, results) for _, _, calls, results in card["laps"][1:]} == {
        ("the same", "the same")
    }


@pytest.mark.parametrize(
    ("results", "told"),
    [
        (["gone"] * 5, "the calls were the same; the results were the same."),
        ([None] * 5, "the calls were the same; the results are not known."),
        (
            [f'{{"request_id": "{n}f", "error": "gone"}}' for n in range(5)],
            "the calls were the same; the results were the same but for noise.",
        ),
    ],
)
def test_a_sentence_says_what_was_the_same_from_lap_to_lap(results, told):
    (card,) = cards(*[("get", {}, result) for result in results])
    assert card["summary"] == f"From lap to lap: {told}"


def test_calls_that_differ_are_told():
    (card,) = cards(*[("get", {"id": n}, "error: not found") for n in range(8)])
    assert card["summary"].startswith("From lap to lap: the calls differed every time;")


def test_very_many_laps_are_left_out_in_the_middle():
    (card,) = cards(*[("ls", {}, "a")] * 300)
    numbers = [number for number, *_ in card["laps"]]
    assert numbers == [*range(1, 51), *range(251, 301)]


# ---- what it cost ----


def test_tokens_and_money_of_the_wasted_calls_are_added_up():
    events = [
        RunEvent("llm_call_completed", n, input_tokens=100, output_tokens=n, cost=0.5)
        for n in range(6)
    ]
    (card,) = cards(*REPEAT, events=tuple(events))
    assert (card["wasted"], card["tokens"], card["is_estimate"]) == (5, 515, False)
    assert card["cost"] == 2.5


def test_where_no_tokens_are_recorded_they_are_estimated_from_the_length():
    (card,) = cards(*[("get", {"a": "x" * 393}, "y" * 400)] * 4)
    assert (card["tokens"], card["is_estimate"], card["cost"]) == (3 * 200 + 1, True, None)


@pytest.mark.parametrize("count", [0, 1, 9])
def test_what_a_run_spent_is_added_up_once_for_all_its_loops(count, monkeypatch):
    made = []
    monkeypatch.setattr(run_data, "Spending", lambda run: made.append(run) or Spending(run))
    found = cards(*[(f"t{n}", {}, "no") for n in range(count) for _ in range(4)])
    assert (len(found), len(made)) == (count, 1)


# ---- the score ----


@given(steps, st.booleans())
def test_the_score_is_that_of_health_100_less_its_lines(calls, failed):
    judged = health.evaluate(run_of(*calls, failed=failed))
    entries = entries_of(judged)
    assert judged.score == int(max(0, 100 + sum(points for _, points in entries)))
    assert all(points < 0 for _, points in entries)


# ---- on the page ----


def test_two_laps_stand_beside_each_other_with_what_differs_marked(open_page):
    results = [f"Error: attempt {n} was refused by host" for n in range(1, 9)]
    page = open_page(run_of(*[("connect", {"host": "a"}, result) for result in results]))
    page.locator("summary", has_text="Compare 8 laps").click()
    page.locator(".pair").first.wait_for()
    assert page.locator(".laps h5").all_inner_texts() == [
        "Call, the same in both",
        "Result, different",
    ]
    assert page.locator(".pair del").all_inner_texts() == ["7"]
    assert page.locator(".pair ins").all_inner_texts() == ["8"]
    assert page.locator(".pair .same").last.inner_text() == " was refused by host"
    page.locator(".laps select").first.select_option("0")
    assert page.locator(".pair del").all_inner_texts() == ["1"]


def test_a_long_equal_stretch_between_laps_is_left_out(open_page):
    texts = [f"{n} {'word ' * 400}{n}" for n in range(8)]
    page = open_page(run_of(*[("write", {"text": text}, "Error: disk full") for text in texts]))
    page.locator(".laps summary").first.click()
    page.locator(".pair").first.wait_for()
    same = page.locator(".pair .same i").all_inner_texts()
    assert same
    assert all(text.endswith("equal characters]") for text in same)


def test_a_card_shows_where_a_notice_a_block_and_a_stop_would_have_come(open_page):
    page = open_page(run_of(*DISTINCT[:4], *REPEAT))
    assert page.locator(".card .act").all_inner_texts() == [
        "notice at step 6",
        "block at step 7",
        "stop at step 8",
    ]
    pins = page.locator(".region .pin")
    assert pins.all_inner_texts() == ["notice", "block", "stop"]
    places = [pin.bounding_box()["x"] for pin in pins.all()]
    assert places == sorted(places)
    assert page.locator(".region").get_attribute("aria-label").endswith("suspicion up to 100 %")
    page.locator(".act", has_text="block").click()
    page.wait_for_selector("#step-7.current")


def test_the_score_unfolds_to_what_it_is_made_of(open_page):
    page = open_page(run_of(*REPEAT, DISTINCT[0]))
    page.locator("#score summary").click()
    lines = [line.split("\t") for line in page.locator(".ledger tr").all_inner_texts()]
    assert lines[0] == ["to begin with", "100"]
    points = [float(points) for _, points in lines if points]
    assert max(0, sum(points[:-1])) == points[-1]
    assert page.locator(".rule").count() == len(points) - 2


def test_very_long_laps_are_compared_line_by_line(open_page):
    lines = [f"one two three four five six seven {n}\n" for n in range(150)]
    texts = ["".join([f"first {n}\n", *lines, f"last {n}"]) for n in range(8)]
    page = open_page(run_of(*[("write", {"text": text}, "Error: disk full") for text in texts]))
    page.locator(".laps summary").first.click()
    assert page.locator(".pair ins").all_inner_texts() == ["text: first 7\n", "last 7"]
