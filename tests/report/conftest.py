"""A browser to look at the page with."""

import contextlib

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


@pytest.fixture
def open_page(browser, tmp_path):
    """Draw runs and open the page; nothing may be asked of the network or go wrong."""
    with contextlib.ExitStack() as stack:
        trouble, asked = [], set()

        def open_(*runs, width=1280, height=800, scheme="light", at=""):
            path = write_report(tmp_path / "report.html", *runs)
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            stack.callback(context.close)
            page = context.new_page()
            page.on("console", lambda message: trouble.append(message.text))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on("dialog", lambda dialog: trouble.append(dialog.message) or dialog.dismiss())
            page.on("request", lambda request: asked.add(request.url.partition("#")[0]))
            page.goto(path.as_uri() + at)
            return page

        yield open_
        assert trouble == []
        assert {url.rpartition("/")[2] for url in asked} == {"report.html"}
        assert {url.partition("://")[0] for url in asked} == {"file"}
