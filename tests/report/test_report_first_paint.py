"""What the page leaves out before its first picture: nobody waits for what is not on the screen."""

import html
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_pages import REPEAT, cycle, run_of, write_report

MANY = [run_of(*REPEAT, run_id="stuck"), *[run_of(*cycle(1), run_id=f"run{n}") for n in range(99)]]
NOTE_MEASURES = """
  const measured = Element.prototype.getBoundingClientRect;
  window.measuredEmpty = 0;
  Element.prototype.getBoundingClientRect = function () {
    if (this.id === "rows" && !this.firstChild) window.measuredEmpty += 1;
    return measured.call(this);
  };
"""
UNSEEN = """
  const drawn = () => document.querySelectorAll("#rows .run").length;
  const head = () => document.getElementById("summary").textContent;
  window.requestAnimationFrame = () => { window.asked ??= { head: head(), drawn: drawn() }; };
  addEventListener("DOMContentLoaded", () => { window.whole = drawn(); });
"""
WITHOUT_TABLES = "Intl = undefined; Number.prototype.toLocaleString = undefined;"


@pytest.fixture
def open_with(browser, tmp_path):
    """Open the page of some runs, after a script of the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})

    def open_(script, *runs, against=None):
        page = context.new_page()
        page.trouble = []
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.add_init_script(script)
        page.goto(write_report(tmp_path / "report.html", *runs, against=against).as_uri())
        return page

    yield open_
    context.close()


def head_of(path):
    """Return how many characters stand before what the head says of the runs, and what it says."""
    before, _, rest = path.read_text("ascii").partition('<p id="summary">')
    assert not re.search("<script|<noscript", before)
    return len(before), html.unescape(rest.partition("</p>")[0])


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 3))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_head_stands_before_all_that_grows_with_the_runs(tmp_path, stuck, healthy, others):
    runs = [run_of(*REPEAT)] * stuck + [run_of(*cycle(1))] * healthy
    against = [run_of(*cycle(1), run_id=f"gone{n}") for n in range(others)] if others else None
    before, said = head_of(write_report(tmp_path / "report.html", *runs, against=against))
    assert before < 32_000
    numbers = dict(part.split(" ", 1)[::-1] for part in said.split(" \u00b7 "))
    total = stuck + healthy
    assert numbers.pop("run" if total == 1 else "runs") == str(total)
    expected = {"likely stuck": str(stuck), "healthy": str(healthy)}
    assert numbers == {status: each for status, each in expected.items() if each != "0"}


@pytest.mark.parametrize("against", [None, MANY[5:]], ids=["alone", "compared"])
def test_nothing_is_drawn_before_the_head_is_on_the_screen(open_with, against):
    page = open_with(UNSEEN, *MANY, run_of(*REPEAT, failed=True), against=against)
    asked = page.evaluate("asked")
    assert (asked["drawn"], page.evaluate("whole")) == (0, 0)
    assert asked["head"] == "101 runs \u00b7 1 failed \u00b7 1 likely stuck \u00b7 99 healthy"
    # The script says the same, and a page that no one sees is drawn when all of it is there.
    assert page.locator("#summary").inner_text() == asked["head"]
    assert page.locator("#rows .run").count() > 15


def test_the_overview_is_laid_out_once_with_its_rows(open_with):
    page = open_with(NOTE_MEASURES, *MANY)
    assert page.locator("#rows .run").count() > 15
    assert page.evaluate("measuredEmpty") == 0


def test_the_overview_leaves_the_style_of_the_whole_page_alone(open_with):
    page = open_with("", *MANY)
    assert page.evaluate("document.documentElement.style.length") == 0


def test_no_tables_of_languages_are_loaded_for_the_overview(open_with):
    page = open_with(WITHOUT_TABLES, *MANY)
    assert page.trouble == []
    assert page.locator("#totals dd").first.inner_text() == "100"


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.integers(-(10**15), 10**15),
            st.integers(-(10**11), 10**11).map(lambda number: number / 10**4),
            st.sampled_from([0, 0.5, 999, 1000, 1e-9, 1234.56789, 99999.99999]),
        ),
        min_size=50,
    )
)
def test_numbers_look_as_the_browser_writes_them(open_page, numbers):
    page = open_page()
    ours, theirs = page.evaluate(
        """(numbers) => [numbers.map(count), numbers.map(
          (number) => number.toLocaleString("en", { maximumFractionDigits: 4 }))]""",
        numbers,
    )
    assert ours == theirs
