"""The page in a real browser."""

import http.server
import threading

import pytest
from report_pages import (
    DISTINCT,
    REPEAT,
    current_of,
    cycle,
    is_in_view,
    press,
    reached,
    right_of,
    run_of,
    step_of,
    wait_for_text,
    widths,
    write_report,
)

PAYLOADS = [
    "<script>pwned=1</script>",
    "</script><script>pwned=1</script>",
    "<!--<script>pwned=1</script>-->",
    "<img src=x onerror=pwned=1>",
    "<img src=https://example.com/x.png>",
    "<svg onload=pwned=1>",
    "<svg><script>pwned=1</script></svg>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<iframe src=javascript:parent.pwned=1></iframe>",
    "<body onload=pwned=1>",
    "<input autofocus onfocus=pwned=1>",
    "<details open ontoggle=pwned=1>",
    "<video><source onerror=pwned=1></video>",
    "<link rel=stylesheet href=https://example.com/x.css>",
    "<style>@import 'https://example.com/x.css'</style>",
    "<meta http-equiv=refresh content='0;url=https://example.com/'>",
    "<base href=https://example.com/>",
    "<form action=https://example.com/><button>go</button></form>",
    "<object data=javascript:pwned=1></object>",
    "<math><mi xlink:href='javascript:pwned=1'>x</mi></math>",
    "<template><script>pwned=1</script></template>",
    "javascript:pwned=1",
    "'-alert(1)-'",
    '"><script>alert(1)</script>',
    "';pwned=1;//",
    "${pwned=1}{{pwned=1}}",
    "\\u003cscript>pwned=1\\u003c/script>",
    "]]><script>pwned=1</script>",
    "\u2028pwned=1\u2029",
    "__proto__",
    "constructor",
]


def test_a_click_on_a_loop_leads_to_the_step_and_opens_it(open_page):
    page = open_page(run_of(*DISTINCT, *REPEAT, *DISTINCT))
    card = page.locator("#loops h4 a")
    step = int(card.get_attribute("href").rpartition("-")[2])
    assert step >= 60
    card.click()
    assert reached(page) == f"step-{step}"
    assert is_in_view(page, step)
    details = step_of(page, step).locator(".details")
    assert "No results." in details.inner_text()
    assert 'Here the notice would have come: search "cats" \u00d7 6' in details.inner_text()
    assert step_of(page, step).locator(".row").get_attribute("aria-expanded") == "true"
    plain = step_of(page, step + 1).locator(".row")
    outlines = [
        row.evaluate("row => getComputedStyle(row).outlineStyle")
        for row in (step_of(page, step).locator(".row"), plain)
    ]
    assert outlines == ["solid", "none"]
    details.locator("a", has_text="search").click()
    page.wait_for_selector("#loop-0 :focus")


def test_a_second_click_on_a_loop_leads_there_again(open_page):
    page = open_page(run_of(*DISTINCT, *REPEAT, *DISTINCT))
    card = page.locator("#loops h4 a")
    card.click()
    step = reached(page)
    page.evaluate("scrollTo(0, 0)")
    press(page, "Escape")
    assert page.locator(".details").count() == 0
    card.click()
    assert reached(page) == step
    assert page.locator(".details").count() == 1


def test_a_link_to_a_step_opens_the_page_there_and_the_back_button_works(open_page):
    page = open_page(run_of(*DISTINCT), run_of(*cycle(4), run_id="other"), at="#run-1-step-3")
    assert page.locator("#run-id").inner_text() == "other"
    assert current_of(page) == "step-3"
    page.evaluate("location.hash = '#run-0-step-40'")
    page.wait_for_selector("#step-40.current")
    page.go_back()
    page.wait_for_selector("#step-3.current")


@pytest.mark.parametrize("at", ["#run-7", "#run-0-step-999", "#nonsense", "#run-0-step-x"])
def test_a_link_that_leads_nowhere_shows_the_only_run(open_page, at):
    assert open_page(run_of(*cycle(1)), at=at).locator("#run-id").inner_text() == "r"


def test_steps_are_walked_with_keys(open_page):
    page = open_page(run_of(*DISTINCT))
    press(page, "j", "j", "ArrowDown", "k")
    assert current_of(page) == "step-1"
    press(page, "Enter")
    assert "text of 1" in step_of(page, 1).locator(".details").inner_text()
    press(page, "Enter")
    assert page.locator(".details").count() == 0
    press(page, "ArrowUp", "ArrowUp")
    assert current_of(page) == "step-0"


def test_walking_far_keeps_the_current_step_in_view(open_page):
    page = open_page(run_of(*DISTINCT), height=500)
    press(page, *["j"] * 60)
    assert current_of(page) == "step-59"
    assert is_in_view(page, 59)
    press(page, *["k"] * 50)
    assert is_in_view(page, 9)


def test_loops_and_runs_are_walked_with_keys(open_page):
    page = open_page(
        run_of(*REPEAT, *DISTINCT, *cycle(6)), run_of(*cycle(1), run_id="fine"), at="#run-0"
    )
    press(page, "n")
    first = current_of(page)
    press(page, "n")
    second = current_of(page)
    assert first != second
    press(page, "p")
    page.wait_for_selector(f"#{first}.current")
    press(page, "]")
    wait_for_text(page, "#run-id", "fine")
    press(page, "[")
    wait_for_text(page, "#run-id", "r")


def test_search_leaves_over_what_matches_and_escape_brings_all_back(open_page):
    page = open_page(run_of(*DISTINCT, *REPEAT))
    press(page, "/")
    page.keyboard.type("NO results")
    wait_for_text(page, "#found", "6 of 66 rows")
    assert page.locator(".item").count() == 6
    press(page, "Enter")
    assert current_of(page) == "step-60"
    press(page, "Escape")
    assert page.locator("#found").inner_text() == ""
    press(page, "/")
    page.keyboard.type("7.md")
    wait_for_text(page, "#found", "6 of 66 rows")
    press(page, "Escape", "j")
    step_of(page, 0).wait_for(state="attached")


def test_what_was_searched_is_marked_and_in_sight(open_page):
    far = "x " * 500 + "<b>Timeout</b> " * 2
    page = open_page(run_of(*DISTINCT, *REPEAT, ("get", {"url": "timeout.html"}, far)))
    page.locator("#search").fill("TIMEOUT")
    wait_for_text(page, "#found", "1 of 67 rows")
    assert is_in_view(page, 66)
    assert page.locator("#step-66 .row mark").all_inner_texts() == ["timeout", "Timeout"]
    for found in page.locator("#step-66 .row mark").all():
        assert right_of(found) < right_of(found.locator("xpath=ancestor::span[1]"))
    press(page, "Enter", "Enter")
    assert page.locator("#step-66 pre mark").all_inner_texts() == ["timeout", "Timeout", "Timeout"]
    press(page, "Escape")
    assert page.locator("mark").count() == 0


def test_a_search_without_a_match_says_so(open_page):
    page = open_page(run_of(*DISTINCT))
    page.locator("#search").fill("zebra")
    wait_for_text(page, "#found", "0 of 60 rows")
    assert page.locator("#steps").inner_text() == "Nothing found."
    press(page, "Enter")
    assert current_of(page) is None


def test_a_loop_is_found_although_the_search_hides_its_step(open_page):
    page = open_page(run_of(*DISTINCT, *REPEAT))
    page.locator("#search").fill("text of 7")
    wait_for_text(page, "#found", "1 of 66 rows")
    page.locator("#loops h4 a").click()
    assert is_in_view(page, int(reached(page)[5:]))


def test_equal_calls_have_equal_marks_in_one_line(open_page):
    page = open_page(run_of(*cycle(4)))
    marks = [
        (chip.inner_text(), chip.get_attribute("class").split()[1], chip.bounding_box()["x"])
        for chip in page.locator("#steps .chip").all()
    ]
    assert marks == marks[:2] * 4
    assert [mark for mark, _, _ in marks[:2]] == ["A", "B"]
    assert marks[0][2] < marks[1][2]
    assert page.locator("#steps .chip.seen").count() == 6
    assert page.locator("#steps .lap").all_inner_texts() == ["lap 1", "lap 2", "lap 3", "lap 4"]


def test_the_map_leads_to_the_steps(open_page):
    page = open_page(run_of(*DISTINCT * 5))
    page.locator("#map").click(position={"x": 600, "y": 4})
    assert is_in_view(page, int(current_of(page)[5:]))


@pytest.mark.parametrize("opened", [False, True])
def test_hostile_traces_are_shown_and_never_run(open_page, opened):
    calls = [(evil, {evil: evil, "in": {evil: [evil]}}, evil) for evil in PAYLOADS]
    repeated = [(PAYLOADS[1], {"q": PAYLOADS[3]}, PAYLOADS[5])] * 6
    runs = [
        run_of(*calls, *repeated, run_id=evil, agent=evil, model=evil, source=evil)
        for evil in PAYLOADS
    ]
    page = open_page(*runs, at="#run-0")
    names = page.locator("#steps .asked b").all_inner_texts()
    assert names[: len(PAYLOADS)] == [
        evil.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") for evil in PAYLOADS
    ]
    for number in range(len(runs)):
        page.evaluate(f"location.hash = '#run-{number}'")
        if opened:
            page.evaluate("for (const row of document.querySelectorAll('.row')) row.click()")
    page.wait_for_timeout(100)
    assert page.evaluate("typeof pwned") == "undefined"
    foreign = "iframe, img, object, form, base, link, video, math, template, .sheet script"
    assert page.locator(foreign).count() == 0
    assert page.title() == "antiloop report"


def test_what_cannot_be_seen_is_shown_as_escapes(open_page):
    page = open_page(run_of(("read", {"path": "a\u202egpj.exe"}, "\x1b[31mred\x00\u200b")))
    page.locator(".row").click()
    text = page.locator("#step-0").inner_text()
    assert "a\\u202egpj.exe" in text
    assert "\\u001b[31mred\\u0000\\u200b" in text


@pytest.fixture
def server():
    """Serve one page on the loopback, and keep what else is asked for."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(self.server.page if self.path == "/" else b"")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.asked = []
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize("has_policy", [True, False])
def test_the_policy_stops_whatever_would_get_into_the_page(browser, tmp_path, server, has_policy):
    text = write_report(tmp_path / "r.html", run_of(*cycle(1))).read_bytes()
    # Without the policy all three things happen: the test would notice them.
    server.page = text if has_policy else text.replace(b"Content-Security-Policy", b"x")
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/")
    page.evaluate(
        """() => new Promise((resolve) => {
          const add = (tag, fields) => document.body.append(
            Object.assign(document.createElement(tag), fields));
          add("script", { text: "window.pwned = 1" });
          add("style", { textContent: "body { display: none }" });
          // An empty image is an error as much as a refused one is; both end the wait.
          add("img", { onload: resolve, onerror: resolve, src: "/image" });
        })"""
    )
    ran = page.evaluate("typeof pwned") != "undefined"
    was_hidden = page.evaluate("getComputedStyle(document.body).display") == "none"
    assert [ran, was_hidden, "/image" in server.asked] == [not has_policy] * 3
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("at", ["", "#run-0"])
def test_a_narrow_screen_needs_no_sideways_scrolling(open_page, scheme, at):
    long = [("a_tool_with_a_very_long_name" * 3, {"word": "x" * 900}, "y" * 900)] * 4
    run = run_of(*DISTINCT, *long, *cycle(6), run_id="a-run-with-a-long-name" * 5)
    page = open_page(run, run, width=360, height=640, scheme=scheme, at=at)
    assert widths(page) == [360, 360]
    page.evaluate("location.hash = '#run-0-step-61'")
    page.wait_for_selector("#step-61.current")
    assert widths(page) == [360, 360]
    press(page, "Escape", "j", "Enter")
    assert widths(page) == [360, 360]
    page.locator("#search").fill("text")
    wait_for_text(page, "#found", "60 of 78 rows")
    assert page.locator("#found").bounding_box()["height"] < 30


CONTRASTS = """() => {
  const part = (value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(part);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ground = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return /^rgba.* 0\\)$/.test(color) ? ground(element.parentElement) : color;
  };
  const hasText = (element) => element.checkVisibility()
    && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll("body *")].filter(hasText).map((element) => {
    const pair = [getComputedStyle(element).color, ground(element)].map(light);
    return [Math.max(...pair) / Math.min(...pair), element.className || element.tagName];
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("at", ["", "#run-0-step-3"])
def test_text_is_readable_on_its_ground(open_page, scheme, at):
    runs = [run_of(*REPEAT, *cycle(6)), *[run_of(*cycle(1))] * 9]
    page = open_page(*runs, scheme=scheme, at=at)
    for fold in page.locator("details:visible > summary").all():
        fold.click()
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 50
    assert [poor for poor in contrasts if poor[0] < 4.5] == []


def test_light_and_dark_follow_the_system(open_page):
    grounds = [
        open_page(run_of(*cycle(1)), scheme=scheme).evaluate(
            "parseInt(getComputedStyle(document.documentElement).backgroundColor.slice(4))"
        )
        for scheme in ("light", "dark")
    ]
    assert grounds[0] > 200 > 60 > grounds[1]


def test_thousands_of_steps_stay_light(open_page):
    steps = [("read", {"path": f"{n % 3000}.md"}, f"text {n} " * 20) for n in range(3990)]
    page = open_page(run_of(*steps, *[("ls", {}, "a")] * 10))
    elements = "document.getElementsByTagName('*').length"
    assert page.evaluate(elements) < 6_000
    page.evaluate("location.hash = '#run-0-step-3995'")
    page.wait_for_selector("#step-3995.current .details")
    assert is_in_view(page, 3995)
    page.wait_for_timeout(100)
    assert page.evaluate(elements) < 6_000
    for share in range(8):
        page.evaluate(f"scrollTo(0, document.body.scrollHeight * {share / 8})")
        page.wait_for_selector(".step")
    assert page.evaluate(elements) < 6_000
    page.locator("#search").fill("text 3989 ")
    wait_for_text(page, "#found", "1 of 4,000 rows")


def test_a_page_without_runs_says_so(open_page):
    page = open_page()
    assert page.locator("#summary").inner_text() == "0 runs"
    assert page.locator("#rows").inner_text() == "There are no runs."
    press(page, "j", "n", "]", "/", "Escape")


def test_a_run_without_calls_can_be_looked_at(open_page):
    page = open_page(run_of())
    assert page.locator("#steps").inner_text() == "No calls."
    press(page, "j", "n", "Enter", "Escape")
