import pytest

from antiloop import LoopDetector, RepeatDetector
from antiloop.loop_detection import Escalation, Opinion, SecondOpinion, ToolPolicy


def said(monitor, count):
    verdicts = [monitor.record_call("look", {"at": "a"}, "same") for _ in range(count)]
    return verdicts[-1]


def monitor_of(**options):
    asked = SecondOpinion(lambda case: False, **options)
    return LoopDetector([RepeatDetector(3)], Escalation(), second_opinion=asked).monitor()


def test_a_notice_needs_no_confirmation():
    verdict = said(monitor_of(confirm=True), 3)
    assert (verdict.action.value, verdict.case) == ("notify", None)


def test_a_block_waits_for_its_confirmation():
    verdict = said(monitor_of(confirm=True), 4)
    assert verdict.case is not None


NAMES = ("config", "settings", "conf", "options")


@pytest.mark.parametrize("judge", [None, lambda case: None])
def test_nobody_is_asked_where_there_is_nobody_to_ask(judge):
    later = {99: Opinion(True, 0.9, "It was stuck later.")}
    monitor = LoopDetector.escalating(second_opinion=judge).monitor(opinions=later)
    names = (*NAMES, "app")
    cases = [monitor.record_call("search", {"q": name}, "No files found.").case for name in names]
    assert any(cases) == (judge is not None)


def test_calls_that_are_no_evidence_raise_no_question():
    exempt = {"look": ToolPolicy(exempt=True)}
    asked = SecondOpinion(lambda case: True, suspicion=0.1)
    monitor = LoopDetector([RepeatDetector(2)], tools=exempt, second_opinion=asked).monitor()
    verdict = said(monitor, 5)
    assert (verdict.action.value, verdict.case) == ("continue", None)


STUCK, NOT_STUCK = Opinion(True, 0.9, "It is not there."), Opinion(False, 0.9, "It moves on.")


@pytest.mark.parametrize(
    ("known", "action"), [((), "continue"), ((None,), "continue"), ((STUCK,), "notify")]
)
def test_what_was_said_about_a_round_counts_again(known, action):
    monitor = LoopDetector.escalating(second_opinion=lambda case: True).monitor()
    said = []
    for number, name in enumerate(NAMES):
        monitor.recall(known if number == 3 else (), can_ask=False)
        said.append(monitor.record_call("search", {"q": name}, "No files found."))
    assert (said[-1].action.value, {each.case for each in said}) == (action, {None})


@pytest.mark.parametrize("known", [(), (None,)])
def test_a_question_without_an_answer_was_asked_all_the_same(known):
    monitor = LoopDetector.escalating(second_opinion=lambda case: True).monitor()
    for number, name in enumerate((*NAMES, "app", "main")):
        monitor.recall(known if number == 4 else (), can_ask=number == 5)
        verdict = monitor.record_call("search", {"q": name}, "No files found.")
    assert (verdict.case is None) == bool(known)


@pytest.mark.parametrize(
    ("known", "said"), [(STUCK, ("block", "near_repeat")), (NOT_STUCK, ("continue", None))]
)
def test_what_was_said_in_an_episode_counts_with_what_is_found_in_it(known, said):
    monitor = LoopDetector.escalating(second_opinion=lambda case: True).monitor()
    answers = {2: (STUCK,), 3: (known,)}
    found = []
    for number, text in enumerate(("where is it", "where is  it", "Where is it", "where is it?")):
        monitor.recall(answers.get(number, ()), can_ask=False)
        verdict = monitor.record_call("search", {"q": text}, "No files found.")
        found.append((verdict.action.value, verdict.detection and verdict.detection.detector_name))
    assert found[2:] == [("notify", "second_opinion"), said]


def test_without_a_judge_nothing_is_recalled():
    monitor = LoopDetector.escalating().monitor()
    for name in NAMES:
        monitor.recall((STUCK,), can_ask=True)
        verdict = monitor.record_call("search", {"q": name}, "No files found.")
    assert (verdict.action.value, verdict.case) == ("continue", None)


def test_a_judged_loop_climbs_on_where_a_row_of_rounds_is_found_too():
    judge = SecondOpinion(lambda case: True)
    monitor = LoopDetector.escalating(second_opinion=judge).monitor()
    said = []
    for name in (*NAMES, "app", "main", "base", "local", "setup"):
        verdict = monitor.record_call("search", {"q": name}, "No files found.")
        asked = verdict.case is not None
        verdict = monitor.answer(True) if asked else verdict
        detector = verdict.detection.detector_name if verdict.detection else ""
        said.append((asked, verdict.action.value, detector))
    assert said[4:7] == [
        (True, "notify", "second_opinion"),
        (False, "continue", ""),
        (True, "stop", "second_opinion"),
    ]
    assert set(said[7:]) == {(False, "continue", "")}
