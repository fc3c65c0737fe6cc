"""What is kept of a call is made once; what is remembered beside it changes nothing."""

import copy
import pickle

import pytest
from runs import fresh_answers, step

from antiloop import LoopDetector, RepeatDetector, ToolCall, ToolResult
from antiloop.loop_detection import ToolPolicy, compared, evidence
from antiloop.loop_detection.evidence import Facts
from antiloop.loop_detection.outcome import Outcome
from antiloop.loop_detection.shortening import shortened


class Counter:
    """Counts how often a function is asked, and asks it."""

    def __init__(self, function):
        self.function = function
        self.texts = []

    def __call__(self, text):
        self.texts.append(text)
        return self.function(text)


@pytest.fixture
def hashed(monkeypatch):
    """The texts that were hashed since the test began."""
    counter = Counter(evidence.text_fingerprint)
    for module in (compared, evidence):
        monkeypatch.setattr(module, "text_fingerprint", counter)
    return counter.texts


def healthy(count):
    """A run of different calls with different answers."""
    answers = fresh_answers()
    calls = [ToolCall("read", {"page": number}) for number in range(count)]
    return calls, [next(answers) for _ in calls]


def test_a_call_and_its_result_are_hashed_once_over_many_checks(hashed):
    calls, results = healthy(30)
    detector = LoopDetector.default()
    for length in range(1, 31):
        assert detector.check(calls[:length], results[:length]) is None
    assert len(hashed) == 60


def test_a_call_and_its_result_are_hashed_once_by_a_monitor(hashed):
    calls, results = healthy(30)
    monitor = LoopDetector.default().monitor()
    for call, result in zip(calls, results):
        monitor.before(call)
        monitor.after([call], [result])
    assert len(hashed) == 60


def test_nothing_is_hashed_twice_while_calls_are_refused(hashed):
    calls = [ToolCall("ls", {"path": "."}) for _ in range(8)]
    monitor = LoopDetector(LoopDetector.default().detectors, tools={}).monitor()
    for call in calls:
        monitor.before(call)
        monitor.after([call], ["Error: is missing"])
    assert len([text for text in hashed if text.startswith("ls\0")]) == len(calls)


def test_ids_do_not_make_a_call_be_hashed_again(hashed):
    calls = [ToolCall("read", {"page": number}, id=f"c{number}") for number in range(5)]
    monitor = LoopDetector.default().monitor()
    for call in calls * 2:
        monitor.after([call], ["page"])
    assert monitor.call_count == 5
    assert len(hashed) == 10


def test_a_result_that_comes_later_is_hashed_then(hashed):
    call = ToolCall("read", {"page": 1})
    first = Facts.of(call, None)
    later = Facts.of(call, "page one")
    assert len(hashed) == 2
    assert (first.result, first.outcome) == (None, Outcome.UNKNOWN)
    assert (later.call, later.outcome) == (first.call, Outcome.SUCCESS)
    assert Facts.of(call, "page two").result != later.result


def test_another_policy_makes_other_facts():
    call = ToolCall("read", {"page": 1, "label": "a"})
    policy = ToolPolicy(key=["page"])
    assert Facts.of(call, "x", policy).call == Facts.of(ToolCall("read", {"page": 1}), "x").call
    assert Facts.of(call, "x").call != Facts.of(call, "x", policy).call


def test_what_is_remembered_with_a_call_takes_no_part_in_equality():
    one, other = ToolCall("read", {"page": 1}), ToolCall("read", {"page": 1})
    Facts.of(one, "page one")
    assert one == other
    assert repr(one) == repr(other)


def test_a_call_that_was_judged_can_be_copied_and_sent_to_another_process():
    call = ToolCall("read", {"page": 1}, id="c1", round=2)
    expected = ToolCall("read", {"page": 1}, id="c1", round=2)
    Facts.of(call, "page one", ToolPolicy(key=lambda arguments: arguments))
    assert pickle.loads(pickle.dumps(call)) == expected
    assert copy.deepcopy(call) == expected


def test_the_arguments_are_given_as_plain_json_and_short():
    assert Facts.of(ToolCall("f", '{"a": [1.0, 2]}'), None).arguments == {"a": [1, 2]}
    long = Facts.of(ToolCall("f", {"text": "x" * 3_000}), None)
    assert isinstance(long.arguments, str)
    assert len(long.arguments) <= 60
    assert long.shown == long.arguments


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (None, Outcome.UNKNOWN),
        ("", Outcome.SILENT),
        ([], Outcome.EMPTY),
        ({}, Outcome.EMPTY),
        (0, Outcome.SUCCESS),
        (False, Outcome.SUCCESS),
        ({"error": "no such page"}, Outcome.FAILURE),
        (ToolResult("boom", is_error=True), Outcome.FAILURE),
        (ToolResult([], is_error=False), Outcome.EMPTY),
        (b"bytes", Outcome.SUCCESS),
        (object(), Outcome.SUCCESS),
    ],
)
def test_whatever_a_tool_gave_is_a_result(result, kind):
    assert Facts.of(ToolCall("f"), result).outcome is kind


def test_a_result_and_its_text_are_the_same():
    class Named(ToolResult):
        """A result with something of its own."""

    texts = ["a b", ToolResult("a b"), Named("a b")]
    assert len({Facts.of(ToolCall("f"), each).result for each in texts}) == 1


def test_of_a_restored_call_the_arguments_are_known_in_short():
    monitor = LoopDetector([RepeatDetector(3)]).monitor()
    for number in (1, 2):
        monitor.after([ToolCall("ls", {"path": "."}, round=number)], ["a"])
    restored = LoopDetector([RepeatDetector(2)]).monitor()
    restored.restore(monitor.snapshot())
    found = restored.after([ToolCall("cat", round=2)], ["x"]).detection
    assert (found.details["tool"], found.details["arguments"]) == ("ls", '{"path":"."}')


def test_an_unknown_result_has_no_forms():
    facts = Facts.of(ToolCall("f", {"q": "cats"}), None)
    assert (facts.steady, facts.gist, facts.skeleton) == (None, None, None)


def test_answers_say_the_same_if_failures_only_echo_or_count():
    def facts(text, **arguments):
        made, result = step("get", text, **arguments)
        return Facts.of(made, result)

    one = facts("Error: page home not found", page="home")
    assert one.says_like(facts("Error: page about not found", page="about"))
    assert not one.says_like(facts("Error: access denied", page="about"))
    assert facts("[]", q=1).says_like(facts("No results found.", q=2))
    assert facts("page one", n=1).says_like(facts("page one", n=2))
    assert not facts("page one", n=1).says_like(facts("page two", n=2))
    assert not facts(None).says_like(facts(None))


@pytest.mark.parametrize("length", [7, 8, 59, 60])
def test_a_long_text_keeps_both_ends(length):
    text = "begin" + "-" * 500 + "final"
    short = shortened(text, length)
    assert len(short) <= length
    assert (short[:2], short[-2:]) == ("be", "al")
    assert shortened(text[:length], length) == text[:length]
