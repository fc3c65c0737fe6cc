"""A browser to look at the page with."""

import pytest
from report_pages import CHROMIUM, SWITCHES


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
