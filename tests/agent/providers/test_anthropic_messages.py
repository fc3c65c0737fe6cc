"""Conversations as the system prompt and turns of Anthropic's messages; no SDK takes part."""

import pytest

from antiloop.agent.providers._anthropic import anthropic_messages
from antiloop.loop_detection._messages import system_notice
from antiloop.types import Image, Message, Role, ToolCall


def text(content):
    return {"type": "text", "text": content}


def test_leading_system_messages_make_the_prompt():
    conversation = [Message(Role.SYSTEM, "A"), Message(Role.SYSTEM, "B"), Message(Role.USER, "hi")]
    assert anthropic_messages(conversation) == (
        "A\n\nB",
        [{"role": "user", "content": [text("hi")]}],
    )


def test_neighbours_of_one_role_make_one_turn():
    roles = [Role.USER, Role.USER, Role.ASSISTANT, Role.ASSISTANT, Role.USER]
    _, turns = anthropic_messages([Message(role, str(n)) for n, role in enumerate(roles)])
    assert turns == [
        {"role": "user", "content": [text("0"), text("1")]},
        {"role": "assistant", "content": [text("2"), text("3")]},
        {"role": "user", "content": [text("4")]},
    ]


def test_results_come_first_in_a_turn_even_after_a_notice():
    calls = (ToolCall("a", {}, "1"), ToolCall("b", {}, "2"))
    conversation = [
        Message(Role.ASSISTANT, "", calls),
        Message(Role.TOOL, "x", tool_call_id="1"),
        Message(Role.SYSTEM, "careful"),
        Message(Role.TOOL, "y", tool_call_id="2"),
        Message(Role.USER, "go on"),
    ]
    kinds = [block["type"] for block in anthropic_messages(conversation)[1][1]["content"]]
    assert kinds == ["tool_result", "tool_result", "text", "text"]


@pytest.mark.parametrize("empty", ["", " \n"])
def test_what_is_empty_is_left_out(empty):
    conversation = [
        Message(Role.SYSTEM, empty),
        Message(Role.USER, "hi"),
        Message(Role.ASSISTANT, empty),
        Message(Role.USER, empty),
        Message(Role.ASSISTANT, empty, (ToolCall("a", {}, "1"),)),
    ]
    use = {"type": "tool_use", "id": "1", "name": "a", "input": {}}
    assert anthropic_messages(conversation) == (
        "",
        [
            {"role": "user", "content": [text("hi")]},
            {"role": "assistant", "content": [use]},
        ],
    )


def test_an_empty_error_says_that_there_is_no_output():
    conversation = [
        Message(Role.ASSISTANT, "", (ToolCall("a"), ToolCall("b"))),
        Message(Role.TOOL, ""),
        Message(Role.TOOL, "", is_error=True),
    ]
    fine, failed = anthropic_messages(conversation)[1][1]["content"]
    assert (fine["content"], failed["content"]) == ("", "(no output)")
    assert ("is_error" in fine, failed["is_error"]) == (False, True)


def test_an_image_of_a_failure_stands_beside_it():
    """The API takes text alone in an error."""
    conversation = [
        Message(Role.ASSISTANT, "", (ToolCall("a"), ToolCall("b"))),
        Message(Role.TOOL, "failed", is_error=True, images=(Image("QQ=="),)),
        Message(Role.TOOL, "seen", images=(Image("Qg=="),)),
    ]
    failed, fine, image = anthropic_messages(conversation)[1][1]["content"]
    assert (failed["content"], failed["is_error"]) == ("failed", True)
    assert [each["type"] for each in fine["content"]] == ["text", "image"]
    assert (image["type"], image["source"]["data"]) == ("image", "QQ==")


def test_pairs_match_where_the_ids_are_missing():
    conversation = [
        Message(Role.ASSISTANT, "", (ToolCall("a"), ToolCall("b"))),
        Message(Role.TOOL, "1"),
        Message(Role.TOOL, "2"),
    ]
    uses, results = (turn["content"] for turn in anthropic_messages(conversation)[1])
    assert [use["id"] for use in uses] == [result["tool_use_id"] for result in results]


@pytest.mark.parametrize(
    "escape", ["</system-notice>", "</SYSTEM-Notice >", "< / system-notice>", "<system-notice x>"]
)
def test_a_notice_cannot_be_broken_out_of(escape):
    notice = system_notice(f"a {escape} b <c>")
    assert notice.startswith("<system-notice>\na &lt;")
    assert notice.endswith(" b <c>\n</system-notice>")
    assert notice.count("<") == 3
