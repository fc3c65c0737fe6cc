"""The page for all: by keys alone, on a phone, with large text, and without some colors."""

import pytest
from report_pages import (
    DISTINCT,
    REPEAT,
    current_of,
    cycle,
    is_in_view,
    press,
    run_of,
    step_of,
    wait_for_text,
    wait_until,
    widths,
    write_report,
)

from antiloop import Role
from antiloop.formats import TextMessage

SIXTY = [run_of(*REPEAT, *cycle(2), run_id=f"run{n}") for n in range(60)]
FOCUSED = "(({ id, className, value, textContent: text }) => id || value || className + ':' + text)"
IS_LARGE = {
    "in the page": lambda page: page.evaluate("document.documentElement.style.fontSize = '200%'"),
    "in the browser": lambda page: page.context.new_cdp_session(page).send(
        "Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}}
    ),
}


def focus_of(page):
    return page.evaluate(f"{FOCUSED}(document.activeElement)")


def tab_stops(page):
    """Press Tab until the focus is back on the page itself, and give what had it."""
    found = []
    for _ in range(60):
        press(page, "Tab")
        if page.evaluate("document.activeElement === document.body"):
            return found
        found.append(focus_of(page))
    raise AssertionError(f"more than {len(found)} stops: {found}")


def wait_for_address(page, end):
    page.wait_for_url(lambda url: url.endswith(end))


# ---- runs are chosen ----


def is_at_the_head(page, name):
    """Whether the head of a run is on the screen and has the focus."""
    wait_for_text(page, "#run-id", name)
    page.wait_for_selector("#run-id:focus")
    top = page.evaluate("document.getElementById('run-id').getBoundingClientRect().top")
    return 0 <= top < page.viewport_size["height"] / 2


@pytest.mark.parametrize("width", [360, 1280])
def test_a_run_that_is_chosen_is_shown_from_its_head(open_page, width):
    page = open_page(*SIXTY, width=width, height=640)
    page.locator("#rows a").nth(3).click()
    assert is_at_the_head(page, "run3")
    page.evaluate("scrollTo(0, 1200)")
    press(page, "[")
    assert is_at_the_head(page, "run2")


def test_going_back_leads_to_the_row_of_the_run(open_page):
    page = open_page(*SIXTY, width=360, height=640, at="#run-50")
    page.locator("#crumbs a", has_text="All runs").click()
    assert page.evaluate("document.activeElement.textContent") == "run50"
    box = page.locator("#rows a:focus").bounding_box()
    assert 0 < box["y"] < 640
    page.go_back()
    wait_for_text(page, "#run-id", "run50")


def test_escape_leads_from_a_run_to_all_runs(open_page):
    page = open_page(*SIXTY, at="#run-7")
    press(page, "Escape")
    assert page.evaluate("document.activeElement.textContent") == "run7"
    wait_for_address(page, "#")


# ---- the address ----


@pytest.mark.parametrize("keys", ["jjk", "njjj", "]jj[", "nj]jj[nk", "/"])
def test_the_address_leads_back_to_where_one_is(open_page, keys):
    runs = run_of(*DISTINCT, *REPEAT, *DISTINCT), run_of(*cycle(6), run_id="two")
    page = open_page(*runs, at="#run-0")
    press(page, *(["/", "Escape", "j"] if keys == "/" else keys))
    at = current_of(page), page.locator("#run-id").inner_text()
    number = 0 if at[1] == "r" else 1
    wait_for_address(page, f"#run-{number}-{at[0]}" if at[0] else f"#run-{number}")
    page.reload()
    wait_for_text(page, "#run-id", at[1])
    assert current_of(page) == at[0]


def test_walking_leaves_one_place_to_go_back_to(open_page):
    page = open_page(run_of(*DISTINCT, *REPEAT, *DISTINCT), at="#run-0-step-3")
    card = page.locator("#loops h4 a").first
    step = int(card.get_attribute("href").rpartition("-")[2])
    card.click()
    page.wait_for_selector(f"#step-{step}.current")
    press(page, *"jjjjj")
    wait_for_address(page, f"#run-0-step-{step + 5}")
    page.go_back()
    page.wait_for_selector("#step-3.current")


def test_a_key_that_is_held_does_not_wear_the_address_out(open_page):
    page = open_page(run_of(*DISTINCT * 10))
    page.evaluate(
        """() => {
          const write = history.replaceState;
          window.written = 0;
          history.replaceState = (...given) => { written += 1; write.apply(history, given); };
        }"""
    )
    before = page.evaluate("history.length")
    # At once: what a slow machine takes for real keys does not count.
    page.evaluate(
        """() => {
          const key = { key: "j", bubbles: true };
          for (let n = 0; n < 150; n += 1)
            document.body.dispatchEvent(new KeyboardEvent("keydown", key));
        }"""
    )
    wait_for_address(page, "#run-0-step-149")
    assert page.evaluate("[history.length, written < 50]") == [before, True]


def test_a_click_on_a_step_puts_it_into_the_address(open_page):
    page = open_page(run_of(*DISTINCT))
    step_of(page, 4).locator(".row").click()
    wait_for_address(page, "#run-0-step-4")


# ---- by keys alone ----


def test_the_tab_key_reaches_everything_in_few_steps(open_page):
    def stops(*runs):
        return tab_stops(open_page(*runs))

    many = stops(*SIXTY)
    assert "words" in many[:4]
    few = stops(*SIXTY[:2])
    assert len(many) == len(few)
    long, short = ([run_of(*DISTINCT * n)] for n in (20, 1))
    assert len(stops(*long)) == len(stops(*short))


def test_the_first_stops_skip_to_the_search_and_the_list(open_page):
    page = open_page(*SIXTY)
    press(page, "Tab")
    assert focus_of(page) == "search"
    assert page.locator("button.skip").first.bounding_box()["width"] > 50
    press(page, "Enter")
    assert focus_of(page) == "words"
    page.reload()
    press(page, "Tab", "Tab", "Enter")
    assert "run0" in focus_of(page)
    page = open_page(*SIXTY, at="#run-5")
    press(page, "Tab", "Tab", "Enter")
    assert current_of(page) == "step-0"
    assert is_in_view(page, 0)


def test_the_list_of_runs_is_one_stop_and_arrows_move_in_it(open_page):
    page = open_page(*SIXTY)
    page.locator("#rows a").first.focus()
    press(page, "ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown")
    assert "run1" in focus_of(page)
    press(page, "Shift+Tab")
    assert focus_of(page) == "sort:Score"
    press(page, "Tab")
    assert focus_of(page) == "id:run1"
    press(page, "Enter")
    assert is_at_the_head(page, "run1")


def test_the_steps_are_one_stop_the_current_one(open_page):
    page = open_page(run_of(*DISTINCT * 5))
    stops = "[...document.querySelectorAll('.row')].filter((row) => row.tabIndex === 0).length"
    page.locator("#search").focus()
    press(page, "Tab")
    assert page.evaluate("document.activeElement.parentElement.id") == "step-0"
    press(page, *"jjj", "Shift+Tab", "Tab")
    assert page.evaluate("document.activeElement.parentElement.id") == "step-3"
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_selector("#step-299")
    assert page.evaluate(stops) == 1
    page.locator("#search").fill("9.md")
    wait_for_text(page, "#found", "30 of 300 rows")
    page.locator("#search").focus()
    press(page, "Tab")
    assert page.evaluate("document.activeElement.parentElement.id") == "step-9"


def test_a_long_text_can_be_scrolled_by_keys(open_page):
    page = open_page(run_of(("read", {}, "line\n" * 300), ("ls", {}, "short")), at="#run-0-step-0")
    assert page.locator("pre[tabindex='0']").count() == 1
    page.locator("pre[tabindex='0']").focus()
    press(page, "ArrowDown")
    wait_until(page, "document.activeElement.scrollTop > 0")
    assert current_of(page) == "step-0"


@pytest.mark.parametrize(
    ("scheme", "width", "at"),
    [
        ("light", 1280, ""),
        ("light", 360, "#run-0-step-61"),
        ("dark", 1280, "#run-0-step-66"),
        ("dark", 360, ""),
    ],
)
def test_axe_finds_nothing(open_page, scheme, width, at):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="extra 'browser'")
    loud = ("read", {}, "line\n" * 300)
    said = [TextMessage(Role.USER, "Look at it.", 0), TextMessage(Role.ASSISTANT, "I will.", 3)]
    runs = (
        run_of(*DISTINCT, *REPEAT, *cycle(6), loud, messages=said),
        run_of(*cycle(1), run_id="fine"),
    )
    page = open_page(*runs, width=width, scheme=scheme, at=at)
    for fold in page.locator("details:visible > summary").all():
        fold.click()
    found = axe.Axe().run(page).response
    assert len(found["passes"]) > 15
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


# ---- large text ----


@pytest.mark.parametrize("enlarge", IS_LARGE.values(), ids=IS_LARGE)
@pytest.mark.parametrize(("width", "height"), [(1280, 860), (360, 720)])
def test_large_text_leaves_room_for_the_steps(browser, tmp_path, enlarge, width, height):
    runs = run_of(*REPEAT, *cycle(6)), run_of(*cycle(1))
    path = write_report(tmp_path / "report.html", *runs)
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(f"{path.as_uri()}#run-0")
    before = page.evaluate("parseFloat(getComputedStyle(document.querySelector('h2')).fontSize)")
    enlarge(page)
    page.evaluate("location.hash = '#run-0-step-4'")
    page.wait_for_selector("#step-4.current .details")
    after = page.evaluate("parseFloat(getComputedStyle(document.querySelector('h2')).fontSize)")
    assert after > 1.5 * before
    assert page.locator("#bar").bounding_box()["height"] < height * 0.3
    assert widths(page) == [width, width]
    assert is_in_view(page, 4)
    page.close()


def test_on_a_screen_of_few_lines_the_bar_moves_away(open_page):
    page = open_page(run_of(*DISTINCT), width=320, height=256, at="#run-0-step-40")
    assert page.locator("#bar").bounding_box()["y"] < -100
    assert is_in_view(page, 40)


# ---- marks ----


def test_marks_look_different_from_each_other(open_page):
    calls = [("t", {"n": n % 24}, f"x {n % 24}") for n in range(48)]
    page = open_page(run_of(*calls))
    looks = page.evaluate(
        """[...document.querySelectorAll("#steps .chip")].slice(0, 24).map((chip) => {
          const { borderTopColor, borderRadius } = getComputedStyle(chip);
          return borderTopColor + borderRadius;
        })"""
    )
    assert len(set(looks)) == 24
    shapes = page.evaluate(
        """Object.entries([...document.querySelectorAll("#map rect:not(.flag)")].reduce(
          (all, rect) => ({ ...all, [rect.getAttribute("x")]: [
            ...(all[rect.getAttribute("x")] || []), rect.getAttribute("class"),
            rect.getAttribute("y"), rect.getAttribute("height")] }), {}))
          .slice(0, 24).map(([, rects]) => rects.join())"""
    )
    assert len(set(shapes)) == 24


# ---- totals and counts ----


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_totals_have_one_order(open_page, order):
    runs = [
        run_of(*REPEAT, run_id="stuck"),
        run_of(*cycle(1), run_id="fine"),
        run_of(*cycle(1), run_id="failed", failed=True),
    ]
    page = open_page(*(runs[n] for n in order), at="#")
    wait_for_text(page, "#summary", "3 runs \u00b7 1 failed \u00b7 1 likely stuck \u00b7 1 healthy")


def test_a_step_says_how_many_of_its_calls_are_in_a_loop(open_page):
    moving = [("get", {}, f"{word} is new") for word in ("this", "that")]
    page = open_page(run_of(*moving, *[("get", {}, "same")] * 3), at="#run-0-step-4")
    said = step_of(page, 4).locator(".details").inner_text()
    assert "In the whole run this call was made 5 times, 3 of them in a loop" in said
    page = open_page(run_of(*REPEAT), at="#run-0-step-4")
    said = step_of(page, 4).locator(".details").inner_text()
    assert "In the whole run this call was made 6 times: at step" in said
