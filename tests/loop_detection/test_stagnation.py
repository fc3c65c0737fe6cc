"""Much weak evidence: when it is enough for a word, and that it changes nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, failed, step, verdicts

from antiloop import LoopDetector
from antiloop.loop_detection import Escalation, StagnationDetector, ToolPolicy
from antiloop.loop_detection._evidence.window import Window

WORDS = "alpha beta gamma delta kappa lambda sigma theta omega zeta iota rho".split()
KNOWN = step("look", "the same old page", at=1)
RUN = st.lists(
    st.one_of(
        st.builds(lambda word: step("search", "No results found.", q=word), st.sampled_from(WORDS)),
        st.builds(lambda word: failed("run", f"Error: {word}", n=1), st.sampled_from(WORDS[:3])),
        st.builds(lambda word: step("look", f"page {word}", at=word), st.sampled_from(WORDS[:4])),
        st.builds(lambda word: step("edit_file", "saved", text=word), st.sampled_from(WORDS)),
        st.just(KNOWN),
    ),
    max_size=40,
)


def in_vain(count):
    return [step("search", "No results found.", q=word) for word in WORDS[:count]]


def told(detector, run):
    """Return action and detector of each verdict on a run."""
    found = verdicts(detector, *([each] for each in run))
    return [(each.action, each.detection and each.detection.detector_name) for each in found]


def test_evidence_adds_up():
    assert ask(StagnationDetector(), *in_vain(6)) is None
    found = ask(StagnationDetector(), *in_vain(7))
    assert found.message == (
        "7 of the last 7 rounds failed, found nothing or repeated what was known."
    )
    assert found.summary.startswith('search "sigma", after 6 rounds that brought as little')
    assert (found.indices, found.refused, found.may_end_run) == (tuple(range(7)), (), False)


def test_a_healthy_round_among_them_is_not_counted():
    run = [*in_vain(3), step("look", "a new page", at=2), *in_vain(8)[3:]]
    found = ask(StagnationDetector(), *run)
    assert found.details["count"] == 8
    assert 3 not in found.indices


def test_the_last_rounds_must_all_bear_evidence():
    edit = step("edit_file", "saved", text="new")
    assert ask(StagnationDetector(), *in_vain(8), edit, KNOWN) is None
    assert ask(StagnationDetector(3), *in_vain(8)) is not None
    assert ask(StagnationDetector(3), *in_vain(8), edit, *in_vain(10)[8:]) is None


def test_the_last_rounds_count_however_much_evidence_there_was_before():
    edit, again = step("edit_file", "saved", text="new"), in_vain(1)
    assert ask(StagnationDetector(), *again * 9) is not None
    assert ask(StagnationDetector(), *again * 9, edit) is None
    assert ask(StagnationDetector(), *again * 9, edit, *again) is None
    assert ask(StagnationDetector(), *again * 9, edit, *again * 2) is not None


@given(st.integers(13, 30))
def test_more_rounds_may_be_asked_for_than_are_added_up(threshold):
    run = [
        step("search", "No results found.", q=f"{word} {other}")
        for word in WORDS[:3]
        for other in WORDS
    ]
    assert ask(StagnationDetector(threshold), *run[: threshold - 1]) is None
    assert ask(StagnationDetector(threshold), *run[:threshold]).details["count"] == 12


def test_a_tool_may_have_a_threshold_of_its_own():
    policies = {"search": ToolPolicy(thresholds={"stagnation": 9})}
    calls, results = zip(*in_vain(8))
    for declared in (None, policies):
        window = Window(policies=declared)
        for made, result in zip(calls, results):
            window.append([made], [result])
        assert (StagnationDetector().find(window) is None) == (declared is not None)


def test_failures_in_other_words_are_news():
    run = [failed("open", f"Error: {word} is in the way", path="x") for word in WORDS]
    assert ask(StagnationDetector(), *run) is None


def test_waits_are_no_evidence():
    run = [step("wait", "still running", id=1)] * 40
    assert ask(StagnationDetector(), *run) is None


def test_nothing_is_found_in_nothing():
    assert StagnationDetector().find(Window()) is None


@pytest.mark.parametrize("threshold", [1, 0, -1])
def test_a_threshold_below_two_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold"):
        StagnationDetector(threshold)


LADDERS = st.tuples(st.integers(0, 2), st.integers(0, 2)).map(
    lambda mild: Escalation(("notify",) * mild[0] + ("block",) * mild[1] + ("stop",))
)


@given(RUN, LADDERS)
def test_it_never_refuses_a_call_and_never_ends_a_run(run, ladder):
    actions = {action for action, _ in told(LoopDetector([StagnationDetector()], ladder), run)}
    assert actions <= {"continue", "notify"}


@given(RUN)
def test_the_other_detectors_decide_as_without_it(run):
    whole = LoopDetector.escalating()
    others = [each for each in whole.detectors if each.name != "stagnation"]
    without = told(LoopDetector(others, Escalation(("notify", "block", "stop"))), run)
    for with_it, alone in zip(told(whole, run), without):
        assert with_it == alone or (with_it[1], alone[0]) == ("stagnation", "continue")


def test_a_word_of_another_detector_is_enough():
    run = [KNOWN] * 3 + in_vain(4)
    actions = told(
        LoopDetector([*LoopDetector.default().detectors, StagnationDetector()], Escalation()), run
    )
    assert [name for action, name in actions if action != "continue"] == ["repeat"]


@pytest.mark.parametrize("actions", [("notify",), ("notify", "stop"), ("notify", "block", "stop")])
def test_it_is_told_once_whatever_the_ladder_does_later(actions):
    detector = LoopDetector([StagnationDetector(2)], Escalation(actions))
    run = [step("search", "No results found.", q=f"{word} {n}") for n in range(5) for word in WORDS]
    assert [action for action, _ in told(detector, run)].count("notify") == 1


@given(st.permutations(WORDS))
def test_acts_that_come_back_between_new_acts_are_work(bins):
    laps = [("move_to", name, "grip", True, "move_to", "the box", "grip", False) for name in bins]
    acts = [(lap[at], lap[at + 1]) for lap in laps for at in range(0, 8, 2)]
    run = [step(tool, '{"ok": true}', to=what) for tool, what in acts]
    assert {action.value for action, _ in told(LoopDetector.escalating(), run)} == {"continue"}
    # Without a new one, to act again is evidence as before, and so is anything else beside acts.
    again = [each for each in run if each[0].arguments["to"] not in bins]
    assert ask(StagnationDetector(), *again) is not None
    looks = [each for act in run for each in (act, KNOWN)]
    assert ask(StagnationDetector(), *looks) is not None


@pytest.mark.parametrize(("tool", "is_evidence"), [("transition", False), ("grep", True)])
@given(names=st.permutations(WORDS))
def test_silence_is_evidence_of_a_look_only(tool, is_evidence, names):
    run = [step(tool, "", item=name) for name in names]
    assert (ask(StagnationDetector(), *run) is not None) is is_evidence
