"""Make the pictures of the report in docs/images.

python tests/report/screenshot.py, in an environment with the extra browser
"""

import os
import shutil
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

from report_pages import CHROMIUM, SWITCHES

from antiloop import LoopDetector
from antiloop.cli import main
from antiloop.cli._live.board import Board
from antiloop.cli._live.page_server import PageServer
from antiloop.report._live_page import live_row
from antiloop.traces._live.live_sessions import LiveSessions

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
RUNS = ["docs/examples/runs.jsonl", "docs/examples/good-runs.jsonl"]
PICTURES = [
    ("report.png", "light", {"width": 1280, "height": 640}, ""),
    ("report-step.png", "dark", {"width": 1280, "height": 860}, "#run-0"),
    ("report-narrow.png", "light", {"width": 360, "height": 720}, "#run-0-step-9"),
]

LIVE = ("watch.png", "light", {"width": 1280, "height": 560}, "")
WATCHED = ["claude-code-session", "codex-session", "runs"]
NOW_S = 1_700_000_000
"""When the sessions of the live page are looked at."""


def write_examples(path):
    """Write the page that the pictures show; run it in the root of the repository."""
    main(["report", *RUNS, "--preset", "escalating", "-o", str(path)])


@contextmanager
def served_examples(folder):
    """Serve the live page with sessions that were written a minute ago, one after the other."""
    for number, name in enumerate(WATCHED):
        path = shutil.copy(ROOT / "docs" / "examples" / f"{name}.jsonl", folder)
        os.utime(path, (NOW_S, NOW_S - 60 - number))
    options = {"on_file": str, "on_trouble": print, "clock": lambda: NOW_S}
    sessions = LiveSessions([str(folder)], LoopDetector.escalating(), **options)
    with closing(sessions), closing(PageServer(Board(), str, print)) as server:
        list(sessions.new_verdicts())
        server.board.show(live_row(each, NOW_S) for each in sessions.sessions)
        yield server.url


def picture_of(browser, page_url, scheme, viewport, at):
    """Open the page and give a picture of it as PNG."""
    page = browser.new_page(viewport=viewport, color_scheme=scheme)
    page.clock.set_fixed_time(NOW_S)  # the live page says how long ago something was
    page.goto(page_url + at)
    page.wait_for_selector(".item, .run")
    taken = page.screenshot()
    page.close()
    return taken


def take_pictures(page_url, live_url):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        for name, *how in PICTURES:
            (IMAGES / name).write_bytes(picture_of(browser, page_url, *how))
        (IMAGES / LIVE[0]).write_bytes(picture_of(browser, live_url, *LIVE[1:]))
        browser.close()


if __name__ == "__main__":
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        write_examples(Path(folder) / "report.html")
        with served_examples(folder) as live_url:
            take_pictures((Path(folder) / "report.html").as_uri(), live_url)
