"""Arguments that differ in what is cosmetic only are the same question."""

import json

import pytest
from runs import ask, ask_rounds, fresh_answers, step

from antiloop import LoopDetector
from antiloop.loop_detection import NearRepeatDetector

QUERIES = ["cats dogs", "dogs of cats", "cat or dog", "Cats, dogs"]
SEARCHES = [step("search", "Error: nothing there", q=query) for query in QUERIES]
ASKED = [step("look_up", "the answer is the same", q="why?", request_id=n) for n in range(9)]


def test_nearly_the_same_question_is_found():
    found = ask(NearRepeatDetector(4), *SEARCHES[:4])
    assert found.detector_name == "near_repeat"
    assert found.message == "Tool 'search' was called 4 times with nearly the same arguments."
    assert found.indices == (0, 1, 2, 3)
    assert found.details["arguments"] == {"q": "Cats, dogs"}
    assert json.loads(json.dumps(found.details)) == found.details


@pytest.mark.parametrize("threshold", [2, 4, 5])
def test_once_less_is_not_yet_found(threshold):
    detector = NearRepeatDetector(threshold)
    assert ask(detector, *ASKED[: threshold - 1]) is None
    assert ask(detector, *ASKED[:threshold]).repetitions == threshold


def test_answers_that_differ_are_left_alone():
    run = [step("ask", text, q="why?", request_id=n) for n, text in zip(range(9), fresh_answers())]
    assert ask(NearRepeatDetector(4), *run) is None


def test_paths_with_much_in_common_are_different_paths():
    run = [step("read", "Error: is missing", path=f"src/pkg/module_{n}.py") for n in range(9)]
    assert ask(NearRepeatDetector(4), *run) is None


def test_pages_are_different_pages():
    run = [step("read", "Error: is missing", offset=100 * n) for n in range(9)]
    assert ask(NearRepeatDetector(4), *run) is None


def test_a_number_may_be_the_question_so_it_takes_six_equal_answers():
    heads = [step("read", "the same page of the book", count=20 + n) for n in range(8)]
    for threshold in (2, 6):
        assert ask(NearRepeatDetector(threshold), *heads[:5]) is None
        assert ask(NearRepeatDetector(threshold), *heads[:6]).repetitions == 6
    assert ask(NearRepeatDetector(8), *heads[:7]) is None
    assert ask(NearRepeatDetector(8), *heads).repetitions == 8


def test_the_same_arguments_of_different_tools_are_different_questions():
    run = [step(name, "Error: is missing", q="why?") for name in ("ask", "look", "read", "find")]
    assert ask(NearRepeatDetector(4), *run) is None


def test_unknown_results_equal_nothing():
    assert (
        ask(NearRepeatDetector(2), *(step("ask", q="why?", request_id=n) for n in range(9))) is None
    )


def test_silence_is_evidence_only_where_nothing_is_new():
    silent = [step("find", "", words="cats dogs", request_id=n) for n in range(4)]
    assert ask(NearRepeatDetector(4), *silent).repetitions == 4
    news = step("read", "page one of the book", page=1)
    assert ask(NearRepeatDetector(4), *silent[:3], news, silent[3]) is None


def test_little_that_is_new_in_between_does_not_hide_it():
    news = [step("read", text, page=n) for n, text in zip(range(9), fresh_answers())]
    run = [each for pair in zip(ASKED, news) for each in pair]
    assert ask(NearRepeatDetector(4), *run[:7]).repetitions == 4
    run = [each for n in range(4) for each in (ASKED[n], *news[2 * n : 2 * n + 2])]
    assert ask(NearRepeatDetector(4), *run[:-2]) is None


def test_work_under_way_is_worth_asking_again():
    polls = [step("status", "still running", job=1, request_id=n) for n in range(6)]
    detector = NearRepeatDetector(4, patience=6)
    assert ask(detector, *polls[:5]) is None
    assert ask(detector, *polls).repetitions == 6


def test_empty_answers_are_alike_in_a_restored_run_too():
    run = [step("list", "[]", owner="me")] * 3 + [step("list", "No results found.", owner="me")]
    detector = LoopDetector([NearRepeatDetector(4)])
    monitor = detector.monitor()
    for made, result in run[:3]:
        monitor.after([made], [result])
    restored = detector.monitor()
    restored.restore(monitor.snapshot())
    (made, result) = run[3]
    verdict = restored.after([made], [result])
    assert verdict == monitor.after([made], [result])
    assert verdict.detection.repetitions == 4


def test_siblings_count_once():
    assert ask_rounds(NearRepeatDetector(2), ASKED) is None
    assert ask_rounds(NearRepeatDetector(2), ASKED[:5], ASKED[5:]).repetitions == 2


def test_numbers_that_could_mean_nothing_are_refused():
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got 1"):
        NearRepeatDetector(1)
    with pytest.raises(ValueError, match="patience must be a whole number, 4 or more, got 3"):
        NearRepeatDetector(4, patience=3)


def test_what_changes_the_world_in_the_same_words_is_work():
    edits = [step("edit", "ok", new=f"x = a {sign} b") for sign in "+-*/"]
    assert ask(NearRepeatDetector(4), *edits) is None
    keys = [step("run", "", command=f"tmux send-keys {key}") for key in "abcd"]
    assert ask(NearRepeatDetector(4), *keys) is None


def test_a_command_without_effect_is_none_whatever_follows():
    noops = [step("run", "", command=f": step {number}") for number in range(4)]
    assert ask(NearRepeatDetector(4), *noops).repetitions == 4


def test_nearly_the_same_search_is_the_same_loop_in_any_words():
    one, same, other = (
        ask(NearRepeatDetector(2), *(step("find", "none", q=each) for each in words))
        for words in (["cats, dogs", "dogs, cats"], ["dog cats", "cat dog"], ["ant", "ants"])
    )
    assert len(one.refused) == 1
    assert one.identity != other.identity
    assert one.identity == same.identity
    assert one.refused == same.refused != other.refused
