"""Rounds, turns, and which result belongs to which call."""

from antiloop.formats import History, TextMessage, rounds_of
from antiloop.formats._history_builder import HistoryBuilder
from antiloop.types import Role, ToolCall, ToolResult


def calls_in(*rounds):
    return [ToolCall("t", {"n": index}, round=round_) for index, round_ in enumerate(rounds)]


def built(*steps):
    """Build a history from ``("call", id, round)`` and ``("result", text, id, name)`` steps."""
    builder = HistoryBuilder()
    for step in steps:
        if step[0] == "call":
            builder.add_call(step[3] if len(step) > 3 else "t", {}, step[1], step[2])
        else:
            builder.add_result(ToolResult(step[1]), *step[2:])
    return [result and result.text for result in builder.build().results]


def test_no_calls_are_no_rounds():
    assert list(rounds_of([])) == []


def test_neighbours_with_equal_rounds_are_one_round():
    assert list(rounds_of(calls_in(0, 0, 1, 1, 1))) == [(0, 2), (2, 5)]


def test_a_round_number_that_comes_back_later_is_another_round():
    assert list(rounds_of(calls_in(0, 1, 0))) == [(0, 1), (1, 2), (2, 3)]


def test_calls_without_a_round_stand_alone():
    assert list(rounds_of(calls_in(None, None, 0, None))) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_a_history_gives_its_rounds_with_their_results():
    calls = tuple(calls_in(0, 0, 1))
    results = (ToolResult("a"), None, ToolResult("c"))
    rounds = list(History(calls, results).rounds())
    assert [(part.calls, part.results) for part in rounds] == [
        (calls[:2], results[:2]),
        (calls[2:], results[2:]),
    ]


def test_the_last_turn_is_what_came_after_the_last_user_message():
    calls = tuple(calls_in(0, 1, 2))
    history = History(calls, (None, None, None), turn_starts=(0, 2))
    assert history.last_turn().calls == calls[2:]
    assert len(History(calls, (None, None, None)).last_turn()) == 3


def test_the_last_turn_keeps_what_was_said_since():
    builder = HistoryBuilder()
    builder.add_user_message("Go")
    builder.add_reply("Let me look.")
    builder.add_call("t", {}, "1", 0)
    builder.add_user_message("And now?")
    builder.add_reply("Let me look again.")
    builder.add_call("t", {}, "2", 1)
    turn = builder.build().last_turn()
    assert (turn.calls[0].id, turn.messages) == (
        "2",
        (TextMessage(Role.USER, "And now?"), TextMessage(Role.ASSISTANT, "Let me look again.")),
    )


def test_a_reply_is_what_was_said_and_the_round_of_its_calls():
    builder = HistoryBuilder()
    builder.add_reply("One.")
    builder.add_call("t", {}, "1", 0)
    builder.add_call("t", {}, "2", 0)
    builder.add_call("t", {}, "3", 1)
    builder.add_reply("Two.")
    builder.add_user_message("Well?")
    replies = list(builder.build().replies())
    told = [([call.id for call in each.calls], len(each.messages)) for each in replies]
    assert told == [(["1", "2"], 1), (["3"], 0), ([], 2)]
    assert {said.position for each in replies for said in each.messages} == {0}


def test_a_reply_says_whether_a_turn_begins_with_it():
    builder = HistoryBuilder()
    builder.add_user_message("Go.")
    builder.add_call("t", {}, "1", 0)
    builder.add_call("t", {}, "2", 1)
    builder.add_user_message("Well?")
    told = [(len(each), each.turn_starts) for each in builder.build().replies()]
    assert told == [(1, (0,)), (1, ()), (0, (0,))]


def test_words_of_the_user_in_the_middle_of_a_round_begin_no_turn():
    builder = HistoryBuilder()
    builder.add_call("t", {}, "1", 0)
    builder.add_user_message("Well?")
    builder.add_call("t", {}, "2", 0)
    builder.add_call("t", {}, "3", 1)
    told = [(len(each), each.turn_starts, each.messages) for each in builder.build().replies()]
    assert told == [(2, (), ()), (1, (), ())]


def test_results_are_paired_by_id_in_whatever_order_they_come():
    assert built(
        ("call", "a", 0), ("call", "b", 0), ("result", "B", "b"), ("result", "A", "a")
    ) == ["A", "B"]


def test_an_id_used_again_belongs_to_the_latest_unanswered_call():
    assert built(("call", "a", 0), ("call", "a", 1), ("result", "second", "a")) == [None, "second"]


def test_an_id_used_twice_in_one_round_is_answered_in_order():
    assert built(
        ("call", "a", 0), ("call", "a", 0), ("result", "first", "a"), ("result", "second", "a")
    ) == ["first", "second"]


def test_a_second_answer_to_a_call_is_dropped():
    assert built(("call", "a", 0), ("result", "1", "a"), ("result", "2", "a")) == ["1"]


def test_without_ids_results_are_paired_in_order():
    assert built(
        ("call", None, 0), ("call", None, 0), ("result", "1", None), ("result", "2", None)
    ) == ["1", "2"]


def test_without_ids_a_tool_name_decides():
    assert built(
        ("call", None, 0, "read"), ("call", None, 0, "list"), ("result", "L", None, "list")
    ) == [None, "L"]


def test_a_result_without_id_never_answers_a_call_of_an_earlier_round():
    assert built(
        ("call", None, 0), ("call", None, 1), ("result", "1", None), ("result", "2", None)
    ) == [None, "1"]


def test_an_id_on_one_side_only_is_no_obstacle():
    assert built(("call", "a", 0), ("result", "1", None)) == ["1"]
    assert built(("call", None, 0), ("result", "1", "a")) == ["1"]


def test_a_result_of_a_call_that_is_not_there_is_a_step_of_its_own():
    assert built(("result", "0", "z"), ("call", "a", 0), ("result", "1", "b")) == ["0", None, "1"]


def test_a_second_answer_to_a_call_that_is_not_there_is_dropped():
    assert built(("result", "0", "z"), ("result", "1", "z")) == ["0"]


def test_without_an_id_only_another_tool_shows_that_a_call_is_not_there():
    call = ("call", None, 0, "read")
    assert built(call, ("result", "L", None, "list"), ("result", "R", None, "read")) == ["R", "L"]
    assert built(call, ("result", "1", None, "read"), ("result", "2", None, "read")) == ["1"]


def test_calls_that_are_not_there_are_like_no_other():
    builder = HistoryBuilder()
    for call_id in "ab":
        builder.add_result(ToolResult("same"), call_id)
        builder.add_result(ToolResult("same"), f"{call_id}2", "ls")
    calls = builder.build().calls
    assert [call.tool_name for call in calls] == [
        "(not recorded, call a)",
        "ls",
        "(not recorded, call b)",
        "ls",
    ]
    assert len({str(call.arguments) for call in calls}) == 4


def test_results_without_a_call_are_of_the_latest_round_unless_the_user_spoke():
    builder = HistoryBuilder()
    builder.add_result(ToolResult("of what was cut off"), "x")
    builder.add_call("ls", {}, "a", 1)
    builder.add_result(ToolResult("of a sibling"), "b")
    builder.add_user_message("go on")
    builder.add_result(ToolResult("of what was summed up"), "c")
    builder.add_result(ToolResult("of the same"), "d")
    assert [len(part) for part in builder.build().rounds()] == [1, 2, 2]
