"""Requests to LLM APIs, with the conversations of tool-using agents in them."""

import json

SECRET = "sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9f"
SEARCH = ("search", {"query": "refunds"})


def chat(rounds, words=(), **more):
    """Return a chat completion request; a round is a list of ``(name, arguments, result)``."""
    messages = [{"role": "user", "content": "Go"}]
    for number, calls in enumerate(rounds):
        named = [(f"c{number}-{place}", *call) for place, call in enumerate(calls)]
        asked = [
            {"id": id_, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for id_, n, a, _ in named
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": asked})
        messages += [
            {"role": "tool", "tool_call_id": id_, "content": text} for id_, _, _, text in named
        ]
    messages += [{"role": "user", "content": text} for text in words]
    tools = [{"type": "function", "function": {"name": "search", "parameters": {}}}]
    return {"model": "m", "messages": messages, "tools": tools, **more}


def responses(rounds, words=(), **more):
    items = [{"role": "user", "content": "Go"}]
    for number, calls in enumerate(rounds):
        for place, (name, arguments, _) in enumerate(calls):
            called = {"name": name, "arguments": json.dumps(arguments)}
            items.append({"type": "function_call", "call_id": f"c{number}-{place}", **called})
        for place, (_, _, text) in enumerate(calls):
            given = {"type": "function_call_output", "call_id": f"c{number}-{place}"}
            items.append({**given, "output": text})
    items += [{"role": "user", "content": text} for text in words]
    tools = [{"type": "function", "name": "search", "parameters": {}}]
    return {"model": "m", "input": items, "tools": tools, **more}


def anthropic(rounds, words=(), beside=(), **more):
    """Return a messages request; ``beside`` are texts that stand with the results of each round."""
    messages = [{"role": "user", "content": "Go"}]
    for number, calls in enumerate(rounds):
        named = [(f"c{number}-{place}", *call) for place, call in enumerate(calls)]
        asked = [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a, _ in named]
        messages.append({"role": "assistant", "content": asked})
        given = [{"type": "tool_result", "tool_use_id": i, "content": t} for i, _, _, t in named]
        given += [{"type": "text", "text": text} for text in beside]
        messages.append({"role": "user", "content": given})
    messages += [{"role": "user", "content": text} for text in words]
    tools = [{"name": "search", "input_schema": {"type": "object"}}]
    return {"model": "m", "max_tokens": 99, "messages": messages, "tools": tools, **more}


BODIES = {"openai_chat": chat, "openai_responses": responses, "anthropic": anthropic}


def repeated(times, result="nothing found", query="refunds"):
    return [[("search", {"query": query}, result)]] * times
