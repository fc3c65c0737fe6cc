"""Inspect AI's messages."""

from types import SimpleNamespace

from antiloop.formats import from_inspect
from antiloop.types import Role, ToolResult


def asks(*calls, content=""):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def call(id_, function="search", **arguments):
    return {"id": id_, "function": function, "arguments": arguments, "type": "function"}


def answer(id_, content="", **fields):
    return {"role": "tool", "tool_call_id": id_, "function": "search", "content": content, **fields}


def test_calls_of_one_message_are_one_round_and_results_find_them_by_id():
    history = from_inspect(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Go"},
            asks(call("1", q="a"), call("2", q="b"), content="Let me look."),
            answer("2", "of b"),
            answer("1", [{"type": "text", "text": "of a"}]),
            asks(call("3", "bash", cmd="ls")),
        ]
    )
    assert [(each.tool_name, each.arguments) for each in history.calls] == [
        ("search", {"q": "a"}),
        ("search", {"q": "b"}),
        ("bash", {"cmd": "ls"}),
    ]
    assert history.results == (ToolResult("of a"), ToolResult("of b"), None)
    assert [len(together) for together in history.rounds()] == [2, 1]
    assert history.turn_starts == (0,)
    assert [(each.role, each.text) for each in history.messages] == [
        (Role.USER, "Go"),
        (Role.ASSISTANT, "Let me look."),
    ]


def test_the_result_of_a_call_that_failed_is_its_error_after_what_came_back():
    error = {"type": "timeout", "message": "took too long"}
    history = from_inspect(
        [asks(call("1"), call("2")), answer("1", error=error), answer("2", "half", error=error)]
    )
    assert history.results == (
        ToolResult("took too long", True),
        ToolResult("half\ntook too long", True),
    )


def test_objects_are_read_as_json_is_and_thoughts_are_no_words():
    # Inspect's own object gives its thoughts under the name of words, too.
    thought = SimpleNamespace(type="reasoning", reasoning="hm", text="hm", redacted=False)
    said = SimpleNamespace(text="Well")
    asked = SimpleNamespace(id="1", function="search", arguments={"q": "a"})
    message = SimpleNamespace(role="assistant", content=[thought, said], tool_calls=[asked])
    result = SimpleNamespace(role="tool", content="", tool_call_id="1", function="search")
    result.error = SimpleNamespace(type="approval", message="no")
    history = from_inspect([message, result, 7])
    assert history.calls[0].arguments == {"q": "a"}
    assert history.results == (ToolResult("no", True),)
    assert [(each.text, each.is_thought) for each in history.messages] == [
        ("hm", True),
        ("Well", False),
    ]
