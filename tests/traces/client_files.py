"""Writes the sessions of one run as each client keeps them, so that all can be read alike.

A run is a list of rounds; a round is what the user says before it, or None, what the model says,
and the calls with their results.
"""

import json
from typing import Any, Callable, Dict, List, NamedTuple, Optional

Json = Dict[str, Any]


class Call(NamedTuple):
    """One call and what came back."""

    id: str
    name: str
    arguments: Json
    output: str
    failed: bool = False


class Round(NamedTuple):
    """One reply of the model."""

    user: Optional[str]
    said: str
    calls: List[Call]


def stuck(count: int = 8) -> List[Round]:
    """Return a run that searches for the same thing again and again."""
    search = {"pattern": "NOT_THERE", "path": "src"}
    return [
        Round(
            None if number else "find it",
            f"attempt {number}",
            [Call(f"c{number}", "grep", search, "no matches", failed=True)],
        )
        for number in range(count)
    ]


def healthy(count: int = 6) -> List[Round]:
    """Return a run that reads one file after the other, two of them at once."""
    return [
        Round(
            {0: "read all", 4: "go on"}.get(number),
            f"reading {number}",
            [
                Call(f"{kind}{number}", "read", {"path": f"{kind}{number}.py"}, f"{kind} {number}")
                for kind in ("a" if number else "ab")
            ],
        )
        for number in range(count)
    ]


def lines(values: List[Any]) -> str:
    """Return one JSON value a line."""
    return "".join(json.dumps(value) + "\n" for value in values)


def _at(number: int) -> str:
    return f"2026-05-01T10:00:{number % 60:02}.000Z"


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def anthropic_like(rounds: List[Round], call: Callable[[Call], Json], result: Any) -> List[Json]:
    """Return messages with blocks, results in the place of the user."""
    messages: List[Json] = []
    for each in rounds:
        if each.user:
            messages.append({"role": "user", "content": [_text(each.user)]})
        blocks = [_text(each.said), *map(call, each.calls)]
        messages.append({"role": "assistant", "content": blocks})
        messages.append({"role": "user", "content": list(map(result, each.calls))})
    return messages


def _tool_use(call: Call) -> Json:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _tool_result(call: Call) -> Json:
    return {
        "type": "tool_result",
        "tool_use_id": call.id,
        "content": [_text(call.output)],
        "is_error": call.failed,
    }


def copilot_chat(rounds: List[Round]) -> str:
    """Write a document of Copilot Chat: the rounds of each request beneath it."""
    requests: List[Json] = []
    for each in rounds:
        if each.user:
            metadata: Json = {"toolCallRounds": [], "toolCallResults": {}}
            message = {"text": each.user, "parts": []}
            result = {"metadata": metadata}
            requests.append({"requestId": each.user, "message": message, "result": result})
        metadata = requests[-1]["result"]["metadata"]
        calls = [
            {"id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}
            for call in each.calls
        ]
        metadata["toolCallRounds"].append({"response": each.said, "toolCalls": calls})
        for call in each.calls:
            content = [{"$mid": 21, "value": call.output}]
            metadata["toolCallResults"][call.id] = {"content": content, "isError": call.failed}
    return json.dumps({"version": 3, "sessionId": "s1", "creationDate": 1, "requests": requests})


def copilot_chat_log(rounds: List[Round]) -> str:
    """Write the same document as a log of its changes."""
    whole = json.loads(copilot_chat(rounds))
    log: List[Json] = [{"kind": 0, "v": {**whole, "requests": []}}]
    for index, request in enumerate(whole["requests"]):
        log.append({"kind": 2, "k": ["requests"], "v": [{**request, "result": {"x": 1}}]})
        log.append({"kind": 1, "k": ["requests", index, "result"], "v": request["result"]})
        log.append({"kind": 1, "k": ["requests", index, "extra"], "v": 1})
        log.append({"kind": 3, "k": ["requests", index, "extra"]})
    return lines(log)


def cursor_stream(rounds: List[Round]) -> str:
    """Write what cursor-agent prints."""
    found: List[Json] = [
        {"type": "system", "subtype": "init", "apiKeySource": "env", "session_id": "s1"}
    ]
    for number, each in enumerate(rounds):
        for role, said in (("user", each.user), ("assistant", each.said)):
            if said:
                message = {"role": role, "content": [_text(said)]}
                found.append({"type": role, "message": message, "session_id": "s1"})
        for subtype in ("started", "completed"):
            for call in each.calls:
                body: Json = {"args": call.arguments}
                if subtype == "completed":
                    body["result"] = {"failure" if call.failed else "success": call.output}
                found.append(
                    {
                        "type": "tool_call",
                        "subtype": subtype,
                        "call_id": call.id,
                        "model_call_id": f"m{number}",
                        "tool_call": {f"{call.name}ToolCall": body},
                        "session_id": "s1",
                    }
                )
    return lines(found)


def cline_native(rounds: List[Round]) -> str:
    """Write what newer versions of Cline, Roo and Kilo keep."""
    messages = anthropic_like(rounds, _tool_use, _tool_result)
    for message in messages:
        if message["role"] == "user":
            message["content"].append(_text("<environment_details>\nnow\n</environment_details>"))
    messages[0]["content"][0]["text"] = f"<task>{messages[0]['content'][0]['text']}</task>"
    return json.dumps(messages)


def cline_xml(rounds: List[Round]) -> str:
    """Write what older versions keep: one call a reply, as XML in the text."""
    messages: List[Json] = []
    for each in rounds:
        details = _text("<environment_details>\nnow\n</environment_details>")
        if each.user:
            messages.append(
                {"role": "user", "content": [_text(f"<task>{each.user}</task>"), details]}
            )
        (call,) = each.calls
        given = "".join(f"<{key}>{value}</{key}>\n" for key, value in call.arguments.items())
        said = f"{each.said}\n\n<{call.name}>\n{given}</{call.name}>"
        messages.append({"role": "assistant", "content": [_text(said)]})
        head = _text(f"[{call.name} for 'src'] Result:")
        output = f"<error>{call.output}</error>" if call.failed else call.output
        messages.append({"role": "user", "content": [head, _text(output), details]})
    return json.dumps(messages)


def opencode_messages(rounds: List[Round]) -> List[Json]:
    """Return messages of opencode with their parts."""
    messages: List[Json] = []
    for number, each in enumerate(rounds):
        if each.user:
            user = {"id": f"u{number}", "role": "user"}
            messages.append({"info": user, "parts": [_text(each.user)]})
        parts: List[Json] = [{"type": "step-start"}, _text(each.said)]
        for call in each.calls:
            state = {
                "status": "error" if call.failed else "completed",
                "input": call.arguments,
                "error" if call.failed else "output": call.output,
                "time": {"start": 1_790_000_000_000, "end": 1_790_000_001_500},
            }
            parts.append({"type": "tool", "tool": call.name, "callID": call.id, "state": state})
        info = {"id": f"m{number}", "role": "assistant", "modelID": "m", "cost": 0.5}
        info["tokens"] = {"input": 5, "output": 2, "cache": {"read": 1, "write": 0}}
        messages.append({"info": info, "parts": parts})
    return messages


def opencode(rounds: List[Round]) -> str:
    """Write an export of opencode."""
    return json.dumps({"info": {"id": "s1"}, "messages": opencode_messages(rounds)})


def opencode_run(rounds: List[Round]) -> str:
    """Write what ``opencode run --format json`` prints, which leaves the user out."""
    found = []
    for message in opencode_messages(rounds):
        for part in message["parts"] if message["info"]["role"] == "assistant" else ():
            kind = {"tool": "tool_use", "step-start": "step_start"}.get(part["type"], part["type"])
            part = {**part, "messageID": message["info"]["id"]}
            found.append({"type": kind, "sessionID": "s1", "part": part})
    return lines(found)


def pi(rounds: List[Round]) -> str:
    """Write a session of pi or OpenClaw."""
    found: List[Json] = [{"type": "session", "version": 3, "id": "s1", "cwd": "/p"}]

    def add(message: Json) -> None:
        place = {"id": str(len(found)), "parentId": None, "timestamp": _at(len(found))}
        found.append({"type": "message", **place, "message": message})

    for each in rounds:
        if each.user:
            add({"role": "user", "content": each.user})
        calls = [
            {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments}
            for call in each.calls
        ]
        usage = {"input": 5, "output": 2, "cost": {"total": 0.25}}
        content = [_text(each.said), *calls]
        add({"role": "assistant", "content": content, "api": "a", "model": "m", "usage": usage})
        for call in each.calls:
            given = {"toolCallId": call.id, "toolName": call.name, "isError": call.failed}
            add({"role": "toolResult", "content": [_text(call.output)], **given})
    return lines(found)


def copilot_cli(rounds: List[Round]) -> str:
    """Write the events of Copilot CLI."""
    found: List[Json] = []

    def add(kind: str, **data: Any) -> None:
        found.append({"type": kind, "data": data, "timestamp": _at(len(found)), "id": "e"})

    add("session.start", sessionId="s1")
    for each in rounds:
        if each.user:
            add("user.message", content=each.user)
        calls = [
            {"toolCallId": call.id, "name": call.name, "arguments": call.arguments}
            for call in each.calls
        ]
        add("assistant.message", content=each.said, toolRequests=calls)
        for call in each.calls:
            given = {"content": call.output}
            success = not call.failed
            add("tool.execution_complete", toolCallId=call.id, success=success, result=given)
    return lines(found)


def codex_exec(rounds: List[Round]) -> str:
    """Write what ``codex exec --json`` prints: no user, each call by itself."""
    found: List[Json] = [{"type": "thread.started", "thread_id": "s1"}, {"type": "turn.started"}]
    for number, each in enumerate(rounds):
        said = {"id": f"say{number}", "type": "agent_message", "text": each.said}
        found.append({"type": "item.completed", "item": said})
        for call in each.calls:
            item: Json = {"id": call.id, "type": "mcp_tool_call", "tool": call.name}
            item["arguments"] = call.arguments
            found.append({"type": "item.started", "item": {**item, "status": "in_progress"}})
            status = "failed" if call.failed else "completed"
            over = {**item, "status": status, "result": call.output}
            found.append({"type": "item.completed", "item": over})
    usage = {"input_tokens": 5, "output_tokens": 2}
    return lines([*found, {"type": "turn.completed", "usage": usage}])


def gemini_stream(rounds: List[Round]) -> str:
    """Write what ``gemini --output-format stream-json`` prints."""
    found: List[Json] = [{"type": "init", "session_id": "s1", "model": "m"}]
    for each in rounds:
        for role, said in (("user", each.user), ("assistant", each.said)):
            if said:
                found.append({"type": "message", "role": role, "content": said})
        for call in each.calls:
            use = {"tool_name": call.name, "tool_id": call.id, "parameters": call.arguments}
            found.append({"type": "tool_use", "timestamp": _at(1), **use})
        for call in each.calls:
            status = "error" if call.failed else "success"
            given = {"tool_id": call.id, "status": status, "output": call.output}
            found.append({"type": "tool_result", "timestamp": _at(3), **given})
    return lines([*found, {"type": "result", "status": "success"}])


def qwen_code(rounds: List[Round]) -> str:
    """Write a chat of Qwen Code."""
    found: List[Json] = []

    def add(kind: str, parts: List[Json], **more: Any) -> None:
        place = {"uuid": str(len(found)), "sessionId": "s1", "timestamp": _at(len(found))}
        found.append({**place, "type": kind, "message": {"role": kind, "parts": parts}, **more})

    for each in rounds:
        if each.user:
            add("user", [{"text": each.user}], provenance="real_user")
        calls = [
            {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
            for call in each.calls
        ]
        add("assistant", [{"text": each.said}, *calls], model="m")
        for call in each.calls:
            response = {"output": call.output}
            part = {"functionResponse": {"id": call.id, "name": call.name, "response": response}}
            told = {"status": "error" if call.failed else "success", "durationMs": 250}
            add("tool_result", [part], toolCallResult=told)
    return lines(found)


def droid(rounds: List[Round]) -> str:
    """Write a session of Factory Droid."""
    found: List[Json] = [{"type": "session_start", "id": "s1", "title": "t"}]
    for message in anthropic_like(rounds, _tool_use, _tool_result):
        found.append({"type": "message", "timestamp": _at(len(found)), "message": message})
    return lines(found)


def amp(rounds: List[Round]) -> str:
    """Write a thread of Amp."""

    def result(call: Call) -> Json:
        status = "error" if call.failed else "done"
        told = {"status": status, "error" if call.failed else "result": call.output}
        return {"type": "tool_result", "toolUseID": call.id, "run": told}

    return json.dumps({"id": "T-1", "messages": anthropic_like(rounds, _tool_use, result)})


def crush(rounds: List[Round]) -> str:
    """Write a session of Crush, as it comes out of its database."""
    messages: List[Json] = []

    def add(role: str, *parts: Json) -> None:
        messages.append({"role": role, "parts": list(parts), "created_at": 1_790_000_000})

    for each in rounds:
        if each.user:
            add("user", {"type": "text", "data": {"text": each.user}})
        calls = [
            {
                "type": "tool_call",
                "data": {"id": call.id, "name": call.name, "input": json.dumps(call.arguments)},
            }
            for call in each.calls
        ]
        add("assistant", {"type": "text", "data": {"text": each.said}}, *calls)
        for call in each.calls:
            given = {"tool_call_id": call.id, "content": call.output, "is_error": call.failed}
            add("tool", {"type": "tool_result", "data": given})
    return json.dumps({"crush_session": "s1", "messages": messages})


def goose_messages(rounds: List[Round]) -> List[Json]:
    """Return messages of Goose."""

    def request(call: Call) -> Json:
        value = {"name": call.name, "arguments": call.arguments}
        told = {"status": "success", "value": value}
        return {"type": "toolRequest", "id": call.id, "toolCall": told}

    def response(call: Call) -> Json:
        value = {"content": [_text(call.output)], "isError": call.failed}
        told = {"status": "success", "value": value}
        return {"type": "toolResponse", "id": call.id, "toolResult": told}

    messages = anthropic_like(rounds, request, response)
    return [{**message, "created": 1_790_000_000 + at} for at, message in enumerate(messages)]


def goose(rounds: List[Round]) -> str:
    """Write a session of Goose as JSONL, after a line about it."""
    return lines([{"id": "s1", "working_dir": "/p"}, *goose_messages(rounds)])


def continue_(rounds: List[Round]) -> str:
    """Write a session of Continue."""
    history: List[Json] = []
    for each in rounds:
        if each.user:
            history.append({"message": {"role": "user", "content": each.user}})
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in each.calls
        ]
        states = [
            {
                "toolCallId": call.id,
                "status": "errored" if call.failed else "done",
                "output": [{"name": "o", "content": call.output}],
            }
            for call in each.calls
        ]
        message = {"role": "assistant", "content": each.said, "toolCalls": calls}
        history.append({"message": message, "toolCallStates": states})
        for call in each.calls:
            given = {"role": "tool", "content": call.output, "toolCallId": call.id}
            history.append({"message": given})
    return json.dumps({"sessionId": "s1", "history": history})


def kimi(rounds: List[Round]) -> str:
    """Write the context of Kimi CLI."""
    found: List[Json] = [{"role": "_checkpoint", "id": 0}, *chat_messages(rounds)]
    return lines([*found, {"role": "_usage", "token_count": 5}])


def kimi_wire(rounds: List[Round]) -> str:
    """Write what Kimi CLI sends over its wire."""
    found: List[Json] = []

    def add(kind: str, **payload: Any) -> None:
        found.append({"timestamp": 1_790_000_000 + len(found), "message": {}})
        found[-1]["message"] = {"type": kind, "payload": payload}

    for each in rounds:
        if each.user:
            add("TurnBegin", user_input=each.user)
        add("StepBegin", n=1)
        for call in each.calls:
            body = {"name": call.name, "arguments": json.dumps(call.arguments)}
            add("ToolCall", id=call.id, function=body)
        for call in each.calls:
            given = {"is_error": call.failed, "output": call.output}
            add("ToolResult", tool_call_id=call.id, return_value=given)
    return lines(found)


def chat_messages(rounds: List[Round]) -> List[Json]:
    """Return messages of OpenAI's chat."""
    messages: List[Json] = []
    for each in rounds:
        if each.user:
            messages.append({"role": "user", "content": each.user})
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in each.calls
        ]
        messages.append({"role": "assistant", "content": each.said, "tool_calls": calls})
        for call in each.calls:
            given = {"role": "tool", "tool_call_id": call.id, "content": call.output}
            messages.append({**given, "is_error": True} if call.failed else given)
    return messages


def chat_lines(rounds: List[Round]) -> str:
    """Write one chat message a line."""
    return lines(chat_messages(rounds))


def ai_sdk(rounds: List[Round]) -> str:
    """Write ``ModelMessage`` of the AI SDK."""
    messages: List[Json] = []
    for each in rounds:
        if each.user:
            messages.append({"role": "user", "content": each.user})
        calls = [
            {
                "type": "tool-call",
                "toolCallId": call.id,
                "toolName": call.name,
                "input": call.arguments,
            }
            for call in each.calls
        ]
        results = [
            {
                "type": "tool-result",
                "toolCallId": call.id,
                "toolName": call.name,
                "output": {"type": "error-text" if call.failed else "text", "value": call.output},
            }
            for call in each.calls
        ]
        messages.append({"role": "assistant", "content": [_text(each.said), *calls]})
        messages.append({"role": "tool", "content": results})
    return json.dumps(messages)


def ai_sdk_ui(rounds: List[Round]) -> str:
    """Write ``UIMessage`` of the AI SDK: all rounds until the user speaks are one message."""
    messages: List[Json] = []
    for each in rounds:
        if each.user:
            messages.append({"id": "u", "role": "user", "parts": [_text(each.user)]})
            messages.append({"id": "a", "role": "assistant", "parts": []})
        parts = messages[-1]["parts"]
        parts.append({"type": "step-start"})
        for call in each.calls:
            state = "output-error" if call.failed else "output-available"
            given = {"errorText" if call.failed else "output": call.output}
            use = {"toolCallId": call.id, "state": state, "input": call.arguments, **given}
            parts.append({"type": f"tool-{call.name}", **use})
    return json.dumps({"id": "s1", "messages": messages})


def tau2(rounds: List[Round]) -> str:
    """Write results of tau2."""
    messages: List[Json] = []
    for each in rounds:
        if each.user:
            messages.append({"role": "user", "content": each.user})
        calls = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in each.calls
        ]
        messages.append({"role": "assistant", "content": each.said, "tool_calls": calls})
        for call in each.calls:
            given = {"id": call.id, "content": call.output, "error": call.failed}
            messages.append({"role": "tool", "requestor": "assistant", **given})
        own = {"id": "u", "content": "x", "error": False, "requestor": "user"}
        messages.append({"role": "tool", **own})
    return json.dumps({"info": {}, "simulations": [{"id": "s1", "messages": messages}]})


def smolagents(rounds: List[Round]) -> str:
    """Write the steps of an agent's memory."""
    steps: List[Json] = []
    for number, each in enumerate(rounds):
        if each.user:
            steps.append({"task": each.user})
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in each.calls
        ]
        failed = each.calls[0].failed
        steps.append(
            {
                "step_number": number,
                "model_output": each.said,
                "tool_calls": calls,
                "error": {"type": "E", "message": each.calls[0].output} if failed else None,
                "observations": None if failed else each.calls[0].output,
                "timing": {
                    "start_time": 1_790_000_000,
                    "end_time": 1_790_000_001,
                },
            }
        )
    return json.dumps(steps)


def browser_use(rounds: List[Round]) -> str:
    """Write a history of browser-use, which leaves the user and ids out."""
    history = []
    for each in rounds:
        results = [
            {"error": call.output} if call.failed else {"extracted_content": call.output}
            for call in each.calls
        ]
        action = [{call.name: call.arguments} for call in each.calls]
        output = {"next_goal": each.said, "action": action}
        metadata = {"step_start_time": 1_790_000_000, "step_end_time": 1_790_000_002}
        history.append({"model_output": output, "result": results, "metadata": metadata})
    return json.dumps({"history": history})


def autogen(rounds: List[Round]) -> str:
    """Write the messages of a team of AutoGen."""
    messages: List[Json] = []
    for each in rounds:
        if each.user:
            user = {"type": "TextMessage", "source": "user", "content": each.user}
            messages.append(user)
        calls = [
            {"id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}
            for call in each.calls
        ]
        given = [
            {"call_id": call.id, "name": call.name, "content": call.output, "is_error": call.failed}
            for call in each.calls
        ]
        messages.append({"type": "ThoughtEvent", "source": "a", "content": each.said})
        messages.append({"type": "ToolCallRequestEvent", "source": "a", "content": calls})
        messages.append({"type": "ToolCallExecutionEvent", "source": "a", "content": given})
    return json.dumps(messages)


def librechat(rounds: List[Round]) -> str:
    """Write an exported conversation of LibreChat, which marks no failures."""
    messages: List[Json] = []
    for each in rounds:
        if each.user:
            messages.append({"isCreatedByUser": True, "text": each.user})
        content = [
            {
                "type": "tool_call",
                "tool_call": {
                    "id": call.id,
                    "name": call.name,
                    "args": json.dumps(call.arguments),
                    "output": call.output,
                },
            }
            for call in each.calls
        ]
        messages.append({"isCreatedByUser": False, "text": each.said, "content": content})
    return json.dumps({"conversationId": "s1", "messages": messages})


def markdown(rounds: List[Round]) -> str:
    """Write a session of SpecStory."""
    parts = ["<!-- Generated by SpecStory, Markdown v2.1.0 -->\n"]
    for each in rounds:
        if each.user:
            parts.append(f"_**User (2026-05-01)**_\n\n{each.user}\n\n---\n")
        parts.append(f"_**Agent (m 2026-05-01)**_\n\n{each.said}\n")
        for call in each.calls:
            body = f"<summary>{call.name}</summary>\n{json.dumps(call.arguments)}\n{call.output}"
            opening = f'<tool-use data-tool-type="generic" data-tool-name="{call.name}">'
            parts.append(f"{opening}<details>\n{body}\n</details>\n</tool-use>\n\n---\n")
    return "\n".join(parts)


WRITERS: Dict[str, Dict[str, Callable[[List[Round]], str]]] = {
    "copilot-chat": {"json": copilot_chat, "log.jsonl": copilot_chat_log},
    "cursor": {"jsonl": cursor_stream},
    "cline": {"json": cline_native, "xml.json": cline_xml},
    "opencode": {"json": opencode, "run.jsonl": opencode_run},
    "pi": {"jsonl": pi},
    "copilot-cli": {"jsonl": copilot_cli},
    "codex-exec": {"jsonl": codex_exec},
    "gemini-stream": {"jsonl": gemini_stream},
    "qwen-code": {"jsonl": qwen_code},
    "markdown": {"md": markdown},
    "droid": {"jsonl": droid},
    "amp": {"json": amp},
    "crush": {"json": crush},
    "goose": {"jsonl": goose},
    "continue": {"json": continue_},
    "kimi": {"jsonl": kimi, "wire.jsonl": kimi_wire},
    "ai-sdk": {"json": ai_sdk, "ui.json": ai_sdk_ui},
    "tau2": {"json": tau2},
    "smolagents": {"json": smolagents},
    "browser-use": {"json": browser_use},
    "autogen": {"json": autogen},
    "librechat": {"json": librechat},
    "chat-lines": {"jsonl": chat_lines},
}
"""By format and ending of the file."""
