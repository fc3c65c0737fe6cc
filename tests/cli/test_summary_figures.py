"""What one run adds to a summary, and the sums over runs."""

import pickle
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import ToolCall, ToolResult
from antiloop._text.masking import SECRETS
from antiloop.cli._judged_run import judge, profile_of
from antiloop.cli._output.figures import Figures
from antiloop.cli._summary.figures import RunFigures
from antiloop.cli._summary.summary import (
    NAMES,
    OTHERS,
    UNTIMED_IDS,
    Period,
    Summary,
    judge_and_count,
)
from antiloop.loop_detection.presets import PRESETS
from antiloop.prices import Price, Prices
from antiloop.traces import RecordedRun, RunEvent, read_runs

FIXTURES = sorted((Path(__file__).parents[1] / "traces" / "fixtures").glob("*/*"))
PERIOD = Period(100.0, 200.0, 300.0)
PRICES = Prices({"small": Price(input=10.0, output=0.0)})

amounts = st.none() | st.integers(0, 9)
figures = st.builds(
    Figures,
    *[st.integers(0, 9)] * 4,
    wasted_tokens=amounts,
    cost=amounts,
    wasted_cost=amounts,
)
names = st.none() | st.sampled_from("abc")
counted = st.builds(
    RunFigures,
    began_s=st.none() | st.sampled_from([50.0, 100.0, 199.0, 200.0, 999.0]),
    agent=names,
    model=names,
    whole=figures,
    by_tool=st.dictionaries(st.sampled_from("xyz"), figures, max_size=3),
    by_loop=st.dictionaries(
        st.sampled_from("lmn"), figures.map(lambda each: ("a loop", each)), max_size=3
    ),
)


def looping(calls=6, **of_run):
    """Return a run in which one call is made again and again, at a price."""
    events = [
        RunEvent("llm_call_completed", step, model="small", time_s=200.0 + step, input_tokens=100)
        for step in range(calls)
    ]
    call, result = ToolCall("ls", {"p": "."}), ToolResult("a", "a.py")
    return RecordedRun("a", (call,) * calls, (result,) * calls, events=tuple(events), **of_run)


def judged_with(figures, run_id="a"):
    judged = judge(RecordedRun(run_id), profile_of(PRESETS["default"]()))
    return replace(judged, figures=figures)


def summary_of(*runs):
    summary = Summary(PERIOD, SECRETS)
    for number, each in enumerate(runs):
        summary.add(judged_with(each, f"run {number}"))
    return summary


@given(figures, figures, figures)
def test_sums_do_not_depend_on_the_order(one, other, third):
    assert one + other == other + one
    assert (one + other) + third == one + (other + third)
    assert one + Figures() == one


@given(
    st.lists(counted, max_size=6).flatmap(
        lambda all_: st.tuples(st.just(all_), st.permutations(all_))
    )
)
def test_a_summary_does_not_depend_on_the_order_of_its_runs(both):
    one, other = (summary_of(*runs).to_dict() for runs in both)
    assert {**one, "untimed": 0} == {**other, "untimed": 0}


@given(st.lists(counted, max_size=6))
def test_every_run_is_counted_once(runs):
    summary = summary_of(*runs)
    timed = summary.whole.now + summary.whole.before
    late = [run.whole for run in runs if run.began_s is not None and run.began_s >= 100]
    assert timed == sum(late, Figures())
    assert summary.earlier == sum(run.began_s == 50 for run in runs)
    assert len(summary.untimed_ids) == sum(run.began_s is None for run in runs)
    assert summary.seen == len(runs)
    for group in ("agents", "models"):
        rows = [row for _, row in summary.rows(group)]
        assert sum((row.now + row.before for row in rows), Figures()) == timed
        assert sum((row.untimed for row in rows), Figures()) == summary.untimed
    assert sum(summary.timeline.parts, Figures()) == timed


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_tools_of_a_run_share_its_calls_and_its_waste(path):
    profile = profile_of(PRESETS["escalating"](), PRICES)
    for run in read_runs(str(path)):
        judged = judge_and_count(run, profile)
        whole, tools = judged.figures.whole, sum(judged.figures.by_tool.values(), Figures())
        assert (tools.calls, tools.wasted_calls) == (whole.calls, whole.wasted_calls)
        assert (tools.wasted_tokens or 0) == (whole.wasted_tokens or 0)
        assert (tools.wasted_cost or 0) == pytest.approx(whole.wasted_cost or 0)
        assert tools.cost is None


def test_a_loop_is_counted_with_what_it_took():
    judged = judge_and_count(
        looping(agent="a", model="m"), profile_of(PRESETS["default"](), PRICES)
    )
    whole = Figures(1, 1, 6, 5, 500, pytest.approx(0.006), pytest.approx(0.005))
    assert replace(judged.figures, by_loop={}) == RunFigures(
        200.0, "a", "m", whole, {"ls": replace(whole, cost=None)}
    )
    assert list(judged.figures.by_loop.values()) == [('ls "."', Figures(1, 1, 6, 5))]


def test_without_prices_nothing_is_said_of_money():
    figures = judge_and_count(looping(), profile_of(PRESETS["default"]())).figures
    assert (figures.whole.cost, figures.whole.wasted_cost) == (None, None)
    assert figures.by_tool["ls"].wasted_cost is None


def test_tokens_that_no_recording_tells_are_not_estimated():
    run = replace(looping(), events=())
    figures = judge_and_count(run, profile_of(PRESETS["default"]())).figures
    assert figures.by_tool["ls"] == Figures(1, 1, 6, 5)
    assert figures.began_s is None


@pytest.mark.parametrize("time_s", [float("nan"), float("inf")])
def test_a_time_that_is_none_is_no_time(time_s):
    run = RecordedRun("a", events=(RunEvent("user_message", time_s=time_s),))
    assert judge_and_count(run, profile_of(PRESETS["default"]())).figures.began_s is None


def test_another_process_can_send_it():
    judged = judge_and_count(looping(), profile_of(PRESETS["default"](), PRICES))
    assert pickle.loads(pickle.dumps(judged)) == judged


def test_the_trend_is_the_change_of_the_wasted_share():
    before = RunFigures(100.0, "a", None, Figures(1, 0, 10, 1), {})
    now = RunFigures(250.0, "a", None, Figures(2, 1, 10, 4), {})
    [(_, row)] = summary_of(before, now).rows("agents")
    assert row.trend == pytest.approx(0.3)
    assert [summary_of(one).whole.trend for one in (before, now)] == [None, None]


def test_what_wastes_most_comes_first():
    runs = [
        RunFigures(250.0, each, None, Figures(1, 0, 9, waste), {})
        for each, waste in zip("abc", (2, 5, 0))
    ]
    assert [name for name, _ in summary_of(*runs).rows("agents")] == ["b", "a", "c"]


def test_memory_does_not_grow_with_the_runs():
    summary = Summary(PERIOD, SECRETS)
    judged = judged_with(None)
    for number in range(NAMES + 50):
        one = Figures(1, 0, 1)
        loops = {f"l{number}": ("a loop", one)}
        names = f"agent {number}", f"model {number}"
        run = RunFigures(250.0, *names, one, {f"t{number}": one}, loops)
        summary.add(replace(judged, figures=run))
        summary.add(replace(judged, figures=replace(run, began_s=None)))
    for group in ("agents", "models", "tools"):
        rows = dict(summary.rows(group))
        assert len(rows) == NAMES + 1
        assert rows[OTHERS].now.runs == 50
    assert len(summary.loops()) == NAMES
    assert len(summary.untimed_ids) == UNTIMED_IDS
    assert summary.untimed.runs == NAMES + 50


def test_secrets_in_names_are_masked_and_long_names_cut():
    secret = "https://bob:hunter2@example.org"
    run = RunFigures(250.0, secret, "m" * 9_999, Figures(1), {secret: Figures(1)})
    summary = summary_of(run)
    summary.add(judged_with(replace(run, began_s=None), secret))
    told = str(summary.to_dict())
    assert "hunter2" not in told
    assert "bob:***@example.org" in told
    assert len(told) < 3_000


def test_a_run_that_was_not_counted_is_refused():
    with pytest.raises(ValueError, match="judge it with judge_and_count"):
        Summary(PERIOD, SECRETS).add(judged_with(None))


def test_all_figures_are_told_as_json():
    told = summary_of(RunFigures(250.0, None, None, Figures(1, 0, 4, 1), {})).to_dict()
    assert set(told["total"]["now"]) == {each.name for each in fields(Figures)} | {"wasted_share"}
    assert told["agents"][0]["name"] is None
    assert told["total"]["now"]["wasted_share"] == 0.25
    assert (told["before_since"], told["until"]) == ("1970-01-01T00:01:40Z", "1970-01-01T00:05:00Z")
