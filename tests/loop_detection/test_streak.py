"""Looks between waits are paced by them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, fresh_answers, step, verdicts

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection import RecurrenceDetector
from antiloop.loop_detection._evidence.streak import is_paced
from antiloop.loop_detection._evidence.window import Window

LAPS = 10
ACT = st.sampled_from(["end_turn", "skip_track", "tap", "approve", "pump", "fold_frob"])
LOOK = st.sampled_from(["now_playing", "get_board", "ocr", "take_photo", "read_scale"])
OK = st.sampled_from(["ok", "ACK", '{"ok": true}', '{"success": true}', "Tapped"])


def test_a_wait_beside_a_look_is_a_wait_between_no_two_of_them_in_either_order():
    look, wait = (ToolCall("get_job"), "count 2"), (ToolCall("wait_for_job"), "ok")
    said = []
    for first in ([look, wait], [wait, look]):
        monitor = LoopDetector.escalating().monitor()
        monitor.after(*zip(*first))
        said.append([monitor.after([call], [told]).action for call, told in (look, wait, look)])
    assert said[0] == said[1]


@given(st.lists(st.sets(st.sampled_from(["get_page", "wait_agent"]), min_size=1), max_size=9))
def test_looks_are_paced_where_a_wait_lies_between_each_two(replies):
    window = Window()
    for names in replies:
        window.append([ToolCall(name) for name in sorted(names)], ["running"] * len(names))
    looks = [at for at, names in enumerate(replies) if "get_page" in names]
    parted = ["wait_agent" in set().union(*replies[a:b]) for a, b in zip(looks, looks[1:])]
    streak = [item for item in window if item.tool == "get_page"]
    assert is_paced(window, streak) == (bool(parted) and all(parted))


def actions(steps):
    return [
        each.action.value for each in verdicts(LoopDetector.escalating(), *([s] for s in steps))
    ]


@given(ACT, LOOK, OK)
def test_an_act_is_no_evidence_while_the_look_after_it_shows_something_new(act, look, said):
    news = fresh_answers("There is {} now.")
    run = [each for _ in range(LAPS) for each in (step(act, said), step(look, next(news)))]
    assert set(actions(run)) == {"continue"}


@given(ACT, LOOK, OK)
def test_act_and_look_are_a_cycle_once_the_look_shows_the_same_again(act, look, said):
    run = [step(act, said), step(look, "There is a wall in the way, as before.")] * LAPS
    assert "block" in actions(run)


def checked(line, said="Switched to {}."):
    """Return a run of other command lines, each before the same check that passes."""
    news = fresh_answers(said)
    check = step("shell", "No changes.", command="terraform plan")
    lines = (step("shell", next(news), command=line.format(n)) for n in range(LAPS))
    return [each for made in lines for each in (made, check)]


@given(st.sampled_from(["terraform workspace select w{}", "nvm use {}", "./deploy.sh --to host{}"]))
@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
def test_a_check_may_pass_alike_after_each_of_several_new_commands(preset, line):
    found = verdicts(getattr(LoopDetector, preset)(), *([each] for each in checked(line)))
    assert {each.action.value for each in found} == {"continue"}


@pytest.mark.parametrize("line", ["cat {}.tf", "cat old.tf", "echo {}", "nvm use 7"])
@pytest.mark.parametrize("said", ["{}", "Switched."])
def test_a_check_after_looks_and_after_what_ran_before_is_a_loop(line, said):
    assert "block" in actions(checked(line, said))


def test_a_check_that_fails_is_a_loop_whatever_ran_before():
    run = checked("nvm use {}")
    assert "notify" in actions(
        [(call, "Error: none" if n % 2 else said) for n, (call, said) in enumerate(run)]
    )


@given(ACT, OK)
def test_an_act_among_other_acts_is_no_evidence(act, said):
    others = fresh_answers("{}")
    run = [
        each for _ in range(5) for each in (step("pick", said, it=next(others)), step(act, said))
    ]
    assert set(actions(run)) == {"continue"}


@pytest.mark.parametrize("told", ['{{"level": 3, "at": "10:00:0{}"}}', "level 3 at 10:00:0{}"])
def test_another_time_in_what_a_look_shows_again_is_no_news(told):
    run = [each for n in range(4) for each in (step("pump", "ok"), step("scale", told.format(n)))]
    assert ask(RecurrenceDetector(4), *run[:-1]).details["tool"] == "pump"


def test_another_id_for_the_same_act_is_no_news():
    said = fresh_answers('{{"created": "{}"}}')
    run = [
        each
        for _ in range(LAPS)
        for each in (step("create_item", next(said), title="a"), step("refresh", "ok"))
    ]
    assert "notify" in actions(run)


NAMES = st.sampled_from(
    ["speichern", "вернуться", "戻る", "home", "close_dialog", "browser_navigate"]
)
SHOWN = st.sampled_from(["Datensatz gespeichert.", "Opened a new tab.", "リストに戻りました。"])
PRESETS = ["default", "escalating", "thorough"]


def opened(name, said, between=1):
    """Return a run in which a call of this name comes after one new thing or several."""
    news = fresh_answers("There is {} in it.")
    looks = [step("open", next(news), it=n) for n in range(LAPS * between)]
    laps = (looks[n : n + between] for n in range(0, len(looks), between))
    return [each for lap in laps for each in (*lap, step(name, said))]


@given(NAMES, SHOWN, st.integers(1, 3))
@pytest.mark.parametrize("preset", PRESETS)
def test_an_act_of_any_name_may_say_the_same_sentence_after_new_work(preset, name, said, between):
    found = verdicts(
        getattr(LoopDetector, preset)(), *([each] for each in opened(name, said, between))
    )
    assert {each.action.value for each in found} == {"continue"}


@given(NAMES, st.integers(30, 90), st.integers(1, 3))
@pytest.mark.parametrize("preset", PRESETS)
def test_the_way_back_to_a_long_list_is_never_refused(preset, name, lines, between):
    page = "\n".join(f"entry {n} of the list" for n in range(lines))
    found = verdicts(
        getattr(LoopDetector, preset)(), *([each] for each in opened(name, page, between))
    )
    assert {each.action.value for each in found} <= {"continue", "notify"}


@given(st.sampled_from(["ok", "Tapped", "Clicked on the screen."]), st.integers(0, 2))
def test_a_look_of_any_name_shows_that_acts_in_between_did_nothing(said, lines):
    page = "A button stands there." + "\n- a line of it" * lines
    taps = (step("tap", said, x=10 * n, y=7) for n in range(LAPS))
    run = [each for tap in taps for each in (tap, step("elements_of_screen", page))]
    assert "block" in actions(run)


@given(NAMES, SHOWN)
def test_without_anything_new_the_same_act_is_a_loop(name, said):
    run = [each for _ in range(LAPS) for each in (step("open", "a wall", it=0), step(name, said))]
    assert "block" in actions(run)


def test_a_look_at_the_same_list_amid_new_work_may_be_refused():
    page = "\n".join(f"entry {n} of the list" for n in range(40))
    assert "block" in actions(opened("read_list", page))


LINES = [("gdb", "command", "next"), ("debug_step", "command", "next"), ("lldb_cmd", "cmd", "s")]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("tool", "name", "line"), LINES)
@pytest.mark.parametrize("said", ["ok", "Stepped over."])
@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
def test_a_line_for_a_debugger_leads_on_while_the_same_look_shows_more(
    preset, said, tool, name, line, times
):
    news = fresh_answers("$1 = {}")
    act = [step(tool, said, **{name: line})] * times
    run = [each for _ in range(LAPS) for each in (*act, step(tool, next(news), print="x"))]
    found = verdicts(getattr(LoopDetector, preset)(), *([each] for each in run))
    assert {each.action.value for each in found} <= {"continue", "notify"}
    same = [*act, step(tool, "$1 = 7 and no more", print="x")] * LAPS
    assert "block" in actions(same)


@pytest.mark.parametrize("said", ["ok", "The page was moved down."])
@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
def test_an_act_may_be_made_twice_before_each_look(preset, said):
    news = fresh_answers("There is {} now.")
    run = [
        each
        for _ in range(LAPS)
        for each in (step("advance", said), step("advance", said), step("look", next(news)))
    ]
    found = verdicts(getattr(LoopDetector, preset)(), *([each] for each in run))
    assert {each.action.value for each in found} <= {"continue", "notify"}
    same = [step("advance", said), step("advance", said), step("look", "There is a wall here.")]
    assert "block" in actions(same * LAPS)


def test_an_act_that_is_made_more_often_than_before_is_no_further_step():
    act = step("bash", "Connect first, please.", command="curl host")
    run = [act, step("connect", "There is no such host here.", to="host"), act, act]
    assert actions(run)[-1] == "notify"
