"""Only what a person said is the user's; the rest in the user's place is the client's own."""

import pytest

from antiloop import LoopDetector
from antiloop.formats import (
    from_claude_transcript,
    from_codex_rollout,
    from_gemini_session,
    from_openhands,
)
from antiloop.formats._history_builder import HistoryBuilder
from antiloop.types import Role, ToolResult


def claude_rounds(count, between=()):
    for number in range(count):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
        said = {"id": f"m{number}", "role": "assistant", "content": [call]}
        yield {"type": "assistant", "message": said, "timestamp": f"2026-01-01T00:00:{number:02}Z"}
        given = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "a"}
        at = f"2026-01-01T00:00:{number:02}.5Z"
        yield {"type": "user", "message": {"role": "user", "content": [given]}, "timestamp": at}
        yield from between


def claude_user(text, **fields):
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


@pytest.mark.parametrize(
    "line",
    [
        claude_user("<task-notification>\n<task-id>b1</task-id>"),
        claude_user("b1 ended", origin={"kind": "task-notification"}),
        claude_user("<system-reminder>be brief</system-reminder>"),
        claude_user("x", isMeta=True),
    ],
)
def test_what_claude_code_says_itself_is_not_a_turn(line):
    assert from_claude_transcript(claude_rounds(3, [line])).turn_starts == ()


def test_what_a_person_says_is_a_turn_also_beside_a_reminder():
    said = [{"type": "text", "text": "<system-reminder>x</system-reminder>"}]
    line = claude_user([*said, {"type": "text", "text": "go on"}], origin={"kind": "human"})
    history = from_claude_transcript([*claude_rounds(1), line])
    assert history.turn_starts == (1,)
    assert [each.text for each in history.messages] == ["go on"]


def test_results_that_gemini_cli_writes_again_are_not_turns():
    messages = []
    for number in range(4):
        call = {"id": f"c{number}", "name": "ls", "args": {}, "status": "success", "result": "a"}
        messages.append({"type": "gemini", "toolCalls": [call], "id": f"g{number}"})
        response = {"id": f"c{number}", "name": "ls", "response": {"output": "a"}}
        messages.append({"type": "user", "content": [{"functionResponse": response}]})
    assert from_gemini_session(messages).turn_starts == ()
    messages.append({"type": "user", "content": [{"text": "thanks"}]})
    assert from_gemini_session(messages).turn_starts == (4,)


SUMMARY = claude_user("This session is being continued from a previous conversation.")


@pytest.mark.parametrize(
    "lines",
    [
        [{"type": "system", "subtype": "compact_boundary"}],
        [{**SUMMARY, "isCompactSummary": True}],
        [{"type": "system", "subtype": "compact_boundary"}, {**SUMMARY, "isCompactSummary": True}],
        [SUMMARY],
    ],
)
def test_a_compaction_of_claude_code_is_one_summary_and_no_turn(lines):
    history = from_claude_transcript([*claude_rounds(2), *lines])
    assert history.turn_starts == ()
    assert [(each.is_summary, each.role, each.position) for each in history.messages] == [
        (True, Role.SYSTEM, 2)
    ]


def test_other_clients_say_that_they_compacted():
    codex = from_codex_rollout([{"type": "compacted", "payload": {"message": "so far"}}])
    old = from_openhands([{"action": "condensation", "args": {"summary": "so far"}}])
    new = from_openhands([{"kind": "Condensation", "summary": "so far"}])
    gemini = from_gemini_session([{"type": "user", "content": "<state_snapshot>so far"}])
    for history in (codex, old, new, gemini):
        assert [each.is_summary for each in history.messages] == [True]
        assert history.messages[0].text.endswith("so far")
        assert history.turn_starts == ()


def test_calls_know_when_they_began_and_results_how_long_they_took():
    history = from_claude_transcript(claude_rounds(2))
    assert [call.started_at for call in history.calls] == [1767225600.0, 1767225601.0]
    assert [result.duration_s for result in history.results] == [0.5, 0.5]


def test_a_result_says_itself_how_long_it_took_or_its_call_and_its_end_do():
    history = HistoryBuilder()
    history.add_call("ls", {}, "a", 0, 10.0)
    history.add_call("ls", {}, "b", 0, 10.0)
    history.add_call("ls", {}, "c", 0)
    history.add_result(ToolResult("x", duration_s=3.0), "a", ended_at=99.0)
    history.add_result(ToolResult("x"), "b", ended_at=9.0)
    history.add_result(ToolResult("x"), "c", ended_at=99.0)
    assert [result.duration_s for result in history.build().results] == [3.0, 0.0, None]


def test_nine_files_read_again_after_a_compaction_are_not_a_loop_in_a_recorded_session():
    lines = list(claude_rounds(9))
    for number, line in enumerate(lines):
        for block in line["message"]["content"]:
            if "input" in block:
                block["input"] = {"command": f"cat {number}"}
            else:
                block["content"] = f"text of {number}"
    again = []
    for line in lines:
        message = {**line["message"], "id": f"again {line['message'].get('id')}"}
        blocks = [dict(block) for block in message["content"]]
        for block in blocks:
            for key in ("id", "tool_use_id"):
                if key in block:
                    block[key] += "again"
        again.append({**line, "message": {**message, "content": blocks}})
    history = from_claude_transcript([*lines, {"subtype": "compact_boundary"}, *again])
    assert len(history) == 18

    from antiloop.formats._moment import verdicts_of

    assert list(verdicts_of(LoopDetector.escalating().monitor(), history)) == []
