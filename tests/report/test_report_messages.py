"""What was said in a run, on the page."""

import json

import pytest
from report_pages import current_of, press, run_of, wait_for_text

from antiloop import Role, health
from antiloop.formats import TextMessage
from antiloop.report._data.run_data import TEXT_LIMITS, drawn

LONG = "I have looked at this file for a long time. " * 20
SAID = (
    TextMessage(Role.SYSTEM, "You are a careful agent. " * 20, 0),
    TextMessage(Role.USER, "<b>Mend</b> it, password=hunter2", 0),
    TextMessage(Role.ASSISTANT, LONG, 1),
    TextMessage(Role.ASSISTANT, "Done.\u202e", 2),
)
STEPS = [("ls", {}, "a"), ("cat", {"path": "a"}, "b")]


def test_what_was_said_is_masked_and_has_its_place():
    run = run_of(*STEPS, messages=SAID)
    picture = drawn(run, health.evaluate(run))
    messages = picture.data["messages"]
    assert [(one["position"], one["role"]) for one in messages] == [
        (0, "system"),
        (0, "user"),
        (1, "assistant"),
        (2, "assistant"),
    ]
    assert "hunter2" not in str(picture)
    assert picture.texts[messages[1]["text"]] == "<b>Mend</b> it, password=***"


def test_very_long_words_are_shortened():
    words = "word " * TEXT_LIMITS[0]
    run = run_of(*STEPS, messages=[TextMessage(Role.ASSISTANT, words, 1)])
    picture = drawn(run, health.evaluate(run))
    number = picture.data["messages"][0]["text"]
    assert len(picture.texts[number]) <= TEXT_LIMITS[0]
    assert picture.data["cut"] == {str(number): len(words)}


def rows_of(page):
    return [row.get_attribute("id") for row in page.locator("#steps .item").all()]


def test_what_was_said_stands_in_its_place_among_the_calls(open_page):
    page = open_page(run_of(*STEPS, messages=SAID))
    assert rows_of(page) == ["said-0", "said-1", "step-0", "said-2", "step-1", "said-3"]
    assert page.locator("#said-1").inner_text().split("\n") == [
        "User",
        "<b>Mend</b> it, password=***",
    ]
    assert "Done.\\u202e" in page.locator("#said-3").inner_text()


def test_long_words_are_folded_and_opened_with_a_click(open_page):
    page = open_page(run_of(*STEPS, messages=SAID))
    assert page.locator("#said-2 .row").bounding_box()["height"] < 100
    assert page.locator("#said-0 .row").bounding_box()["height"] < 50
    page.locator("#said-2 .row").click()
    assert page.locator("#said-2 pre").inner_text().strip() == LONG.strip()
    page.locator("#said-2 .row").click()
    assert page.locator("#said-2 pre").count() == 0


def test_words_are_walked_searched_and_linked_like_calls(open_page):
    page = open_page(run_of(*STEPS, messages=SAID), at="#run-0-said-2")
    assert current_of(page) == "said-2"
    press(page, "j", "j")
    page.wait_for_url(lambda url: url.endswith("#run-0-said-3"))
    page.locator("#search").fill("looked AT")
    wait_for_text(page, "#found", "1 of 6 rows")
    assert rows_of(page) == ["said-2"]
    assert page.locator("#said-2 pre mark").first.inner_text() == "looked at"


def test_a_run_of_words_alone_shows_them(open_page):
    page = open_page(run_of(messages=[TextMessage(Role.ASSISTANT, "I will look.", 0)] * 3))
    assert page.locator("#steps").inner_text().count("I will look.") == 3
    assert page.locator("#loops h4").inner_text().startswith("monologue")


# ---- thoughts ----

PLAN = "<i>First</i> I look, password=hunter2, then I write. " * 10
THOUGHT = (
    TextMessage(Role.ASSISTANT, "Let me look.", 0),
    TextMessage(Role.ASSISTANT, PLAN, 1, is_thought=True),
    TextMessage(Role.ASSISTANT, "Done.", 2),
)


def test_thoughts_are_folded_in_their_place_and_opened_with_a_click(open_page):
    page = open_page(run_of(*STEPS, messages=THOUGHT))
    assert rows_of(page) == ["said-0", "step-0", "said-1", "step-1", "said-2"]
    assert page.locator(".speaker").all_inner_texts() == ["Model", "Thoughts", "Model"]
    label = page.locator("#said-1 .speaker")
    assert label.evaluate("cell => cell.scrollWidth <= cell.clientWidth")
    folded = page.locator("#said-1 .row")
    assert folded.bounding_box()["height"] < 50
    assert folded.locator(".notes").inner_text() == f"{len(PLAN) - 50} characters"
    folded.click()
    shown = page.locator("#said-1 pre").inner_text()
    assert shown.startswith("<i>First</i> I look, password=*** then")
    assert page.locator("#said-1 i").count() == 0
    folded.click()
    assert page.locator("#said-1 pre").count() == 0


def test_thoughts_are_searched_as_what_was_said(open_page):
    page = open_page(run_of(*STEPS, messages=THOUGHT))
    page.locator("#search").fill("then I write")
    wait_for_text(page, "#found", "1 of 5 rows")
    assert rows_of(page) == ["said-1"]
    assert page.locator("#said-1 mark").first.inner_text() == "then I write"


def test_all_runs_are_searched_for_thoughts(open_page):
    page = open_page(run_of(*STEPS, messages=THOUGHT), run_of(*STEPS, run_id="other"))
    page.locator("#words").fill("then I write")
    wait_for_text(page, "#listed", "1 of 2 runs")


def test_printed_thoughts_are_not_clamped(open_page):
    page = open_page(run_of(*STEPS, messages=THOUGHT))
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    words = page.locator("#said-1 .words")
    assert words.evaluate("cell => cell.scrollHeight <= cell.clientHeight + 1")
    assert words.bounding_box()["height"] > 30


# ---- how a text is shown ----

RECORDS = '[{"id": 1, "name": "<b>a</b>"}, {"id": 2, "name": null}]'
DIFF = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+<i>new</i>"


@pytest.mark.parametrize(
    ("result", "cells"),
    [
        (RECORDS, ["id", "name", "1", "<b>a</b>", "2", ""]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["a", "b", "1", "2"]),
        ("a\tb\n1\t2\n3\t4", ["a", "b", "1", "2", "3", "4"]),
        ("a,b\n1,2\n3,4", ["a", "b", "1", "2", "3", "4"]),
    ],
)
def test_a_table_is_shown_as_one_and_as_it_was_recorded(open_page, result, cells):
    page = open_page(run_of(("query", {}, result)), at="#run-0-step-0")
    assert page.locator(".table :is(th, td)").all_inner_texts() == cells
    page.locator("summary", has_text="As recorded").click()
    assert page.locator(".raw pre").inner_text() == result


@pytest.mark.parametrize(
    "result",
    ["one, two, and\nthree, four, or\nfive, six, so", "a | b\nc", "[1, 2]", '{"a": ', "a,b\n1,2"],
)
def test_what_is_no_table_is_shown_as_it_is(open_page, result):
    page = open_page(run_of(("query", {}, result)), at="#run-0-step-0")
    assert page.locator(".table").count() == 0
    assert page.locator("#step-0 pre").last.inner_text() == result


def test_a_diff_shows_what_was_added_and_removed(open_page):
    page = open_page(run_of(("diff", {}, DIFF)), at="#run-0-step-0")
    assert page.locator(".diff .added").all_inner_texts() == ["+<i>new</i>"]
    assert page.locator(".diff .removed").all_inner_texts() == ["-old"]
    assert page.locator(".diff").inner_text() == DIFF


def test_json_is_laid_out_and_what_is_searched_is_marked_in_it(open_page):
    deep = {"outer": {"inner": [1, 2]}, "text": "x" * 80}
    step = ("call", {"body": deep, "n": 1}, json.dumps(deep))
    page = open_page(run_of(step), at="#run-0-step-0")
    call, result = page.locator("pre.json").all_inner_texts()
    assert call.startswith('body: {\n  "outer": {')
    assert call.endswith("n: 1")
    assert '\n    "inner": [' in result
    page.locator("#search").fill("inner")
    wait_for_text(page, "#found", "1 of 1 row")
    press(page, "Enter", "Enter")
    assert page.locator("pre.json mark").count() == 2
