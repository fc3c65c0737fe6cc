"""Recorded runs to draw, and the page that is made of them."""

import html
import json
import re
import shutil
import time

from antiloop import ToolCall, health, report
from antiloop.traces import RecordedRun
from antiloop.types import ToolResult

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]

REPEAT = [("search", {"query": "cats"}, "No results.")] * 6
DISTINCT = [("read", {"path": f"{n}.md"}, f"text of {n}") for n in range(60)]


def run_of(*steps, run_id="r", **known):
    """Make a run of ``(tool, arguments, result)``; a result may be missing."""
    calls = tuple(ToolCall(step[0], step[1]) for step in steps)
    results = tuple(None if step[2] is None else ToolResult(step[2]) for step in steps)
    return RecordedRun(run_id, calls, results, **known)


def judged(runs):
    """Judge runs as the command does."""
    return [(run, health.evaluate(run)) for run in runs]


def write_report(path, *runs, against=None):
    """Write the page for some runs, each judged as the command judges it."""
    others = None if against is None else judged(against)
    with path.open("w", encoding="ascii", newline="\n") as page:
        report.write_page(judged(runs), page, against=others)
    return path


def data_of(page, name):
    """Read a block of data out of a page, as the script does."""
    _, _, rest = page.partition(f'id="{name}">')
    return json.loads(rest.partition("</script>")[0])


def cycle(laps):
    """Go back and forth between two files that refer to each other."""
    pair = [("read", {"path": "a.md"}, "see b.md"), ("read", {"path": "b.md"}, "see a.md")]
    return [("list", {"path": "."}, "a.md, b.md"), *pair * laps, ("ask", {"who": "me"}, "thanks")]


def texts_of(page, number=0):
    """Read the texts of a run out of the plain page, as the script does."""
    _, _, rest = page.partition(f'id="plain-{number}">')
    blocks = re.findall(r"<pre>\n([^<]*)</pre>", rest.partition("</noscript>")[0])
    return [html.unescape(block) for block in blocks]


def step_of(page, step):
    return page.locator(f"#step-{step}")


def current_of(page):
    return page.evaluate("document.querySelector('.current')?.id")


def reached(page):
    """Return what a link has led to; the browser follows it a moment later."""
    wait_until(page, "document.querySelector('.current') !== null")
    return current_of(page)


def is_in_view(page, step):
    """Whether a step can be seen: on the screen, and not covered by the bar."""
    return page.evaluate(
        """(id) => {
          const row = document.querySelector(id + " .row"), box = row.getBoundingClientRect();
          const top = document.elementFromPoint(box.left + 20, box.top + box.height / 2);
          return box.top >= 0 && box.bottom <= innerHeight && row.contains(top);
        }""",
        f"#step-{step}",
    )


def right_of(element):
    return element.evaluate("element => element.getBoundingClientRect().right")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def wait_for_text(page, selector, text):
    """Wait until an element says just this; the page lets no one evaluate code in it."""
    page.locator(selector, has_text=re.compile(f"^{re.escape(text)}$")).wait_for()


def wait_until(page, expression, limit_s=20):
    """Wait until an expression is true in the page, which refuses the ``eval`` of Playwright."""
    end_s = time.monotonic() + limit_s
    while not page.evaluate(expression):
        assert time.monotonic() < end_s, f"not true within {limit_s} s: {expression}"
        page.wait_for_timeout(20)


def widths(page):
    return page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
