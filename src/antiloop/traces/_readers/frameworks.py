"""Runs of frameworks, benchmarks and applications, each a document of another shape."""

from typing import Any, Dict, Iterator

from ..._amounts import moment_s
from ...formats._internal import (
    arguments_of,
    field_of,
    filled_field,
    first_field,
    items_of,
    mapping_of,
    optional_text,
    tag_of,
    text_of,
    texts_in,
    thoughts_in,
)
from .._shared.listed_run import Listed, ListedFormat, ListedRun
from .chats import any_of, listed_document, listed_under, messages_in

_SDK_TYPES = ("tool-call", "tool-result")
_FINAL = ("output-available", "output-error", "output-denied", "result")


# Vercel's AI SDK: ``ModelMessage`` and ``UIMessage``.


def _is_model_message(message: Any) -> bool:
    content = items_of(field_of(message, "content"))
    return any(tag_of(part, "type") in _SDK_TYPES for part in content)


def _is_ui_message(message: Any) -> bool:
    return any(map(_is_ui_tool, items_of(field_of(message, "parts"))))


def _is_ui_tool(part: Any) -> bool:
    kind = tag_of(part, "type")
    is_tool = kind == "dynamic-tool" or kind.startswith("tool-")
    return is_tool and bool({"toolCallId", "toolInvocation"} & mapping_of(part).keys())


def _is_ai_sdk(value: Any) -> bool:
    messages = messages_in(value)
    return any_of(messages, _is_model_message) or any_of(messages, _is_ui_message)


def _take_ai_sdk(run: ListedRun, message: Any) -> None:
    parts = items_of(field_of(message, "parts"))
    if not parts:
        run.chat(message)
        return
    role = tag_of(message, "role")
    run.message(role, [] if role == "assistant" else parts)
    for part in parts if role == "assistant" else ():
        if _is_ui_tool(part):
            _take_ui_tool(run, part)
        elif tag_of(part, "type") == "step-start":
            run.begin_reply()
        else:
            run.add_thoughts(*thoughts_in([part]))
            run.add_reply(*texts_in([part]))


def _take_ui_tool(run: ListedRun, part: Any) -> None:
    listed = field_of(part, "toolInvocation") or part
    named = field_of(listed, "toolName") or tag_of(part, "type")[len("tool-") :]
    call_id = field_of(listed, "toolCallId")
    run.call(named, filled_field(listed, "input", "args", "rawInput"), call_id)
    state = tag_of(listed, "state")
    if state in _FINAL:
        failed = state in ("output-error", "output-denied")
        content = (
            field_of(listed, "errorText") if failed else first_field(listed, "output", "result")
        )
        run.result(content, call_id, failed=failed)


# tau2: the results of its simulations.


def _is_tau2(value: Any) -> bool:
    simulations = field_of(value, "simulations") if isinstance(value, dict) else None
    return any_of(simulations, lambda one: isinstance(field_of(one, "messages"), list))


def _listed_tau2(value: Any) -> Iterator[Listed]:
    for simulation in items_of(field_of(value, "simulations")):
        for message in items_of(field_of(simulation, "messages")):
            yield optional_text(field_of(simulation, "id")), "", message


def _take_tau2(run: ListedRun, message: Any) -> None:
    # The simulated user has tools, too; those are not the agent's.
    if tag_of(message, "requestor") == "user":
        return
    if tag_of(message, "role") == "tool":
        failed = field_of(message, "error") is True
        run.result(field_of(message, "content"), field_of(message, "id"), failed=failed)
    else:
        run.chat(
            {
                **message,
                "tool_calls": [] if message.get("role") == "user" else message.get("tool_calls"),
            },
            moment_s(field_of(message, "timestamp")),
        )


# smolagents: the steps of an agent's memory.


def _is_smolagents(value: Any) -> bool:
    steps = value if isinstance(value, list) else field_of(value, "steps")
    return any_of(steps, lambda step: "step_number" in mapping_of(step) and "observations" in step)


def _take_smolagents(run: ListedRun, step: Any) -> None:
    if "task" in mapping_of(step):
        run.add_user_message(text_of(step["task"]))
    if "step_number" not in mapping_of(step):
        return
    timing = field_of(step, "timing")
    began, ended = (moment_s(field_of(timing, name)) for name in ("start_time", "end_time"))
    run.begin_reply()
    run.add_reply(text_of(step.get("model_output")))
    calls = items_of(step.get("tool_calls"))
    for call in calls:
        run.ask(call, began)
    error = step.get("error")
    seen = filled_field(error, "message") if error else step.get("observations")
    for call in calls:
        run.result(seen, field_of(call, "id"), failed=bool(error), at=ended)


# browser-use: an ``AgentHistoryList``.


def _is_browser_use(value: Any) -> bool:
    history = field_of(value, "history") if isinstance(value, dict) else None
    return any_of(history, lambda step: "model_output" in mapping_of(step) and "result" in step)


def _listed_browser_use(value: Any) -> Iterator[Listed]:
    if _is_browser_use(value):
        for step in value["history"]:
            yield None, "", step


def _take_browser_use(run: ListedRun, step: Any) -> None:
    output, metadata = field_of(step, "model_output"), field_of(step, "metadata")
    began, ended = (moment_s(field_of(metadata, f"step_{name}_time")) for name in ("start", "end"))
    run.begin_reply()
    run.add_thoughts(text_of(field_of(output, "thinking")))
    run.add_reply(text_of(field_of(output, "next_goal")))
    number_of, results = len(run), items_of(field_of(step, "result"))
    actions = [mapping_of(action) for action in items_of(field_of(output, "action"))]
    for index, action in enumerate(actions):
        named = next((name for name, given in action.items() if given is not None), "")
        run.call(named, arguments_of(action.get(named)), f"{number_of + index}", began)
    for index, result in enumerate(results[: len(actions)]):
        error = field_of(result, "error")
        content = error or first_field(result, "extracted_content", "long_term_memory")
        call_id = f"{number_of + index}"
        run.result(content, call_id, failed=bool(error), at=ended)


# AutoGen: the messages of a team's run.


def _is_autogen(value: Any) -> bool:
    kinds = ("ToolCallRequestEvent", "ToolCallExecutionEvent")
    return any_of(messages_in(value), lambda one: tag_of(one, "type") in kinds)


def _take_autogen(run: ListedRun, message: Any) -> None:
    kind, content = tag_of(message, "type"), field_of(message, "content")
    at = moment_s(field_of(message, "created_at"))
    if kind == "ToolCallRequestEvent":
        run.begin_reply()
        for call in items_of(content):
            run.ask(call, at)
    elif kind == "ToolCallExecutionEvent":
        for given in items_of(content):
            failed, call_id = field_of(given, "is_error") is True, field_of(given, "call_id")
            run.result(field_of(given, "content"), call_id, failed=failed, at=at)
    elif kind == "ThoughtEvent":
        run.add_thoughts(text_of(content))
    elif tag_of(message, "source") == "user":
        run.add_user_message(text_of(content))
    elif kind.endswith("TextMessage"):
        run.add_reply(text_of(content))


# LibreChat: exported conversations.


def _is_librechat(value: Any) -> bool:
    messages = messages_in(value) if isinstance(value, dict) else None
    return "conversationId" in mapping_of(value) and any_of(
        messages, lambda one: "isCreatedByUser" in mapping_of(one)
    )


def _take_librechat(run: ListedRun, message: Any) -> None:
    at = moment_s(field_of(message, "createdAt"))
    if field_of(message, "isCreatedByUser") is True:
        run.add_user_message(text_of(field_of(message, "text")))
        return
    run.begin_reply()
    run.add_reply(text_of(field_of(message, "text")))
    for block in items_of(field_of(message, "content")):
        call = field_of(block, "tool_call")
        if call is None:
            run.message("", [block], at)
            text = field_of(block, "text")
            run.add_reply(text_of(field_of(text, "value") if isinstance(text, dict) else text))
            continue
        call_id, output = field_of(call, "id"), field_of(call, "output")
        run.begin_reply()
        run.ask(call, at)
        if output is not None:
            run.result(output, call_id)


FRAMEWORKS: Dict[str, ListedFormat] = {
    "ai-sdk": ListedFormat(_is_ai_sdk, listed_document, _take_ai_sdk, is_document=True),
    "tau2": ListedFormat(_is_tau2, _listed_tau2, _take_tau2, is_document=True),
    "smolagents": ListedFormat(
        _is_smolagents, listed_under("steps"), _take_smolagents, is_document=True
    ),
    "browser-use": ListedFormat(
        *(_is_browser_use, _listed_browser_use, _take_browser_use),
        client="browser-use",
        is_document=True,
    ),
    "autogen": ListedFormat(_is_autogen, listed_document, _take_autogen, is_document=True),
    "librechat": ListedFormat(
        *(_is_librechat, listed_under("messages", "conversationId"), _take_librechat),
        is_document=True,
    ),
}
"""By their names in ``FORMATS``."""
