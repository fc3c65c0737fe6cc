"""Make the pictures of the report in docs/images.

python tests/report/screenshot.py, in an environment with the extra browser
"""

import os
import tempfile
from pathlib import Path

from report_pages import CHROMIUM, SWITCHES

from antiloop.cli import main

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
RUNS = ["docs/examples/runs.jsonl", "docs/examples/good-runs.jsonl"]
PICTURES = [
    ("report.png", "light", {"width": 1280, "height": 640}, ""),
    ("report-step.png", "dark", {"width": 1280, "height": 860}, "#run-0"),
    ("report-narrow.png", "light", {"width": 360, "height": 720}, "#run-0-step-9"),
]


def write_examples(path):
    """Write the page that the pictures show; run it in the root of the repository."""
    main(["report", *RUNS, "--preset", "escalating", "-o", str(path)])


def picture_of(browser, page_url, scheme, viewport, at):
    """Open the page and give a picture of it as PNG."""
    page = browser.new_page(viewport=viewport, color_scheme=scheme)
    page.goto(page_url + at)
    page.wait_for_selector(".item, .run")
    taken = page.screenshot()
    page.close()
    return taken


def take_pictures(page_url):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        for name, *how in PICTURES:
            (IMAGES / name).write_bytes(picture_of(browser, page_url, *how))
        browser.close()


if __name__ == "__main__":
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        write_examples(Path(folder) / "report.html")
        take_pictures((Path(folder) / "report.html").as_uri())
