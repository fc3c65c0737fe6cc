"""What the page leaves out before its first picture: nobody waits for what is not on the screen."""

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
WITHOUT_TABLES = "Intl = undefined; Number.prototype.toLocaleString = undefined;"


@pytest.fixture
def open_with(browser, tmp_path):
    """Open the page of some runs, after a script of the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})

    def open_(script, *runs):
        page = context.new_page()
        page.trouble = []
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.add_init_script(script)
        page.goto(write_report(tmp_path / "report.html", *runs).as_uri())
        return page

    yield open_
    context.close()


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
