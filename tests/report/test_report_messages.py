"""What was said in a run, on the page."""

from report_pages import run_of

from antiloop import Role, health
from antiloop.formats import TextMessage
from antiloop.report.run_data import TEXT_LIMITS, run_data

LONG = "I have looked at this file for a long time. " * 20
SAID = (
    TextMessage(Role.USER, "<b>Mend</b> it, password=hunter2", 0),
    TextMessage(Role.ASSISTANT, LONG, 1),
    TextMessage(Role.ASSISTANT, "Done.\u202e", 2),
)
STEPS = [("ls", {}, "a"), ("cat", {"path": "a"}, "b")]


def test_what_was_said_is_masked_and_has_its_place():
    run = run_of(*STEPS, messages=SAID)
    messages = run_data(run, health.evaluate(run))["messages"]
    assert [(one["position"], one["role"]) for one in messages] == [
        (0, "user"),
        (1, "assistant"),
        (2, "assistant"),
    ]
    assert "hunter2" not in str(messages)


def test_very_long_words_are_shortened():
    words = "word " * TEXT_LIMITS[0]
    run = run_of(*STEPS, messages=[TextMessage(Role.ASSISTANT, words, 1)])
    (message,) = run_data(run, health.evaluate(run))["messages"]
    assert (len(message["text"]) <= TEXT_LIMITS[0], message["length"]) == (True, len(words))


def opened(page, step):
    page.locator(f"#step-{step} .row").click()
    return page.locator(f"#step-{step} .details")


def test_the_words_stand_with_the_call_that_follows_them(open_page):
    page = open_page(run_of(*STEPS, messages=SAID))
    first = opened(page, 0).inner_text()
    assert first.index("Said by the user") < first.index("Call of ls")
    assert "<b>Mend</b> it, password=***" in first
    last = opened(page, 1).inner_text()
    assert last.index("Said by the assistant") < last.index("Call of cat") < last.index("Done.")
    assert "Done.\\u202e" in last


def test_long_words_are_folded(open_page):
    page = open_page(run_of(*STEPS, messages=SAID))
    fold = opened(page, 1).locator("details.said")
    assert fold.count() == 1
    assert not fold.locator("pre").is_visible()
    fold.locator("summary").click()
    assert fold.locator("pre").inner_text().strip() == LONG.strip()


def test_a_run_of_words_alone_shows_them(open_page):
    page = open_page(run_of(messages=[TextMessage(Role.ASSISTANT, "I will look.", 0)] * 3))
    words = page.locator("#warnings").inner_text()
    assert words.count("I will look.") == 4  # once in the warning
