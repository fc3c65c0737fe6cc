"""Make the pictures of the report in docs/images.

python tests/report/screenshot.py, in an environment with the extra browser
"""

import os
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from report_pages import CHROMIUM, SWITCHES

from antiloop.cli import main

ROOT = Path(__file__).parents[2]
PICTURES = [
    ("report.png", "light", {"width": 1280, "height": 640}, ""),
    ("report-step.png", "dark", {"width": 1280, "height": 860}, "#run-0"),
    ("report-narrow.png", "light", {"width": 360, "height": 720}, "#run-0-step-9"),
]
RUNS = ["docs/examples/runs.jsonl", "docs/examples/good-runs.jsonl"]


def take_pictures(page_url):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        for name, scheme, viewport, at in PICTURES:
            page = browser.new_page(viewport=viewport, color_scheme=scheme)
            page.goto(page_url + at)
            page.wait_for_selector(".item, .run")
            page.screenshot(path=ROOT / "docs" / "images" / name)
        browser.close()


if __name__ == "__main__":
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        main(["report", *RUNS, "--preset", "escalating", "-o", str(path)])
        take_pictures(path.as_uri())
