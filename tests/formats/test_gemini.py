"""Gemini contents, as the API documents them and as the SDK gives them."""

import json
from types import SimpleNamespace

import pytest

from antiloop.formats import from_gemini
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult


def asks(*calls):
    return {"role": "model", "parts": [{"functionCall": call} for call in calls]}


def answers(*responses):
    return {"role": "user", "parts": [{"functionResponse": response} for response in responses]}


def says(*texts):
    return {"role": "user", "parts": [{"text": text} for text in texts]}


def test_calls_of_one_content_are_one_round_and_names_pair_them():
    history = from_gemini(
        [
            says("look"),
            asks({"name": "ls", "args": {"p": "."}}, {"name": "cat", "args": {"p": "a"}}),
            answers(
                {"name": "cat", "response": {"output": "A"}},
                {"name": "ls", "response": {"output": "a"}},
            ),
            asks({"name": "ls", "id": "7"}),
        ]
    )
    assert history.calls == (
        ToolCall("ls", {"p": "."}, None, 1),
        ToolCall("cat", {"p": "a"}, None, 1),
        ToolCall("ls", None, "7", 3),
    )
    assert history.results == (ToolResult("a"), ToolResult("A"), None)
    assert history.turn_starts == (0,)


@pytest.mark.parametrize(
    ("response", "result"),
    [
        ({"output": "a"}, ToolResult("a")),
        ({"result": {"b": 1, "a": 2}}, ToolResult('{"a":2,"b":1}')),
        ({"error": "no"}, ToolResult("no", True)),
        ({"error": None, "output": "a"}, ToolResult('{"error":null,"output":"a"}')),
        ({"content": [{"type": "text", "text": "a"}], "isError": True}, ToolResult("a", True)),
        ({"temperature": 20}, ToolResult('{"temperature":20}')),
        ("text", ToolResult("text")),
        (None, ToolResult("")),
    ],
)
def test_a_response_becomes_text(response, result):
    history = from_gemini([asks({"name": "t"}), answers({"name": "t", "response": response})])
    assert history.results == (result,)


def test_pictures_that_a_tool_shows_are_part_of_its_result():
    def shown(data):
        picture = {"inlineData": {"mimeType": "image/png", "data": data}}
        response = {"name": "look", "response": {"output": "here"}, "parts": [picture]}
        return from_gemini([asks({"name": "look"}), answers(response)]).results[0].text

    assert shown("a") == 'here\n{"inlineData":{"data":"a","mimeType":"image/png"}}'
    assert shown("a") != shown("b")


def test_only_words_are_a_turn_of_the_user():
    notice = f"{NOTICE_MARKER} you repeat yourself"
    contents = [says(notice), answers({"name": "t"}), says(notice, "go on"), says("")]
    assert from_gemini(contents).turn_starts == (1,)


@pytest.mark.parametrize("name", ["inlineData", "file_data"])
def test_a_picture_is_a_turn_of_the_user_but_not_beside_a_result(name):
    picture = {name: {"mimeType": "image/png", "data": "AAAA"}}
    shown, beside = {"role": "user", "parts": [picture]}, answers({"name": "t"})
    beside["parts"].append(picture)
    assert from_gemini([asks({"name": "t"}), beside, asks({"name": "t"})]).turn_starts == ()
    assert from_gemini([asks({"name": "t"}), shown]).turn_starts == (1,)


def test_objects_of_the_sdk_are_read_like_json():
    contents = [asks({"name": "t", "args": {}}), answers({"name": "t", "response": "a"})]
    text = (
        json.dumps(contents).replace("functionC", "function_c").replace("functionR", "function_r")
    )
    live = json.loads(text, object_hook=lambda d: SimpleNamespace(**d) if d else d)
    assert from_gemini(live) == from_gemini(contents)


@pytest.mark.parametrize(
    "contents",
    [
        [],
        [None, 7, "text", [], {}],
        [{"role": "model"}, {"role": "model", "parts": 7}, {"parts": [None, 7, {}]}],
    ],
)
def test_what_holds_no_call_gives_none(contents):
    assert from_gemini(contents).calls == ()
