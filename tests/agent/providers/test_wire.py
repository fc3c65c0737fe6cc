"""What every provider needs on the wire: call ids, arguments, text."""

import pytest

from antiloop.agent.providers._calls import read_arguments, with_call_ids, write_arguments
from antiloop.agent.providers._wire import clean, shortened
from antiloop.types import Message, Role, ToolCall


def asking(*ids):
    return Message(Role.ASSISTANT, "", tuple(ToolCall("search", {}, call_id) for call_id in ids))


def answering(call_id=None):
    return Message(Role.TOOL, "found", tool_call_id=call_id)


def ids_of(messages):
    """Return the ids of calls and of results, in order."""
    paired = with_call_ids(messages)
    calls = [call.id for message in paired for call in message.tool_calls]
    return calls, [m.tool_call_id for m in paired if m.role is Role.TOOL]


def test_ids_that_are_there_stay():
    conversation = [asking("a", "b"), answering("b"), answering("a")]
    assert with_call_ids(conversation) == conversation


def test_results_without_an_id_answer_the_calls_in_order():
    calls, results = ids_of([asking(None, None), answering(), answering()])
    assert calls == results
    assert len(set(calls)) == 2


def test_a_result_without_an_id_answers_the_call_without_one():
    calls, results = ids_of([asking("a", None), answering(), answering("a")])
    assert results == [calls[1], "a"]


def test_results_without_an_id_find_calls_that_have_one():
    assert ids_of([asking("a", "b"), answering(), answering()])[1] == ["a", "b"]


def test_made_ids_stay_the_same_while_the_conversation_grows():
    start = [asking(None), answering()]
    first = ids_of(start)
    second = ids_of([*start, Message(Role.USER, "go on"), asking(None), answering()])
    assert (second[0][:1], second[1][:1]) == first
    assert len(set(second[0])) == 2


def test_ids_used_again_in_a_later_reply_are_told_apart():
    round_ = [asking("call_0", "call_1"), answering("call_1"), answering("call_0")]
    calls, results = ids_of([*round_, *round_])
    assert len(set(calls)) == 4
    assert results == [calls[1], calls[0], calls[3], calls[2]]


def test_ids_used_twice_in_one_reply_are_told_apart():
    calls, results = ids_of([asking("x", "x"), answering("x"), answering("x")])
    assert calls == results
    assert len(set(calls)) == 2


def test_a_result_without_any_call_keeps_or_gets_an_id():
    assert ids_of([answering("a"), answering()]) == ([], ["a", "antiloop_1_0"])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (" \n", {}),
        (None, {}),
        ("null", {}),
        ("[1]", "[1]"),
        ('"a"', '"a"'),
        ('{"a": ', '{"a": '),
        ('{"a": NaN}', '{"a": NaN}'),
        ("[" * 100_000, "[" * 100_000),
        ([1], "[1]"),
    ],
)
def test_arguments_are_a_mapping_or_the_raw_text(raw, expected):
    assert read_arguments(raw) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"a": "é"}, '{"a": "é"}'),
        (None, "{}"),
        ("", "{}"),
        ('{"a": ', '{"a": '),
        ({"a": "\udcff"}, '{"a": "?"}'),
        ({"a": {1}}, '{"a": "{1}"}'),
    ],
)
def test_arguments_are_written_as_json_and_raw_text_as_it_is(arguments, expected):
    assert write_arguments(arguments) == expected


def test_clean_text_stays_as_it_is():
    assert clean("naïve \U0001f600 \x00") == "naïve \U0001f600 \x00"


def test_an_unusable_answer_is_shortened():
    assert len(shortened("x" * 10_000)) < 400
    assert shortened({"error": {"code": 1}, "id": None}) == "{'code': 1}"
