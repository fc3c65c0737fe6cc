"""What of a run is in the page."""

import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from report_pages import cycle, data_of, run_of, texts_of, write_report

from antiloop import Role, ToolCall, health, report
from antiloop._text.markup import visible
from antiloop.formats import TextMessage
from antiloop.report._data.run_data import RUN_BUDGET, TEXT_LIMITS, drawn
from antiloop.report._data.summary import headline, summary
from antiloop.traces import RecordedRun
from antiloop.traces._live.live_session import LiveState


def data(*steps, **known):
    """Draw a run, with the texts where their numbers stand."""
    run = run_of(*steps, **known)
    picture = drawn(run, health.evaluate(run))
    for each in [*picture.data["calls"], *picture.data["results"]]:
        each["text"] = picture.texts[each["text"]]
    return picture.data


def summary_of(run, number=0):
    judged = health.evaluate(run)
    return summary(run, judged, drawn(run, judged), number)


def test_equal_calls_and_results_are_written_once():
    found = data(*cycle(3))
    assert [call["text"] for call in found["calls"]] == [
        *("path: .", "path: a.md", "path: b.md", "who: me")
    ]
    assert [call.get("mark") for call in found["calls"]] == [None, "A", "B", None]
    assert [call for call, *_ in found["steps"]] == [0, 1, 2, 1, 2, 1, 2, 3]
    assert len(found["results"]) == 4


def test_a_step_is_seen_where_the_same_call_brought_nothing_else():
    assert [step[3] for step in data(*cycle(2))["steps"]] == [0, 0, 0, 1, 1, 0]


def test_polling_brings_something_new_each_time():
    polls = [("status", {}, f"{share} % done") for share in (0, 20, 20, 60)]
    assert [step[3] for step in data(*polls)["steps"]] == [0, 0, 1, 0]


def test_noise_in_a_result_is_nothing_new():
    noisy = [("get", {}, f'{{"request_id": "{number}f", "error": "gone"}}') for number in "12"]
    found = data(*noisy)
    assert [step[3] for step in found["steps"]] == [0, 1]
    assert len(found["results"]) == 2


def test_a_result_that_is_not_known_has_no_number():
    assert data(("ls", {}, None), ("ls", {}, None))["steps"] == [[0, -1, 0, 0], [0, -1, 0, 1]]


def test_rounds_and_turns_are_kept():
    calls = tuple(ToolCall("ls", {"n": n}, round=n // 2) for n in range(4))
    run = RecordedRun("r", calls, (None,) * 4, turn_starts=(2,))
    found = drawn(run, health.evaluate(run)).data
    assert (found["siblings"], found["turns"]) == ([1, 3], [2])


def test_a_run_without_calls_can_be_drawn():
    found = data()
    assert (found["steps"], found["calls"], found["lanes"]) == ([], [], 1)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"path": "a", "n": 1, "deep": {"b": [None]}}, 'path: a\nn: 1\ndeep: {"b":[null]}'),
        ('{"path": "a"}', "path: a"),
        ("ls -l", "ls -l"),
        ("[1, 2]", "[1,2]"),
        (None, ""),
    ],
)
def test_arguments_are_written_for_a_person(arguments, shown):
    assert data(("t", arguments, "ok"))["calls"][0]["text"] == shown


def test_a_long_text_is_shortened_and_its_length_is_told():
    found = data(("read", {}, "x" * 10_000))
    assert len(found["results"][0]["text"]) <= TEXT_LIMITS[0]
    assert found["cut"] == {"1": 10_000}


@pytest.mark.parametrize(
    ("count", "words", "limit"), [(200, 2500, 0), (900, 700, 1), (3000, 160, 2)]
)
def test_larger_runs_keep_less_of_each_text(count, words, limit):
    found = data(*[("read", {"n": number}, f"{number} " * words) for number in range(count)])
    lengths = {len(result["text"]) for result in found["results"]}
    assert max(lengths) <= TEXT_LIMITS[limit]
    assert max(lengths) > TEXT_LIMITS[limit] - 4
    assert limit == 2 or sum(len(result["text"]) for result in found["results"]) <= RUN_BUDGET


def test_the_summary_holds_what_is_known_of_the_run():
    run = run_of(
        *cycle(1), run_id="a", source="f:1", agent="me", model="m", input_tokens=5, cost=0.5
    )
    told = summary_of(run, 7)
    assert (told["id"], told["number"], told["status"], told["score"]) == ("a", 7, "Healthy", 100)
    assert (told["agent"], told["model"], told["input_tokens"]) == ("me", "m", 5)
    assert (told["cost"], told["output_tokens"]) == (0.5, None)


@pytest.mark.parametrize("status", [*health.HealthStatus, *LiveState])
def test_the_head_of_the_page_knows_each_status(status):
    assert (
        headline([{"status": status.value}] * 1234) == f"1,234 runs \u00b7 1,234 {status.lower()}"
    )


def test_a_cost_that_is_no_number_does_not_break_the_page():
    judged = health.HealthReport(100, health.HealthStatus.HEALTHY, cost=float("inf"))
    assert summary(run_of(), judged, drawn(run_of(), judged), 0)["cost"] is None


def test_the_worst_run_comes_first_and_equals_keep_their_order(tmp_path):
    stuck = run_of(*[("ls", {}, "a")] * 9, run_id="stuck")
    fine = [run_of(("ls", {}, "a"), run_id=f"fine{number}") for number in range(3)]
    page = write_report(tmp_path / "r.html", *fine, stuck).read_text()
    assert [one["id"] for one in data_of(page, "index")] == ["stuck", "fine0", "fine1", "fine2"]
    assert len(data_of(page, "data-3")["steps"]) == 9


def test_a_run_that_failed_comes_before_the_healthy_ones(tmp_path):
    runs = run_of(("ls", {}, "a"), run_id="fine"), run_of(("ls", {}, "a"), run_id="x", failed=True)
    page = write_report(tmp_path / "r.html", *runs).read_text()
    assert [one["id"] for one in data_of(page, "index")] == ["x", "fine"]


def test_the_same_runs_make_the_same_bytes(tmp_path):
    runs = [run_of(*cycle(4)), run_of(("käse", {"a": {1, 2, "x"}}, "\ud800"))]
    one, other = (write_report(tmp_path / name, *runs).read_bytes() for name in "ab")
    assert one == other
    assert one.isascii()


EVIL = "</script></noscript><script>alert(1)</script><!--<pre>&amp;\u2028\u2029\x00\r\n\ud800'\""


class Tags(HTMLParser):
    """Collects the tags and attributes of a page, as a browser without scripts sees them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))

    def handle_endtag(self, tag):
        self.found.append(tag)


def page_of(*runs, **options):
    page = io.StringIO()
    report.write_page([(run, health.evaluate(run)) for run in runs], page, **options)
    return page.getvalue()


def test_no_byte_of_a_recording_becomes_markup():
    def written(word):
        said = [TextMessage(Role.USER, word, 0)]
        calls = [(word, {word: word}, word)] * 6
        named = {"run_id": word, "agent": word, "model": word, "source": word}
        return page_of(run_of(*calls, messages=said, **named))

    page = written(EVIL)
    assert Tags(page).found == Tags(written("plain")).found
    assert data_of(page, "data-0")["calls"][0]["tool"] == EVIL
    assert data_of(page, "index")[0]["id"] == EVIL


@given(st.lists(st.text(max_size=20), max_size=4))
@example([EVIL])
@example(["\n\n", " ", "\t", "\ufeff", "&#65;"])
def test_the_texts_in_the_plain_page_are_those_of_the_run(words):
    steps = [("t", text, text) for text in words]
    said = [TextMessage(Role.ASSISTANT, text, at) for at, text in enumerate(words)]
    run = run_of(*steps, messages=said)
    picture = drawn(run, health.evaluate(run))
    assert texts_of(page_of(run)) == [visible(text) for text in picture.texts]


def test_the_page_names_no_other_file_and_allows_none():
    text = page_of()
    assert "default-src 'none'" in text
    assert not re.search(r"\b(src|href)=|url\(|@import|https?:(?!//www.w3.org/2000/svg)", text)
    assert text.count("</script>") == 2  # the list of runs, and the script
    assert data_of(text, "index") == []


def test_a_page_is_not_much_larger_than_what_it_shows():
    texts = [f"line {number} of a result, with <tags> & more\n" * 40 for number in range(50)]
    run = run_of(*[("read", {"path": f"{n}.md"}, text) for n, text in enumerate(texts)] * 2)
    assert len(page_of(run)) - len(page_of()) < 1.5 * sum(map(len, texts))
