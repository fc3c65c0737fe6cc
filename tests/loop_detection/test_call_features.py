"""Features of a call: complete when they exist, and equal wherever they are made."""

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import features_of, step

from antiloop import LoopDetector, RepeatDetector, ToolCall, ToolResult
from antiloop._text.canonical import canonical_arguments
from antiloop._text.shortening import shortened
from antiloop.loop_detection import ToolPolicy
from antiloop.loop_detection._evidence.call_features import DERIVED
from antiloop.loop_detection._evidence.noise import without_noise
from antiloop.loop_detection._evidence.outcome import Outcome
from antiloop.loop_detection._evidence.sameness import say_alike


def test_a_result_that_comes_later_makes_other_features():
    call = ToolCall("read", {"page": 1})
    first = features_of(call, None)
    later = features_of(call, "page one")
    assert (first.result, first.outcome) == (None, Outcome.UNKNOWN)
    assert (later.call, later.outcome) == (first.call, Outcome.SUCCESS)
    assert features_of(call, "page two").result != later.result


@given(*[st.text('a "\\\n', max_size=6)] * 2, st.booleans())
def test_calls_are_equal_for_spaces_at_the_ends_of_texts_alone(one, other, is_listed):
    first, second = (
        features_of(ToolCall("put", {"text": [text] if is_listed else text}), None).call
        for text in (one, other)
    )
    if first == second:
        assert one.rstrip() == other.rstrip()
    elif one.rstrip() == other.rstrip():  # a line that goes on ends with a backslash
        assert one.rstrip().endswith("\\")


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
def test_fingerprints_are_equal_where_the_canonical_texts_are(arguments, texts):
    one, other = map(features_of, [ToolCall("f", each) for each in arguments], texts)
    same_arguments = canonical_arguments(arguments[0]) == canonical_arguments(arguments[1])
    assert (one.call == other.call) is same_arguments
    assert (one.result == other.result) is (texts[0] == texts[1])


@given(lookalikes(), given_results)
def test_settled_features_are_those_with_texts(arguments, text):
    features = features_of(ToolCall("f", arguments[0]), text)
    settled = features_of(ToolCall("f", arguments[0]), text).settled()
    names = [*DERIVED[:-1], "tool", "call", "result", "outcome", "is_long", "keys"]
    assert [getattr(settled, each) for each in names] == [getattr(features, each) for each in names]
    assert settled.shown.label == features.shown.label
    assert (settled.arguments, settled.text) == (None, None)


def test_what_is_known_of_a_call_does_not_change():
    monitor = LoopDetector.default().monitor()
    monitor.record_call("ls", {}, "a file")
    item = next(iter(monitor.window))
    for thing in (item, item.features):
        with pytest.raises(AttributeError, match=r"does not change|cannot assign"):
            thing.is_long = True


def test_another_policy_makes_other_features():
    call = ToolCall("read", {"page": 1, "label": "a"})
    policy = ToolPolicy(key=["page"])
    assert (
        features_of(call, "x", policy).call == features_of(ToolCall("read", {"page": 1}), "x").call
    )
    assert features_of(call, "x").call != features_of(call, "x", policy).call


def test_nothing_is_written_into_the_call_of_a_user():
    call = ToolCall("read", {"page": 1}, id="c1", round=2)
    before = dict(vars(call))
    features_of(call, "page one", ToolPolicy(key=lambda arguments: arguments))
    assert vars(call) == before


def test_the_arguments_are_given_as_plain_json_and_short():
    assert features_of(ToolCall("f", '{"a": [1.0, 2]}'), None).shown.value == {"a": [1, 2]}
    long = features_of(ToolCall("f", {"text": "x" * 3_000}), None).shown
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
    assert features_of(ToolCall("f"), result).outcome is kind


def test_a_result_and_its_text_are_the_same():
    class Named(ToolResult):
        """A result with something of its own."""

    texts = ["a b", ToolResult("a b"), Named("a b")]
    assert len({features_of(ToolCall("f"), each).result for each in texts}) == 1


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
    features = features_of(ToolCall("f", {"q": "cats"}), None)
    assert (features.steady, features.wording, features.template) == (None, None, None)


def texts_in(features):
    """How many characters are kept of one call and its result."""
    kept = [features.text, features.arguments]
    return sum(len(json.dumps(each, default=repr)) for each in kept)


@pytest.mark.parametrize("size", [100, 8_000, 1_300_000])
def test_a_few_kilobytes_are_kept_of_each_call(size):
    features = features_of(
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
            features = features_of(ToolCall("read", {name: number}), "Error: no")
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
        return features_of(ToolCall(tool, {**arguments, **padding}), text)

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
    cut = [features_of(ToolCall("read"), text).steady for text in whole]
    assert (cut[0] == cut[1]) == (without_noise(whole[0]) == without_noise(whole[1]))


def test_a_result_that_is_changed_in_place_is_another_result():
    call, result = ToolCall("read", {"page": 1}), ["page one"]
    before = features_of(call, result).result
    result[0] = "page two"
    assert features_of(call, result).result != before


def test_answers_say_the_same_if_failures_only_echo_or_count():
    def features(text, **arguments):
        made, result = step("get", text, **arguments)
        return features_of(made, result)

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
    assert features_of(ToolCall("f"), "x" * length).is_long is is_long


def test_an_unknown_result_is_not_long():
    assert features_of(ToolCall("f"), None).is_long is False


def test_who_declares_a_tool_is_believed():
    call, other = ToolCall("write", {"n": 1}), ToolCall("look", {"n": 1})
    assert features_of(call, "ok").mutates is True
    assert features_of(call, "ok", ToolPolicy(mutates=False)).mutates is False
    assert features_of(other, "ok").mutates is False
    assert features_of(other, "ok", ToolPolicy(mutates=True)).mutates is True


def test_a_poll_that_succeeds_is_waited_for():
    policy = ToolPolicy(poll={"action": ("log",)})
    made = [
        features_of(ToolCall("process", {"action": action}), text, policy)
        for action, text in (("log", "a line"), ("kill", "a line"), ("log", "Error: boom"))
    ]
    assert [each.is_polled for each in made] == [True, False, True]
    assert [each.outcome for each in made] == [
        Outcome.WAITING,
        Outcome.SUCCESS,
        Outcome.FAILURE,
    ]


@pytest.mark.parametrize(
    ("text", "only_looks"),
    [
        ("", True),
        ("...", False),
        (" ...", False),
        ("a line", True),
        ("... 3 more lines above\nx = 1", True),
    ],
)
def test_what_is_left_out_of_an_answer_is_not_nothing(text, only_looks):
    features = features_of(ToolCall("read", {"path": "a"}), text)
    assert features.only_looks is only_looks


def test_a_call_that_equals_no_other_keeps_its_result_unknown():
    features = features_of(ToolCall("f"), "text")
    one, other = features.as_unique(3), features.as_unique(20)
    assert (one.call, one.result) == ("0000000003",) * 2
    assert features.result != one.result != other.result
    assert other.call == other.result == "0000000014"
    assert one.tool == "f"
    assert features.call != one.call
    unknown = features_of(ToolCall("f"), None).as_unique(3)
    assert (unknown.call, unknown.result) == ("0000000003", None)


def test_a_refused_call_is_judged_as_one():
    features = features_of(ToolCall("frob"), "Error: unknown tool 'frob'")
    assert (features.outcome, features.is_missing) == (Outcome.INVALID, True)
    refused = features.refused()
    assert (refused.outcome, refused.is_missing) == (Outcome.REFUSED, False)
    assert (refused.call, refused.result) == (features.call, features.result)
    assert features.outcome is Outcome.INVALID


@pytest.mark.parametrize("text", ['{"status": 429}', "HTTP/1.1 503", "try again later"])
def test_who_is_turned_away_as_the_other_side_is_busy_has_changed_nothing(text):
    features = features_of(ToolCall("write_file", {"path": "a"}), text)
    assert (features.outcome, features.changes_world) == (Outcome.WAITING, False)
    assert features_of(ToolCall("write_file", {"path": "a"}), "queued").changes_world


def test_what_was_read_out_of_an_answer_is_read_anew_for_a_refused_call():
    features = features_of(ToolCall("write_file", {"path": "a"}), "503 rate limit, try again later")
    assert features.outcome is Outcome.WAITING
    assert not features.changes_world
    assert features.refused().changes_world


@given(st.text("ab '\n", max_size=20), st.sampled_from(["ok", "success"]))
def test_a_success_that_speaks_of_an_unknown_tool_is_no_missing_one(words, field):
    text = json.dumps({field: True, "page": f"Error: unknown tool 'frob' {words}"})
    features = features_of(ToolCall("read"), text)
    assert (features.outcome, features.is_missing) == (Outcome.SUCCESS, False)


def test_a_rule_that_raises_is_logged_once_with_its_tool(caplog):
    def broken(value):
        raise KeyError(value)

    for name in ("key", "strip"):
        caplog.clear()
        policy = ToolPolicy(**{name: broken})
        for tool in ("look", "look", "read"):
            features_of(ToolCall(tool, {"q": 1}), "text", policy)
        assert caplog.messages == [
            f"the {name}= declared for tool {tool!r} raised; it is ignored, and this is logged once"
            for tool in ("look", "read")
        ]


def test_what_is_declared_idempotent_says_nothing_new():
    policy = ToolPolicy(idempotent=True)
    one, other, failed = (
        features_of(ToolCall("f"), text, policy) for text in ("a", "b", "Error: boom")
    )
    assert one.result == other.result != failed.result
    assert one.steady == other.steady


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"q": "x" * 52}, '{"q":"' + "x" * 52 + '"}'),
        ({"q": "x" * 53}, '{"q":"' + "x" * 22 + "..." + "x" * 26 + '"}'),
        ({"password": "abc"}, '{"password":"***"}'),
    ],
)
def test_arguments_are_shown_in_sixty_characters(arguments, shown):
    features = features_of(ToolCall("f", arguments), None)
    assert features.shown.label == shown
    assert features.shown.is_whole is ("..." not in shown)


@pytest.mark.parametrize(("length", "is_whole"), [(1_992, True), (1_993, False)])
def test_arguments_of_two_thousand_characters_are_given_whole(length, is_whole):
    arguments = features_of(ToolCall("f", {"q": "x" * length}), None).shown.value
    assert (arguments == {"q": "x" * length}) is is_whole


@pytest.mark.parametrize("length", [3, 9_000])
def test_a_refused_call_does_not_say_that_its_tool_is_missing(length):
    """Also where that was read before, because the arguments are too long to be kept."""
    features = features_of(ToolCall("frob", {"q": "x" * length}), "Error: unknown tool 'frob'")
    assert features.is_missing
    assert not features.refused().is_missing


def test_a_refused_call_whose_arguments_are_no_longer_kept_compares_as_before():
    call = ToolCall("write", {"text": "word " * 2_000})
    features = features_of(call, "done")
    refused = features.refused()
    assert refused.outcome is Outcome.REFUSED
    assert refused.near == features.near is not None
