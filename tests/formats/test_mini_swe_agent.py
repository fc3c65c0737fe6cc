"""mini-swe-agent's messages, with tool calls and without."""

import pytest

from antiloop.formats import from_mini_swe_agent
from antiloop.types import ToolCall, ToolResult


def message(role, content="", **more):
    return {"role": role, "content": content, **more}


def block(command, language="bash"):
    return f"I look.\n\n```{language}\n{command}\n```\n"


def test_a_block_of_shell_is_a_call_and_the_users_answer_its_result():
    told = from_mini_swe_agent(
        [
            message("system", "be good"),
            message("user", "fix it"),
            message("assistant", block("ls\npwd")),
            message("user", "<returncode>0</returncode>\n<output>a.py</output>"),
            message("assistant", block("cat b", "mswea_bash_command")),
            message("user", "<returncode>1</returncode>\n<output>no b</output>"),
            message("exit", "done"),
        ]
    )
    assert told.calls == (
        ToolCall("bash", {"command": "ls\npwd"}, None, 2),
        ToolCall("bash", {"command": "cat b"}, None, 4),
    )
    assert [result.is_error for result in told.results] == [False, True]
    assert told.turn_starts == (0,)


@pytest.mark.parametrize("content", ["done", block("ls") + block("pwd"), None])
def test_without_just_one_block_there_is_no_call_and_the_answer_is_of_the_user(content):
    told = from_mini_swe_agent([message("assistant", content), message("user", "one, please")])
    assert (len(told), told.turn_starts) == (0, (0,))


def test_what_interrupts_the_agent_is_a_turn_if_a_person_did():
    def interrupt(kind, content="no"):
        return message("user", content, extra={"interrupt_type": kind})

    told = from_mini_swe_agent(
        [
            message("assistant", "done"),
            interrupt("FormatError", "one command, please"),
            message("assistant", block("ls")),
            interrupt("UserInterruption"),
            message("assistant", block("pwd")),
            interrupt("FormatError", "not that"),
            interrupt("UserRejection"),
        ]
    )
    assert told.results == (None, ToolResult("not that", is_error=True))
    assert told.turn_starts == (1, 2)


def test_actions_that_were_kept_go_before_blocks():
    actions = [{"command": "ls"}, {"command": "pwd"}]
    answer = {"returncode": 0}
    told = from_mini_swe_agent(
        [
            message("assistant", block("no"), extra={"actions": actions}),
            message("user", "a.py", extra=answer),
            message("user", "/repo", extra={"returncode": -1}),
            message("user", "go on"),
        ]
    )
    assert [call.arguments["command"] for call in told.calls] == ["ls", "pwd"]
    assert told.results == (ToolResult("a.py"), ToolResult("/repo", is_error=True))
    assert (len(list(told.rounds())), told.turn_starts) == (1, (2,))


def test_tool_calls_are_read_by_their_ids():
    calls = [
        {"id": id_, "function": {"name": "bash", "arguments": f'{{"command": "{id_}"}}'}}
        for id_ in ("a", "b")
    ]
    told = from_mini_swe_agent(
        [
            message("assistant", tool_calls=calls),
            message("tool", "B", tool_call_id="b", extra={"returncode": 2}),
            message("tool", "A", tool_call_id="a", extra={"returncode": 0}),
        ]
    )
    assert told.results == (ToolResult("A"), ToolResult("B", is_error=True))


def test_a_status_too_long_to_be_a_number_is_a_failure():
    told = from_mini_swe_agent(
        [
            message("assistant", "```bash\nls\n```"),
            message("user", f"<returncode>{'9' * 5000}</returncode>"),
        ]
    )
    assert told.results[0].is_error
