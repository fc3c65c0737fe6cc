"""LangChain messages, in the three shapes in which they are found, and live."""

from types import SimpleNamespace

import pytest

from antiloop.formats import from_langchain
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.types import ToolCall, ToolResult

CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
CONVERSATION = [
    {"type": "human", "content": "find cats"},
    {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "search", "args": {"q": "cats"}, "id": "1"}],
        "invalid_tool_calls": [{"name": "ls", "args": '{"p": ', "id": "2", "error": "no JSON"}],
    },
    {"type": "tool", "content": [{"type": "text", "text": "a"}, "b"], "tool_call_id": "1"},
    {"type": "tool", "content": "bad", "tool_call_id": "2", "status": "error", "artifact": [1]},
    {"type": "ai", "content": "", "tool_calls": [{"name": "done", "args": {}, "id": "3"}]},
]


def serialized(message):
    path = ["langchain", "schema", "messages", CLASSES[message["type"]]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": message}


SHAPES = {
    "as model_dump gives them": lambda message: message,
    "as messages_to_dict gives them": lambda message: {"type": message["type"], "data": message},
    "as dumpd gives them": serialized,
    "live": lambda message: SimpleNamespace(**message),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_all_shapes_of_messages_are_read(shape):
    history = from_langchain(map(shape, CONVERSATION))
    assert history.calls == (
        ToolCall("search", {"q": "cats"}, "1", 1),
        ToolCall("ls", '{"p": ', "2", 1),
        ToolCall("done", {}, "3", 4),
    )
    assert history.results == (ToolResult("a\nb"), ToolResult("bad", is_error=True), None)
    assert history.turn_starts == (0,)


def test_chunks_are_messages():
    chunk = {"type": "AIMessageChunk", "data": CONVERSATION[1]}
    assert len(from_langchain([chunk])) == 2


def test_a_notice_of_ours_is_no_user_message():
    notice = {"type": "human", "content": f"{NOTICE_MARKER} you repeat yourself"}
    assert from_langchain([notice]).turn_starts == ()


def test_without_an_id_the_name_of_the_tool_decides():
    calls = [{"name": "a", "args": {}, "id": None}, {"name": "b", "args": {}, "id": None}]
    history = from_langchain(
        [
            {"type": "ai", "tool_calls": calls},
            {"type": "tool", "content": "B", "name": "b"},
        ]
    )
    assert history.results == (None, ToolResult("B"))


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [None, 7, "text", [], {}],
        [{"lc": 1}, {"lc": 1, "id": []}, {"lc": 1, "id": 7}, {"lc": 1, "id": [7], "kwargs": 7}],
        [{"type": "ai", "tool_calls": 7}, {"type": "ai", "data": 7}, {"type": 7}],
        [{"type": "tool", "content": "of nothing"}],
    ],
)
def test_what_holds_no_call_gives_none(messages):
    assert from_langchain(messages).calls == ()
