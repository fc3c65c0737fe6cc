"""The known clients and families of tools, as plain data; see `ClientProfile` for the fields.

Seen in Claude Code 2.1.331, Codex 0.169.0, Copilot CLI 1.0.102, Gemini CLI 0.61.0, opencode 1.18.33
and Qwen Code 0.24.4; of the others, from their source or recorded sessions. Nothing heavy is
imported here: a hook that only takes a first look pays for each import.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping

# It ends at the next opening tag: a text that opens many and closes none must not cost a search to
# its end for each.
_SPAN = r"(?s:<{0}>(?:(?!<{0}>).)*?</{0}>)\s*"
_REMINDER = _SPAN.format("system-reminder")
_DETAILS = _SPAN.format("environment_details")
# The tag before it may have taken one of the two line ends.
_HOOK_CONTEXT = r"\n{0,2}" + _SPAN.format("hook_context")
# antiloop's own words are at the end of a result; the next equal one may come without.
_NOTICE = r"\n{0,2}\[antiloop\] Notice: (?s:.*)"
_GUIDANCE = (
    r"\n{0,2}Tool \"[^\"\n]{1,200}\" \w+\. Additional guidance from \w+ hooks:\n"
    r"\[antiloop\] (?s:.*)"
)

# A group number is new for each command; `Signal`, `Error` and `Exit Code` tell what happened.
_GEMINI_SHELL = (r"^(?:Background PIDs|Process Group PGID): .*\n?", r"</?untrusted_context>\n?")
_GEMINI_HOST = (
    *(r"<session_context>", r"This is the (?:Gemini CLI|Qwen Code)", r"<hook_context>"),
    *(r"Please continue\.?\s*$", r"<system-reminder>", r"System: Potential loop detected"),
)
_PROGRAM_THAT_WAITS = (
    r"(?s:.*\btools\.(?:wait|wait_agent)\(.*"
    r"|.*\btools\.write_stdin\([^)]{0,300}\bchars\W{1,3}[\"']{2}.*)"
)
_OF_AGENTS = ("Agent.description", "Task.description", "agent.description", "task.description")
_POINTING = r"key|hold_key|type|mouse_move|scroll|\w*click\w*|\w*drag|\w*mouse_\w+"
_SLEEP = r"sleep [\d.]+[smh]?"

PROFILES: "Dict[str, Mapping[str, Any]]" = {
    "claude-code": {
        "title": "Claude Code",
        "tools": (
            *("Bash", "Read", "Edit", "Write", "Grep", "Glob", "Task", "Agent", "TodoWrite"),
            *("TaskCreate", "WebFetch", "NotebookEdit", "ExitPlanMode", "AskUserQuestion"),
        ),
        "wraps": (
            _REMINDER,
            # New for each command that is started.
            r"(?<=^Command running in background with ID: )\w+",
            r"(?<=Output is being written to: )\S+",
        ),
        "host_texts": (
            *(r"<system-reminder>", r"<task-notification>", r"\[SYSTEM NOTIFICATION"),
            *(r"<tools-used-before-summary>", r"<local-command-(?:stdout|stderr|caveat)>"),
            *(r"Caveat: The messages below were generated", r"<bash-(?:stdout|stderr)>"),
            r"(?:PostToolBatch|PreToolUse|PostToolUse|Stop|SubagentStop)(?::\w+)? hook ",
        ),
        "compaction": (r"This session is being continued from a previous conversation",),
        "compaction_events": ("PreCompact", "PostCompact"),
        "plans": (
            *("TodoRead", "TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"),
            *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill", "ToolSearch"),
        ),
        "waits": (
            {"tool": "TaskOutput", "handle": "task_id"},
            {"tool": "BashOutput", "handle": "bash_id"},
            {"tool": "AgentOutputTool", "handle": "agentId"},
            {"tool": "Monitor"},
            {"tool": "Bash", "where": {"command": _SLEEP}},
        ),
        "looks": ("Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch"),
        "finishes": ("StructuredOutput",),
        "agents": ("Agent", "Task"),
        "comments": (*("Bash.description", "PowerShell.description"), *_OF_AGENTS),
    },
    "codex": {
        "title": "Codex",
        "tools": (
            *("exec_command", "write_stdin", "apply_patch", "update_plan", "view_image", "exec"),
            *("shell_command", "spawn_agent", "wait_agent", "wait", "local_shell"),
        ),
        "wraps": (
            *(r"\AChunk ID: \w+\n", r"^Wall time:? [\d.]+ seconds\n"),
            r"^Original token count: \d+\n",
            # New for each command; of a look at a running one, the call says which it is.
            *(
                r"(?<=^Process running with session ID )\d+",
                r"(?<=^Script running with cell ID )\w+",
            ),
        ),
        "host_texts": (
            *(r"<environment_context>", r"<user_instructions>", r"<permissions instructions>"),
            *(r"<skills_instructions>", r"<skill>", r"<turn_aborted>", r"<subagent_notification>"),
            *(r"# AGENTS\.md instructions", r"<INSTRUCTIONS>", r"<hook_prompt", r"<collaboration_"),
            *(r"<apps_instructions>", r"<plugins_instructions>", r"<personality_spec>"),
        ),
        "compaction": (r"Another language model started to solve this problem",),
        "compaction_events": ("PreCompact", "PostCompact"),
        "plans": ("update_plan", "request_user_input"),
        "waits": (
            {"tool": "wait", "handle": "cell_id"},
            {"tool": "wait_agent", "handle": "targets"},
            {"tool": "write_stdin", "where": {"chars": ""}, "handle": "session_id"},
            # A program calls the tools; what it waits for is part of its text.
            {"tool": "exec", "where": {"": _PROGRAM_THAT_WAITS}},
        ),
        "looks": ("view_image", "read_file", "list_dir", "grep_files"),
        "agents": ("spawn_agent",),
        "comments": ("exec_command.justification", "shell_command.justification"),
    },
    "copilot": {
        "title": "Copilot CLI",
        "tools": (
            *("bash", "read_bash", "write_bash", "stop_bash", "view", "create", "edit"),
            *("report_intent", "list_bash", "task", "powershell", "read_powershell", "rg", "sql"),
        ),
        "wraps": (
            r"(?<=<)shellId: \S+ (?=completed )",
            r"(?<=<command with )shellId: \S+ (?=is )",
            r"(?<=<command started in background with )shellId: \S+(?=>)",
            _GUIDANCE,
        ),
        "host_texts": (r"<current_datetime>", r"<system_reminder>", r"<system_notification>"),
        "compaction": (r"<summary>", r"<conversation_summary>"),
        "compaction_events": ("preCompact", "PreCompact"),
        "plans": ("report_intent", "update_todo", "ask_user", "exit_plan_mode"),
        "waits": (
            {"tool": "read_bash", "handle": "shellId"},
            {"tool": "read_powershell", "handle": "shellId"},
            {"tool": "read_agent", "handle": "agent_id"},
            {"tool": "write_bash", "where": {"input": ""}, "handle": "shellId"},
        ),
        "looks": ("view", "rg", "grep", "glob", "web_fetch", "list_bash"),
        "finishes": ("task_complete",),
        "agents": ("task",),
        "comments": ("bash.description", "powershell.description", "task.description"),
    },
    "gemini-cli": {
        "title": "Gemini CLI",
        "tools": (
            *("run_shell_command", "read_file", "write_file", "replace", "list_directory"),
            *("grep_search", "search_file_content", "glob", "google_web_search", "web_fetch"),
            *("write_todos", "invoke_agent", "activate_skill", "read_background_output"),
        ),
        "wraps": (*_GEMINI_SHELL, _HOOK_CONTEXT),
        "host_texts": _GEMINI_HOST,
        "compaction": (r"<state_snapshot>",),
        # Not PreCompress: it comes before each request, whether or not anything is compressed.
        "plans": (
            *("write_todos", "ask_user", "enter_plan_mode", "exit_plan_mode", "activate_skill"),
            "update_topic",
        ),
        "waits": (
            {"tool": "read_background_output", "handle": "pid"},
            {"tool": "run_shell_command", "where": {"command": _SLEEP}},
        ),
        "looks": (
            *("read_file", "read_many_files", "list_directory", "grep_search", "glob"),
            *("search_file_content", "google_web_search", "web_fetch"),
        ),
        "finishes": ("complete_task",),
        "agents": ("invoke_agent", "codebase_investigator"),
        "comments": ("run_shell_command.description",),
    },
    "qwen-code": {
        "title": "Qwen Code",
        "tools": (
            *("run_shell_command", "read_file", "write_file", "edit", "list_directory"),
            *("grep_search", "glob", "todo_write", "save_memory", "task", "web_fetch", "skill"),
        ),
        "wraps": (*_GEMINI_SHELL, _REMINDER),
        "host_texts": _GEMINI_HOST,
        "compaction": (r"<state_snapshot>",),
        "compaction_events": ("PreCompact",),
        "plans": ("todo_write", "exit_plan_mode", "ask_user_question", "skill"),
        "waits": ({"tool": "run_shell_command", "where": {"command": _SLEEP}},),
        "looks": ("read_file", "read_many_files", "list_directory", "grep_search", "glob"),
        "agents": ("task", "agent"),
        "comments": ("run_shell_command.description", *_OF_AGENTS),
    },
    "opencode": {
        "title": "opencode",
        "tools": (
            *("bash", "read", "edit", "write", "glob", "grep", "list", "webfetch", "task"),
            *("todowrite", "todoread", "patch", "skill", "question"),
        ),
        "wraps": (_REMINDER, _NOTICE),
        "host_texts": (
            *(r"<system-reminder>", r"Continue if you have next steps"),
            *(r"Summarize the task tool output above", r"The following tool was executed by"),
        ),
        "compaction": (r"What did we do so far\?", r"<summary>"),
        "compaction_events": ("session.compacted", "experimental.session.compacting"),
        "plans": ("todowrite", "todoread", "question", "skill", "plan_enter", "plan_exit"),
        "looks": ("read", "glob", "grep", "list", "webfetch", "websearch", "lsp"),
        "agents": ("task",),
        "comments": ("bash.description", "task.description"),
    },
    "openhands": {
        "title": "OpenHands",
        "tools": (
            *("execute_bash", "str_replace_editor", "finish", "think", "terminal", "file_editor"),
            *("task_tracker", "execute_ipython_cell", "browser", "edit_file"),
        ),
        "wraps": (r"^\[Current working directory: .*\]\n?", r"^\[Python interpreter: .*\]\n?"),
        "host_texts": (
            r"Please continue working on the task on whatever approach you think is suitable",
            r"<EXTRA_INFO>",
        ),
        "compaction": (r"<CONVERSATION SUMMARY>",),
        "plans": ("think", "task_tracker"),
        "waits": (
            {"tool": "execute_bash", "where": {"command": r"\s*"}},
            {"tool": "terminal", "where": {"command": r"\s*"}},
        ),
        "finishes": ("finish",),
        # Each tool has these two.
        "comments": ("*.summary", "*.security_risk"),
    },
    "cline": {
        "title": "Cline, Roo Code, Kilo Code",
        "tools": (
            *("execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff"),
            *("search_files", "list_files", "attempt_completion", "ask_followup_question"),
            *("list_code_definition_names", "browser_action", "update_todo_list", "new_task"),
        ),
        "wraps": (_DETAILS,),
        "host_texts": (
            *(
                r"<environment_details>",
                r"\[ERROR\] You did not use a tool",
                r"\[TASK RESUMPTION\]",
            ),
            r"\[[\w-]+(?: for '[^']*')?\] Result:",
        ),
        "compaction": (r"\[(?:Previous conversation|Context) (?:summary|summarized)",),
        "plans": (
            *("ask_followup_question", "plan_mode_respond", "update_todo_list", "switch_mode"),
        ),
        "waits": ({"tool": "execute_command", "where": {"command": _SLEEP}},),
        "looks": ("read_file", "search_files", "list_files", "list_code_definition_names"),
        "finishes": ("attempt_completion",),
        "agents": ("new_task",),
        "comments": ("*.task_progress",),
    },
    "copilot-chat": {
        "title": "Copilot Chat in VS Code",
        "tools": (
            *("run_in_terminal", "get_terminal_output", "read_file", "insert_edit_into_file"),
            *("replace_string_in_file", "create_file", "semantic_search", "get_errors"),
            *("list_dir", "file_search", "grep_search", "apply_patch", "manage_todo_list"),
        ),
        "host_texts": (r"<(?:context|reminderInstructions|editorContext|environment_info)>",),
        "compaction": (r"<conversation-summary>",),
        "plans": ("manage_todo_list",),
        "waits": ({"tool": "get_terminal_output", "handle": "id"},),
        "looks": ("read_file", "list_dir", "file_search", "grep_search", "semantic_search"),
        "comments": ("*.explanation", "run_in_terminal.goal"),
    },
    "playwright-mcp": {
        "title": "Playwright MCP",
        "tools": ("browser_navigate", "browser_snapshot", "browser_click", "browser_type"),
        "waits": ({"tool": "browser_wait_for"},),
        "looks": (
            *("browser_snapshot", "browser_take_screenshot", "browser_console_messages"),
            *("browser_network_requests", "browser_tab_list"),
        ),
        "acts": (
            *("browser_click", "browser_type", "browser_press_key", "browser_hover"),
            *("browser_drag", "browser_select_option", "browser_navigate", "browser_navigate_back"),
            *("browser_navigate_forward", "browser_fill_form", "browser_mouse_wheel"),
        ),
        "finishes": ("browser_close",),
        # `ref` says which one is meant.
        "comments": (
            *("browser_click.element", "browser_type.element", "browser_hover.element"),
            *("browser_select_option.element", "browser_drag.startElement"),
            "browser_drag.endElement",
        ),
    },
    "browser-use": {
        "title": "browser-use",
        "tools": (
            *("click_element_by_index", "click_element", "go_to_url", "input_text", "scroll_down"),
            *("extract_content", "extract_structured_data", "switch_tab", "go_back", "done"),
        ),
        "waits": ({"tool": "wait"},),
        "looks": (
            *("extract_content", "extract_structured_data", "get_dropdown_options", "screenshot"),
        ),
        "acts": (
            *("click_element_by_index", "click_element", "input_text", "scroll_down", "scroll_up"),
            *("scroll", "send_keys", "go_back", "go_to_url", "switch_tab", "open_tab", "close_tab"),
            *("select_dropdown_option", "scroll_to_text"),
        ),
        "finishes": ("done",),
    },
    "computer-use": {
        "title": "Computer use",
        "tools": ("computer",),
        "waits": ({"tool": "computer", "where": {"action": "wait"}},),
        "looks": ({"tool": "computer", "where": {"action": "screenshot|cursor_position|zoom"}},),
        "acts": ({"tool": "computer", "where": {"action": _POINTING}},),
    },
}
"""By name."""
