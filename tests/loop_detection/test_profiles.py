"""What is known of clients, and that it holds for texts as those clients write them."""

import pytest
from growth import grows_as_the_length
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, RepeatDetector, ToolCall, ToolPolicy
from antiloop.exceptions import SettingsError
from antiloop.loop_detection import CallPattern, ClientProfile
from antiloop.loop_detection._profiles import NO_CLIENT
from antiloop.loop_detection._project.settings import ProjectSettings, SettingsFile

ALL = ClientProfile.all()
each = pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)

# By client, two results of one command that tell the same, as the client writes them.
EQUAL_RESULTS = [
    (
        "claude-code",
        "Command running in background with ID: b1. Output is being written to: /tmp/b1.output",
        "Command running in background with ID: c2. Output is being written to: /tmp/c2.output",
    ),
    (
        "codex",
        "Chunk ID: 89f193\nWall time: 0.0813 seconds\nProcess exited with code 0\n"
        "Original token count: 4\nOutput:\nstate: pending\n",
        "Chunk ID: 1ac802\nWall time: 0.0862 seconds\nProcess exited with code 0\n"
        "Original token count: 5\nOutput:\nstate: pending\n",
    ),
    (
        "codex",
        "Chunk ID: 04693c\nWall time: 1 seconds\nProcess running with session ID 14558\nOutput:\n",
        "Chunk ID: 19a6ae\nWall time: 5.1 seconds\nProcess running with session ID 3\nOutput:\n",
    ),
    (
        "codex",
        "Script running with cell ID 16\nWall time 10.0 seconds\nOutput:\n",
        "Script running with cell ID 17\nWall time 30.1 seconds\nOutput:\n",
    ),
    (
        "gemini-cli",
        "<untrusted_context>\nOutput: (empty)\nExit Code: 1\nProcess Group PGID: 8013\n"
        "</untrusted_context>",
        "Output: (empty)\nExit Code: 1\nProcess Group PGID: 8026",
    ),
    (
        "qwen-code",
        "<untrusted_context>\nOutput: x\nBackground PIDs: 8014, 8015\n</untrusted_context>",
        "Output: x\nBackground PIDs: 8027\n",
    ),
    (
        "gemini-cli",
        "alpha\n",
        "alpha\n\n\n<hook_context>[antiloop] Notice: Tool 'read_file' ...</hook_context>",
    ),
    (
        "copilot",
        "\n<shellId: 0 completed with exit code 1>",
        "\n<shellId: 12 completed with exit code 1>",
    ),
    (
        "copilot",
        "<command with shellId: 3 is still running>",
        "<command with shellId: build is still running>",
    ),
    (
        "copilot",
        "<command started in background with shellId: 5>",
        "<command started in background with shellId: 6>",
    ),
    ("qwen-code", "ok", "ok<system-reminder>\nThe list is empty.\n</system-reminder>"),
    ("opencode", "ok", "ok<system-reminder>\nThe list is empty.\n</system-reminder>"),
    (
        "openhands",
        "ok\n[Current working directory: /a]\n[Python interpreter: /a/python]\n",
        "ok\n[Current working directory: /b]\n[Python interpreter: /b/python]\n",
    ),
    (
        "claude-code",
        "    40\tx = 1\n<system-reminder>\nThe file is 3 lines.\n</system-reminder>\n",
        "    40\tx = 1\n<system-reminder>\nThe user has not heard from you.\n</system-reminder>\n",
    ),
    (
        "cline",
        "ok\n<environment_details>\n# Current Time\n10:00\n</environment_details>",
        "ok\n<environment_details>\n# Current Time\n10:01\n</environment_details>",
    ),
]


@pytest.mark.parametrize(("name", "one", "other"), EQUAL_RESULTS)
def test_results_that_tell_the_same_are_equal_without_what_is_wrapped_around_them(name, one, other):
    profile = ClientProfile.named(name)
    assert one != other
    assert profile.unwrapped(one) == profile.unwrapped(other)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("codex", "Process exited with code 1\nOutput:\nWall clock broken\n"),
        ("gemini-cli", "Output: (empty)\nError: no such file\nExit Code: 2"),
        ("copilot", "shellId: 0 completed tests"),
        ("claude-code", "Exit code 1\n1 passed, 5 failed"),
    ],
)
def test_what_tells_of_the_outcome_stays(name, text):
    assert ClientProfile.named(name).unwrapped(text) == text


WRAPPED = {
    "codex": "Chunk ID: {0:06x}\nWall time: {0}.5 seconds\nOriginal token count: 4\nOutput:\n{1}",
    "gemini-cli": "Output: {1}\nExit Code: 1\nProcess Group PGID: {0}",
    "copilot": "{1}\n<shellId: {0} completed with exit code 1>",
    "claude-code": "{1}\n<system-reminder>\n{0} tokens are left\n</system-reminder>",
    "cline": "{1}\n<environment_details>\n# Time\n{0}\n</environment_details>",
}


@pytest.mark.parametrize("name", WRAPPED)
@given(text=st.text(), one=st.integers(0, 9_999), other=st.integers(0, 9_999))
def test_whatever_a_tool_gave_its_wrapping_tells_nothing(name, text, one, other):
    unwrapped = ClientProfile.named(name).unwrapped
    wrapped = WRAPPED[name].format(one, text)
    assert unwrapped(wrapped) == unwrapped(WRAPPED[name].format(other, text))
    assert unwrapped(wrapped) != wrapped


NOTICED = {
    "copilot": '{0}\n\nTool "view" succeeded. Additional guidance from postToolUse hooks:\n{1}',
    "gemini-cli": "{0}\n\n<hook_context>{1}</hook_context>",
    "opencode": "{0}\n\n{1}",
}


@pytest.mark.parametrize("name", NOTICED)
@given(
    text=st.text(),
    wrapped=st.sampled_from(["{}", "<untrusted_context>\nOutput: {}\n</untrusted_context>"]),
    advice=st.text(st.characters(codec="ascii", exclude_characters="<")),
)
def test_a_notice_at_the_end_of_a_result_makes_it_no_other(name, text, wrapped, advice):
    unwrapped = ClientProfile.named(name).unwrapped
    result = wrapped.format(text)
    notice = f"[antiloop] Notice: {advice}"
    assert unwrapped(NOTICED[name].format(result, notice)) == unwrapped(result)


@each
@pytest.mark.parametrize(
    "part",
    [
        '\n\nTool "',
        "\n\n[antiloop] ",
        "<system-reminder>",
        "<environment_details>x",
        "<hook_context>",
        "Chunk ID: ",
        "<shellId: ",
        " ",
    ],
)
def test_the_time_to_unwrap_a_result_grows_as_its_length(profile, part):
    def unwrap(size):
        text = part * (size // len(part))
        profile.unwrapped(text)
        profile.is_of_host(text)
        profile.wait_in("exec", {"raw": "tools.write_stdin(" * (size // 20)})

    assert grows_as_the_length(unwrap, 20_000)


@each
def test_a_client_is_recognized_by_its_tools(profile):
    assert ClientProfile.of_tools(profile.tools) == profile
    few = profile.tools[: 3 if len(profile.tools) > 2 else 1]
    assert ClientProfile.of_tools([*few, "mine"], [profile]) == profile


@pytest.mark.parametrize("tools", [[], ["search"], ["bash", "search", "answer"]])
def test_an_agent_of_ones_own_is_not_taken_for_a_client(tools):
    assert ClientProfile.of_tools(tools) is None


def test_tools_of_a_server_are_known_by_how_their_names_end():
    profile = ClientProfile.of_tools(
        ["mcp__playwright__browser_click", "mcp__playwright__browser_snapshot", "pw-browser_type"]
    )
    assert profile is not None
    assert profile.name == "playwright-mcp"
    assert profile.looks_by("mcp__playwright__browser_snapshot", {})
    assert profile.acts_by("playwright_browser_click", {"ref": "e1"})
    assert not profile.acts_by("mybrowser_click", {})
    assert ClientProfile.named("codex").wait_in("mcp__x__do_not_wait", {}) is None


@pytest.mark.parametrize(
    ("name", "tool", "arguments", "handle"),
    [
        ("codex", "write_stdin", {"session_id": 7, "chars": ""}, "7"),
        ("codex", "write_stdin", '{"session_id": 7}', "7"),
        ("codex", "wait", {"cell_id": "16"}, "16"),
        ("codex", "wait_agent", {"targets": ["a1"]}, '["a1"]'),
        ("codex", "exec", {"raw": 'const r = await\ntools.write_stdin({id:6,chars:""})'}, ""),
        ("codex", "exec", "await tools.wait_agent({targets: ['a']})", ""),
        ("claude-code", "TaskOutput", {"task_id": "b1", "block": True}, "b1"),
        ("claude-code", "Bash", {"command": "sleep 60", "description": "wait"}, ""),
        ("claude-code", "BashOutput", {"bash_id": "b2"}, "b2"),
        ("claude-code", "AgentOutputTool", {"agentId": "a3"}, "a3"),
        ("copilot", "read_bash", {"shellId": "3", "delay": 60}, "3"),
        ("copilot", "read_powershell", {"shellId": "4"}, "4"),
        ("gemini-cli", "read_background_output", {"pid": 77}, "77"),
        ("gemini-cli", "run_shell_command", {"command": "sleep 2.5"}, ""),
        ("qwen-code", "run_shell_command", {"command": "sleep 30s"}, ""),
        ("cline", "execute_command", {"command": "sleep 5m"}, ""),
        ("openhands", "terminal", {"command": " "}, ""),
        ("copilot", "write_bash", {"shellId": "3", "input": ""}, "3"),
        ("copilot", "read_agent", {"agent_id": "a1"}, "a1"),
        ("openhands", "execute_bash", {"command": ""}, ""),
        ("copilot-chat", "get_terminal_output", {"id": "t1"}, "t1"),
        ("computer-use", "computer", {"action": "wait", "duration": 5}, ""),
    ],
)
def test_a_wait_is_known_with_what_it_waits_for(name, tool, arguments, handle):
    wait = ClientProfile.named(name).wait_in(tool, arguments)
    assert wait is not None
    assert wait.waited_for(arguments) == handle


@pytest.mark.parametrize(
    ("name", "tool", "arguments"),
    [
        ("codex", "write_stdin", {"session_id": 7, "chars": "y\n"}),
        ("codex", "exec", {"raw": "await tools.exec_command({cmd: 'ls'})"}),
        ("codex", "exec", {}),
        ("claude-code", "Bash", {"command": "sleep 60 && make"}),
        ("claude-code", "Bash", None),
        ("openhands", "execute_bash", {"command": "ls"}),
        ("computer-use", "computer", {"action": "screenshot"}),
    ],
)
def test_what_does_more_than_wait_is_no_wait(name, tool, arguments):
    assert ClientProfile.named(name).wait_in(tool, arguments) is None


def test_looks_acts_finishes_and_agents_are_told_apart():
    computer, browser = ClientProfile.named("computer-use"), ClientProfile.named("browser-use")
    assert computer.looks_by("computer", {"action": "screenshot"})
    assert computer.acts_by("computer", {"action": "left_click", "coordinate": [1, 2]})
    assert not computer.acts_by("computer", {"action": "screenshot"})
    assert browser.finishes_by("done", {"text": "ok"})
    assert not browser.finishes_by("scroll_down", {})
    assert ClientProfile.named("gemini-cli").starts_agent("invoke_agent")


TOLD_BY_NAME = [
    (
        "claude-code",
        "one of its tools",
        "Bash Read Edit Write Grep Glob Task Agent TodoWrite TaskCreate WebFetch NotebookEdit "
        "ExitPlanMode AskUserQuestion",
    ),
    (
        "claude-code",
        "a plan",
        "TodoRead TodoWrite TaskCreate TaskGet TaskList TaskUpdate AskUserQuestion "
        "EnterPlanMode ExitPlanMode Skill ToolSearch",
    ),
    ("claude-code", "a wait", "TaskOutput BashOutput AgentOutputTool Monitor"),
    ("claude-code", "a look", "Read Grep Glob LS NotebookRead WebFetch WebSearch"),
    ("claude-code", "a finish", "StructuredOutput"),
    ("claude-code", "an agent", "Agent Task"),
    (
        "codex",
        "one of its tools",
        "exec_command write_stdin apply_patch update_plan view_image exec shell_command "
        "spawn_agent wait_agent wait local_shell",
    ),
    ("codex", "a plan", "update_plan request_user_input"),
    ("codex", "a wait", "wait wait_agent"),
    ("codex", "a look", "view_image read_file list_dir grep_files"),
    ("codex", "an agent", "spawn_agent"),
    (
        "copilot",
        "one of its tools",
        "bash read_bash write_bash stop_bash view create edit report_intent list_bash task "
        "powershell read_powershell rg sql",
    ),
    ("copilot", "a plan", "report_intent update_todo ask_user exit_plan_mode"),
    ("copilot", "a wait", "read_bash read_powershell read_agent"),
    ("copilot", "a look", "view rg grep glob web_fetch list_bash"),
    ("copilot", "a finish", "task_complete"),
    ("copilot", "an agent", "task"),
    (
        "gemini-cli",
        "one of its tools",
        "run_shell_command read_file write_file replace list_directory grep_search "
        "search_file_content glob google_web_search web_fetch write_todos invoke_agent "
        "activate_skill read_background_output",
    ),
    (
        "gemini-cli",
        "a plan",
        "write_todos ask_user enter_plan_mode exit_plan_mode activate_skill update_topic",
    ),
    ("gemini-cli", "a wait", "read_background_output"),
    (
        "gemini-cli",
        "a look",
        "read_file read_many_files list_directory grep_search glob search_file_content "
        "google_web_search web_fetch",
    ),
    ("gemini-cli", "a finish", "complete_task"),
    ("gemini-cli", "an agent", "invoke_agent codebase_investigator"),
    (
        "qwen-code",
        "one of its tools",
        "run_shell_command read_file write_file edit list_directory grep_search glob "
        "todo_write save_memory task web_fetch skill",
    ),
    ("qwen-code", "a plan", "todo_write exit_plan_mode ask_user_question skill"),
    ("qwen-code", "a look", "read_file read_many_files list_directory grep_search glob"),
    ("qwen-code", "an agent", "task agent"),
    (
        "opencode",
        "one of its tools",
        "bash read edit write glob grep list webfetch task todowrite todoread patch skill question",
    ),
    ("opencode", "a plan", "todowrite todoread question skill plan_enter plan_exit"),
    ("opencode", "a look", "read glob grep list webfetch websearch lsp"),
    ("opencode", "an agent", "task"),
    (
        "openhands",
        "one of its tools",
        "execute_bash str_replace_editor finish think terminal file_editor task_tracker "
        "execute_ipython_cell browser edit_file",
    ),
    ("openhands", "a plan", "think task_tracker"),
    ("openhands", "a finish", "finish"),
    (
        "cline",
        "one of its tools",
        "execute_command read_file write_to_file replace_in_file apply_diff search_files "
        "list_files attempt_completion ask_followup_question list_code_definition_names "
        "browser_action update_todo_list new_task",
    ),
    ("cline", "a plan", "ask_followup_question plan_mode_respond update_todo_list switch_mode"),
    ("cline", "a look", "read_file search_files list_files list_code_definition_names"),
    ("cline", "a finish", "attempt_completion"),
    ("cline", "an agent", "new_task"),
    (
        "copilot-chat",
        "one of its tools",
        "run_in_terminal get_terminal_output read_file insert_edit_into_file "
        "replace_string_in_file create_file semantic_search get_errors list_dir file_search "
        "grep_search apply_patch manage_todo_list",
    ),
    ("copilot-chat", "a plan", "manage_todo_list"),
    ("copilot-chat", "a wait", "get_terminal_output"),
    ("copilot-chat", "a look", "read_file list_dir file_search grep_search semantic_search"),
    (
        "playwright-mcp",
        "one of its tools",
        "browser_navigate browser_snapshot browser_click browser_type",
    ),
    ("playwright-mcp", "a wait", "browser_wait_for"),
    (
        "playwright-mcp",
        "a look",
        "browser_snapshot browser_take_screenshot browser_console_messages "
        "browser_network_requests browser_tab_list",
    ),
    (
        "playwright-mcp",
        "an act",
        "browser_click browser_type browser_press_key browser_hover browser_drag "
        "browser_select_option browser_navigate browser_navigate_back "
        "browser_navigate_forward browser_fill_form browser_mouse_wheel",
    ),
    ("playwright-mcp", "a finish", "browser_close"),
    (
        "browser-use",
        "one of its tools",
        "click_element_by_index click_element go_to_url input_text scroll_down "
        "extract_content extract_structured_data switch_tab go_back done",
    ),
    ("browser-use", "a wait", "wait"),
    (
        "browser-use",
        "a look",
        "extract_content extract_structured_data get_dropdown_options screenshot",
    ),
    (
        "browser-use",
        "an act",
        "click_element_by_index click_element input_text scroll_down scroll_up scroll "
        "send_keys go_back go_to_url switch_tab open_tab close_tab select_dropdown_option "
        "scroll_to_text",
    ),
    ("browser-use", "a finish", "done"),
    ("computer-use", "one of its tools", "computer"),
]
TOLD = {
    "one of its tools": lambda profile, tool: tool in profile.tools,
    "a plan": lambda profile, tool: tool in profile.plans,
    "a wait": lambda profile, tool: profile.wait_in(tool, {}) is not None,
    "a look": lambda profile, tool: profile.looks_by(tool, {}),
    "an act": lambda profile, tool: profile.acts_by(tool, {}),
    "a finish": lambda profile, tool: profile.finishes_by(tool, {}),
    "an agent": lambda profile, tool: profile.starts_agent(tool),
}


@pytest.mark.parametrize(("name", "what", "tools"), TOLD_BY_NAME)
def test_what_a_tool_is_for_is_told_by_its_name(name, what, tools):
    profile, is_told = ClientProfile.named(name), TOLD[what]
    assert [tool for tool in tools.split() if not is_told(profile, tool)] == []
    assert not is_told(profile, "mine")


@each
def test_a_tool_that_ends_a_run_is_seen_to_do_so_again_and_again(profile):
    for tool in [call.tool for call in profile.finishes]:
        monitor = LoopDetector.escalating().monitor(client=profile)
        said = ["All is in place.", "The work is complete.", "I have done what was asked."]
        found = [
            monitor.after([ToolCall(tool, {"summary": text})], ["Not yet."]).action.value
            for text in said
        ]
        assert found == ["continue", "continue", "notify"]


@pytest.mark.parametrize(
    "action",
    "key hold_key type mouse_move scroll left_click double_click left_click_drag left_mouse_down"
    " left_mouse_up".split(),
)
def test_an_action_of_the_mouse_or_the_keyboard_is_an_act(action):
    computer = ClientProfile.named("computer-use")
    assert computer.acts_by("computer", {"action": action})
    assert not computer.looks_by("computer", {"action": action})


@pytest.mark.parametrize("action", ["screenshot", "cursor_position", "zoom"])
def test_an_action_that_only_shows_the_screen_is_a_look(action):
    computer = ClientProfile.named("computer-use")
    assert computer.looks_by("computer", {"action": action})
    assert not computer.acts_by("computer", {"action": action})


TITLES = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "copilot": "Copilot CLI",
    "gemini-cli": "Gemini CLI",
    "qwen-code": "Qwen Code",
    "opencode": "opencode",
    "openhands": "OpenHands",
    "cline": "Cline, Roo Code, Kilo Code",
    "copilot-chat": "Copilot Chat in VS Code",
    "playwright-mcp": "Playwright MCP",
    "browser-use": "browser-use",
    "computer-use": "Computer use",
}


def test_each_client_has_a_name_for_people():
    assert {profile.name: profile.title for profile in ALL} == TITLES


def test_a_call_is_one_of_those_named_if_it_matches_any_pattern():
    several = (CallPattern("press"), CallPattern("computer", {"action": "click"}))
    profile = ClientProfile("mine", acts=several, looks=several, finishes=several)
    for named in (profile.acts_by, profile.looks_by, profile.finishes_by):
        assert named("press", {})
        assert named("computer", {"action": "click"})
        assert not named("computer", {"action": "drag"})


OF_GEMINI = [
    "<session_context>\nToday is Friday.\n</session_context>",
    "This is the Gemini CLI. Today is Friday.",
    "This is the Qwen Code. Today is Friday.",
    "<hook_context>run the tests</hook_context>",
    "Please continue.",
    "<system-reminder>\na\n</system-reminder>",
    "System: Potential loop detected. Details: Repeated tool call: ls",
]
OF_HOST = {
    "claude-code": [
        "\n<system-reminder>\nToday's date is 2026-11-25.\n</system-reminder>",
        "<task-notification>\n<task-id>b1</task-id>\n</task-notification>",
        "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated event.",
        "<tools-used-before-summary>Read</tools-used-before-summary>",
        "<local-command-stdout>a.py</local-command-stdout>",
        "<local-command-stderr>no such file</local-command-stderr>",
        "<local-command-caveat>Caveat: ...</local-command-caveat>",
        "Caveat: The messages below were generated by the user",
        "<bash-stdout>a.py</bash-stdout>",
        "<bash-stderr>no such file</bash-stderr>",
        "PostToolBatch hook stopped the turn",
        "PreToolUse:Bash hook error",
        "PostToolUse:Bash hook stopped the turn",
        "Stop hook feedback: run the tests",
        "SubagentStop hook feedback: run the tests",
    ],
    "codex": [
        "<environment_context>\n  <cwd>/home</cwd>\n</environment_context>",
        "<user_instructions>Be brief.</user_instructions>",
        "<permissions instructions>Ask first.</permissions instructions>",
        "<skills_instructions>Use skills.</skills_instructions>",
        "<skill>to test</skill>",
        "<turn_aborted>by the user</turn_aborted>",
        "<subagent_notification>done</subagent_notification>",
        "# AGENTS.md instructions for /home\n",
        "<INSTRUCTIONS>Be brief.</INSTRUCTIONS>",
        "<hook_prompt hook_run_id='1'>run the tests</hook_prompt>",
        "<collaboration_mode>plan</collaboration_mode>",
        "<apps_instructions>none</apps_instructions>",
        "<plugins_instructions>none</plugins_instructions>",
        "<personality_spec>calm</personality_spec>",
    ],
    "copilot": [
        "<current_datetime>10:00</current_datetime>",
        "<system_reminder>Two files are open.</system_reminder>",
        "<system_notification>\nA command has ended.\n</system_notification>",
    ],
    "gemini-cli": OF_GEMINI,
    "qwen-code": OF_GEMINI,
    "opencode": [
        "<system-reminder>\na\n</system-reminder>",
        "Continue if you have next steps",
        "Summarize the task tool output above and continue with your task.",
        "The following tool was executed by the user",
    ],
    "openhands": [
        "Please continue working on the task on whatever approach you think is suitable",
        "<EXTRA_INFO>\nThe folder is empty.\n</EXTRA_INFO>",
    ],
    "cline": [
        "<environment_details>\n# Mode\n</environment_details>",
        "[ERROR] You did not use a tool in your previous response!",
        "[TASK RESUMPTION] This task was interrupted.",
        "[read_file for 'a.py'] Result:\nalpha",
        "[list_files] Result:\na.py",
    ],
    "copilot-chat": [
        "<context>\nToday is Friday.\n</context>",
        "<reminderInstructions>Be brief.</reminderInstructions>",
        "<editorContext>a.py</editorContext>",
        "<environment_info>Linux</environment_info>",
    ],
}
"""By client: what it writes in the user's place, one text for each of its patterns."""


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in OF_HOST.items() for text in texts]
)
def test_texts_of_the_host_are_not_the_users(name, text):
    assert ClientProfile.named(name).is_of_host(text)


@each
@pytest.mark.parametrize("text", ["", "Please look for NOT_THERE", "<b>why</b> is this bold?"])
def test_what_a_person_says_is_the_users(profile, text):
    assert not profile.is_of_host(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("copilot", "<current_datetime>10:00</current_datetime>\n\nplease look"),
        ("claude-code", "<system-reminder>\na\n</system-reminder>\n<b>bold</b>"),
    ],
)
def test_a_person_may_speak_after_the_host(name, text):
    assert not ClientProfile.named(name).is_of_host(text)
    both = text.partition("\n")[0] * 2
    assert ClientProfile.named(name).is_of_host(both)


COMPACTIONS = {
    "claude-code": ["This session is being continued from a previous conversation that ended."],
    "codex": ["Another language model started to solve this problem and made a summary."],
    "copilot": ["<summary>a</summary>", "<conversation_summary>a</conversation_summary>"],
    "gemini-cli": ["<state_snapshot>a</state_snapshot>"],
    "qwen-code": ["<state_snapshot>a</state_snapshot>"],
    "opencode": ["What did we do so far?", "<summary>a</summary>"],
    "openhands": ["<CONVERSATION SUMMARY>a</CONVERSATION SUMMARY>"],
    "cline": [
        *(
            f"[{what} {done}]"
            for what in ("Previous conversation", "Context")
            for done in ("summary", "summarized")
        ),
    ],
    "copilot-chat": ["<conversation-summary>a</conversation-summary>"],
}
COMPACTION_EVENTS = {
    "claude-code": ("PreCompact", "PostCompact"),
    "codex": ("PreCompact", "PostCompact"),
    "copilot": ("preCompact", "PreCompact"),
    "qwen-code": ("PreCompact",),
    "opencode": ("session.compacted", "experimental.session.compacting"),
}


@each
def test_each_client_tells_of_a_compaction_in_its_own_words(profile):
    told = COMPACTIONS.get(profile.name, [])
    assert [text for text in told if not profile.shows_compaction(text)] == []
    assert bool(profile.compaction) is bool(told)
    assert profile.compaction_events == COMPACTION_EVENTS.get(profile.name, ())


# By client, a call that does something, and the arguments that say what it is for.
COMMENTED = [
    ("claude-code", "Bash", {"command": "ls"}, ["description"]),
    ("claude-code", "PowerShell", {"command": "ls"}, ["description"]),
    ("claude-code", "Agent", {"prompt": "Find it.", "subagent_type": "x"}, ["description"]),
    ("codex", "exec_command", {"cmd": "ls"}, ["justification"]),
    ("copilot", "bash", {"command": "ls"}, ["description"]),
    ("gemini-cli", "run_shell_command", {"command": "ls"}, ["description"]),
    ("qwen-code", "run_shell_command", {"command": "ls"}, ["description"]),
    ("opencode", "bash", {"command": "ls"}, ["description"]),
    ("openhands", "terminal", {"command": "ls"}, ["summary", "security_risk"]),
    ("cline", "read_file", {"path": "a"}, ["task_progress"]),
    ("copilot-chat", "run_in_terminal", {"command": "ls"}, ["explanation", "goal"]),
    ("playwright-mcp", "mcp__playwright__browser_click", {"ref": "e2"}, ["element"]),
]


@pytest.mark.parametrize(("name", "tool", "arguments", "comments"), COMMENTED)
def test_an_equal_call_with_another_comment_is_an_equal_call(name, tool, arguments, comments):
    detector = LoopDetector([RepeatDetector(3)])
    for client, told in ((name, "raise"), (None, "continue")):
        monitor = detector.monitor(client=client)
        for number in range(3):
            said = {**arguments, **dict.fromkeys(comments, f"Look again, {number}")}
            verdict = monitor.record_call(tool, said, "a.py")
        assert verdict.action.value == told


@given(st.dictionaries(st.sampled_from(["command", "q", "path"]), st.text(), min_size=1), st.text())
def test_what_says_more_than_what_a_call_is_for_stays(arguments, comment):
    claude = ClientProfile.named("claude-code")
    commented = {**arguments, "description": comment}
    assert claude.without_comments("Bash", commented) == arguments
    assert claude.without_comments("TaskCreate", commented) == commented
    # What is all that a call says is not a comment on it.
    assert claude.without_comments("Bash", {"description": comment}) == {"description": comment}
    assert claude.without_comments("Bash", comment) == comment
    assert NO_CLIENT.without_comments("Bash", commented) == commented


def test_waits_with_other_comments_are_one_wait():
    monitor = LoopDetector.default().monitor(client="claude-code")
    taken = [
        monitor.record_call(
            "Bash", {"command": f"sleep {30 + n}; gh run view 7", "description": f"Wait, {n}"}, "up"
        )
        for n in range(13)
    ]
    assert [each.action.value for each in taken] == ["continue"] * 11 + ["raise"] * 2


def test_a_key_that_is_declared_is_the_last_word_on_comments():
    policy = ToolPolicy(key=["command", "description"])
    monitor = LoopDetector.default(tools={"Bash": policy}).monitor(client="claude-code")
    for number in range(4):
        verdict = monitor.record_call("Bash", {"command": "ls", "description": str(number)}, "a.py")
        assert verdict.action.value == "continue"


def test_a_compaction_shows_in_the_users_place():
    claude = ClientProfile.named("claude-code")
    text = "This session is being continued from a previous conversation that ran out of context."
    assert claude.shows_compaction(text)
    assert claude.is_of_host(text)
    assert not claude.shows_compaction("Please continue the session.")


def test_a_profile_can_be_written_as_plain_values_and_added_to_a_known_one():
    values = {
        "title": "Our agent",
        "tools": ["look", "act", "done"],
        "wraps": [r"^took \d+ ms\n"],
        "waits": ["pause", {"tool": "job", "where": {"action": "poll"}, "handle": "id"}],
    }
    own = ClientProfile.from_dict("ours", values)
    assert own.unwrapped("took 12 ms\nok") == "ok"
    assert own.wait_in("pause", {}) == CallPattern("pause")
    assert own.wait_in("job", {"action": "stop"}) is None
    both = ClientProfile.named("codex").with_more(own)
    assert (both.name, both.title) == ("codex", "Our agent")
    assert both.unwrapped("took 3 ms\nWall time: 3 seconds\nok") == "ok"
    assert both.wait_in("wait", {})
    assert both.wait_in("pause", {})
    assert repr(own).startswith("ClientProfile(name='ours'")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"tool": ["a"]}, "profiles.ours.tool: no such field; choose from title, tools"),
        ({"name": "x"}, "profiles.ours.name: no such field"),
        ({"title": 3}, "profiles.ours.title: expected a text, got 3"),
        ({"wraps": "x"}, "profiles.ours.wraps: expected a list, got 'x'"),
        ({"wraps": ["("]}, "profiles.ours: '\\(' is not a regular expression"),
        ({"wraps": [1]}, "profiles.ours.wraps: expected a text, got 1"),
        ({"comments": ["why"]}, "profiles.ours: comments: 'why' must be TOOL.ARGUMENT"),
        ({"comments": [".why"]}, "profiles.ours: comments: '.why' must be TOOL.ARGUMENT"),
        ({"waits": [3]}, "profiles.ours.waits: expected a tool's name, or tool, where and handle"),
        ({"waits": [{"where": {}}]}, "profiles.ours.waits: expected a tool's name"),
        ({"looks": [{"tool": "a", "where": 1}]}, "profiles.ours.looks.where: expected patterns"),
        ({"acts": [{"tool": "a", "where": {"b": "("}}]}, "profiles.ours.acts: '\\(' is not a"),
    ],
)
def test_a_malformed_profile_is_refused_with_the_place(values, words):
    with pytest.raises(SettingsError, match=words):
        ClientProfile.from_dict("ours", values)


def test_an_unknown_profile_is_refused_with_the_choices():
    with pytest.raises(ValueError, match="unknown profile 'codx'; choose from claude-code, codex"):
        ClientProfile.named("codx")


def test_a_profile_of_the_settings_is_added_to_what_is_known():
    values = {"profiles": {"codex": {"wraps": [r"^took \d+ ms\n"]}, "ours": {"tools": ["look"]}}}
    found = ProjectSettings(SettingsFile("antiloop.toml", values)).profiles
    assert found["codex"].unwrapped("took 3 ms\nWall time: 3 seconds\nok") == "ok"
    assert found["ours"] == ClientProfile("ours", tools=("look",))
    assert ProjectSettings().profiles == {}


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ({"wraps": "x"}, "profiles.ours.wraps: expected an array"),
        ({"wrap": ["x"]}, "profiles.ours.wrap: unexpected; did you mean 'wraps'"),
        ({"wraps": ["("]}, "is not a regular expression"),
    ],
)
def test_a_malformed_profile_in_the_settings_is_refused(profile, words):
    with pytest.raises(SettingsError, match=words):
        ProjectSettings(SettingsFile("antiloop.toml", {"profiles": {"ours": profile}})).profiles  # noqa: B018


def test_a_profile_takes_lists_and_says_what_is_none():
    profile = ClientProfile("mine", waits=["wait_for"], plans=["todo"])
    assert profile.wait_in("wait_for", {}) == CallPattern("wait_for")
    assert profile.plans == ("todo",)
    with pytest.raises(TypeError, match=r"^plans must be a list, got 'todo'$"):
        ClientProfile("mine", plans="todo")
    with pytest.raises(TypeError, match=r"^waits must be a list of CallPattern, got 3 in it$"):
        ClientProfile("mine", waits=[3])
    with pytest.raises(TypeError, match=r"^looks must be a list, got None$"):
        ClientProfile("mine", looks=None)
