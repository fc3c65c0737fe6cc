"""How large a report is, and how soon a browser shows something of it.

    PYTHONPATH=src python tests/benchmarks/report_page.py [RECORDINGS...]

Without recordings, 700 made-up runs with 45,000 steps are taken. The page is opened several times,
and the fastest first picture counts: whatever else the machine does only makes it slower. Needs the
extra browser for the second figure.
"""

import argparse
import gzip
import json
import random
import sys
import tempfile
from pathlib import Path

from antiloop.cli import main

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from report_pages import CHROMIUM, SWITCHES

RUNS, STEPS = 700, 45_000
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def made_up(path, seed=1):
    """Write runs of 65 steps on average, with results of 1,100 characters on average."""
    words = random.Random(seed)
    with path.open("w") as lines:
        for number in range(RUNS):
            steps = [
                {
                    "tool_name": words.choice(["read", "edit", "run", "search"]),
                    "arguments": {"path": f"src/{words.randrange(40)}.py"},
                    "result": " ".join(
                        f"word{words.randrange(5000)}" for _ in range(words.randrange(240))
                    ),
                }
                for _ in range(STEPS // RUNS)
            ]
            lines.write(json.dumps({"run_id": f"run-{number}", "steps": steps}) + "\n")
    return path


def size_of(path):
    return len(gzip.decompress(path.read_bytes())) if path.suffix == ".gz" else path.stat().st_size


def first_paints(page, times=7):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        for _ in range(times):
            tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
            tab.goto(page.as_uri(), wait_until="load")
            yield tab.evaluate(PAINT)
            tab.context.close()
        browser.close()


def measure(paths, folder):
    page = folder / "report.html"
    main(["report", *map(str, paths), "-o", str(page), "--preset", "escalating"])
    size, shown = page.stat().st_size, sum(map(size_of, paths))
    print(f"page: {size:,} bytes, {size / shown:.2f} times the {shown:,} of the recordings")
    paints = sorted(filter(None, first_paints(page)))
    print(f"first contentful paint: {paints[0]:.0f} ms, median {paints[len(paints) // 2]:.0f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recordings", nargs="*", type=Path)
    given = parser.parse_args().recordings
    with tempfile.TemporaryDirectory() as temporary:
        measure(given or [made_up(Path(temporary) / "runs.jsonl")], Path(temporary))
