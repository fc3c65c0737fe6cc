"""Objects in a notebook: small pictures that hold the text of a run as text, and nothing else."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_pages import DISTINCT, REPEAT, cycle, run_of

from antiloop import (
    Agent,
    AgentConfig,
    AgentResult,
    AgentTrace,
    LoopAction,
    LoopDetection,
    LoopDetector,
    LoopVerdict,
    RunStatus,
    ScriptedProvider,
    StepType,
    ToolCall,
    TraceStep,
)
from antiloop.explanation import explain
from antiloop.health import HealthReport, HealthStatus, evaluate
from antiloop.report._notebook.strip import BAD, COLUMNS, TONES, Mark, Strip
from antiloop.traces import RecordedRun

TAGS = {"b", "bdi", "code", "div", "li", "path", "span", "svg", "ul"}
ATTRIBUTES = {
    *("style", "viewbox", "width", "height", "preserveaspectratio", "aria-hidden"),
    *("fill", "fill-opacity", "d"),
}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</div></bdi><b>&amp;",
    "a\u202eb\x00\x1b[2J\ud800",
    "url(http://example.org)",
]
LIMIT = 64_000  # characters of a picture


class Parsed(HTMLParser):
    """The tags, attributes and text of a piece of HTML."""

    def __init__(self, markup):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = set(), [], "", []
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(thing):
    """Return the text of a picture, spaces and breaks alike."""
    return " ".join(Parsed(thing._repr_html_()).text.split())


def result_of(query, answer, said=None):
    """Let an agent make a call until it is stopped, or until it says something."""

    def search(q: str) -> str:
        return answer

    call = ToolCall("search", {"q": query})
    provider = ScriptedProvider([call, said] if said else [call], repeat_last=not said)
    config = AgentConfig(loop_detector=LoopDetector.escalating())
    return Agent([search], provider, config).run("Find it.")


def pictured(text):
    """Return one of each object, with a text in every place that can hold one."""
    run = run_of(*[(text, {text: text}, text)] * 6, run_id=text, source=text)
    error = AgentResult(text, RunStatus.FAILED, error=text, tool_calls=run.calls)
    step = TraceStep(StepType.GRAPH_STALL, text, {"action": text, "details": {"indices": [text]}})
    made = AgentResult(text, RunStatus.COMPLETED, tool_calls=run.calls)
    made = AgentResult(**{**vars(made), "trace": AgentTrace(text, (step,))})
    report = evaluate(run)
    explained = explain(run, LoopDetector.escalating(), 3)
    return [run, report, explained, error, made, result_of(text, text)]


@pytest.fixture(scope="module")
def known():
    """Return the styles of pictures of harmless texts."""
    return {style for thing in pictured("cats") for style in styles(thing._repr_html_())}


@settings(max_examples=15)
@given(text=st.text(max_size=60) | st.sampled_from(HOSTILE))
def test_nothing_of_a_run_is_parsed_as_markup(known, text):
    for thing in pictured(text):
        markup = thing._repr_html_()
        assert markup.isascii()
        found = Parsed(markup)
        assert found.tags <= TAGS
        assert {name for name, _ in found.attributes} <= ATTRIBUTES
        assert styles(markup) <= known


def styles(markup):
    found = Parsed(markup).attributes
    return {re.sub(r"\d+%", "%", value) for name, value in found if name == "style"}


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "</div></bdi><b>&amp;"])
def test_what_looks_like_markup_is_shown_as_it_is(text):
    assert all(text in shown(thing) for thing in pictured(text)[:4])


def test_a_picture_loads_nothing_and_runs_nothing():
    for thing in pictured("cats"):
        assert not re.search(r"url\(|https?:|<script|<style|@import", thing._repr_html_())


def test_a_run_shows_its_calls_and_its_loops():
    run = run_of(*REPEAT, *DISTINCT[:3], run_id="a1", source="runs.jsonl:3")
    text = shown(run)
    for part in (
        *("a1", "Likely stuck", "9 calls, 5 wasted, runs.jsonl:3", "step 0", "step 8"),
        *(
            "A search query: cats \u00d7 6",
            'search "cats" \u00d7 6, steps 0-5:',
            "notify at step 2, block",
        ),
    ):
        assert part in text
    assert "read" not in text


def test_a_cycle_stands_in_two_lanes_below_the_suspicion():
    runs = run_of(*cycle(1)), run_of(*cycle(2))
    rows = [re.search(r'viewBox="0 0 \d+ (\d+)"', each._repr_html_())[1] for each in runs]
    assert rows == ["2", "6"]  # lanes, one row for loops, three for the curve


def test_a_result_shows_what_its_own_detector_found():
    stopped = result_of("cats", "No results.")
    text = shown(stopped)
    assert "loop_detected" in text
    assert "notify at step 2, block at step 3, stop at step 4" in text
    free = AgentResult("r", RunStatus.COMPLETED, tool_calls=stopped.tool_calls)
    assert "search \u00d7 5" not in shown(free)
    assert "A search q: cats \u00d7 5" in shown(free)


def test_a_result_shows_the_answer():
    text = shown(result_of("cats", "No results.", "No cats."))
    assert "completed 2 iterations, 1 call" in text
    assert text.endswith("answer No cats.")


def test_a_result_that_failed_shows_the_error():
    assert "error Boom" in shown(AgentResult("r", RunStatus.FAILED, error="Boom"))


def test_a_report_shows_its_warnings_the_first_ones_in_full():
    report = evaluate(run_of(*REPEAT))
    text = shown(report)
    assert f"Likely stuck score {report.score}, 6 calls, 5 wasted" in text
    assert f"{report.warnings[0].name}, step 2: {report.warnings[0].message}" in text
    assert f"and {len(report.warnings) - 5} more" in text


def test_an_explanation_shows_each_count_and_the_ladder():
    run = run_of(*REPEAT)
    text = shown(explain(run, LoopDetector.escalating(), 3))
    assert "Explanation of step 3 block" in text
    assert 'step 3: search {"query":"cats"} the same call 3 times before' in text
    assert "repeat4 of 3 in a row" in text
    assert "repeat: notify \u2192 block \u2192 stop" in text
    assert "no verdict" in shown(explain(run, LoopDetector.default(), 1))


@pytest.mark.parametrize(
    "thing",
    [
        RecordedRun("empty"),
        HealthReport(100, HealthStatus.HEALTHY),
        AgentResult("r", RunStatus.COMPLETED),
        AgentResult("r", RunStatus.COMPLETED, tool_calls=(ToolCall("a", "{broken"),)),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_holds_next_to_nothing_has_a_picture(thing):
    assert Parsed(thing._repr_html_()).tags <= TAGS


def long_run(steps):
    """Make a run whose steps look different from their neighbors."""
    return run_of(*[(f"t{n % 40}", {"q": n % 7}, f"{n % 11}") for n in range(steps)])


def long_report(steps):
    found = LoopDetection("repeat", "x" * 5_000, indices=tuple(range(0, steps, 2)))
    verdicts = tuple((n, LoopVerdict(LoopAction.STOP, found)) for n in range(0, steps, 99))
    curve = tuple((n, n * n % 97 / 97) for n in range(steps))
    return HealthReport(0, HealthStatus.FAILED, calls=steps, verdicts=verdicts, suspicion=curve)


def test_the_picture_of_a_long_run_is_small():
    run = long_run(10_000)
    result = AgentResult("r", RunStatus.MAX_ITERATIONS, tool_calls=run.calls, error="x" * 10**6)
    explained = explain(run_of(*REPEAT * 20), LoopDetector.escalating(), 100)
    pictures = [each._repr_html_() for each in (run, result, long_report(10_000), explained)]
    assert max(map(len, pictures)) < LIMIT
    assert "<code>antiloop.health.evaluate(run)</code>" in pictures[0]


@given(
    st.lists(
        st.builds(
            Mark,
            st.integers(0, 9_999),
            st.integers(0, 5),
            st.sampled_from(TONES),
            st.integers(0, 2),
            st.integers(-1, 1),
        ),
        max_size=300,
    )
)
def test_a_strip_is_bounded_by_its_columns(marks):
    svg = Strip(10_000, marks, 6, range(10_000), [0], [(n, 0.5) for n in range(10_000)]).svg()
    ends = [int(x) + int(w) for x, w in re.findall(r"M(\d+) [\d.]+h(\d+)", svg)]
    assert max(ends) <= COLUMNS
    assert len(svg) < LIMIT


def test_of_the_marks_in_one_place_the_strongest_is_drawn():
    marks = [Mark(n, 0, TONES[n % 2], rank=n % 2) for n in range(1_000)]
    assert TONES[0] not in Strip(1_000, marks, 1).svg()


def contrast(one, other):
    brightness = sorted((luminance(one) + 0.05, luminance(other) + 0.05))
    return brightness[1] / brightness[0]


def luminance(color):
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("page", ["#ffffff", "#1e1e1e", "#111111", "#383838"])
def test_colors_are_seen_on_light_and_on_dark_pages(page):
    # 3 is what WCAG 2 asks of graphics and large text.
    assert min(contrast(color, page) for color in (*TONES, BAD)) >= 3


CELLS = """
import antiloop, sys
from antiloop import Agent, AgentConfig, LoopDetector, ScriptedProvider, ToolCall
from antiloop.traces import read_runs
assert "antiloop.report" not in sys.modules
def search(query: str) -> str:
    return "No results."
provider = ScriptedProvider([ToolCall("search", {"query": "cats"})], repeat_last=True)
config = AgentConfig(loop_detector=LoopDetector.escalating())
Agent([search], provider, config).run("Find cats.")
---
run = next(read_runs("docs/examples/runs.jsonl"))
run
---
antiloop.health.evaluate(run)
---
antiloop.explanation.explain(run, LoopDetector.default())
"""


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_a_notebook_shows_each_object_as_a_picture(pytestconfig, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat

    monkeypatch.chdir(pytestconfig.rootpath)
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath / "src"))
    new = nbformat.v4
    book = new.new_notebook(cells=[new.new_code_cell(each) for each in CELLS.split("---\n")])
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3").execute()
    outputs = [cell.outputs[0].data for cell in book.cells]
    assert [each["text/plain"].partition("(")[0] for each in outputs] == [
        *("AgentResult", "RecordedRun", "HealthReport", "Explanation")
    ]
    for each in outputs:
        assert "<svg " in each["text/html"]
        assert Parsed(each["text/html"]).tags <= TAGS
