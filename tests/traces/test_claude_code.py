"""Claude Code sessions: which runs are in a file, and what they took."""

import pytest

from antiloop.types import Role


def asks(session, message_id, **beside):
    message = {
        "id": message_id,
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "tool_use", "id": message_id, "name": "Bash", "input": {}}],
        "usage": {"input_tokens": 1, "cache_read_input_tokens": 10, "output_tokens": 2},
        **beside.pop("message", {}),
    }
    return {"type": "assistant", "sessionId": session, "message": message, **beside}


def test_each_session_and_each_subagent_is_a_run(read):
    side = {"isSidechain": True, "agentId": "x"}
    runs = read(asks("s", "1"), asks("s", "2", **side), asks("t", "3"), asks("s", "4"))
    assert [(run.run_id, run.agent, len(run)) for run in runs] == [
        ("s", None, 2),
        ("s/x", "x", 1),
        ("t", None, 1),
    ]


def test_a_message_on_several_lines_took_its_tokens_once(read):
    (run,) = read(asks("s", "1"), asks("s", "1"), asks("s", "2", message={"usage": None}))
    assert (run.model, run.input_tokens, run.output_tokens) == ("claude", 11, 2)


@pytest.mark.parametrize(
    "begins", [{"type": "system", "subtype": "init", "session_id": "s"}, {"type": "summary"}]
)
def test_a_session_printed_as_one_list_is_opened(read, begins):
    (run,) = read([begins, asks("s", "1"), asks("s", "2")])
    assert (run.run_id, len(run)) == ("s", 2)
    assert read.trouble == []


def test_calls_that_are_written_again_under_other_ids_count_once(read):
    (run,) = read(asks("s", "1", uuid="a"), asks("s", "2", uuid="b"), asks("s", "1", uuid="c"))
    assert [call.id for call in run.calls] == ["1", "2"]


def test_what_was_said_while_the_model_was_at_work_is_a_turn(read):
    def queued(prompt, **more):
        attached = {"type": "queued_command", "prompt": prompt, **more}
        return {"type": "attachment", "sessionId": "s", "attachment": attached}

    (run,) = read(
        asks("s", "1"),
        queued("look in src, too"),
        {**queued("and in lib"), "uuid": "u"},
        {**queued("and in lib"), "uuid": "u"},
        asks("s", "2"),
        queued([{"type": "text", "text": "stop"}]),
        asks("s", "3"),
        queued("<task-notification>\nit is done\n</task-notification>"),
        queued("it is done", origin={"kind": "task-notification"}),
        {"type": "attachment", "sessionId": "s", "attachment": {"type": "date"}},
    )
    assert [(each.text, each.position) for each in run.messages if each.role is Role.USER] == [
        ("look in src, too", 1),
        ("and in lib", 1),
        ("stop", 2),
    ]
    assert (len(run), run.turn_starts, read.trouble) == (3, (1, 1, 2), [])


def test_a_compaction_is_told_where_no_summary_follows(read):
    boundary = {"type": "system", "subtype": "compact_boundary", "session_id": "s"}
    (run,) = read(asks("s", "1"), boundary, asks("s", "2"))
    assert [(each.is_summary, each.position) for each in run.messages] == [(True, 1)]


def test_what_claude_code_wrote_itself_names_no_model(read):
    (run,) = read(asks("s", "1", message={"model": "<synthetic>"}), asks("s", "2"))
    assert (run.model, run.input_tokens) == ("claude", 11)


def test_the_end_of_a_printed_session_tells_its_cost(read):
    end = {"type": "result", "session_id": "s", "total_cost_usd": 0.5, "is_error": True}
    (run,) = read(asks("s", "1"), end)
    assert (run.cost, run.failed) == (0.5, True)


def test_lines_of_other_types_are_passed_over_and_other_values_are_said(read):
    (run,) = read({"type": "summary"}, asks("s", "1"), {"type": "attachment"}, 7, {"type": 7})
    assert len(run) == 1
    fourth, fifth = read.trouble
    assert fourth.endswith(":4: expected Claude Code sessions; skipped")
    assert fifth.endswith(":5: expected Claude Code sessions; skipped")


def test_each_reply_is_an_event_where_its_first_line_stands(read):
    at = {"timestamp": "1970-01-01T00:00:10Z"}
    last = asks("s", "3", message={"usage": {"output_tokens": 9}, "content": []})
    sibling = asks("s", "1", message={"content": [{"type": "tool_use", "id": "1b"}]})
    (run,) = read(asks("s", "1", **at), sibling, asks("s", "2"), last)
    assert [(event.step, event.time_s, event.tokens) for event in run.events] == [
        (0, 10.0, 13),
        (2, None, 13),
        (3, None, 9),
    ]
