"""The live page in a real browser."""

import json

import pytest
from report_pages import wait_for_text, wait_until, widths

from antiloop import LoopDetector, LoopVerdict
from antiloop.cli._live.board import Board
from antiloop.cli._live.page_server import PageServer
from antiloop.cli._live.watching import RunReader
from antiloop.health import HealthProfile
from antiloop.report._live_page import live_row
from antiloop.traces._live.live_sessions import LiveSessions

EVIL = "<img src=x onerror=pwned=1></script>"


class Live:
    """Sessions in a folder, on a page; each look is one at everything."""

    def __init__(self, folder):
        self.folder, self.now_s = folder, 1e6
        detector = LoopDetector.escalating()
        reader = RunReader(HealthProfile(detector=detector), None)
        self.board = Board()
        self.told = []
        self.server = PageServer(self.board, reader.read, self.told.append)
        clock = lambda: self.now_s  # noqa: E731
        listeners = {"on_file": str, "on_trouble": self.told.append}
        paths = [str(folder)]
        self.sessions = LiveSessions(paths, detector, clock=clock, ticks=clock, **listeners)

    def write(self, name, *calls):
        with open(self.folder / f"{name}.jsonl", "a", encoding="utf-8") as file:
            for tool, value, output in calls:
                event = {"type": "tool_call_completed", "run_id": name, "tool": tool}
                file.write(json.dumps({**event, "input": {"q": value}, "output": output}) + "\n")
        self.show()

    def show(self):
        self.now_s += 10
        list(self.sessions.new_verdicts())
        for number, each in enumerate(self.sessions.sessions):
            each.written_s = self.now_s - number
        self.board.show(live_row(each, self.now_s) for each in self.sessions.sessions)


@pytest.fixture
def live(tmp_path):
    made = Live(tmp_path)
    yield made
    made.server.close()
    made.sessions.close()
    assert made.told == []


@pytest.fixture
def page(watched_page, live):
    page = watched_page
    page.trouble.clear()
    page.asked.clear()
    page.set_viewport_size({"width": 1280, "height": 800})
    yield page
    page.goto("about:blank")
    assert page.trouble == []
    assert all(url.startswith((live.server.url, "about:")) for url in page.asked)


def names(page):
    return page.locator(".run .id").all_inner_texts()


STUCK = [("search", "cats", "nothing")] * 4
FINE = [("read", number, f"text {number}") for number in range(4)]


def test_rows_come_change_and_go_while_the_page_is_open(page, live):
    live.write("calm", *FINE)
    page.goto(live.server.url)
    wait_for_text(page, "#summary", "1 run \u00b7 1 working")
    assert page.title() == "antiloop watch"
    live.write(EVIL.replace("/", "_"), *STUCK)
    wait_for_text(page, "#summary", "2 runs \u00b7 1 looping \u00b7 1 working")
    assert names(page) == [EVIL.replace("/", "_"), "calm"]
    assert "4 times in a row" in page.locator("#live").inner_text()
    live.write("calm", *STUCK[:2], *STUCK)
    page.locator(".run", has_text="calm").locator(".is-calls", has_text="10").wait_for()
    (live.folder / "calm.jsonl").unlink()
    live.show()
    wait_for_text(page, "#summary", "1 run \u00b7 1 looping")
    assert page.evaluate("typeof pwned") == "undefined"


@pytest.mark.parametrize("is_late", [True, False])
def test_a_loop_that_comes_while_the_page_connects_is_told_and_no_earlier_one(page, live, is_late):
    sessions = {"calm": FINE, "stuck": STUCK}
    early, late = ("calm", "stuck") if is_late else ("stuck", "calm")
    live.write(early, *sessions[early])

    def connect(route):
        live.write(late, *sessions[late])
        route.continue_()

    page.route("**/events", connect)
    page.goto(live.server.url)
    page.locator(".run", has_text=late).wait_for()
    page.unroute("**/events")
    assert ("4 times in a row" in page.locator("#live").inner_text()) == is_late


def test_what_loops_now_comes_first_then_newest_trouble_and_the_focus_stays(page, live):
    for name in ("one", "two", "three"):
        live.write(name, *(STUCK if name == "one" else FINE))
    page.goto(live.server.url)
    page.locator(".run .id", has_text="two").focus()
    session = next(each for each in live.sessions.sessions if each.run_id == "three")
    session.last, session.trouble_s = (3, LoopVerdict()), 9e9
    live.show()
    page.locator("[data-at='1'] .id", has_text="three").wait_for()
    assert names(page) == ["one", "three", "two"]
    assert all("ago" in each for each in page.locator(".run .is-heard").all_inner_texts())
    assert page.evaluate("document.activeElement.textContent") == "two"


def test_a_run_is_read_when_it_is_opened_and_again_when_it_has_more(page, live):
    live.write("one", *FINE)
    live.write("two", *STUCK)
    page.goto(live.server.url)
    page.locator(".run .id", has_text="two").click()
    wait_for_text(page, "#run-id", "two")
    assert page.locator(".step").count() == 4
    page.locator("#step-1 .row").click()
    live.write("two", ("read", EVIL, EVIL))
    page.locator(".more").click()
    page.wait_for_selector("#step-4")
    page.locator("#step-4 .row").click()
    assert EVIL in page.locator("#step-4 .details").inner_text()
    page.get_by_role("link", name="All runs").click()
    page.locator(".run .id", has_text="one").click()
    wait_for_text(page, "#run-id", "one")
    assert page.locator("noscript[id^=plain-]").count() == 2  # that of the overview, and this run
    assert page.evaluate("typeof pwned") == "undefined"


def test_a_run_whose_file_is_gone_says_so(page, live):
    live.write("one", *FINE)
    page.goto(live.server.url)
    (live.folder / "one.jsonl").unlink()
    page.locator(".run .id").click()
    wait_for_text(page, "#listed", "The recording of this run cannot be read now.")
    assert len(page.trouble) == 1
    assert "404" in page.trouble.pop()


def test_a_filter_stays_chosen_when_nothing_fits_it_for_a_while(page, live):
    live.write("one", *STUCK)
    page.goto(live.server.url)
    page.locator("select[name=status]").select_option("looping")
    live.write("one", *FINE)
    page.locator("#rows", has_text="No run is left").wait_for()
    live.write("one", *STUCK)
    page.locator(".run .id", has_text="one").wait_for()


def test_a_phone_shows_it_without_scrolling_sideways(page, live):
    live.write("one-with-a-long-name" * 5, *STUCK)
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(live.server.url)
    page.locator(".run").wait_for()
    wide, there = widths(page)
    assert wide <= there
    # In one go: the rows are drawn anew whenever something comes.
    run, trouble = page.evaluate(
        "Array.from(document.querySelectorAll('.run, .run .is-trouble'),"
        " each => each.getBoundingClientRect().bottom)"
    )
    assert trouble <= run


@pytest.mark.parametrize(("scheme", "width", "at"), [("light", 1280, ""), ("dark", 360, "#run-0")])
def test_axe_finds_nothing(page, live, scheme, width, at):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="extra 'browser'")
    live.write("one", *STUCK)
    live.write("two", *FINE)
    page.set_viewport_size({"width": width, "height": 700})
    page.emulate_media(color_scheme=scheme)
    page.goto(live.server.url + at)
    page.locator("#run-id" if at else ".run").first.wait_for()
    if at:
        page.locator("#step-1 .row").click()
        live.write("one", *FINE)
        page.locator(".more").wait_for()
    found = axe.Axe().run(page).response
    page.emulate_media(color_scheme="light")
    assert len(found["passes"]) > 15
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


def test_the_end_of_the_server_is_told(page, live):
    live.write("one", *FINE)
    page.goto(live.server.url)
    wait_until(page, "isConnected")
    live.server.close()
    page.locator("#summary", has_text="not connected").wait_for()
    page.goto("about:blank")
    page.trouble[:] = [each for each in page.trouble if "ERR_" not in each]


def test_without_scripts_there_is_a_table(browser, live):
    live.write("one", *STUCK)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(live.server.url)
    cells = page.locator("table.plain td").all_inner_texts()
    assert cells[:5] == ["one", "looping", "4", "3", "100 %"]
    assert cells[5].startswith('step 3, block: search "')
    context.close()
