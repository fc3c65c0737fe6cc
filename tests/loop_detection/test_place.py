"""Clicks within a few pixels are one click; clicks on neighbors are not."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import ask, step

from antiloop import LoopDetector
from antiloop.loop_detection import LoopAction, NearRepeatDetector, ToolPolicy
from antiloop.loop_detection._evidence.place import are_beside, place_of

PAGE = "\n".join(f"[{number}] a link of the page that stays as it was" for number in range(12))
ANSWERS = {"acknowledged": "clicked", "silent": "", "a page": PAGE, "not known": None}
FORMS = {
    "x and y": lambda x, y: {"x": x, "y": y},
    "a list": lambda x, y: {"action": "left_click", "coordinate": [x, y]},
    "inside": lambda x, y: {"at": {"x": x, "y": y}, "button": "left"},
}
ROUNDS = {"a page": 6, "not known": 6}
NUMBER = st.integers(60, 4_000)
SHIFTS = st.lists(
    st.tuples(st.integers(-2, 2), st.integers(-3, 2)), min_size=12, max_size=12, unique=True
)


def clicks(places, answer, form="x and y", tool="click"):
    return [step(tool, answer, **FORMS[form](*place)) for place in places]


def found_after(run):
    """Return after how many of the steps the detector speaks for the first time."""
    monitor = LoopDetector([NearRepeatDetector(4)]).monitor()
    actions = [monitor.after([made], [text]).action for made, text in run]
    return next((n for n, each in enumerate(actions, 1) if each is not LoopAction.CONTINUE), None)


@settings(max_examples=25)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ANSWERS)
@given(NUMBER, NUMBER, SHIFTS)
def test_clicks_at_one_place_are_found_wherever_it_is(form, kind, x, y, shifts):
    run = clicks([(x + right, y + down) for right, down in shifts], ANSWERS[kind], form)
    assert found_after(run) == ROUNDS.get(kind, 12)


@pytest.mark.parametrize("answer", ["clicked", "", None])
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=14, unique=True))
def test_clicks_on_cells_are_left_alone(answer, cells):
    assert found_after(clicks([(100 + 20 * x, 80 + 20 * y) for x, y in cells], answer)) is None


@given(st.lists(st.tuples(st.integers(0, 49), st.integers(0, 49)), max_size=14, unique=True))
def test_small_numbers_may_be_cells_of_a_board(cells):
    assert found_after(clicks(cells, None)) is None


@given(NUMBER, NUMBER, st.integers(-9, 9), st.integers(-9, 9))
def test_five_pixels_in_each_direction_are_near(x, y, right, down):
    x, y = x + 9, y + 9
    places = [place_of({"x": x, "y": y}), place_of({"x": x + right, "y": y + down})]
    assert are_beside(*places) is (max(abs(right), abs(down)) <= 5)
    assert not are_beside(places[0], None)
    assert not are_beside(None, places[1])


@pytest.mark.parametrize(
    "arguments",
    [
        {"offset": 512, "limit": 300},
        {"x": 512},
        {"x": 512, "y": 300, "z": 7},
        {"start": [512, 300], "end": [600, 300]},
        {"x": 512, "y": "down"},
        {"x": 512_000, "y": 300},
        {"x": 512.5, "y": 300},
        {"y": 512, "yx": 300},
        "512 300",
    ],
)
def test_other_numbers_are_no_place(arguments):
    assert place_of(arguments) is None


def test_another_button_is_another_click():
    buttons = ["left", "right"] * 6
    run = [step("click", None, x=512 + n % 3, y=300, button=b) for n, b in enumerate(buttons)]
    assert found_after(run[::2]) == 6
    assert found_after(run[:11]) == 11
    assert ask(NearRepeatDetector(), *run[:11]).repetitions == 6


def test_clicks_with_other_answers_and_of_other_tools_are_other_clicks():
    places = [(512 + n % 3, 300 + n % 4) for n in range(12)]
    pages = [
        step("click", f"page {'abcdefghijkl'[n]}", x=x, y=y) for n, (x, y) in enumerate(places)
    ]
    assert found_after(pages) is None
    names = [step(f"click_{'ab'[n % 2]}", None, x=x, y=y) for n, (x, y) in enumerate(places[:10])]
    assert found_after(names) is None


def test_a_tool_that_is_declared_to_change_something_is_left_alone():
    run = clicks([(512 + n % 3, 300 + n // 3) for n in range(12)], "clicked")
    detector = LoopDetector([NearRepeatDetector()], tools={"click": ToolPolicy(mutates=True)})
    assert detector.check(*map(list, zip(*run))) is None


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_resumed_run_decides_like_one_without_a_break(kind):
    run = clicks([(512 + n % 5, 300 + n // 5) for n in range(15)], ANSWERS[kind])
    detector = LoopDetector.escalating()
    whole, broken = detector.monitor(), detector.monitor()
    actions = []
    for made, text in run:
        snapshot = json.loads(json.dumps(broken.snapshot()))
        broken = detector.monitor()
        broken.restore(snapshot)
        actions.append(broken.after([made], [text]))
        assert actions[-1] == whole.after([made], [text])
    assert "notify" in {each.action.value for each in actions}
