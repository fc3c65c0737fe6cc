"""Numbers that say nothing new, and numbers that are the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection import NearRepeatDetector
from antiloop.loop_detection._evidence.effect import seems_to_look
from antiloop.loop_detection._evidence.noise import measures

LISTING = "total 8\n-rw-r--r-- 1 u u 12 app.log"


def taken(command, *results, preset="default"):
    monitor = getattr(LoopDetector, preset)().monitor()
    calls = [ToolCall("bash", {"command": command})]
    return [monitor.after(calls, [text]).action.value for text in results]


@pytest.mark.parametrize(
    "answer",
    [
        "mean {} ms",
        "{} ms",
        "Total time: {} s",
        "p95 latency = {} ms",
        "best of 5: {} usec per loop",
    ],
)
@given(times=st.lists(st.integers(100, 9999), min_size=4, max_size=7, unique=True))
def test_a_time_that_is_the_answer_is_another_answer(answer, times):
    assert measures(answer.format(times[0]))
    assert set(taken("python bench.py", *map(answer.format, times))) == {"continue"}


TIMES = [
    *("took took_ms tookMs elapsed elapsed_ms elapsed_time latency duration durationMs".split()),
    *("time_ms timeMs time_taken timeTaken total_time_taken uptime_s age_seconds".split()),
    *("query_time searchTime search_time_ms executionTimeMs response_time api_duration_ms".split()),
]


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("form", ['{{"n": 1, "{}": {}, "at": "/a"}}', "1. Refunds /a\n{}: {}"])
@given(times=st.lists(st.integers(0, 9999) | st.floats(0.001, 99), min_size=3, max_size=5))
def test_the_time_that_an_answer_took_is_noise_under_any_of_its_names(name, form, times):
    calls = [ToolCall("find_page", {"q": "refunds"})] * len(times)
    results = [form.format(name, f"{each:.3f}") for each in times]
    assert LoopDetector.default().check(calls, results) is not None


@pytest.mark.parametrize("name", ["avg_response_time", "mean_query_time_ms", "p95_latency_ms"])
def test_a_time_that_sums_up_others_is_the_answer(name):
    answers = [f'{{"n": 1, "{name}": {each}}}' for each in (31, 33, 35, 32)]
    calls = [ToolCall("query_metrics", {"of": "shop"})] * len(answers)
    assert LoopDetector.default().check(calls, answers) is None


@pytest.mark.parametrize("state", ["completed", "done", "error", "failed", "killed", "success"])
def test_the_time_since_work_has_ended_is_noise(state):
    def told(said):
        calls = [ToolCall("get_job_status", {"job": 7})] * 3
        results = [f'{{"name": "a", "state": "{said}", "age_seconds": {n}}}' for n in (40, 55, 70)]
        return LoopDetector.default().check(calls, results)

    assert told(state) is not None
    assert told("healthy") is None


@pytest.mark.parametrize("answer", ["12 passed in {} s", "Done in {} s.", "ok\tpkg\t{}s"])
def test_a_time_beside_the_answer_is_noise(answer):
    assert not measures(answer.format(31))
    assert taken("make test", *map(answer.format, (31, 33, 35)))[-1] == "raise"


def listed(counts, tool="shell", command="ls -la /srv/app | head -{}"):
    return [ToolCall(tool, {"command": command.format(n)}) for n in counts]


def test_a_look_that_differs_in_numbers_only_is_the_same_look():
    found = NearRepeatDetector(4)
    assert found.check(listed(range(20, 25)), [LISTING] * 5) is None
    assert found.check(listed(range(20, 26)), [LISTING] * 6) is not None
    assert found.check(listed([20] * 4), [LISTING] * 4) is not None


@pytest.mark.parametrize(
    ("calls", "answer"),
    [
        (listed(range(9), command="python fill.py {}"), LISTING),  # it may do something
        (listed(range(9), command="ls room{}"), LISTING),  # a name, not a number
        (listed(range(9)), "available"),  # a value
        ([ToolCall("show_version", {"host": f"rtr-{n}"}) for n in range(9)], LISTING),
        ([ToolCall("show_version", {"host": f"10.0.4.{n}"}) for n in range(9)], LISTING),
        ([ToolCall("click", {"x": n, "y": 5}) for n in range(9)], LISTING),
    ],
)
def test_other_calls_with_other_numbers_are_other_calls(calls, answer):
    assert NearRepeatDetector(4).check(calls, [answer] * 9) is None


def test_a_command_that_only_prints_only_looks():
    lines = ["ls -la | head -20", "cat a.py", "tail -5 log | wc -l", "ls > list.txt", "ls; make"]
    looks = [seems_to_look("bash", {"command": line}) for line in lines]
    assert looks == [True, True, True, False, False]
