"""Fewer failures are progress, and so is another number in the answer to the same call."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import failed, features_of, step, verdicts

from antiloop import LoopDetector, ToolCall, ToolResult
from antiloop.loop_detection._evidence import amount
from antiloop.loop_detection._evidence.amount import amount_left
from antiloop.loop_detection._evidence.sameness import is_step_forward

WORDS = "amber birch cedar daisy elder fern grape hazel iris jasmin kale lilac maple oak".split()
ANSWERS = (
    "{} failed",
    "{} tests failed, 400 passed",
    "Error: {} problems found",
    '{{"status": "error", "failed": {}}}',
    "build failed with {} errors",
)
PRESETS = (LoopDetector.default, LoopDetector.escalating)
falling = st.sets(st.integers(1, 399), min_size=2, max_size=12).map(
    lambda counts: sorted(counts, reverse=True)
)
unlike = st.lists(st.integers(1, 399), min_size=2, max_size=9, unique=True)
presets = pytest.mark.parametrize("preset", PRESETS)


def actions(preset, steps):
    return {verdict.action.value for verdict in verdicts(preset(), *([each] for each in steps))}


@presets
@given(falling, st.sampled_from(ANSWERS), st.booleans(), st.booleans())
def test_fewer_failures_are_progress(preset, counts, answer, is_error, is_varied):
    made = failed if is_error else step
    run = [
        made("test", answer.format(count), suite=WORDS[at] if is_varied else "all")
        for at, count in enumerate(counts)
    ]
    assert actions(preset, run) == {"continue"}


@presets
@given(falling, st.sampled_from(["running, {} % done", "Error: only {}% done"]), st.booleans())
def test_a_rising_percentage_is_progress(preset, counts, answer, is_varied):
    run = [
        step("state", answer.format(100 - count / 4), job=WORDS[at] if is_varied else 5)
        for at, count in enumerate(counts)
    ]
    assert actions(preset, run) == {"continue"}


@presets
@pytest.mark.parametrize(
    "answer", ["Error: errno {}", "HTTP error {}", "error, code={}", "{} of 400 checks failed"]
)
@given(unlike)
def test_another_number_is_another_answer_to_the_same_call(preset, answer, codes):
    run = [failed("open", answer.format(code), path="x") for code in codes]
    assert actions(preset, run) == {"continue"}


@presets
@pytest.mark.parametrize("answer", ["Error: errno {}", "{} failed"])
def test_between_different_calls_numbers_are_cosmetic(preset, answer):
    run = [failed("get", answer.format(7 + at), page=word) for at, word in enumerate(WORDS[:6])]
    assert actions(preset, run) != {"continue"}


@given(falling, st.booleans(), st.booleans())
def test_less_is_left_to_the_same_call_or_in_the_same_words_only(counts, is_same, is_alike):
    said = ["{} failed", "{} failed" if is_alike else "Error: {} problems found"]
    asked = ["all", "all" if is_same else "unit"]
    old, new = (
        features_of(ToolCall("test", {"suite": suite}), ToolResult(text.format(count), True))
        for suite, text, count in zip(asked, said, counts)
    )
    assert is_step_forward(new, [[old]]) == (is_same or is_alike)
    assert not is_step_forward(old, [[new]])


def test_noise_is_no_other_answer():
    run = [failed("get", f"Error: no answer in 3.{n}s (pid {n})", url="u") for n in range(4)]
    assert "block" in actions(LoopDetector.escalating, run)


@presets
def test_a_streak_begins_anew_after_a_step_forward(preset):
    counts = [9, 9, 3, 3, 3, 3, 3, 3]
    run = [failed("test", f"{count} failed", suite="all") for count in counts]
    assert [v.action.value for v in verdicts(preset(), *([each] for each in run))][:4] == [
        "continue"
    ] * 4
    assert actions(preset, run) != {"continue"}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=14), st.booleans())
def test_a_resumed_run_knows_how_much_was_left(counts, is_varied):
    live, resumed = (LoopDetector.escalating().monitor() for _ in range(2))
    for at, count in enumerate(counts):
        made, result = failed("test", f"{count} failed", suite=WORDS[at] if is_varied else "all")
        again = LoopDetector.escalating().monitor()
        again.restore(json.loads(json.dumps(resumed.snapshot())))
        resumed = again
        assert resumed.after([made], [result]).action is live.after([made], [result]).action


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("12 failed", 12),
        ("12 failed, 3 errors", 15),
        ('{"failed": 12, "passed": 3}', 12),
        ("2 tests failing", 2),
        ("40% done", 600_000),
        ("99.5 % done", 5_000),
        ("140 % done", 0),
        ("Request failed: 503", None),
        ("error on line 7", None),
        ("all fine", None),
    ],
)
def test_how_much_is_left_to_do(text, amount):
    assert amount_left(text) == amount


@pytest.mark.parametrize(
    ("text", "amount"),
    [("step 2 after 30s, 8.5 seconds left", 8), ("40% after 30s", 600_000), ("10 m", None)],
)
def test_of_a_wait_the_last_time_is_left(text, amount):
    assert amount_left(text, is_waiting=True) == amount


_TEXTS = st.lists(
    st.sampled_from(["12", "7", "404", "%", ":", '"', "Failed", "ERRORS", "left", "of", "tests"]),
    max_size=8,
)


@given(_TEXTS, st.sampled_from(["", " "]))
def test_looking_for_words_first_changes_no_amount(words, between):
    text = between.join(words)
    found = amount._LEFT.findall(text.lower())
    percent = amount._PERCENT.search(text)
    if found:
        assert amount_left(text) == sum(int(before or after) for before, after in found)
    else:
        assert (amount_left(text) is None) is (percent is None)


@given(at=st.datetimes(), form=st.sampled_from(["%H:%M", "%X", "%Y-%m-%d", "%F %H:%M:%S.%f"]))
def test_the_end_of_a_time_is_not_an_amount(at, form):
    assert amount_left(f"{at.strftime(form)} build failed") is None
    assert amount_left(f"{at.strftime(form)} 3 tests failed") == 3


@given(st.permutations([*range(10, 60, 4)]))
def test_a_build_that_fails_at_any_time_of_a_minute_fails_in_the_same_way(seconds):
    def said(monitor, clock):
        for number, second in enumerate(seconds):
            yield monitor.record_call("read", {"path": f"{number % 2}.py"}, "def f(): return")
            error = f"12:30:{second if clock else 0:02} build failed: main is undefined"
            yield monitor.record_call("build", {}, error)

    one, other = (said(LoopDetector.escalating().monitor(), clock) for clock in (True, False))
    assert [verdict.action for verdict in one] == [verdict.action for verdict in other]


@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
@pytest.mark.parametrize("line", ["git checkout {} && pytest -q", "git switch {}; make test"])
def test_the_same_failure_of_other_states_is_another_failure(preset, line):
    said = "FAILED tests/test_a.py - assert 1 == 2\nExit code 1"
    run = [step("bash", said, command=line.format(word)) for word in WORDS[:7]]
    assert actions(getattr(LoopDetector, preset), run) == {"continue"}
    # To be on one state again is none, and neither is a new edit for ever.
    again = [step("bash", said, command=line.format(word)) for word in WORDS[:2] * 6]
    assert "stop" in actions(LoopDetector.escalating, again)
    edits = [step("bash", said, command=f"sed -i s/a/{word}/ a.py && make") for word in WORDS[:9]]
    assert "stop" in actions(LoopDetector.escalating, edits)
