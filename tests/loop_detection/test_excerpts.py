"""The texts of the last calls that a judge may see: how much of them, and for how long."""

import json
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop._text.masking import SECRETS, Masking, masking_of
from antiloop.loop_detection import Window
from antiloop.loop_detection._second_opinion import excerpts as module
from antiloop.loop_detection._second_opinion.case_file import CaseCall
from antiloop.loop_detection._second_opinion.excerpts import Excerpts
from antiloop.types import ToolCall, ToolResult

LETTERS = "kJ8sQ2mZ7xV4bN1cR6tY9wE3uI5oP0aS"


def text_of(length):
    return ("ab " * length)[: length - 1] + "z"


def added(excerpts, calls, results, first=0, rounds=0):
    """Add a round that comes after so many calls and rounds."""
    window = Window()
    window.call_count, window.round_count = first, rounds
    window.append(calls, results)
    excerpts.add(window, list(zip_longest(calls, results)))
    return excerpts


def kept(*calls, results=(), masking=SECRETS):
    return added(Excerpts(masking), calls, results, 3, 1)


def calls_of(excerpts):
    return [call for _, _, call in excerpts.calls]


def case_of(excerpts):
    return excerpts.case("run", 0.5, None, Window())


def test_a_call_is_kept_with_its_number_and_its_round():
    failed = ToolResult("boom", is_error=True)
    excerpts = kept(ToolCall("look", {"at": 1}), ToolCall("run", "x y"), results=["here", failed])
    assert list(excerpts.calls) == [
        (2, False, CaseCall(3, "look", "at: 1", "here")),
        (2, False, CaseCall(4, "run", "x y", "boom", is_error=True)),
    ]


@pytest.mark.parametrize("lines", range(0, 900, 60))
def test_a_secret_is_masked_wherever_a_long_text_is_cut(lines):
    key = [f"{number:02}{LETTERS}" for number in range(25)]
    secret = ["-----BEGIN RSA PRIVATE KEY-----", *key, "-----END RSA PRIVATE KEY-----"]
    text = "\n".join(["all as usual here"] * lines + secret + ["all as usual"] * (1_500 - lines))
    for call, result in ((ToolCall("cat", "x"), text), (ToolCall("write", {"text": text}), None)):
        [call] = calls_of(kept(call, results=[result]))
        assert LETTERS not in call.arguments + call.result
        assert len(call.arguments + call.result) <= 16_100


def test_a_secret_in_the_name_of_a_tool_is_masked():
    named = [ToolCall(f"sk-{LETTERS}"), ToolCall("a " * 95 + f"sk-{LETTERS}" + " b" * 95)]
    assert not [each for each in calls_of(kept(*named)) if LETTERS[:9] in each.tool]


@pytest.mark.parametrize("masked", [{1: "a", "b": 2}, {None: {1}}, object(), [object()], None])
def test_a_mask_may_return_anything(masked):
    excerpts = kept(
        ToolCall("look", {"at": 1}), results=["here"], masking=Masking(lambda _: masked)
    )
    [call] = calls_of(excerpts)
    assert type(call.arguments) is str
    assert excerpts.to_dict() == json.loads(json.dumps(excerpts.to_dict()))


def test_a_result_that_is_missing_is_not_known():
    [first, second] = calls_of(kept(ToolCall("a"), ToolCall("b"), results=[""]))
    assert (first.result, second.result) == ("", "")
    assert (first.is_known, second.is_known) == (True, False)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"b": "x\ny", "a": {"n": [1.0]}}, 'a: {"n":[1]}\nb: x\ny'),
        ('{"q": "cats"}', "q: cats"),
        (["a", 1], '["a",1]'),
        ("raw text", "raw text"),
        (None, ""),
    ],
)
def test_arguments_are_written_for_a_reader(arguments, shown):
    [excerpt] = calls_of(kept(ToolCall("look", arguments)))
    assert excerpt.arguments == shown


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ({"stdout": "a\nb", "stderr": "", "returncode": 0}, "stdout: a\nb\nreturncode: 0"),
        (
            [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
            "text: one\ntext: two",
        ),
        (
            {"content": [{"type": "text", "text": '{"n": [1, 2]}'}]},
            "content.text.n: 1\ncontent.text.n: 2",
        ),
        ({"none": None, "empty": {}, "no": False, "zero": 0}, "no: false\nzero: 0"),
        ("only words", '"only words"'),
        ({}, "{}"),
    ],
)
def test_the_wrapping_of_an_answer_is_opened(result, shown):
    [excerpt] = calls_of(kept(ToolCall("look"), results=[json.dumps(result)]))
    assert excerpt.result == shown


@pytest.mark.parametrize("text", ["{not json", "[1, 2", "plain", "[cut] {}"])
def test_an_answer_that_is_no_json_stays_as_it_is(text):
    [excerpt] = calls_of(kept(ToolCall("look"), results=[text]))
    assert excerpt.result == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_any_json_is_opened(value):
    [excerpt] = calls_of(kept(ToolCall("look"), results=[json.dumps(value)]))
    assert type(excerpt.result) is str


def test_a_secret_in_json_within_json_is_masked():
    inner = json.dumps({"note": json.dumps({"password": "hunter2hunter"})})
    for length in (1, 400):
        text = json.dumps({"text": inner, "more": ["line"] * 50 * length})
        [excerpt] = calls_of(kept(ToolCall("look"), results=[text]))
        assert "hunter2" not in excerpt.result


def test_a_message_of_the_user_belongs_to_the_round_after_it():
    excerpts = Excerpts(SECRETS)
    added(excerpts, [ToolCall("a")], [])
    excerpts.user_message()
    added(excerpts, [ToolCall("b"), ToolCall("c")], [], 1, 1)
    added(excerpts, [ToolCall("d")], [], 3, 2)
    assert [after_user for _, after_user, _ in excerpts.calls] == [False, True, True, False]


def test_the_last_twenty_rounds_and_a_hundred_calls_are_kept():
    excerpts = Excerpts(SECRETS)
    for number in range(30):
        added(excerpts, [ToolCall("a")], ["x"], number, number)
    assert [number for number, _, _ in excerpts.calls] == list(range(11, 31))
    added(excerpts, [ToolCall("a", {"n": n}) for n in range(95)], [], 30, 30)
    assert [each.number for each in calls_of(excerpts)] == list(range(25, 125))


def test_texts_are_masked_once():
    seen = []

    def masked(value):
        seen.append(value)
        return "hidden"

    excerpts = kept(ToolCall("look", {"at": 1}), results=["text"], masking=Masking(masked))
    assert case_of(excerpts).rounds[0].calls[0].arguments == "hidden"
    assert excerpts.to_dict()["calls"][0][2:5] == ["hidden"] * 3
    assert seen == ["look", {"at": 1}, "text"]


def test_arguments_are_kept_as_they_were():
    arguments = {"list": [1]}
    excerpts = kept(ToolCall("look", arguments))
    arguments["list"].append(2)
    assert calls_of(excerpts)[0].arguments == "list: [1]"


def test_long_texts_keep_both_ends():
    long = text_of(16_001)
    call = ToolCall("t" * 201, {"text": long, "deep": [{"text": "x"}, 1], "short": "y"})
    first, second = calls_of(kept(call, ToolCall("run", long), results=[long, long]))
    assert first.tool == f"{'t' * 98}...{'t' * 98}"
    assert second.arguments == second.result == first.result
    for text in (first.arguments, second.result):
        assert 15_900 < len(text) <= 16_000
        assert " [...] " in text
    assert first.arguments.startswith('deep: [{"text":"x"},1]\nshort: y\ntext: ab')
    assert first.arguments.endswith(long[-9:])


def test_what_was_saved_comes_back_masked_and_short():
    failed = ToolResult(text_of(900), is_error=True)
    arguments = {"password": "hunter2", "text": text_of(900)}
    excerpts = Excerpts(SECRETS)
    excerpts.user_message("Find it. My password: hunter2")
    excerpts.said("I look with password=hunter2 now.")
    added(excerpts, [ToolCall("look", arguments), ToolCall("run")], [failed], 3, 1)
    saved = json.loads(json.dumps(excerpts.to_dict()))
    assert "hunter2" not in str(saved)
    again = Excerpts(SECRETS)
    again.load(saved)
    first, second = calls_of(again)
    assert [each[:2] for each in again.calls] == [(2, True)] * 2
    assert (first.number, first.tool, first.is_error) == (3, "look", True)
    assert first.arguments.startswith("password: ***\ntext: ab")
    assert 200 < len(first.result) <= 240
    assert (second.number, second.is_known, second.is_error) == (4, False, False)
    assert again.to_dict() == saved


@pytest.mark.parametrize("rule", ["arguments", lambda value: f"<{len(str(value))}>"])
def test_what_was_saved_is_not_masked_again(rule):
    excerpts = Excerpts(masking_of(rule))
    excerpts.user_message("Find it. My password=hunter2")
    excerpts.said("I look with password=hunter2 now.")
    added(excerpts, [ToolCall("look", {"password": "hunter2"})], ["password=hunter2"])
    again = Excerpts(masking_of(rule))
    again.load(json.loads(json.dumps(excerpts.to_dict())))
    assert again.calls == excerpts.calls
    assert case_of(again) == case_of(excerpts)
    assert again.to_dict() == excerpts.to_dict()


def test_the_last_words_stay_where_a_reply_has_none():
    excerpts = kept(ToolCall("look"))
    for words in ("I look.", ""):
        excerpts.said(words)
        excerpts.user_message(words)
    assert (case_of(excerpts).words, case_of(excerpts).user) == ("I look.", "")


def test_a_long_text_is_masked_once_too():
    long = "ab " * 6_000
    masking = Masking(lambda value: f"<{value}>" if isinstance(value, str) else value)
    [call] = calls_of(kept(ToolCall("run", long), results=[long], masking=masking))
    assert (call.arguments[:4], call.result[:4]) == ("<ab ", "<ab ")


def of_results(length):
    [call] = calls_of(kept(ToolCall("run"), results=[text_of(length)]))
    return call.result


def of_arguments(length):
    [call] = calls_of(kept(ToolCall("run", text_of(length))))
    return call.arguments


def of_words(length):
    excerpts = Excerpts(SECRETS)
    excerpts.said(text_of(length))
    excerpts.user_message(text_of(length))
    case = case_of(excerpts)
    assert case.words == case.user
    return case.words


def of_snapshots(length):
    excerpts = kept(ToolCall("run", text_of(length)), results=[text_of(length)])
    excerpts.said(text_of(length))
    saved = excerpts.to_dict()
    [[_, _, _, arguments, result, *_]] = saved["calls"]
    assert arguments == result == saved["said"][0]
    return result


@pytest.mark.parametrize(
    ("kept_of", "length"),
    [(of_results, 16_000), (of_arguments, 16_000), (of_words, 600), (of_snapshots, 240)],
)
def test_so_long_a_text_is_kept_whole_and_no_longer_one(kept_of, length):
    assert kept_of(length) == text_of(length)
    assert " [...] " in kept_of(length + 1)
    assert len(kept_of(length + 1)) <= length


def test_the_first_twenty_tools_are_counted():
    calls = [ToolCall(f"tool_{number % 21:02}") for number in range(42)]
    counts = kept(*calls).to_dict()["counts"]
    assert counts == {f"tool_{number:02}": 2 for number in range(20)}


def test_tools_whose_masked_names_are_equal_are_counted_together():
    masking = Masking(lambda value: "hidden" if value == "secret" else value)
    excerpts = kept(*map(ToolCall, ("secret", "look", "secret", "hidden")), masking=masking)
    assert case_of(excerpts).earlier == "0 calls so far (hidden 3, look 1)"
    again = Excerpts(masking)
    again.load(json.loads(json.dumps(excerpts.to_dict())))
    assert case_of(again).earlier == case_of(excerpts).earlier


def test_each_answer_is_read_once_for_a_case(monkeypatch):
    read = []
    monkeypatch.setattr(module, "steady_lines", lambda text: read.append(text) or [text])
    excerpts = Excerpts(SECRETS)
    for number in range(12):
        call, answer = ToolCall("look", {"at": number}), f"page {number}\nof the book"
        added(excerpts, [call], [ToolResult(answer)], number, number)
    case_of(excerpts)
    assert len(read) == len(set(read)) == 12
