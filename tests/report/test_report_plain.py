"""The page without scripts, and on paper: the same content, rendered by Python."""

import pytest
from report_pages import DISTINCT, REPEAT, cycle, run_of, write_report

from antiloop import Role
from antiloop.formats import TextMessage

SAID = (
    TextMessage(Role.USER, "<b>Find</b> the cats.", 0),
    TextMessage(Role.ASSISTANT, "<i>Or</i> dogs? password=hunter2", 6, is_thought=True),
    TextMessage(Role.ASSISTANT, "Done.", 7),
)
RUNS = [run_of(*REPEAT, DISTINCT[0], run_id="stuck<i>", messages=SAID), run_of(*cycle(1))]


@pytest.fixture(scope="module")
def plain(browser, tmp_path_factory):
    """Open the page in a browser that runs no scripts."""
    path = write_report(tmp_path_factory.mktemp("plain") / "report.html", *RUNS)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    yield page
    context.close()


def test_all_runs_stand_in_a_table_that_leads_to_them(plain):
    rows = plain.locator("table.plain tr").all_inner_texts()
    assert rows[0].split("\t")[:3] == ["Run", "Status", "Score"]
    assert [row.split("\t")[:2] for row in rows[1:]] == [
        ["stuck<i>", "Likely stuck"],
        ["r", "Healthy"],
    ]
    links = [each.get_attribute("href") for each in plain.locator("table.plain a").all()]
    assert links == ["#plain-run-0", "#plain-run-1"]


def test_a_run_shows_its_loops_its_calls_and_what_was_said(plain):
    text = plain.locator("#plain-run-0").inner_text()
    order = [
        *('search "cats" \u00d7 6, steps 0-5', "Nothing is there"),
        "notify at step 2, block at step 3",
        *(
            "Said by the user",
            "<b>Find</b> the cats.",
            "0 search (A)",
            "query: cats",
            "No results.",
        ),
        *("1 search (A)", "The call of step 0. Nothing new.", "The result of step 0."),
        *("Thoughts", "6 read", "text of 0", "Said by the assistant", "Done."),
    ]
    at = 0
    for part in order:
        at = text.index(part, at)


def test_thoughts_are_folded_and_open_without_a_script(plain):
    thoughts = plain.locator("#plain-run-0 details.thoughts")
    assert not thoughts.locator("pre").is_visible()
    thoughts.locator("summary").click()
    assert thoughts.locator("pre").inner_text() == "<i>Or</i> dogs? password=***"
    thoughts.locator("summary").click()


def test_thoughts_are_printed_without_a_script(plain):
    thoughts = plain.locator("#plain-run-0 details.thoughts pre")
    assert not thoughts.is_visible()
    plain.emulate_media(media="print")
    assert thoughts.is_visible()
    plain.emulate_media(media="screen")


def test_a_healthy_run_is_folded_and_opens_without_a_script(plain):
    fold = plain.locator("#plain-run-1")
    assert not fold.locator("pre").first.is_visible()
    fold.locator("summary").click()
    assert fold.locator("pre").first.is_visible()


def test_what_needs_a_script_is_not_shown(plain):
    for hidden in ("#overview", "#run", "footer", "button.skip >> nth=0"):
        assert not plain.locator(hidden).is_visible()


def test_no_element_of_a_recording_is_on_the_plain_page(plain):
    assert plain.locator("details.plain :is(i, b), table.plain :is(i, b)").count() == 0


# ---- on paper ----


def test_a_printed_run_has_all_its_steps_and_no_controls(open_page):
    page = open_page(run_of(*DISTINCT * 5, *REPEAT))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#steps .row:visible").count() == 306
    assert page.locator("#loops .card").is_visible()
    for hidden in ("#bar", "footer", "#crumbs", "details.laps"):
        assert not page.locator(hidden).is_visible()
    longest = page.locator("#step-0 .answered")
    assert longest.evaluate("cell => getComputedStyle(cell).whiteSpace") == "normal"


def test_the_printed_overview_has_all_runs(open_page):
    page = open_page(*[run_of(*cycle(1), run_id=f"run{n}") for n in range(90)])
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#rows .run:visible").count() == 90
