"""A browser to look at the page with; a module shares one page of it."""

import itertools

import pytest
from report_pages import CHROMIUM, SWITCHES, write_report


# Of a module, not of the session: while it runs, no other test can start an event loop.
@pytest.fixture(scope="module")
def browser():
    """Start Chromium, without a window and with an empty profile."""
    if CHROMIUM is None:
        pytest.skip("no chromium was found")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra 'browser'")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def watched_page(browser):
    """Open one page for all tests of a module, and keep what goes wrong in it."""
    page = browser.new_page()
    page.set_default_timeout(20_000)
    page.trouble, page.asked = [], set()
    page.on("console", lambda message: page.trouble.append(message.text))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on("dialog", lambda dialog: page.trouble.append(dialog.message) or dialog.dismiss())
    page.on("request", lambda request: page.asked.add(request.url.partition("#")[0]))
    yield page
    page.close()


@pytest.fixture
def open_page(watched_page, tmp_path):
    """Draw runs and open the page; nothing may be asked of the network or go wrong."""
    page, numbers = watched_page, itertools.count()
    page.trouble.clear()
    page.asked.clear()

    def open_(*runs, width=1280, height=800, scheme="light", at="", against=None):
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        path = write_report(folder / "report.html", *runs, against=against)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, media="screen")
        page.goto(path.as_uri() + at)
        return page

    yield open_
    assert page.trouble == []
    assert {url.rpartition("/")[2] for url in page.asked} == {"report.html"}
    assert {url.partition("://")[0] for url in page.asked} == {"file"}
