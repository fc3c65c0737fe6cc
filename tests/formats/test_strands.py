"""Messages of Strands and of Bedrock's Converse."""

import pytest

from antiloop.formats import from_strands
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def asks(*call_ids):
    uses = [{"toolUse": {"toolUseId": i, "name": "ls", "input": {"n": i}}} for i in call_ids]
    return {"role": "assistant", "content": [{"text": "I look."}, *uses]}


def answers(call_id, *content, status="success"):
    result = {"toolUseId": call_id, "status": status, "content": list(content)}
    return {"role": "user", "content": [{"toolResult": result}]}


def says(*texts):
    return {"role": "user", "content": [{"text": text} for text in texts]}


def test_calls_of_one_message_are_one_round():
    history = from_strands(
        [
            says("look"),
            asks("1", "2"),
            answers("2", {"text": "b"}),
            answers("1", {"text": "a"}, status="error"),
            asks("3"),
        ]
    )
    assert history.calls[0] == ToolCall("ls", {"n": "1"}, "1", 1)
    assert history.results == (ToolResult("a", is_error=True), ToolResult("b"), None)
    assert [len(part) for part in history.rounds()] == [2, 1]
    assert history.turn_starts == (0,)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([], ""),
        ([{"text": "a"}, {"text": "b"}], "a\nb"),
        ([{"json": {"b": 1, "a": 2}}], '{"a":2,"b":1}'),
        ([{"text": "a"}, {"image": {"format": "png"}}], 'a\n{"image":{"format":"png"}}'),
        (["a", 7], "a\n7"),
    ],
)
def test_a_result_becomes_text(content, text):
    assert from_strands([asks("1"), answers("1", *content)]).results == (ToolResult(text),)


def test_a_mark_for_caching_is_no_turn_of_the_user():
    mark = {"cachePoint": {"type": "default"}}
    history = from_strands([says("go"), asks("1"), answers("1", {"text": "a"}), asks("2")])
    marked = [
        {**answers("1", {"text": "a"}), "content": [*answers("1", {"text": "a"})["content"], mark]}
    ]
    cached = from_strands([says("go"), asks("1"), *marked, asks("2")])
    assert cached == history
    assert from_strands([says("go"), {"role": "user", "content": [mark]}]).turn_starts == (0,)


def test_only_words_are_a_turn_of_the_user():
    notice = f"{NOTICE_MARKER} you repeat yourself"
    after_results = {"role": "user", "content": [*answers("1")["content"], {"text": notice}]}
    assert from_strands([after_results, says(notice), says(notice, "go on")]).turn_starts == (1,)


@pytest.mark.parametrize(
    "message",
    [None, 7, "text", [], {}, {"content": 7}, {"content": [None, 7, {}]}],
)
def test_what_holds_no_call_gives_none(message):
    assert from_strands([message]).calls == ()
