"""What is kept of a call is made once; what is remembered beside it changes nothing."""

import copy
import json
import pickle
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import fresh_answers, step

from antiloop import LoopDetector, RepeatDetector, ToolCall, ToolResult
from antiloop.loop_detection import ToolPolicy
from antiloop.loop_detection.evidence import fingerprint
from antiloop.loop_detection.evidence.call_features import CallFeatures
from antiloop.loop_detection.evidence.noise import without_noise
from antiloop.loop_detection.evidence.outcome import Outcome
from antiloop.loop_detection.evidence.sameness import say_alike
from antiloop.loop_detection.text.shortening import shortened


class Counter:
    """Counts how often a function is asked, and asks it."""

    def __init__(self, texts, function):
        self.texts = texts
        self.function = function

    def __call__(self, *arguments):
        self.texts.append(arguments[0])
        return self.function(*arguments)


@pytest.fixture
def hashed(monkeypatch):
    """The texts, as bytes, that were hashed since the test began."""
    texts = []
    monkeypatch.setattr(fingerprint, "sha256", Counter(texts, fingerprint.sha256))
    return texts


def healthy(count):
    """A run of different calls with different answers."""
    answers = fresh_answers()
    calls = [ToolCall("read", {"page": number}) for number in range(count)]
    return calls, [next(answers) for _ in calls]


@pytest.mark.parametrize("kind", [str, ToolResult])
def test_nothing_is_hashed_while_a_run_is_healthy(hashed, kind):
    calls, texts = healthy(30)
    results = [kind(each) for each in texts]
    detector = LoopDetector.default()
    monitor = detector.monitor()
    for length, (call, result) in enumerate(zip(calls, results), 1):
        assert detector.check(calls[:length], results[:length]) is None
        monitor.before(call)
        monitor.after([call], [result])
    assert hashed == []


@pytest.mark.parametrize("has_ids", [False, True])
def test_what_leaves_the_process_is_hashed_once(hashed, has_ids):
    calls, results = healthy(30)
    monitor = LoopDetector.default().monitor()
    for number, (call, result) in enumerate(zip(calls, results)):
        monitor.after([replace(call, id=f"c{number}" if has_ids else None)], [result])
        assert monitor.snapshot()
        count = len(hashed)
        assert monitor.snapshot()
        assert len(hashed) == count >= number


def test_a_result_that_is_too_long_to_be_kept_is_hashed_once(hashed):
    call, result = ToolCall("read", {"page": 1}), "word " * 10_000
    for _ in range(3):
        assert LoopDetector.default().check([call], [result]) is None
    assert hashed.count(result.encode()) == 1


def test_the_equal_calls_of_a_loop_are_hashed_once(hashed):
    monitor = LoopDetector.default().monitor()
    for _ in range(8):
        monitor.record_call("ls", {"path": "."}, "a file")
    assert hashed.count(b'{"path":"."}') == 1


def test_ids_do_not_make_a_call_be_hashed(hashed):
    calls = [ToolCall("read", {"page": number}, id=f"c{number}") for number in range(5)]
    monitor = LoopDetector.default().monitor()
    for call in calls * 2:
        monitor.after([call], ["page"])
    assert monitor.call_count == 5
    assert hashed == []


def test_a_result_that_comes_later_makes_other_features():
    call = ToolCall("read", {"page": 1})
    first = CallFeatures.of(call, None)
    later = CallFeatures.of(call, "page one")
    assert (first.result, first.outcome) == (None, Outcome.UNKNOWN)
    assert (later.call, later.outcome) == (first.call, Outcome.SUCCESS)
    assert CallFeatures.of(call, "page two").result != later.result


# Values that are nearly the same, or the same in another form.
LEAVES = [
    *([None, "null"], [True, 1, 1.0, "1"], [False, 0, -0.0, ""], [0.5, "0.5"], [float("nan")]),
    *(["a", "\u00e9"], ["\U0001f600", "\ud83d\ude00"], [2**70, float(2**70)]),
    *([[], {}, ()], [[1], (1,), [True], {1}], [b"a", "a"], ["x" * 4_000, "x" * 9_000]),
]
NAMES = [["a"], ["b"], ["a", "b"], [1, "1"], ["\u00e9", "e"], ["\U0001f600", "\ud83d\ude00"]]


@st.composite
def lookalikes(draw):
    """Draw two arguments of a call that are the same but for the form of a few parts."""
    pairs = st.sampled_from(LEAVES).flatmap(lambda leaf: st.tuples(*[st.sampled_from(leaf)] * 2))
    names = st.sampled_from(NAMES).flatmap(lambda name: st.tuples(*[st.sampled_from(name)] * 2))
    entries = draw(st.lists(st.tuples(names, pairs), max_size=2))
    one, other = ({name[at]: leaf[at] for name, leaf in entries} for at in (0, 1))
    return draw(
        st.sampled_from(
            [
                (one, dict(reversed(other.items()))),
                ({"in": one}, {"in": other}),
                ([one], [other]),
                (one, json.dumps(other, default=str)),
            ]
        )
    )


given_results = st.sampled_from(
    [None, "", "a", "A", "\ud83d\ude00", "\U0001f600", "x" * 4_384, "x" * 4_385, "x" * 4_386]
)


@settings(max_examples=500)
@given(lookalikes(), st.tuples(given_results, given_results))
def test_keys_are_equal_where_fingerprints_are(arguments, texts):
    calls = [ToolCall("f", each) for each in arguments]
    one, other = map(CallFeatures.of, calls, texts)
    assert (one.call_key == other.call_key) is (one.call == other.call)
    assert (one.result_key == other.result_key) is (one.result == other.result)
    assert (one.answer_key == other.answer_key) is (one.result == other.result)
    for each in (one, other):
        each.compare_as(each.call, each.result)
    assert (one.call_key == other.call_key) is (one.call == other.call)
    assert (one.answer_key == other.answer_key) is (one.result == other.result)


def test_another_policy_makes_other_features():
    call = ToolCall("read", {"page": 1, "label": "a"})
    policy = ToolPolicy(key=["page"])
    assert (
        CallFeatures.of(call, "x", policy).call
        == CallFeatures.of(ToolCall("read", {"page": 1}), "x").call
    )
    assert CallFeatures.of(call, "x").call != CallFeatures.of(call, "x", policy).call


def test_what_is_remembered_with_a_call_takes_no_part_in_equality():
    one, other = ToolCall("read", {"page": 1}), ToolCall("read", {"page": 1})
    CallFeatures.of(one, "page one")
    assert one == other
    assert repr(one) == repr(other)


def test_a_call_that_was_judged_can_be_copied_and_sent_to_another_process():
    call = ToolCall("read", {"page": 1}, id="c1", round=2)
    expected = ToolCall("read", {"page": 1}, id="c1", round=2)
    CallFeatures.of(call, "page one", ToolPolicy(key=lambda arguments: arguments))
    assert pickle.loads(pickle.dumps(call)) == expected
    assert copy.deepcopy(call) == expected


def test_the_arguments_are_given_as_plain_json_and_short():
    assert CallFeatures.of(ToolCall("f", '{"a": [1.0, 2]}'), None).shown.value == {"a": [1, 2]}
    long = CallFeatures.of(ToolCall("f", {"text": "x" * 3_000}), None).shown
    assert isinstance(long.value, str)
    assert len(long.value) <= 60
    assert long.label == long.value


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
    assert CallFeatures.of(ToolCall("f"), result).outcome is kind


def test_a_result_and_its_text_are_the_same():
    class Named(ToolResult):
        """A result with something of its own."""

    texts = ["a b", ToolResult("a b"), Named("a b")]
    assert len({CallFeatures.of(ToolCall("f"), each).result for each in texts}) == 1


@pytest.mark.parametrize(
    ("path", "known"), [(".", {"path": "."}), ("p" * 99, shortened(f'{{"path":"{"p" * 99}"}}'))]
)
def test_of_a_restored_call_long_arguments_are_known_in_short(path, known):
    monitor = LoopDetector([RepeatDetector(3)]).monitor()
    for number in (1, 2):
        monitor.after([ToolCall("ls", {"path": path}, round=number)], ["a"])
    restored = LoopDetector([RepeatDetector(2)]).monitor()
    restored.restore(monitor.snapshot())
    found = restored.after([ToolCall("cat", round=2)], ["x"]).detection
    assert (found.details["tool"], found.details["arguments"]) == ("ls", known)


def test_an_unknown_result_has_no_forms():
    features = CallFeatures.of(ToolCall("f", {"q": "cats"}), None)
    assert (features.steady, features.wording, features.template) == (None, None, None)


def texts_in(features):
    """How many characters are kept of one call and its result."""
    kept = [features._text, features._arguments]
    return sum(len(json.dumps(each, default=repr)) for each in kept)


@pytest.mark.parametrize("size", [100, 8_000, 1_300_000])
def test_a_few_kilobytes_are_kept_of_each_call(size):
    features = CallFeatures.of(
        ToolCall("write", {"text": "word " * (size // 5)}), "page " * (size // 5)
    )
    assert texts_in(features) < 20_000


def test_a_monitor_does_not_keep_whole_results_alive():
    monitor = LoopDetector.escalating().monitor()
    tracemalloc.start()
    try:
        for number in range(60):
            text = f"{number} was read at 12:00:01 " + "many words " * 20_000
            monitor.after([ToolCall("read", {"n": number, "text": text})], [text])
            monitor.snapshot()
        del text
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert monitor.call_count == 60
    assert held < 1_000_000


def test_nothing_keeps_the_long_names_of_arguments_alive():
    tracemalloc.start()
    try:
        for number in range(10):
            name = f"{number} password " + "k" * 500_000
            features = CallFeatures.of(ToolCall("read", {name: number}), "Error: no")
            assert features.near
            assert features.wording
            assert features.shown.label
        del name, features
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 1_000_000


@pytest.mark.parametrize("extra", [0, 9_000])
def test_long_arguments_are_judged_as_short_ones(extra):
    padding = {"zz": "more words " * (extra // 11)}

    def features(arguments, text="Error: page 1 is missing", tool="shell"):
        return CallFeatures.of(ToolCall(tool, {**arguments, **padding}), text)

    sed, look = features({"command": "sed -i s/a/b/ x"}), features({"command": "ls"})
    assert (sed.changes_world, look.changes_world) == (True, False)
    assert features({"command": "edit"}, tool="editor").mutates
    assert features({"q": "cats dogs"}).near == features({"q": "dog, cat"}).near
    assert features({"q": "cats dogs"}).near != features({"q": "dog"}).near
    assert features({"q": "missing"}).wording != features({"q": "cats"}).wording
    assert features({"q": "cats"}, None).near == features({"q": "cats"}).near
    assert features({"q": "cats"}, None).steady is None
    unique = features({"q": "cats"}).as_unique(3)
    assert unique.near == features({"q": "cat"}).near
    assert unique.shown.label == features({"q": "cats"}).shown.label
    assert isinstance(features({"q": "cats"}).shown.value, str) == bool(extra)


texts = st.text("ab1 \n:", max_size=12)
times = st.sampled_from(["9:00:01", "12:00:01", "12:00:02", "", "word"])


@given(
    begin=texts,
    one=times,
    other=times,
    fill=st.integers(0, 9_000),
    word=st.sampled_from(["1", "words "]),
    ends=st.tuples(texts, texts),
)
def test_a_text_that_is_cut_equals_the_same_as_the_whole(begin, one, other, fill, word, ends):
    middle = word * (fill // len(word))
    whole = [f"{begin}{time}{middle}{end}" for time, end in zip((one, other), ends)]
    cut = [CallFeatures.of(ToolCall("read"), text).steady for text in whole]
    assert (cut[0] == cut[1]) == (without_noise(whole[0]) == without_noise(whole[1]))


def test_a_result_that_is_changed_in_place_is_another_result():
    call, result = ToolCall("read", {"page": 1}), ["page one"]
    before = CallFeatures.of(call, result).result
    result[0] = "page two"
    assert CallFeatures.of(call, result).result != before


def test_answers_say_the_same_if_failures_only_echo_or_count():
    def features(text, **arguments):
        made, result = step("get", text, **arguments)
        return CallFeatures.of(made, result)

    one = features("Error: page home not found", page="home")
    assert say_alike(one, features("Error: page about not found", page="about"))
    assert not say_alike(one, features("Error: access denied", page="about"))
    assert say_alike(features("[]", q=1), features("No results found.", q=2))
    assert say_alike(features("page one", n=1), features("page one", n=2))
    assert not say_alike(features("page one", n=1), features("page two", n=2))
    assert not say_alike(features(None), features(None))


@pytest.mark.parametrize("length", [7, 8, 59, 60])
def test_a_long_text_keeps_both_ends(length):
    text = "begin" + "-" * 500 + "final"
    short = shortened(text, length)
    assert len(short) <= length
    assert (short[:2], short[-2:]) == ("be", "al")
    assert shortened(text[:length], length) == text[:length]


@pytest.mark.parametrize(
    ("length", "is_long"), [(399, False), (400, False), (401, True), (9_000, True)]
)
def test_a_long_answer_is_no_acknowledgment(length, is_long):
    assert CallFeatures.of(ToolCall("f"), "x" * length).is_long is is_long


def test_an_unknown_result_is_not_long():
    assert CallFeatures.of(ToolCall("f"), None).is_long is False


def test_who_declares_a_tool_is_believed():
    call, other = ToolCall("write", {"n": 1}), ToolCall("look", {"n": 1})
    assert CallFeatures.of(call, "ok").mutates is True
    assert CallFeatures.of(call, "ok", ToolPolicy(mutates=False)).mutates is False
    assert CallFeatures.of(other, "ok").mutates is False
    assert CallFeatures.of(other, "ok", ToolPolicy(mutates=True)).mutates is True


def test_a_poll_that_succeeds_is_waited_for():
    policy = ToolPolicy(poll={"action": ("log",)})
    made = [
        CallFeatures.of(ToolCall("process", {"action": action}), text, policy)
        for action, text in (("log", "a line"), ("kill", "a line"), ("log", "Error: boom"))
    ]
    assert [each.is_polled for each in made] == [True, False, True]
    assert [each.outcome for each in made] == [
        Outcome.WAITING,
        Outcome.SUCCESS,
        Outcome.FAILURE,
    ]


@pytest.mark.parametrize(
    ("text", "only_looks"), [("", True), ("...", False), (" ...", False), ("a line", True)]
)
def test_what_is_left_out_of_an_answer_is_not_nothing(text, only_looks):
    features = CallFeatures.of(ToolCall("read", {"path": "a"}), text)
    assert features.only_looks is only_looks


def test_a_call_that_equals_no_other_keeps_its_result_unknown():
    features = CallFeatures.of(ToolCall("f"), "text")
    one, other = features.as_unique(3), features.as_unique(20)
    assert (one.call, one.call_key, one.result) == ("0000000003",) * 3
    assert features.answer_key != one.answer_key != other.answer_key
    assert other.call == other.result == "0000000014"
    assert one.tool == "f"
    assert features.call != one.call
    unknown = CallFeatures.of(ToolCall("f"), None).as_unique(3)
    assert (unknown.call, unknown.result) == ("0000000003", None)


def test_a_refused_call_is_judged_as_one():
    features = CallFeatures.of(ToolCall("frob"), "Error: unknown tool 'frob'")
    assert (features.outcome, features.is_missing) == (Outcome.INVALID, True)
    refused = features.refused()
    assert (refused.outcome, refused.is_missing) == (Outcome.REFUSED, False)
    assert (refused.call, refused.result) == (features.call, features.result)
    assert features.outcome is Outcome.INVALID


def test_a_rule_that_raises_is_logged_with_its_tool(caplog):
    def broken(value):
        raise KeyError(value)

    for name in ("key", "strip"):
        caplog.clear()
        CallFeatures.of(ToolCall("look", {"q": 1}), "text", ToolPolicy(**{name: broken}))
        assert caplog.messages == [f"the {name}= declared for tool 'look' raised; it is ignored"]


def test_what_is_declared_idempotent_says_nothing_new():
    policy = ToolPolicy(idempotent=True)
    one, other, failed = (
        CallFeatures.of(ToolCall("f"), text, policy) for text in ("a", "b", "Error: boom")
    )
    assert one.result == other.result != failed.result
    assert one.steady == CallFeatures.of(ToolCall("g"), "", policy).steady


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"q": "x" * 52}, '{"q":"' + "x" * 52 + '"}'),
        ({"q": "x" * 53}, '{"q":"' + "x" * 22 + "..." + "x" * 26 + '"}'),
        ({"password": "abc"}, '{"password":"***"}'),
    ],
)
def test_arguments_are_shown_in_sixty_characters(arguments, shown):
    features = CallFeatures.of(ToolCall("f", arguments), None)
    assert features.shown.label == shown
    assert features.shown.is_whole is ("..." not in shown)


@pytest.mark.parametrize(("length", "is_whole"), [(1_992, True), (1_993, False)])
def test_arguments_of_two_thousand_characters_are_given_whole(length, is_whole):
    arguments = CallFeatures.of(ToolCall("f", {"q": "x" * length}), None).shown.value
    assert (arguments == {"q": "x" * length}) is is_whole


def test_a_refused_call_whose_arguments_are_no_longer_kept_compares_as_before():
    call = ToolCall("write", {"text": "word " * 2_000})
    features = CallFeatures.of(call, "done")
    refused = features.refused()
    assert refused.outcome is Outcome.REFUSED
    assert refused.near == features.near is not None
