"""Calls of which nobody knows what was asked."""

import pytest

from antiloop.formats._history import unlike_others
from antiloop.loop_detection._evidence.noise import near_arguments
from antiloop.types import ToolCall

IDS = [
    ("call_1", "call_2"),
    ("a1", "b1"),
    ("toolu_01ABCdefGHI", "toolu_01XYZdefGHI"),
    ("b7ad6b7169203331", "c8be7c827a314442"),
    ("3f0c1a52-7d1e-4b0e-9a55-2f6c3e8d7b10", "4f0c1a52-7d1e-4b0e-9a55-2f6c3e8d7b11"),
]


@pytest.mark.parametrize(("one", "other"), IDS)
def test_they_are_not_even_nearly_equal_whatever_ids_look_like(one, other):
    first, second = (unlike_others(ToolCall("ls", None), f"call {id_}") for id_ in (one, other))
    assert near_arguments(first.arguments) != near_arguments(second.arguments)


def test_what_is_known_of_a_call_is_kept():
    call = unlike_others(ToolCall("ls", None, "c1", 7), "call c1")
    assert (call.tool_name, call.id, call.round) == ("ls", "c1", 7)
