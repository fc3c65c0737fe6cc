"""The wire forms of four LLM APIs, as far as coding agents use them: requests in, replies out."""

import json
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple, Union

OUT_TOKENS = 20


class Call(NamedTuple):
    """A call of a tool in a reply."""

    name: str
    arguments: Dict[str, Any]


Reply = List[Union[str, Call]]


class Asked(NamedTuple):
    """What a request holds."""

    tools: Dict[str, Dict[str, Any]]
    """By name, the schemas of their parameters."""
    said: List[Tuple[str, str]]
    """Texts in their order, each with ``model`` or ``other`` for who wrote it."""
    is_streamed: bool
    system: str = ""

    @property
    def latest(self) -> str:
        """What came after the model's last words."""
        texts: List[str] = []
        for who, text in reversed(self.said):
            if who == "model":
                break
            texts.append(text)
        return "\n".join(reversed(texts))

    def holds(self, word: str) -> bool:
        """Whether somebody else than the model said a word."""
        return any(word in text for who, text in self.said if who == "other")


class Anthropic:
    """The Messages API."""

    @staticmethod
    def read(body: Dict[str, Any]) -> Asked:
        tools = {each["name"]: each.get("input_schema") or {} for each in body.get("tools") or ()}
        said = [
            ("model" if each["role"] == "assistant" else "other", texts_in(each["content"]))
            for each in body["messages"]
        ]
        return Asked(tools, said, bool(body.get("stream")), texts_in(body.get("system")))

    @staticmethod
    def whole(reply: Reply, number: str, tokens: int, model: str) -> Dict[str, Any]:
        content = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {
                "type": "tool_use",
                "id": f"toolu_{number}_{place}",
                "name": part.name,
                "input": part.arguments,
            }
            for place, part in enumerate(reply)
        ]
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": "tool_use" if has_calls(reply) else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": tokens,
                "output_tokens": OUT_TOKENS,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        }

    @staticmethod
    def streamed(whole: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
        yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
        for index, part in enumerate(whole["content"]):
            is_text = part["type"] == "text"
            empty = {**part, "text": ""} if is_text else {**part, "input": {}}
            delta = (
                {"type": "text_delta", "text": part["text"]}
                if is_text
                else {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
            )
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": ended, "usage": whole["usage"]}
        yield {"type": "message_stop"}


class Chat:
    """OpenAI's Chat Completions."""

    @staticmethod
    def read(body: Dict[str, Any]) -> Asked:
        functions = [each["function"] for each in body.get("tools") or () if "function" in each]
        tools = {each["name"]: each.get("parameters") or {} for each in functions}
        said, system = [], []
        for each in body["messages"]:
            if each["role"] in ("system", "developer"):
                system.append(texts_in(each.get("content")))
            else:
                who = "model" if each["role"] == "assistant" else "other"
                said.append((who, texts_in(each.get("content"))))
        return Asked(tools, said, bool(body.get("stream")), "\n".join(system))

    @staticmethod
    def whole(reply: Reply, number: str, tokens: int, model: str) -> Dict[str, Any]:
        calls = [
            {
                "index": place,
                "id": f"call_{number}_{place}",
                "type": "function",
                "function": {"name": part.name, "arguments": json.dumps(part.arguments)},
            }
            for place, part in enumerate(each for each in reply if isinstance(each, Call))
        ]
        message: Dict[str, Any] = {"role": "assistant", "content": text_of(reply) or None}
        if calls:
            message["tool_calls"] = calls
        ended = "tool_calls" if calls else "stop"
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": ended}],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": OUT_TOKENS,
                "total_tokens": tokens + OUT_TOKENS,
            },
        }

    @staticmethod
    def streamed(whole: Dict[str, Any]) -> Iterator[Any]:
        (choice,) = whole["choices"]
        chunk = {**whole, "object": "chat.completion.chunk", "usage": None}
        part = {"index": 0, "delta": choice["message"], "finish_reason": None}
        yield {**chunk, "choices": [part]}
        yield {
            **chunk,
            "choices": [{**part, "delta": {}, "finish_reason": choice["finish_reason"]}],
        }
        yield {**chunk, "choices": [], "usage": whole["usage"]}
        yield "[DONE]"


class Responses:
    """OpenAI's Responses."""

    @staticmethod
    def read(body: Dict[str, Any]) -> Asked:
        tools = {}
        for each in body.get("tools") or ():
            name = each.get("name") or each["type"]
            tools[name] = each.get("parameters") or {}
            for inner in each.get("tools") or ():  # of a namespace
                tools[f"{name}.{inner['name']}"] = inner.get("parameters") or {}
        given = body["input"]
        items = given if isinstance(given, list) else [{"role": "user", "content": given}]
        said = []
        for each in items:
            kind = each.get("type", "message")
            if kind == "message":
                who = "model" if each.get("role") == "assistant" else "other"
                said.append((who, texts_in(each.get("content"))))
            elif kind.endswith("_output"):
                said.append(("other", texts_in(each.get("output"))))
            elif kind.endswith("_call"):
                said.append(("model", ""))
        return Asked(tools, said, bool(body.get("stream")), texts_in(body.get("instructions")))

    @staticmethod
    def whole(reply: Reply, number: str, tokens: int, model: str) -> Dict[str, Any]:
        output = [
            {
                "type": "message",
                "id": f"msg_{number}_{place}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": part, "annotations": []}],
            }
            if isinstance(part, str)
            else {
                "type": "function_call",
                "id": f"fc_{number}_{place}",
                "call_id": f"call_{number}_{place}",
                **named(part.name),
                "arguments": json.dumps(part.arguments),
                "status": "completed",
            }
            for place, part in enumerate(reply)
        ]
        usage = {"input_tokens": tokens, "output_tokens": OUT_TOKENS}
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": model,
            "output": output,
            "usage": {**usage, "total_tokens": tokens + OUT_TOKENS},
        }

    @staticmethod
    def streamed(whole: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        events: List[Dict[str, Any]] = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(whole["output"]):
            at = {"output_index": index, "item": item}
            events.append({"type": "response.output_item.added", **at})
            if item["type"] == "message":
                place = {"item_id": item["id"], "output_index": index, "content_index": 0}
                text = item["content"][0]["text"]
                events.append({"type": "response.output_text.delta", "delta": text, **place})
            events.append({"type": "response.output_item.done", **at})
        events.append({"type": "response.completed", "response": whole})
        for sequence, event in enumerate(events):
            yield {**event, "sequence_number": sequence}


class Gemini:
    """The Gemini API."""

    @staticmethod
    def read(body: Dict[str, Any]) -> Asked:
        tools = {
            each["name"]: each.get("parametersJsonSchema") or each.get("parameters") or {}
            for group in body.get("tools") or ()
            for each in group.get("functionDeclarations") or ()
        }
        said = [
            ("model" if each.get("role") == "model" else "other", texts_in(each.get("parts")))
            for each in body.get("contents") or ()
        ]
        # An answer to a question of the program itself, such as who speaks next, has a schema.
        if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            tools = {}
        return Asked(tools, said, False, texts_in(body.get("systemInstruction")))

    @staticmethod
    def whole(reply: Reply, number: str, tokens: int, model: str) -> Dict[str, Any]:
        parts = [
            {"text": part}
            if isinstance(part, str)
            else {
                "functionCall": {
                    "name": part.name,
                    "args": part.arguments,
                    "id": f"{number}-{place}",
                }
            }
            for place, part in enumerate(reply)
        ]
        said = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        usage = {"promptTokenCount": tokens, "candidatesTokenCount": OUT_TOKENS}
        return {
            "candidates": [said],
            "usageMetadata": {**usage, "totalTokenCount": tokens + OUT_TOKENS},
            "modelVersion": model,
            "responseId": number,
        }

    @staticmethod
    def streamed(whole: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
        yield whole


FORMS = {
    "/messages": Anthropic,
    "/chat/completions": Chat,
    "/responses": Responses,
    ":generateContent": Gemini,
    ":streamGenerateContent": Gemini,
}
"""By the end of the path."""


def named(name: str) -> Dict[str, str]:
    """Return the name of a tool as the Responses API has it, apart from its namespace."""
    namespace, _, own = name.rpartition(".")
    return {"name": own, "namespace": namespace} if namespace else {"name": own}


def has_calls(reply: Reply) -> bool:
    return any(isinstance(part, Call) for part in reply)


def text_of(reply: Reply) -> str:
    return "\n".join(part for part in reply if isinstance(part, str))


def texts_in(content: Any) -> str:
    """Return the texts in content of any of the forms; calls and pictures have none."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(texts_in, content)))
    if not isinstance(content, dict):
        return ""
    if "functionResponse" in content:
        return json.dumps(content["functionResponse"].get("response"), ensure_ascii=False)
    for name in ("text", "content", "output", "parts"):
        if content.get(name):
            return texts_in(content[name])
    return ""
